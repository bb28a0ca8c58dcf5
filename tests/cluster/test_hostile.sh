#!/bin/bash
# Objects and clients that mean no good: what the API server stores that we do not like,
# hundreds of connections that never get on, tokens that are none. Others are served
# meanwhile, and in the end the process is as it was, and leaves without a word.
# tests/soak/sanitized.sh runs this with the program under ASan and UBSan.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
check "the controller starts" controller_up --feature-gates TrainJobStatus=true
job=$! pid=$(controller_pid)
ns=hostile-$$
api=/apis/trainer.kubeflow.org/v1alpha1
kc create namespace $ns >/dev/null
kn() { kc -n $ns "$@"; }

said() { tee "$scratch/said" | grep -e "$1" || { head -c 2000 "$scratch/said"; return 1; }; }
refused() { # LIKE COMMAND...
	local like=$1
	shift
	! "$@" >"$scratch/out" 2>&1 && said "$like" <"$scratch/out"
}
raw() { kc create --raw "$1" -f "$scratch/$2"; } # PATH FILE: its very bytes
n=0
trainjob() { # NAME
	echo '{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: '"$1"'}, spec: {runtimeRef: {name: torch-distributed}}}'
}
works() { # another's TrainJob has its JobSet
	n=$((n + 1))
	trainjob "other-$n" | kn create -f - && wait_for 60 kn get jobset "other-$n"
}
event() { # TRAINJOB LIKE: of what could not be made
	kn get events --field-selector "involvedObject.name=$1,reason=TrainJobResourcesCreationFailed" -o 'jsonpath={.items[*].message}' | said "$2"
}

# ---- what comes through the API server -----------------------------------------------------------
make_objects() {
	python3 - "$scratch" $ns <<-'PYTHON'
		import json, os, sys
		folder, ns = sys.argv[1:]
		def write(name, api, kind, meta, spec=None, **more):
		    doc = {"apiVersion": api, "kind": kind, "metadata": dict({"name": name, "namespace": ns}, **meta)}
		    text = json.dumps(dict(doc, **({"spec": spec} if spec else {}), **more))
		    with open(os.path.join(folder, name), "wb") as file:
		        file.write(text.replace("BYTES", "\udcff\udcfe").encode("utf-8", "surrogateescape"))
		trainer = "trainer.kubeflow.org/v1alpha1"
		torch = {"runtimeRef": {"name": "torch-distributed"}}
		def of(runtime, **spec):
		    return dict({"runtimeRef": {"kind": "TrainingRuntime", "name": runtime}}, **spec)
		def runtime(name, value, **meta):
		    write(name, trainer, "TrainingRuntime", meta, {"template": {"spec": {"replicatedJobs": [{
		        "name": "node", "template": {
		            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
		            "spec": {"template": {"spec": {"containers": [
		                {"name": "node", "image": "i", "env": [{"name": "A", "value": value}]}]}}}}}]}}})
		nul, pods = {"annotations": {"a": "x\0y"}}, {"containers": [{"name": "c", "image": "i"}]}
		labels = {"jobset.sigs.k8s.io/jobset-name": "x"}
		write("bytes", trainer, "TrainJob", {"annotations": {"a": "<BYTES>"}}, torch)
		write("nul", trainer, "TrainJob", nul, torch)
		write("nul-jobset", "jobset.x-k8s.io/v1alpha2", "JobSet", nul, {"replicatedJobs": [
		    {"name": "a", "template": {"spec": {"template": {"spec": pods}}}}]})
		write("nul-pod", "v1", "Pod", dict(nul, labels=labels), pods)
		write("nul-limits", "v1", "LimitRange", nul, {"limits": []})
		runtime("nul-runtime", "x\0y", labels={"trainer.kubeflow.org/webhook-validation": "disabled"})
		write("of-nul", trainer, "TrainJob", {}, of("nul-runtime"))
		write("wide-pod", "v1", "Pod", {"labels": labels}, {"containers": [
		    {"name": "c", "image": "i", "env": [{"name": "A", "value": "<" * 1000000}]}]})
		runtime("large-runtime", "x" * 1200000)
		write("of-large", trainer, "TrainJob", {}, of("large-runtime"))
		runtime("half-runtime", "x" * 900000)
		write("half", trainer, "TrainJob", {}, of("half-runtime", trainer={"args": ["y" * 900000]}))
		write("three", trainer, "TrainJob", {}, dict(torch, trainer={"args": ["z" * 970000] * 3}))
		write("four", trainer, "TrainJob", {}, dict(torch, trainer={"args": ["z" * 970000] * 4}))
	PYTHON
}
check "objects are made" make_objects
jobs=$api/namespaces/$ns/trainjobs runtimes=$api/namespaces/$ns/trainingruntimes core=/api/v1/namespaces/$ns

