# lib.sh - black-box tests of the binary: run it, look at what it said and how it ended.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
# shellcheck source=tests/said.sh
. tests/said.sh
kftrainer=${KFTRAINER:-$PWD/kftrainer}
export XDG_STATE_HOME=$scratch/state
unset NO_COLOR CUDA_VISIBLE_DEVICES KFTRAINER_ISOLATION

# Standard output in $scratch/out, standard error in $scratch/err, status in $status.
run() {
	"$kftrainer" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
	status=$?
}

# refuses REGEX ARGUMENT...: status 2, exactly one line of complaint, nothing on stdout.
refuses() {
	local like=$1
	shift
	run "$@"
	[ "$status" = 2 ] && [ ! -s "$scratch/out" ] &&
		[ "$(grep -vc '^Try ' "$scratch/err")" = 1 ] &&
		grep -Eq -e "$like" "$scratch/err" || dump
}

job() { # the smallest TrainJob; lines of its spec on stdin
	printf '%s\n' 'apiVersion: trainer.kubeflow.org/v1alpha1' 'kind: TrainJob' \
		'metadata:' '  name: tiny' 'spec:' '  runtimeRef:' '    name: torch-distributed'
	sed 's/^/  /'
}

step_runtime() { # NAME MLPOLICY [PODSPEC]: a ClusterTrainingRuntime of one step, tried once
	cat <<-Y
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: ClusterTrainingRuntime
		metadata: {name: $1}
		spec:
		  mlPolicy: $2
		  template:
		    spec:
		      replicatedJobs:
		      - name: node
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec:
		            backoffLimit: 0
		            template: {spec: {${3:+$3, }containers: [{name: node, image: none}]}}
	Y
}

# field EXPRESSION WANT COMMAND...: this Python expression of the List `d` that it prints is WANT.
field() {
	local expression=$1 want=$2
	shift 2
	run "$1" -o json "${@:2}"
	[ "$status" = 0 ] || dump || return
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); jobset = d["items"][-1]
jobs = {j["name"]: j["template"]["spec"] for j in jobset["spec"]["replicatedJobs"]}
node = jobs["node"]["template"]["spec"]["containers"][0]
env = {e["name"]: e.get("value") for e in node.get("env", [])}
got = str(eval(sys.argv[2]))
sys.exit(0 if got == sys.argv[3] else f"{sys.argv[2]} is {got}, not {sys.argv[3]}")' \
		"$scratch/out" "$expression" "$want"
}
