#!/bin/bash
# The build's and the tests' own scripts: a broken test runner would hide the rest.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
unset AGAIN

program() { # NAME: a test program from standard input
	{ echo '#!/bin/sh'; cat; } >"$scratch/$1"
	chmod +x "$scratch/$1"
}
run() { # PROGRAM...: result lines, without where it lies; how long each took in $scratch/times
	rm -f "$scratch/results"
	RESULTS=$scratch/results tests/run.sh layer "${@/#/$scratch/}" >"$scratch/out" 2>&1
	status=$?
	sed -i "s|$scratch/||" "$scratch/results"
	grep '^time ' "$scratch/results" >"$scratch/times"
	sed -i '/^time /d' "$scratch/results"
}
gives() { # STATUS RESULTS
	echo "status $status"
	cat "$scratch/results"
	[ "$status" = "$1" ] && [ "$(cat "$scratch/results")" = "$2" ]
}

program good <<<'echo 1..2; echo "ok 1 - a b"; echo "ok 2 - c # SKIP no root"'
program bad <<<'echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1'
program mute <<<'echo 1..2; echo "# skip: no root"; echo "not ok 1 # SKIP a"; echo "ok 2 - b"'
program dies <<<'echo 1..3; echo ok 1 - a; kill -9 $$'
program silent <<<'exit 0'
program late <<<'echo 1..1; echo ok 1 - a; exit 3'
run good
check "run.sh counts passed and skipped tests" gives 0 $'ok layer good: a b\nskip layer good: c no root'
run mute
check "run.sh adds why a test is skipped" gives 0 $'skip layer mute: a (no root)\nok layer mute: b'
run bad
check "run.sh counts failed tests" gives 1 $'ok layer bad: a\nnot ok layer bad: b'
program groups <<<'echo 1..1; echo ok 1 - a; echo 1..1; echo ok 1 - b'
run groups
check "run.sh adds up the groups of a program" gives 0 $'ok layer groups: a\nok layer groups: b'
run dies
check "run.sh fails a program that dies" gives 1 \
	$'ok layer dies: a\nnot ok layer dies: ended with status 137 after 1 of 3 tests'
run silent
check "run.sh fails a program without a plan" gives 1 \
	"not ok layer silent: ended with status 0 before it said how many tests it has"
run late
check "run.sh fails a program that fails after its tests" gives 1 \
	$'ok layer late: a\nnot ok layer late: ended with status 3'
program hangs <<<'echo 1..1; echo ok 1 - a; sleep 60'
LIMIT=1 run hangs
check "run.sh ends a program that hangs" gives 1 $'ok layer hangs: a\nnot ok layer hangs: did not end within 1 s'
check "run.sh records how long a program took" grep -Eqx 'time 1\.[0-9] [0-9.]+ layer hangs' "$scratch/times"
program stops <<<"echo 1..1; [ -e $scratch/s ] || { echo ok 1 - a; touch $scratch/s; sleep 60; }; echo ok 1 - a"
LIMIT=1 AGAIN=1 run stops
check "run.sh runs again what hung" gives 0 $'ok layer stops: a\nagain layer stops: did not end within 1 s'
program waits <<<"# before: sleep 4; touch $scratch/there
echo 1..1; [ -e $scratch/there ] && echo ok 1 - a"
LIMIT=3 run waits
check "run.sh does not count what a program waits for first" gives 0 "ok layer waits: a"
program once <<<"echo 1..2; echo ok 1 - a; [ -e $scratch/o ] || echo -n 'not '; touch $scratch/o; echo ok 2 - b"
AGAIN=1 run once good
check "run.sh runs again what failed, and says so" gives 0 \
	$'ok layer good: a b\nskip layer good: c no root\nok layer once: a\nok layer once: b\nagain layer once: b'
AGAIN=1 run bad
check "... which may fail again" gives 1 $'ok layer bad: a\nnot ok layer bad: b'
rm "$scratch/o"
AGAIN=1 run once bad
check "... not if too many failed" gives 1 \
	$'ok layer once: a\nnot ok layer once: b\nok layer bad: a\nnot ok layer bad: b'
