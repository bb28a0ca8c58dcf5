#!/bin/bash
# file://, pvc://, and what is told while files come: the status server, a terminal.
. "$(dirname "$0")/lib.sh"
mkdir -p "$web/sub/deep" "$scratch/claims/data/v1"
head -c 3000000 /dev/urandom >"$web/big"
: >"$web/empty"
echo small >"$web/sub/deep/small"
ln -s deep/small "$web/sub/link"
ln -s deep "$web/sub/folder"
mkfifo "$web/pipe"
cp "$web/big" "$scratch/claims/data/v1/big"

folder() {
	fetches 0 '^4 files' --uri "file://$web" && same big && same sub/deep/small && same empty &&
		cmp "$web/sub/deep/small" "$scratch/to/sub/link" && [ ! -L "$scratch/to/sub/link" ] &&
		[ ! -e "$scratch/to/sub/folder" ] && [ ! -e "$scratch/to/pipe" ] &&
		grep -q 'skipped .*folder: symbolic link to a directory' "$scratch/err"
}
check "a folder: links to files are files, links to folders and pipes are left out" folder
again() {
	fetch --uri "file://$web"
	[ "$status" = 0 ] && grep -q '; 0 B fetched' "$scratch/err" || dump || return
	echo other >"$web/sub/deep/small"
	fetch --uri "file://$web"
	[ "$status" = 0 ] && same sub/deep/small || dump
}
check "again: only what has changed" again
# What an earlier run copied into the source would be copied again each time.
within() { # URI: the target is in it
	local i
	for i in 1 2; do
		PVC_ROOT=$scratch/claims run initialize-dataset --uri "$1" --to "$scratch/claims/data/v1/copy"
		[ "$status" = 0 ] && [ "$(cd "$scratch/claims/data" && find . -type f -not -path '*/.kftrainer/*' | sort | xargs)" = "./v1/big ./v1/copy/${2}big" ] || dump || return
	done
	rm -r "$scratch/claims/data/v1/copy"
}
check "a target in its source is left out" within "file://$scratch/claims/data/v1" ''
check "... in a claim" within pvc://data v1/
check "a file" fetches 0 '^1 files' --uri "file://$web/big"
check "a newline at the end of STORAGE_URI, as of a Secret's" eval 'export STORAGE_URI="file://$web/big"$'"'\n'"'; fetches 0 "^1 files"; s=$?; unset STORAGE_URI; [ "$s" = 0 ]'
# '#', '?' and '%' are characters of a name; "%20" is a blank only where no file has that name.
names=$scratch/claims/names
mkdir -p "$names/c" "$names/c#" "$names/q?a=b"
for f in 'c/x' 'c#/x' 'c#/a b' 'c#/a%20b' 'c#/100%' 'c#/a+b\c;ü' 'q?a=b/x'; do echo "$f" >"$names/$f"; done
named() { # PATH-IN-URI FILE...: these come, as they are there, of a file:// and of a pvc:// URI.
	local uri f path=$1 want
	shift
	want=$(for f in "$@"; do cat "$names/$f" || return; done | sort)
	for uri in "file://$names/$path" "pvc://names/$path"; do
		clean
		PVC_ROOT=$scratch/claims fetch --uri "$uri"
		[ "$status" = 0 ] && [ "$want" = "$(find "$scratch/to" -name .kftrainer -prune -o -type f -exec cat {} + | sort)" ] || dump || return
	done
}
check "a directory with # in its name" named 'c#' 'c#/x' 'c#/a b' 'c#/a%20b' 'c#/100%' 'c#/a+b\c;ü'
check "a directory beside it" named c/ c/x
check "a file below it" named 'c#/x' 'c#/x'
check "? and what follows" named 'q?a=b/x' 'q?a=b/x'
check "a name with % in it" named 'c#/a%20b' 'c#/a%20b'
check "% at the end" named 'c#/100%' 'c#/100%'
made=$scratch/made
mkdir -p "$made/new dir" "$made/as%20is"
stored() { # PATH-IN-URI DIRECTORY: what is uploaded there is in that directory
	run export-model "$web/sub/deep" --uri "file://$made/$1"
	[ "$status" = 0 ] && [ -f "$made/$2/small" ] || dump
}
check "%20 in the parent of what is uploaded is a blank only where no directory has that name" eval 'stored new%20dir/a%20b/c "new dir/a b/c" &&
	stored as%20is/c%20d as%20is/c%20d && stored e%20f e%20f && stored 50%/g%20h 50%/g%20h'
