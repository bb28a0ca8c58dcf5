#!/bin/bash
# The controller's process on a real cluster: certificates, replicas, metrics, faults.
. "$(dirname "$0")/lib.sh"
cluster_up
name=kubeflow-trainer-controller-manager
secret=kubeflow-trainer-webhook-cert

settings() { # FILE WEBHOOK METRICS HEALTH [LINE...]
	cat >"$1" <<-END
		apiVersion: config.trainer.kubeflow.org/v1alpha1
		kind: Configuration
		webhook: {port: $2}
		metrics: {bindAddress: ":$3", auth: {enabled: true}}
		health: {healthProbeBindAddress: ":$4"}
		controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 7}}
		leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}
	END
}
settings "$scratch/one.yaml" 9443 8443 8081
settings "$scratch/two.yaml" 9444 8444 8082

get() { in_cluster curl -sk "$@"; }
code() { get -o /dev/null -w '%{http_code}\n' "$@"; }
answers() { # WANTED CURL-ARGUMENT...
	local want=$1 got
	shift
	got=$(code "$@")
	[ "$got" = "$want" ] || { echo "status $got"; return 1; }
}
metric() { # PORT LINE: there is such a line
	get -H "Authorization: Bearer $token" "https://$cluster_ip:$1/metrics" | grep -F "$2" ||
		{ get -H "Authorization: Bearer $token" "https://$cluster_ip:$1/metrics" | head -20; return 1; }
}
of_secret() { kc get secret -n $trainer_ns $secret -o "jsonpath={.data.${1/./\\.}}"; }
bundles() { kc get "$1" -o 'jsonpath={range .webhooks[*]}{.clientConfig.caBundle}{"\n"}{end}' "$2"; }
injected() {
	local ca
	ca=$(of_secret ca.crt)
	[ -n "$ca" ] &&
		[ "$(bundles validatingwebhookconfiguration validator.trainer.kubeflow.org | sort -u)" = "$ca" ] &&
		[ "$(bundles mutatingwebhookconfiguration defaulter.trainer.kubeflow.org | sort -u)" = "$ca" ]
}
shown() { # the certificate that PORT shows
	in_cluster openssl s_client -connect "$cluster_ip:$1" -servername "$name.$trainer_ns.svc" </dev/null 2>/dev/null |
		openssl x509
}
shows_secret() { [ "$(shown "$1" | openssl x509 -noout -fingerprint)" = "$(of_secret tls.crt | base64 -d | openssl x509 -noout -fingerprint)" ]; }

# A certificate as upstream's rotator makes them: RSA, the CA's key as PKCS#1. DAYS: of the server's.
make_pair() { # DAYS
	(
		cd "$scratch" || exit
		[ -e ca.key ] || {
			openssl genrsa -traditional -out ca.key 2048
			openssl req -x509 -new -key ca.key -days 3650 -subj /O=kubeflow-trainer/CN=kubeflow-trainer-ca \
				-addext keyUsage=digitalSignature,keyEncipherment,keyCertSign -out ca.crt
		}
		openssl genrsa -traditional -out tls.key 2048
		openssl req -new -key tls.key -subj "/CN=$name.$trainer_ns.svc" -out tls.csr
		printf 'subjectAltName=DNS:%s\nextendedKeyUsage=serverAuth\n' "$name.$trainer_ns.svc" >ext
		openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -set_serial 1 -days "$1" -extfile ext -out tls.crt
	) >"$scratch/openssl" 2>&1 || cat "$scratch/openssl"
}
put_pair() {
	kc create secret generic $secret -n $trainer_ns --dry-run=client -o yaml \
		--from-file="$scratch/ca.crt" --from-file="$scratch/ca.key" \
		--from-file="$scratch/tls.crt" --from-file="$scratch/tls.key" | kc apply --server-side --force-conflicts --field-manager=rotator -f -
}
job() { # NAME
	kc create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, namespace: default}
		spec: {suspend: true, runtimeRef: {name: torch-distributed}}
	END
}
has_jobset() { kc get jobset -n default "$1"; }

# ---- certificates --------------------------------------------------------------------------------

