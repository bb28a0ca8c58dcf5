#!/bin/bash
# `submit CODE.py`: the code arrives byte for byte, whatever is in it and whichever shell.
. "$(dirname "$0")/lib.sh"
d=$scratch/d
mkdir "$d" "$scratch/tmp" "$scratch/work"
cd "$scratch/work" || exit 1
export TMPDIR=$scratch/tmp
step_runtime plain '{numNodes: 1}' >"$d/plain.yaml"
plain=(--runtime plain --runtime-file "$d/plain.yaml")
cat >"$d/traps.py" <<'P'
import hashlib, os, sys
print("sum", hashlib.sha256(open(__file__, "rb").read()).hexdigest())
print("args", sys.argv[1:], os.path.basename(__file__))
import beside
TEXT = "$HOME ${HOME} $(whoami) `id` $$ $$(PATH) $(PATH) ${5} !! \\d \\\\ %s %% * ? ~ \x7f"
EOM = '''
EOM
EOF
'"quotes"' "it's"
'''  # ä 漢 🚀
P
echo 'print("module of the folder")' >beside.py
printf 'x = "a"\r\n\r\n# \x01 no newline at the end, $(' >>"$d/traps.py"
sum() { sha256sum <"$1" | cut -d ' ' -f 1; }
arrives() { says 0 "sum $(sum "$1")" submit --local "${plain[@]}" "$@"; }

check "code full of traps" arrives "$d/traps.py" -- 'a  b' '$(PATH)' '$x' '' "it's"
check "... its arguments" grep -qF "args ['a  b', '\$(PATH)', '\$x', '', \"it's\"] traps.py" "$scratch/out"
check "... modules of the folder it is called from" grep -q 'module of the folder' "$scratch/out"
check "... leaves nothing behind" bash -c '[ -z "$(ls -A "$1")" ]' - "$TMPDIR"
check "-f, too" arrives -f "$d/traps.py"
check "its name is the file's" says 0 'traps: complete' submit --local "${plain[@]}" "$d/traps.py"
printf 'import warnings\nwarnings.warn("careful")\nraise ValueError("boom")\n' >"$d/falls.py"
"$kftrainer" submit --local "${plain[@]}" "$d/falls.py" >"$scratch/out" 2>"$scratch/err"
check "a traceback names the script, not its copy" grep -qF '[node-0]   File "falls.py", line 3, in <module>' "$scratch/out"
check "... and so does a warning" grep -qF '[node-0] falls.py:2: UserWarning: careful' "$scratch/out"
check "... the traceback is repeated last" bash -c 'diff <(grep -v "^falls: \|^logs: " "$1" | tail -n 4) <(printf "traceback:\n      File \"falls.py\", line 3, in <module>\n        raise ValueError(\"boom\")\n    ValueError: boom\n")' - "$scratch/err"
check "... logs, too" says 0 '^  File "falls.py", line 3' logs falls
check "... logs --raw: the copy" says 0 '^  File "/.*/kftrainer-[^/]*/falls.py", line 3' logs falls --raw
head='import hashlib; print("sum", hashlib.sha256(open(__file__, "rb").read()).hexdigest())'
{ echo "$head"; printf '# '; head -c 270000 /dev/urandom | base64 -w 0; } >"$d/long.py"
check "360 KiB" arrives "$d/long.py"
{ echo "$head"; python3 -c 'print("# " + "漢" * 100000, end="")'; } >"$d/wide.py"
check "300 KB of three bytes a character" arrives "$d/wide.py"
{ echo '# -*- coding: latin-1 -*-'; echo "$head"; printf '# \xff\xe4$(id)\r'; } >"$d/latin.py"
check "no UTF-8" arrives "$d/latin.py"
echo "$head" >"$d/-x -y 'z'.py"
check "an odd name" arrives --name odd -f "$d/-x -y 'z'.py"
: >"$d/empty.py"
check "none at all" says 0 complete submit --local "${plain[@]}" "$d/empty.py"
echo 'raise SystemExit(5)' >"$d/five.py"
check "its exit code" says 5 'exit code 5' submit --local "${plain[@]}" "$d/five.py"
check "in two nodes at once" says 0 complete submit --local "${plain[@]}" --nodes 2 "$d/traps.py"

