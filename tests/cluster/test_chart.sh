#!/bin/bash
# The Helm chart on a real API server, and the image in a real containerd.
. "$(dirname "$0")/lib.sh"
ns=$trainer_ns
full=mine-kubeflow-trainer
version=$(cat core/assets/VERSION)
chart=$scratch/kftrainer.tgz
image=$scratch/image.tar

helm() {
	in_cluster env HELM_CACHE_HOME="$scratch" HELM_CONFIG_HOME="$scratch" HELM_DATA_HOME="$scratch" \
		helm "$@" -n "$ns"
}
values() { helm get values mine -o json; }
as() { # ACCOUNT COMMAND...: this program, with that account's rights
	local account=$1
	shift
	cluster kubeconfig "$scratch/$account.kubeconfig" "system:serviceaccount:$ns:$account" &&
		in_cluster env KUBECONFIG="$scratch/$account.kubeconfig" "$kftrainer" "$@"
}
# What the Job of that hook runs; there is no node for it here.
hook() { # HOOK
	local args
	mapfile -t args < <(helm get hooks mine | python3 -c '
import sys, yaml
for job in yaml.safe_load_all(sys.stdin):
    if job and sys.argv[1] in job["metadata"]["annotations"]["helm.sh/hook"]:
        print("\n".join(job["spec"]["template"]["spec"]["containers"][0]["args"]))' "$1")
	[ "${#args[@]}" -gt 2 ] && as $full-runtimes-installer "${args[@]}"
}
runtimes() { [ "$(kc get clustertrainingruntimes -o name | wc -l)" = "$1" ]; }
# With the release's settings and account: leads, shares a certificate, answers the webhooks.
controller_runs() {
	kc get configmap $full-config -n $ns -o jsonpath='{.data.controller_manager_config\.yaml}' >"$scratch/config.yaml" &&
		as $full-controller-manager version &&
		kc delete service $full-controller-manager -n $ns && kc create -n $ns -f - <<-END || return 1
			apiVersion: v1
			kind: Service
			metadata: {name: $full-controller-manager}
			spec: {ports: [{name: webhook-server, port: 443, targetPort: 9443}]}
			---
			apiVersion: discovery.k8s.io/v1
			kind: EndpointSlice
			metadata: {name: by-hand, labels: {kubernetes.io/service-name: $full-controller-manager}}
			addressType: IPv4
			ports: [{name: webhook-server, port: 9443}]
			endpoints: [{addresses: [$cluster_ip]}]
		END
	in_cluster env KUBECONFIG="$scratch/$full-controller-manager.kubeconfig" \
		bash -c 'echo $$ >"$0"; exec "$@"' "$scratch/controller-1.pid" \
		"$kftrainer" controller --config "$scratch/config.yaml" >"$scratch/controller.log" 2>&1 &
	wait_for 60 controller_ready || { tail -n 9 "$scratch/controller.log"; return 1; }
	kc get lease trainer.kubeflow.org -n $ns && ! grep -E '"level":"(warn|error)"' "$scratch/controller.log"
}
jobset_of_the_release() {
	kc create deployment jobset-controller-manager --image x -n $ns &&
		kc annotate deployment jobset-controller-manager -n $ns meta.helm.sh/release-name=mine &&
		! helm upgrade mine "$chart" >"$scratch/out" 2>&1 && grep 'would remove it' "$scratch/out"
}

ctr() { "$programs/bin/ctr" -a "$scratch/containerd.sock" "$@"; }
containerd_up() {
	cat >"$scratch/containerd.toml" <<-END
		version = 2
		root = "$scratch/root"
		state = "$scratch/state"
		disabled_plugins = ["io.containerd.grpc.v1.cri"]
		[grpc]
		address = "$scratch/containerd.sock"
	END
	PATH=$programs/bin:$PATH containerd -c "$scratch/containerd.toml" >"$scratch/containerd.log" 2>&1 &
	containerd=$!
	wait_for 30 ctr version
}
imports() { ctr images import "$image" && ctr images check | grep "docker.io/library/kftrainer:$version .*complete"; }

cluster_up
programs=$(tests/cluster/programs.sh)
check "the chart" vendor/chart.py "$kftrainer" "$version" "$chart"
check "helm install" helm install mine "$chart" --create-namespace --no-hooks --set runtimes.defaultEnabled=true
check "no mesh puts a sidecar, which would not end, into the pods of its Jobs" eval '[ "$(helm get hooks mine | grep -c "sidecar.istio.io/inject: .false.")" = 2 ]'
check "a name as long as the Service's may be is not too long for the others" \
	eval '[ "$(helm template ml-platform-production-eu-1 "$chart" --kube-version 1.34.0 --set runtimes.defaultEnabled=true | sed -n "s/^  name: //p" | awk "length > 63" | wc -l)" = 0 ]'
check "its installer has the rights for the runtimes" hook post-install
check "... all of them" runtimes 13
check "the controller runs with its settings and rights" controller_runs
controller_down
check "its removal has the rights, too" hook pre-delete
check "... for all of them" runtimes 0
check "helm upgrade" helm upgrade mine "$chart" --no-hooks --set manager.replicas=1
check "... changes existing objects" test "$(kc get deployment $full-controller-manager -n $ns -o jsonpath='{.spec.replicas}')" = 1
check "an upgrade that would take JobSet away is refused" jobset_of_the_release
check "helm uninstall" helm uninstall mine
check "... keeps the CRDs" kc get crd trainjobs.trainer.kubeflow.org
check "... which another release takes over" eval 'helm install another "$chart" --no-hooks --take-ownership && helm uninstall another'
check "... and nothing else" eval '[ -z "$(kc get deployment,configmap,role -n $ns -o name | grep $full)" ]'

check "the image" vendor/image.py "$kftrainer" "$version" "$image"
if [ "$(id -u)" = 0 ] && [ -e "$programs/bin/containerd" ]; then
	check "containerd starts" containerd_up
	check "takes the image" imports
	kill "$containerd"
	wait "$containerd"
else
	skip "containerd takes the image" "this is not root"
fi
finish
