# stacks.sh - for the tests of what people train with today: jobs.sh, and the environment of tests/setup.sh stack first in PATH.
# shellcheck shell=bash disable=SC1091,SC2034,SC2154
. "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"
stacks=$OLDPWD/tests/local/stacks
stack_venv "$OLDPWD/tests/setup.sh"
export PATH=$venv/bin:$PATH HF_HUB_OFFLINE=1 DS_ACCELERATOR=cpu KUBECONFIG='' HOME=$scratch

# of LABEL FILE: the numbers of its line "LABEL NUMBER...", which may have a pod's prefix
of() { sed -nE "s/^(\[[^ ]+\] +)?$1 ([-0-9. e]+)$/\2/p" "$2"; }
# equal LABEL FILE OTHER TOLERANCE: both have such a line, with as many numbers, which differ by no more
equal() {
	paste -d ' ' <(of "$1" "$2" | tr -s ' ' '\n') <(of "$1" "$3" | tr -s ' ' '\n') | awk -v most="$4" '
		NF != 2 || $1 - $2 > most || $2 - $1 > most { bad = 1 }
		END { exit bad || !NR }'
}
