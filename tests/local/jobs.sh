# jobs.sh - for the tests of `submit --local` with jobs of their own: a JobSet's spec on stdin, run both ways.
# shellcheck shell=bash disable=SC2001,SC2154,SC1091
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
unset CUDA_VISIBLE_DEVICES KFTRAINER_ISOLATION NO_COLOR
label='metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}'
cd "$scratch" || exit 1

# job NAME [NODES [LINES OF THE TRAINJOB'S SPEC]]: a TrainJob and its own runtime in NAME.yaml; LABEL
# in what is read stands for the label of the step that trains.
job() {
	{
		cat <<-Y
			apiVersion: trainer.kubeflow.org/v1alpha1
			kind: TrainingRuntime
			metadata: {name: its-own}
			spec:
			  mlPolicy: {numNodes: ${2:-1}}
			  template:
			    spec:
		Y
		sed "s|LABEL|$label|; s|^|      |"
		cat <<-Y
			---
			apiVersion: trainer.kubeflow.org/v1alpha1
			kind: TrainJob
			metadata: {name: $1}
			spec:
			  runtimeRef: {kind: TrainingRuntime, name: its-own}
		Y
		sed 's|^|  |' <<<"${3:-}"
	} >"$1.yaml"
}

# node COMMAND [LINES OF THE POD'S SPEC]: the spec of a JobSet of one replicatedJob, tried once.
node() {
	cat <<-Y
		replicatedJobs:
		- name: node
		  template:
		    LABEL
		    spec:
		      backoffLimit: 0
		      template:
		        spec:
		          restartPolicy: Never
		          containers: [{name: node, image: none, command: [bash, -c, $(quoted "$1")]}]
	Y
	sed 's|^|          |' <<<"${2:-}"
}

quoted() { printf "'%s'" "${1//\'/\'\'}"; } # for YAML

# submit NAME [ARGUMENT...]: what it prints in $scratch/out, its exit code in $status.
submit() {
	local name=$1
	shift
	run timeout -k 10 600 "$kftrainer" submit --local "$@" "$name.yaml"
}

# until_true WHAT...: waits for it, two minutes; a test that waits in vain has failed.
until_true() {
	local deadline=$((SECONDS + 120))
	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

lines() { [ "$(grep -Ec -e "$2" "$scratch/out")" = "$1" ]; } # COUNT REGEX
in_order() { # LINE...: the output has these lines, in this order
	local want
	want=$(printf '%s\n' "$@")
	[ "$(sed -E 's/^(\[[^ ]*\]) +/\1 /' "$scratch/out" | grep -Fx -e "$want")" = "$want" ]
}
