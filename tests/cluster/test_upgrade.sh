#!/bin/bash
# A cluster that upstream's manager has served is taken over: no object is replaced, no job
# disturbed; and what we leave upstream's manager can read.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
install_flags=--upstream-images
unset KFT_CLUSTER # one that nobody has served
cluster_up
ns=upgrade-$$
api=trainer.kubeflow.org/v1alpha1
secret=kubeflow-trainer-webhook-cert
kn() { kc -n $ns "$@"; }
ks() { kc -n $trainer_ns "$@"; }

# ---- what upstream leaves ------------------------------------------------------------------------
helm() { # the marks of its chart
	kc label "$@" app.kubernetes.io/managed-by=Helm helm.sh/chart=kubeflow-trainer-2.3.0 &&
		kc annotate "$@" meta.helm.sh/release-name=kubeflow-trainer meta.helm.sh/release-namespace=$trainer_ns
}
its_objects() { # CRDs and runtimes
	trainer_objects >"$scratch/all.yaml" && python3 - "$scratch/all.yaml" <<-'PYTHON' | kc apply --server-side --field-manager helm -f - && kc wait --for condition=Established crd/trainjobs.trainer.kubeflow.org
		import sys, yaml
		for obj in yaml.load_all(open(sys.argv[1]), getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
		    if obj["kind"] in ("CustomResourceDefinition", "Namespace"):
		        print("---\n" + yaml.dump(obj, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
	PYTHON
}
its_runtimes() {
	python3 - "$scratch/all.yaml" <<-'PYTHON' | kc apply --server-side --field-manager helm -f -
		import sys, yaml
		for obj in yaml.load_all(open(sys.argv[1]), getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
		    if obj["kind"] == "ClusterTrainingRuntime":
		        obj["metadata"]["finalizers"] = ["trainer.kubeflow.org/resource-in-use"]
		        print("---\n" + yaml.dump(obj, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
	PYTHON
}
its_secret() { # RSA, PKCS#1, as its rotator writes them
	local at=$scratch/cert
	openssl genrsa -traditional -out "$at.ca.key" 2048 2>/dev/null
	openssl genrsa -traditional -out "$at.key" 2048 2>/dev/null
	openssl req -x509 -new -key "$at.ca.key" -subj /O=kubeflow-trainer/CN=kubeflow-trainer-ca -days 3650 -out "$at.ca"
	openssl req -new -key "$at.key" -subj "/CN=kubeflow-trainer-controller-manager.$trainer_ns.svc" -out "$at.csr"
	openssl x509 -req -in "$at.csr" -CA "$at.ca" -CAkey "$at.ca.key" -days 365 -set_serial 2 -out "$at.crt" 2>/dev/null \
		-extfile <(printf '%s\n' "subjectAltName=DNS:kubeflow-trainer-controller-manager.$trainer_ns.svc" extendedKeyUsage=serverAuth)
	ks create secret generic $secret --from-file=ca.crt="$at.ca" --from-file=ca.key="$at.ca.key" \
		--from-file=tls.crt="$at.crt" --from-file=tls.key="$at.key" && helm -n $trainer_ns secret $secret
}
hold_lease() { # as long as it "runs"
	printf '%s\n' "apiVersion: coordination.k8s.io/v1" "kind: Lease" "metadata: {name: trainer.kubeflow.org}" \
		"spec: {holderIdentity: upstream_1, leaseDurationSeconds: 15, leaseTransitions: 3, acquireTime: \"2026-01-01T00:00:00.000000Z\", renewTime: \"$(date -u +%FT%T.%6NZ)\"}" |
		ks apply --server-side --force-conflicts --field-manager upstream -f -
}
holder() { ks get lease trainer.kubeflow.org -o 'jsonpath={.spec.holderIdentity}'; }

# trainjob NAME RUNTIME SUSPEND: and all that is made of it
trainjob() {
	cat >"$scratch/job.yaml" <<-END
		apiVersion: $api
		kind: TrainJob
		metadata: {name: $1, namespace: $ns}
		spec: {runtimeRef: {name: $2}, suspend: $3, trainer: {numNodes: 2, env: [{name: A, value: b}]}}
	END
	kn create -f "$scratch/job.yaml" && kn get trainjob "$1" -o yaml >"$scratch/trainjob" || return 1
	kc get clustertrainingruntime "$2" -o yaml --show-managed-fields >"$scratch/runtime" &&
		"$kftrainer" submit --dry-run=client -o yaml "$scratch/job.yaml" >"$scratch/objects" &&
		tests/cluster/leftovers.py "$scratch/objects" "$scratch/trainjob" "$scratch/runtime" "$scratch/ssh" |
		kc apply --server-side --field-manager trainer -f -
}
conditions() { # NAME JSON
	kn patch trainjob "$1" --subresource status --type merge --field-manager trainer-controller-manager \
		-p "{\"status\": {\"conditions\": [$2]}}"
}
condition() { # TYPE REASON MESSAGE
	echo "{\"type\": \"$1\", \"status\": \"True\", \"reason\": \"$2\", \"message\": \"$3\", \"lastTransitionTime\": \"2026-01-01T00:00:00Z\"}"
}
its_jobs() {
	ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -C '' -f "$scratch/ssh" &&
		trainjob held torch-distributed true && trainjob busy torch-distributed false &&
		trainjob mpi-held deepspeed-distributed true && trainjob mpi-busy deepspeed-distributed false &&
		trainjob tune-held torchtune-qwen2.5-1.5b true &&
		trainjob finished torch-distributed false && kn delete jobset finished || return 1
	conditions held "$(condition Suspended Suspended "TrainJob is suspended")" &&
		conditions mpi-held "$(condition Suspended Suspended "TrainJob is suspended")" &&
		conditions tune-held "$(condition Suspended Suspended "TrainJob is suspended")" &&
		conditions finished "$(condition Complete AllJobsCompleted "jobset completed successfully")"
}
pods() { [ "$(kn get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | wc -l)" -ge "$2" ]; }

check "its CRDs" its_objects
kc create namespace $ns >/dev/null
check "its runtimes, with the finalizer of older releases" wait_for 60 its_runtimes
check "its certificate" its_secret
check "its jobs: suspended, running, finished" its_jobs
check "the running ones have pods" eval 'wait_for 60 pods busy 2 && wait_for 60 pods mpi-busy 1'
check "its lease" hold_lease

# ---- taken over ----------------------------------------------------------------------------------
dump() { kn get jobset,job,configmap,secret,trainjob -o json --show-managed-fields >"$scratch/$1"; }
untouched() { # BEFORE AFTER: uid of all, resourceVersion of what is the controller's to write
	python3 - "$scratch/$1" "$scratch/$2" <<-'PYTHON'
		import json, sys
		def without_voids(node): # {} of a typed client, which says nothing
		    if isinstance(node, list):
		        return [without_voids(item) for item in node]
		    if not isinstance(node, dict):
		        return node
		    return {key: without_voids(value) for key, value in node.items() if value != {}}
		def read(path):
		    return {(o["kind"], o["metadata"]["name"]): o for o in json.load(open(path))["items"]}
		before, after = map(read, sys.argv[1:])
		wrong = [key for key in before.keys() - after.keys()]
		for key in before.keys() & after.keys():
		    one, two = before[key], after[key]
		    if one["metadata"]["uid"] != two["metadata"]["uid"] or without_voids(one.get("spec")) != without_voids(two.get("spec")):
		        wrong.append(key)
		    elif key[0] in ("ConfigMap", "Secret") and one["metadata"]["resourceVersion"] != two["metadata"]["resourceVersion"]:
		        wrong.append(key)
		    elif key[0] == "JobSet":
		        ours = [[f for f in o["metadata"]["managedFields"] if f["manager"] == "trainer"] for o in (one, two)]
		        if ours[0] != ours[1] and not two["spec"]["suspend"]:
		            wrong.append(key)
		print(len(before), "objects", wrong)
		sys.exit(bool(wrong) or len(before) < 12)
	PYTHON
}
# shellcheck disable=SC2034 # lib.sh
controller_config=$scratch/config.yaml
cat >"$controller_config" <<-END
	apiVersion: config.trainer.kubeflow.org/v1alpha1
	kind: Configuration
	leaderElection:
	  leaderElect: true
	  resourceName: trainer.kubeflow.org
	  leaseDuration: 15s
	  renewDeadline: 10s
	  retryPeriod: 2s
END
started() {
	while hold_lease >/dev/null 2>&1; do sleep 3; done &
	holding=$!
	controller_up
}
job=
check "ours starts, and admits" started
job=$(jobs -p | tail -n 1)
new() { printf '%s\n' "apiVersion: $api" "kind: TrainJob" "metadata: {name: $1}" "spec: {runtimeRef: {name: $2}}" | kn create -f -; }
waits() { new early torch-distributed && sleep 3 && [ "$(holder)" = upstream_1 ] && ! kn get jobset early 2>&1; }
check "while upstream's leads it only waits" waits
dump before
kill "$holding"
wait "$holding" 2>/dev/null
leads() { holder | grep . | grep -vx upstream_1; }
check "when that is gone ours leads" wait_for 120 leads
check "new jobs have theirs" wait_for 60 kn get jobset early
condition_of() { [ "$(kn get trainjob "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].status}{.status.jobsStatus[0].name}")" = "$3" ]; }
check "the status of running jobs is reported" eval 'wait_for 60 condition_of busy Suspended node && wait_for 60 condition_of mpi-busy Suspended node'
sleep 2
dump after
check "nothing of upstream's has been replaced or written" untouched before after
gone() { ! kn get jobset finished 2>/dev/null; }
check "finished jobs stay finished" gone
no_failure() { [ -z "$(kn get events --field-selector reason=TrainJobResourcesCreationFailed -o name)" ] || ! kn get events; }
check "nothing has failed" no_failure
no_finalizer() { ! kc get clustertrainingruntime -o 'jsonpath={.items[*].metadata.finalizers}' | grep .; }
check "the finalizer of older releases is taken away" wait_for 30 no_finalizer
of_secret() { ks get secret $secret -o "jsonpath={.data.${1/./\\.}}" | base64 -d; }
kept() { [ "$(of_secret ca.key)" = "$(cat "$scratch/cert.ca.key")" ] && [ "$(of_secret tls.crt)" = "$(cat "$scratch/cert.crt")" ]; }
check "its certificate is kept" kept
marks() { ks get secret $secret -o yaml | grep 'meta.helm.sh/release-name: kubeflow-trainer'; }
check "and the marks of its chart" marks

# ---- goes on -------------------------------------------------------------------------------------
uid_of() { kn get "$1" "$2" -o 'jsonpath={.metadata.uid}'; }
image_of() { kn get jobset "$1" -o "jsonpath={.spec.replicatedJobs[$2].template.spec.template.spec.containers[0].image}"; }
another_image() {
	kc patch clustertrainingruntime "$1" --type json \
		-p '[{"op": "replace", "path": "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/0/image", "value": "another"}]'
}
check "the runtimes change" eval 'another_image torch-distributed && another_image deepspeed-distributed'
resumes() { # NAME PODS: the same JobSet, as the runtime was
	local uid image
	uid=$(uid_of jobset "$1") image=$(image_of "$1" 0)
	kn patch trainjob "$1" --type merge -p '{"spec": {"suspend": false}}' && wait_for 60 pods "$1" "$2" &&
		[ "$(uid_of jobset "$1")" = "$uid" ] && [ "$(image_of "$1" 0)" = "$image" ] && [ "$image" != another ]
}
check "a suspended job is resumed" resumes held 2
check "... with MPI" resumes mpi-held 1
check "... with claims and initializers" resumes tune-held 1
# shellcheck disable=SC2016
check "... and says so" eval 'wait_for 30 condition_of held Suspended Falsenode'
key_kept() { [ "$(kn get secret mpi-held-mpi-ssh-auth -o 'jsonpath={.data.ssh-privatekey}' | base64 -d)" = "$(cat "$scratch/ssh")" ]; }
check "its key is upstream's" key_kept
snapshot_of_another() { kn get configmap "$1-runtime-snapshot" -o 'jsonpath={.data.runtime}' | grep -q "image: another"; }
lost() { kn delete configmap held-runtime-snapshot && wait_for 30 kn get configmap held-runtime-snapshot && ! snapshot_of_another held; }
check "the lost snapshot of a running job is as it was" lost
suspends() { kn patch trainjob busy --type merge -p '{"spec": {"suspend": true}}' && wait_for 60 eval '! pods busy 1' && resumes busy 2; }
check "a running job is suspended and resumed" suspends
check "nothing has failed" no_failure
# Another process does not know what the job was made of. JobSet's webhook refuses to change one that runs.
again() { controller_down && kn delete configmap busy-runtime-snapshot && controller_up && wait_for 120 snapshot_of_another busy; }
check "a snapshot that is lost while no controller runs is of the current runtime" again
job=$(jobs -p | tail -n 1)
recreated() { [ "$(image_of busy 0)" = another ] && [ "$(kn get jobset busy -o 'jsonpath={.spec.suspend}')" = true ]; }
held_back() {
	kn patch trainjob busy --type merge -p '{"spec": {"suspend": true}}' && wait_for 60 eval '! pods busy 1' && wait_for 60 recreated &&
		kn patch trainjob busy --type merge -p '{"spec": {"suspend": false}}' && wait_for 60 pods busy 2
}
check "the job is suspended, and its JobSet recreated (kubeflow/trainer#3008)" held_back
check "nothing has failed again" no_failure

# ---- given back ----------------------------------------------------------------------------------
put() { # TRAINJOB RUNTIME: its snapshot as the API server's strict YAML sees it
	kn get configmap "$1-runtime-snapshot" -o 'jsonpath={.data.runtime}' >"$scratch/snapshot" &&
		in_cluster curl -sS --cacert "$cluster_state/pki/ca.crt" --cert "$cluster_state/pki/admin.crt" --key "$cluster_state/pki/admin.key" \
			-X PUT -H 'Content-Type: application/yaml' --data-binary "@$scratch/snapshot" -o "$scratch/answer" -w '%{http_code}\n' \
			"https://$cluster_ip:6443/apis/$api/clustertrainingruntimes/$2?dryRun=All&fieldValidation=Strict" | grep -qx 200 ||
		{ head -c 1000 "$scratch/answer"; return 1; }
	kc get clustertrainingruntime "$2" -o json >"$scratch/live"
	python3 -c 'import json, sys
one, two = (json.load(open(path)) for path in sys.argv[1:])
sys.exit(one["spec"] != two["spec"] or one["metadata"]["uid"] != two["metadata"]["uid"])' "$scratch/answer" "$scratch/live"
}
fresh() { new "$@" && wait_for 60 kn get jobset "$1"; }
check "a job of ours" fresh ours deepspeed-distributed
check "its snapshot is what Go's strict YAML reads" put ours deepspeed-distributed
ssh_key() {
	kn get secret ours-mpi-ssh-auth -o 'jsonpath={.data.ssh-privatekey}' | base64 -d >"$scratch/ours" &&
		chmod 600 "$scratch/ours" && grep -qx -e '-----BEGIN EC PRIVATE KEY-----' "$scratch/ours" &&
		ssh-keygen -y -f "$scratch/ours" | cut -d ' ' -f 1,2 | diff - <(kn get secret ours-mpi-ssh-auth -o 'jsonpath={.data.ssh-publickey}' | base64 -d)
}
check "its key is one of OpenSSH's and Go's" ssh_key
applied() { kn get jobset ours -o json --show-managed-fields | grep -q '"manager": "trainer"'; }
check "its JobSet is applied by upstream's manager" applied
check "its certificate is lost" ks delete secret $secret
rsa() { # what Go's x509.ParsePKCS1PrivateKey takes
	of_secret ca.key >"$scratch/pem" && head -n 1 "$scratch/pem" | grep -qx -e '-----BEGIN RSA PRIVATE KEY-----' &&
		openssl rsa -in "$scratch/pem" -check -noout
}
check "ours makes one that its rotator reads: the CA's key is RSA, PKCS#1" wait_for 60 rsa
names() {
	of_secret ca.crt >"$scratch/ca" && of_secret tls.crt >"$scratch/crt" && openssl verify -CAfile "$scratch/ca" "$scratch/crt" &&
		openssl x509 -in "$scratch/crt" -noout -checkhost "kubeflow-trainer-controller-manager.$trainer_ns.svc" | grep 'does match'
}
check "... for its Service" names
ended() {
	in_cluster kill "$(controller_pid)" && wait "$job" && rm "$scratch/controller-1.pid" && [ -z "$(holder)" ]
}
check "it ends, and the lease is free" ended
kc delete namespace $ns --wait=false >/dev/null
finish
