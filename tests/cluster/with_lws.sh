# with_lws.sh - for tests with data caches: after lib.sh, `lws_up` starts LeaderWorkerSet's controller in the
# cluster. It ends with the cluster. Log: $scratch/lws.log.
# shellcheck shell=bash disable=SC2154 # of lib.sh
lws_port=9447

# Its objects as released, less its Deployment: it is a process here, and its certificate is the cluster's.
lws_objects() {
	/usr/bin/python3 - "$lws/manifest.yaml" <(in_cluster cat "$cluster_state/pki/ca.crt") <<-'END'
		import base64, sys, yaml
		ca = base64.b64encode(open(sys.argv[2], "rb").read()).decode()
		kept = []
		for o in yaml.load_all(open(sys.argv[1]), getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
		    for webhook in o.get("webhooks", []):
		        webhook["clientConfig"]["caBundle"] = ca
		    if o["kind"] not in ("Deployment", "Secret"):
		        kept.append(o)
		print(yaml.dump_all(kept, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)), end="")
	END
	cat <<-END
		---
		apiVersion: discovery.k8s.io/v1
		kind: EndpointSlice
		metadata: {name: lws-process, namespace: lws-system, labels: {kubernetes.io/service-name: lws-webhook-service}}
		addressType: IPv4
		ports: [{name: "", port: $lws_port, protocol: TCP}]
		endpoints: [{addresses: [$cluster_ip], conditions: {ready: true}}]
	END
}

lws_up() {
	local file
	lws=$(tests/cluster/lws.sh) || return 1
	lws_objects >"$scratch/lws.yaml"
	wait_for 30 kc apply --server-side --force-conflicts -f "$scratch/lws.yaml" || return 1
	mkdir "$scratch/certs"
	cluster certificate lws DNS:lws-webhook-service.lws-system.svc || return 1
	for file in crt key; do in_cluster cat "$cluster_state/pki/lws.$file" >"$scratch/certs/tls.$file"; done
	cluster kubeconfig "$scratch/lws.kubeconfig" system:serviceaccount:lws-system:lws-controller-manager || return 1
	cat >"$scratch/lws-settings.yaml" <<-END
		apiVersion: config.lws.x-k8s.io/v1alpha1
		kind: Configuration
		leaderElection: {leaderElect: false}
		webhook: {port: $lws_port, certDir: $scratch/certs}
		health: {healthProbeBindAddress: "127.0.0.1:8095"}
		metrics: {bindAddress: "0"}
		internalCertManagement: {enable: false}
	END
	in_cluster env KUBECONFIG="$scratch/lws.kubeconfig" "$lws/bin/lws" --config="$scratch/lws-settings.yaml" \
		>"$scratch/lws.log" 2>&1 &
	wait_for 60 lws_answers || {
		tail -n 20 "$scratch/lws.log"
		return 1
	}
}
lws_answers() {
	kc create --dry-run=server -f - <<-END
		apiVersion: leaderworkerset.x-k8s.io/v1
		kind: LeaderWorkerSet
		metadata: {name: probe}
		spec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: a, image: a}]}}}}
	END
}
