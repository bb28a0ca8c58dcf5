#!/bin/bash
# What install prints, without a cluster. What it does to one: tests/cluster/test_install.sh.
. "$(dirname "$0")/lib.sh"
export KUBECONFIG="" HOME=$scratch

# prints JQ-LIKE PYTHON ARGUMENT...: the expression is true of `docs`, which install prints
# with these arguments, as YAML and as JSON.
prints() {
	local expression=$1 format
	shift
	for format in yaml json; do
		run install -o "$format" "$@"
		[ "$status" = 0 ] && [ ! -s "$scratch/err" ] || { dump; return 1; }
		python3 - "$expression" "$scratch/out" "$format" <<-'PYTHON' || { echo "in $format: $expression"; return 1; }
			import json, sys, yaml
			text = open(sys.argv[2]).read()
			docs = list(yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))) if sys.argv[3] == "yaml" else json.loads(text)["items"]
			assert docs and all(d["kind"] != "List" for d in docs)
			def one(kind, name=None):
			    found = [d for d in docs if d["kind"] == kind and name in (None, d["metadata"]["name"])]
			    assert len(found) == 1, found
			    return found[0]
			def container():
			    return one("Deployment")["spec"]["template"]["spec"]["containers"][0]
			def images(node):
			    if isinstance(node, dict):
			        return [v for k, v in node.items() if k == "image" and isinstance(v, str)] + sum(map(images, node.values()), [])
			    return sum(map(images, node), []) if isinstance(node, list) else []
			def namespaces(node):
			    if isinstance(node, dict):
			        return {v for k, v in node.items() if k == "namespace" and isinstance(v, str)}.union(*map(namespaces, node.values()))
			    return set().union(*map(namespaces, node)) if isinstance(node, list) else set()
			kinds = [d["kind"] for d in docs]
			try:
			    fine = eval("(" + sys.argv[1] + ")")
			except Exception as error:
			    sys.exit(repr(error))
			sys.exit(not fine)
		PYTHON
	done
}
# A runtime's initializers: their image and command.
initializers='[(c["image"], c.get("args")) for d in docs if d["kind"] == "ClusterTrainingRuntime" and
		"kftrainer.io/cache" not in d["spec"]["template"].get("metadata", {}).get("annotations", {})
	for j in d["spec"]["template"]["spec"]["replicatedJobs"]
	for c in j["template"]["spec"]["template"]["spec"]["containers"] if c["name"].endswith("-initializer")]'
initializers=$(tr '\n\t' '  ' <<<"$initializers")

