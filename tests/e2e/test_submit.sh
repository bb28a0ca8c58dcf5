#!/bin/bash
# `kftrainer submit` and real pods: what --follow shows, exit codes, code that travels.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
cluster kubeconfig "$scratch/admin" admin system:masters

# shellcheck source=tests/said.sh
. tests/said.sh
submits() {
	in_cluster timeout 600 "$kftrainer" submit --kubeconfig "$scratch/admin" -n $ns "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
}
runner=submits
file() { # NAME SPEC
	printf '%s\n' 'apiVersion: trainer.kubeflow.org/v1alpha1' 'kind: TrainJob' "metadata: {name: $1}" "spec: $2" >"$scratch/$1.yaml"
	echo "$scratch/$1.yaml"
}
runtime plain 0 | sed '$d' | k apply -f - >/dev/null
cat >"$scratch/runtimes.yaml" <<<"$(runtime nonroot 0 | sed '$d' | sed 's|containers: .*|securityContext: {runAsUser: 1234}\n                containers: [{name: node, image: '$image', workingDir: /usr, securityContext: {readOnlyRootFilesystem: true}}]|')"
k apply -f "$scratch/runtimes.yaml" >/dev/null

check "a job is followed to its end" says 0 '^well: .*complete.* in ' "$(file well "$(sh 2 'echo line of $JOB_COMPLETION_INDEX; sleep 3')")" --follow
check "... its phases" also '^running$'
check "... the lines of node 0" also '^\[node-0\] line of 0$'
check "... and of node 1" also '^\[node-1\] line of 1$'
once() { [ "$(grep -c 'line of' "$scratch/out")" = 2 ] || dump; }
check "... each once" once
check "--wait has the exit code of the rank that failed first" says 7 'failed in .*, exit code 7' \
	"$(file bad "$(sh 2 'sleep 2; [ $JOB_COMPLETION_INDEX = 0 ] && sleep 30; exit 7')")" --wait
check "... and says which" also '^node-1 \(node rank 1\): container node: exit code 7 on n[12]'
check "a signal is 128 and its number" says 137 'exit code 137' "$(file killed "$(sh 1 'sleep 99 & kill -9 $!; wait $!')")" --wait
check "an image that cannot be pulled is reported, and the time is over" says 124 'node-0 .*: container node: image kft.local/absent:1: ' \
	"$(file noimage "$(sh 1 true 'image: "kft.local/absent:1"')")" --follow --timeout 8s
told_once() { [ "$(grep -c 'kft.local/absent' "$scratch/err")" = 1 ] || dump; }
check "... once" told_once
{ cat "$(file two "$(sh 1 'sleep 3')")"; echo ---; cat "$(file three "$(sh 1 'exit 3')")"; } >"$scratch/both.yaml"
check "--wait for two jobs: the exit code of the one that failed" says 3 '^two: .*complete' "$scratch/both.yaml" --wait
check "... which is said of it" also '^three: .*failed.*, exit code 3'
check "a report of progress is shown" says 0 '^running: 40 %' "$(file reports "$(sh 1 "python3 /e2e/report.py 40; sleep 4")")" --follow

# An interrupt ends what watches, not the job.
: >"$scratch/err" # of the job before
(submits "$(file goeson "$(sh 1 "$until_go")")" --follow; echo "$status" >"$scratch/ended") &
check "it runs" wait_for 60 grep -qx running "$scratch/err"
pid=$(pgrep -f "^$kftrainer submit .*$scratch/goeson.yaml --follow" | head -n 1)
kill -INT "$pid"
check "an interrupt ends the watching" wait_for 20 grep -qx 130 "$scratch/ended"
check "... and says how to go on" grep -q "interrupted: TrainJob goeson keeps running; follow it with 'kftrainer logs -f --kubeconfig $scratch/admin goeson -n $ns'" "$scratch/err"
check "... the job goes on" run goeson 1
check "... to its end" go goeson
check "... really" becomes goeson Complete

# ---- code ----------------------------------------------------------------------------------------
# What shells, the kubelet's $(...), printf, YAML and JSON would each spoil; no newline at the end.
cat >"$scratch/traps.py" <<'P'
#!/usr/bin/env python3
import hashlib, os, sys
data = open(__file__, "rb").read()
# One write: the ranks of a node share its output, and torchrun starts them unbuffered.
sys.stdout.write(f"""sum {hashlib.sha256(data).hexdigest()}
args {sys.argv[1:]}
uid {os.getuid()} cwd {os.getcwd()} {os.getcwd() in sys.path}
""")
HOME = "$HOME ${HOME} $(whoami) `id` $$ $$(POD_IP) $(HOSTNAME) ${5} !! \\d \\\\ %s %% \t * ? ~"
EOM = '''
EOM
EOF
'"quotes"' "it's"
'''  # ä 漢 🚀
P
printf 'x = "a"\r\n\r\n\x0c# \x01 end $(' >>"$scratch/traps.py"
sum=$(sha256sum <"$scratch/traps.py" | cut -d ' ' -f 1)
code() { says 0 complete "$scratch/$1.py" --runtime "$2" --name "$3" "${@:4}" && also "sum $(sha256sum <"$scratch/$1.py" | cut -d ' ' -f 1)"; }
kc apply -f - >/dev/null <<<"$( (runtime code 0; runtime codetorch 0 torch) | sed 's/kind: TrainingRuntime/kind: ClusterTrainingRuntime/; $d')"
check "code arrives as it is" code traps code traps --follow -- 'a b' '$(HOSTNAME)' '$x' ''
check "... its arguments, too" also "args \['a b', '\\$\(HOSTNAME\)', '\\\$x', ''\]"
check "... which is checked against this" also "sum $sum"
check "... by torchrun on two nodes" code traps codetorch torch --nodes 2 --nproc-per-node 2 -e OMP_NUM_THREADS=1 --follow
four() { [ "$(grep -c "sum $sum" "$scratch/out")" = 4 ] || dump; }
check "... on each of its ranks" four
{ cat "$scratch/traps.py"; echo; head -c 200000 /dev/urandom | base64 -w 0 | sed 's/^/# /'; } >"$scratch/big.py"
check "260 KiB of it" code big code big --follow
kc apply -f - >/dev/null <<<"$(sed 's/kind: TrainingRuntime/kind: ClusterTrainingRuntime/' "$scratch/runtimes.yaml")"
check "where only /dev/shm is writable, as an ordinary user" code traps nonroot nonroot --follow
check "... is this program" also 'uid 1234 cwd /usr True'
finish
