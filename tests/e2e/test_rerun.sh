#!/bin/bash
# `submit --dev` and `rerun` against real kubelets: in pods with a random user, a root that cannot be written, and
# no capability.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
strict_runtime
on_cluster() { in_cluster env KUBECONFIG="$cluster_state/admin.kubeconfig" timeout 120 "$kftrainer" "$@"; }
submit() { on_cluster submit -n $ns --runtime strict "$@" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }; }
rerun() { on_cluster rerun -n $ns "$@" >"$scratch/out" 2>&1 </dev/null; }
exits() { # CODE LIKE JOB [ARGUMENT...]
	local want=$1 like=$2 got
	shift 2
	rerun "$@"
	got=$?
	[ $got = "$want" ] && tr '\n' ' ' <"$scratch/out" | grep -qE -e "$like" && return
	echo "exit code $got, expected $want and /$like/"
	head -c 2000 "$scratch/out"
	return 1
}
one_line() { exits 125 "$@" && [ "$(wc -l <"$scratch/out")" = 1 ] || { cat "$scratch/out"; return 1; }; }
uids() { pods "$1" '{.items[*].metadata.uid}'; }

# ---- the loop ------------------------------------------------------------------------------------------------
code=$scratch/code
mkdir -p "$code"
seq 299 | while read -r i; do echo "$i" >"$code/file$i"; done
edit() { # N COMMAND...
	echo "echo \"rank \$JOB_COMPLETION_INDEX edit $1 user \$(id -u) \$*\"; $2" >"$code/train.sh"
}
edit 0 true
check "a job in development" submit --name dev --dev --idle 10m --workspace "$code" --nodes 2 -- bash train.sh first
ended() { k logs dev-node-0-0-"$1" -c node 2>/dev/null | grep -q "waiting for 'kftrainer rerun'"; }
name() { pods dev | tr ' ' '\n' | grep -- "node-0-$1-"; }
waits() { k logs "$(name 0)" -c node | grep -q "waiting for 'kftrainer rerun'"; }
check "... runs, and waits" wait_for 120 waits
check "... on two nodes" eval '[ "$(pods dev "{.items[*].spec.nodeName}" | tr " " "\n" | sort -u | wc -l)" = 2 ]'
before=$(uids dev)
edits() {
	local i
	for i in $(seq 1 20); do
		edit "$i" true
		[ "$i" = 7 ] && echo 'if' >"$code/train.sh"
		if [ "$i" = 7 ]; then
			exits 2 'syntax error' dev || return 1
		else
			exits 0 "1 of 300 files sent .*rank 0 edit $i user 1234567 first" dev || return 1
		fi
	done
}
begun=$(date +%s%N)
check "20 edits in a row, one with a syntax error" edits
echo "# $((($(date +%s%N) - begun) / 20000000)) ms for each rerun, from its start to its end"
check "... each ran on both ranks" eval '[ "$(k logs "$(name 0)" -c node | grep -c "rank 0 edit") $(k logs "$(name 1)" -c node | grep -c "rank 1 edit")" = "20 20" ]'
check "... in the same pods" eval '[ "$before" = "$(uids dev)" ]'
check "arguments are appended" exits 0 'edit 20 user 1234567 first --lr 1' dev -- --lr 1
edit 21 '[ $JOB_COMPLETION_INDEX = 0 ] || exit 9'
check "the exit code of the rank that failed" exits 9 'rank 1 ended with status 9' dev
edit 22 'seq 400000'
check "much output, to its end" eval 'rerun dev && [ "$(tail -n 1 "$scratch/out")" = 400000 ] && [ "$(wc -l <"$scratch/out")" = 400002 ]'
check "exec works there, too" eval '[ "$(on_cluster exec -n $ns dev -- id -u)" = 1234567 ]'

