#!/bin/bash
# Ctrl-C, TERM, KILL: everything ends, whatever it is and however deep; the state says so.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"

# What runs carries this in its environment, wherever it went.
export MARK=kftrainer-test-mark-$$-$RANDOM
marked() { # the processes of pods
	grep -lsz "^MARK=$MARK\$" /proc/[0-9]*/environ | xargs -r grep -lsz '^IN_POD=1$' | cut -d/ -f3
}
none_left() { [ -z "$(marked)" ]; }
no_orphan() { # of the processes that are killed some are gone a moment later
	until_true none_left && return
	for p in $(marked); do tr '\0' ' ' <"/proc/$p/cmdline"; echo; done >out
	return 1
}
# Grandchildren of every kind: in sessions of their own, forked twice, deaf to TERM, of names that are changed.
cat >family.sh <<'SH'
export IN_POD=1
setsid sleep 1001 &
(setsid bash -c '(sleep 1002 & exec sleep 1003) & exec sleep 1004' &)
bash -c 'trap "" TERM INT HUP; while :; do sleep 1; done' &
nohup bash -c 'exec -a other sleep 1005' >/dev/null 2>&1 &
setsid setsid nohup python3 -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64); time.sleep(1006)
    os._exit(0)' &
SH
job family 2 < <(node '. ./family.sh; trap "echo rank $JOB_COMPLETION_INDEX was told; echo told >>told-$JOB_COMPLETION_INDEX; exit 0" TERM; touch up-$JOB_COMPLETION_INDEX; while :; do sleep 0.1; done')
both_up() { [ -e up-0 ] && [ -e up-1 ]; }
many() { [ "$(marked | wc -l)" -ge 12 ]; }

