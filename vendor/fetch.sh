#!/bin/bash
# vendor/fetch.sh SOURCES [NAME...] get what vendor/lock names (of it, these) into the folder SOURCES
# vendor/fetch.sh --relock SOURCES take the newest of every package, rewrite vendor/lock
#
# Sources are Debian's source packages: its patched trees, signed by its archive
# keys. They come by apt-get with a state of its own (the machine's lists stay as
# they are) from the mirrors which the machine's apt is configured with. A file
# counts only if its sha256 is the one in vendor/lock, each time it is used.
#
# Files in sources/ beside this script, where `make sources` puts them, need no mirror.
#
# A revision that has left the mirror's lists, which name the newest alone, is taken
# from its pool while it is there. After that it is replaced by the newest one of the same
# upstream version, or of a later one, as security updates bring them: only Debian's
# signature vouches for its files then. One that is older than the lock's is signed as
# well and may lack what was mended since: it is used only where KFTRAINER_OLDER names
# it, "NAME=VERSION NAME=VERSION...".
#
# Prints a line for each package: NAME VERSION DSC pinned|unpinned
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
shipped=$here/sources
suites="trixie bookworm"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
relock=
[ "$1" != --relock ] || { relock=1; shift; }
mkdir -p "$1"
sources=$(cd "$1" && pwd)
shift
only=" $* "
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT

say() { echo "vendor: $*" >&2; }
die() { say "$*"; exit 1; }
names() {
	awk -v only="$only" '!/^#/ && !seen[$1]++ && (only ~ /^ *$/ || index(only, " " $1 " ")) { print $1 }' \
		"$here/lock"
}
locked() { awk -v n="$1" '$1 == n { print $2; exit }' "$here/lock"; }
upstream() { sed -E 's/^[0-9]+://; s/-[^-]*$//' <<<"$1"; }

# The Debian mirrors of this machine, "URI SUITE" a line, in whatever form its
# apt has them: asked of apt itself, which answers with nothing downloaded.
mirrors() {
	apt-get update --print-uris -o Dir::State::Lists="$work/none" 2>/dev/null |
		sed -nE "s|^'(.*)/dists/([^/]+)/InRelease'.*|\1 \2|p" |
		awk '$2 ~ /^(bookworm|trixie|forky|sid|stable|testing|oldstable)(-security)?$/'
}

source_entry() { # URI SUITES
	printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n' \
		"$1" "$2" "$keyring"
}

# A private apt state with the sources of all suites; once a run, only if needed.
open_apt() {
	[ -z "$work" ] || return 0
	command -v dpkg-source >/dev/null || die "dpkg-source is missing: run tests/setup.sh build"
	work=$(mktemp -d "$sources/.apt.XXXXXX")
	mkdir -p "$work"/{none,parts,lists}/partial
	main=$(mirrors | awk '$2 !~ /-security$/ { print $1; exit }')
	security=$(mirrors | awk '$2 ~ /-security$/ { print $1; exit }')
	[ -n "$main" ] || die "the machine's apt has no Debian mirror configured"
	source_entry "$main" "$suites" >"$work/parts/debian.sources"
	[ -z "$security" ] || source_entry "$security" \
		"${suites// /-security }-security" >>"$work/parts/debian.sources"
	cat >"$work/apt.conf" <<-END
		Dir::Etc::SourceList "/dev/null";
		Dir::Etc::SourceParts "$work/parts";
		Dir::State::Lists "$work/lists";
		Dir::Cache "$work";
		Dir::Cache::pkgcache "";
		Dir::Cache::srcpkgcache "";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Acquire::AllowInsecureRepositories "false";
		APT::Get::AllowUnauthenticated "false";
		APT::Sandbox::User "root";
	END
	export APT_CONFIG=$work/apt.conf
	say "reading Debian's lists of sources"
	apt-get update -qq >"$work/log" 2>&1 || true
	compgen -G "$work/lists/*_Sources*" >/dev/null ||
		die "$main does not answer: $(grep -m 1 -o 'Failed to fetch .*' "$work/log" ||
			tail -n 1 "$work/log")"
}

# Downloads a revision; true if all of its files came with the signed checksums.
download() { # NAME VERSION
	open_apt
	say "fetching $1 $2"
	rm -rf "$work/get"
	mkdir "$work/get"
	(cd "$work/get" && apt-get source -qq --download-only "$1=$2") >"$work/log" 2>&1
}

