#!/bin/bash
# The engine over http: every way in which a server, a network or a disk can fail.
. "$(dirname "$0")/lib.sh"

head -c 5000000 /dev/urandom >"$web/big"
head -c 50000 /dev/urandom >"$web/small"
: >"$web/empty"
mkdir -p "$web/deep/er"
echo hello >"$web/deep/er/file name.txt"
(cd "$web" && sha256sum big small >SHA256SUMS)
(cd "$web" && sha256sum deep/er/* >>SHA256SUMS)
printf '%s\n' '# files' big 'small' 'empty' 'deep/er/file%20name.txt' >"$web/all.urls"
serve url --root "$web"
serve other --root "$web"
break_it

one() { fetches 0 '^1 files complete' --uri "$url/big" && same big; }
check "a file is fetched" one
again() {
	break_it
	fetch --uri "$url/big"
	[ "$status" = 0 ] && same big && logged 'sum(a["sent"] for a in log) == 0'
}
check "an unchanged file is not fetched again" again
damaged() {
	printf x | dd of="$scratch/to/big" bs=1 seek=4000000 conv=notrunc status=none
	fetch --uri "$url/big"
	[ "$status" = 0 ] && same big
}
check "a damaged file is" damaged
source_changed() {
	head -c 5000000 /dev/urandom >"$web/big"
	fetch --uri "$url/big"
	(cd "$web" && sha256sum big small deep/er/* >SHA256SUMS)
	[ "$status" = 0 ] && same big
}
check "a file that changed at its source is" source_changed

manifest() {
	fetches 0 '^4 files' --uri "$url/all.urls" && same big && same small && same empty &&
		same "deep/er/file name.txt"
}
check "a manifest of URLs" manifest
sums() {
	fetches 0 '^3 files' --uri "$url/SHA256SUMS" && same big && same "deep/er/file name.txt" &&
		grep -q '"contents":"sha256:' "$scratch/to/.kftrainer/manifest.jsonl"
}
check "sha256sum's list is a manifest" sums
sums_there() {
	touch "$scratch/to/small"
	printf x | dd of="$scratch/to/big" bs=1 seek=10 conv=notrunc status=none
	rm -r "$scratch/to/.kftrainer"
	break_it
	fetch --uri "$url/SHA256SUMS"
	[ "$status" = 0 ] && same big && logged 'not any(a["path"] == "/small" for a in log)'
}
check "files with the right digest are not fetched again, others are" sums_there
wrong_sum() {
	printf 'big sha256=%064d\n' 1 >"$web/wrong.urls"
	fetches 1 'big: .*checksum.*twice' --uri "$url/wrong.urls" && [ ! -e "$scratch/to/big" ]
}
check "a wrong digest: again, once, then an error" wrong_sum
fragment() {
	fetches 0 'files complete' --uri "$url/big#sha256=$(sha256sum <"$web/big" | cut -c1-64)" && same big &&
		fetches 1 'checksum' --uri "$url/big#sha256=$(printf %064d 0)"
}
check "#sha256= is verified" fragment
odd_manifests() {
	printf '\xef\xbb\xbfbig\r\nsmall\n' >"$web/odd.urls"
	fetches 0 '^2 files' --uri "$url/odd.urls" && same big && same small || return
	printf '<!DOCTYPE html>\n<html>\n' >"$web/odd.urls"
	fetches 1 'line 1 .*HTML' --uri "$url/odd.urls" || return
	printf 'big sha512=00\n' >"$web/odd.urls"
	fetches 1 'sha512=00.: unknown attribute' --uri "$url/odd.urls"
}
check "a manifest with a byte order mark; one that is a page of HTML; other digests" odd_manifests
patterns() {
	fetches 0 '^1 files' --uri "$url/all.urls" --ignore 'big,deep/*, empty' && same small &&
		fetches 0 '^1 files' --uri "$url/all.urls" --allow '*.txt' && same "deep/er/file name.txt" &&
		IGNORE_PATTERNS='*' fetches 1 'no files to fetch' --uri "$url/all.urls"
}
check "patterns: * crosses /, ignore and allow" patterns
defaults() { # WANTED MANIFEST
	echo "$2" >"$web/model.urls"
	clean
	run initialize-model --uri "$url/model.urls" --to "$scratch/to"
	[ "$status" = 0 ] && [ "$(ls "$scratch/to" | tr '\n' ' ')" = "$1 " ] || dump
}
weights=$'big a.bin\nbig b.pt\nsmall c.h5\nsmall d.json\nsmall e.md'
check "a model's default patterns apply when none are given" \
	defaults "d.json e.md w.safetensors" "$weights"$'\nsmall w.safetensors'
check "... but not its only weights" defaults "a.bin b.pt d.json e.md" "$weights"

# ---- what a listing may not do ----
hostile() {
	local name
	for name in ../evil /evil a/../../evil a/./b 'a//b' '%2e%2e/evil' 'a%0Ab' ''; do
		printf 'big %s\n' "${name:-x/}" >"$web/evil.urls"
		fetches 1 'evil|refused' --uri "$url/evil.urls" || return
		[ ! -e "$scratch/evil" ] && [ ! -e /evil ] || return
	done
	printf 'big a\nsmall a\n' >"$web/evil.urls"
	fetches 1 "lists 'a' twice" --uri "$url/evil.urls" || return
	printf 'big a\nsmall a/b\n' >"$web/evil.urls"
	fetches 1 'both as a file and' --uri "$url/evil.urls"
}
check "names that leave the folder are refused, and files that clash" hostile
backslash() {
	printf 'small a%%5Cb\n' >"$web/odd.urls"
	clean
	fetch --uri "$url/odd.urls"
	[ "$status" = 0 ] && same small 'a\b' || dump
}
check "a backslash is a character of a name" backslash
links() {
	clean
	mkdir -p "$scratch/to" "$scratch/outside"
	ln -s "$scratch/outside" "$scratch/to/deep"
	fetch --uri "$url/all.urls"
	[ "$status" = 1 ] && grep -q 'link' "$scratch/err" && [ -z "$(ls -A "$scratch/outside")" ] || dump
}
check "nothing is written through a link" links
link_file() {
	clean
	mkdir -p "$scratch/to" && echo keep >"$scratch/outside/f" && ln -s "$scratch/outside/f" "$scratch/to/big"
	fetch --uri "$url/big"
	[ "$status" = 0 ] && same big && [ "$(cat "$scratch/outside/f")" = keep ]
}
check "a link under a final name is replaced, not followed" link_file
state_link() {
	clean
	mkdir -p "$scratch/to" && rm -rf "$scratch/outside" && mkdir "$scratch/outside"
	ln -s "$scratch/outside" "$scratch/to/.kftrainer"
	fetch --uri "$url/big"
	[ "$status" = 1 ] && [ -z "$(ls -A "$scratch/outside")" ] || dump
}
check "nor through a link where our own folder would be" state_link
hard_link() {
	clean
	mkdir -p "$scratch/to/.kftrainer" && echo keep >"$scratch/outside/g"
	ln "$scratch/outside/g" "$scratch/to/.kftrainer/$(printf big | sha256sum | cut -c1-32).part"
	fetch --uri "$url/big"
	[ "$status" = 0 ] && same big && [ "$(cat "$scratch/outside/g")" = keep ]
}
check "nor into another file by a hard link" hard_link

# ---- what a server and a network may do ----
survives() { # FAULT...
	break_it "$@"
	fetches 0 'files complete' --uri "$url/SHA256SUMS" && same big && same small
}
check "cut in the middle, again and again" survives '/big cut=300000 8'
check "reset in the middle" survives '/big reset=300000 3' '/small reset=100 1'
check "503 and 500" survives '/big status=503 2' '/small status=500 1'
all_at_once() {
	echo "big size=$(stat -c %s "$web/big")" >"$web/sized.urls"
	break_it '/big status=503 12'
	fetches 0 'big: .*503.*retrying in' --uri "$url/sized.urls" && same big
}
check "503 for all parts of a file at once counts once, and a pause is reported" all_at_once
retry_after() {
	break_it '/small status=429,2 1'
	local begin=$SECONDS
	fetches 0 'files complete' --uri "$url/SHA256SUMS" && same small && [ $((SECONDS - begin)) -ge 1 ]
}
check "429: after the time it says" retry_after
check "a flipped bit: that file again" survives '/big flip=2000000 1'
check "no ranges" survives '/big norange'
check "no ranges, and cut" survives '/big norange' '/big cut=3000000 1'
check "no length" survives '/* chunked'
check "neither ranges, length nor ETag" survives '/* chunked' '/* norange' '/* noetag'
check "a response that is too short" survives '/big short=1000 1' '/small short=1 1'
check "a connection that drips: retried on another" survives '/big drip=2000 1'
unsized() {
	break_it "$@"
	fetches 0 'files complete' --uri "$url/all.urls" && same big && same small && same empty
}
check "a range with status 200, as ModelScope's" unsized '/* range200'
check "... and cut" unsized '/* range200' '/big cut=700000 2'
check "... without its length" unsized '/* range200' '/* chunked'
check "all with status 200, called a range" unsized '/* range200' '/* norange'
check "sizes that are not known before, no ranges" unsized '/* norange'
check "ranges that are refused, as of an empty file by Apache" unsized '/* refuse'
check "... or as too long" unsized '/* refuse=5'
check "... or are of a file whose size is not said" unsized '/big range=0-1048575/*'
check "... or not what RFC 9110 has" unsized '/big range==0-1048575/5000000'
check "sizes that are never known" unsized '/* chunked' '/* norange' '/* noetag'
flip_for_ever() {
	break_it '/big flip=2000000'
	fetches 1 'big: .*checksum.*twice' --uri "$url/SHA256SUMS" && [ ! -e "$scratch/to/big" ]
}
check "always a flipped bit: an error, and no file" flip_for_ever
always_short() {
	break_it '/small norange' '/small short=10'
	printf 'small size=50000\n' >"$web/sized.urls"
	fetches 1 'small: .*(changing|bytes)' --uri "$url/sized.urls" && [ ! -e "$scratch/to/small" ]
}
check "always the wrong length: an error, and no file" always_short
too_long() {
	local huge=9223372036854775808 fault
	printf 'big size=5000000\n' >"$web/sized.urls"
	for fault in "length=$huge" "range=0-1048575/$huge" "range=0-$huge/5000000" "range=0-1048575/1${huge}0000" \
		'range=0-x/5000000' "range=*/$huge"; do
		break_it "/big $fault"
		fetches 1 "big: invalid response: .*tried 2 times" --uri "$url/sized.urls" --retries 1 || return
		[ ! -e "$scratch/to/big" ] || return
		break_it "/big $fault 2"
		fetches 0 'files complete' --uri "$url/sized.urls" && same big || return
		[ "${fault%%=*}" = range ] || continue
		break_it "/big $fault" # where it is the first thing that is heard, all is asked for
		fetches 0 'files complete' --uri "$url/big" && same big || return
	done
}
check "lengths that overflow: an invalid response, retried" too_long
etag() {
	break_it '/big etag=two'
	fetches 0 'files complete' --uri "$url/big" && same big || return
	# the answers differ in turn: no two pieces of one version
	break_it '/big etag=a 1' '/big etag=b 1' '/big etag=c 1' '/big etag=d 1' '/big etag=e 1' '/big etag=f'
	fetches 0 'files complete' --uri "$url/big" && same big || return
	# each of them has its own, for ever
	break_it '/big etags'
	fetches 0 'files complete' --uri "$url/big" && same big || return
	break_it '/big etags' '/big cut=300000'
	fetches 1 'changing' --uri "$url/big"
}
check "a source whose ETags differ: one request for all of it; an error if that breaks" etag
compressed() {
	break_it '/small gzip'
	fetches 1 'small: .*Content-Encoding' --uri "$url/small" --retries 1
}
check "a compressed response is not a file" compressed
compressed_file() {
	cp "$web/small" "$web/x.tar.gz"
	break_it "/x.tar.gz gzip=$1"
	fetches "$2" "$3" --uri "$url/x.tar.gz" --retries 1 && { [ "$2" = 1 ] || same x.tar.gz; }
}
check "... unless its name says so: Apache's AddEncoding" compressed_file x-gzip 0 'files complete'
check "... which names another one" compressed_file br 1 'x.tar.gz: .*Content-Encoding'
missing() { fetches 1 'nothere: .*404.*URI' --uri "$url/nothere"; }
check "404 names the object and what to do" missing
denied() {
	break_it '/big status=401'
	fetches 1 'big: .*401.*ACCESS_TOKEN' --uri "$url/big" || return
	break_it '/big status=403'
	fetches 1 'big: .*403' --uri "$url/big" || return
	break_it '/big expired'
	fetches 1 'big: HTTP 403 AccessDenied: Request has expired' --uri "$url/big"
}
check "401 names the variable; 403; 403 in the server's words" denied
gives_up() {
	break_it '/big status=503'
	fetches 1 'big: .*503.*tried 3 times' --uri "$url/big" --retries 2
}
check "503 forever: an error in the end" gives_up
list_waits() {
	break_it '/SHA256SUMS status=503 4'
	fetches 0 'manifest .*503.*; retrying in [0-9]+ s$' --uri "$url/SHA256SUMS" && same big
}
check "a list that is retried again and again: the pause is reported" list_waits
list_gives_up() {
	break_it '/SHA256SUMS status=503'
	fetches 1 'manifest .*503.*tried 2 times' --uri "$url/SHA256SUMS" --retries 1 &&
		logged '[a["path"] for a in log] == ["/SHA256SUMS"] * 2'
}
check "and as often as --retries says" list_gives_up
no_name() { fetches 1 'cannot resolve.*tried 2 times' --uri http://nowhere.invalid/big --retries 1; }
check "a name that does not resolve" no_name
nobody() { fetches 1 'big: 127.0.0.1:1: connection refused' --uri http://127.0.0.1:1/big --retries 1; }
check "nothing listens" nobody
stopped_asking() {
	AWS_EC2_METADATA_DISABLED=true ENDPOINT=http://127.0.0.1:1 timeout 3 "$kftrainer" initialize-dataset \
		--uri s3://buck/x --to "$scratch/to" 2>"$scratch/err"
	grep -q 'stopped before a retry: .*connection refused' "$scratch/err" || dump
}
check "stopped while listing: why it took so long" stopped_asking
loop() {
	break_it '/big redirect=/big'
	fetches 1 'big: .*redirects.*loop' --uri "$url/big"
}
check "a loop of redirects" loop
redirected() {
	cp "$web/big" "$web/one"
	break_it '/one redirect=/two' "/two redirect=$other/big 1" '/two redirect=/big'
	ACCESS_TOKEN=secret fetches 0 'files complete' --uri "$url/one" && same one &&
		logged '[a["auth"] for a in log if a["path"] == "/one"] == [True]' &&
		logged 'not any(a["auth"] for a in log if a["path"] == "/big")' &&
		rm "$web/one" && ! grep -rq secret "$scratch/out" "$scratch/err" "$scratch/to/.kftrainer"
}
check "redirects are followed, once a file; credentials stay with their host" redirected
blank() {
	mkdir -p "$web/moved"
	cp "$web/small" "$web/moved/a b.txt"
	cp "$web/small" "$web/a b.txt"
	break_it "/a?b.txt redirect=$url/moved{path}"
	fetches 0 'files complete' --uri "$url/a%20b.txt" && same "a b.txt" &&
		logged '[a["path"] for a in log] == ["/a b.txt", "/moved/a b.txt"]'
}
check "a redirect with a blank in it is followed" blank
foreign() {
	printf '%s\n' "$other/small" big >"$web/two.urls"
	break_it
	ACCESS_TOKEN=secret fetches 0 'files complete' --uri "$url/two.urls" &&
		logged '{a["path"]: a["auth"] for a in log} == {"/two.urls": True, "/big": True, "/small": False}'
}
check "a manifest's other hosts get no credentials" foreign

# ---- the disk ----
inside() { # MOUNT-OPTIONS COMMAND: with a tmpfs at $scratch/to
	mkdir -p "$scratch/to"
	unshare -rm sh -c "mount -t tmpfs -o $1 t '$scratch/to' && $2" >"$scratch/out" 2>"$scratch/err"
	status=$?
}
full() {
	clean
	break_it
	inside size=2m "'$kftrainer' initialize-dataset --uri '$url/big' --to '$scratch/to'"
	[ "$status" = 1 ] && grep -Eq 'not enough disk space.*missing' "$scratch/err" || dump || return
	inside size=2m "'$kftrainer' initialize-dataset --uri 'file://$web/big' --to '$scratch/to'"
	[ "$status" = 1 ] && grep -Eq 'not enough disk space: 5000000 bytes .*[0-9]+ bytes .* missing' "$scratch/err" || dump
}
inodes() {
	clean
	for i in $(seq 40); do echo "small f$i"; done >"$web/forty.urls"
	inside size=20m,nr_inodes=12 "'$kftrainer' initialize-dataset --uri '$url/forty.urls' --to '$scratch/to'"
	[ "$status" = 1 ] && grep -q "all 12 inodes of the volume" "$scratch/err" || dump
}
read_only() {
	clean
	inside size=2m,ro "'$kftrainer' initialize-dataset --uri '$url/big' --to '$scratch/to'"
	[ "$status" = 1 ] && grep -q 'Read-only file system' "$scratch/err" || dump
}
if unshare -rm true 2>/dev/null; then
	check "a full disk: how much is missing" full
	check "no inodes left" inodes
	check "a target that cannot be written" read_only
else
	skip "a full disk, a target that cannot be written" "no user namespaces here"
fi
two() {
	clean
	break_it '/big drip=300000'
	"$kftrainer" initialize-dataset --uri "$url/big" --to "$scratch/to" 2>/dev/null &
	local pid=$!
	for _ in $(seq 1000); do [ ! -e "$scratch/to/.kftrainer/lock" ] || break; sleep 0.05; done
	fetch --uri "$url/big"
	kill "$pid"
	wait "$pid"
	[ "$status" = 1 ] && grep -q 'another process' "$scratch/err" || dump
}
check "two of them into one folder" two

# ---- the end, and after it ----
has_written() { # PID KIB
	while kill -0 "$1" && [ "$(awk '/^wchar/ { print int($2 / 1024) }' "/proc/$1/io")" -lt "$2" ]; do sleep 0.05; done
}
stopped() {
	clean
	break_it '/big drip=300000'
	"$kftrainer" initialize-dataset --uri "$url/SHA256SUMS" --to "$scratch/to" 2>"$scratch/err" &
	local pid=$!
	has_written "$pid" 1500
	kill -TERM "$pid"
	wait "$pid"
	[ $? = 1 ] && grep -q 'run again' "$scratch/err" && [ ! -e "$scratch/to/big" ] || return
	break_it
	fetch --uri "$url/SHA256SUMS"
	[ "$status" = 0 ] && same big && grep -q 'big: resuming after [1-4]\.' "$scratch/err" || dump
}
check "SIGTERM: it stops, and goes on later" stopped
bad_journal() { # URI: the bytes that are there are others than the journal says; the journal is broken
	local how
	for how in 'printf x | dd of=$part bs=1 seek=100 conv=notrunc status=none' \
		'truncate -s 100 $journal' 'truncate -s 1000 $part' 'head -c 5000 /dev/urandom >$journal' \
		'printf xxxx | dd of=$journal bs=1 seek=70 conv=notrunc status=none' 'rm $part; mkdir $part'; do
		clean
		break_it '/big drip=300000'
		"$kftrainer" initialize-dataset --uri "$1" --to "$scratch/to" 2>/dev/null &
		local pid=$! part journal
		has_written "$pid" 1000
		kill -9 "$pid"
		wait "$pid" 2>/dev/null
		part=$(ls "$scratch"/to/.kftrainer/*.part | head -1)
		journal=${part%.part}.journal
		[ -s "$part" ] || return
		eval "$how"
		break_it
		fetch --uri "$1"
		[ -d "$part" ] && [ "$status" = 1 ] || { [ "$status" = 0 ] && same big; } || dump || return
	done
}
check "a journal and a part that were changed" bad_journal "$url/SHA256SUMS"
check "the same without a digest: detected by the journal's own sums" bad_journal "$url/big"
json() {
	clean
	break_it
	fetch --uri "$url/all.urls" --progress json
	[ "$status" = 0 ] && [ ! -s "$scratch/err" ] && python3 - "$scratch/out" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
done = {l["path"] for l in lines if l["event"] == "file" and l["state"] == "done"}
assert done == {"big", "small", "empty", "deep/er/file name.txt"}, lines
end = lines[-1]
assert end["event"] == "done" and end["filesDone"] == end["files"] == 4, end
assert end["bytes"] == end["bytesDone"] == 5050006 and end["percent"] == 100, end
END
}
check "--progress json: lines of JSON, a state for each file" json
failed_json() {
	clean
	break_it '/big status=404'
	fetch --uri "$url/big" --progress json
	[ "$status" = 1 ] && tail -1 "$scratch/out" | grep -q '"event":"failed".*"error":"big: ' || dump
}
check "and a last one with the reason of the failure" failed_json
variables() {
	clean
	break_it
	STORAGE_URI=$url/big OUTPUT_PATH=$scratch/to run initialize-dataset
	[ "$status" = 0 ] && same big
}
check "by environment variables" variables
finish