check "bytes that are not UTF-8 become U+FFFD" eval 'raw $jobs bytes && wait_for 60 kn get jobset bytes'
check "a TrainJob with NUL in it is refused" refused 'denied the request.*NUL' raw "$jobs" nul
nuls() {
	raw "/apis/jobset.x-k8s.io/v1alpha2/namespaces/$ns/jobsets" nul-jobset && raw "$core/pods" nul-pod &&
		raw "$core/limitranges" nul-limits && raw "$runtimes" nul-runtime
} >/dev/null
check "JobSet, pod, LimitRange and runtime with NUL are not ours to refuse" nuls
check "other jobs go on" works
check "a TrainJob of such a runtime is refused, with the reason" refused 'NUL' raw "$jobs" of-nul
check "a pod whose text is six times what is stored" eval 'raw $core/pods wide-pod >/dev/null'
check "other jobs go on" works
large() { raw "$runtimes" large-runtime >/dev/null && raw "$jobs" of-large && wait_for 60 event of-large 'the runtime snapshot: over'; }
check "a runtime that fits no snapshot: the TrainJob says so" large
half() { raw "$runtimes" half-runtime >/dev/null && raw "$jobs" half >/dev/null && wait_for 60 event half 'too large\|Too long\|more than'; }
check "a JobSet too large for etcd: the TrainJob says so" half
check "a TrainJob of 3 MB is refused" refused 'larger than\|too large' raw "$jobs" three
check "one of 4 MB, too" refused 'too large' raw "$jobs" four
check "other jobs go on" works

# ---- who may only write ConfigMaps ---------------------------------------------------------------
mallory() { kn --as mallory "$@"; }
image() { kn get jobset victim -o 'jsonpath={.spec.replicatedJobs[0].template.spec.template.spec.containers[0].image}'; }
kn create role maps --verb=get,update,patch --resource=configmaps >/dev/null
kn create rolebinding maps --role=maps --user=mallory >/dev/null
check "a suspended TrainJob" eval "trainjob victim | sed 's/spec: {/spec: {suspend: true, /' | kn create -f - && wait_for 60 kn get jobset victim"
before=$(image)
forge() {
	mallory get configmap victim-runtime-snapshot -o json | sed 's|image: [^ \\]*|image: evil/image|' >"$scratch/forged" &&
		grep -q evil/image "$scratch/forged" && mallory replace -f "$scratch/forged"
}
check "somebody changes its snapshot" forge
kn patch trainjob victim --type merge -p '{"spec": {"suspend": false}}' >/dev/null
check "the TrainJob says so" wait_for 60 event victim 'runtime-snapshot was changed'
check "and its image is the same" test "$(image)" = "$before"
kn delete configmap victim-runtime-snapshot >/dev/null
resumed() { [ "$(kn get jobset victim -o 'jsonpath={.spec.suspend}')" = false ]; }
check "without it, it runs with the current runtime" wait_for 60 resumed
check "and with the image of that" test "$(image)" = "$before"

# ---- who connects --------------------------------------------------------------------------------
fds() { in_cluster ls "/proc/$pid/fd" | wc -l; }
threads() { awk '/^Threads/ { print $2 }' "/proc/$pid/status"; }
quiet() { echo "$(fds) descriptors, $(threads) threads"; [ "$(fds)" -lt 100 ] && [ "$(threads)" -lt 60 ]; }

noise() { # bytes that are nothing, to each port
	local port
	for port in 9443 8443 10443 8081; do
		in_cluster timeout 20 bash -c "head -c 300000 /dev/urandom >/dev/tcp/$cluster_ip/$port" 2>/dev/null
		in_cluster curl -sk --max-time 20 "http://$cluster_ip:$port/$(printf '%020000d' 0)" >/dev/null
		in_cluster curl -sk --max-time 20 "https://$cluster_ip:$port/%00%ff" -H "X: $(printf '%09000d' 0)" >/dev/null
	done
	[ -e "/proc/$pid" ]
}
check "noise on each port" noise

holders=()
hold() { # PORT HOW COUNT
	local out=$scratch/hold-$1-$2
	in_cluster bash -c 'echo $$ >"$0.pid"; exec tests/cluster/hostile.py hold "$@"' "$out" $cluster_ip "$@" >"$out" 2>&1 &
	holders+=("$out")
}
held() { wait_for 120 grep -x holding "$1" || { cat "$1"; return 1; }; }
let_go() {
	local out
	for out in "${holders[@]}"; do in_cluster kill "$(cat "$out.pid")"; done
	for out in "${holders[@]}"; do wait_for 30 grep -x '[0-9]*' "$out"; done
}
check "it is quiet" wait_for 30 quiet
hold 9443 silent 300
hold 9443 tls 300
hold 9443 head 400
hold 9443 body 400
hold 8443 head 150
hold 8443 hello 150
hold 10443 body 150
hold 10443 tls 150
hold 8081 plain-head 150
hold 8081 plain-body 150
for out in "${holders[@]}"; do
	check "connections that do not get on: ${out##*/hold-}" held "$out"
