# on_this_machine.sh - lib.sh without a cluster: a test of this folder, unchanged, against `controller
# --local`. tests/local/test_verbs.sh and test_submit.sh run them; tests/local/left_out names the checks that it leaves out.
#
# Pods run here, where there is no kubelet in the cluster: a gate of shell stands for one. A pod of
# torch-distributed, or of tried_once(), is Pending until report_pods() says that it runs, and ends when
# that says so.
# shellcheck shell=bash disable=SC2034,SC2154 # for the tests; lib.sh
gates=$scratch/gates
mkdir "$gates" "$scratch/bin"
cat >"$scratch/bin/gate" <<END
#!/bin/sh
job=\$(uname -n) && job=\${job%-node-*}
until [ -e "$gates/\$job.\$1" ]; do sleep 0.1; done
exit "\$(cat "$gates/\$job.\$1")"
END
printf '#!/bin/sh\nexec gate exit\n' >"$scratch/bin/true"
chmod +x "$scratch/bin/gate" "$scratch/bin/true"
gate='{name: gate, image: i, command: [gate, run]}'
what_runs='command: ["true"]' # images are not pulled

left_out=()
while IFS= read -r line; do
	left_out+=("$line")
done < <(sed -n "s/^$(basename "$0" .sh): //p" tests/local/left_out)
eval "really_$(declare -f check)"
check() { # unless it is left out
	local line
	for line in "${left_out[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $1 != ${line%% | *} ]] || {
			echo "# left out: $1: ${line#* | }"
			return
		}
	done
	really_check "$@"
}

cluster_up() {
	cluster_name=local
	cluster_state=$scratch/state
	at_exit cluster_end
	export XDG_STATE_HOME=$scratch/state
	mkdir -p "$cluster_state/pki"
	PATH=$scratch/bin:$PATH "$kftrainer" controller --local --data "$scratch/api" >"$scratch/where" 2>"$scratch/controller.log" &
	server_pid=$!
	controller_log=$scratch/controller.log
	until [ -s "$scratch/where" ]; do sleep 0.1; done
	inside=(env "KUBECONFIG=$scratch/api/kubeconfig" "PATH=$(tests/cluster/programs.sh)/bin:$PATH")
	kc config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$cluster_state/pki/ca.crt"
	kc create namespace kube-public >/dev/null
	kc get clustertrainingruntime torch-distributed -o json | python3 -c 'import json, sys, yaml
runtime = json.load(sys.stdin)
runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["initContainers"] = [yaml.safe_load(sys.argv[1])]
json.dump(runtime, sys.stdout)' "$gate" | kc replace -f - >/dev/null
}
kc() {
	if [ "$1 $2" = "create namespace" ]; then # that command sends protobuf, of which this API has none
		echo "{apiVersion: v1, kind: Namespace, metadata: {name: $3}}" | in_cluster kubectl create -f -
	else
		in_cluster kubectl "$@"
	fi
}
cluster_end() {
	kc delete trainjobs --all -A --wait=false >/dev/null 2>&1
	until [ -z "$(ls "$XDG_STATE_HOME/kftrainer/jobs/"*/* 2>/dev/null)" ]; do sleep 0.1; done
	kill "$server_pid"
	while kill -0 "$server_pid" 2>/dev/null; do sleep 0.1; done
}
cluster() { # of its actions, who the administrator is
	[ "$1 $4" = "kubeconfig system:masters" ] && cp "$scratch/api/kubeconfig" "$2"
}
controller_up() { wait_for 60 controller_ready; }
controller_pid() { echo "$server_pid"; }
controller_down() { :; }
go_on() { echo "$3" >"$gates/new" && mv "$gates/new" "$gates/$1.$2"; } # JOB run|exit CODE; never seen half-written
all_reported() { # NAMESPACE SELECTOR STATUS
	local job=${2#*=} phase
	phase=$(grep -o '"phase":"[A-Za-z]*"' <<<"$3" | cut -d '"' -f 4)
	go_on "$job" run 0
	case $phase in
	Succeeded) go_on "$job" exit 0 ;;
	Failed) go_on "$job" exit "$(grep -o '"exitCode":[0-9]*' <<<"$3" | cut -d : -f 2)" ;;
	esac
	[ "$(kc get pods -n "$1" -l "$2" -o 'jsonpath={.items[*].status.phase}' | tr ' ' '\n' | sort -u)" = "$phase" ]
}
