#!/bin/bash
# Started from odd places: folders that are gone, variables that are not set, few descriptors, inside another job.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"
submit() { # as a user types it: ARGUMENT...
	run timeout -k 10 600 "$kftrainer" submit --local "$@"
}
it_runs() { exits 0 && printed '^\[node-[01]\] +it runs$'; }
job plain 2 < <(node 'echo it runs')

mkdir gone
(cd gone && rmdir ../gone && submit "$scratch/plain.yaml"; exit "$status")
status=$?
nowhere() { exits 2 && printed 'the current directory was removed.*: change to one that exists' && ! printed 'it runs'; }
ok "a working folder that is deleted: nothing runs, as in /" nowhere
mkdir -p deep/er
echo 'print("it runs")' >deep/er/script.py
(cd deep && submit --runtime torch-distributed -- python3 er/script.py; exit "$status")
status=$?
ok "a script by a relative path" it_runs
ln -s deep shallow
(cd shallow && submit --runtime torch-distributed -- bash -c '[ "$(pwd -P)" = "$(cd ../deep && pwd -P)" ] && echo it runs'; exit "$status")
status=$?
ok "a working folder that is a link" it_runs
mkdir 'a b"c'
(cd 'a b"c' && submit --runtime torch-distributed -- bash -c 'touch "x y"; echo it runs'; exit "$status")
status=$?
ok "a working folder with a space and a quote" it_runs
ok "... is where it runs" test -e 'a b"c/x y'

if unshare -Urn true 2>/dev/null; then
	run unshare -Urn "$kftrainer" submit --local plain.yaml
	ok "a network namespace whose loopback interface is down" it_runs
	ok "... which is said once, with what to do" lines 1 "the loopback interface is down: .*; run 'ip link set lo up'\$"
fi
for variable in HOME PATH TMPDIR USER LANG TERM SHELL; do
	run env -u "$variable" "$kftrainer" submit --local plain.yaml
	ok "$variable not set" it_runs
done
run env -i XDG_STATE_HOME="$XDG_STATE_HOME" "$kftrainer" submit --local plain.yaml
ok "an empty environment" it_runs
run env -i "$kftrainer" submit --local --name "places-$$" plain.yaml
ok "... and no state folder to be had: one line that says which variable" printed 'HOME|it runs'
env -i "$kftrainer" delete --local "places-$$" >/dev/null 2>&1 # the state folder was that of who runs this
run env -u XDG_STATE_HOME HOME="$scratch/new/home" "$kftrainer" submit --local plain.yaml
ok "a HOME that does not exist" it_runs
run env XDG_STATE_HOME=relative/state "$kftrainer" submit --local plain.yaml
ok "a relative XDG_STATE_HOME: one line that says what is wanted" printed 'XDG_STATE_HOME is "relative/state": want an absolute path'
run env XDG_STATE_HOME=relative/state timeout 5 "$kftrainer" controller --local
ok "... of the server, too" printed 'XDG_STATE_HOME is "relative/state": want an absolute path'
long=$scratch/$(printf 'long-%.0s' {1..40})/$(printf 'long-%.0s' {1..40})
mkdir -p "$long"
run env TMPDIR="$long" "$kftrainer" submit --local plain.yaml
ok "a TMPDIR of 400 letters" it_runs
run env TMPDIR=/no/such/folder "$kftrainer" submit --local plain.yaml
ok "a TMPDIR that is not there" it_runs
run env XDG_STATE_HOME="$long" "$kftrainer" submit --local plain.yaml
ok "a state folder of 400 letters" it_runs
for mask in 0 077 027; do
	run bash -c "umask $mask; exec \"\$@\"" - env XDG_STATE_HOME="$scratch/state-$mask" "$kftrainer" submit --local plain.yaml
	ok "umask $mask" it_runs
	ok "... logs are the caller's alone" test -z "$(find "$scratch/state-$mask" -name '*.log' -perm /077)"
done
run bash -c 'umask 027; exec "$@"' - "$kftrainer" submit --local --runtime torch-distributed -- sh -c 'umask; echo it runs'
ok "the job has the caller's umask" printed ' 0027$'
run bash -c 'exec "$@" <&-' - "$kftrainer" submit --local plain.yaml
ok "stdin closed" it_runs
"$kftrainer" submit --local - <plain.yaml >out 2>&1
status=$?
ok "the job on stdin" it_runs
"$kftrainer" submit --local --runtime torch-distributed -- sh -c 'read x || echo it runs' >out 2>&1 < <(sleep 2; echo typed)
status=$?
ok "a job reads nothing of the caller's stdin" it_runs

run bash -c 'ulimit -n 64; exec "$@"' - "$kftrainer" submit --local plain.yaml
ok "64 descriptors" it_runs
job many 40 < <(node 'echo it runs on $JOB_COMPLETION_INDEX')
run bash -c 'ulimit -Sn 64; exec "$@"' - "$kftrainer" submit --local many.yaml
ok "64 descriptors that may be more, 40 pods" exits 0
ok "... all run" lines 40 'it runs on [0-9]+$'
for limit in 60 61 62 63 64; do # the last descriptor is each time another's
	run bash -c "ulimit -n $limit; exec \"\$@\"" - timeout -k 10 600 "$kftrainer" submit --local many.yaml
	ok "$limit descriptors, 40 pods: fails" exits 128
	ok "... and says why" printed 'exit code 128: .*: No file descriptors available'
