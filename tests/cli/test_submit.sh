#!/bin/bash
# `submit --dry-run` and `runtime`: what is read, what is printed, in which form.
. "$(dirname "$0")/lib.sh"
dir=$scratch/d
mkdir "$dir"
job </dev/null >"$dir/job.yaml"
cat >"$dir/runtime.yaml" <<'Y'
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: mine
spec:
  mlPolicy:
    numNodes: 3
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels:
                trainer.kubeflow.org/trainjob-ancestor-step: trainer
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example/mine:1
                      command: ["true"]
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: torch-distributed
spec:
  mlPolicy:
    numNodes: 7
    torch: {}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels:
                trainer.kubeflow.org/trainjob-ancestor-step: trainer
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example/other:1
Y
sed 's/name: torch-distributed/kind: TrainingRuntime\n    name: mine/' "$dir/job.yaml" >"$dir/mine.yaml"
cat "$dir/job.yaml" - "$dir/mine.yaml" <<<'---' | sed '0,/name: tiny/! s/name: tiny/name: second/' >"$dir/two.yaml"

check "a List" field 'd["apiVersion"], d["kind"]' "('v1', 'List')" submit --dry-run=client "$dir/job.yaml"
check "the JobSet is named after the job" field 'jobset["kind"], jobset["metadata"]["name"]' \
	"('JobSet', 'tiny')" submit --dry-run=client "$dir/job.yaml"
check "the bare option is the client's" field 'd["kind"]' List submit --dry-run "$dir/job.yaml"
check "-f" field 'd["kind"]' List submit --dry-run -f "$dir/job.yaml"
check "options behind the file" field 'd["kind"]' List submit "$dir/job.yaml" --dry-run
check "the namespace is default" field 'jobset["metadata"]["namespace"]' default submit --dry-run "$dir/job.yaml"
check "-n" field 'jobset["metadata"]["namespace"]' team submit --dry-run "$dir/job.yaml" -n team
check "-nteam" field 'jobset["metadata"]["namespace"]' team submit --dry-run "$dir/job.yaml" -nteam
check "--name" field 'jobset["metadata"]["name"]' other submit --dry-run "$dir/job.yaml" --name other
check "--name=" field 'jobset["metadata"]["name"]' other submit --dry-run "$dir/job.yaml" --name=other
check "several jobs" field '[o["metadata"]["name"] for o in d["items"]]' "['tiny', 'second']" \
	submit --dry-run "$dir/two.yaml" --runtime-file "$dir/runtime.yaml"
check "--name and several jobs" refuses 'several TrainJobs' submit --dry-run "$dir/two.yaml" --name x
check "a runtime of a file" field 'jobs["node"]["parallelism"]' 3 \
	submit --dry-run "$dir/mine.yaml" --runtime-file "$dir/runtime.yaml"
check "... counts as the job's namespace's" field 'jobs["node"]["parallelism"]' 3 \
	submit --dry-run "$dir/mine.yaml" --runtime-file "$dir/runtime.yaml" -n team
check "a runtime beside the job" bash -c 'cat "$1/mine.yaml" <(echo ---) "$1/runtime.yaml" |
	"$2" submit --dry-run - | grep -q registry.example/mine:1' - "$dir" "$kftrainer"
check "a file has priority over built-in runtimes" field 'jobs["node"]["parallelism"]' 7 \
	submit --dry-run "$dir/job.yaml" --runtime-file "$dir/runtime.yaml"
check "the built-in ones serve what a file lacks" field 'env["PET_NNODES"]' 1 \
	submit --dry-run --runtime torch-distributed --name x --runtime-file "$dir/mine.yaml"

check "no file: a TrainingRuntime of a file" field 'jobs["node"]["parallelism"]' 3 \
	submit --dry-run --runtime mine --name x --runtime-file "$dir/runtime.yaml"
check "... nothing is said of it" test ! -s "$scratch/err"
sed 's/name: mine/name: torch-distributed/' "$dir/runtime.yaml" >"$dir/both.yaml"
check "no file: a TrainingRuntime comes before a ClusterTrainingRuntime" field 'jobs["node"]["parallelism"]' 3 \
	submit --dry-run --runtime torch-distributed --name x --runtime-file "$dir/both.yaml"
check "... which is said" grep -qx 'kftrainer submit: runtime torch-distributed: using the TrainingRuntime in namespace default, not the ClusterTrainingRuntime of the same name' "$scratch/err"
sed '/^---/,$d; s/name: torch-distributed/&\n  namespace: team/' "$dir/both.yaml" >"$dir/team.yaml"
check "... before a built-in one, too" says 0 'using the TrainingRuntime in namespace team' submit --dry-run --runtime torch-distributed --name x -n team --runtime-file "$dir/team.yaml"
check "... not one of another namespace" field 'jobs["node"]["parallelism"]' 1 \
	submit --dry-run --runtime torch-distributed --name x --runtime-file "$dir/team.yaml"
