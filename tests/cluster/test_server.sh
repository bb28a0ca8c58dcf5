#!/bin/bash
# The ports of health and metrics as they are set: other paths, plain, off; and that what
# Prometheus is given is its text format.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
# shellcheck disable=SC2034 # lib.sh
controller_config=$scratch/config.yaml
config() { # METRICS HEALTH
	cat >"$controller_config" <<-END
		apiVersion: config.trainer.kubeflow.org/v1alpha1
		kind: Configuration
		metrics: {$1}
		health: {$2}
	END
}
answers() { # HTTP-CODE LIKE CURL'S ARGUMENTS
	local code
	code=$(in_cluster curl -sk --max-time 30 -o "$scratch/said" -w '%{http_code}' "${@:3}")
	[ "$code" = "$1" ] && { [ -z "$2" ] || grep -q -e "$2" "$scratch/said"; } || { echo "$code"; head -c 500 "$scratch/said"; return 1; }
}
nobody() { ! in_cluster curl -sk --max-time 30 "$1" 2>&1; } # listens there
health=http://$cluster_ip:8081 metrics=http://$cluster_ip:8090/metrics

# The text format, version 0.0.4: HELP, TYPE and then the samples of a family, in one piece.
format() {
	in_cluster curl -s "$metrics" >"$scratch/metrics" && python3 - "$scratch/metrics" <<-'PYTHON'
		import re, sys
		sample = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*",?)*\})? (\S+)$')
		types, done, name, seen, buckets = {}, set(), None, set(), {}
		for line in open(sys.argv[1]):
		    line = line.rstrip("\n")
		    if line.startswith("# HELP "):
		        done.add(name)
		        name = line.split(" ", 3)[2]
		        assert name not in done, line
		        continue
		    if line.startswith("# TYPE "):
		        assert line.split(" ")[2] == name, line
		        types[name] = line.split(" ")[3]
		        assert types[name] in ("counter", "gauge", "histogram"), line
		        continue
		    match = sample.match(line)
		    assert match, line
		    base, labels, value = match.groups()
		    if types[name] == "histogram":
		        assert base in (name + "_bucket", name + "_sum", name + "_count"), line
		    else:
		        assert base == name, line
		    assert (base, labels) not in seen, line
		    seen.add((base, labels))
		    float(value)
		    if base == name + "_bucket" and types[name] == "histogram":
		        series = name + re.sub(r'le="[^"]*",?', "", labels).replace(",}", "}")
		        assert float(value) >= buckets.get(series, 0), line
		        buckets[series] = float(value)
		for wanted in ("controller_runtime_reconcile_total", "controller_runtime_webhook_requests_total", "workqueue_depth",
		               "rest_client_requests_total", "trainer_trainjobs", "process_resident_memory_bytes"):
		    assert wanted in types, wanted
		print(len(types), "families", len(seen), "samples")
	PYTHON
}
trainjob() {
	kc create -f - <<-'YAML'
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: one, namespace: default}
		spec: {runtimeRef: {name: torch-distributed}}
	YAML
}
quits() { controller_down && ! grep -e 'ERROR: .*Sanitizer' -e 'runtime error' "$controller_log"; }

config 'bindAddress: ":8090", secureServing: false' 'livenessEndpointName: alive, readinessEndpointName: /able'
check "starts with plain metrics and other names of health" controller_up
check "alive" answers 200 ok "$health/alive"
check "able" answers 200 ok "$health/able"
check "each check by its name" answers 200 ok "$health/able/readyz"
check "all checks by name" answers 200 '^\[+\]' "$health/able?verbose"
check "the usual names are none then" answers 404 '' "$health/healthz"
check "no other path" answers 404 '' "$health/"
check "a TrainJob" eval 'trainjob && wait_for 60 kc get jobset one'
check "Prometheus' text format" format
check "HEAD" answers 200 '' -I "$metrics"
check "no other path" answers 404 . "${metrics%/*}/"
check "no other method" answers 405 . -X DELETE "$metrics"
check "nothing listens where metrics usually are" nobody "https://$cluster_ip:8443/metrics"
check "ends" quits
config 'bindAddress: "0"' 'healthProbeBindAddress: "127.0.0.1:8081"'
check "starts without metrics" controller_up
check "none" nobody "https://$cluster_ip:8443/metrics"
check "health on one address only" nobody "$health/healthz"
check "... on that one" answers 200 ok http://127.0.0.1:8081/healthz
check "ends" quits
kc delete trainjob one -n default >/dev/null
finish