rm "$scratch/o"
program ends <<<"echo 1..1; sleep 2; [ -e $scratch/o ] || echo -n 'not '; touch $scratch/o; echo ok 1 - a"
KFT_BEGIN_BY=$((EPOCHSECONDS + 1)) AGAIN=1 run ends
check "... not when the time of the check is over" gives 1 'not ok layer ends: a'
rm "$scratch/o"
run once
check "... not unasked" gives 1 $'ok layer once: a\nnot ok layer once: b'
program python3 <<<'exit 1'
program python <<<'command -v python3 | sed "s/.*/1..1\nok 1 - &/"'
PATH=$scratch:$PATH run python
check "run.sh lets programs find Debian's Python first" gives 0 "ok layer python: /usr/bin/python3"
rm "$scratch/python3"
# Each waits for the other: one after the other they would never end.
program left <<<"echo 1..1; touch $scratch/l; until [ -e $scratch/r ]; do sleep 0.05; done; echo ok 1 - a"
program right <<<"echo 1..1; touch $scratch/r; until [ -e $scratch/l ]; do sleep 0.05; done; echo not ok 1 - b"
side_by_side() { run left right && false || [ "$(sort "$scratch/results")" = $'not ok layer right: b\nok layer left: a' ]; }
LANES=2 LIMIT=30 BUSY=1000000 check "run.sh runs as many at a time as there are lanes" side_by_side
program first <<<"echo 1..1; touch $scratch/runs; sleep 0.5; rm $scratch/runs; echo ok 1 - a"
program next <<<"echo 1..1; [ ! -e $scratch/runs ] && echo ok 1 - a"
one_by_one() { run first next && [ "$(sort "$scratch/results")" = $'ok layer first: a\nok layer next: a' ]; }
LANES=2 BUSY=0 check "... one at a time on a busy machine" one_by_one
KFT_BEGIN_BY=1 run once
check "... and none when the time of the check is over" gives 0 'skip layer once (this machine is too slow: the time of the check is over)'

tally() { # STATUS LAST-LINE < RESULTS
	tests/tally.sh /dev/stdin >"$scratch/tally"
	status=$?
	cat "$scratch/tally"
	[ "$status" = "$1" ] && [ "$(tail -n 1 "$scratch/tally")" = "$2" ]
}
all_good() { printf 'ok a b\nok a c\n' | tally 0 "2 passed, 0 failed"; }
one_bad() { printf 'ok a b\nnot ok a c\nskip a d why\n' | tally 1 "1 passed, 1 failed, 1 skipped"; }
again() { # STATUS PROGRAMS FAILED
	{ echo ok a b; for i in $(seq "$2"); do echo "again a p$i: c"; echo "again a p$i: d"; done; } | tally "$1" "1 passed, $3 failed"
}
none() { : | tally 1 "0 passed, 0 failed"; }
check "tally.sh adds up" all_good
check "tally.sh fails when a test failed" one_bad
check "tally.sh fails when no test ran" none
check "tally.sh lets eight programs pass only when they run again" again 0 8 0
check "... not nine" again 1 9 1
slowest() {
	for i in $(seq 12); do echo "time $i.5 1 a p$i"; done | tests/tally.sh /dev/stdin >"$scratch/tally"
	[ "$(sed -n '2p;11p;13p;14p' "$scratch/tally")" = $'  12.5 1 a p12\n  3.5 1 a p3\n  84 12 a\n0 passed, 0 failed' ]
}
check "tally.sh lists the ten slowest, and the sums of each layer" slowest

