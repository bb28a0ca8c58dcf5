#!/bin/bash
# Commands, help, exit codes, where output goes.
. "$(dirname "$0")/lib.sh"
mandated='controller submit runtime initialize-model initialize-dataset cache-serve mpi-launch logs'

check "no argument: usage on stderr, 2" says 2 '^usage: kftrainer'
check "... and nothing on stdout" test ! -s "$scratch/out"
check "--help: on stdout" says 0 '^usage: kftrainer' --help
check "... and nothing on stderr" test ! -s "$scratch/err"
check "-h" says 0 '^usage: kftrainer' -h
check "help" says 0 '^usage: kftrainer' help
check "help of a command below another" says 0 '^usage: kftrainer runtime render' help runtime render
check "help of an unknown command" refuses "unknown command 'sumbit'; did you mean 'submit'" help sumbit
check "help below a command that has none" refuses "has no subcommands" help submit x
for command in $mandated; do
	check "$command --help" says 0 "^usage: kftrainer $command" "$command" --help
done
unlisted() { # COMMAND ARGUMENT...: what is run by pods alone is in no list, but says what it is
	run "${@:2}" --help
	[ "$status" = 0 ] && ! grep -q -e "$1" "$scratch/out" && says 0 "^usage: kftrainer ${*:2}${2:+ }$1" "${@:2}" "$1" --help
}
check "help: 'runtime unpack-workspace' is not listed" unlisted unpack-workspace runtime
check "help: 'runtime carry' is not listed" unlisted carry runtime
for command in mpi-launch mpi-worker; do
	check "help: '$command' is not listed" unlisted $command
done
check "help of logs: --rank is the node's" says 0 'only the node of this rank \(PET_NODE_RANK' logs --help
# -o name: KIND.GROUP/NAME wherever there is a name.
check "-o name: runtime list" says 0 '^clustertrainingruntime.trainer.kubeflow.org/torch-distributed$' runtime list -o name
check "-o name: runtime get" says 0 '^clustertrainingruntime.trainer.kubeflow.org/torch-distributed$' runtime get torch-distributed -o name
check "-o name: install" says 0 '^deployment.apps/kubeflow-trainer-controller-manager$' install -o name
check "-o name: ... with all that it has" bash -c '[ "$("$1" install -o name | wc -l)" = "$("$1" install -o yaml | grep -c "^kind:")" ]' - "$kftrainer"
check "--version" says 0 '^kftrainer [0-9]' --version
check "version -o json" says 0 '"version": "[0-9]' version -o json
check "version takes no argument" refuses "unexpected argument 'x'" version x
check "unknown command: the nearest" refuses "unknown command 'sumbit'; did you mean 'submit'\\?" sumbit
check "... that of another tool: apply" refuses "unknown command 'apply'; did you mean 'submit'\\?" apply -f job.yaml
check "... describe" refuses "unknown command 'describe'; did you mean 'why'\\?" describe job
check "... ls, at the top and below another" refuses "unknown command 'ls'; did you mean 'get'\\?" ls
check "... below another" refuses "kftrainer runtime: unknown command 'ls'; did you mean 'list'\\?" runtime ls
check "... run, though runs is nearer" refuses "unknown command 'run'; did you mean 'submit'\\?" run train.py
check "unknown command: none is near" refuses "unknown command 'xyzzy'$" xyzzy
check "unknown command below another" refuses "kftrainer runtime: unknown command 'lst'; did you mean 'list'" runtime lst
check "a group without its command" refuses 'get\|list\|render\|validate' runtime
check "unknown option: the nearest" refuses "unknown option '--locl'; did you mean '--local'\\?" submit --locl
check "unknown option before the command" refuses "unknown option '--frob'" --frob
check "an option without its value" refuses '--name needs a value' submit --name
check "a flag with a value" refuses '--local takes no value' submit --local=yes
check "an invalid number" refuses "--nodes: 'two'" submit --nodes two
check "a number out of range" refuses '--nodes: ' submit --nodes 0
check "an invalid format" refuses "'xml' is not one of" runtime list -o xml

by_name() { # NAME WANT ARGUMENT...: called by a link of that name
	local name=$1 want=$2
	shift 2
	ln -sf "$kftrainer" "$scratch/$name"
	"$scratch/$name" "$@" >"$scratch/out" 2>&1
	grep -Eq -e "$want" "$scratch/out" || { cat "$scratch/out"; return 1; }
}
check "by the name kftrainer-version" by_name kftrainer-version '^kftrainer [0-9]'
check "by the name initialize-model" by_name initialize-model '^kftrainer initialize-model: no source: set STORAGE_URI'
check "by the name kubectl-trainer" by_name kubectl-trainer 'torch-distributed' runtime list
check "by a name that says nothing" by_name whatever '^kftrainer [0-9]' version

