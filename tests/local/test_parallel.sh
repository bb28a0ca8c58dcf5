#!/bin/bash
# Several jobs at once, one name twice, and GPUs that are split.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"

pids=()
for i in $(seq 10); do
	"$kftrainer" submit --local -q --name "port-$i" --runtime torch-distributed --nodes 2 -- \
		sh -c 'echo "$PET_MASTER_PORT $PET_MASTER_ADDR $(getent hosts $PET_MASTER_ADDR | cut -d" " -f1)"; sleep 1' >"port-$i.out" 2>&1 </dev/null &
	pids+=($!)
done
bad=0
for pid in "${pids[@]}"; do wait "$pid" || bad=$((bad + 1)); done
cat port-*.out >out
ok "10 jobs at once: all complete" test $bad = 0
ok "... each with a port of its own" test "$(awk '{ print $2 }' port-*.out | sort -u | wc -l)" = 10
ok "... and an address of its own" test "$(awk '{ print $4 }' port-*.out | sort -u | wc -l)" = 10
ok "... the same for both of its nodes" test "$(awk '{ print $2, $3, $4 }' port-*.out | sort -u | wc -l)" = 10
run "$kftrainer" get
ok "... get has all ten" lines 10 'port-[0-9]+ +Complete'

# Ten at once of one name: one runs, nine are told why not.
pids=()
for i in $(seq 10); do
	"$kftrainer" submit --local -q --name same --runtime torch-distributed -- sh -c 'echo mine; while [ ! -e over ]; do sleep 0.05; done' \
		>"same-$i.out" 2>&1 </dev/null &
	pids+=($!)
done
nine() { [ "$(grep -l 'already running' same-*.out | wc -l)" = 9 ]; }
ok "one name ten times at once: nine are refused" until_true nine
touch over
for pid in "${pids[@]}"; do
	wait "$pid"
	echo $?
done >codes
ok "... with exit code 1, and one completes" test "$(sort codes | tr '\n' ' ')" = "0 1 1 1 1 1 1 1 1 1 "
cat same-*.out >out
ok "... in one line each, that says what to do" lines 9 'same.*already running.*--name'
ok "... it ran once" lines 1 '^\[node-0\] mine$'

gpu() { # GPUS-OF-THE-CALLER NODES GPUS-A-NODE
	job gpu "$2" < <(node 'echo "gpus <$CUDA_VISIBLE_DEVICES>"; touch up-$JOB_COMPLETION_INDEX; while [ $(ls up-* | wc -l) -lt '"$2"' ]; do sleep 0.05; done' |
		sed "s|image: none,|image: none, resources: {limits: {nvidia.com/gpu: $3}},|")
	rm -f up-*
	CUDA_VISIBLE_DEVICES=$1 submit gpu
}
gpu 0,1,2,3 2 2
ok "4 GPUs, 2 nodes of 2: run side by side" exits 0
ok "... each has two" test "$(sed -n 's/.*gpus <\(.*\)>/\1/p' out | tr ',' '\n' | sort | tr '\n' ' ')" = "0 1 2 3 "
gpu GPU-aa,GPU-bb,7 3 1
ok "GPUs by name" test "$(sed -n 's/.*gpus <\(.*\)>/\1/p' out | sort | tr '\n' ' ')" = "7 GPU-aa GPU-bb "
gpu 0,1 1 4
ok "more GPUs than there are: refused before anything starts" exits 2
ok "... in one line that has both numbers" printed '4 nvidia.com/gpu.* has 2'
gpu "" 1 1
ok "none: refused" printed '1 nvidia.com/gpu.* has 0'
job gpu 3 < <(node 'mkdir "lock-$CUDA_VISIBLE_DEVICES" || exit 3; sleep 0.3; rmdir "lock-$CUDA_VISIBLE_DEVICES"' |
	sed "s|image: none,|image: none, resources: {limits: {nvidia.com/gpu: 1}},|")
CUDA_VISIBLE_DEVICES=0,1 submit gpu
ok "3 nodes, 2 GPUs: one waits its turn, none shares" exits 0
job gpu 1 < <(node 'echo "gpus <${CUDA_VISIBLE_DEVICES-unset}>"')
CUDA_VISIBLE_DEVICES=0,1 submit gpu
ok "a container that asks for none sees none" printed 'gpus <>'
ok "... which is said before the start" printed 'requests no nvidia.com/gpu'

# A run begins while `wait` reads the job: after it has checked whether a process runs the job, before it reads the newest run.
what="a run that begins while wait reads the job has not been killed"
if strace -o /dev/null true 2>/dev/null; then
	"$kftrainer" submit --local -q --name begins --runtime torch-distributed -- true
	strace -o calls -e trace=fcntl "$kftrainer" wait begins >/dev/null
	n=$(grep -n -m1 F_OFD_GETLK calls | cut -d: -f1)
	strace -o calls -e trace=fcntl -e inject="fcntl:signal=STOP:when=$n" "$kftrainer" wait begins >out 2>&1 &
	tracer=$!
	until_true grep -q 'stopped by SIGSTOP' calls
	pid=$(pgrep -P "$tracer")
	"$kftrainer" submit --local -q --name begins --runtime torch-distributed -- sh -c ': >begun; while [ ! -e ends ]; do sleep 0.05; done; exit 3' 2>/dev/null &
	until_true test -e begun
	kill -CONT "$pid"
	reads_on() { ! kill -0 "$tracer" || grep -q '^State:.S' "/proc/$pid/status"; }
	until_true reads_on
	: >ends
	wait "$tracer"
	status=$?
	ok "$what" exits 3
	wait
else
	skip "$what" "strace cannot trace here"
fi
finish
