#!/bin/bash
# tests/run.sh LAYER PROGRAM...
#
# Runs test programs that speak TAP (cmocka's do when asked to, so do the shell
# tests). Under `make check`, which names a file in RESULTS, a line for each test is
# appended to it for tests/tally.sh:
#
#   ok|not ok|skip LAYER PROGRAM: TEST
#
# A program may run several groups, each with a plan of its own. One that dies, or
# runs other than as many tests as its plans announce, counts as a failed test. What
# a program printed is shown when something in it failed, but for what passed. Where TAP cannot
# hold why a test is skipped (cmocka's) a line "# skip: WHY" before it says so.
# Programs run one after another, or LANES at a time, those named first first; each finds in LANE which of
# them it has, from 1, and no other has that meanwhile. While more than BUSY (default 6) processes for each
# processor can run, one at a time starts: on a slow machine more of them would only wait until they fail.
# One that runs for
# longer than LIMIT seconds (default 900) is ended and counts as a failed test: a hang is
# not waited for. How long each took, and its CPU time, goes to RESULTS, too: as root, where there is
# a hierarchy of control groups for it, that of all its processes (but of pods in tests/e2e), else of
# those that it waited for. A line "# before: COMMAND" of a program names what must be there first, because
# another layer may still build it: neither the limit nor the times include that.
#
#   time SECONDS CPU-SECONDS LAYER PROGRAM
#
# With AGAIN=N, up to N programs that failed or hung run once more when all others have ended; with more, none
# does. A machine that stands still for a while makes several fail, and hang in what follows. The first output is shown anyway, and what failed in it, but
# not the second time, is a line `again` in RESULTS: a race, which tests/tally.sh shows and allows few of.
#
#   again LAYER PROGRAM: TEST
#
# After KFT_BEGIN_BY (seconds since 1970) no program starts: each is a test that was skipped, but for what failed
# and would run once more: it has failed.
#
# Programs run in a clean environment (clean(), below).
#
# What programs start as python3 is Debian's: a version manager's, if one comes first in PATH, is a script
# that takes 0.15 s of CPU time before it starts another, and tests start thousands.
#
# The status is 1 if anything failed, or if there was no test at all.
set -uo pipefail
layer=$1
shift
results=${RESULTS:-/dev/null}
TIMEFORMAT='%1U %1S'
[ ! -x /usr/bin/python3 ] || [ "$(command -v python3)" = /usr/bin/python3 ] || PATH=/usr/bin:$PATH
lanes=${LANES:-1} limit=${LIMIT:-900}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export CMOCKA_MESSAGE_OUTPUT=TAP ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}

# TAP in, result lines out; the program's exit status in `status`.
tests_of() { # NAME STATUS
	awk -v layer="$layer" -v name="$1" -v status="$2" -v limit="$limit" '
	function line(word, test) { print word " " layer " " name (test == "" ? "" : ": " test) }
	/^# skip: / { why = " (" substr($0, 9) ")" }
	/^1\.\.[0-9]+/ { plan += substr($1, 4); planned = 1 }
	/^(not )?ok( |$)/ {
		word = /^not/ ? "not ok" : "ok"
		test = $0
		sub(/^(not )?ok *[0-9]* *(- *)?/, "", test)
		if (test ~ /# *[Ss][Kk][Ii][Pp]/) {
			word = "skip"
			sub(/ *# *[Ss][Kk][Ii][Pp] */, " ", test)
			sub(/^ +/, "", test)
			test = test why
		}
		why = ""
		ran++
		if (word == "not ok") bad++
		line(word, test)
	}
	END {
		if (status == 124) line("not ok", "did not end within " limit " s")
		else if (!planned) line("not ok", "ended with status " status " before it said how many tests it has")
		else if (ran != plan) line("not ok", "ended with status " status " after " ran + 0 " of " plan " tests")
		else if (status != 0 && !bad) line("not ok", "ended with status " status)
	}'
}

# ---- CPU time: of all that runs in a lane, a shared cluster of tests/shared.sh among it ------------
accounts=/sys/fs/cgroup/cpuacct/kft-run-
account() { # enters the lane's group; without one there is none
	local group=$accounts$$-$LANE
	mkdir -p "$group" 2>/dev/null && echo "$BASHPID" 2>/dev/null >"$group/cgroup.procs"
}
used() { cat "$accounts$$-$LANE/cpuacct.usage" 2>/dev/null || echo 0; } # nanoseconds
forget_accounts() { # of runs that have ended; a cluster that goes on keeps its group
	local group pid
	for group in "$accounts"*; do
		pid=${group#"$accounts"}
		[ "${pid%-*}" != $$ ] && [ -e "/proc/${pid%-*}" ] || rmdir "$group" 2>/dev/null
	done
}

name_of() { # PROGRAM
	local name=${1#build/*/}
	name=${name#tests/}
	echo "${name#"$layer"/}"
}

# A program's environment: who and where we are, how to reach the network, and the settings of tests. What
# programs of users read (PYTHONUNBUFFERED, OMP_NUM_THREADS, FORCE_COLOR, ...) would hide faults.
clean() { # COMMAND...
	local name kept=()
	for name in $(compgen -e); do
		case $name in
		PATH | HOME | USER | LOGNAME | SHELL | TERM | LANG | LC_* | TZ | TMPDIR | XDG_CACHE_HOME | DEBIAN_FRONTEND) ;;
		*_proxy | *_PROXY | *SSL_* | *_CA_BUNDLE | *_CERT | *_CERTS | *_CERTS_FILE | *_ROOTS_FILE_PATH | PIP_* | GO* | CARGO_* | RUSTUP_* | npm_*) ;;
		KFT* | CMOCKA_* | *SAN_OPTIONS | LANE | LANES | RESULTS | V | ROOM | SEED | SHORT | ROUNDS | REPEAT | SIZE | DUMP) ;;
		SOAK_* | FAULTS_* | SDK_* | TORCHTUNE_ALL | MPI | JOBS | AT_ONCE | FUZZTIME | MAKE* | PYTHONDONTWRITEBYTECODE) ;;
		*) continue ;;
		esac
		kept+=("$name=${!name}")
	done
	env -i "${kept[@]}" "$@"
}

