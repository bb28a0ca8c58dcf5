#!/bin/bash
# `kftrainer submit` on a real API server: what is asked first, told, stored, taken back,
# and what --follow and --wait say while nothing runs.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_up
check "the controller runs" controller_up
d=$scratch/d
mkdir "$d"
cluster kubeconfig "$d/admin" admin system:masters
cluster kubeconfig "$d/jane" jane
config=$d/admin

# shellcheck source=tests/said.sh
. tests/said.sh
submits() {
	in_cluster timeout 600 "$kftrainer" submit --kubeconfig "$config" "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
}
runner=submits
lines() { [ "$(wc -l <"$scratch/$1")" = "$2" ] || dump; }
there() { kc get "$1" "$2" -n "${3:-default}"; }
absent() { ! there "$@"; }
of() { [ "$(kc get trainjob "$1" -o "jsonpath={$2}")" = "$3" ] || { kc get trainjob "$1" -o yaml; return 1; }; }

tj() { # NAME RUNTIME [LINE...]: of its spec
	printf '%s\n' 'apiVersion: trainer.kubeflow.org/v1alpha1' 'kind: TrainJob' 'metadata:' "  name: $1" \
		'spec:' '  runtimeRef:' "    name: $2" "${@:3}"
}
runtime() { # KIND NAME [IMAGE [CONTAINER]]
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: $1
		metadata: {name: $2}
		spec:
		  mlPolicy: {numNodes: 1}
		  template:
		    spec:
		      replicatedJobs:
		      - name: node
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec:
		            template:
		              spec:
		                containers: [{name: ${4:-node}, image: ${3:-registry.example/x:1}}]
	END
}

# ---- created -------------------------------------------------------------------------------------
tj one torch-distributed '  trainer:' '    numNodes: 2' >"$d/one.yaml"
check "a TrainJob is created" says 0 '^TrainJob default/one: created$' "$d/one.yaml"
check "... as the API server has it" of one .spec.trainer.numNodes 2
check "... by us" of one '.metadata.managedFields[0].manager' kftrainer
check "a second of that name is refused" says 1 'one.yaml:4:3: TrainJob default/one already exists: .*--name' "$d/one.yaml"
check "... in one line" lines err 1
check "one that is deleted slowly" says 0 'TrainJob default/slow: created' "$d/one.yaml" --name slow
kc patch trainjob slow --type=merge -p '{"metadata":{"finalizers":["example.com/slow"]}}' >/dev/null
kc delete trainjob slow --wait=false >/dev/null
check "... one that is being deleted" says 1 'TrainJob default/slow is still being deleted: submit again once it is gone' "$d/one.yaml" --name slow
kc patch trainjob slow --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null
check "--name" says 0 'TrainJob default/other: created' "$d/one.yaml" --name other
check "-n" says 0 'TrainJob kube-public/one: created' "$d/one.yaml" -n kube-public
sed 's/name: one/name: here\n  namespace: default/' "$d/one.yaml" >"$d/here.yaml"
check "... which is not that of the file" says 2 'here.yaml:5:3: metadata.namespace: .*"default": conflicts with --namespace kube-public$' "$d/here.yaml" -n kube-public
check "... creates nothing" absent trainjob here
check "... which is" says 0 'TrainJob default/here: created' "$d/here.yaml" -n default
check "a namespace that there is not" says 1 'namespaces "nowhere" not found' "$d/one.yaml" -n nowhere
check "labels and annotations" says 0 created "$d/one.yaml" --name labelled -l team=a --label x=y --annotation n/note='some words'
check "... are there" of labelled '.metadata.labels.team}{.metadata.labels.x}{.metadata.annotations.n/note' 'aysome words'
check "--suspend" says 0 created "$d/one.yaml" --name later --suspend
check "... it is suspended" of later .spec.suspend true
check "--generate-name" says 0 '^trainjob.trainer.kubeflow.org/gen-[a-z0-9]{5}$' "$d/one.yaml" --generate-name gen- -o name
check "... it is there" there trainjob "$(cut -d / -f 2 "$scratch/out")"
sed 's/  name: one/  generateName: file-/' "$d/one.yaml" >"$d/generate.yaml"
check "generateName of a file" says 0 'TrainJob default/file-[a-z0-9]{5}: created' "$d/generate.yaml"
check "stdin" bash -c 'exec <"$1"; shift; "$@"' - "$d/one.yaml" tests/cluster/cluster.sh "$cluster_name" exec \
	"$kftrainer" submit --kubeconfig "$config" - --name stdin
