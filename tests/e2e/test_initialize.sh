#!/bin/bash
# Initializers in pods: what TrainJobs of a built-in runtime fetch from an S3 server over TLS and
# from a hub, as the node of the job finds it; what becomes of one that is killed, or refused.
# There is no provisioner: a volume of a node's disk waits for each claim that JobSet makes.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
tune=torchtune-qwen2.5-1.5b
hub_port=7080 s3_port=7070
mkdir -p "$scratch"/{tls,hub/models/org/{model,large,gated},files}

# ---- what there is to fetch ----------------------------------------------------------------------
random() { head -c "$1" /dev/urandom; }
mkdir -p "$scratch/files/train/sub folder"
random 30000000 >"$scratch/files/train/a.parquet"
random 9000000 >"$scratch/files/train/sub folder/b.parquet"
echo '{"rows": 3}' >"$scratch/files/train/info.json"
: >"$scratch/files/train/empty"
mkdir -p "$scratch/hub/models/org/model/deep/ä b"
random 25000000 >"$scratch/hub/models/org/model/w-1.safetensors"
random 3000 >"$scratch/hub/models/org/model/deep/ä b/vocab.json"
echo '{"layers": 2}' >"$scratch/hub/models/org/model/config.json"
echo "not of these kinds" >"$scratch/hub/models/org/model/left-out.bin"
large=300000000
random $large >"$scratch/hub/models/org/large/w.safetensors"
echo '{}' >"$scratch/hub/models/org/gated/config.json"
echo '{"private": true, "access": ["hf_the-token"]}' >"$scratch/hub/models/org/model/hub.json"
echo '{"gated": true}' >"$scratch/hub/models/org/gated/hub.json"
echo '{}' >"$scratch/hub/models/org/large/hub.json"

# ---- the servers ---------------------------------------------------------------------------------
answers() { in_cluster curl -s --cacert "$scratch/tls/ca.pem" -o "$scratch/curl" "$1" || { cat "$scratch"/{hub,s3}.log; return 1; }; } # URL

authority() { # of the S3 server alone
	cd "$scratch/tls" || return
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=tests -keyout ca.key -out ca.pem &&
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=gateway -keyout key.pem -out request.pem &&
		openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -set_serial 1 -days 2 -out cert.pem \
			-extfile <(echo "subjectAltName=IP:$cluster_ip")
}
put() { # each file of $scratch/files, by curl's own signature
	local file
	find "$scratch/files" -type f -printf '%P\n' | while read -r file; do
		in_cluster curl -sSf --cacert "$scratch/tls/ca.pem" --aws-sigv4 aws:amz:us-east-1:s3 --user key:secretsecret \
			-H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' -T "$scratch/files/$file" "https://$cluster_ip:$s3_port/bucket/${file// /%20}" || return 1
	done
}
check "the S3 server has an authority of its own" eval '(authority)'
serve_s3 --cert "$scratch/tls/cert.pem" --key "$scratch/tls/key.pem"
check "it answers" wait_for 30 answers "https://$cluster_ip:$s3_port/"
check "... and has a data set" put

# The hub's stand-in listens on loopback; for pods it listens where they reach it.
cat >"$scratch/hub.py" <<'END'
import socket, sys
host, port, store = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sys.path.insert(0, store)
sys.dont_write_bytecode = True
import hub
class Server(hub.Server):
    ports = iter((port, port + 1))
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.sock.close()
        self.port = next(self.ports)
        self.sock = socket.create_server((host, self.port), backlog=256)
        self.url = f"http://{host}:{self.port}"
hub.Server = Server
sys.argv[1:4] = []
hub.main()
END
serve hub bash -c 'sleep infinity | exec "$0" "$@"' python3 "$scratch/hub.py" $cluster_ip $hub_port tests/store "$scratch/hub" \
	--token hf_the-token --rate 600000 --log "$scratch/answers"
check "a hub answers" wait_for 60 answers "http://$cluster_ip:$hub_port/api/whoami-v2"

# ---- what jobs need ------------------------------------------------------------------------------
k create configmap authority --from-file=ca.pem="$scratch/tls/ca.pem" >/dev/null
k create secret generic s3 --from-literal=ACCESS_KEY_ID=key --from-literal=SECRET_ACCESS_KEY=secretsecret >/dev/null
k create secret generic hub --from-literal=HF_TOKEN=hf_the-token >/dev/null

