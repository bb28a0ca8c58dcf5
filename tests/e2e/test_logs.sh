#!/bin/bash
# `kftrainer logs` of real pods: each line once, whatever happens to pods, containers and the
# API server meanwhile.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
# Of `again` a container that fails is started again in its pod, which has a volume.
again() {
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: again, labels: {trainer.kubeflow.org/framework: plainml}}
		spec:
		  mlPolicy: {numNodes: 1}
		  template:
		    spec:
		      replicatedJobs:
		      - name: dataset-initializer
		        template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: dataset-initializer,
		          image: $image, command: [bash, -c, "echo data are here"]}]}}}}
		      - name: node
		        dependsOn: [{name: dataset-initializer, status: Complete}]
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec:
		            backoffLimit: 6
		            template:
		              spec:
		                restartPolicy: OnFailure
		                terminationGracePeriodSeconds: 2
		                volumes: [{name: v, emptyDir: {}}]
		                containers: [{name: node, image: $image, volumeMounts: [{name: v, mountPath: /v}]}]
	END
}
again | k apply -f - >"$scratch/runtime"
lk() { in_cluster "$kftrainer" logs -n $ns "$@"; } # kftrainer logs
# begins NAME ARGUMENT...: logs -f in the background, into $scratch/NAME.out and .err
declare -A pid_of
begins() {
	lk -f "$@" >"$scratch/$1.out" 2>"$scratch/$1.err" &
	pid_of[$1]=$!
}
ends() { # NAME: with 0
	local code=0
	wait "${pid_of[$1]}" || code=$?
	[ $code = 0 ] && return
	echo "exit code $code"
	tail -n 5 "$scratch/$1.out" "$scratch/$1.err"
	return 1
}
# whole NAME PREFIX FIRST LAST: its lines "line FIRST" to "line LAST", each once, in order
whole() {
	diff <(sed -n "s/^$2//; s/^line \([0-9]*\)\$/\1/p" "$scratch/$1.out") <(seq "$3" "$4") >"$scratch/diff" && return
	head -n 20 "$scratch/diff"
	return 1
}
count() { # FIRST LAST PAUSE: a command that writes these lines, in bursts
	echo "for ((i = $1; i <= $2; i++)); do echo line \$i; ((i % 10)) || sleep $3; done"
}

# ---- from before there is a pod to the end ---------------------------------------------------------
check "two nodes that count" train two "$(sh 2 "echo rank \$JOB_COMPLETION_INDEX; $(count 1 300 0.1)")"
begins two
check "one whose image is not there" train noimage "$(sh 1 true 'image: "kft.local/absent:1"')"
begins noimage
check "one that is suspended" train paused "$(sh 1 "$(count 1 20 0.1)" | sed 's/^{/{suspend: true, /')"
begins paused
runtime=again check "one that fails, and is started again" train again "$(runtime=again sh 1 "if [ -e /v/1 ]; then $(count 101 150 0.05); $until_go; $(count 151 200 0.05); else touch /v/1; $(count 1 100 0.05); exit 1; fi")"
begins again --step node
until_told='until [ -e /tmp/end ]; do sleep 0.2; done; exit $(cat /tmp/end)'
runtime=retry check "one whose pod is replaced" train replaced "$(runtime=retry sh 1 "$(count 1 50 0.05); $until_told")"
begins replaced
check "a job that goes on while the API server does not" train long "$(sh 2 "$(count 1 1400 0.2); $until_go; $(count 1401 1500 0.2)")"
begins long
check "the lines of two nodes, and the end with the job" ends two
check "... all of the first" whole two '\[node-0\] ' 1 300
check "... all of the second" whole two '\[node-1\] ' 1 300
check "... each behind its rank" eval 'grep -qx "\[node-1\] rank 1" "$scratch/two.out" && grep -qx "\[node-0\] rank 0" "$scratch/two.out"'
check "an image that cannot be pulled is waited for, with the reason" wait_for 60 grep -Eq 'waiting for node-0 to start; .*absent' "$scratch/noimage.err"
check "a suspended job is waited for" wait_for 10 grep -q "waiting for pods: TrainJob paused is Suspended" "$scratch/paused.err"
check "... and shown when it is resumed" in_cluster "$kftrainer" resume paused -n $ns

