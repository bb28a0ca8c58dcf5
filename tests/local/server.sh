# server.sh - for the tests of `controller --local`: lib.sh, kubectl, and a server of the test's own.
# shellcheck shell=bash
# shellcheck source=tests/local/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
programs=$(tests/cluster/programs.sh 2>"$scratch/programs") || {
	check "kubectl is built" eval 'cat "$scratch/programs"; false'
	finish
}
PATH=$programs/bin:$PATH
server=
at_exit 'down TERM'

# until_true COMMAND...: repeated; a job or a server that hangs is ended by the layer's limit.
until_true() { until "$@" >"$scratch/last" 2>&1; do sleep 0.1; done; }
up() {
	: >"$scratch/where"
	"$kftrainer" controller --local --data "$scratch/api" >"$scratch/where" 2>>"$scratch/log" &
	server=$!
	until_true test -s "$scratch/where"
	export KUBECONFIG=$scratch/api/kubeconfig
}
down() { # SIGNAL
	[ -z "$server" ] || kill -s "$1" "$server"
	wait $server 2>/dev/null
	server=
}
