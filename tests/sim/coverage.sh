#!/bin/bash
# tests/sim/coverage.sh WORLD [--lines] [--schedules N] [FILE.c]...
#
# Branches that the schedules of a world reach, file by file; --lines: the lines with a branch that is never taken.
# Without files, those of the world's subject.
cd "$(dirname "$0")/../.." || exit 1
world=${1:-cache} lines='' args=() files=()
shift
while [ $# -gt 0 ]; do
	case $1 in
	--lines) lines=1 ;;
	--schedules | --seed) args+=("$1" "$2") && shift ;;
	*) files+=("$1") ;;
	esac
	shift
done
case $world in
cache) [ ${#files[@]} -gt 0 ] || files=(core/cache/{fleet,loans,holdings,claim,plan,client,worker,ticket}.c) ;;
jobs) [ ${#files[@]} -gt 0 ] || files=(core/manager/{reconcile*,watch,work,pods,job_memory,one_job,runtimes,snapshots,outage}.c core/kube/{informer,workqueue,lease}.c core/jobs/*.c) ;;
supervise) [ ${#files[@]} -gt 0 ] || files=(core/supervise/{hub,decide,message}.c) ;;
journal) [ ${#files[@]} -gt 0 ] || files=(core/apiserver/{journal,storage}.c) ;;
esac
out=build/coverage/$world
mkdir -p "$out"
# The command that links it under the sanitizers, with the subject's files compiled to count instead.
make -s "build/san/tests/sim/$world" || exit
link=$(make -n V=1 -W tests/sim/events.c "build/san/tests/sim/$world" | grep -- " -o build/san/tests/sim/$world ")
compile=$(make -n V=1 -W tests/sim/events.c "build/san/tests/sim/$world" | grep -- ' -c .*tests/sim/events.c$')
objects=()
for file in "${files[@]}"; do
	objects+=("$out/${file//\//_}.o")
	[ -z "$(find "$file" core/*/*.h -newer "${objects[-1]}" 2>&1)" ] && continue
	command=${compile/build\/san\/tests\/sim\/events.c.o/${objects[-1]}}
	command=${command/tests\/sim\/events.c/$file}
	eval "${command//-MMD -MP/} -fprofile-instr-generate -fcoverage-mapping" || exit
done
program=$out/$world
command=${link/-o build\/san\/tests\/sim\/$world/-o $program ${objects[*]}}
eval "$command -fprofile-instr-generate" || exit
rm -f "$out"/raw*
LLVM_PROFILE_FILE=$out/raw%2m "$program" "${args[@]}" >/dev/null || echo "# a schedule failed"
llvm-profdata-14 merge -o "$out/profile" "$out"/raw* || exit
if [ -n "$lines" ]; then
	llvm-cov-14 show "$program" -instr-profile="$out/profile" --show-branches=count "${files[@]}" |
		awk '/^core\/|^\/.*:$/ { file = $0 } /^ *[0-9]+\| / { line = $0 } /Branch .*(True: 0|False: 0)[,\]]/ && line != "" { print file, line; line = "" }'
else
	llvm-cov-14 report "$program" -instr-profile="$out/profile" "${files[@]}" |
		awk '/\.c / { printf "%-28s branches %4d, not reached %3d (%s)  lines %s\n", $1, $(NF - 2), $(NF - 1), $NF, $(NF - 3) } /^TOTAL/ { print "all:", $NF, "of the branches" }'
fi