# ---- restarts ----------------------------------------------------------------------------------------
stop_api() { cluster stop kube-apiserver; }
start_api() { cluster start kube-apiserver; }
check "the long one writes" wait_for 60 grep -q 'line 200$' "$scratch/long.out"
check "the API server ends" stop_api
sleep 4
check "... and is back" start_api
check "the outage is reported" wait_for 20 grep -q 'trying again' "$scratch/long.err"
check "a container is started again" wait_for 60 grep -qx 'line 150' "$scratch/again.out"
again_is_known() { pods again '{.items[*].status.containerStatuses[*].restartCount}' | grep -qw 1; }
check "... which the API server hears of" wait_for 60 again_is_known
check "--previous: the run before" eval 'lk again -p --step node >"$scratch/p.out"; whole p "" 1 100'
check "without it: this one" eval 'lk again --step node >"$scratch/p.out"; whole p "" 101 150'
check "it goes on" wait_for 20 k exec "$(pods again | xargs -n 1 | grep node-0)" -- touch /tmp/go
check "... to its end: both runs" ends again
check "... each line of both, once" whole again '' 1 200
check "all steps, initializers first" eval '[ "$(lk again | head -n 1)" = "[dataset-initializer] data are here" ]'
check "a step of its own" eval '[ "$(lk again --step initializer)" = "data are here" ]'
check "a suspended job's lines" ends paused
check "... all of them" whole paused '' 1 20
leave() { # STATUS POD: it runs, and ends so
	wait_for 60 k exec "$2" -- sh -c "[ -e /tmp/end ] || { echo $1 >/tmp/end.new; mv /tmp/end.new /tmp/end; }"
}
first=$(pods replaced)
check "a pod ends with an error" leave 1 "$first"
another() { pods replaced | tr ' ' '\n' | grep -vx "$first"; }
check "... another takes its place" wait_for 60 another
check "... which ends well" leave 0 "$(another)"
check "replaced pods: to the end" ends replaced
each_run() { # each of the two counts to 50
	diff "$scratch/replaced.out" <(for i in $(seq 50) $(seq 50); do echo "line $i"; done) >"$scratch/diff" || { head -n 5 "$scratch/diff"; return 1; }
}
check "... each run's lines, once" each_run
check "the long one may end" go long
check "over the API server's end: to the job's end" ends long
check "... each line of the first, once" whole long '\[node-0\] ' 1 1500
check "... and of the second" whole long '\[node-1\] ' 1 1500

# ---- which lines --------------------------------------------------------------------------------------
check "of a rank" eval '[ "$(lk two --rank 1 | head -n 1)" = "rank 1" ]'
check "the last lines" eval '[ "$(lk two --rank 0 --tail 2)" = "$(printf "line 299\nline 300")" ]'
check "none of the last" eval '[ -z "$(lk two --tail 0)" ]'
check "none so new" eval 'sleep 2; [ -z "$(lk two --since 1s)" ]'
check "times" eval 'lk two --rank 0 --timestamps | head -n 1 | grep -Eq "^20[0-9-]+T[0-9:.]+(Z|[+-][0-9:]+) rank 0$"'
check "always in the order of ranks" eval '[ "$(lk two | cut -d" " -f1 | uniq | xargs)" = "[node-0] [node-1]" ]'
no_such() { lk "$@" >"$scratch/no" 2>&1 && return 1; [ $? = 1 ] && grep -q 'no matching logs' "$scratch/no"; }
check "no such rank" no_such two --rank 7
check "no such container" no_such two -c sidecar
check "a rank that another job has" no_such again --step launcher
missing() { lk towo >"$scratch/no" 2>&1; [ $? = 1 ] && grep -q 'did you mean .two.' "$scratch/no"; }
check "no such job" missing