# The command as a container gets it, by other shells than this machine's sh.
render() { "$kftrainer" submit --dry-run -o json "${plain[@]}" "$@" >"$scratch/render.json"; }
by() { # SHELL...: runs what was rendered
	python3 - "$scratch/render.json" "$@" <<'P'
import json, re, subprocess, sys
spec = json.load(open(sys.argv[1]))["items"][-1]["spec"]["replicatedJobs"][0]["template"]["spec"]
words = spec["template"]["spec"]["containers"][0]["command"]
words = [re.sub(r"\$\$", "$", w) for w in words]
assert max(len(w.encode()) for w in words) < 128 * 1024
sys.exit(subprocess.run([*sys.argv[2:], *words[1:]]).returncode)
P
}
says_sum() { "${@:2}" >"$scratch/by" 2>&1 && grep -q "sum $(sum "$1")" "$scratch/by" || { cat "$scratch/by"; return 1; }; }
for file in traps long latin; do
	render "$d/$file.py"
	for shell in dash bash "busybox sh" "bash --posix"; do
		command -v "${shell%% *}" >/dev/null || continue
		# shellcheck disable=SC2086
		check "$file.py by $shell" says_sum "$d/$file.py" by $shell
	done
done
render "$d/traps.py"
check "no \$TMPDIR: the next folder" says_sum "$d/traps.py" env TMPDIR=/nowhere bash -c "$(declare -f by); scratch=$scratch; by sh"
mkdir "$scratch/bin"
printf '#!/bin/sh\necho by torchrun "$#"\nexec python3 "$@"\n' >"$scratch/bin/torchrun"
printf '#!/bin/sh\necho by mpirun\nOMPI_COMM_WORLD_RANK=0 exec "$@"\n' >"$scratch/bin/mpirun"
chmod +x "$scratch/bin"/*
check "a runtime for torch" says_sum "$d/traps.py" env PET_NNODES=1 "PATH=$scratch/bin:$PATH" bash -c "$(declare -f by); scratch=$scratch; by sh"
check "... has torchrun start it" grep -q 'by torchrun 1' "$scratch/by"
check "a runtime for Open MPI" says_sum "$d/traps.py" env OMPI_MCA_orte_default_hostfile=x "PATH=$scratch/bin:$PATH" \
	bash -c "$(declare -f by); scratch=$scratch; by sh"
check "... has mpirun start it" grep -q 'by mpirun' "$scratch/by"
check "the runtime is torch-distributed, where none is named" says 0 'PET_NNODES' submit --dry-run "$d/traps.py"

head -c 600000 /dev/zero >"$d/huge.py"
check "too much" refuses 'huge.py: larger than the 512 KiB that a TrainJob can carry; use --workspace' submit --dry-run "$d/huge.py"
check "a missing file" refuses 'absent.py: No such file' submit --dry-run "$d/absent.py"
check "a folder without a TrainJob" refuses 'd/: contains no TrainJob' submit --dry-run -f "$d/"
mkdir "$d/folder.py"
check "a folder of that name" refuses 'folder.py: ' submit --dry-run "$d/folder.py"
for option in '--context x' '--kubeconfig x'; do
	# shellcheck disable=SC2086
	check "--local $option" refuses 'cannot be combined with --local' submit --local $option "$d/traps.py"
done
check "--dry-run --detach" refuses 'cannot be combined with --detach' submit --local --detach --dry-run=server "$d/traps.py"
check "--dry-run --follow" refuses 'cannot be combined with --follow' submit --dry-run --follow "$d/traps.py"
check "--max-restarts on a cluster" refuses 'failurePolicy.maxRestarts' submit --max-restarts 3 "$d/traps.py"
check "--timeout alone" refuses 'requires --follow, --wait or --local' submit --timeout 3s "$d/traps.py"
check "--name and --generate-name" refuses 'not both' submit --dry-run --name a --generate-name b "$d/traps.py"
check "an invalid label" refuses "--label: invalid value 'x': want KEY=VALUE" submit --dry-run -l x "$d/traps.py"
check "an invalid annotation" refuses "--annotation: invalid value '=x'" submit --dry-run --annotation =x "$d/traps.py"
finish