# ---- lost connections ----------------------------------------------------------------------------------------
edit 23 'echo up; sleep 300'
following() { # a rerun in the background that follows
	"${inside[@]}" env KUBECONFIG="$cluster_state/admin.kubeconfig" "$kftrainer" rerun -n $ns dev >"$scratch/up" 2>&1 &
	follower=$!
	wait_for 30 grep -q '^up' "$scratch/up"
}
check "a rerun follows" following
kill -9 $follower
running() { [ "$(on_cluster exec -n $ns dev --rank "$1" -- sh -c 'cat /proc/[0-9]*/cmdline' | tr '\0' ' ' | grep -c 'sleep 300')" = 1 ]; }
check "its connection breaks: the command runs on" eval 'running 0 && running 1'
no_session() { ! on_cluster exec -n $ns dev -- sh -c 'cat /proc/[0-9]*/cmdline' | tr '\0' ' ' | grep -q 'runtime rerun'; }
check "... and no session remains" wait_for 30 no_session
half() { # a session that breaks in the middle of the list
	(printf 'M\0\0\0\4d xx'; sleep 1) | on_cluster exec -n $ns dev -i -- /opt/kftrainer/kftrainer runtime rerun --dev /mnt/workspace >/dev/null 2>&1
	running 0 && running 1
}
check "one that breaks before all has arrived: the command runs on" half
edit 24 true
check "... and the next rerun is not kept waiting" exits 0 'rank 0 edit 24' dev

# ---- from the page of ui -------------------------------------------------------------------------------------
page_rerun() {
	"${inside[@]}" env KUBECONFIG="$cluster_state/admin.kubeconfig" timeout 120 python3 - "$kftrainer" "$ns" <<-'END'
		import http.client, re, subprocess, sys, urllib.parse
		page = subprocess.Popen([sys.argv[1], "ui", "-n", sys.argv[2]], stdout=subprocess.PIPE, text=True)
		origin, token = page.stdout.readline().strip().split("/?")
		headers, path = {}, f"/jobs/{sys.argv[2]}/dev/rerun"
		def ask(method, path, body=None):
		    c = http.client.HTTPConnection(origin.removeprefix("http://"))
		    c.request(method, path, body, headers)
		    answer = c.getresponse()
		    return answer, answer.read().decode()
		headers = {"Cookie": ask("GET", "/?" + token)[0].getheader("Set-Cookie").split(";")[0], "Origin": origin}
		form = re.findall(r'name="(csrf|uid)" value="([^"]*)"', ask("GET", path)[1])
		answer, text = ask("POST", path, urllib.parse.urlencode(form))
		page.terminate()
		sys.exit(answer.status != 303 and text)
	END
}
edit 24 'echo page; sleep 300'
check "a rerun from the page of ui" page_rerun
check "... the command runs on" eval 'wait_for 60 running 0 && wait_for 60 running 1'
check "... and no session remains" wait_for 30 no_session
edit 24 true

# ---- rights --------------------------------------------------------------------------------------------------
make_user "$scratch/user"
allow_exec ''
check "without the right: one line that names it" one_line 'may not (get|create) pods/exec in namespace' dev --kubeconfig "$scratch/user"
allow_exec 'get, create'
check "with it" wait_for 20 exits 0 'rank 0 edit 24' dev --kubeconfig "$scratch/user"

# ---- a lost pod, the end -------------------------------------------------------------------------------------
edit 25 true
rerun dev
k delete pod "$(name 0)" --grace-period=0 --force >/dev/null 2>&1
again() { exits 0 'rank 0 edit 26' dev; }
edit 26 true
check "rank 0's pod is lost: a rerun runs in its successor, with the files of today" wait_for 120 again
check "... and on rank 1" eval 'k logs "$(name 1)" -c node | grep -q "rank 1 edit 26"'
k delete trainjob dev --wait=false >/dev/null
check "a job that ends after its idle time" submit --name short --dev --idle 2s --workspace "$code" --nodes 1 -- bash train.sh
check "... is complete" becomes short Complete

k delete trainjobs --all --wait=false >/dev/null
finish
