#!/bin/bash
# tests/store/versitygw.sh
#
# Builds versitygw, an S3 server over a folder, once, and prints where the program is.
# go/versitygw/go.sum pins all of it. Go: one that is installed and new enough, or the
# one that tests/cluster/programs.sh has fetched; otherwise Debian's fetches a newer one
# as a module, which the checksum database verifies.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
module=$here/go/versitygw
wanted=$(sed -n 's/^go //p' "$module/go.mod")
program=$cache/versitygw-$(cat "$module/go.mod" "$module/go.sum" | sha256sum | cut -c 1-12)

[ ! -x "$program" ] || {
	echo "$program"
	exit
}

new_enough() { # GO
	local version
	version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
	[ "$(printf '%s\n' "go$wanted" "$version" | sort -V | head -n 1)" = "go$wanted" ]
}

find_go() {
	local candidate
	for candidate in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go*/bin/go \
		"$cache"/go-*/bin/go; do
		[ -x "$candidate" ] && new_enough "$candidate" && {
			go=$candidate
			return
		}
	done
	go=$(command -v go || command -v /usr/lib/go/bin/go) || {
		echo "versitygw: there is no Go: install golang-go (tests/setup.sh store does)" >&2
		exit 1
	}
	fetch_go
}

# The module system leaves out execute bits.
fetch_go() {
	local from toolchain
	toolchain=golang.org/toolchain@v0.0.1-go$wanted.linux-$(dpkg --print-architecture)
	(cd / && GOFLAGS='' "$go" mod download "$toolchain")
	from=$(GOFLAGS='' "$go" env GOMODCACHE)/$toolchain
	rm -rf "$cache/go-$wanted.part"
	cp -r "$from" "$cache/go-$wanted.part"
	chmod -R u+w "$cache/go-$wanted.part"
	find "$cache/go-$wanted.part" -name _go.mod | while read -r f; do mv "$f" "${f%_go.mod}go.mod"; done
	find "$cache/go-$wanted.part/bin" "$cache/go-$wanted.part/pkg/tool" -type f -exec chmod +x {} +
	mv "$cache/go-$wanted.part" "$cache/go-$wanted"
	go=$cache/go-$wanted/bin/go
}

mkdir -p "$cache"
exec 9>"$program.lock"
flock 9
[ ! -x "$program" ] || {
	echo "$program"
	exit
}
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS='-mod=readonly -buildvcs=false -trimpath'
export GOWORK=off GO111MODULE=on
log=$program.log
find_go >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
cd "$module"
echo "versitygw: building it, which takes some minutes" >&2
nice -n 5 "$go" build -ldflags='-s -w' -o "$program.part" github.com/versity/versitygw/cmd/versitygw \
	>"$log" 2>&1 || {
	tail -n 20 "$log" >&2
	exit 1
}
mv "$program.part" "$program"
echo "$program"
