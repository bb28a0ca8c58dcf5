# with_kai.sh - for tests of KAI: after lib.sh and gangs.sh, `kai_up` starts KAI's programs in the cluster, each with
# the rights of its role as released. They end with the cluster. Logs: $scratch/kai-PROGRAM.log.
# shellcheck shell=bash disable=SC2154 # of lib.sh
kai_queues() { # the third column is what a queue may use of the CPUs, in thousandths
	local name parent limit
	while read -r name parent limit; do
		cat <<-END
			---
			apiVersion: scheduling.run.ai/v2
			kind: Queue
			metadata: {name: $name}
			spec:
			  parentQueue: $parent
			  resources:
			    cpu: {quota: 0, limit: $limit, overQuotaWeight: 1}
			    gpu: {quota: 0, limit: -1, overQuotaWeight: 1}
			    memory: {quota: 0, limit: -1, overQuotaWeight: 1}
		END
	done <<-END
		top     null -1
		gangs   top  -1
		limited top  4000
	END
}

kai_start() { # PROGRAM ROLE ARGUMENT...
	local account=${1%13} role=$2
	[ -e "$scratch/kai-$account.kubeconfig" ] || {
		kc create serviceaccount -n kai-scheduler "$account" >/dev/null &&
			kc create clusterrolebinding "kai-$account" --clusterrole "$role" --serviceaccount "kai-scheduler:$account" >/dev/null &&
			cluster kubeconfig "$scratch/kai-$account.kubeconfig" "system:serviceaccount:kai-scheduler:$account" || return 1
	}
	in_cluster env KUBECONFIG="$scratch/kai-$account.kubeconfig" \
		bash -c 'echo $$ >"$0"; exec "$@"' "$scratch/kai-$account.pid" "$kai/bin/$1" "${@:3}" >"$scratch/kai-$1.log" 2>&1 &
	wait_for 10 test -s "$scratch/kai-$account.pid"
}

# kai_grouper podgrouper | podgrouper13: in the place of the one that runs.
kai_grouper() {
	local pid
	if [ -e "$scratch/kai-podgrouper.pid" ]; then
		pid=$(cat "$scratch/kai-podgrouper.pid")
		in_cluster kill "$pid"
		while [ -e "/proc/$pid" ]; do sleep 0.05; done
		rm "$scratch/kai-podgrouper.pid"
	fi
	kai_start "$1" kai-podgrouper --metrics-bind-address 0 --health-probe-bind-address 0
}

kai_up() {
	kai=$(tests/cluster/kai.sh) || return 1
	kc create namespace kai-scheduler >/dev/null
	kc apply --server-side -f - <"$kai/kai.yaml" >/dev/null || return 1
	kc create clusterrole kai-podgrouper13 --verb get,list,watch --resource trainjobs.trainer.kubeflow.org,jobsets.jobset.x-k8s.io >/dev/null &&
		kc create clusterrolebinding kai-podgrouper13 --clusterrole kai-podgrouper13 --serviceaccount kai-scheduler:podgrouper >/dev/null || return 1
	wait_for 30 eval 'kai_queues | kc apply -f -' >/dev/null || return 1
	kai_start queuecontroller queuecontroller --enable-webhook=false --metrics-listen-address 127.0.0.1:8101
	kai_start podgroupcontroller kai-podgroup-controller --enable-podgroup-webhook=false \
		--metrics-bind-address 0 --health-probe-bind-address 0
	kai_start binder kai-binder --metrics-bind-address 0 --health-probe-bind-address 0
	kai_start scheduler kai-scheduler --schedule-period 200ms --listen-address 127.0.0.1:8102 --plugin-server-port 8103 --qps 500 --burst 1000
}
