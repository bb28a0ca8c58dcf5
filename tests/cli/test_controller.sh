#!/bin/bash
# The controller's flags and settings, and what it does while there is no API server.
. "$(dirname "$0")/lib.sh"
unset KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT
export HOME=$scratch/home KUBECONFIG=
mkdir "$HOME"
config=$scratch/config.yaml
head='apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration'
settings() { { echo "$head"; cat; } >"$config"; } # their lines on stdin
goes_on() { says 1 'no kubeconfig' controller "$@"; } # all was well up to the cluster

check "without a cluster: names what is missing" goes_on
check "an argument" refuses "unexpected argument 'x'" controller x
check "a --kubeconfig that does not exist" says 1 'nowhere: No such file' controller --kubeconfig nowhere
for level in debug info error panic 1 2 10; do
	check "--zap-log-level=$level" goes_on --zap-log-level=$level
done
check "an invalid --zap-log-level" refuses "--zap-log-level: invalid level 'loud'" controller --zap-log-level loud
check "an invalid --zap-encoder" refuses "--zap-encoder: invalid encoder 'xml'" controller --zap-encoder xml
check "upstream's other flags are accepted" goes_on --zap-devel --zap-encoder=json --zap-stacktrace-level=panic --zap-time-encoding=iso8601
check "--zap-devel=false" goes_on --zap-devel=false
check "--feature-gates" goes_on --feature-gates TrainJobStatus=true
check "--feature-gates: no such gate" refuses "unknown gate 'Other'; known: TrainJobStatus" controller --feature-gates Other=true
check "--feature-gates: no bool" refuses "'maybe' is not true or false" controller --feature-gates TrainJobStatus=maybe

settings </dev/null
check "empty settings" goes_on --config "$config"
check "a settings file that does not exist" refuses 'nowhere.yaml: No such file' controller --config "$scratch/nowhere.yaml"
settings <<'END'
webhook:
  prot: 9443
  port: 99999
metrics: {secureServing: sometimes}
END
all_errors() {
	run controller --config "$config"
	[ "$status" = 2 ] && [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" = 3 ] &&
		grep -q "config.yaml:4:3: webhook.prot: Unknown field: did you mean 'port'" "$scratch/err" &&
		grep -q "config.yaml:5:3: webhook.port: Invalid value: 99999" "$scratch/err" &&
		grep -q "config.yaml:6:11: metrics.secureServing: Invalid value" "$scratch/err" || dump
}
check "all errors of a settings file at once, with their places" all_errors
head='apiVersion: config.trainer.kubeflow.org/v1alpha1' settings </dev/null
check "settings without a kind" refuses 'kind: Required value' controller --config "$config"

# ---- no API server: nothing listens where the kubeconfig points ----------------------------------

hold() { # FILE [LISTEN]: binds a port until $holder ends; its number is in the file
	python3 -c '
import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); sys.argv[1:] and s.listen()
print(s.getsockname()[1], flush=True); time.sleep(600)' "${@:2}" >"$1" &
	holder=$!
	until [ -s "$1" ]; do kill -0 "$holder" || return 1; sleep 0.05; done
}
put_settings() { # WEBHOOK METRICS HEALTH: ports
	settings <<-END
		webhook: {host: 127.0.0.1, port: $1}
		metrics: {bindAddress: "127.0.0.1:$2", secureServing: false}
		health: {healthProbeBindAddress: "127.0.0.1:$3", livenessEndpointName: alive}
		leaderElection: {leaderElect: true}
	END
}
choose_ports() { # free ones, as far as anybody knows: see begin
	read -r webhook metrics health < <(python3 tests/ports.py 3)
	put_settings "$webhook" "$metrics" "$health"
}
hold "$scratch/closed"
closed=$(cat "$scratch/closed") closer=$holder
cat >"$scratch/kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:$closed"}}]
users: [{name: u, user: {token: secret-of-the-test}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
END
start() {
	"$kftrainer" controller --config "$config" --kubeconfig "$scratch/kubeconfig" "$@" >"$scratch/log" 2>&1 &
	pid=$!
}
alive() { answers "http://127.0.0.1:$health/alive" '^200 ok'; }
begin() { # starts, with other ports as long as another program has taken one of them
	choose_ports
	start "$@"
	until alive 2>/dev/null; do
		if kill -0 "$pid" 2>/dev/null; then
			sleep 0.05
			continue
		fi
		grep -q 'in use' "$scratch/log" || { cat "$scratch/log"; return 1; }
		choose_ports
		start "$@"
	done
}
get() { python3 -c '
import sys, urllib.request, urllib.error
try:
    r = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1], timeout=10)
except urllib.error.HTTPError as e:
    r = e
print(r.status, r.read().decode())' "$@"; }
answers() { get "$1" | grep -Eq -e "$2"; }
await() { # COMMAND...: for a minute
	local until=$((SECONDS + 60))
	until "$@" 2>/dev/null; do
		[ "$SECONDS" -lt "$until" ] && kill -0 "$pid" || { cat "$scratch/log"; return 1; }
		sleep 0.05
	done
}
ends() { # STATUS SIGNAL
	kill -s "$2" "$pid"
	wait "$pid"
	status=$?
	[ "$status" = "$1" ] || { cat "$scratch/log"; echo "status $status"; return 1; }
}

check "alive without an API server, at the path of the settings" begin
check "... each check on its own" answers "http://127.0.0.1:$health/alive/healthz" '^200 ok'
check "... not ready" answers "http://127.0.0.1:$health/readyz" '^500 .*readyz failed'
check "... unless that is left out" answers "http://127.0.0.1:$health/readyz?exclude=readyz&verbose" '^200 '
check "... nothing else there" answers "http://127.0.0.1:$health/healthz" '^404'
check "metrics" answers "http://127.0.0.1:$metrics/metrics" '^leader_election_master_status\{name="trainer.kubeflow.org"\} 0'
check "... of the process" answers "http://127.0.0.1:$metrics/metrics" '^process_resident_memory_bytes '
check "... nothing else there" answers "http://127.0.0.1:$metrics/" '^404'
check "logs are JSON, and say what is wrong" await grep -Eq '^\{"time":.*"level":"warn".*the API server does not respond.*refused' "$scratch/log"
check "SIGTERM: ends with 0" ends 0 TERM
check "... every line is JSON" python3 -c 'import json, sys; [json.loads(l) for l in open(sys.argv[1])]' "$scratch/log"
check "... no token in it" eval '! grep -q secret-of-the-test "$scratch/log"'

begin --zap-devel
check "--zap-devel: plain lines" await grep -Eq '^20.*Z INFO starting version=' "$scratch/log"
check "SIGINT: ends with 0" ends 0 INT

hold "$scratch/taken" listen
put_settings "$(cat "$scratch/taken")" 0 0
start
taken() { wait "$pid"; [ $? = 1 ] && grep -Eq '"level":"error".*webhook server.*in use' "$scratch/log" || { cat "$scratch/log"; return 1; }; }
check "a port that is taken: ends with 1, and says which" taken
kill "$holder" "$closer"
finish
