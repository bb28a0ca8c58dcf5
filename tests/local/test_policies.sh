#!/bin/bash
# What ends a job, what restarts it, and with which exit code: the policies of JobSets, Jobs and pods.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"

# attempts COUNT: the job's pods said so often that they ran.
attempts() { [ "$(grep -sc . runs)" = "$1" ]; }
# policy WHAT STATUS ATTEMPTS: runs policy.yaml, made by the caller.
policy() {
	rm -f runs
	submit policy
	ok "$1: exit code $2" exits "$2"
	ok "$1: $3 attempts" attempts "$3"
}
count='echo run >>runs; [ $(wc -l <runs) -ge 3 ] || exit 4'

job policy 1 < <(node "$count" | sed 's/backoffLimit: 0/backoffLimit: 2/')
policy "backoffLimit 2, the third works" 0 3
job policy 1 < <(node "$count" | sed 's/backoffLimit: 0/backoffLimit: 1/')
policy "backoffLimit 1" 4 2
ok "... the report says exit code 4" printed 'exit code 4'
job policy 1 < <(node "$count" | sed 's/restartPolicy: Never/restartPolicy: OnFailure/; s/backoffLimit: 0/backoffLimit: 5/')
policy "restartPolicy OnFailure" 0 3
ok "... in the same pod" test "$(find "$XDG_STATE_HOME/kftrainer/jobs/default/policy/latest/logs" -mindepth 1 | grep -c '/policy-node-0-0-[a-z0-9]*$')" = 1
# Nobody has said how often: here not at all, whatever restartPolicy says.
for when in Never OnFailure; do
	job policy 1 < <(node 'echo run >>runs; exit 4' | sed "/backoffLimit/d; s/restartPolicy: Never/restartPolicy: $when/")
	policy "no backoffLimit, restartPolicy $when" 4 1
	ok "... that is said once" lines 1 'backoffLimit is not set'
done
job policy 1 < <(node "$count" | sed '/backoffLimit/d')
rm -f runs
submit policy --max-restarts 2
ok "--max-restarts 2, the third works: exit code 0" exits 0
ok "... 3 attempts" attempts 3
rm -f runs
submit policy --max-restarts 1
ok "--max-restarts 1: exit code 4" exits 4
ok "... 2 attempts" attempts 2
job policy 1 < <(node 'trap "echo told; exit 0" TERM; while :; do sleep 0.1; done')
submit policy --timeout 4s
ok "--timeout: exit code 124" exits 124
ok "... the job was told" lines 1 'told$'
run "$kftrainer" get policy -o yaml
ok "... the state says so" printed 'reason: Interrupted'
job policy 1 < <(node 'true')
submit policy --timeout 1h
ok "--timeout that is not up: exit code 0" exits 0
job policy 1 < <(echo 'failurePolicy: {maxRestarts: 2}'; node "$count")
policy "failurePolicy.maxRestarts 2, the third works" 0 3
ok "... a restart is said" printed '[Rr]estart'
job policy 1 < <(echo 'failurePolicy: {maxRestarts: 1}'; node "$count" | sed '/backoffLimit/d')
policy "failurePolicy.maxRestarts 1" 4 2
ok "... which has retried: no advice about backoffLimit" lines 0 backoffLimit

rules() { node "$1" | sed "s/backoffLimit: 0/backoffLimit: 6\n      podFailurePolicy: {rules: [$2]}/"; }
job policy 1 < <(rules 'echo run >>runs; exit 42' '{action: FailJob, onExitCodes: {operator: In, values: [42]}}')
policy "podFailurePolicy FailJob" 42 1
job policy 1 < <(rules 'echo run >>runs; [ $(wc -l <runs) -ge 3 ] || exit 42' '{action: Ignore, onExitCodes: {operator: In, values: [42]}}' |
	sed 's/backoffLimit: 6/backoffLimit: 0/')
policy "podFailurePolicy Ignore does not count" 0 3
job policy 1 < <(rules 'echo run >>runs; exit 7' '{action: FailJob, onExitCodes: {operator: NotIn, values: [1, 2]}}')
policy "podFailurePolicy NotIn" 7 1