check "code: a TrainingRuntime of a file" says 0 'registry.example/mine:1' submit --dry-run "$dir/train.py" --runtime mine \
	--runtime-file "$dir/runtime.yaml" <<<"$(echo 'print(1)' >"$dir/train.py")"
for ref in trainingruntime/mine TrainingRuntimes.trainer.kubeflow.org/mine; do
	check "--runtime $ref" field 'jobs["node"]["parallelism"], jobset["metadata"]["name"]' "(3, 'mine')" \
		submit --dry-run --runtime "$ref" --runtime-file "$dir/runtime.yaml"
done
check "--runtime: the kind decides between two of one name" eval 'field "jobs[\"node\"][\"parallelism\"]" 1 \
	submit --dry-run --runtime clustertrainingruntime/torch-distributed --name x --runtime-file "$dir/team.yaml" -n team && [ ! -s "$scratch/err" ]'
check "--runtime: another kind" refuses "invalid runtime 'pod/mine': want NAME, trainingruntime/NAME" submit --dry-run --runtime pod/mine
check "--runtime: misspelt, a TrainingRuntime of a file is nearest" refuses \
	"no ClusterTrainingRuntime 'mien'; did you mean the TrainingRuntime 'mine'\?" \
	submit --dry-run --runtime mien --name x --runtime-file "$dir/runtime.yaml"
check "--runtime: misspelt, a built-in one is nearest" refuses "; did you mean 'torch-distributed'\? Available: " \
	submit --dry-run --runtime torch-distribute --name x --runtime-file "$dir/runtime.yaml"
check "--runtime: a TrainingRuntime of another namespace is not meant" eval 'refuses "no ClusterTrainingRuntime .mien.; available: " \
	submit --dry-run --runtime mien --name x -n team --runtime-file <(sed "s/name: mine/&\n  namespace: other/" "$dir/runtime.yaml")'
check "a file: of the other kind is one of that name" refuses "no ClusterTrainingRuntime 'mine'; did you mean the TrainingRuntime 'mine'\?" \
	submit --dry-run --runtime-file "$dir/runtime.yaml" <(sed '/kind: TrainingRuntime/d' "$dir/mine.yaml")
check "... and the other way" refuses "no TrainingRuntime 'torch-distributed'; did you mean the ClusterTrainingRuntime 'torch-distributed'\?" \
	submit --dry-run --runtime trainingruntime/torch-distributed --name x
check "runtime render: KIND/NAME" says 0 'registry.example/mine:1' runtime render trainingruntime/mine --name x --runtime-file "$dir/runtime.yaml"
check "runtime render: a TrainingRuntime of a file" says 0 'registry.example/mine:1' runtime render mine --name x --runtime-file "$dir/runtime.yaml"

check "no file: nodes, processes, command" field \
	'jobs["node"]["parallelism"], env["PET_NPROC_PER_NODE"], node["command"], jobset["metadata"]["name"]' \
	"(4, '2', ['torchrun', 'a/train_it.py', '--lr', '1'], 'train-it')" \
	submit --dry-run --runtime torch-distributed --nodes 4 --nproc-per-node 2 -- torchrun a/train_it.py --lr 1
check "--arg that is not UTF-8" refuses 'job.yaml:[0-9]+:[0-9]+: spec.trainer.args\[0\]: Invalid value: "\\xff": must be UTF-8' \
	submit --dry-run "$dir/job.yaml" --arg $'\xff'
check "--annotation that is not UTF-8" refuses 'metadata.annotations.a: Invalid value: .*: must be UTF-8' submit --dry-run "$dir/job.yaml" --annotation $'a=\xff'
check "MPI: the image is only the launcher's" says 0 'spec.trainer.image: only the launcher gets it, the nodes keep ghcr.io/kubeflow/trainer/deepspeed-runtime' \
	submit --dry-run --runtime deepspeed-distributed --image a/b:c -- mpirun true
"$kftrainer" runtime get deepspeed-distributed -o yaml | sed 's,^  template:,&\n    metadata: {annotations: {kftrainer.io/mpi: worker}},' >"$dir/worker.yaml"
check "... with mpi-worker it is the nodes', too" eval 'run submit --dry-run --runtime deepspeed-distributed --runtime-file "$dir/worker.yaml" --image a/b:c -- mpirun true
	[ "$status" = 0 ] && grep -q a/b:c "$scratch/out" && ! grep deepspeed-runtime "$scratch/out" && ! grep image "$scratch/err"'
