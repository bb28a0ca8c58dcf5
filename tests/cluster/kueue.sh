# kueue.sh - for tests that queue jobs: after lib.sh, `kueue_up` starts Kueue's controller in
# the cluster, with quotas for cpu in two ClusterQueues. It ends with the cluster, or by
# `kueue_down`, which takes its webhooks and its API away as well. Log: $kueue_log. Further
# settings: $kueue_settings, YAML.
# shellcheck shell=bash disable=SC2154 # of lib.sh
kueue_port=9446

# Kueue's objects as released, less its Deployment and what only that needs: the controller is
# a process here, and its certificate is the cluster's.
kueue_objects() {
	local manifests
	manifests=$(cat "$cluster_state/programs")/manifests
	/usr/bin/python3 - "$manifests/kueue.yaml" <(in_cluster cat "$cluster_state/pki/ca.crt") <<-'END'
		import base64, sys, yaml
		ca = base64.b64encode(open(sys.argv[2], "rb").read()).decode()
		kept = []
		for o in yaml.load_all(open(sys.argv[1]), getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
		    if o["kind"] in ("Deployment", "Secret"):
		        continue
		    for webhook in o.get("webhooks", []):
		        webhook["clientConfig"]["caBundle"] = ca
		    conversion = o.get("spec", {}).get("conversion", {}).get("webhook")
		    if conversion:
		        conversion["clientConfig"]["caBundle"] = ca
		    kept.append(o)
		print(yaml.dump_all(kept, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)), end="")
	END
	kueue_endpoint kueue-webhook-service '""' $kueue_port
	kueue_endpoint kueue-visibility-server https 8082
}

kueue_endpoint() { # SERVICE PORT-NAME PORT
	cat <<-END
		---
		apiVersion: discovery.k8s.io/v1
		kind: EndpointSlice
		metadata: {name: $1-process, namespace: kueue-system, labels: {kubernetes.io/service-name: $1}}
		addressType: IPv4
		ports: [{name: $2, port: $3, protocol: TCP}]
		endpoints: [{addresses: [$cluster_ip], conditions: {ready: true}}]
	END
}

# Where Kueue looks for the certificates of its metrics and of its API is fixed, so it gets a
# root of its own, with nothing else in it.
kueue_root() {
	local root=$scratch/kueue/root file
	mkdir -p "$root"/{etc/kueue/metrics/certs,visibility,tmp}
	cluster certificate kueue "DNS:kueue-webhook-service.kueue-system.svc,DNS:kueue-visibility-server.kueue-system.svc" || return 1
	for file in crt key; do
		in_cluster cat "$cluster_state/pki/kueue.$file" |
			tee "$root"/{etc/kueue/metrics/certs,visibility}/tls.$file >/dev/null
	done
	cluster kubeconfig "$root/kubeconfig" \
		system:serviceaccount:kueue-system:kueue-controller-manager || return 1
	touch "$root/kueue"
	cat >"$root/config.yaml" <<-END
		apiVersion: config.kueue.x-k8s.io/v1beta2
		kind: Configuration
		leaderElection: {leaderElect: false}
		webhook: {port: $kueue_port, certDir: /visibility}
		health: {healthProbeBindAddress: "127.0.0.1:8093"}
		metrics: {bindAddress: "127.0.0.1:8094"}
		internalCertManagement: {enable: false}
		clientConnection: {qps: 500, burst: 1000}
		integrations: {frameworks: [trainer.kubeflow.org/trainjob, jobset.x-k8s.io/jobset]}
		${kueue_settings:-}
	END
}

# So many CPUs each, one flavor: nodes with the label pool=train.
kueue_queues() { # NAME CPUS, and the same again
	cat <<-END
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: ResourceFlavor
		metadata: {name: train}
		spec: {nodeLabels: {pool: train}}
	END
	while [ $# != 0 ]; do
		cat <<-END
			---
			apiVersion: kueue.x-k8s.io/v1beta2
			kind: ClusterQueue
			metadata: {name: $1}
			spec:
			  namespaceSelector: {}
			  preemption: {withinClusterQueue: LowerPriority}
			  resourceGroups:
			  - coveredResources: [cpu]
			    flavors: [{name: train, resources: [{name: cpu, nominalQuota: $2}]}]
		END
		shift 2
	done
}

# YAML of LocalQueues, and of a WorkloadPriorityClass; each ends with the mark of a document.
local_queues() { # NAME CLUSTERQUEUE, and the same again
	while [ $# != 0 ]; do
		cat <<-END
			apiVersion: kueue.x-k8s.io/v1beta2
			kind: LocalQueue
			metadata: {name: $1}
			spec: {clusterQueue: $2}
			---
		END
		shift 2
	done
}

priority_class() { # NAME VALUE
	cat <<-END
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: WorkloadPriorityClass
		metadata: {name: $1}
		value: $2
		---
	END
}

kueue_pid() { cat "$scratch/kueue/pid"; }

kueue_start() { # as a process, in its root
	# shellcheck disable=SC2016
	in_cluster unshare --mount --propagation private bash -c 'echo $$ >"$0/pid"
		mount --bind "$(command -v kueue)" "$0/root/kueue" &&
			exec chroot "$0/root" /kueue --config=/config.yaml --kubeconfig=/kubeconfig' \
		"$scratch/kueue" >>"$kueue_log" 2>&1 &
}

kueue_up() { # NAME CPUS, and the same again: its ClusterQueues
	kueue_log=$scratch/kueue.log
	mkdir -p "$scratch/kueue"
	kueue_objects | kc apply --server-side --force-conflicts -f - >"$scratch/kueue/objects" 2>&1 &&
		wait_for 30 kc get workloads -A && kueue_root || {
		tail -n 5 "$scratch/kueue/objects"
		return 1
	}
	kueue_start
	kueue_queues "$@" >"$scratch/kueue/queues"
	wait_for 60 kc apply -f "$scratch/kueue/queues" || {
		cat "$scratch/wait"
		tail -n 20 "$kueue_log"
		return 1
	}
}

kueue_down() {
	[ ! -e "$scratch/kueue/pid" ] || in_cluster kill "$(kueue_pid)"
	kc delete mutatingwebhookconfiguration kueue-mutating-webhook-configuration
	kc delete validatingwebhookconfiguration kueue-validating-webhook-configuration
	kc delete apiservice v1beta1.visibility.kueue.x-k8s.io v1beta2.visibility.kueue.x-k8s.io
}
