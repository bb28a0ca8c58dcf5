#!/bin/bash
# Homes on file systems of other kinds: NFS and Lustre without locks, with quotas that close() tells, with names for open files.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"
if ! strace -o /dev/null true 2>/dev/null; then
	skip "file systems of other kinds" "no strace here"
	finish
fi
jobs=$XDG_STATE_HOME/kftrainer/jobs/default
job plain 1 < <(node 'echo it runs')
job waits 1 < <(node 'touch up; exec sleep 1000')
# without WHAT PATH ARGUMENT...: a file system that refuses that of this file.
without() { run strace -f -P "$2" -o /dev/null -e inject="$1" "$kftrainer" "${@:3}"; }

without fcntl:error=ENOLCK "$jobs/plain/lock" submit --local plain.yaml
ok "without locks no job starts, and it is said what to set" eval \
	'exits 1 && printed "plain/lock cannot be locked \(No locks available\); set XDG_STATE_HOME to a directory on a file system with locks"'
submit plain
without fcntl:error=ENOSYS "$jobs/plain/lock" delete plain
ok "a job that another host has run cannot be deleted where its lock cannot be had, which is said" eval \
	'exits 1 && printed "plain/lock cannot be locked .Function not implemented" && not_printed "is running"'
run "$kftrainer" submit --local --detach waits.yaml
until_true test -e up
without fcntl:error=ENOLCK "$jobs/waits/lock" get waits
ok "... and one that runs there was not killed" printed '^waits +Running'
run "$kftrainer" delete waits

strace -f -y -o calls -e trace=unlink,close,rmdir "$kftrainer" delete plain >out 2>&1
status=$?
ok "a job is deleted" eval 'exits 0 && [ ! -e "$jobs/plain" ]'
# NFS keeps a removed file that is open under another name in its directory, which rmdir() then refuses.
ok "... its lock is closed before its directory is removed" test "$(grep -Eo '(unlink|close|rmdir).*/plain(/lock[^/]*)?[">].* = 0' calls | cut -d'(' -f1 | tail -n 3 | xargs)" = "unlink close rmdir"

submit plain
if unshare -Urm true 2>/dev/null; then
	cat >kept.sh <<'SH2'
kept=$(dirname "$2"/2*/logs/*/*.log)/.nfs0000000000000001 # cannot be removed, as while it is open
touch "$kept"
mount --bind "$kept" "$kept"
"$1" delete plain
SH2
	run unshare -Urm bash kept.sh "$kftrainer" "$jobs/plain"
	ok "a job is deleted although NFS keeps a log that another process has open" exits 0
	run "$kftrainer" get plain
	ok "... and is gone" exits 1
	submit plain
	ok "... its name can be used again" exits 0
	run "$kftrainer" delete plain

	submit plain
	cat >mounted.sh <<'SH2'
mounted=$(dirname "$2"/2*/logs/*/*.log)/mounted
mkdir "$mounted"
mount -t tmpfs none "$mounted"
touch "$mounted/file"
"$1" delete plain
SH2
	run unshare -Urm bash mounted.sh "$kftrainer" "$jobs/plain"
	ok "a directory with a file system below it is not removed, and it is said why" eval 'exits 1 && printed "Directory not empty"'
	run "$kftrainer" delete plain
	ok "... but it is without one" exits 0
fi
run timeout 60 strace -f -P "$scratch/api/lock" -o /dev/null -e inject=flock:error=ENOLCK "$kftrainer" controller --local --idle 1s --data "$scratch/api"
ok "without locks no server starts, and it is said what to choose" eval \
	'exits 1 && printed "api/lock cannot be locked \(No locks available\); choose a directory on a file system with locks"'

mkdir -p "$jobs/plain/29990101T000000Z-001"
without close:error=EDQUOT "$jobs/plain/29990101T000000Z-002/objects.json.new" submit --local plain.yaml
ok "a quota that close() tells of: no job starts with half of its files" eval 'exits 1 && printed "state of local jobs: .*/objects.json: .*[Qq]uota exceeded"'
run "$kftrainer" get plain
ok "... and none is stored" exits 1
finish