check "--gpu in halves" refuses 'spec.trainer.resourcesPerNode.limits.nvidia.com/gpu: Invalid value: "500m": pods of job node: containers\[0\].* must be an integer' \
	submit --dry-run --runtime torch-distributed --gpu 0.5 -- true
check "no file: variables, the last counts" field 'env["A"], env["B"]' "('3', 'x=y')" \
	submit --dry-run --runtime torch-distributed -e A=1 --env B=x=y --env A=3 -- true
check "no file: resources and image" field \
	'node["resources"]["limits"], node["resources"]["requests"] == node["resources"]["limits"], node["image"]' \
	"({'cpu': '2', 'memory': '1Gi', 'nvidia.com/gpu': '1'}, True, 'a/b:c')" \
	submit --dry-run --runtime torch-distributed --cpu 2 --memory 1Gi --gpu 1 --image a/b:c -- true
check "no file: a command's --help is its own" field 'node["command"]' "['python3', '--help']" \
	submit --dry-run --runtime torch-distributed -- python3 --help
check "a variable that is not set" refuses "--env A: not set in the environment" submit --dry-run --runtime torch-distributed -e A -- true
check "a bad quantity" says 2 "--cpu: '1x' is not a quantity, such as 500m, 2 or 16Gi" submit --dry-run --runtime torch-distributed --cpu 1x -- true
check "options of both forms" refuses "--runtime cannot be combined with a file" submit --dry-run "$dir/job.yaml" --runtime x
check "neither form" refuses 'specify a file or --runtime' submit --dry-run
check "a command without a runtime" refuses 'requires --runtime NAME, such as torch-distributed' submit --dry-run -- true
check "two files" refuses "unexpected argument 'b': pass more files with -f" submit --dry-run a b
sed 's/name: tiny/name: second/' "$dir/job.yaml" >"$dir/job2.yaml"
names='[o["metadata"]["name"] for o in d["items"]]'
check "-f twice: both files count" field "$names" "['tiny', 'second']" submit --dry-run -f "$dir/job.yaml" -f "$dir/job2.yaml"
check "... and a file besides" field "$names" "['second', 'tiny']" submit --dry-run -f "$dir/job.yaml" "$dir/job2.yaml"
check "... one's runtime serves the other's job" field "jobs['node']['parallelism']" 3 submit --dry-run -f "$dir/runtime.yaml" -f "$dir/mine.yaml"
check "... of runtime render" bash -c '[ "$("$1" runtime render -o name -f "$2/job.yaml" -f "$2/job2.yaml" | wc -l)" = 2 ]' - "$kftrainer" "$dir"
check "... of runtime validate" eval 'says 0 "TrainJob second is valid" runtime validate -f "$dir/job.yaml" -f "$dir/job2.yaml" && grep -q "job.yaml: TrainJob tiny is valid" "$scratch/out"'
check "... --local runs one job" refuses 'job.yaml, .*job2.yaml: 2 TrainJobs; --local runs one' submit --local -f "$dir/job.yaml" -f "$dir/job2.yaml"
check "... --name is for one job" refuses 'cannot be used with several TrainJobs' submit --dry-run -f "$dir/job.yaml" -f "$dir/job2.yaml" --name x
check "... no TrainJob in any" refuses 'runtime.yaml, .*both.yaml: contains no TrainJob' submit --dry-run -f "$dir/runtime.yaml" -f "$dir/both.yaml"
check "... code stands alone" refuses 'train.py: a script cannot be combined with other files' submit --dry-run -f "$dir/train.py" -f "$dir/job.yaml"
check "... code behind -f" says 0 'kind: JobSet' submit --dry-run -f "$dir/train.py"
check "two namespaces" refuses "metadata.namespace: .*conflicts with --namespace b" submit --dry-run -n b \
	-f <(sed 's/name: tiny/name: tiny\n  namespace: a/' "$dir/job.yaml")
check "--local and --dry-run" says 0 "kind: JobSet" submit --dry-run --local "$dir/job.yaml"
export KUBECONFIG='' HOME=$scratch/home
unset KUBERNETES_SERVICE_HOST
nowhere() { says 1 'no kubeconfig .*; --local runs the job on this machine' "$@" && [ "$(wc -l <"$scratch/err")" = 1 ]; }
check "to a cluster: which one?" nowhere submit "$dir/job.yaml"
check "--dry-run=server: which one?" nowhere submit --dry-run=server "$dir/job.yaml"

