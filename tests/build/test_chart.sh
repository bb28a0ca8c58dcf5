#!/bin/bash
# The Helm chart: `make chart`. What it makes of its values is held against what
# `kftrainer install` prints. helm is that of tests/cluster/programs.sh.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
version=$(cat core/assets/VERSION)
cache=$(dirname "$(vendor/sysroot.sh)")
chart=$scratch/kftrainer.tgz
helm=$(command -v helm || find "$cache"/cluster-*/bin -name helm 2>/dev/null | head -1)
export HELM_CACHE_HOME=$scratch HELM_CONFIG_HOME=$scratch HELM_DATA_HOME=$scratch

chart() { vendor/chart.py ./kftrainer "$version" "$1"; }
same_again() { chart "$scratch/again.tgz" && cmp "$chart" "$scratch/again.tgz"; }
versions() { tar -xzOf "$chart" kftrainer/Chart.yaml | grep -c ": $version\$" | grep -qx 2; }
lint() { "$helm" lint --strict "$chart"; }
template() { # RELEASE NAMESPACE ARGUMENT...
	"$helm" template "$1" "$chart" -n "$2" --kube-version 1.34.4 "${@:3}" 2>"$scratch/err"
}
refused() { # LIKE ARGUMENT...
	! template kubeflow-trainer kubeflow-system "${@:2}" >"$scratch/out" && grep -e "$1" "$scratch/err"
}
# compare ARGUMENT... : ARGUMENT...: the chart with these values, install with those options
compare() {
	local values=()
	while [ "$1" != : ]; do
		values+=("$1")
		shift
	done
	shift
	template kubeflow-trainer kubeflow-system "${values[@]}" >"$scratch/chart.yaml" || { cat "$scratch/err"; return 1; }
	./kftrainer install --crds --controller -o yaml "$@" >"$scratch/install.yaml" &&
		python3 - "$scratch/chart.yaml" "$scratch/install.yaml" <<-'PYTHON'
			import json, sys, yaml
			Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
			# What differs by intent: labels of releases, the selector that follows from them, one volume's name.
			OURS = {"app.kubernetes.io/" + k for k in ("name", "component", "part-of", "instance", "version", "managed-by")}
			def labels(map):
			    return {k: v for k, v in map.items() if k not in OURS | {"helm.sh/chart"}}
			def normal(obj):
			    meta, spec = obj["metadata"], obj.get("spec", {})
			    meta["labels"] = labels(meta.get("labels") or {})
			    meta.get("annotations", {}).pop("helm.sh/resource-policy", None)
			    if not meta.get("annotations"):
			        meta.pop("annotations", None)
			    kind = obj["kind"]
			    if kind == "Service":
			        spec["selector"] = labels(spec["selector"])
			    if kind in ("Deployment", "PodDisruptionBudget"):
			        spec["selector"]["matchLabels"] = labels(spec["selector"]["matchLabels"])
			    if kind == "NetworkPolicy":
			        spec["podSelector"]["matchLabels"] = labels(spec["podSelector"]["matchLabels"])
			    if kind == "Deployment":
			        pod = spec["template"]
			        pod["metadata"]["labels"] = labels(pod["metadata"]["labels"])
			        spread = pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]
			        spread["matchLabels"] = labels(spread["matchLabels"])
			        pod["spec"]["volumes"][0]["name"] = pod["spec"]["containers"][0]["volumeMounts"][0]["name"] = "config"
			    for key, value in obj.get("data", {}).items():
			        obj["data"][key] = yaml.safe_load(value) if key.endswith(".yaml") else value
			    return obj
			def load(path):
			    docs = [d for d in yaml.load_all(open(path), Loader) if d and d["kind"] != "Namespace"]
			    return {(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]): normal(d) for d in docs}
			chart, install = load(sys.argv[1]), load(sys.argv[2])
			print("only in the chart", sorted(set(chart) - set(install), key=str))
			print("only in install", sorted(set(install) - set(chart), key=str))
			different = [k for k in chart if chart[k] != install.get(k)]
			for k in different[:2]:
			    print(k, json.dumps(chart[k])[:3000], json.dumps(install.get(k))[:3000], sep="\n")
			sys.exit(bool(different) or chart.keys() != install.keys() or len(chart) < 20)
		PYTHON
}
# has PATTERN ARGUMENT...: a line of what is rendered
has() { template kubeflow-trainer kubeflow-system "${@:2}" | grep -e "$1"; }
has_not() { template kubeflow-trainer kubeflow-system "${@:2}" >"$scratch/out" && ! grep -e "$1" "$scratch/out"; }
# Service, Deployment, PodDisruptionBudget and pods agree on which pods are meant.
selected() {
	template mine elsewhere --set manager.selectorLabels.team=a,commonLabels.x=y >"$scratch/chart.yaml" &&
		python3 - "$scratch/chart.yaml" <<-'PYTHON'
			import sys, yaml
			docs = {d["kind"]: d for d in yaml.safe_load_all(open(sys.argv[1])) if d}
			d = docs["Deployment"]["spec"]
			want = d["selector"]["matchLabels"]
			assert want["team"] == "a" and want["app.kubernetes.io/instance"] == "mine", want
			assert want.items() <= d["template"]["metadata"]["labels"].items()
			assert docs["Service"]["spec"]["selector"] == want
			assert docs["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == want
			assert docs["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == want
			assert docs["Deployment"]["metadata"]["namespace"] == "elsewhere"
		PYTHON
}
# The container's, those of the Service whose numbers clients are told, and those that no sidecar takes.
ports_follow() {
	template kubeflow-trainer kubeflow-system --set manager.config.webhook.port=9444 \
		--set manager.config.health.healthProbeBindAddress='[::]:8082' --set manager.config.statusServer.port=10444 \
		--set-string manager.config.metrics.bindAddress=0 >"$scratch/chart.yaml" || { cat "$scratch/err"; return 1; }
	python3 - "$scratch/chart.yaml" <<-'PYTHON'
		import sys, yaml
		docs = {d["kind"]: d for d in yaml.safe_load_all(open(sys.argv[1])) if d}
		pod = docs["Deployment"]["spec"]["template"]
		have = {p["name"]: p["containerPort"] for p in pod["spec"]["containers"][0]["ports"]}
		assert have == {"health": 8082, "metrics": 8443, "webhook": 9444, "status-server": 10444}, have
		have = {p["name"]: (p["port"], p["targetPort"]) for p in docs["Service"]["spec"]["ports"]}
		assert have == {"monitoring-port": (8443, "metrics"), "webhook-server": (443, "webhook"),
		                "status-server": (10444, "status-server")}, have
		assert pod["metadata"]["annotations"]["traffic.sidecar.istio.io/excludeInboundPorts"] == "9444,10444"
	PYTHON
}
# No name of the default release is left in one of another name.
renamed() {
	template mine elsewhere --set crds.enabled=false --set nameOverride=tt,strictRBAC=true >"$scratch/out" &&
		grep -q 'name: mine-tt-controller-manager$' "$scratch/out" && grep -q 'tt-webhook-cert$' "$scratch/out" &&
		! grep -E 'kubeflow-system|kubeflow-trainer-(controller|config|webhook)' "$scratch/out"
}
# values.schema.json has the values of values.yaml, and of those that are open no more than is said here.
schema() {
	python3 - core/assets/chart/kftrainer <<-'PYTHON'
		import json, sys, yaml
		values = yaml.safe_load(open(sys.argv[1] + "/values.yaml"))
		schema = json.load(open(sys.argv[1] + "/values.schema.json"))
		OPEN = {"jobset", "dataCache.lws", "manager.config", "manager.resources", "manager.securityContext", "runtimes.commonLabels"}
		ADDED = {"global", "enabled"}  # Helm's, and a parent chart's condition
		def compare(values, schema, path=""):
		    if not isinstance(values, dict) or not values or path in OPEN:
		        assert "additionalProperties" not in schema, path
		        return
		    assert schema["additionalProperties"] is False, path
		    assert set(schema["properties"]) == set(values) | (set() if path else ADDED), path
		    for key, value in values.items():
		        compare(value, schema["properties"][key], f"{path}.{key}".strip("."))
		compare(values, schema)
	PYTHON
}
# What upstream's values have beside those that differ: its image and JobSet.
upstreams_values() {
	cat >"$scratch/upstream.yaml" <<-END
		jobset: {install: false, fullnameOverride: jobset}
		dataCache:
		  lws: {install: true, fullnameOverride: lws}
		  cacheImage: {registry: ghcr.io, repository: kubeflow/trainer/data-cache, tag: ""}
		runtimes:
		  commonLabels: {trainer.kubeflow.org/webhook-validation: disabled}
		  installer:
		    image: {registry: docker.io, repository: alpine, tag: "3.21"}
		    imagePullSecrets: []
	END
	compare -f "$scratch/upstream.yaml" :
}
# What the installer Job is given are options that install and uninstall understand.
jobs_run() {
	template kubeflow-trainer kubeflow-system --set runtimes.defaultEnabled=true \
		--set runtimes.imageRegistry=mirror.example/x >"$scratch/chart.yaml" &&
		python3 - "$scratch/chart.yaml" <<-'PYTHON'
			import subprocess, sys, yaml
			Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
			jobs = [d for d in yaml.load_all(open(sys.argv[1]), Loader) if d and d["kind"] == "Job"]
			install, remove = (j["spec"]["template"]["spec"]["containers"][0]["args"] for j in jobs)
			assert (install[0], remove[0]) == ("install", "uninstall")
			out = subprocess.run(["./kftrainer", *install, "-o", "yaml"], check=True, capture_output=True, text=True).stdout
			docs = list(yaml.load_all(out, Loader))
			everything = subprocess.run(["./kftrainer", "install", "--runtimes", "--image-registry", "mirror.example/x",
			                             "--image", "kftrainer:" + open("core/assets/VERSION").read().strip(), "-o", "yaml"],
			                            check=True, capture_output=True, text=True).stdout
			name = lambda d: d["metadata"]["name"]
			assert sorted(docs, key=name) == sorted(yaml.load_all(everything, Loader), key=name)
			assert {a.partition("=")[2] for a in remove[2:]} == {name(d) for d in docs}
			done = subprocess.run(["./kftrainer", *remove], capture_output=True, text=True,
			                      env={"HOME": "/nonexistent", "KUBECONFIG": ""})
			assert "no kubeconfig" in done.stderr, done.stderr
		PYTHON
}

check "is made" chart "$chart"
check "again: the same bytes" same_again
check "it and its program have this version" versions
if [ -z "$helm" ] || ! python3 -c 'import yaml' 2>/dev/null; then
	skip "what helm makes of it" "helm (make cluster builds it) or python3-yaml is not here"
	finish
fi
check "helm lint" lint
check "defaults: what install prints" compare :
check "image and replicas" compare --set image.registry=r.example,image.tag=1,manager.replicas=3 : \
	--image r.example/kftrainer:1 --replicas 3
check "networkPolicy.enabled=false: none" has_not 'kind: NetworkPolicy' --set networkPolicy.enabled=false
check "crds.enabled=false: none" has_not 'kind: CustomResourceDefinition' --set crds.enabled=false
check "CRDs outlive the release" has '"helm.sh/resource-policy":"keep"'
check "webhook.failurePolicy" has_not 'failurePolicy: Fail' --set webhook.failurePolicy=Ignore
check "fields of the configuration" has 'auth:' --set manager.config.metrics.auth.enabled=true
check "feature gates" has 'TrainJobStatus: true' --set manager.config.featureGates.TrainJobStatus=true
check "number of workers" has 'TrainJob.trainer.kubeflow.org: 9' --set manager.config.controller.groupKindConcurrency.trainJob=9
check "ports of the configuration" ports_follow
check "manager.priorityClassName" has 'priorityClassName: system-cluster-critical' --set manager.priorityClassName=system-cluster-critical
check "upstream's image is refused" refused "is upstream's manager; set image.registry" \
	--set image.registry=ghcr.io,image.repository=kubeflow/trainer/trainer-controller-manager
check "names of Service and Secret" has 'webhookSecretName: other' --set manager.config.certManagement.webhookSecretName=other
check "... and the right to it" has '^  - other$' --set manager.config.certManagement.webhookSecretName=other
check "strictRBAC: no policy unless asked for" has_not 'kind: ValidatingAdmissionPolicy'
check "... that of install" compare --set strictRBAC=true : --strict-rbac
check "... about the Secret of that name" has 'object.metadata.name == "other" &&' --set strictRBAC=true,manager.config.certManagement.webhookSecretName=other
check "node selector" has 'disk: ssd' --set manager.nodeSelector.disk=ssd
check "pull secrets" has 'name: regcred' --set 'image.pullSecrets[0].name=regcred'
check "environment" has 'name: HTTPS_PROXY' --set 'manager.env[0].name=HTTPS_PROXY,manager.env[0].value=x'
check "volumes" has 'mountPath: /x' --set 'manager.volumeMounts[0].mountPath=/x,manager.volumeMounts[0].name=x' \
	--set 'manager.volumes[0].name=x'
check "pod annotations, beside ours" has 'a: b' --set manager.podAnnotations.a=b
check "the same pods everywhere" selected
check "another release: other names" renamed
check "no runtime asked for: no Job" has_not 'kind: Job$'
check "one runtime" has '--runtime=torch-distributed$' --set runtimes.torchDistributed.enabled=true
check "... and not the others" has_not 'deepspeed' --set runtimes.torchDistributed.enabled=true
check "a runtime's image" has '--runtime=mlx-distributed=ghcr.io/kubeflow/trainer/mlx-runtime:v2$' \
	--set runtimes.mlxDistributed.enabled=true,runtimes.mlxDistributed.image.tag=v2
check "all runtimes: those of install" jobs_run
check "labels of runtimes" has '--runtime-label=team=a$' --set runtimes.torchDistributed.enabled=true,runtimes.commonLabels.team=a
check "... those of every object, too" has '--runtime-label=team=b$' --set runtimes.torchDistributed.enabled=true,commonLabels.team=b
check "... is validation of them" has '--runtime-label=trainer.kubeflow.org/webhook-validation=enabled$' \
	--set runtimes.torchDistributed.enabled=true,runtimes.commonLabels=null
check "pull secrets of the installer, beside the image's" has '^ *- name: second$' \
	--set 'runtimes.torchDistributed.enabled=true,image.pullSecrets[0].name=first,runtimes.installer.imagePullSecrets[0].name=second'
check "another image of the installer is refused" refused "runtimes.installer.image: the runtimes are installed by kftrainer's" \
	--set runtimes.torchDistributed.enabled=true,runtimes.installer.image.registry=m.example
check "dataCache: no rights unless asked for" has_not 'cache-initializer'
check "... those of install, in these namespaces" compare --set 'dataCache.enabled=true,dataCache.namespaces={a,b}' : \
	--cache-namespace a --cache-namespace b
check "... no token reviews unless asked for" has_not 'cache-token-review' --set dataCache.enabled=true
check "... those of install" compare --set 'dataCache.enabled=true,dataCache.tokenReview=true,dataCache.namespaces={a,b}' : \
	--cache-namespace a --cache-namespace b --cache-token-review
check "... and the runtime" has '--runtime=torch-distributed-with-cache$' \
	--set dataCache.enabled=true,dataCache.runtimes.torchDistributedWithCache.enabled=true
check "... and the caches' image" has '--cache-image=m.example/kubeflow/trainer/data-cache:latest$' \
	--set dataCache.enabled=true,dataCache.runtimes.torchDistributedWithCache.enabled=true,dataCache.cacheImage.registry=m.example
check "... not without the rights" refused 'needs the rights that dataCache.enabled=true gives' \
	--set dataCache.runtimes.torchDistributedWithCache.enabled=true
check "dataCache.lws.install=true is refused" refused 'LeaderWorkerSet is not part of this chart' --set dataCache.enabled=true,dataCache.lws.install=true
check "the schema has the values" schema
check "upstream's values" upstreams_values
check "a value that does not exist is refused" refused "additional properties 'replica' not allowed" --set manager.replica=3
check "... of another chart" refused "additional properties 'tolerations' not allowed" --set 'tolerations[0].operator=Exists'
check "... of the workers" refused "additional properties 'job' not allowed" --set manager.config.controller.groupKindConcurrency.job=1
check "... but resources, and what parent charts set" has 'nvidia.com/gpu: 1' --set 'manager.resources.limits.nvidia\.com/gpu=1,global.x=1,enabled=true'
check "jobset.install=true is refused" refused 'JobSet is not part of this chart' --set jobset.install=true
check "leases of another namespace are refused" refused 'own namespace only' \
	--set manager.config.leaderElection.resourceNamespace=other
finish
