# tests/go.sh - for the scripts that build programs of the tests with Go. Sourced with $cache,
# kftrainer's cache folder, set; then `find_go` sets $go.
#
# A Go that is installed and new enough is used. Otherwise Debian's `golang-go` fetches a newer
# one as a module, which the checksum database verifies.
# shellcheck shell=bash disable=SC2154
toolchain=1.26.8
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS='-mod=readonly -buildvcs=false -trimpath'
export GOWORK=off GO111MODULE=on GOOS=linux GOARCH=
GOARCH=$(dpkg --print-architecture)

new_enough() { # GO VERSION
	local version
	version=$("$1" env GOVERSION 2>/dev/null) || return 1
	[ "$(printf '%s\n' "go$2" "$version" | sort -V | head -n 1)" = "go$2" ]
}

# The module system leaves out execute bits and hides the go.mod files of the toolchain.
fetch_go() ( # GO
	module=golang.org/toolchain@v0.0.1-go$toolchain.linux-$GOARCH new=$cache/go-$toolchain
	cd / &&
		GOFLAGS='' "$1" mod download "$module" &&
		rm -rf "$new"* &&
		cp -r "$(GOFLAGS='' "$1" env GOMODCACHE)/$module" "$new.part" &&
		chmod -R u+w "$new.part" &&
		cd "$new.part" &&
		find . -name _go.mod -execdir mv {} go.mod \; &&
		find bin pkg/tool -type f -exec chmod +x {} + &&
		mv "$new.part" "$new"
)

# Several scripts may look for it at once: one fetches it.
find_go() { # FOLDER...: of the go.mod files that it builds
	local wanted
	wanted=$(sed -n 's/^go //p' "${@/%//go.mod}" | sort -V | tail -n 1)
	for go in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go*/bin/go "$cache/go-$toolchain/bin/go"; do
		[ ! -x "$go" ] || ! new_enough "$go" "$wanted" || return 0
	done
	go=$(command -v go || command -v /usr/lib/go/bin/go) || {
		echo "go: Go is not installed: install golang-go, as tests/setup.sh does" >&2
		return 1
	}
	(
		flock 8
		[ -x "$cache/go-$toolchain/bin/go" ] || fetch_go "$go"
	) 8>"$cache/go.lock" || return
	go=$cache/go-$toolchain/bin/go
}

# build_once NAME WHAT COMMAND...: prints the folder $dir, which the command fills as $dir.part unless it is there. One
# process builds it at a time ($cache/NAME.lock); errors are shown. It is touched for tests/prune.sh.
build_once() {
	local name=$1 what=$2
	shift 2
	[ -e "$dir/.done" ] || (
		flock 9
		[ ! -e "$dir/.done" ] || exit 0
		rm -rf "$dir.part" && mkdir -p "$dir.part/bin" || exit
		echo "cluster: building $what" >&2
		"$@" 2>"$dir.log" </dev/null || {
			tail -n 20 "$dir.log" >&2
			exit 1
		}
		rm -rf "$dir.log" "$dir"
		touch "$dir.part/.done" && mv "$dir.part" "$dir"
	) 9>"$cache/$name.lock" || return
	touch "$dir"
	echo "$dir"
}