full_disk() { "$kftrainer" runtime list >/dev/full 2>"$scratch/err"; status=$?; : >"$scratch/out"
	[ $status = 1 ] && grep -q 'writing the output failed: No space left' "$scratch/err" || dump; }
closed_stdout() { "$kftrainer" runtime list >&- 2>"$scratch/err"; status=$?; : >"$scratch/out"
	[ $status = 1 ] && grep -q 'writing the output failed' "$scratch/err" || dump; }
closed_pipe() { "$kftrainer" install --crds -o json 2>"$scratch/err" | true; status=${PIPESTATUS[0]}; : >"$scratch/out"
	{ [ "$status" = 141 ] || [ "$status" = 1 ]; } && [ "$(wc -l <"$scratch/err")" -le 1 ] || dump; }
unread() { python3 - "$kftrainer" install --crds <<-'END'
	import fcntl, os, subprocess, sys, time
	r, w = os.pipe()
	fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)
	p = subprocess.Popen(sys.argv[1:], stdout=w)
	os.close(w)
	while p.poll() is None and open(f"/proc/{p.pid}/stat").read().split()[2] != "S":
	    time.sleep(0.01)
	got = 0
	while data := os.read(r, 4096):
	    got += len(data)
	    time.sleep(0.001)
	sys.exit(p.wait() or got != len(subprocess.run(sys.argv[1:], capture_output=True).stdout))
	END
}
check "a pipe that others have made non-blocking is waited for" unread
check "a full disk is reported" full_disk
check "a closed stdout is reported" closed_stdout
check "a closed pipe ends it quietly" closed_pipe
check "all descriptors closed" bash -c '"$1" version <&- >&- 2>&-; [ $? = 1 ]' - "$kftrainer"

no_escapes() { run "$@"; ! grep -q $'\033' "$scratch/out" "$scratch/err"; }
check "no colours into a file" no_escapes runtime list

# ---- runtime carry: the program for other containers -------------------------------------------
carried() { # DIR: the program and its links, which run from there
	cmp "$1/kftrainer" "$kftrainer" && [ "$(stat -c %a "$1/kftrainer")" = 755 ] &&
		[ "$(readlink "$1/mpi-launch") $(readlink "$1/mpi-worker")" = "kftrainer kftrainer" ] &&
		[ "$(ls -A "$1" | tr '\n' ' ')" = "kftrainer mpi-launch mpi-worker " ] &&
		"$1/mpi-launch" --help | grep -q '^usage: .*mpi-launch' && "$1/mpi-worker" --help | grep -q '^usage: .*mpi-worker'
}
carry() { run runtime carry --to "$1" && [ "$status" = 0 ] && carried "$1" || dump; }
check "carry: to a new directory" carry "$scratch/carry/bin"
check "carry: again, over existing files" carry "$scratch/carry/bin"
over_others() {
	rm "$scratch/carry/bin/mpi-launch" && echo old >"$scratch/carry/bin/mpi-launch" && ln -sf /nowhere "$scratch/carry/bin/mpi-worker" &&
		carry "$scratch/carry/bin"
}
check "carry: files of those names are replaced" over_others
in_use() { # the copy runs while it is replaced
	"$scratch/carry/bin/kftrainer" runtime carry --to "$scratch/carry/bin" >/dev/null && carried "$scratch/carry/bin"
}
check "carry: by the copy itself" in_use
check "carry: for other users" bash -c 'umask 077; "$1" runtime carry --to "$2" >/dev/null && [ "$(stat -c %a "$2/kftrainer")" = 755 ]' - "$kftrainer" "$scratch/carry/masked"
check "carry: no directory" refuses '--to is required' runtime carry
check "carry: an argument" refuses "unexpected argument 'x'" runtime carry --to "$scratch/carry" x
echo file >"$scratch/carry/file"
check "carry: to a file" says 1 'carry/file: Not a directory' runtime carry --to "$scratch/carry/file"
mkdir "$scratch/carry/blocked" && mkdir -p "$scratch/carry/blocked/mpi-launch/full"
check "carry: a directory where a link belongs" says 1 'blocked/mpi-launch: ' runtime carry --to "$scratch/carry/blocked"
check "carry: ... and no temporary file is left" bash -c '! ls -A "$1" | grep -v "^\(kftrainer\|mpi-launch\)$"' - "$scratch/carry/blocked"
finish