cpu_time() { awk -v all="$1" 'END { print all ? sprintf("%.1f", all / 1e9) : $1 + $2 }'; } # NANOSECONDS

before() { # PROGRAM: what it prints is not shown: a program whose needs are not met says so itself
	local command
	command=$(sed -n 's/^# before: //p; 20q' "$1" 2>/dev/null)
	[ -z "$command" ] || eval "$command" >/dev/null 2>&1 </dev/null
}

# Runs in the background: its output, results and time go to files of its number.
run() { # NUMBER PROGRAM, in $LANE
	local name path=$2 begin status took used_before
	name=$(name_of "$2")
	[[ $path = /* ]] || path=./$path
	before "$path"
	begin=${EPOCHREALTIME/[.,]/}
	account
	used_before=$(used)
	{ time clean timeout --kill-after=60 "$limit" "$path" >"$out/$1" 2>&1 </dev/null; } 2>"$out/$1.cpu"
	status=$?
	tests_of "$name" $status <"$out/$1" >"$out/$1.tests"
	took=$(((${EPOCHREALTIME/[.,]/} - begin) / 100000))
	echo "time $((took / 10)).$((took % 10)) $(cpu_time $(($(used) - used_before)) <"$out/$1.cpu") $layer $name" >>"$out/$1.tests"
}

keep() { tee -a "$out/tests" <"$1" >>"$results"; } # FILE
report() { # NUMBER PROGRAM
	local name hung
	name=$(name_of "$2")
	hung=$(grep '^not ok .*: did not end within ' "$out/$1.tests")
	if grep -q '^not ok ' "$out/$1.tests"; then
		failed_programs+=("$2")
		cp "$out/$1.tests" "$out/failed.${#failed_programs[@]}"
	else
		keep "$out/$1.tests"
	fi
	if grep -q '^not ok ' "$out/$1.tests"; then
		printf '  FAIL  %s\n' "$name"
		# What passed before tells where it hung.
		grep -v "$([ -n "$hung" ] && echo '^$' || echo '^ok ')" "$out/$1" | sed 's/^/        /'
	elif [ -n "${V:-}" ]; then
		printf '  ok    %s (%d)\n' "$name" "$(grep -c '^ok ' "$out/$1.tests")"
	fi
	grep '^skip ' "$out/$1.tests" | sed 's/^/  /'
	rm -f "$out/$1" "$out/$1.cpu" "$out/$1.tests"
}

declare -A number_of=() program_of=() lane_of=() # by PID
number=0 failed_programs=()
mapfile -t free < <(seq "$lanes")
report_next() {
	local pid
	wait -n -p pid
	report "${number_of[$pid]}" "${program_of[$pid]}"
	free=("${lane_of[$pid]}" "${free[@]}")
	unset "number_of[$pid]"
}

is_late() { [ "$EPOCHSECONDS" -ge "${KFT_BEGIN_BY:-9999999999}" ]; }
skip_late() { # PROGRAM
	echo "skip $layer $(name_of "$1") (this machine is too slow: the time of the check is over)" |
		tee -a "$out/tests" "$results" | sed 's/^/  /'
}
is_busy() {
	local load
	read -r load _ </proc/loadavg
	[ "${load%.*}" -ge $((${BUSY:-6} * $(nproc))) ]
}

: >"$out/tests"
for program in "$@"; do
	while [ ${#number_of[@]} -ge "$lanes" ] || { [ ${#number_of[@]} -gt 0 ] && is_busy; }; do report_next; done
	! is_late || { skip_late "$program"; continue; }
	number=$((number + 1))
	LANE=${free[0]} run $number "$program" &
	number_of[$!]=$number program_of[$!]=$program lane_of[$!]=${free[0]}
	free=("${free[@]:1}")
done
while [ ${#number_of[@]} -gt 0 ]; do report_next; done
run_again() { # NUMBER
	local program=${failed_programs[$1 - 1]} number=again.$1
	echo "  AGAIN $(name_of "$program")"
	(LANE=1 run "$number" "$program")
	if ! grep -q '^not ok ' "$out/$number.tests"; then
		sed -n 's/^not ok /again /p' "$out/failed.$1" >>"$out/$number.tests"
		mv "$out/$number.tests" "$out/failed.$1"
	fi
}
for ((i = 1; i <= ${#failed_programs[@]}; i++)); do
	[ ${#failed_programs[@]} -gt "${AGAIN:-0}" ] || is_late || run_again $i
	keep "$out/failed.$i"
done
forget_accounts

count() { grep -c "^$1 " "$out/tests"; }
passed=$(count ok) failed=$(count "not ok") skipped=$(count skip)
echo "  $layer: $passed passed, $failed failed, $skipped skipped in ${SECONDS} s"
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
