# lib.sh - tests of the download engine: a server of files that breaks what it is told to.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
unset STORAGE_URI OUTPUT_PATH IGNORE_PATTERNS ACCESS_TOKEN HF_TOKEN http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
export NO_PROXY=127.0.0.1 no_proxy=127.0.0.1
web=$scratch/web log=$scratch/log faults=$scratch/faults
mkdir -p "$web"
servers=()
at_exit 'for s in "${servers[@]}"; do kill "$s" 2>/dev/null; done'

# serve NAME OPTION...: another server; its URL in $NAME.
serve() {
	local name=$1 ready=$scratch/ready.$1
	shift
	python3 tests/store/faulty.py --ready "$ready" --log "$log" --faults "$faults" "$@" &
	servers+=($!)
	for _ in $(seq 200); do
		[ ! -s "$ready" ] || break
		sleep 0.05
	done
	declare -g "$name=http://127.0.0.1:$(cat "$ready")"
}

break_it() { # LINE...: the faults from now on, and an empty log
	printf '%s\n' "$@" >"$faults.new"
	mv "$faults.new" "$faults"
	: >"$log"
}

fetch() { run initialize-dataset --to "$scratch/to" "$@"; }
clean() { rm -rf "$scratch/to"; }

# same PATH-IN-WEB [PATH-IN-TARGET]
same() { cmp "$web/$1" "$scratch/to/${2:-$1}"; }

# logged EXPRESSION: Python over the list `log` of answers, which the server writes behind the answer: it may come true.
logged() {
	python3 -c 'import json, sys, time
for _ in range(100):
    log = [json.loads(line) for line in open(sys.argv[1])]
    if eval(sys.argv[2]):
        sys.exit()
    time.sleep(0.1)
sys.exit("\n".join(map(str, log[-40:])))' "$log" "$1"
}

nothing_half() { # no file of the target but those of $web, none of them other than there
	local f
	while read -r f; do
		cmp "$web/$f" "$scratch/to/$f" || return 1
	done < <(cd "$scratch/to" 2>/dev/null && find . -name .kftrainer -prune -o -type f -print)
}

# fetches STATUS REGEX ARGUMENT...: from a clean target, ends so, says so, nothing is wrong there.
fetches() {
	local want=$1 like=$2
	shift 2
	clean
	fetch "$@"
	[ "$status" = "$want" ] && cat "$scratch/out" "$scratch/err" | grep -Eq -e "$like" &&
		nothing_half || dump
}