check "-o yaml is what is stored" says 0 '^  uid: ' "$d/one.yaml" --name shown -o yaml
check "no file: options" says 0 'TrainJob default/train: created' --runtime torch-distributed --nodes 3 -- torchrun train.py
check "... say what is expected" of train '.spec.trainer.numNodes}{.spec.trainer.command[1]' 3train.py

# ---- what Go programs write, in a stream of JSON, from a directory --------------------------------
mkdir "$d/go"
python3 - "$d/go/go.json" "$d/go/more.yml" <<'END'
import json, sys
unset = {"creationTimestamp": None}
api = "trainer.kubeflow.org/v1alpha1"
pod = {"metadata": unset, "spec": {"containers": [{"name": "node", "image": "x", "resources": {}}]}}
step = {"name": "node", "template": {"metadata": {**unset, "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"template": pod}}}
spec = {"mlPolicy": {"numNodes": 1}, "template": {"metadata": unset, "spec": {"replicatedJobs": [step]}}}
kind = "TrainingRuntime"
job = lambda name: {"apiVersion": api, "kind": "TrainJob", "metadata": {**unset, "name": name}, "spec": {
    "runtimeRef": {"name": "go", "kind": kind}, "runtimePatches": [{"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"metadata": unset}}}]}, "status": {}}
with open(sys.argv[1], "w") as f:
    f.write(json.dumps({"apiVersion": api, "kind": kind, "metadata": {**unset, "name": "go"}, "spec": spec, "status": {}}) + json.dumps(job("go")))
with open(sys.argv[2], "w") as f:
    f.write(json.dumps(job("went")))
END
check "creationTimestamp: null and status: {}" says 0 '^TrainJob default/go: created$' -f "$d/go"
check "... the runtime" also '^TrainingRuntime default/go: created$'
check "... the second file" of went .spec.runtimeRef.name go

# ---- asked first ---------------------------------------------------------------------------------
check "a dry run" says 0 'TrainJob default/dry: valid \(server dry run\)' "$d/one.yaml" --name dry --dry-run=server
check "... -o yaml" says 0 '^    kind: ClusterTrainingRuntime' "$d/one.yaml" --name dry --dry-run=server -o yaml
check "... has the fields that only the API server knows" also '^  uid: '
check "... -o json" says 0 '"kind": *"TrainJob"' "$d/one.yaml" --name dry --dry-run=server -o json
check "... -o name" says 0 '^trainjob.trainer.kubeflow.org/dry$' "$d/one.yaml" --name dry --dry-run=server -o name
check "... nothing is stored" absent trainjob dry

{
	tj first torch-distribute '  trainer:' '    numNodes: two' '    nproc: 3'
	echo ---
	tj second torch-distributed '  trainer:' '    numProcPerNode: 0' '    env: [{name: PET_NNODES, value: "1"}]'
	echo ---
	tj third torch-distribute
	echo ---
	tj fourth torch-distributed '  trainer:' '    env: [{name: PET_NNODES, value: "1"}]'
	echo ---
	tj fifth torch-distributed
	echo ---
	tj sixth torch-distributed '  trainer: {numProcPerNode: auto}'
} >"$d/bad.yaml"
check "all errors of a file at once" says 2 'bad.yaml:9:5: spec.trainer.numNodes: Invalid value: "string"' "$d/bad.yaml"
check "... an unknown field" also 'bad.yaml:10:5: spec.trainer.nproc: Unknown field'
check "... a rule of the schema" also 'bad.yaml:20:5: spec.trainer.numProcPerNode: Invalid value'
check "... a runtime that there is not, and the one that was meant" also \
	"bad.yaml:28:3: spec.RuntimeRef: .*not found.*; did you mean 'torch-distributed'\?"
check "... what to do about a field of another type" also \
	'bad.yaml:56:13: spec.trainer.numProcPerNode: .*: "string"; remove it; it is the default'
check "... in one line" [ "$(grep -c 'numProcPerNode: .*type integer' "$scratch/err")" = 1 ]
check "... the webhook's words about a field" also 'bad.yaml:39:5: spec.trainer.env: '
check "... the good one is not created, either" absent trainjob fifth

# ---- what comes with it --------------------------------------------------------------------------
{
	tj with mine '    kind: TrainingRuntime'
	printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: with}\ndata: {a: b}\n---\n'
	runtime TrainingRuntime mine
} >"$d/with.yaml"
check "a dry run of a runtime and its job" says 0 'TrainJob with was checked locally only: its runtime is not in the cluster yet' "$d/with.yaml" --dry-run=server
check "... stores nothing" absent trainingruntime mine
check "a runtime is first" says 0 '^TrainingRuntime default/mine: created$' "$d/with.yaml"
check "... and the ConfigMap" also '^ConfigMap default/with: created$'
check "... then the job" also '^TrainJob default/with: created$'
{ tj wide wide && echo --- && runtime ClusterTrainingRuntime wide; } >"$d/wide.yaml"
check "-o table: objects without a namespace, too" says 0 '^trainer.kubeflow.org/v1alpha1 +ClusterTrainingRuntime +- +wide$' "$d/wide.yaml" --dry-run=server -o table
check "... and what has one" also '^trainer.kubeflow.org/v1alpha1 +TrainJob +default +wide$'
by_kubectl() { kc apply --server-side --dry-run=server -f "$d/with.yaml" -o name | sort >"$scratch/named"; }
check "-o name" says 0 '^configmap/with$' "$d/with.yaml" --name with1 -o name
check "... as kubectl has it" eval 'by_kubectl && sed s/with1/with/ "$scratch/out" | sort | diff - "$scratch/named"'
check "a second time it is unchanged" says 0 '^TrainingRuntime default/mine: unchanged$' "$d/with.yaml" --name with2
sed 's|x:1|x:2|' "$d/with.yaml" >"$d/with3.yaml"
check "or changed" says 0 '^TrainingRuntime default/mine: changed$' "$d/with3.yaml" --name with3
runtime TrainingRuntime mine registry.example/x:3 | kc apply --server-side --force-conflicts --field-manager=somebody -f - >/dev/null
check "another manager's fields stay" says 2 'with3.yaml:[0-9]+:[0-9]+: .*conflict with "somebody"' "$d/with3.yaml" --name with4
check "... and there is no job" absent trainjob with4
check "--runtime-file: only what the job needs" says 0 '^TrainingRuntime kube-public/theirs: created$' -n kube-public \
	"$d/theirs.yaml" --runtime-file "$d/theirs-runtimes.yaml" <<<"$(
		tj theirs theirs '    kind: TrainingRuntime' >"$d/theirs.yaml"
		{ runtime TrainingRuntime theirs; echo ---; runtime TrainingRuntime unused; } >"$d/theirs-runtimes.yaml"
	)"
check "... not the other" absent trainingruntime unused kube-public
kind='.spec.runtimeRef.kind}{.spec.runtimeRef.name'
check "--runtime: a TrainingRuntime of the namespace" says 0 'TrainJob default/named: created' --runtime mine --name named -- true
check "... is the job's" of named "$kind" TrainingRuntimemine
check "... and nothing more is said" lines err 0
check "... not that of another namespace" says 2 "not found.*; did you mean 'mine'\?" --runtime mines --name never -- true
check "... nor where it is not set" says 2 'spec.RuntimeRef: .*ClusterTrainingRuntime.*not found' --runtime mine --name never -n kube-system -- true
runtime ClusterTrainingRuntime mine | kc apply --server-side -f - >/dev/null
check "... before a ClusterTrainingRuntime, which is said" says 0 \
	'runtime mine: using the TrainingRuntime in namespace default, not the ClusterTrainingRuntime of the same name' --runtime mine --name named2 -- true
check "... really" of named2 "$kind" TrainingRuntimemine
check "... the other where there is but that" says 0 'TrainJob kube-system/named3: created' --runtime mine --name named3 -n kube-system -- true
check "... of a file that comes with it" says 0 '^TrainingRuntime kube-public/filed: created$' --runtime filed --name filed -n kube-public \
	--runtime-file "$d/filed.yaml" -- true <<<"$(runtime TrainingRuntime filed >"$d/filed.yaml")"
check "code: a TrainingRuntime of the namespace" says 0 'TrainJob default/coded: created' "$d/coded.py" --runtime mine <<<"$(echo 'print(1)' >"$d/coded.py")"
check "... is the job's" of coded "$kind" TrainingRuntimemine
check "--arg: the runtime is read" says 0 'TrainJob default/sft: created' --runtime trl-distributed --name sft --arg=--max_steps=4
check "... its arguments come first" of sft .spec.trainer.args \
	'["--model_name_or_path=/workspace/model","--dataset_name=/workspace/dataset","--output_dir=/workspace/output","--max_steps=4"]'
{
	tj wrong wrong '    kind: TrainingRuntime' '  trainer:' '    numNodes: 2'
	echo ---
	runtime TrainingRuntime wrong x other
} >"$d/wrong.yaml"
check "a runtime that webhooks refuse" says 2 'wrong.yaml:[0-9]+:[0-9]+: spec.template.spec.replicatedJobs' "$d/wrong.yaml"
check "... is not stored" absent trainingruntime wrong
runtime TrainingRuntime fields | sed 's/numNodes: 1/&, nodez: 2/; s/- name: node/&\n        grups: 3/; s/image: [^}]*/image: [x], env: [{name: A, valeu: b}]/' >"$d/fields.yaml"
tj fields fields '    kind: TrainingRuntime' | cat - <(echo ---) "$d/fields.yaml" >"$d/fielded.yaml"
step='spec.template.spec.replicatedJobs\[0\]'
check "fields of a runtime that there are not" says 2 'fielded.yaml:14:27: spec.mlPolicy.nodez: Unknown field' "$d/fielded.yaml"
check "... in an element of a list" also "fielded.yaml:19:9: $step.grups: Unknown field"
check "... of a list in a list" also "fielded.yaml:25:[0-9]+: $step.template.spec.template.spec.containers\[0\].env\[0\].valeu: Unknown field"
check "... another type" also "fielded.yaml:25:[0-9]+: $step.template.spec.template.spec.containers\[0\].image: "
check "... each once, and nothing else" lines err 4
check "... nothing is stored" absent trainingruntime fields

# ---- what runtimes there are ---------------------------------------------------------------------
list() { # REGEX [ARGUMENT...]
	in_cluster env KUBECONFIG="$config" "$kftrainer" runtime list "${@:2}" >"$scratch/out" 2>"$scratch/err" &&
		grep -Eq -e "$1" "$scratch/out" || dump
}
check "runtime list: those of the cluster" list '^mine +- +1 +ClusterTrainingRuntime +cluster$'
check "... and of its namespace" list '^theirs +- +1 +TrainingRuntime +cluster$' -n kube-public
check "... not of others" eval '! list "^theirs " >/dev/null'
check "... built-in ones that exist, once and unchanged" eval \
	'list "^torch-distributed +torch +1 +ClusterTrainingRuntime +cluster$" && [ "$(grep -c "^torch-distributed " "$scratch/out")" = 1 ]'
check "... --local: only what needs no cluster" eval '! list "cluster$" --local >/dev/null'
get() { # REGEX [ARGUMENT...]
	in_cluster env KUBECONFIG="$config" "$kftrainer" runtime get "${@:2}" >"$scratch/out" 2>"$scratch/err" &&
		grep -Eq -e "$1" "$scratch/out" || dump
}
check "runtime get: one of the namespace before one of the cluster" get '^kind: TrainingRuntime$' mine
check "... to be applied again" eval '! grep -Eq "uid|resourceVersion|creationTimestamp|managedFields" "$scratch/out"'
check "... that of the cluster by its kind" get '^kind: ClusterTrainingRuntime$' clustertrainingruntime/mine
check "... of another namespace" get '^kind: TrainingRuntime$' theirs -n kube-public
check "... not of others" eval '! get theirs theirs >/dev/null'
check "... --local: only what needs no cluster" eval '! get mine mine --local >/dev/null'
completes() { # WORD ARGUMENT...: does bash offer it?
	in_cluster env KUBECONFIG="$config" PATH="$(dirname "$kftrainer"):$PATH" bash -c 'word=$1; shift
		source <(kftrainer completion bash)
		COMP_WORDS=(kftrainer "$@" ""); COMP_CWORD=$(($# + 1)); compopt() { :; }
		_kftrainer; echo " ${COMPREPLY[*]} "; [[ " ${COMPREPLY[*]} " == *" $word "* ]]' - "$@" >"$scratch/out" 2>"$scratch/err" || dump
}
check "completion: runtimes of the cluster" completes mine submit --runtime
check "... of the namespace that the line names" completes theirs submit -n kube-public --runtime
check "... also where one is printed" completes mine runtime get
check "... where the command looks for none in a cluster, none of it" eval '! completes mine runtime render >/dev/null'
check "completion: jobs of the namespace that the line names" completes filed logs -n kube-public

# What only the API server's policies know is refused when the runtime is there: it goes again.
kc apply -f - >/dev/null <<-END
	apiVersion: admissionregistration.k8s.io/v1
	kind: ValidatingAdmissionPolicy
	metadata: {name: no-barred}
	spec:
	  matchConstraints:
	    resourceRules: [{apiGroups: [trainer.kubeflow.org], apiVersions: ["*"], operations: [CREATE], resources: [trainjobs]}]
	  validations: [{expression: "object.metadata.name != 'barred' || has(object.metadata.uid) && request.dryRun", message: barred is barred}]
	---
	apiVersion: admissionregistration.k8s.io/v1
	kind: ValidatingAdmissionPolicyBinding
	metadata: {name: no-barred}
	spec: {policyName: no-barred, validationActions: [Deny]}
END
sed 's/name: with$/name: barred/; s/mine/back/' "$d/with.yaml" >"$d/barred.yaml"
in_force() {
	tj barred torch-distributed | kc create -f - 2>"$scratch/refused" && kc delete trainjob barred
	grep "barred is barred" "$scratch/refused"
}
check "a policy is in force" wait_for 30 in_force
check "a policy's refusal, in its words" says 2 'barred is barred' "$d/barred.yaml"
check "... leaves no runtime" absent trainingruntime back
kc delete validatingadmissionpolicybinding no-barred >/dev/null

# ---- code ----------------------------------------------------------------------------------------
printf 'print("$HOME `date` $(HOSTNAME) $$(x) \\\\d %%s")\r\nEOM\n# \xc3\xa4' >"$d/code.py"
check "Python code is a TrainJob" says 0 'TrainJob default/code: created' "$d/code.py" --nodes 2 -- --epochs 3
carried() {
	kc get trainjob code -o json | python3 -c 'import json, sys
words = json.load(sys.stdin)["spec"]["trainer"]["command"]
code = open(sys.argv[1], newline="", encoding="utf-8").read()
assert words[:2] == ["sh", "-c"] and words[-2:] == ["--epochs", "3"], words
# As the kubelet expands it: "$$" is a dollar, "$(" a variable.
assert words[6].replace("$$", "$") == code, words[6]
assert "$(" not in words[6].replace("$$", ""), words[6]' "$d/code.py"
}
check "... which carries it" carried

# ---- who may -------------------------------------------------------------------------------------
config=$d/jane
check "no right: which, where, and how to check" says 1 \
	'jane.* create trainjobs.trainer.kubeflow.org in namespace default.*kubectl auth can-i create trainjobs.trainer.kubeflow.org -n default' "$d/one.yaml" --name hers
check "--arg: a runtime that may not be read" says 1 "^kftrainer submit: --arg .* runtime mine, which cannot be read; give the whole command after '--' instead: .*forbidden" \
	--runtime TrainingRuntime/mine --name hers --arg x
check "--arg: that is one line" lines err 1
check "--arg: the runtime is not needed for a command" says 1 'jane.* create trainjobs' --runtime TrainingRuntime/mine --name hers --arg x -- true
config=$d/admin
sed 's/current-context: .*/current-context: other/' "$d/admin" >"$d/nocontext"
config=$d/nocontext
check "a context that there is not" says 2 "no context 'other'" "$d/one.yaml"
sed 's/:6443/:6444/' "$d/admin" >"$d/unreachable"
config=$d/unreachable
check "a server that cannot be reached" says 1 '10.250.0.1:6444' "$d/one.yaml"
config=$d/admin

# ---- follow, wait --------------------------------------------------------------------------------
check "--timeout: nothing runs here" says 124 'timed out: TrainJob f1 keeps running' "$d/one.yaml" --name f1 --follow --timeout 2s
stands() { grep -Eq -e "$1" "$scratch/err"; }
(submits "$d/one.yaml" --name f0 --follow; echo "$status" >"$scratch/ended") &
check "... why not, in the scheduler's words" wait_for 20 stands 'node-[01] .*: cannot be scheduled: 0/1 nodes are available'
check "... and how many are ready" wait_for 20 stands '^pods starting: 0/2 ready$'
kc delete trainjob f0 >/dev/null
wait_for 20 test -s "$scratch/ended" && rm "$scratch/ended"
check "... once" test "$(grep -c 'cannot be scheduled' "$scratch/err")" = 1
check "--wait shows nothing of that" says 124 'timed out' "$d/one.yaml" --name f2 --wait --timeout 2s
check "... no pod that starts either" bash -c '! grep -q starting "$1"' - "$scratch/err"
check "several jobs cannot be followed" says 2 'takes one TrainJob, found 2' "$d/two.yaml" --follow <<<"$(
	{ tj a torch-distributed; echo ---; tj b torch-distributed; } >"$d/two.yaml")"
check "... nothing is created" absent trainjob a

(submits "$d/one.yaml" --name f3 --follow --suspend; echo "$status" >"$scratch/ended") &
check "a suspended job is followed" wait_for 20 stands "^suspended; start it with 'kftrainer resume --kubeconfig $config f3 -n default'\$"
kc patch trainjob f3 --type merge -p '{"spec":{"suspend":false}}' >/dev/null
check "... when it is resumed, too" wait_for 20 stands '^pods starting: 0/2 ready$'
cluster stop kube-apiserver
check "the API server goes away, which is reported" wait_for 20 stands 'the API server does not answer, retrying'
sleep 3
check "... once" test "$(grep -c 'does not answer' "$scratch/err")" = 1
cluster start kube-apiserver
check "it comes back, which is reported" wait_for 40 stands 'the API server answers again'
kc delete trainjob f3 >/dev/null
check "the job is deleted, which ends it" wait_for 20 test -s "$scratch/ended"
check "... and is said" grep -q 'TrainJob f3 has been deleted' "$scratch/err"
check "... with 1" grep -qx 1 "$scratch/ended"

kc apply -f - >/dev/null <<-'END'
	apiVersion: admissionregistration.k8s.io/v1
	kind: ValidatingWebhookConfiguration
	metadata: {name: cut-off}
	webhooks:
	- name: cut-off.example.com
	  clientConfig: {url: "https://192.0.2.1:9443/"}
	  rules: [{apiGroups: [trainer.kubeflow.org], apiVersions: ["*"], resources: [trainjobs], operations: [CREATE]}]
	  failurePolicy: Fail
	  timeoutSeconds: 1
	  sideEffects: None
	  admissionReviewVersions: [v1]
END
cut_off() { says 1 'webhook "cut-off.example.com".*; is its controller running, and may the API server connect to its pods \(firewall, network\)\?' "$d/one.yaml" --name f5 --dry-run=server; }
check "a webhook to which the API server has no connection" wait_for 20 cut_off
kc delete validatingwebhookconfiguration cut-off >/dev/null
controller_down
check "without the controller, its webhook is named" says 1 'failed calling webhook .*; is its controller running\?' "$d/one.yaml" --name f4
finish