two() { # SUCCESS-POLICY COMMAND-OF-A COMMAND-OF-NODE
	cat <<-Y
		$1
		replicatedJobs:
		- name: a
		  template:
		    spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 2,
		      containers: [{name: a, image: none, command: [bash, -c, $(quoted "$2")]}]}}}
		- name: node
		  template:
		    LABEL
		    spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 2,
		      containers: [{name: node, image: none, command: [bash, -c, $(quoted "$3")]}]}}}
	Y
}
forever='trap "echo told >told; exit 0" TERM; touch up; sleep 1000 & wait'
rm -f told up
job policy 1 < <(two 'successPolicy: {operator: Any, targetReplicatedJobs: [node]}' "$forever" 'while [ ! -e up ]; do sleep 0.05; done; echo run >>runs')
policy "successPolicy: the target is done" 0 1
ok "... the other was told to end" test -s told
job policy 1 < <(two 'successPolicy: {operator: All}' 'echo run >>runs' 'echo run >>runs')
policy "successPolicy All" 0 2
rm -f told up
job policy 1 < <(two '' "$forever" 'while [ ! -e up ]; do sleep 0.05; done; echo run >>runs; exit 9')
policy "one replicatedJob fails, the others end" 9 1
ok "... told to" test -s told
job policy 1 < <(two 'failurePolicy: {maxRestarts: 3, rules: [{name: no-use, action: FailJobSet, targetReplicatedJobs: [node]}]}' 'sleep 1000' 'echo run >>runs; exit 5')
policy "failurePolicy FailJobSet" 5 1

job policy 1 < <(node 'echo run >>runs; sleep 1000' | sed 's/backoffLimit: 0/backoffLimit: 3\n      activeDeadlineSeconds: 3/')
policy "activeDeadlineSeconds of the Job" 1 1
ok "... is the reason" printed 'DeadlineExceeded|deadline'
job policy 1 < <(node 'echo run >>runs; sleep 1000' 'activeDeadlineSeconds: 1')
rm -f runs; submit policy
ok "activeDeadlineSeconds of the pod: not 0" test "$status" != 0
ok "... is the reason" printed 'DeadlineExceeded|deadline'
# From a creationTimestamp of whole seconds: of one second nothing may be left.
job policy 1 'activeDeadlineSeconds: 5' < <(node 'echo run >>runs; sleep 1000')
policy "activeDeadlineSeconds of the TrainJob" 1 1
ok "... is the reason" printed 'DeadlineExceeded|deadline'
run "$kftrainer" get policy
ok "... get shows it as Failed" printed 'policy +Failed'

# Which rank is to blame, and what with.
job blame 3 < <(node 'case $JOB_COMPLETION_INDEX in
	1) seq 30; echo "rank 1 fell first"; exit 11;;
	*) trap "echo late; exit 99" TERM; sleep 1000 & wait;; esac')
submit blame
ok "rank 1 fails first: its exit code" exits 11
ok "... is named" printed 'node-1.*11'
ok "... its last line" printed 'rank 1 fell first'
ok "... its last 20 lines, not more" test "$(sed -n '/exit code 11/,$p' out | grep -Ec '^ *(\[node-1\] )?([0-9]+|rank 1 fell first)$')" = 20
for case in 'kill -SEGV $$|139|SEGV' 'kill -KILL $$|137|KILL' 'kill -ABRT $$|134|ABRT' 'exec no-such-program|127|no-such-program' \
	'exec /etc/hosts|126|hosts' 'exec python3 -c "import nowhere"|1|No module named .nowhere' 'exit 255|255|255'; do
	IFS='|' read -r command code word <<<"$case"
	job blame 1 < <(node "${command/\$\$/\$\$\$\$}")
	submit blame
	ok "$command: $code" exits "$code"
	ok "... is said" printed "$word"
done
job blame 1 < <(node 'echo never >main-ran' 'initContainers: [{name: prepare, image: none, command: [bash, -c, "echo cannot prepare; exit 21"]}]')
submit blame
ok "an init container fails: its exit code" exits 21
ok "... is named" printed 'prepare'
ok "... what it wrote" printed 'cannot prepare'
ok "... nothing else ran" test ! -e main-ran

job elsewhere 1 'managedBy: kueue.x-k8s.io/multikueue' < <(node true)
submit elsewhere
ok "a job for another controller runs" exits 0
ok "... which is said" printed '^spec.managedBy is not applied'
finish
