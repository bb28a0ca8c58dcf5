#!/bin/bash
# What ranks write: all of it, in order, whatever it is; logs while a job runs and afterwards.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"

# Four pods that write 25,000 lines each as fast as they can.
job flood 4 < <(node 'for i in $(seq 25000); do echo "line $i of $JOB_COMPLETION_INDEX"; done')
timeout -k 10 600 python3 - "$kftrainer" >out 2>&1 <<'PY'
import os, resource, subprocess, sys
with open("flood.out", "wb") as out:
    code = subprocess.run([sys.argv[1], "submit", "--local", "flood.yaml"], stdout=out, stdin=subprocess.DEVNULL).returncode
want = [0, 0, 0, 0]
for line in open("flood.out"):
    words = line.split()
    rank = int(words[4])
    want[rank] += 1
    assert words == [f"[node-{rank}]", "line", str(want[rank]), "of", str(rank)], line
assert want == [25000] * 4, want
rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert rss < 20000, f"{rss} KiB"
sys.exit(code)
PY
ok "100,000 lines of 4 pods: each pod's whole and in order, in less than 20 MB" test $? = 0
run "$kftrainer" logs flood --rank 2
ok "... and so in the log" cmp out <(seq -f 'line %.0f of 2' 25000)
run "$kftrainer" logs flood --rank 3 --tail 2
ok "... its end" cmp out <(printf 'line %d of 3\n' 24999 25000)

# One rank fails, and the others because it is gone.
cat >raise.sh <<'S'
say() { # LINE ERROR...
	n=$1
	shift
	printf "[rank$JOB_COMPLETION_INDEX]: %s\n" 'Traceback (most recent call last):' "  File \"train.py\", line $n, in <module>" "$@"
	: >"said$JOB_COMPLETION_INDEX"
}
said() { until [ -e "said$1" ]; do sleep 0.1; done; }
if [ "$JOB_COMPLETION_INDEX" = 1 ]; then
	say 5 'AssertionError'
	said 0
	said 2
	exit 1
fi
said 1
say 7 'torch.distributed.DistNetworkError: failed to recv, got 0 bytes' \
	'Exception raised from recvBytes at Utils.hpp:675 (most recent call first):' 'frame #0: c10::Error' ''
sleep infinity
S
job lost 3 < <(node "cd $scratch; . ./raise.sh")
run "$kftrainer" submit --local lost.yaml
traceback=$'\n      File "train.py", line 5, in <module>\n    AssertionError'
ok "a rank fails, others lose it: its traceback is the only one" test "$(grep -c 'Traceback' out)" = 1
ok "... of the others, a line says why they ended" test "$(grep -c '^\[node-[02]\] \[rank[02]\]: torch.*got 0 bytes (traceback folded' out)" = 2
ok "... and its own is last" grep -Fzq "traceback of rank1:$traceback" out
run "$kftrainer" logs lost
ok "logs: likewise" test "$(grep -c Traceback out) $(grep -c 'traceback folded' out)" = "1 2"
ok "... and its own is last" grep -Fzq "traceback of node-1:$traceback" out
run "$kftrainer" logs lost --raw
ok "logs --raw: all" test "$(grep -c Traceback out) $(grep -c 'traceback' out)" = "3 0"
run "$kftrainer" logs lost --timestamps
ok "logs --timestamps: all" test "$(grep -c Traceback out) $(grep -c 'traceback' out)" = "3 0"
run "$kftrainer" why lost
ok "why names its error" printed 'node-1 .*its log says "\[rank1\]: AssertionError"'

# Two have errors of their own: the first one in time, though logs have node-0's before it. Its time is that of reading it.
rm said?
sed -i 's#^said 1$#&; until "'"$kftrainer"'" logs lost2 --rank 1 | grep -q Assertion; do sleep 0.1; done; [ "$JOB_COMPLETION_INDEX" = 2 ] || { say 9 "KeyError: 1"; sleep infinity; }#' raise.sh
job lost2 3 < <(node "cd $scratch; . ./raise.sh")
submit lost2
run "$kftrainer" logs lost2
ok "logs: the first of two errors is last" eval 'in_order "[node-0] [rank0]: KeyError: 1" "[node-1] [rank1]: AssertionError" &&
	grep -Fzq "traceback of node-1:$traceback" out'

# CPU, not time: of ours and of sed, which does the least that can be done with each line.
seq -f 'step %.0f loss 0.1234' 2000000 >many
job much 1 < <(node 'cat many')
python3 - "$kftrainer" >out 2>&1 <<'PY'
import os, resource, subprocess, sys
def cpu(*argv):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open("prefixed", "wb") as out, open("/dev/null", "wb") as null:
        assert subprocess.run(argv, stdin=open("many"), stdout=out, stderr=null).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
sed = cpu("sed", "s/^/[node-0] /")
ours = cpu(sys.argv[1], "submit", "--local", "much.yaml")
print(f"ours {ours:.2f} s, sed {sed:.2f} s")
assert ours < 4 * sed, "too much"
PY
ok "2,000,000 lines: less than four times the CPU of sed" test $? = 0

