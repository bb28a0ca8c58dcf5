#!/bin/bash
# core/kube's calls, a kubeconfig's ways to say who we are, and a pod's, against a real API
# server. kubecall (tests/unit/kube) makes the calls; kubectl says what is right.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
kubecall=build/san/tests/unit/kube/kubecall
if ! make -s $kubecall >"$scratch/make" 2>&1; then
	check "kubecall is built" eval 'cat "$scratch/make"; false'
	finish
fi
cluster_shared
ns=client-test-$$
kc create namespace $ns >"$scratch/namespace"
kt() { kc -n $ns "$@"; }
call() { in_cluster $kubecall "$@"; }
with() { in_cluster env KUBECONFIG="$scratch/$1.config" $kubecall "${@:2}"; } # a kubeconfig's name
# says PATTERN COMMAND...: succeeds or not, one line of what it prints is like that
says() {
	"${@:2}" >"$scratch/says"
	grep -qxE "$1" "$scratch/says" || { cat "$scratch/says"; return 1; }
}
configmap() { # NAME VALUE
	printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s","namespace":"%s"},"data":{"v":"%s"}}' "$1" $ns "$2"
}
value() { [ "$(kt get configmap "$1" -o 'jsonpath={.data.v}')" = "$2" ]; }

# ---- objects -------------------------------------------------------------------------------------
same() { # APIVERSION KIND NAMESPACE NAME RESOURCE: what kubectl sees
	diff <(call get "$1" "$2" "$3" "$4" | python3 -m json.tool --sort-keys) \
		<(kc get ${3:+-n "$3"} "$5" "$4" -o json | python3 -m json.tool --sort-keys)
}
check "get: a namespace" same v1 Namespace "" default namespace
check "get: a CustomResourceDefinition" same apiextensions.k8s.io/v1 CustomResourceDefinition "" \
	jobsets.jobset.x-k8s.io crd
check "get: a kind that is only known by discovery" same apiregistration.k8s.io/v1 APIService "" v1.batch apiservice
check "get: a missing job" says "not found 404 get pods $ns/x: pods \"x\" not found" call get v1 Pod $ns x
check "get: no such kind" says "not found 0 the server has no kind X in batch/v1; is its .*" call get batch/v1 X $ns x
check "get: no such group" says "not found 0 the server has no kind X in no/v1; is its .*" call get no/v1 X $ns x
create() { configmap a 1 | call create && value a 1; }
check "create" create
again() { configmap a 1 | call create; }
check "create: there is one" says "exists 409 create configmaps $ns/a: configmaps \"a\" already exists" again
dry() { configmap dry 1 | call dry-run && ! kt get configmap dry; }
check "create: for show" dry
apply() { configmap a 2 | call apply && value a 2 && configmap b 1 | call apply && value b 1; }
check "apply: existing and missing objects" apply
manager() { kt get configmap b -o 'jsonpath={.metadata.managedFields[*].manager}' | grep -x kubecall; }
check "apply: with our field manager" manager
update() { call get v1 ConfigMap $ns b | sed 's/"v":"1"/"v":"3"/' >"$scratch/b" && call update <"$scratch/b" && value b 3; }
check "update" update
stale() { call update <"$scratch/b"; }
check "update: an object that was changed meanwhile" says "conflict 409 update configmaps $ns/b: .*the object has been modified.*" stale
warned() {
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"w","namespace":"%s"},"spec":{"containers":[{"name":"c","image":"i","nope":1}]}}' $ns |
		call dry-run
}
check "warnings are passed on" says 'warning: unknown field "spec.containers\[0\].nope"' warned
invalid() { configmap A_b 1 | call create; }
check "create: an invalid one" says "invalid .* 422 create configmaps $ns/A_b: ConfigMap \"A_b\" is invalid: metadata.name: .*|invalid 422 .*" invalid
refused() {
	printf '{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"%s","namespace":"%s"},"spec":{"replicatedJobs":[{"name":"n","template":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}}]}}' \
		"$(printf 'x%.0s' {1..70})" $ns | call create
}
check "create: refused by a webhook" says 'invalid 4.. create jobsets.jobset.x-k8s.io .*admission webhook "vjobset.kb.io" denied the request: .*' refused
delete() { call delete v1 ConfigMap $ns b && ! kt get configmap b; }
check "delete" delete
check "delete: a missing job" says "not found 404 delete configmaps $ns/b: .*" call delete v1 ConfigMap $ns b

# ---- lists ---------------------------------------------------------------------------------------
many() { for i in {10..39}; do configmap "l$i" 1; echo; done | kt apply -f -; }
check "thirty objects" many
pages() { diff <(call list v1 ConfigMap $ns "$1" | sort) <(kt get configmaps -o name | sed 's,.*/,,' | sort); }
check "list: in pages of 7" pages 7
check "list: in pages of 1" pages 1
check "list: in one page" pages 500
one() { [ "$(call list v1 ConfigMap $ns 7 metadata.name=l20)" = l20 ]; }
check "list: by a field" one
everywhere() { call list v1 ConfigMap "" 5 | grep -x l20 && call list v1 ConfigMap "" 5 | grep -qx kube-root-ca.crt; }
check "list: in every namespace" everywhere
check "any call" says '\{"major":"1",.*' call call GET /version
check "any call: an answer that is not JSON" call call GET /readyz

