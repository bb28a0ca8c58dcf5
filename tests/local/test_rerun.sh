#!/usr/bin/env bash
# submit --dev and rerun: the loop "edit, run again" in the same pods (tests/e2e/test_rerun.sh: in a cluster).
# shellcheck source=tests/local/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
job() { run timeout 100 "$kftrainer" submit --local --dev --detach --runtime torch-distributed --name "$@"; }
rerun() { run timeout 60 "$kftrainer" rerun --local "$@"; }
one_line() { [ "$status" = 125 ] && [ "$(wc -l <out)" = 1 ] && printed "$1"; }
wait_for() { for _ in $(seq 3000); do "$@" && return; sleep 0.1; done; return 1; }
logged() { "$kftrainer" logs --local "$1" >log 2>&1 && grep -Eq -e "$2" log; }
in_pod() { "$kftrainer" exec --local "$@" </dev/null; }

mkdir -p code/sub
cat >code/train.py <<'END'
import os, sys
import step
print("rank", os.environ["JOB_COMPLETION_INDEX"], "edit", step.N, *sys.argv[1:], flush=True)
step.run()
END
edit() { printf 'N = "%s"\ndef run():\n    %s\n' "$1" "${2:-pass}" >code/step.py; }
edit 00
printf 'ignored\n' >code/.gitignore
touch code/sub/old code/ignored
job two --nodes 2 --workspace code --env PYTHONDONTWRITEBYTECODE= -- python3 train.py --first
ok "a job in development starts" exits 0
ok "... its command ends, and it waits" wait_for logged two "the command has ended; waiting for 'kftrainer rerun'"
pods() { "$kftrainer" exec --local two --rank "$1" -- sh -c 'cat /proc/sys/kernel/random/boot_id; readlink /proc/1/ns/pid; cut -d" " -f22 /proc/1/stat' </dev/null; }
before=$(pods 0) before1=$(pods 1)

# cpython#75953, #121376: equal sizes, and many in a second.
edits() {
	for i in $(seq -w 1 20); do
		edit "$i"
		[ "$i" = 07 ] && echo 'def' >code/step.py
		rerun two
		if [ "$i" = 07 ]; then
			exits 1 && { printed SyntaxError || printed 'rank 1 ended with status 1'; } || return 1
			wait_for logged two SyntaxError || return 1
		else
			exits 0 && printed "^rank 0 edit $i --first" && printed '1 of 4 files sent' || return 1
		fi
	done
}
ok "20 edits in a row, one with a syntax error" edits
on_both() { logged two . && [ "$(grep -c 'rank 0 edit' log) $(grep -c 'rank 1 edit' log)" = "20 20" ]; }
ok "... each ran on both ranks" wait_for on_both
ok "... in the same pods" test "$before $before1" = "$(pods 0) $(pods 1)"
rerun two
ok "without an edit nothing is sent" printed '0 of 4 files sent'
rerun two -q -- --lr '1 *'
ok "arguments are appended" test "$(cat out)" = 'rank 0 edit 20 --first --lr 1 *'
rerun two
ok "... for that run" printed 'edit 20 --first$'
timeout 60 "$kftrainer" rerun --local two -q >/dev/full 2>out
status=$?
ok "a full disk is named, not taken for an interrupt" one_line 'No space left on device'

in_pod two -- sh -c 'touch sub/old ignored result; LC_ALL=C; export LC_ALL; echo $(ls -A)' >names
cp names out
ok "ignored files are not sent" test "$(cat names)" = '.gitignore .kftrainer-rerun .kftrainer-workspace __pycache__ ignored result step.py sub train.py'
rm code/sub/old
mkdir code/new
echo new >code/new/file
ln -s new/file code/link
rerun two
for rank in 0 1; do
	in_pod two --rank $rank -- sh -c 'cat link; ls -d ignored result 2>/dev/null; echo sub: $(ls sub)' >names
	[ $rank = 0 ] && want='ignored new result sub:' || want='new sub:'
	ok "rank $rank: a new file, a link, a deleted file; what the job made remains" test "$(sort names | xargs)" = "$want"
done

edit 30 'sys = __import__("sys"); os = __import__("os"); sys.exit(7 if os.environ["JOB_COMPLETION_INDEX"] == "1" else 0)'
rerun two
ok "the exit code is that of the rank that failed" exits 7
ok "... which is named" printed 'rank 1 ended with status 7'