done
run bash -c 'ulimit -Sn 128; exec "$@"' - "$kftrainer" submit --local --runtime torch-distributed -- sh -c 'echo "may open $(ulimit -Sn)"'
ok "the job's own limit is the caller's" printed 'may open 128$'
run bash -c 'ulimit -c 0 -s 512; exec "$@"' - "$kftrainer" submit --local plain.yaml
ok "a stack of 512 KiB" it_runs
run bash -c 'ulimit -v 300000; exec "$@"' - "$kftrainer" submit --local plain.yaml
ok "300 MB of address space" it_runs

# In a job of one kftrainer another kftrainer.
export kftrainer
submit --name outer --runtime torch-distributed -- bash -c '"$kftrainer" submit --local --name inner --runtime torch-distributed --nodes 2 -- sh -c "echo it runs at \$PET_MASTER_PORT"'
ok "inside another job: exits 0" exits 0
ok "... both inner nodes" lines 2 '^\[node-0\] \[node-[01]\] it runs at [0-9]+$'
run "$kftrainer" get
ok "... both are in the history" lines 2 '(inner|outer) +Complete'
job fails 1 < <(node 'exit 5')
job outer 1 < <(node '"$kftrainer" submit --local fails.yaml; echo "inner ended with $?"; exit 6')
submit outer.yaml
ok "... it fails, and the outer one is told" printed 'inner ended with 5$'
ok "... which ends as it does" exits 6
submit --name outer --runtime torch-distributed -- bash -c '"$kftrainer" submit --local --name outer --runtime torch-distributed -- true; echo "ended with $?"'
ok "... of the same name: refused" printed 'ended with 1$'

if unshare -Urpf --mount-proc true 2>/dev/null; then
	run env KFTRAINER_ISOLATION=none unshare -Urpf --mount-proc "$kftrainer" submit --local --name first --runtime torch-distributed -- \
		sh -c '"$kftrainer" delete first || echo "delete ends with $?"'
	ok "process 1 of a container: another command finds it, and deletes its job" eval 'exits 143 && not_printed "delete ends with"'
fi
run setsid -w "$kftrainer" submit --local plain.yaml
ok "setsid" it_runs
run nohup "$kftrainer" submit --local plain.yaml
ok "nohup" it_runs
run nice -n 19 "$kftrainer" submit --local plain.yaml
ok "nice" it_runs
run bash -c 'trap "" CHLD PIPE TERM INT; exec "$@"' - "$kftrainer" submit --local plain.yaml
ok "signals that are ignored" it_runs
run python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); os.execv(sys.argv[1], sys.argv[1:])' "$kftrainer" submit --local plain.yaml
ok "signals that are blocked" it_runs
run python3 -c 'import os, sys
for i in range(3, 60): os.dup2(1, i, inheritable=True)
os.execv(sys.argv[1], sys.argv[1:])' "$kftrainer" submit --local --runtime torch-distributed -- \
	bash -c 'ls /proc/self/fd | tr "\n" " "; echo it runs'
ok "descriptors of the caller do not reach the job" printed '^\[node-0\] 0 1 2 [0-9]+ it runs$'
if [ "$(stat -fc %T /dev/shm)" = tmpfs ]; then
	shm=$(mktemp -d /dev/shm/kftrainer-test.XXXXXX)
	run env XDG_STATE_HOME="$shm" "$kftrainer" submit --local plain.yaml
	ok "the state folder on a tmpfs" it_runs
	rm -rf "$shm"
else
	skip "the state folder on a tmpfs" "/dev/shm is none"
fi
job wordy 1 < <(node 'head -c 200000 /dev/zero | tr "\0" "\n"; echo it ends')
run bash -o pipefail -c 'ulimit -f 64; "$@" | tail -n 1' - timeout -k 10 600 "$kftrainer" submit --local wordy.yaml
ok "no file may have more than 64 KB, and the log would: the job completes" eval 'exits 0 && printed "it ends"'
if [ "$(id -u)" = 0 ]; then
	mkdir -m 777 anybody
	chmod 711 "$scratch"
	install -m 755 "$kftrainer" anybody/program
	cp plain.yaml anybody/
	run setpriv --reuid 54321 --regid 54321 --clear-groups env HOME=/nonexistent XDG_STATE_HOME= "$scratch/anybody/program" submit --local anybody/plain.yaml
	ok "a user without a home, who is not in /etc/passwd: refused" exits 1
	ok "... in one line that says why" eval '[ "$(wc -l <out)" = 1 ] && printed "/nonexistent: Permission denied"'
	run setpriv --reuid 54321 --regid 0 --clear-groups env HOME=/ XDG_STATE_HOME= "$scratch/anybody/program" submit --local anybody/plain.yaml
	ok "... whose home is /, as in OpenShift's pods: what to set" printed 'set XDG_STATE_HOME to a directory that you can write: /\.local: Permission denied'
	run setpriv --reuid 54321 --regid 54321 --clear-groups env HOME="$scratch/anybody" XDG_STATE_HOME= "$scratch/anybody/program" submit --local anybody/plain.yaml
	ok "a user who is not in /etc/passwd" it_runs
	run bash -c 'ulimit -u 40; exec "$@"' - setpriv --reuid 54321 --regid 54321 --clear-groups env HOME="$scratch/anybody" XDG_STATE_HOME= \
		timeout -k 10 600 "$scratch/anybody/program" submit --local --name many --runtime torch-distributed --nodes 40 -- sleep 1
	ok "40 processes allowed, 40 pods: fails" exits 128
	ok "... and says why" printed 'exit code 128: .*: Resource temporarily unavailable'
else
	skip "a user who is not in /etc/passwd" "needs root"
	skip "40 processes allowed" "needs root"
fi
finish
