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
rm "$XDG_STATE_HOME/rest"
"$1" submit --local -q rests.yaml &
until "$1" get rests 2>&1 | grep -q Running; do sleep 0.1; done
head -c 1G /dev/zero >"$XDG_STATE_HOME/rest"
"$1" suspend --local rests
sleep 0.5
rm "$XDG_STATE_HOME/rest"
"$1" wait --local rests --for suspended --timeout 120s
kill $!
wait
SH2
job rests 1 < <(node 'exec sleep 1000')
run unshare -Urm bash small.sh "$kftrainer"
ok "the job is complete" printed 'submit exits 0'
ok "... although the disk was full" printed ' 100% '
ok "... and get says so" printed '^fills +Complete'
ok "what could not be stored is stored once there is room" printed 'rests is Suspended'
if strace -o /dev/null true 2>/dev/null; then
	job filled 1 < <(node 'touch "$XDG_STATE_HOME/go"; until df "$XDG_STATE_HOME" | grep "100%"; do sleep 0.1; done; sleep 1; echo done')
	cat >filled.sh <<'SH2'
mkdir -p "$XDG_STATE_HOME" && mount -t tmpfs -o size=4m small "$XDG_STATE_HOME" || exit 99
(until [ -e "$XDG_STATE_HOME/go" ]; do sleep 0.1; done; while :; do head -c 4096 /dev/zero; done 2>/dev/null >>"$XDG_STATE_HOME/rest") &
strace -f -o /dev/null -e inject=fallocate:error=EOPNOTSUPP "$1" submit --local filled.yaml
echo "submit exits $?"
kill $!
rm "$XDG_STATE_HOME/rest"
"$1" get filled
SH2
	run unshare -Urm bash filled.sh "$kftrainer"
	ok "a disk that is kept full, of NFS or another file system that allocates nothing in advance: complete, too" eval \
		'printed "submit exits 0" && printed "^filled +Complete"'
else
	skip "a full disk of a file system that allocates nothing in advance" "no strace here"
fi
finish