order() {
	prints 'kinds == sorted(kinds, key=lambda k: [k == "ClusterTrainingRuntime", k != "CustomResourceDefinition"]) and
		kinds.index("Namespace") < kinds.index("ServiceAccount") < kinds.index("ConfigMap") <
		kinds.index("MutatingWebhookConfiguration") < kinds.index("Deployment")'
}
# Upstream's Secret, settings and certificates go on being used by these names.
names() {
	prints '{d["kind"] + "/" + d["metadata"]["name"] for d in docs} >= {
		"Namespace/kubeflow-system", "ServiceAccount/kubeflow-trainer-controller-manager",
		"ClusterRole/kubeflow-trainer-controller-manager", "ClusterRoleBinding/kubeflow-trainer-controller-manager",
		"ConfigMap/kubeflow-trainer-config", "ConfigMap/kubeflow-trainer-public", "Role/kubeflow-trainer-public",
		"RoleBinding/kubeflow-trainer-public", "Secret/kubeflow-trainer-webhook-cert",
		"Service/kubeflow-trainer-controller-manager", "Deployment/kubeflow-trainer-controller-manager",
		"MutatingWebhookConfiguration/defaulter.trainer.kubeflow.org",
		"ValidatingWebhookConfiguration/validator.trainer.kubeflow.org"}'
}
rights() { # Secrets by name only, nothing wholesale, never all of anything
	prints 'all(not set(r["resources"]) & {"secrets"} or not set(r["verbs"]) & {"list", "watch", "delete", "update"}
		for r in one("ClusterRole", "kubeflow-trainer-controller-manager")["rules"]) and
		all("*" not in r.get("verbs", []) + r.get("resources", []) + r.get("apiGroups", [])
		for d in docs if d["kind"] in ("Role", "ClusterRole") for r in d.get("rules", []))'
}
unused_verbs() {
	prints 'not [r for d in docs if d["kind"] in ("Role", "ClusterRole") for r in d.get("rules", []) if "patch" in r["verbs"] and
		(r["resources"] in (["leases"], ["validatingwebhookconfigurations"], ["mutatingwebhookconfigurations"]) or r.get("resourceNames"))]'
}
restricted() { # what PodSecurity's level "restricted" asks for
	prints '(lambda c, p: c["allowPrivilegeEscalation"] is False and c["capabilities"] == {"drop": ["ALL"]} and
		c["runAsNonRoot"] and c["readOnlyRootFilesystem"] and p["seccompProfile"] == {"type": "RuntimeDefault"})(
		container()["securityContext"], one("Deployment")["spec"]["template"]["spec"]["securityContext"])'
}
config_loads() { # the controller takes the settings as they are printed: it gets as far as the cluster
	run install --controller -o json
	python3 -c '
import json, sys
for d in json.load(open(sys.argv[1]))["items"]:
    if d["metadata"]["name"] == "kubeflow-trainer-config":
        print(d["data"]["controller_manager_config.yaml"])' "$scratch/out" >"$scratch/config.yaml"
	says 1 'no kubeconfig' controller --config "$scratch/config.yaml"
}
crds_alone() {
	run install --crds
	[ "$status" = 0 ] && cp "$scratch/out" "$scratch/crds" && run install --crds -o yaml && cmp "$scratch/out" "$scratch/crds"
}
dry_run() {
	run install --dry-run
	cp "$scratch/out" "$scratch/dry"
	run install -o yaml
	[ -s "$scratch/dry" ] && cmp "$scratch/out" "$scratch/dry"
}

if ! python3 -c 'import yaml' 2>/dev/null; then
	skip "what install prints" "python3-yaml is not installed"
	finish
fi
check "the order can be applied" order
two_parsers() { # libyaml, which reads for the other tests, and Python's own
	run install -o yaml --strict-rbac
	python3 -c 'import sys, yaml
text = sys.stdin.read()
sys.exit(list(yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))) != list(yaml.safe_load_all(text)))' <"$scratch/out"
}
check "two parsers of YAML read the same" two_parsers
check "upstream's names" names
check "no more rights than it uses" rights
check "... and no verb that is not used: nothing patches leases, webhooks or its certificate" unused_verbs
check "no policy unless asked for" prints 'not any(k.startswith("ValidatingAdmissionPolicy") for k in kinds)'
check "--strict-rbac: a policy and its binding, before the pods" prints \
	'kinds.index("ValidatingAdmissionPolicy") < kinds.index("ValidatingAdmissionPolicyBinding") < kinds.index("Deployment")' --strict-rbac
check "... about the controller in its namespace" prints '[c["expression"].count("elsewhere") for c in
	one("ValidatingAdmissionPolicy")["spec"]["matchConditions"]] == [1, 1] and "kubeflow-system" not in str(docs)' --strict-rbac -n elsewhere
check "no webhook is asked about what is being deleted" prints 'all(c["matchConditions"][0]["expression"] == "!has(object.metadata.deletionTimestamp)"
	for kind in ("Mutating", "Validating") for c in one(kind + "WebhookConfiguration")["webhooks"])'
check "restricted pods" restricted
check "the settings are such as the controller takes" config_loads
check "two replicas, a budget for one" prints 'one("Deployment")["spec"]["replicas"] == 2 and one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1'
check "a network policy for the controller's pods: its ports, metrics for pods alone" prints 'one("NetworkPolicy")["spec"]["podSelector"] == one("Deployment")["spec"]["selector"] and
	[[p["port"] for p in rule["ports"]] + list(rule.get("from", [])) for rule in one("NetworkPolicy")["spec"]["ingress"]] == [["webhook", "status-server"], ["metrics", {"namespaceSelector": {}}]] and
	{"webhook", "status-server", "metrics"} <= {p["name"] for p in container()["ports"]}'