old_and_new() {
	local c=$scratch/cache
	mkdir -p "$c"/{sysroot-musl,venv,sdk,e2e}-{old,new} "$c/sysroot-san-old.new" "$c/venv-busy" "$c/sources" "$c/mine-old"
	touch -d '40 days ago' "$c"/*-old "$c"/*.new "$c/venv-busy" "$c/sources"
	KFTRAINER_CACHE=$c flock "$c/venv-busy.lock" tests/prune.sh 2>/dev/null
	find "$c" -mindepth 1 -type d -printf '%f\n' | sort | xargs | tee "$scratch/kept"
	[ "$(cat "$scratch/kept")" = "e2e-new mine-old sdk-new sources sysroot-musl-new venv-busy venv-new" ]
}
check "prune.sh removes what was not used for a month, and nothing that is being built" old_and_new

program make <<<"exec make -f $scratch/Makefile \"\$@\""
layers() {
	printf 'good:\n\t@true\nbad:\n\t@false\n' >"$scratch/Makefile"
	MAKE=$scratch/make RESULTS=$scratch/r tests/check.sh good bad
	[ $? = 1 ] && diff "$scratch/r" - <<-END
		ok good
		not ok bad make bad ends with status 2
	END
}
check "check.sh goes on after a layer that fails" layers
# Each waits for the other's file: one after the other they would never end.
together() {
	printf '%s:\n\t@touch $@.here; until [ -e %s.here ]; do sleep 0.05; done; echo "%s $@" >>$(RESULTS)\n' \
		one two ok two one "not ok" >"$scratch/Makefile"
	(cd "$scratch" && rm -f ./*.here)
	MAKE=$scratch/make RESULTS=$scratch/r tests/check.sh one+two
	[ $? = 1 ] && rm -f one.here two.here && diff "$scratch/r" - <<-END
		ok one
		not ok two
	END
}
check "check.sh runs layers side by side" together
# The third begins when the first has ended, though the second has not.
in_turn() {
	printf '%s\n' 'one:; @touch one.here; sleep 0.2; ! [ -e three.here ]' 'two:; @until [ -e three.here ]; do sleep 0.05; done' \
		'three:; @touch three.here; echo "ok three" >>$(RESULTS)' >"$scratch/Makefile"
	MAKE=$scratch/make RESULTS=$scratch/r AT_ONCE=2 tests/check.sh one+two+three
	[ $? = 0 ] && rm -f one.here three.here && diff "$scratch/r" - <<-END
		ok one
		ok two
		ok three
	END
}
check "... up to so many, the next when one ends" in_turn
paused() {
	local pid
	printf 'one:; @touch $@.here; sleep 1\n' >"$scratch/Makefile"
	MAKE=$scratch/make RESULTS=$scratch/r setsid tests/check.sh one >"$scratch/paused" &
	pid=$!
	until [ -e one.here ]; do sleep 0.05; done
	kill -STOP -- -$pid
	sleep 6
	kill -CONT -- -$pid
	wait $pid && rm one.here && grep -Ex 'the machine: [0-9]+ s taken by the host, .* s waiting for memory, .* [1-9][0-9]* s in pauses' "$scratch/paused"
}
check "check.sh says how long the machine stood still" paused

same_place() { [ "$(vendor/sysroot.sh)" = "$(cd / && "$OLDPWD/vendor/sysroot.sh" musl)" ]; }
recipes() {
	cp -r vendor "$scratch/"
	echo "# changed" >>"$scratch/vendor/recipes.sh"
	[ "$(vendor/sysroot.sh)" != "$("$scratch/vendor/sysroot.sh")" ]
}
# Another compiler, other kernel headers: what was built with those of before is not used.
stub() { # NAME TEXT: a program first in PATH that prints it
	mkdir -p "$scratch/stubs"
	printf '#!/bin/sh\necho "%s"\n' "$2" >"$scratch/stubs/$1"
	chmod +x "$scratch/stubs/$1"
}
moves() { # FLAVOUR PROGRAM
	local before after
	before=$(vendor/sysroot.sh "$1")
	rm -rf "$scratch/stubs"
	stub "$2" "another release of $2"
	after=$(PATH=$scratch/stubs:$PATH vendor/sysroot.sh "$1")
	[ "$before" != "$after" ]
}
changed_nettle() {
	mkdir "$scratch/nettle"
	echo one >"$scratch/nettle/a.c"
	local one two
	one=$(KFTRAINER_NETTLE=$scratch/nettle vendor/sysroot.sh)
	echo two >"$scratch/nettle/a.c"
	two=$(KFTRAINER_NETTLE=$scratch/nettle vendor/sysroot.sh)
	[ "$one" != "$two" ] && [ "$one" != "$(vendor/sysroot.sh)" ]
}
quiet() { [ -z "$(vendor/build.sh 2>&1)" ]; }
# What is changed in a library earns its keep: what it says before its first hunk.
heads() { awk 'FNR == 1 { head = 1 } /^--- / { head = 0 } head { print FILENAME ": " $0 }' vendor/patches/*.patch; }
offered() {
	local patch
	for patch in vendor/patches/*.patch; do
		heads | grep "^$patch: " | grep -Eq '(Not offered|Offered|Fixed by) ' || { echo "$patch"; return 1; }
	done
}
measured() {
	local patch
	for patch in mbedtls-x25519 curl-whole-pieces curl-read-ahead; do
		heads | grep -q "$patch.patch: Measured: " || { echo "$patch"; return 1; }
	done
	grep -q '^ \* Measured: ' vendor/fastmem.c
}
check "each patch says where it was offered upstream, or why it was not" offered
check "a patch for speed names its measured gain" measured
check "sysroot.sh says the same wherever it is called from" same_place
check "sysroot.sh names another folder for another recipe" recipes
check "sysroot.sh names another folder for another compiler" moves musl gcc
check "... for another clang, of the sanitized libraries" moves san clang
check "... for other kernel headers" moves musl dpkg-query
check "... for the user's own Nettle, unchanged" changed_nettle
check "build.sh prints nothing when there is nothing to do" quiet

# Without a network: apt has no mirror, so what is not right in the cache is not used.
fetch() { # COMMAND that spoils $scratch/sources or the lock
	rm -rf "$scratch/sources" "$scratch/vendor"
	cp -r vendor "$scratch/"
	cp -r "$(dirname "$(vendor/sysroot.sh)")/sources" "$scratch/"
	printf 'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "/dev/null";\n' >"$scratch/apt.conf"
	"$@"
	APT_CONFIG=$scratch/apt.conf "$scratch/vendor/fetch.sh" "$scratch/sources"
}
spoil_cache() { echo x >>"$scratch"/sources/cjson_*.orig.tar.gz; }
spoil_lock() { sed -i '/^libyaml.*dsc/s/[0-9a-f]*$/00ff/' "$scratch/vendor/lock"; }
refused() { ! fetch "$1" && ! ls -d "$scratch"/sources/.apt.*; }
check "fetch.sh needs no network for what is cached" fetch true
check "fetch.sh refuses a cached file that is not what the lock says" refused spoil_cache
check "fetch.sh refuses a lock without a whole checksum" refused spoil_lock

if command -v shellcheck >/dev/null; then
	mapfile -d '' -t scripts < <(files '*.sh' .ci/run | grep -zv vendor/recipes.sh)
	check "shellcheck finds nothing" tests/lint/shell.sh "${scripts[@]}"
else
	skip "shellcheck finds nothing" "shellcheck is not installed"
fi
finish