trainer_install >"$scratch/install" 2>&1 || cat "$scratch/install"
make_pair 365
put_pair >/dev/null
before=$(of_secret tls.crt)
export controller_config=$scratch/one.yaml
check "starts; its webhooks answer" controller_up --feature-gates TrainJobStatus=true
kept() { [ "$before" = "$(of_secret tls.crt)" ] || { cat "$controller_log"; return 1; }; }
check "a certificate from upstream's rotator is used unchanged" kept
check "... shown" wait_for 30 shows_secret 9443
check "... its CA in every webhook" wait_for 30 injected
check "ready, each check by its name" answers 200 "http://$cluster_ip:8081/readyz/status-server-readyz"
check "the status server has the same certificate" shows_secret 10443
make_pair 60
before=$(base64 -w0 "$scratch/tls.crt") # not of the Secret, which may be another by then
put_pair >/dev/null
renewed() { [ "$(of_secret tls.crt)" != "$before" ]; }
check "a certificate that ends in 60 days is renewed" wait_for 60 renewed
check "... by the same CA" test "$(of_secret ca.crt | base64 -d)" = "$(cat "$scratch/ca.crt")"
check "... shown without a restart" wait_for 30 shows_secret 9443
check "... and trusted" controller_ready
kc patch mutatingwebhookconfiguration defaulter.trainer.kubeflow.org --type=json \
	-p '[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]' >/dev/null
check "a bundle that was lost is put back" wait_for 60 injected
kc delete secret -n $trainer_ns $secret >/dev/null
check "a Secret that was deleted is made again" wait_for 60 of_secret ca.key
check "... with a CA of its own, injected" wait_for 60 injected
check "... and trusted" wait_for 30 controller_ready

# ---- metrics -------------------------------------------------------------------------------------

kc create serviceaccount -n default prometheus >/dev/null
kc create serviceaccount -n default stranger >/dev/null
kc create clusterrole test-metrics --verb=get --non-resource-url=/metrics >/dev/null
kc create clusterrolebinding test-metrics --clusterrole=test-metrics --serviceaccount=default:prometheus >/dev/null
token=$(kc create token -n default prometheus)
stranger=$(kc create token -n default stranger)
url=https://$cluster_ip:8443/metrics
check "metrics for who may read them" wait_for 30 answers 200 -H "Authorization: Bearer $token" "$url"
check "... not for a user without the right" answers 403 -H "Authorization: Bearer $stranger" "$url"
check "... nor without a token" answers 401 "$url"
check "... nor for an unknown token" answers 401 -H "Authorization: Bearer nonsense" "$url"
check "groupKindConcurrency counts" metric 8443 'controller_runtime_max_concurrent_reconciles{controller="trainjob_controller"} 7'
check "the leader says so" metric 8443 'leader_election_master_status{name="trainer.kubeflow.org"} 1'
job first >/dev/null
check "a TrainJob gets its JobSet" wait_for 30 has_jobset first
check "... which is counted" wait_for 30 metric 8443 'trainer_trainjobs{state="Suspended",runtime="torch-distributed"} 1'
check "no token, no key in the log" eval '! grep -E "eyJ|PRIVATE KEY|Bearer" "$controller_log"'

# ---- replicas ------------------------------------------------------------------------------------

one=$(controller_pid)
controller_n=2 controller_config=$scratch/two.yaml controller_up
two=$(cat "$scratch/controller-2.pid")
check "a second replica is ready" wait_for 30 answers 200 "http://$cluster_ip:8082/readyz"
check "... with the same certificate" wait_for 30 shows_secret 9444
check "... and does not lead" metric 8444 'leader_election_master_status{name="trainer.kubeflow.org"} 0'
in_cluster kill -s STOP "$one"
check "a leader that hangs is replaced" wait_for 60 metric 8444 'leader_election_master_status{name="trainer.kubeflow.org"} 1'
in_cluster kill -s CONT "$one"
gone() { ! kill -0 "$1" 2>/dev/null; }
check "... and ends as soon as it sees that" wait_for 30 gone "$one"
check "... which it says" grep -q 'lost the lease trainer.kubeflow.org' "$scratch/controller-1.log"
rm "$scratch/controller-1.pid"
check "one that starts again waits" controller_up
job second >/dev/null
check "... while the other works" wait_for 30 has_jobset second
in_cluster kill -s TERM "$two"
check "SIGTERM: the lease is given up, the other leads" wait_for 30 metric 8443 'leader_election_master_status{name="trainer.kubeflow.org"} 1'
check "... the one that was asked to stop has ended" wait_for 30 gone "$two"
job third >/dev/null
check "... and work goes on" wait_for 30 has_jobset third
controller_down
sound() { ! grep -hE 'Sanitizer|runtime error' "$scratch"/controller-*.log; }
check "both ended well" sound

# ---- the API server is away ----------------------------------------------------------------------

sed -i '/leaderElection/d' "$scratch/one.yaml"
check "starts without leader election" controller_up
cluster stop kube-apiserver KILL >/dev/null
sleep 3
check "alive while there is no API server" answers 200 "http://$cluster_ip:8081/healthz"
cluster start kube-apiserver >/dev/null
check "webhooks answer again" wait_for 60 controller_ready
job fourth >/dev/null
check "... and work goes on" wait_for 60 has_jobset fourth
controller_down
check "ended well" sound
finish