printf -- '---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n' | cat "$dir/job.yaml" - >"$dir/more.yaml"
check "other kinds are ignored, with a warning" says 0 'warning: .*more.yaml:9:1: Service web is ignored' submit --dry-run "$dir/more.yaml"
check "table" says 0 '^jobset.x-k8s.io/v1alpha2 +JobSet +default +tiny$' submit --dry-run -o table "$dir/job.yaml"
check "name" says 0 '^jobset.jobset.x-k8s.io/tiny$' submit --dry-run -o name "$dir/job.yaml"
yaml_is_json() { /usr/bin/python3 -c 'import json, sys, yaml
a, b = yaml.safe_load(open(sys.argv[1])), json.load(open(sys.argv[2])); sys.exit(a != b)' "$1" "$2"; }
for file in examples/*.yaml; do
	check "$file renders" says 0 '^kind: List' submit --dry-run=client -o yaml "$file"
	cp "$scratch/out" "$scratch/first"
	run submit --dry-run=client -o yaml "$file"
	check "... twice the same bytes" cmp "$scratch/first" "$scratch/out"
	run submit --dry-run=client -o json "$file"
	check "... the same as JSON" yaml_is_json "$scratch/first" "$scratch/out"
	run runtime render -f "$file"
	check "... and by runtime render" cmp "$scratch/first" "$scratch/out"
done
check "generateName: the same bytes, too" field 'jobset["metadata"]["name"]' gen-xxxxx submit --dry-run \
	-f <(sed 's/name: tiny/generateName: gen-/' "$dir/job.yaml")

run runtime list -o name
cp "$scratch/out" "$scratch/names"
check "fourteen built-in runtimes" test "$(wc -l <"$scratch/names")" = 14
while read -r name; do
	check "runtime get $name is valid" bash -c '"$1" runtime get "$2" | "$1" runtime validate -' - "$kftrainer" "$name"
	check "runtime render $name" says 0 'kind: JobSet' runtime render "$name" --nodes 2 --name x -- true
done <"$scratch/names"
check "runtime list: a table" says 0 '^torch-distributed +torch +1 +ClusterTrainingRuntime' runtime list
check "runtime list: with a file's" says 0 '^mine +- +3 +TrainingRuntime' runtime list --runtime-file "$dir/runtime.yaml"
check "runtime list: a file's in place of ours" says 0 '^torch-distributed +- +7 ' runtime list --runtime-file "$dir/runtime.yaml"
printf 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\n' >"$dir/service.yaml"
check "runtime list: says what of a file it leaves out" says 0 'warning: .*service.yaml:1:1: Service web is ignored: only runtimes are used' \
	runtime list --runtime-file "$dir/service.yaml"
printf 'apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntimes\nmetadata: {name: a}\n' >"$dir/misspelt.yaml"
check "runtime get: a misspelt kind" refuses 'misspelt.yaml:2:1: kind: Unsupported value.*did you mean .TrainingRuntime.' \
	runtime get torch-distributed --runtime-file "$dir/misspelt.yaml"
check "runtime get: a file's" says 0 'registry.example/mine' runtime get mine --runtime-file "$dir/runtime.yaml"
check "runtime get: KIND/NAME" says 0 'registry.example/mine' runtime get trainingruntime/mine --runtime-file "$dir/runtime.yaml"
check "runtime get: KIND/NAME, built in" says 0 '^kind: ClusterTrainingRuntime' runtime get clustertrainingruntime.trainer.kubeflow.org/jax-distributed
check "runtime get: no runtime of that kind" says 1 "no TrainingRuntime 'jax-distributed'; did you mean the ClusterTrainingRuntime" \
	runtime get trainingruntime/jax-distributed
check "runtime get: another kind" refuses "invalid runtime 'trainjob/mine'" runtime get trainjob/mine
check "runtime get: unknown" says 1 "no runtime 'torch-distribute'; did you mean 'torch-distributed'" runtime get torch-distribute
check "runtime render: unknown" refuses "did you mean 'torch-distributed'" runtime render torch-distribute -- true
check "runtime validate: valid" says 0 'runtime.yaml: TrainingRuntime mine is valid' runtime validate "$dir/runtime.yaml"
check "runtime validate: quiet" bash -c '[ -z "$("$1" runtime validate -q "$2" 2>&1)" ]' - "$kftrainer" "$dir/runtime.yaml"
check "runtime validate: a job's runtime, too" refuses 'no TrainingRuntime .mine.' runtime validate "$dir/mine.yaml"
check "install --crds: three of them" bash -c '[ "$("$1" install --crds | grep -c "kind: CustomResourceDefinition")" = 3 ]' - "$kftrainer"
check "install --crds: <= 300 KB as JSON" bash -c '[ "$("$1" install --crds -o json | wc -c)" -le 300000 ]' - "$kftrainer"
check "install --crds: it is JSON" bash -c '"$1" install --crds -o json | python3 -m json.tool' - "$kftrainer"
finish
