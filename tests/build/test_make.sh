#!/bin/bash
# The targets of the Makefile that make something to hand on: install, dist, compdb.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
make="make --no-print-directory -s"
root=$scratch/root
version=$(cat core/assets/VERSION)

installs() { $make install DESTDIR="$root" PREFIX=/usr; }
installed() { [ -x "$root/usr/bin/kftrainer" ] && [ -s "$root/usr/share/man/man1/kftrainer.1" ]; }
licenses() { ./kftrainer version --licenses | cmp - "$root/usr/share/doc/kftrainer/LICENSES"; }
plugin() { [ "$(readlink "$root/usr/bin/kubectl-trainer")" = kftrainer ] && "$root/usr/bin/kubectl-trainer" version; }
completions() {
	bash -n "$root/usr/share/bash-completion/completions/kftrainer" &&
		[ -s "$root/usr/share/zsh/site-functions/_kftrainer" ] &&
		[ -s "$root/usr/share/fish/vendor_completions.d/kftrainer.fish" ]
}
nothing_else() { [ "$(find "$root" ! -type d | wc -l)" = 7 ]; }

dist_twice() {
	$make dist DIST="$scratch/a" && touch README.md 2>/dev/null
	sleep 1
	$make dist DIST="$scratch/b" && cmp "$scratch"/[ab]/"kftrainer-$version.tar.gz"
}
dist_complete() {
	tar -tzf "$scratch/a/kftrainer-$version.tar.gz" | sed "s|^kftrainer-$version/||; /\/$/d; /^$/d" |
		sort | diff - <(git ls-tree -r --name-only HEAD | sort)
}

quick_installs() { # what its layers call, and before they run
	$make -n quick | grep -n -e 'tests/setup.sh quick' -e tests/check.sh | cut -d: -f1 | sort -c &&
		[ "$($make -n quick | grep -c 'tests/setup.sh quick')" = 1 ]
}
quick_list() { # on a machine without packages: nobody is root there, and sudo asks
	mkdir -p "$scratch/bin" && printf '#!/bin/sh\nexit 1\n' | tee "$scratch/bin/dpkg-query" "$scratch/bin/sudo" >/dev/null
	printf '#!/bin/sh\necho 1000\n' >"$scratch/bin/id" && chmod 755 "$scratch"/bin/*
	PATH=$scratch/bin:$PATH tests/setup.sh quick >"$scratch/list"
	[ $? = 2 ] && for package in gcc cmake clang libclang-rt-14-dev clang-format-14 shellcheck mandoc git python3; do
		grep -q "apt-get install .* $package" "$scratch/list" || { cat "$scratch/list"; return 1; }
	done
	! grep -q -e torch -e debootstrap "$scratch/list"
}

compdb() {
	$make compdb COMPDB="$scratch/compile_commands.json" &&
		/usr/bin/python3 - "$scratch/compile_commands.json" <<-'END'
			import json, subprocess, sys
			entries = json.load(open(sys.argv[1]))
			assert any(e["file"] == "main.c" for e in entries)
			entry = next(e for e in entries if e["file"].endswith("version.c"))
			subprocess.run(entry["arguments"] + ["-fsyntax-only"], cwd=entry["directory"], check=True)
		END
}

check "install puts things below DESTDIR" installs
check "with the program and its manual page" installed
check "with the kubectl plugin" plugin
check "with the completions of three shells" completions
check "with the licenses" licenses
check "and nothing else" nothing_else
if git rev-parse HEAD >/dev/null 2>&1; then
	check "dist gives the same bytes twice" dist_twice
	check "dist holds what git holds" dist_complete
else
	skip "dist" "not a git checkout"
fi
check "quick sets up what it needs first" quick_installs
check "... and names what is missing if it cannot be installed" quick_list
# Two names for the libraries stand for two versions of them: what is built follows.
follows_libraries() {
	local real cache=$scratch/cache object=$scratch/rel/core/base/arena.c.o first second
	real=$(vendor/sysroot.sh)
	mkdir -p "$cache"
	ln -s "$real" "$(KFTRAINER_CACHE=$cache vendor/sysroot.sh)"
	ln -s "$real" "$(KFTRAINER_CACHE=$cache KFTRAINER_OLDER=other vendor/sysroot.sh)"
	export KFTRAINER_CACHE=$cache
	$make OUT="$scratch/rel" "$object" && first=$(stat -c %y "$object") &&
		$make OUT="$scratch/rel" "$object" && [ "$(stat -c %y "$object")" = "$first" ] || return
	KFTRAINER_OLDER=other $make OUT="$scratch/rel" "$object" && second=$(stat -c %y "$object") &&
		[ "$second" != "$first" ]
}
check "objects built with other libraries are rebuilt" follows_libraries
unset KFTRAINER_CACHE

check "compdb is JSON whose commands compile" compdb
finish