# ---- progress bars and escapes ------------------------------------------------------------------------
check "a pod with a bar, and escapes" train bar "$(sh 1 "for i in \$(seq 80); do printf '\\r%d of 80' \$i; sleep 0.02; done; printf '\\n\\033[2Jend\\033]0;owned\\007\\n'")"
begins bar
check "it is followed to its end" ends bar
check "... the final state once, and no escape" cmp "$scratch/bar.out" <(printf '80 of 80\nend\n')
check "... so in its log" cmp <(lk bar) <(printf '80 of 80\nend\n')
bytes() { for i in $(seq 80); do printf '\r%d of 80' "$i"; done; printf '\n\033[2Jend\033]0;owned\007\n'; }
check "... --raw: every byte" cmp <(lk bar --raw) <(bytes)

# ---- it ends otherwise ---------------------------------------------------------------------------------
check "a job that is deleted" in_cluster "$kftrainer" delete noimage --wait -n $ns
check "... ends its log" ends noimage
check "... which says so" grep -q 'noimage has been deleted' "$scratch/noimage.err"
check "one that continues" train forever "$(sh 1 "echo here; $until_go")"
begins forever
check "... its line" wait_for 60 grep -qx here "$scratch/forever.out"
in_cluster kill -INT "$(pgrep -f "kftrainer logs -n $ns -f forever" | tail -n 1)"
interrupted() { wait "${pid_of[forever]}"; [ $? = 130 ]; }
check "Ctrl-C: 130" interrupted
reader() { timeout 120 bash -c '"$@" | head -n 1' - env KFT_CLUSTERS="${KFT_CLUSTERS:-}" tests/cluster/cluster.sh "$cluster_name" exec "$kftrainer" logs -n $ns two 2>&1 | grep -q '^\[node-0\]'; }
check "a closed pipe" reader
role() {
	k create role some --verb=get,list,watch --resource=trainjobs.trainer.kubeflow.org,jobsets.jobset.x-k8s.io,pods &&
		k create rolebinding some --role=some --user=jane && cluster kubeconfig "$scratch/jane.config" jane
}
check "a user who may read pods, but no logs" role
jane() {
	in_cluster env KUBECONFIG="$scratch/jane.config" "$kftrainer" logs two -n $ns >"$scratch/no" 2>&1
	[ $? = 1 ] && grep -q "may not get pods/log in namespace $ns; check with 'kubectl auth can-i get pods --subresource=log -n $ns" "$scratch/no" || { cat "$scratch/no"; return 1; }
}
check "... is told why, and how to check" jane

# What may not be listed when the job is over may have written, too.
k delete role some >/dev/null
may() { k create role some --verb=get,list,watch --resource="trainjobs.trainer.kubeflow.org,jobsets.jobset.x-k8s.io$1" --dry-run=client -o yaml | k apply -f -; }
check "a user who may read everything" may ,pods,pods/log
check "a job for them" train left "$(sh 1 "echo here; $until_go")"
in_cluster env KUBECONFIG="$scratch/jane.config" "$kftrainer" logs -f left -n $ns >"$scratch/left.out" 2>"$scratch/left.err" &
pid_of[left]=$!
check "... its line" wait_for 60 grep -qx here "$scratch/left.out"
check "they may no more" may ""
check "it ends" go left
given_up() {
	wait "${pid_of[left]}"
	[ $? = 1 ] && grep -Eq 'may not (list pods|get pods/log)' "$scratch/left.err" || { cat "$scratch/left.err"; return 1; }
}
check "... and so does its log, with 1 and a word" given_up
k delete trainjobs --all >"$scratch/deleted"
finish