check "webhook rules have their default scope: the same, applied by another manager, does not conflict" prints \
	'[r["scope"] for d in docs if "Webhook" in d["kind"] for w in d["webhooks"] for r in w["rules"]] == ["*"] * 4'
check "a selector that no version changes" prints 'one("Deployment")["spec"]["selector"]["matchLabels"].keys() == {"app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/part-of"}'
check "--replicas" prints 'one("Deployment")["spec"]["replicas"] == 5' --replicas 5
check "the version for the SDK" prints "one('ConfigMap', 'kubeflow-trainer-public')['data']['kubeflow_trainer_version'] == 'v$(cat core/assets/VERSION)+kftrainer'"
check "--feature-gates" prints 'container()["args"][-1] == "--feature-gates=TrainJobStatus=true"' --feature-gates TrainJobStatus=true
check "the image is this version's" prints "container()['image'] == 'kftrainer:$(cat core/assets/VERSION)'"
check "--image: controller and initializers" prints "container()['image'] == 'r.example/k:1' and {i for i, c in $initializers} == {'r.example/k:1'}" --image r.example/k:1
check "initializers are commands of ours" prints "[c for i, c in $initializers][:2] == [['initialize-dataset'], ['initialize-model']]"
check "--upstream-images" prints "{(i, str(c)) for i, c in $initializers} == {('ghcr.io/kubeflow/trainer/%s-initializer:latest' % x, 'None') for x in ('dataset', 'model')}" --upstream-images
cache_image='docs[0]["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"]'
check "--image-registry: every image" prints 'all(i.startswith("m.example:5000/x/") and i.count("m.example") == 1 and "ghcr.io" not in i and "nvcr.io" not in i for i in images(docs)) and
	"m.example:5000/x/pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime" in images(docs) and "m.example:5000/x/nvidia/jax:25.10-py3" in images(docs)' --image-registry m.example:5000/x/
check "... and of the caches" prints "$cache_image == 'm.example/kubeflow/trainer/data-cache:latest'" --runtime torch-distributed-with-cache --image-registry m.example
check "--cache-image: as given" prints "$cache_image == 'c.example/x:1'" --runtime torch-distributed-with-cache --image-registry m.example --cache-image c.example/x:1
check "... but that of --image" prints 'container()["image"] == "r.example/k:1"' --image-registry m.example --image r.example/k:1
check "--namespace: everywhere" prints 'namespaces(docs) == {"elsewhere"} and one("Namespace")["metadata"]["name"] == "elsewhere"' --namespace elsewhere
check "--crds: three" prints 'kinds == ["CustomResourceDefinition"] * 3' --crds
check "--crds alone prints" crds_alone
check "--controller: neither CRDs nor runtimes" prints '"Deployment" in kinds and not {"CustomResourceDefinition", "ClusterTrainingRuntime"} & set(kinds)' --controller
check "--runtimes: the built-in ones, without the one that needs LeaderWorkerSet" prints 'set(kinds) == {"ClusterTrainingRuntime"} and len(docs) == 13' --runtimes
check "--crds --runtimes: both" prints 'set(kinds) == {"CustomResourceDefinition", "ClusterTrainingRuntime"}' --crds --runtimes
check "--runtime: these" prints '[d["metadata"]["name"] for d in docs] == ["jax-distributed", "torch-distributed-with-cache"]' \
	--runtime jax-distributed --runtime torch-distributed-with-cache
cached='[c for j in docs[0]["spec"]["template"]["spec"]["replicatedJobs"] if j["name"] == "dataset-initializer"
	for c in j["template"]["spec"]["template"]["spec"]["containers"]]'
cached=$(tr '\n\t' '  ' <<<"$cached")
check "the data cache in pods: our image, also beside upstream's" prints \
	"[(c['image'], c['args'][:2]) for c in $cached] == [('r.example/k:1', ['cache-serve', 'pod'])]" \
	--runtime torch-distributed-with-cache-jobs --image r.example/k:1 --upstream-images