# 300 MB of lines of 100 bytes: to stdout and into the log; no memory that grows.
job large 1 < <(node 'yes "$(printf "%099d" 7)" | head -n 3000000')
python3 - "$kftrainer" >out 2>&1 <<'PY'
import resource, subprocess, sys
with subprocess.Popen([sys.argv[1], "submit", "--local", "large.yaml"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                      stdin=subprocess.DEVNULL) as p:
    size = lines = 0
    while data := p.stdout.read(1 << 20):
        size, lines = size + len(data), lines + data.count(b"\n")
assert (p.returncode, lines, size) == (0, 3000000, 3000000 * len("[node-0] " + 100 * "x")), (p.returncode, lines, size)
rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert rss < 20000, f"{rss} KiB"
PY
ok "300 MB of output: complete, in less than 20 MB" test $? = 0
ok "... and so is the log" test "$(find "$XDG_STATE_HOME/kftrainer/jobs/default/large/" -name '*.log' -size +1M -exec cat {} + | wc -c)" = 300000000
run "$kftrainer" delete large

job odd 1 < <(node 'head -c 500000 /dev/zero | tr "\0" x; echo; printf "\001\0\377\200 \033[31mred\r\n"; printf "no newline at the end"; printf "err without end" >&2')
"$kftrainer" submit --local -q odd.yaml >odd.out 2>&1 </dev/null
ok "a line of 500 KB, bytes that are no text, no newline: the job is complete" test $? = 0
cp odd.out out
printf '\001\0\377\200 \033[31mred\n' >binary
ok "... the long line is cut at 64 KB, which it says" test "$(grep -aoE 'x+ \.\.\. \[line truncated\]$' odd.out | wc -c)" = $((65536 + 22))
ok "... what follows the long line is there" python3 -c 'import sys; d = open("odd.out", "rb").read(); b = open("binary", "rb").read()
assert b"[node-0] " + b in d, d[-200:]; assert b"[node-0] no newline at the end" in d; assert d[-1:] == b"\n", d[-50:]'
"$kftrainer" logs odd >odd.log
ok "... so are logs" python3 -c 'd = open("odd.log", "rb").read(); b = open("binary", "rb").read()
assert d.startswith(b"x" * 500000 + b"\n" + b), len(d); assert d.rstrip(b"\n").endswith(b"no newline at the enderr without end"), d[-60:]'
"$kftrainer" logs odd --raw >odd.log
ok "... logs --raw have every byte" python3 -c 'd = open("odd.log", "rb").read(); b = open("binary", "rb").read()[:-1] + b"\r\n"
assert d.startswith(b"x" * 500000 + b"\n" + b), len(d); assert d.rstrip(b"\n").endswith(b"no newline at the enderr without end"), d[-60:]'

# Progress bars where no terminal is: a line every 3 s, the final state once, and all of them in the raw log.
job bar 2 < <(node 'for i in $(seq 70); do printf "\r%d of 70   " $i >&2; sleep 0.1; done; echo >&2; echo after; printf "\r1\r2"; echo $SECONDS >bar-$JOB_COMPLETION_INDEX')
"$kftrainer" submit --local bar.yaml >bar.out 2>&1 </dev/null
cp bar.out out
ok "a bar of 7 s: some states" test "$(grep -Ec '^\[node-0\] [1-6][0-9] of 70   $' out)" -ge 1
ok "... few" test "$(grep -Ec '^\[node-0\] [0-9]+ of 70' out)" -le $((2 + $(cat bar-0) / 3))
ok "... the final one once, then what follows" in_order "[node-1] 70 of 70   " "[node-1] after" "[node-1] 2"
ok "... no carriage return" not_printed "$(printf '\r')"
run "$kftrainer" logs bar --rank 1
ok "logs: the final state" cmp out <(printf '70 of 70   \nafter\n2\n')
"$kftrainer" logs bar --rank 1 --raw >out
ok "logs --raw: all states" cmp out <(for i in $(seq 70); do printf '\r%d of 70   ' "$i"; done; printf '\nafter\n\r1\r2\n')
run "$kftrainer" logs bar --rank 1 --timestamps
ok "logs --timestamps: each line has its time" lines 3 '^[0-9T:.-]+Z (70 of 70   |after|2)$'

# A bar that never ends its line: no memory that grows.
job states 1 < <(node 'yes "$(printf "%099d" 7)" | head -n 2000000 | tr "\n" "\r"; exit 3')
python3 - "$kftrainer" >out 2>&1 <<'PY'
import resource, subprocess, sys
for command in (["submit", "--local", "states.yaml"], ["logs", "states"]):
    p = subprocess.run([sys.argv[1], *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert len(p.stdout) < 10000 and b"0007\n" in p.stdout and b"\r" not in p.stdout, p
    assert command[0] == "logs" or b"last line:\n    " + 98 * b"0" + b"7\n" in p.stderr, p.stderr
rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert rss < 20000, f"{rss} KiB"
PY
ok "200 MB of carriage returns: one line, in less than 20 MB" test $? = 0
run "$kftrainer" delete states

# While it runs, and its containers one by one.
job slow 2 < <(node 'echo "begin $JOB_COMPLETION_INDEX"; while [ ! -e over ]; do sleep 0.05; done; seq 5; printf "end $JOB_COMPLETION_INDEX"' \
	'initContainers: [{name: prepare, image: none, command: [echo, prepared]}, {name: beside, image: none, restartPolicy: Always, command: [bash, -c, "echo beside; exec sleep 1000"]}]')
"$kftrainer" submit --local slow.yaml >slow.out 2>&1 </dev/null &
slow=$!
begun() { [ "$("$kftrainer" logs slow | grep -c begin)" = 2 ]; }
ok "logs while it runs" until_true begun
run "$kftrainer" get slow
ok "get while it runs" printed '^slow +Running '
"$kftrainer" logs -f slow >follow.all 2>&1 &
all=$!
"$kftrainer" logs -f slow --rank 1 --container node --tail 1 >follow.one 2>&1 &
one=$!
run "$kftrainer" logs slow --container prepare
ok "logs of an init container" lines 2 '^\[node-[01]/prepare\] prepared$'
run "$kftrainer" logs slow --container beside --rank 0
ok "logs of a sidecar of one rank" cmp out <(echo beside)
run "$kftrainer" logs slow --container no-such
ok "logs of a container that is not there" exits 1
until_true test -s follow.one
touch over
wait $slow
ok "the job is complete" test $? = 0
wait $all
ok "logs -f ends with the job" test $? = 0
wait $one
ok "... and that of one rank" test $? = 0
cp follow.all out
ok "... it has each line once" test "$(grep -Ec 'begin|end|\] +[1-5]$' out)" = 14
ok "... each rank's in order" in_order "[node-1] begin 1" "[node-1] 1" "[node-1] 2" "[node-1] 3" "[node-1] 4" "[node-1] 5" "[node-1] end 1"
cp follow.one out
ok "... and --rank's from where --tail says" cmp out <(printf 'begin 1\n1\n2\n3\n4\n5\nend 1\n')
run "$kftrainer" logs -f slow --rank 0 --container node
ok "logs -f afterwards: all of it, and it ends" lines 1 '^end 0$'

# History: a name's last run is what is shown, and the runs before are kept.
for i in 1 2 3; do
	job again 1 < <(node "echo run number $i; exit $((i % 2))")
	submit again
done
run "$kftrainer" logs again
ok "logs show the last run" cmp out <(echo "run number 3")
run "$kftrainer" get again
ok "get shows the last run, once" lines 1 '^again +Failed '
ok "the runs before are kept" test "$(grep -rl --include='*.log' 'run number [12]' "$XDG_STATE_HOME" | wc -l)" = 2
ok "logs are nobody else's to read" test -z "$(find "$XDG_STATE_HOME/kftrainer" -name '*.log' -perm /077)"

# What ends a pod's lines and is folded comes before the next pod's.
job banner 2 < <(node "echo begin; echo 'W1127 05:00:00.000000 1 torch/distributed/run.py:803] *****************************************'")
"$kftrainer" submit --local banner.yaml >out 2>&1 </dev/null
run "$kftrainer" logs banner
ok "logs: what is folded stays with its pod" cmp out <(for i in 0 1; do
	printf '[node-%s] begin\n[node-%s] PyTorch: 1 line folded, see '"'kftrainer logs --raw --local banner -n default'"'\n' $i $i
done)

# A compiler in a pod that writes nothing, as DeepSpeed's of its Adam; the sign is found by the process's name.
printf '#!/bin/sh\nuntil [ -e "$1" ]; do sleep 0.1; done\n' >cc1plus
chmod +x cc1plus
job compiles 1 < <(node "./cc1plus compiled cpu_adam.cpp; exit 0")
"$kftrainer" submit --local compiles.yaml >compiling 2>&1 </dev/null &
until grep -q 'node-0 is compiling' compiling || ! kill -0 $! 2>>/dev/null; do sleep 0.2; done
touch compiled
wait $!
cp compiling out
ok "a compiler that is waited for is named, once" test "$(grep -Ecx 'node-0 is compiling \(cpu_adam.cpp\) and has printed nothing for [0-9]+s; what it compiles is kept for the next run' out)" = 1

# Readers that are not there.
job unread 1 < <(node 'seq 100; touch went-on')
"$kftrainer" submit --local unread.yaml >&- 2>out </dev/null
ok "stdout closed: the job is complete" test $? = 0
rm -f went-on
"$kftrainer" submit --local unread.yaml >&- 2>&- <&-
ok "all three closed: the job is complete" test "$?-$(ls went-on)" = 0-went-on
run "$kftrainer" logs unread
ok "... its log is its own output only" cmp out <(seq 100)
"$kftrainer" submit --local unread.yaml >/dev/full 2>out </dev/null
ok "stdout on a full disk: the job is complete" test $? = 0
"$kftrainer" logs flood 2>err | head -1 >/dev/null
cp err out
ok "logs whose reader goes away: nothing to complain" test ! -s err
finish