edit 31 'import time; print("up", flush=True); time.sleep(300)'
timeout 60 "$kftrainer" rerun --local two >long 2>&1 &
long=$!
ok "a command that runs" wait_for grep -q '^up' long
edit 32
rerun two
ok "... is started again by another rerun" printed '^rank 0 edit 32'
wait $long
ok "... whose first one says so" eval '[ $? = 125 ] || grep -q "started again" long'
edit 33 'import time; print("up", flush=True); time.sleep(300)'
timeout 60 "$kftrainer" rerun --local two >long 2>&1 &
wait_for grep -q '^up' long
pkill -INT -P $! kftrainer
wait $!
ok "Ctrl-C ends the program" test $? = 130
alive() { [ "$(in_pod two --rank "$1" -- sh -c 'cat /proc/[0-9]*/cmdline' | tr '\0' ' ' | grep -c 'python3 train.py')" = 1 ]; }
ok "... not the command" alive 0

# ---- what is refused, or breaks ------------------------------------------------------------------------------
mkfifo in
timeout 60 "$kftrainer" exec --local two -i -- "$kftrainer" runtime rerun --dev /mnt/workspace <in >first 2>&1 &
exec 5>in
printf 'M\0\0\0\4d x\nB\0\0\0\0' >&5
ok "a session that has begun" wait_for test -s first
rerun two
ok "... a second one at the same time gets a line" one_line 'another rerun is in progress'
exec 5>&-
wait $!
ok "... the first one breaks: the command runs on" eval 'alive 0 && alive 1'
timeout 60 "$kftrainer" exec --local two -i -- "$kftrainer" runtime rerun --dev /mnt/workspace >first 2>&1 < <(printf 'M\0\0\0\7d ../x\nB\0\0\0\0'; sleep 3)
ok "a list that leaves the directory is refused" grep -aq '\.\./x' first
ok "... and changes nothing" eval 'alive 0 && alive 1'
truncate -s 257M code/large
rerun two
ok "a directory over the limit: one line" one_line 'more than 256 MiB, of which large has 257'
rm code/large
mkfifo code/fifo
rerun two
ok "a FIFO: one line" one_line 'fifo: .*cannot be packed'
rm code/fifo
ln -s /etc code/out
rerun two
ok "a link that leaves the directory: one line" one_line 'code/out: symbolic link to /etc may leave'
rm code/out
rerun two --workspace none
ok "a directory that is not there: one line" one_line '^kftrainer rerun: none: No such file'
rerun two --include x
ok "--include alone" exits 2
rerun twu
ok "no such job" one_line 'twu'

# A lost pod: its successor has the files of the submission, until the next rerun.
edit 40 'import time; print("up", flush=True); time.sleep(300)'
timeout 60 "$kftrainer" rerun --local two >long 2>&1 &
wait_for grep -q '^up' long
in_pod two --rank 1 -- sh -c 'for d in /proc/[0-9]*; do grep -aq "[r]untime.supervise" $d/cmdline && kill -9 ${d#/proc/}; done'
wait $!
code=$?
cp long out
ok "a pod is lost: the rerun says so" eval '[ $code = 125 ] && grep -Eq "rank [01] was lost|was lost" long'
edit 41
again() { rerun two && exits 0 && printed '^rank 0 edit 41'; }
ok "... the next one runs in its successor" wait_for again
ok "... with the files of today" eval 'logged two "rank 1 edit 41"'

"$kftrainer" submit --local --detach -q --supervise --name plain --runtime torch-distributed -- sleep 100 >/dev/null
rerun plain
ok "a job without --dev: one line" one_line 'was not submitted with --dev'
"$kftrainer" suspend --local two >/dev/null 2>&1
suspended() { rerun two && one_line 'is suspended'; }
ok "a suspended job: one line" wait_for suspended
echo 'print("script", 1)' >script.py
run timeout 100 "$kftrainer" submit --local --dev --idle 10s --detach --runtime jax-distributed --name script script.py --nodes 1
ok "a script needs no directory" exits 0
echo 'print("script", 2)' >script.py
rerun script
ok "... runs again" printed '^script 2'
run timeout 60 "$kftrainer" wait --local script
ok "without a rerun the job ends, and is complete" exits 0
rerun script
ok "a job that has ended: one line" one_line 'is Complete'
run "$kftrainer" submit --local --dev --runtime torch-distributed -- true
ok "--dev requires files" exits 2
run "$kftrainer" submit --local --idle 5m --runtime torch-distributed -- true
ok "--idle requires --dev" exits 2
"$kftrainer" delete --local two plain script >/dev/null 2>&1
finish