# ---- who we are ----------------------------------------------------------------------------------
whoami() { # KUBECONFIG NAME: one may get what one may, and is called that in refusals
	with "$1" get v1 Secret kube-system nothing >"$scratch/who"
	grep -q "^forbidden 403 .*User \"$2\" cannot get\|^denied 403 .*User \"$2\" cannot get" "$scratch/who" ||
		{ cat "$scratch/who"; return 1; }
}
server=$(kc config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
kubeconfig() { # NAME USER [CLUSTER-SETTINGS]
	cat >"$scratch/$1.config" <<-END
		current-context: x
		contexts: [{name: x, context: {cluster: c, user: u}}]
		clusters: [{name: c, cluster: {server: '$server', ${3:-certificate-authority: $cluster_state/pki/ca.crt}}}]
		users: [{name: u, user: {$2}}]
	END
}
cluster kubeconfig "$scratch/jane.config" jane people >"$scratch/made"
check "a client certificate" whoami jane jane
kt create serviceaccount robot >>"$scratch/made"
robot=system:serviceaccount:$ns:robot
kt create token robot --duration 1h >"$scratch/token"
kubeconfig token "tokenFile: token"
check "a token's file, beside the kubeconfig" whoami token "$robot"
kubeconfig bad "token: nonsense"
check "an invalid token" says "denied 401 get .* \(the API server does not accept these credentials; .*" with bad get v1 Pod $ns x
cat >"$scratch/plugin" <<'END'
#!/bin/sh
# Refused at first; then a service account's token.
cd "${0%/*}" || exit
token=old
[ ! -e asked ] || token=$(cat token)
: >asked
echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"$token\"}}"
END
cat >"$scratch/certplugin" <<'END'
#!/usr/bin/env python3
import base64, json, sys, yaml
user = yaml.safe_load(open(sys.argv[1]))["users"][0]["user"]
def pem(key):
    if key + "-data" in user:
        return base64.b64decode(user[key + "-data"]).decode()
    return open(user[key]).read()
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {
    "clientCertificateData": pem("client-certificate"), "clientKeyData": pem("client-key")}}))
END
chmod +x "$scratch/plugin" "$scratch/certplugin"
exec='apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never'
kubeconfig plugin "exec: {$exec, command: ./plugin}"
check "a plugin's token, renewed when it is refused" whoami plugin "$robot"
kubeconfig certplugin "exec: {$exec, command: ./certplugin, args: [$scratch/jane.config]}"
check "a plugin's client certificate" whoami certplugin jane
admin=$(kc config view --raw -o 'jsonpath={.users[0].user}' | sed 's/^{//; s/}$//')
kubeconfig as "$admin, as: somebody, as-groups: [people]"
check "another user" whoami as somebody

# ---- whom we trust -------------------------------------------------------------------------------
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=other -keyout "$scratch/other.key" \
	-out "$scratch/other.crt" -days 2 2>"$scratch/openssl"
kubeconfig wrongca "tokenFile: token" "certificate-authority: other.crt"
check "another CA" says ".*certificate is signed by an untrusted CA.*" with wrongca get v1 Pod $ns x
kubeconfig insecure "tokenFile: token" "insecure-skip-tls-verify: true"
check "no verification" whoami insecure "$robot"
ca="certificate-authority: $cluster_state/pki/ca.crt"
kubeconfig name "tokenFile: token" "$ca, tls-server-name: kubernetes.default.svc"
check "another of the server's names" whoami name "$robot"
kubeconfig noname "tokenFile: token" "$ca, tls-server-name: other.example"
check "not the server's name" says ".*its certificate is for another name: it is for .*, kubernetes" with noname get v1 Pod $ns x

# ---- in a pod ------------------------------------------------------------------------------------
# The service account's folder, where nobody else sees it.
in_pod() {
	in_cluster unshare -m bash -c '
		mount -t tmpfs none /run && d=/run/secrets/kubernetes.io/serviceaccount && mkdir -p $d &&
		cp "$1/token" $d/token && cp "$2" $d/ca.crt && printf %s "$3" >$d/namespace && shift 3 &&
		exec env -u KUBECONFIG HOME=/nowhere KUBERNETES_SERVICE_HOST=10.96.0.1 KUBERNETES_SERVICE_PORT=443 "$@"' \
		- "$scratch" "$cluster_state/pki/ca.crt" $ns "$@"
}
pod() { says "denied 403 get secrets $ns/nothing: .*User \"$robot\" cannot get.*" in_pod $kubecall get v1 Secret "" nothing; }
check "a pod's service account and namespace" pod

kc delete namespace $ns --wait=false >"$scratch/deleted"
finish
