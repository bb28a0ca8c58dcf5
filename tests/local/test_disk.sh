#!/bin/bash
# A disk that fills up while a job runs: how it ended is known all the same.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"
if ! unshare -Urm true 2>/dev/null; then
	skip "a full disk" "no mount namespace to have a small disk in"
	finish
fi
job fills 1 < <(node 'head -c 1G /dev/zero >"$XDG_STATE_HOME/rest"; df "$XDG_STATE_HOME" | tail -1; echo done')
cat >small.sh <<'SH2'
mkdir -p "$XDG_STATE_HOME" && mount -t tmpfs -o size=4m small "$XDG_STATE_HOME" || exit 99
"$1" submit --local fills.yaml
echo "submit exits $?"
"$1" get fills -o yaml | grep -E "^ +(type|status|reason):|state"
"$1" get fills
SH2
run unshare -Urm bash small.sh "$kftrainer"
ok "the job is complete" printed 'submit exits 0'
ok "... although the disk was full" printed ' 100% '
ok "... and get says so" printed '^fills +Complete'
finish
