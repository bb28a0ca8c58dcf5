#!/bin/bash
# The oldest and the newest Kubeflow SDK, unmodified, on two real nodes: what their users see of pods that run. What
# the others send is the same, as tests/cluster/test_sdk.sh shows, which has everything else; soak_sdk.sh has all.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
sdk=$(tests/cluster/sdk.sh 2>"$scratch/sdk") || {
	check "the SDK is installed" eval 'cat "$scratch/sdk"; false'
	finish
}
e2e_shared
runtime() { # NAME FRAMEWORK POLICY BACKOFFLIMIT RESTARTPOLICY [JOBS [MORE OF NODE'S]]
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: ClusterTrainingRuntime
		metadata: {name: $1, labels: {trainer.kubeflow.org/framework: $2}}
		spec:
		  mlPolicy: {numNodes: 1, $3}
		  template: {spec: {replicatedJobs: [$6 {name: node, ${7:-} template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: $4, template: {spec: {restartPolicy: $5, terminationGracePeriodSeconds: 2,
		      containers: [{name: node, image: $image, volumeMounts: [{name: state, mountPath: /state}]}],
		      volumes: [{name: state, emptyDir: {}}]}}}}}]}}
		---
	END
}
initializer() { # NAME WORDS
	echo "{name: $1, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: $1}},
		spec: {template: {spec: {restartPolicy: Never, volumes: [{name: initializer, emptyDir: {}}],
		containers: [{name: $1, image: $image, command: [sh, -c, 'echo $2'], volumeMounts: [{name: initializer, mountPath: /workspace}]}]}}}}},"
}
# shellcheck disable=SC2016
sdk_runtimes() {
	runtime sdk-torch torch 'torch: {}' 0 Never
	runtime sdk-plain plain '' 0 Never
	runtime sdk-again plain '' 3 OnFailure
	runtime sdk-steps plain '' 3 OnFailure \
		"$(initializer dataset-initializer '$STORAGE_URI $ACCESS_TOKEN')$(initializer model-initializer '$STORAGE_URI')" \
		'dependsOn: [{name: dataset-initializer, status: Complete}, {name: model-initializer, status: Complete}],'
	mpi_runtime ClusterTrainingRuntime sdk-mpi-ssh ssh true
	mpi_runtime ClusterTrainingRuntime sdk-mpi-worker worker true
}
# What pip takes for an index: a folder for each package, with its wheels.
index() {
	local wheel name
	for wheel in "$sdk"/wheels/*; do
		name=${wheel##*/}
		name=${name%%-*}
		name=${name,,}
		mkdir -p "$scratch/simple/${name//[._]/-}"
		cp "$wheel" "$scratch/simple/${name//[._]/-}/"
	done
	serve index /usr/bin/python3 -m http.server 8087 --bind $cluster_ip --directory "$scratch"
	wait_for 10 in_cluster curl -sf "http://$cluster_ip:8087/simple/kubeflow/" -o /dev/null
}
user() { # NAMESPACE: one who may `edit` there, and nothing else
	kc create namespace "$1" && kc create rolebinding -n "$1" users --clusterrole edit --user sdk-user &&
		wait_for 30 kc get serviceaccount default -n "$1"
}
calls() { # RELEASE NAMESPACE
	in_cluster env "SDK_KUBECONFIG=$scratch/user" "SDK_INDEX=http://$cluster_ip:8087/simple" \
		PYTHONDONTWRITEBYTECODE=1 "$sdk/$1/bin/python" tests/e2e/sdk_pods.py "$2"
}
check "a user's kubeconfig" cluster kubeconfig "$scratch/user" sdk-user
check "runtimes of images that are here" eval 'sdk_runtimes | kc apply -f -'
check "an index of packages for pods" index
for release in ${SDK_RELEASES:-0.1.0 0.5.0}; do
	ns=sdk-${release//./-}
	check "a namespace and its user, for $release" user "$ns"
	calls "$release" "$ns" || failures=$((failures + 1))
	kc delete namespace "$ns" --wait=false >/dev/null
done
finish
