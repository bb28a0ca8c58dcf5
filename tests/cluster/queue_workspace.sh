# Part of test_queue.sh. `submit --workspace` of jobs for a queue of Kueue: the folder is there
# before the job runs, and it is Kueue that resumes it, not we.
# shellcheck shell=bash disable=SC2154 # of lib.sh
ns=wsqueue-$$
kn() { kc -n $ns "$@"; }
queue() {
	kc create namespace $ns && local_queues mine team | kn apply -f -
}
check "a queue" queue
mkdir "$scratch/code"
echo 'print("hello")' >"$scratch/code/train.py"
submit() { # NAME CPU
	in_cluster env KUBECONFIG="$cluster_state/admin.kubeconfig" "$kftrainer" submit -n $ns --name "$1" --cpu "$2" \
		--runtime torch-distributed --label kueue.x-k8s.io/queue-name=mine --workspace "$scratch/code" -- python3 train.py
}
is() { # NAME PATH WANTED
	local got
	got=$(kn get trainjob "$1" -o "jsonpath={$2}")
	[ "$got" = "$3" ] || { echo "$2 is '$got'"; return 1; }
}
check "a job that the quota has room for" submit fits 1
check "... has its folder" eval 'kn get configmap -o name | grep fits-workspace-'
check "... is admitted by Kueue, and resumed" wait_for 60 is fits .spec.suspend false
check "... awaits nothing" is fits '.metadata.annotations.kftrainer\.io/workspace-awaited' ''
unpacks() { kn get jobset fits -o 'jsonpath={.spec.suspend} {..initContainers[0].name}' | grep -x 'false workspace'; }
check "... its JobSet runs, with the folder" wait_for 60 unpacks
check "a job that there is no room for" submit waits 100
check "... has its folder, too" eval 'kn get configmap -o name | grep waits-workspace-'
sleep 3
check "... and stays suspended" is waits .spec.suspend true
check "... awaiting nothing but its quota" is waits '.metadata.annotations.kftrainer\.io/workspace-awaited' ''
kc delete namespace $ns --wait=false >/dev/null
