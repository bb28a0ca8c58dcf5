#!/bin/bash
# The unmodified Kubeflow SDK against `controller --local`: every call of each release, and jobs with
# real torch, Open MPI, and initializers from a stand-in of the hub and versitygw. SDK_RELEASES: only these, whole.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2154 # what is for eval; server.sh
. "$(dirname "$0")/server.sh"
sdk=$(tests/cluster/sdk.sh 2>"$scratch/sdk") || {
	check "the SDK is installed" eval 'cat "$scratch/sdk"; false'
	finish
}

# ---- what jobs find on this machine --------------------------------------------------------------
file() { # PATH TEXT
	mkdir -p "$scratch/hub/${1%/*}"
	echo "$2" >"$scratch/hub/$1"
}
file datasets/org/data/hub.json '{}'
file datasets/org/data/data/train.parquet data
file datasets/org/data/README.md no
file models/org/model/hub.json '{}'
file models/org/model/config.json '{}'
file models/org/model/model.safetensors yes
file models/org/model/old.bin no
mkdir "$scratch/bin"
cat >"$scratch/bin/tune" <<'END'
#!/bin/sh
printf '%s\n' "$@" ----
cd /workspace && find dataset model -type f ! -path '*/.*'
END
chmod +x "$scratch/bin/tune"
mkfifo "$scratch/hub.in"
python3 tests/store/hub.py "$scratch/hub" <"$scratch/hub.in" >"$scratch/hub.out" &
exec 8>"$scratch/hub.in" # it ends when this is closed
until_true test -s "$scratch/hub.out"
HF_ENDPOINT=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["hub"])' <"$scratch/hub.out")
s3_port=$(python3 tests/ports.py)
mkdir -p "$scratch/s3/bucket"
cp -r "$scratch/hub/datasets/org/data/data" "$scratch/hub/models/org/model" "$scratch/s3/bucket"
env -C "$scratch" ROOT_ACCESS_KEY=key ROOT_SECRET_KEY=secretsecret "$(tests/store/versitygw.sh 2>/dev/null)" \
	--port "127.0.0.1:$s3_port" --quiet posix "$scratch/s3" >"$scratch/s3.log" 2>&1 &
s3=$!
at_exit 'kill "$s3"; down TERM'
export S3_ENDPOINT=http://127.0.0.1:$s3_port
until_true curl -s --noproxy '*' -o /dev/null "$S3_ENDPOINT"
export HF_ENDPOINT PIP_NO_INDEX=1 NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 PATH=$scratch/bin:$PATH
up
runtime() { # KIND NAME NODES [MORE OF THE JOBSET]
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: $1
		metadata: {name: $2, labels: {trainer.kubeflow.org/framework: torch}}
		spec:
		  mlPolicy: {numNodes: $3, torch: {}}
		  template: {spec: {${4:-}replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {containers: [{name: node, image: i}]}}}}}]}}
	END
}
check "runtimes of the tests" eval '
	runtime TrainingRuntime sdk-once 3 | kubectl apply -f - && runtime ClusterTrainingRuntime sdk-once 1 | kubectl apply -f - &&
	runtime ClusterTrainingRuntime sdk-twice 2 "failurePolicy: {maxRestarts: 2}, " | kubectl apply -f -'

# ---- each release --------------------------------------------------------------------------------
each() { # SCRIPT RELEASE...
	local script=$1 release
	shift
	for release in ${SDK_RELEASES:-$*}; do
		SCRATCH=$scratch KFTRAINER=$kftrainer PYTHONDONTWRITEBYTECODE=1 "$sdk/$release/bin/python" "tests/local/$script.py" "$KUBECONFIG" ||
			failures=$((failures + 1))
		rm -f "$scratch/go-sdk"
	done
}
each sdk_calls 0.1.0 0.2.1 0.3.1 0.4.1 0.5.0
check "torchtune's runtime without GPUs, for a machine that has none" kubectl patch clustertrainingruntime torchtune-llama3.2-1b --type json -p \
	'[{"op": "remove", "path": "/spec/template/spec/replicatedJobs/2/template/spec/template/spec/containers/0/resources"}]'
# Jobs of the oldest and the newest: what the others send is the same, as their calls have shown. soak_sdk.sh has all.
each sdk_runs 0.1.0 0.5.0
check "the server is still the same process" kill -0 "$server"
exec 8>&-
finish