# in_front COMMAND...: in the background, as a shell with job control starts it: INT is not ignored. Its pid in $pid.
in_front() {
	python3 -c 'import os, signal, sys
for s in signal.SIGINT, signal.SIGTERM, signal.SIGHUP: signal.signal(s, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@" >out 2>&1 </dev/null &
	pid=$!
}

for way in "" none; do
	[ "$way" ] && export KFTRAINER_ISOLATION=$way
	in="${way:+ without namespaces}"
	for case in INT:130 TERM:143; do
		rm -f up-? told-?
		in_front "$kftrainer" submit --local family.yaml
		until_true both_up
		ok "${case%:*}$in: there are processes to end" until_true many
		kill "-${case%:*}" $pid
		wait $pid
		status=$?
		ok "${case%:*}$in: exit code ${case#*:}" exits "${case#*:}"
		ok "... each process was told, and could write" test "$(cat told-0 told-1)" = "$(printf 'told\ntold')"
		ok "... what they said is heard" lines 2 'rank [01] was told$'
		ok "... no orphan" no_orphan
		run "$kftrainer" get family -o json
		ok "... the state says so" printed 'Interrupted'
	done
	job saves 2 < <(node 'trap "echo rank $JOB_COMPLETION_INDEX saves its state" USR1; trap "exit 0" USR2; touch up-$JOB_COMPLETION_INDEX; while :; do sleep 0.1; done')
	rm -f up-?
	in_front "$kftrainer" submit --local saves.yaml
	until_true both_up
	kill -USR1 $pid $(pgrep -P $pid)
	both_saved() { lines 2 'rank [01] saves its state$'; }
	ok "USR1 to all processes, as Slurm sends it before a time limit$in: each rank saves its state" until_true both_saved
	kill -USR2 $pid
	wait $pid
	status=$?
	ok "... the job goes on: it ends by USR2, which they get, too" exits 0
	rm -f up-? told-?
	in_front "$kftrainer" submit --local family.yaml
	until_true both_up
	kill -KILL $pid
	wait $pid 2>/dev/null
	ok "KILL$in: no orphan" no_orphan
	run "$kftrainer" get family
	ok "... get says that it failed" printed 'family +Failed'
	run "$kftrainer" submit --local --name family --runtime torch-distributed -- true
	ok "... its name can be used again" exits 0

	# What a job leaves behind when its command ends by itself.
	job quick 2 < <(node '. ./family.sh; sleep 0.2; echo done')
	submit quick
	ok "the end$in: the job is complete when its commands end" exits 0
	ok "... no orphan" none_left

	# Deaf to TERM: the grace period, then KILL; with a second signal at once.
	job deaf 2 < <(node '. ./family.sh; trap "" TERM INT; touch up-$JOB_COMPLETION_INDEX; while :; do sleep 0.1; done' 'terminationGracePeriodSeconds: 1')
	rm -f up-?
	in_front "$kftrainer" submit --local deaf.yaml
	until_true both_up
	kill -INT $pid
	wait $pid
	ok "deaf to TERM$in: ends after the grace period" test $? = 130
	ok "... no orphan" none_left
	sed -i 's/terminationGracePeriodSeconds: 1/terminationGracePeriodSeconds: 3600/' deaf.yaml
	rm -f up-?
	in_front "$kftrainer" submit --local deaf.yaml
	until_true both_up
	kill -INT $pid
	until_true grep -q -i 'ctrl-c\|again\|stopping\|interrupt' out
	kill -INT $pid
	wait $pid
	ok "a second Ctrl-C$in: ends at once" test $? = 130
	ok "... no orphan" none_left
done
unset KFTRAINER_ISOLATION

# Before anything of the job runs, and while an init container does.
job early 2 < <(node 'touch main-ran' 'initContainers: [{name: slow, image: none, command: [bash, -c, "export IN_POD=1; touch up-$JOB_COMPLETION_INDEX; bash -c \"sleep 1007; true\""]}]')
rm -f up-?
in_front "$kftrainer" submit --local early.yaml
until_true both_up
kill -TERM $pid
wait $pid
ok "TERM while init containers run: 143" test $? = 143
ok "... no orphan" none_left
ok "... the main container never runs" test ! -e main-ran
bad=0
for delay in 0.001 0.002 0.004 0.006 0.008 0.01 0.015 0.02 0.03 0.05; do
	in_front "$kftrainer" submit --local deaf.yaml
	sleep $delay
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	until_true none_left || bad=$((bad + 1))
done
ok "KILL at any moment of the start: no orphan" test $bad = 0
ok "... nothing is left mounted" test -z "$(grep -F "$scratch" /proc/self/mountinfo)"

# Whom delete ends: whoever else a recorded number has come to be is left alone. But for the first, its start is right.
rm -f up-? told-?
in_front "$kftrainer" submit --local family.yaml
until_true both_up
lock=$XDG_STATE_HOME/kftrainer/jobs/default/family/lock
read -r number namespace start boot host <"$lock"
sleep 1000 &
victim=$!
since=$(sed 's/.*) //' /proc/$victim/stat | cut -d' ' -f20)
recorded() { # MARK: what `delete` says then
	echo "$1" >"$lock"
	run timeout 60 "$kftrainer" delete family
}
recorded "$victim $namespace $start $boot $host"
ok "delete, the number is another process's: refused" exits 1
ok "... which is left alone" kill -0 $victim
recorded "$victim 1 $since $boot $host"
ok "delete of what runs in another PID namespace: refused" exits 1
ok "... says so" printed 'runs in another container'
recorded "$victim $namespace $since 00000000-0000-0000-0000-000000000000 $host"
ok "delete, the number is of another boot of this machine: refused" exits 1
ok "... and the process that has it now is left alone" kill -0 $victim
recorded "$victim $namespace $since another-boot far-away"
ok "delete of what runs on another machine: refused" exits 1
ok "... says on which" printed 'runs on host far-away; stop it there'
ok "... and ends nothing here" kill -0 $victim
ok "... nor the job" kill -0 $pid
kill $victim
echo "$number $namespace $start $boot $host" >"$lock"
kill -STOP $pid # Ctrl-Z
until_true grep -q '^State:.T' /proc/$pid/status
run "$kftrainer" why family
ok "why, after Ctrl-Z: it is stopped" printed "is stopped, as by Ctrl-Z.*'kill -CONT $number'"
kill -CONT $pid
until_true grep -q '^State:.S' /proc/$pid/status
run "$kftrainer" why family
ok "... and goes on" eval '! printed "Ctrl-Z" && printed "is running"'
kill -STOP $pid
run "$kftrainer" delete family
ok "delete with the mark that was there, also after Ctrl-Z" exits 0
wait $pid
ok "... ended it by TERM" test $? = 143

# The terminal goes away (HUP), or whoever started it.
rm -f up-? told-?
in_front "$kftrainer" submit --local family.yaml
until_true both_up
kill -HUP $pid
wait $pid
ok "HUP: ends as by TERM, exit code 129" test $? = 129
ok "... each process was told, and could write" test "$(cat told-0 told-1)" = "$(printf 'told\ntold')"
run "$kftrainer" get family -o json
ok "... the state says why" printed 'stopped by SIGHUP'
ok "... no orphan" no_orphan
# A terminal that closes, or ssh that is cut: the kernel and the shell send HUP, more than once. Only a second Ctrl-C kills.
job saves 1 < <(node 'trap "sleep 1; echo saved >saved; exit 0" TERM; touch up-0; while :; do sleep 0.1; done')
for signals in "HUP HUP" "TERM TERM" "HUP INT" "TERM HUP"; do
	rm -f up-? saved
	in_front "$kftrainer" submit --local saves.yaml
	until_true test -e up-0
	for signal in $signals; do
		kill -"$signal" $pid
		sleep 0.2
	done
	wait $pid
	ok "$signals: the grace period is kept" test -e saved
done
cat >terminal.py <<-'END'
	import os, pty, subprocess, sys, time
	pid, fd = pty.fork()
	if pid == 0:
	    os.execvp("bash", ["bash", "-c", '"$@"; true', "bash", *sys.argv[1:]])
	while not os.path.exists("up-0"):
	    time.sleep(0.05)
	os.close(fd)
	os.waitpid(pid, 0)
END
rm -f up-? saved
python3 terminal.py "$kftrainer" submit --local saves.yaml
until_true test -e saved
ok "a terminal that closes: the grace period is kept" test -e saved
until_true no_orphan
rm -f up-? told-?
nohup "$kftrainer" submit --local family.yaml >out 2>&1 </dev/null &
pid=$!
until_true both_up
kill -HUP $pid
sleep 0.2
ok "nohup: HUP is ignored" kill -0 $pid
kill -TERM $pid
wait $pid
ok "... TERM is not" test $? = 143
ok "... no orphan" no_orphan
finish
