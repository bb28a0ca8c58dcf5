#!/bin/bash
# Every call of the Kubeflow SDK's releases, unmodified, as an ordinary user of a namespace
# makes it. There are no kubelets: logs and what runs are in tests/e2e/test_sdk.sh.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
sdk=$(tests/cluster/sdk.sh 2>"$scratch/sdk") || {
	check "the SDK is installed" eval 'cat "$scratch/sdk"; false'
	finish
}
cluster_shared
check "the controller starts" controller_up --feature-gates TrainJobStatus=true
pid=$(controller_pid)

# A runtime whose Jobs do not try again: for all, and a namespace's own of the same name.
runtime() { # KIND NODES
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: $1
		metadata: {name: sdk-once, labels: {trainer.kubeflow.org/framework: torch}}
		spec:
		  mlPolicy: {numNodes: $2, torch: {}}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {containers: [{name: node, image: i}]}}}}}]}}
	END
}
user() { # NAMESPACE: one who may `edit` there, and nothing else
	kc create namespace "$1" && kc create rolebinding -n "$1" users --clusterrole edit --user sdk-user &&
		runtime TrainingRuntime 3 | kc apply -n "$1" -f -
}
calls() { # RELEASE NAMESPACE
	in_cluster env "SDK_KUBECONFIG=$scratch/user" PYTHONDONTWRITEBYTECODE=1 \
		"$sdk/$1/bin/python" tests/cluster/sdk/calls.py "$2"
}
check "a user's kubeconfig" cluster kubeconfig "$scratch/user" sdk-user
check "a runtime for all" eval 'runtime ClusterTrainingRuntime 1 | kc apply -f -'
check "and that of the data cache" eval '"$kftrainer" runtime get torch-distributed-with-cache | kc apply -f -'
for release in ${SDK_RELEASES:-0.1.0 0.2.1 0.3.1 0.4.1 0.5.0}; do
	ns=sdk-${release//./-}-$$
	check "a namespace and its user, for $release" user "$ns"
	calls "$release" "$ns" || failures=$((failures + 1))
	kc delete namespace "$ns" --wait=false >/dev/null
done
check "it is still the same process" test -e "/proc/$pid"
kc delete clustertrainingruntime sdk-once >/dev/null
finish