check "--cache-namespace: an account with rights in each" prints 'sorted((d["kind"], d["metadata"].get("namespace"), [s["namespace"]
	for s in d.get("subjects", [])]) for d in docs) == [("ClusterRole", None, []), ("ClusterTrainingRuntime", None, []),
	("RoleBinding", "a", ["a"]), ("RoleBinding", "b", ["b"]), ("ServiceAccount", "a", []), ("ServiceAccount", "b", [])]
	and {d["metadata"]["name"] for d in docs[:-1]} == {"kubeflow-trainer-cache-initializer"}' \
	--runtime torch-distributed-with-cache --cache-namespace a --cache-namespace b
check "--cache-token-review: the accounts of each may create reviews, nothing else" prints '[(r["resources"], r["verbs"]) for d in docs
	if d["kind"] == "ClusterRole" and d["metadata"]["name"].endswith("-token-review") for r in d["rules"]] == [(["tokenreviews"], ["create"])]
	and [s["name"] for d in docs if d["kind"] == "ClusterRoleBinding" for s in d["subjects"]] ==
	["system:serviceaccounts:a", "system:serviceaccounts:b"]' \
	--runtime torch-distributed-with-cache --cache-namespace a --cache-namespace b --cache-token-review
check "--runtime-label: every runtime, over its own" prints 'all(d["metadata"]["labels"].items() >= {("team", "a"), ("trainer.kubeflow.org/webhook-validation", "enabled")} for d in docs) and len(docs) == 13' \
	--runtimes --runtime-label team=a --runtime-label trainer.kubeflow.org/webhook-validation=enabled
check "... by the Job" prints 'docs[-1]["spec"]["template"]["spec"]["containers"][0]["args"][-2:] == ["--runtime-label=team=a", "--cache-image=c"]' \
	--runtimes-job --runtime-label team=a --cache-image c
check "... that is no label" refuses "runtime-label: invalid label 'team=a b': must be empty or consist" install --runtime-label 'team=a b' -o yaml
check "a Job into whose pod no mesh puts a sidecar, which would not end" prints 'docs[-1]["spec"]["template"]["metadata"]["labels"]["sidecar.istio.io/inject"] == "false"
	and docs[-1]["spec"]["template"]["metadata"]["annotations"] == {"linkerd.io/inject": "disabled"}' --runtimes-job
check "... which Argo CD does not miss when it is gone" prints 'docs[-1]["kind"] == "Job" and docs[-1]["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "PostSync"' --runtimes-job
check "--runtime NAME=IMAGE" prints 'set(images(docs)) == {"i.example/x:2"}' --runtime mlx-distributed=i.example/x:2
check "--runtime KIND/NAME=IMAGE" prints 'set(images(docs)) == {"i.example/x:2"}' --runtime clustertrainingruntime/mlx-distributed=i.example/x:2
check "every runtime is good" bash -c '"$1" install --runtimes -o yaml >"$2/r.yaml" && "$1" runtime validate "$2/r.yaml"' - "$kftrainer" "$scratch"
check "--dry-run prints" dry_run
check "a runtime that there is not" refuses "no runtime 'jax-distribute'; did you mean 'jax-distributed'" install --runtime jax-distribute -o yaml
check "-o with --wait" refuses 'cannot be combined with --apply or --wait' install -o yaml --wait
check "--replicas 0" refuses '--replicas: ' install --replicas 0
check "a feature gate that there is not" refuses "unknown gate 'TrainJobStats'; known: TrainJobStatus, " install --feature-gates TrainJobStats=true -o yaml
check "an argument" refuses "unexpected argument 'x'" install x
check "uninstall: an argument" refuses "unexpected argument 'x'" uninstall x
check "without a cluster: one line" says 1 'no kubeconfig: ' install
check "... which is all" test "$(wc -l <"$scratch/err")" = 1 -a ! -s "$scratch/out"
check "uninstall, without a cluster" says 1 'no kubeconfig: ' uninstall
check "a kubeconfig that is not there" says 1 'nowhere: No such file' install --kubeconfig "$scratch/nowhere"
finish
