#!/bin/bash
# The build's and the tests' own scripts: a broken test runner would hide the rest.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

program() { # NAME: a test program from standard input
	{ echo '#!/bin/sh'; cat; } >"$scratch/$1"
	chmod +x "$scratch/$1"
}
run() { # PROGRAM: result lines, without where it lies
	rm -f "$scratch/results"
	RESULTS=$scratch/results tests/run.sh layer "$scratch/$1" >"$scratch/out" 2>&1
	status=$?
	sed -i "s|$scratch/||" "$scratch/results"
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

tally() { # STATUS LAST-LINE < RESULTS
	tests/tally.sh /dev/stdin >"$scratch/tally"
	status=$?
	cat "$scratch/tally"
	[ "$status" = "$1" ] && [ "$(tail -n 1 "$scratch/tally")" = "$2" ]
}
all_good() { printf 'ok a b\nok a c\n' | tally 0 "2 passed, 0 failed"; }
one_bad() { printf 'ok a b\nnot ok a c\nskip a d why\n' | tally 1 "1 passed, 1 failed, 1 skipped"; }
none() { : | tally 1 "0 passed, 0 failed"; }
check "tally.sh adds up" all_good
check "tally.sh fails when a test failed" one_bad
check "tally.sh fails when no test ran" none

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

same_place() { [ "$(vendor/sysroot.sh)" = "$(cd / && "$OLDPWD/vendor/sysroot.sh" musl)" ]; }
recipes() {
	cp -r vendor "$scratch/"
	echo "# changed" >>"$scratch/vendor/recipes.sh"
	[ "$(vendor/sysroot.sh)" != "$("$scratch/vendor/sysroot.sh")" ]
}
quiet() { [ -z "$(vendor/build.sh 2>&1)" ]; }
check "sysroot.sh says the same wherever it is called from" same_place
check "sysroot.sh names another folder for another recipe" recipes
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
	check "shellcheck finds nothing" shellcheck -x -S warning -e SC2154,SC2034 "${scripts[@]}"
else
	skip "shellcheck finds nothing" "shellcheck is not installed"
fi
finish