disk() { echo "/var/lib/kubelet/of-$1"; } # JOB
volume() { # JOB NODE [OWNER [MODE]]: for the claim of its runtime
	node "$2" enter install -d -m "${4:-755}" -o "${3:-0}" -g "${3:-0}" "$(disk "$1")" && k create -f - <<-END
		apiVersion: v1
		kind: PersistentVolume
		metadata: {name: $cluster_name-$1}
		spec:
		  capacity: {storage: 20Gi}
		  accessModes: [ReadWriteOnce]
		  persistentVolumeReclaimPolicy: Retain
		  claimRef: {namespace: $ns, name: initializer-$1}
		  local: {path: $(disk "$1")}
		  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [
		    {key: kubernetes.io/hostname, operator: In, values: [n$2]}]}]}}
	END
}

# A line for each file; a node of a job runs the same.
all="find dataset model -name .kftrainer -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum"
digest() { (cd "$1" && bash -c "$all" | sha256sum | cut -d ' ' -f 1); } # FOLDER
looks="cd /workspace && id -u && $all | tee /dev/stderr | sha256sum | grep \"^\$0 \""
quoted() { local text=${1//\\/\\\\}; echo "\"${text//\"/\\\"}\""; }
# job NAME DATASET MODEL FOLDER [PATCHES]: its node wants to find what is in FOLDER, and nothing else. Of the
# runtime all is left as it is, but the GPUs, and where the S3 server's authority is.
job() {
	train "$1" "{runtimeRef: {name: $tune}, initializer: {dataset: {$2}, model: {$3}}, trainer: {image: $image, numNodes: 1,
		resourcesPerNode: {limits: {nvidia.com/gpu: 0}}, command: [bash, -c, $(quoted "$looks"), $(digest "$4")]},
		runtimePatches: [$(patches trust "$(of_pod dataset-initializer "volumes: [{name: authority, configMap: {name: authority}}]" \
		"volumeMounts: [{name: authority, mountPath: /authority}]")"), $(patches more "${5:-}")]}"
}
patches() { echo "{manager: test.example/$1, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [$2]}}}}"; } # WHO PATCH...
of_pod() { # JOB-OF-RUNTIME SPEC [CONTAINER]
	echo "{name: $1, template: {spec: {template: {spec: {${2:+$2, }containers: [{name: $1${3:+, $3}}]}}}}},"
}
data="storageUri: 's3://bucket/train', secretRef: {name: s3}, env: [{name: ENDPOINT, value: 'https://$cluster_ip:$s3_port'}, {name: SSL_CERT_FILE, value: /authority/ca.pem}]"
model() { echo "storageUri: 'hf://$1', env: [{name: HF_ENDPOINT, value: 'http://$cluster_ip:$hub_port'}]"; } # NAME
private="$(model org/model), secretRef: {name: hub}"
expected() { # FOLDER MODEL FILE...: what is to be found
	mkdir -p "$scratch/$1/model"
	cp -r "$scratch/files/train" "$scratch/$1/dataset"
	(cd "$scratch/hub/models/$2" && cp -r --parents "${@:3}" "$scratch/$1/model")
}
expected whole org/model config.json w-1.safetensors deep
expected large org/large w.safetensors

# ---- jobs ----------------------------------------------------------------------------------------
volumes() { volume whole 1 && volume user 2 && volume resumed 2 && volume gated 2 && volume denied 1; }
check "volumes" volumes
check "a job of the built-in $tune: a data set from S3, a private model" job whole "$data" "$private" "$scratch/whole"
group='securityContext: {fsGroup: 65532, fsGroupChangePolicy: OnRootMismatch}'
check "one in a volume of root's, by way of a group; its node is another user" job user "$data" "$private" "$scratch/whole" \
	"$(of_pod dataset-initializer "$group")$(of_pod model-initializer "$group")$(of_pod node 'securityContext: {runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true}')"
check "one that takes its time, and reports" job resumed "$data" "$(model org/large)" "$scratch/large"