check "blanks" named 'c#/a b' 'c#/a b'
check "+, ; and \\" named 'c#/a+b\c;ü' 'c#/a+b\c;ü'
check "percent-encoded" named 'c%23/100%25' 'c#/100%'
missing() { fetches 1 "$names/d#/x%20y: No such file" --uri "file://$names/d#/x%20y"; }
check "a name that no file has, as it was given" missing
rm "$names"/*/*
check "a file that does not exist" fetches 1 'nothere: No such file' --uri "file://$web/nothere"
check "a host" says 2 'only local files' initialize-dataset --uri file://host/x --to "$scratch/to"
claim() {
	PVC_ROOT=$scratch/claims fetches 0 '^1 files' --uri pvc://data/v1 && same big &&
		clean && PVC_ROOT=$scratch/claims fetch --uri pvc://data && cmp "$web/big" "$scratch/to/v1/big"
}
check "a claim, and a folder of one" claim
check "a claim that is not mounted: where it should be" \
	says 1 'claim none: no directory /mnt/none; mount' initialize-dataset --uri pvc://none/x --to "$scratch/to"
check "a claim's path that leads out" says 2 'without' initialize-dataset --uri pvc://data/../x --to "$scratch/to"
check "cache:// needs a TrainJob" says 2 'TRAIN_JOB_NAME is not set' initialize-dataset --uri cache://a/b --to "$scratch/to"
pages() { # a page's address and what is said; all are refused before anybody is asked
	while read -r uri words; do
		says 2 "$words" initialize-dataset --uri "$uri" --to "$scratch/to" || return
	done <<-END
		https://huggingface.co/org/name : use hf://models/org/name$
		https://HuggingFace.co/datasets/org/name/tree/v1/data : use hf://datasets/org/name@v1/data$
		https://hf.co/spaces/org/name : use hf://org/name$
		https://github.com/org/name/blob/main/a.csv write /raw/ in place of /blob/
		https://git.example/org/name/-/blob/main/a.csv write /-/raw/ in place of /-/blob/
	END
}
check "a page of a hub or a Git server is not a file" pages
check "... the nearest: s3a" says 2 "unknown scheme 's3a'.*; did you mean 's3'[?]$" initialize-dataset --uri s3a://a/b --to "$scratch/to"
check "... gcs" says 2 "; did you mean 'gs'[?]$" initialize-model --uri gcs://a/b --to "$scratch/to"
check "an unknown scheme: lists the known ones" says 2 "unknown scheme 'ftp'.*hf://.*s3://" initialize-dataset --uri ftp://a/b --to "$scratch/to"
# --to is the user's own word, and may be a link or lie behind one. What is below it is not.
linked() {
	clean
	mkdir -p "$scratch/real" "$scratch/outside"
	ln -sfn real "$scratch/to"
	fetch --uri "file://$web"
	[ "$status" = 0 ] && [ -L "$scratch/to" ] && cmp "$web/big" "$scratch/real/big" || dump || return
	run initialize-dataset --uri "file://$web/big" --to "$scratch/to/behind"
	[ "$status" = 0 ] && cmp "$web/big" "$scratch/real/behind/big" || dump
}
check "--to is a link, or below one" linked
fails() { # WORDS
	fetch --uri "file://$web"
	[ "$status" = 1 ] && grep -q "$1" "$scratch/err" && [ -z "$(ls -A "$scratch/outside")" ] || dump
}
not_below() {
	rm -r "$scratch/real/sub"
	ln -s "$scratch/outside" "$scratch/real/sub"
	fails 'parent directory is a symbolic link' || return
	rm -r "$scratch/real/sub" "$scratch/real/.kftrainer"
	ln -s "$scratch/outside" "$scratch/real/.kftrainer"
	fails '\.kftrainer'
}
check "below it no link is followed, our own directory included" not_below
dangling() {
	ln -sfn "$scratch/nowhere" "$scratch/to"
	fails 'to: No such file or directory' && [ ! -e "$scratch/nowhere" ]
}
check "--to is a link to nothing: nothing is made there" dangling
clean

of_another() { # what an earlier run's user has left
	local less=""
	rm -rf "$scratch/to"
	fetches 0 '^1 files' --uri "file://$web/big" || return
	chmod 444 "$scratch/to/.kftrainer/lock"
	[ "$(id -u)" != 0 ] || less="setpriv --bounding-set=-dac_override"
	$less "$kftrainer" initialize-dataset --uri "file://$web/big" --to "$scratch/to" >"$scratch/out" 2>"$scratch/err"
	status=$?
	[ "$status" = 1 ] && grep -q '/.kftrainer: Permission denied for user .*fsGroup' "$scratch/err" || dump
}
check "the directory of another user's run: what to set" of_another
check "no URI" says 2 'STORAGE_URI' initialize-dataset
check "no URI at all" says 2 'is not a URI' initialize-model --uri org/name
check "... but a path" says 2 'is not a URI: that of a path is file:///data/x' initialize-model --uri /data/x

cat >"$scratch/statusd.py" <<'END'
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        print(self.path, self.headers["Authorization"], body.decode(), flush=True)
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", 0), H)
open(sys.argv[1], "w").write(f"{s.server_port}\n")
s.serve_forever()
END
python3 "$scratch/statusd.py" "$scratch/port" >"$scratch/posts" &
servers+=($!)
for _ in $(seq 1000); do [ ! -s "$scratch/port" ] || break; sleep 0.05; done
echo secret >"$scratch/token"
posted() {
	KUBEFLOW_TRAINER_SERVER_URL=http://127.0.0.1:$(cat "$scratch/port")/status \
		KUBEFLOW_TRAINER_SERVER_TOKEN=$scratch/token fetches 0 'files complete' --uri "file://$web/big" || return
	grep -Eq '^/status Bearer secret \{"trainerStatus":\{"progressPercentage":100,"estimatedRemainingSeconds":0,"lastUpdatedTime":"[^"]*Z"\}\}$' \
		"$scratch/posts" || { cat "$scratch/posts"; return 1; }
}
check "progress is posted to the status server" posted
not_posted() {
	KUBEFLOW_TRAINER_SERVER_URL=http://127.0.0.1:1/status KUBEFLOW_TRAINER_SERVER_TOKEN=$scratch/token \
		fetches 0 'cannot report progress' --uri "file://$web/big"
}
check "a missing status server does no harm" not_posted
terminal() {
	clean
	TERM=xterm script -qec "'$kftrainer' initialize-dataset --uri 'file://$web/big' --to '$scratch/to' --progress bar" \
		/dev/null >"$scratch/out" </dev/null
	grep -q '\[####.*2.9 MiB of 2.9 MiB' "$scratch/out" && grep -q '1 files complete' "$scratch/out"
}
if command -v script >/dev/null; then check "a bar on a terminal" terminal; else skip "a bar on a terminal" "no script(1)"; fi
finish