# The same of the lock's revision, from the pools by the lock's checksums.
download_locked() { # NAME VERSION
	local sum file dir=${1:0:1} from
	[[ $1 != lib* ]] || dir=${1:0:4}
	rm -rf "$work/get"
	mkdir "$work/get"
	while read -r sum file; do
		for from in "$main/pool/main" ${security:+"$security/pool/updates/main"} ""; do
			[ -n "$from" ] || return 1
			/usr/lib/apt/apt-helper download-file "${from/#file:/copy:}/$dir/$1/$file" "$work/get/$file" "SHA256:$sum" \
				>>"$work/log" 2>&1 && break
		done
	done < <(locked_sums "$1" "$2")
}

# The names of the files of the last download are those that its .dsc lists.
store() {
	chmod 644 "$work/get"/*
	mv -f "$work/get"/* "$sources/"
}

available() { # NAME: versions, newest first (after open_apt)
	apt-cache showsrc "$1" 2>/dev/null | awk '/^Version:/ { print $2 }' | sort -Vru
}

same_first() { # UPSTREAM: versions of it before those of others
	awk -v u="$1" '{ v = $0; sub(/^[0-9]+:/, "", v); sub(/-[^-]*$/, "", v) }
		v == u { print; next } { rest = rest $0 "\n" } END { printf "%s", rest }'
}

locked_sums() { # NAME VERSION, as sha256sum -c reads it
	awk -v n="$1" -v v="$2" '$1 == n && $2 == v { print $4 "  " $3 }' "$here/lock"
}

have_pinned() { # NAME VERSION
	(cd "$sources" && locked_sums "$1" "$2" | sha256sum -c --strict --status 2>/dev/null)
}

dsc_name() { # NAME VERSION
	echo "$1_${2#*:}.dsc"
}

is_older() { # NAME VERSION THAN: and nobody asked for it
	dpkg --compare-versions "$2" lt "$3" && [[ " ${KFTRAINER_OLDER-} " != *" $1=$2 "* ]]
}

refuse_older() { # NAME VERSION OLDER
	say "$1 $2 has left the mirror, which has only older revisions of it; they may lack what was mended since."
	die "To use one all the same: KFTRAINER_OLDER=$1=$3 make"
}

is_other() { # THAN VERSION: of the same upstream version, or later
	[ "$1" != "$2" ] && { [ "$(upstream "$1")" = "$(upstream "$2")" ] || dpkg --compare-versions "$2" gt "$1"; }
}

# The newest revision of the same upstream version, or of a later one, which can be downloaded.
fetch_other() { # NAME VERSION
	local v older=
	open_apt
	for v in $(available "$1" | same_first "$(upstream "$2")"); do
		is_other "$2" "$v" || continue
		if is_older "$1" "$v" "$2"; then
			older=${older:-$v}
		elif download "$1" "$v"; then
			store
			say "$1 $2 has left the mirror: $v is used in its place, this build is unpinned"
			echo "$1 $v $(dsc_name "$1" "$v") unpinned"
			return
		fi
	done
	[ -z "$older" ] || refuse_older "$1" "$2" "$older"
	[ ! -s "$work/log" ] || tail -n 5 "$work/log" >&2
	die "no revision of $1 $(upstream "$2"), nor a later one, can be downloaded"
}

take_shipped() { # NAME VERSION
	local file
	for file in $(locked_sums "$1" "$2" | awk '{ print $2 }'); do
		[ ! -e "$shipped/$file" ] || cp "$shipped/$file" "$sources/"
	done
}

fetch() { # NAME VERSION
	[ ! -d "$shipped" ] || have_pinned "$1" "$2" || take_shipped "$1" "$2"
	if ! have_pinned "$1" "$2"; then
		if ! download "$1" "$2" && ! download_locked "$1" "$2"; then
			fetch_other "$1" "$2"
			return
		fi
		(cd "$work/get" && locked_sums "$1" "$2" | sha256sum -c --strict --quiet) >&2 ||
			die "$1 $2 is not what vendor/lock says: nothing of it is used"
		store
	fi
	echo "$1 $2 $(dsc_name "$1" "$2") pinned"
}

relock_one() { # NAME
	local v
	open_apt
	for v in $(available "$1"); do
		! is_older "$1" "$v" "$(locked "$1")" || refuse_older "$1" "$(locked "$1")" "$v"
		download "$1" "$v" || continue
		(cd "$work/get" && sha256sum -- *) |
			while read -r sum file; do echo "$1 $v $file $sum"; done
		store
		return
	done
	die "no revision of $1 can be downloaded"
}

if [ -n "$relock" ]; then
	list=$(names)
	{
		grep '^#' "$here/lock"
		for n in $list; do relock_one "$n"; done
	} >"$sources/.lock.new"
	mv "$sources/.lock.new" "$here/lock"
else
	for n in $(names); do fetch "$n" "$(locked "$n")"; done
fi