# ---- killed midway -------------------------------------------------------------------------------
fetching() { # JOB PATH: of the pod that fetches its model
	k get pods -l "jobset.sigs.k8s.io/jobset-name=$1,jobset.sigs.k8s.io/replicatedjob-name=model-initializer" -o "jsonpath={.items[0]$2}"
}
midway() {
	local percent
	percent=$(of resumed .status.trainerStatus.progressPercentage)
	[ "${percent:-0}" -gt 0 ] && [ "$percent" -lt 90 ] && signal_server STOP hub
}
# The hub stands still then, so that the download does not end before it is killed.
check "its progress is in the TrainJob's status" wait_for 90 midway
shown() { in_cluster "$kftrainer" get -n $ns -o wide resumed | grep -E ' [1-8]?[0-9]% '; }
check "... and shown" shown
pod=$(fetching resumed .metadata.name)
# The one process of the container, by its number on the node.
kill_model() { # JOB
	local on id pid
	on=$(fetching "$1" .spec.nodeName)
	id=$(fetching "$1" .status.containerStatuses[0].containerID)
	pid=$(node "${on#n}" enter ctr task ls | awk -v id="${id#containerd://}" '$1 == id { print $2 }')
	[ -n "$pid" ] && node "${on#n}" enter kill -KILL "$pid"
}
check "kill -9 of its container" kill_model resumed
signal_server CONT hub

# ---- what is refused: said while it is tried again, for the runtime has six retries ---------------
check "one of a gated model, without a token" job gated "$data" "$(model org/gated)" "$scratch/whole"
nobody='securityContext: {runAsUser: 65532, runAsNonRoot: true}'
check "one in a volume that its user may not write to" job denied "$data" "$private" "$scratch/whole" \
	"$(of_pod dataset-initializer '' "$nobody")$(of_pod model-initializer '' "$nobody")"
said() { # COMMAND JOB LIKE
	in_cluster "$kftrainer" "$1" -n $ns "$2" >"$scratch/said" 2>&1
	cat "$scratch/said"
	grep -qE -e "$3" "$scratch/said"
}
line='config.json: model org/gated is gated: accept its terms at [^ ]*/org/gated, then set ACCESS_TOKEN or HF_TOKEN to a token'
check "the gated one: why" wait_for 60 said why gated "^gated is pending: model-initializer, .*$line"
check "... is in its log" wait_for 10 said logs gated "^\[model-initializer\] *kftrainer initialize-model: $line"
line="/workspace/model: Permission denied for user 65532; in a pod, set securityContext.fsGroup"
check "the other one: which right is missing, and what to do" wait_for 60 said logs denied "$line"

# ---- what became of them -------------------------------------------------------------------------
check "the first is complete" becomes whole Complete
files() { [ "$(logs "$1" | grep -cE '^[0-9a-f]{64}  (dataset|model)/')" = "$2" ] || { logs "$1"; return 1; }; }
check "... with all files, no others" files whole 7
check "the one of another user is complete" becomes user Complete
check "... which is another one" eval 'logs user | grep -x 1000'
check "... with all files, no others" files user 7
check "the one that was killed is complete" becomes resumed Complete
check "... with all files" files resumed 5
once() { [ "$(fetching resumed .metadata.name)" = "$pod" ] && [ "$(fetching resumed .status.containerStatuses[0].restartCount)" = 1 ]; }
check "... in the same pod, started again once" once
check "... went on where it was" eval 'k logs "$pod" | grep -E "^w.safetensors: resuming after [0-9.]+ MiB"'
sent() { # bytes of the large file, over both runs
	python3 -c 'import json, sys
sent = sum(a["sent"] for a in map(json.loads, open(sys.argv[1])) if sys.argv[2] in a["path"])
print(f"{sent} bytes sent of {sys.argv[3]}")
sys.exit(not int(sys.argv[3]) <= sent <= 1.05 * int(sys.argv[3]))' "$scratch/answers.cdn" \
		"$(sha256sum <"$scratch/hub/models/org/large/w.safetensors" | cut -d ' ' -f 1)" $large
}
check "... and was sent at most 5 % twice" sent
sed -n 's/^/# /p' "$scratch/check"
failed() { k wait --for=condition=Failed "trainjob/$1" --timeout=600s && [ "$(of "$1" '.status.conditions[?(@.type=="Failed")].reason}{.status.state')" = FailedJobsFailed ]; }
check "the gated one has failed" failed gated
check "... which is reported, with the container" tells gated '^Failed .*; first: model-initializer: container model-initializer: exit code 1(, restarted [0-9]+ times?)? on n2: config.json: model org/gated is gated: .*ACCESS_TOKEN or HF_TOKEN'
check "... and is why, when its pod is gone" said why gated '^gated has failed: .*model org/gated is gated: .*ACCESS_TOKEN or HF_TOKEN'
check "the one without the right to write has failed" failed denied
secrets() { ! { logs whole; logs user; logs gated; k get events -o json; k get trainjobs,jobsets -o json; } | grep -E 'hf_the-token|secretsecret'; }
check "no key is shown anywhere" secrets
k delete trainjobs --all --wait=false >/dev/null
finish