done
admitted() { # each at the first try
	local i
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		trainjob "meanwhile-$i" | kn create -f - || return 1
	done
	wait_for 60 kn get jobset meanwhile-{1..20}
}
answers() { # HTTP-CODE CURL'S ARGUMENTS
	local code
	code=$(in_cluster curl -sk --max-time 30 -o "$scratch/said" -w '%{http_code}' "${@:2}")
	[ "$code" = "$1" ] || { echo "$code"; head -c 300 "$scratch/said"; return 1; }
}
check "TrainJobs are still admitted" admitted
check "and when all of them have been put out and come again" eval 'sleep 20; works && works && works'
check "the kubelet is answered" wait_for 120 answers 200 "http://$cluster_ip:8081/readyz"
check "Prometheus is answered" wait_for 120 answers 200 "https://$cluster_ip:8443/metrics"
check "reports are answered" wait_for 120 answers 403 -d '{}' "https://$cluster_ip:10443$api/namespaces/a/trainjobs/a/status"
check "they end" let_go
check "and leave nothing behind them" wait_for 60 quiet

# ---- tokens that are none ------------------------------------------------------------------------
pod() { kn get pods -l jobset.sigs.k8s.io/jobset-name=other-1 -o 'jsonpath={.items[0].metadata.name} {.items[0].metadata.uid}' | grep .; }
check "a pod" wait_for 60 pod
read -r name uid < <(pod)
audience=trainer.kubeflow.org/v1alpha1/namespaces/$ns/trainjobs/other-1/status
good=$(kn create token default --bound-object-kind Pod --bound-object-name "$name" \
	--bound-object-uid "$uid" --audience "$audience")
status=https://$cluster_ip:10443$api/namespaces/$ns/trainjobs/other-1/status
key=$cluster_state/pki/sa.key
openssl genrsa -out "$scratch/foreign.key" 2048 2>/dev/null
bearer() { # HTTP-CODE KEY CHANGES
	local changed
	changed=$(tests/cluster/hostile.py token "$2" "$3" <<<"$good") || return 1
	echo "$changed" >>"$scratch/tokens"
	answers "$1" -H "Authorization: Bearer $changed" -d '{}' "$status"
}
check "its token" bearer 200 "$key" '{}'
check "expired" bearer 403 "$key" '{"iat": 1700000000, "nbf": 1700000000, "exp": 1700003600}'
check "not valid yet" bearer 403 "$key" '{"nbf": 4000000000, "exp": 4000003600}'
check "by another issuer" bearer 403 "$key" '{"iss": "https://elsewhere"}'
check "of another cluster's key" bearer 403 "$scratch/foreign.key" '{}'
check "unsigned" bearer 403 none '{}'
check "of a user that is no account" bearer 403 "$key" '{"sub": "admin", "kubernetes.io": {"namespace": "'$ns'"}}'
check "of no audience" bearer 403 "$key" '{"aud": []}'
check "of a pod of that name that is gone" bearer 403 "$key" '{"kubernetes.io": {"namespace": "'$ns'", "serviceaccount": {"name": "default", "uid": "1"}, "pod": {"name": "'"$name"'", "uid": "1"}}}'
check "a token of 15 KB" answers 403 -H "Authorization: Bearer $(printf '%015000d' 0)" -d '{}' "$status"
check "one of 20 KB" answers 431 -H "Authorization: Bearer $(printf '%020000d' 0)" -d '{}' "$status"
check "two" answers 403 -H "Authorization: Bearer $good" -H "Authorization: Bearer $good" -d '{}' "$status"
no_secret() { cut -d. -f2 "$scratch/tokens" | sort -u | { ! grep -qFf - "$controller_log"; }; }
check "none of them is in the log" no_secret

# ---- the end -------------------------------------------------------------------------------------
ended_well() { # asked to, with status 0, so without a leak
	local status
	in_cluster kill "$(controller_pid)"
	wait "$job"
	status=$?
	rm "$scratch/controller-1.pid"
	[ $status = 0 ] && ! grep -e 'ERROR: .*Sanitizer' -e 'runtime error' "$controller_log" ||
		{ echo "status $status"; tail -n 50 "$controller_log"; return 1; }
}
check "it is still the same process" test -e "/proc/$pid"
check "it ends well" ended_well
check "with all of that in the cluster it starts again" controller_up
job=$!
check "other jobs go on" works
check "it ends well again" ended_well
kc delete namespace $ns --wait=false >/dev/null
finish
