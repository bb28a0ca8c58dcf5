#!/bin/bash
# The lint tools find what they are for: each row is a file with one fault.
. "$(dirname "$0")/../tap.sh"

file() { # NAME: stdin into a file of that name below the scratch folder
	mkdir -p "$scratch/$(dirname "$1")"
	cat >"$scratch/$1"
}
finds() { # WORDS TOOL FILE...: the tool fails and says the words
	local words=$1 out
	shift
	cp Makefile "$scratch"
	out=$(cd "$scratch" && awk -f "$@") && {
		echo "found nothing"
		return 1
	}
	echo "$out"
	grep -qF -- "$words" <<<"$out"
}
clean() { # TOOL FILE...
	cp Makefile "$scratch"
	(cd "$scratch" && awk -f "$@")
}
repeat() { for ((i = 0; i < $1; i++)); do printf '%s\n' "$2"; done; }

layers=$PWD/tests/lint/layers.awk
budget=$PWD/tests/lint/budget.awk
prefix=$PWD/tests/lint/prefix.awk

echo '#include "kube/kube.h"' | file core/api/a.c
check "a room that must not be included" finds 'core/api/a.c:1: may not include kube/kube.h' \
	"$layers" Makefile core/api/a.c
echo '#include "base/json.h"' | file core/api/b.c
check "a room that may" clean "$layers" Makefile core/api/b.c
echo '#include "assets/assets.h"' | file plugins/a.c
check "assets in a plugin" finds 'plugins/a.c:1' "$layers" Makefile plugins/a.c
echo '#include "json.h"' | file core/api/c.c
check "a header without its room" finds 'without its room' "$layers" Makefile core/api/c.c
echo '#include <cjson/cJSON.h>' | file core/api/d.c
check "a library known elsewhere" finds 'only core/base/json.h may' "$layers" Makefile core/api/d.c
echo '#include "cmd/cmd.h"' | file tests/unit/base/test_a.c
check "a unit test is of its room" finds 'base may include no other room' \
	"$layers" Makefile tests/unit/base/test_a.c

{ echo 'int f(void)'; echo '{'; repeat 61 '	g();'; echo '}'; } | file long.c
check "a long function" finds 'long.c:2: f() has 61 lines, more than 60' "$budget" long.c
{ echo 'int f(void)'; echo '{'; repeat 60 '	g();'; echo '}'; } | file fits.c
check "a function that fits" clean "$budget" fits.c
printf 'static int f(int a, int b, int c,\n\t     int (*d)(int, int), int e,\n\t     int g, int h)\n{\n}\n' | file many.c
check "many parameters" finds 'f() has 7 parameters' "$budget" many.c
{ echo 'int f(int a)'; echo '{'; repeat 5 '	if (a && (a || !a))'; echo '}'; } | file branched.c
check "many branches" finds 'f() has a complexity of 16' "$budget" branched.c
{ echo 'int f(int a)'; echo '{'; echo '	switch (a) {'; repeat 30 '	case 1:'; echo '	}'; echo '}'; } | file names.c
check "a switch that only names things" clean "$budget" names.c
repeat 801 '' | file big.c
check "a long file" finds 'big.c:801: longer than 800 lines' "$budget" big.c
repeat 151 '' | file big.h
check "a long header" finds 'big.h:151: longer than 150 lines' "$budget" big.h

# The room's name, a file's first or last word, a struct's tag, a word of three functions: all else is printed.
file core/wood/saw_mill.h <<-'END'
	struct plank_opts {
		int n;
	};
	int wood_a(void);
	MUST_CHECK int saw_b(int (*each)(void *ctx));
	const char *mills_c(void);
	static inline int plank_d(void)
	{
		return hidden_e();
	}
	int nail_f(void), g;
	int nail_h(void);
	int nail_i(void);
	int glue_j(void);
END
prefixes() { (cd "$scratch" && awk -f "$prefix" core/wood/saw_mill.h) >"$scratch/out"; }
only_glue() { prefixes && printf '%s\n' core/wood/saw_mill.h:14\ glue_j 'core/wood: 1 of 8' | diff - "$scratch/out"; }
check "a public function whose name does not say where to look" only_glue

finish
