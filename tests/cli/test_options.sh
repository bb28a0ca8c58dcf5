#!/bin/bash
# Options that describe or change the trainer: variables and their files, arguments, initializers, GPUs, a
# Python environment; with a file, without one, locally, as a dry run.
# shellcheck disable=SC2016,SC2034 # what is for other shells and Python
. "$(dirname "$0")/lib.sh"
dir=$scratch/d
mkdir "$dir"
cd "$dir" || exit 1
job <<<'trainer: {command: ["true"], args: [first], env: [{name: A, value: file}, {name: KEPT, value: "1"}],
  resourcesPerNode: {limits: {nvidia.com/gpu: 2, cpu: 3}}}' >job.yaml

# dry_run EXPRESSION WANT ARGUMENT...: of the objects of a dry run.
dry_run() { field "$1" "$2" submit --dry-run=client "${@:3}"; }
torch=(--runtime torch-distributed)

# ---- variables ----
printf '\xef\xbb\xbf# comment\n\n   \t# another\n  A=1\r\nB="two words" \nC=a=b # no comment\n.D-x=\nE=$(A) $$\nHERE\nF=\xc3\xa9\nA=last' >a.env
export HERE='$(here)'
check "a file: comments, blanks, a BOM, CRLF, no last newline" dry_run '[env.get(n) for n in ("A", "C", ".D-x", "F")]' \
	"['last', 'a=b # no comment', '', 'é']" "${torch[@]}" --env-file a.env -- true
check "... quotes and blanks stay" dry_run 'env["B"]' '"two words" ' "${torch[@]}" --env-file a.env -- true
check "... nothing is expanded in the pod" dry_run 'env["E"], env["HERE"]' "('\$\$(A) \$\$\$', '\$\$(here)')" "${torch[@]}" --env-file a.env -- true
check "... as the pod sees it" says 0 '^\[node-0\] <last|\$\(A\) \$\$|\$\(here\)>$' submit --local "${torch[@]}" --env-file a.env -- sh -c 'echo "<$A|$E|$HERE>"'
check "... whose quotes are not the format's: a warning, once" eval \
	'printf "X=1\nA=\"1\"\nB='\''s3cret'\''\n" >q.env && run submit --dry-run "${torch[@]}" --env-file q.env -- true &&
	[ "$(cat "$scratch/err")" = "kftrainer submit: warning: q.env:2: the quotes are part of the value, which ends with its line, as docker and kubectl read it (2 such lines)" ]'
check "... a name without a value here is left out, with a warning" eval \
	'echo NOT_SET_HERE >n.env && dry_run "\"NOT_SET_HERE\" in env" False "${torch[@]}" --env-file n.env -- true && grep -qx "kftrainer submit: warning: n.env:1: not set in the environment: left out" "$scratch/err"'
check "several files: the last counts, options before them" eval \
	'printf "A=1\nB=1\nC=1\n" >1.env; printf "B=2\nC=2\n" >2.env
	dry_run "env[\"A\"], env[\"B\"], env[\"C\"]" "('\''1'\'', '\''2'\'', '\''3'\'')" "${torch[@]}" --env-file 1.env -e C=3 --env-file 2.env -- true'
check "with a TrainJob's file: replaces and appends" dry_run '[e["name"] for e in node["env"] if e["name"][:3] != "PET"], env["A"]' \
	"(['A', 'KEPT', 'B', 'C', '.D-x', 'E', 'HERE', 'F'], 'last')" job.yaml --env-file a.env
check "from a pipe" dry_run 'env["P"]' 1 "${torch[@]}" --env-file <(echo P=1) -- true
bad() { # TEXT REGEX: refused, with file and line, and without a word of what is in it
	printf '%b' "$1" >bad.env
	refuses "^kftrainer submit: bad.env:$2" submit --dry-run "${torch[@]}" --env-file bad.env -- true && ! grep -qi s3cret "$scratch/err"
}
check "export is refused" bad 'A=1\nexport B=s3cret\n' "2: 'export' is for shells: remove it"
check "... only as a word" dry_run 'env["exported"]' 1 "${torch[@]}" --env-file <(echo exported=1) -- true
check "no name" bad '\n\n=s3cret\n' "3: the name before '=' is missing"
check "blanks around the name" bad 'A =s3cret\n' '1: a name has only ASCII characters, and no spaces'
check "a key of several lines" bad 'K=-----BEGIN PRIVATE KEY-----\ns3cret s3cret\n' '2: a name'
check "... one of its lines" bad 'K="-----BEGIN\nMIIs3cret+/ab\n' '2: want NAME=VALUE or NAME; a value ends with its line'
check "a NUL" bad 'A=1\nB=s3cret\0x\n' '2: a NUL character'
check "not UTF-8" bad 'A=s3cret\xff\n' '1: not UTF-8'
check "no such file" refuses '^kftrainer submit: --env-file none.env: No such file' submit --dry-run "${torch[@]}" --env-file none.env -- true
check "a directory" refuses '^kftrainer submit: --env-file \.: Is a directory' submit --dry-run "${torch[@]}" --env-file . -- true
check "too large" eval 'head -c 1100000 /dev/zero | tr "\0" A >big.env && refuses "big.env: " submit --dry-run "${torch[@]}" --env-file big.env -- true'
check "more variables than a TrainJob may have" eval 'seq 60000 | sed "s/.*/V&=&/" >many.env && refuses "spec.trainer.env: Too many: 60000: must have at most 128 items" submit --dry-run "${torch[@]}" --env-file many.env -- true'
check "--env NAME passes the value on" dry_run 'env["HERE"]' '$$(here)' "${torch[@]}" -e HERE -- true
check "... to a pod of this machine" says 0 '^\[node-0\] <\$\(here\)>$' submit --local "${torch[@]}" --env HERE -- sh -c 'echo "<$HERE>"'
check "... with a file" dry_run 'env["A"], env["HERE"]' "('2', '\$\$(here)')" job.yaml -e HERE -e A=2
check "... an empty value is one" eval 'EMPTY="" dry_run "env[\"EMPTY\"]" "" "${torch[@]}" -e EMPTY -- true'
check "... not set: an error" refuses '^kftrainer submit: --env NOPE: not set in the environment; export it, or pass NOPE=VALUE' submit --dry-run "${torch[@]}" -e NOPE -- true
check "--env without a name does not show the value" eval 'refuses "want NAME=VALUE or NAME: the name before .=. is missing" submit --dry-run "${torch[@]}" -e =s3cret -- true && ! grep -q s3cret "$scratch/err"'
check "--env NAME=VALUE may use the pod's variables" dry_run 'env["B"]' '$(A)' "${torch[@]}" -e 'B=$(A)' -- true

# ---- arguments, resources, nodes ----
check "--arg appends, literally" dry_run 'node["args"]' "['first', '--epochs=3', 'a b', '\$\$(x)']" job.yaml --arg --epochs=3 --arg 'a b' --arg '$(x)'
check "... without a file" dry_run 'node["command"], node["args"]' "(['echo', 'x'], ['y'])" "${torch[@]}" --arg y -- echo x
echo 'import sys; print(sys.argv[1:])' >args.py
trl=(--runtime trl-distributed --arg=--max_steps=4)
own="'--model_name_or_path=/workspace/model', '--dataset_name=/workspace/dataset', '--output_dir=/workspace/output'"
check "... after the runtime's own" dry_run 'node["command"], node["args"]' "(['torchrun', '-m', 'trl.scripts.sft'], [$own, '--max_steps=4'])" "${trl[@]}"
check "... with a file" dry_run 'node["args"]' "[$own, '--max_steps=4']" --arg=--max_steps=4 <(job <<<'trainer: {numNodes: 2}' | sed s/torch-dist/trl-dist/)
check "... but not after a command" dry_run 'node["command"], node["args"]' "(['torchrun', 'a.py'], ['--max_steps=4'])" "${trl[@]}" -- torchrun a.py
check "... to a script" says 0 "^\[node-0\] \['a', 'b'\]$" submit --local --runtime plain --runtime-file <(step_runtime plain '{numNodes: 1}') --arg b \
	args.py -- a
check "... what the pod runs" says 0 '^\[node-0\] x y$' submit --local "${torch[@]}" --arg y -- echo x
check "with a file: nodes, processes, image, CPUs" dry_run 'jobs["node"]["parallelism"], env["PET_NPROC_PER_NODE"], node["image"], node["resources"]["limits"]["cpu"]' \
	"(3, '4', 'a/b:c', '5')" job.yaml --nodes 3 --nproc-per-node 4 --image a/b:c --cpu 5
check "--nproc-per-node auto: what to do" refuses "^kftrainer submit: --nproc-per-node: 'auto' is not a whole number; leave it out: .* each GPU or, without GPUs, each CPU" \
	submit --dry-run job.yaml --nproc-per-node auto
check "... of every TrainJob in it" dry_run '[o["spec"]["replicatedJobs"][-1]["template"]["spec"]["parallelism"] for o in d["items"]]' '[3, 3]' \
	-f job.yaml -f <(sed 's/name: tiny/name: second/' job.yaml) --nodes 3
check "... a spec of the wrong type is still reported" says 2 'spec.trainer: ' submit --dry-run <(job <<<'trainer: [1]') --nodes 3
check "... a command is for no file" refuses 'a command cannot be combined with a file; --arg appends an argument' submit --dry-run job.yaml -- true
check "... --runtime, too" refuses '--runtime cannot be combined with a file' submit --dry-run job.yaml "${torch[@]}"
check "--gpu 0 with a file" dry_run 'node["resources"]["limits"], env["PET_NPROC_PER_NODE"]' "({'nvidia.com/gpu': '0', 'cpu': '3'}, '3')" job.yaml --gpu 0
check "... runs it here" says 0 'tiny: complete' submit --local job.yaml --gpu 0
check "... the refusal names it" refuses "requests 2 nvidia.com/gpu, but this machine has [01]; '--gpu 0' runs it without GPUs" submit --local job.yaml
check "... over the runtime's GPUs" dry_run 'node["resources"]["limits"]' "{'nvidia.com/gpu': '0'}" --runtime torchtune-llama3.2-1b --gpu 0 --nproc-per-node 1 -- tune run

# ---- initializers, torchtune ----
tune=(--runtime torchtune-llama3.2-1b)
uri='[e["value"] for j in ("dataset-initializer", "model-initializer") for c in jobs[j]["template"]["spec"]["containers"] for e in c["env"] if e["name"] == "STORAGE_URI"]'
check "--dataset and --model" dry_run "$uri" "['hf://a/data', 's3://b/model']" "${tune[@]}" --dataset hf://a/data --model s3://b/model -- tune run
check "... where they appear" eval 'grep -qx "dataset: at /workspace/dataset in the pods" "$scratch/err" && grep -qx "model: at /workspace/model in the pods" "$scratch/err"'
check "... replace a file's" dry_run "$uri" "['hf://a/other', 'hf://a/m']" --dataset hf://a/other \
	<(job <<<'initializer: {dataset: {storageUri: hf://a/d}, model: {storageUri: hf://a/m}}' | sed 's/torch-distributed/torchtune-llama3.2-1b/')
check "... a runtime without the initializer" refuses 'the runtime must have a job "model-initializer", as trl-distributed has, for spec.initializer' submit --dry-run "${torch[@]}" --model hf://a/b -- true
check "... locally as well" refuses 'the runtime must have a job "dataset-initializer", as trl-distributed has,' submit --local "${torch[@]}" --dataset hf://a/b -- true
check "tune run: the runtime's words, then the settings" dry_run 'node["command"][:2] + node["command"][-3:], node["args"]' \
	"(['tune', 'run', 'output_dir=/workspace/output', 'tokenizer.path=/workspace/model/original/tokenizer.model', 'checkpointer.checkpoint_dir=/workspace/model'], ['epochs=2', '~x', 'z=1'])" \
	"${tune[@]}" --arg z=1 -- tune run epochs=2 '~x'
check "... LoRA is recognized by them" dry_run '"lora_finetune_distributed" in node["command"]' True "${tune[@]}" -- tune run 'model.lora_attn_modules=[q_proj]'
check "... a recipe of one's own is refused" refuses "runtime torchtune-llama3.2-1b chooses the recipe and its configuration: pass only KEY=VALUE after 'tune run'" \
	submit --dry-run "${tune[@]}" -- tune run full_finetune_distributed --config llama3_2/1B_full epochs=2
check "... but is what another runtime runs" dry_run 'node["command"], node.get("args")' "(['tune', 'run', 'my_recipe', '--config', 'c.yaml', 'epochs=2'], None)" \
	"${torch[@]}" -- tune run my_recipe --config c.yaml epochs=2

# ---- a Python environment ----
python3 -m venv --without-pip env
here=$(realpath .)
inside='which python; echo "<$VIRTUAL_ENV $PYTHONHOME>"; python -c "import sys; print(sys.prefix)"'
check "--venv: the pods' python" eval 'PYTHONHOME=/nowhere says 0 "^\[node-0\] $here/env/bin/python$" submit --local "${torch[@]}" --venv env -- sh -c "$inside" &&
	grep -qxF "[node-0] <$here/env >" "$scratch/out" && grep -qxF "[node-0] $here/env" "$scratch/out"'
check "... with a file" eval 'job <<<"trainer: {command: [sh, -c, which python]}" >py.yaml; says 0 "^\[node-0\] $here/env/bin/python$" submit --local --venv env/ py.yaml'
check "... by the annotation" eval 'says 0 "^\[node-0\] $here/env/bin/python$" submit --local py.yaml --annotation "kftrainer.io/venv=$here/env"'
check "... one that is gone" refuses '^kftrainer submit: annotation kftrainer.io/venv: /none: no such directory' submit --local py.yaml --annotation kftrainer.io/venv=/none
mkdir -p conda/conda-meta conda/bin gone && ln -s /bin/true conda/bin/python && touch gone/pyvenv.cfg
check "... conda's" says 0 "^\[node-0\] <> <$here/conda> $here/conda/bin/python$" submit --local "${torch[@]}" --venv conda -- sh -c 'echo "<$VIRTUAL_ENV> <$CONDA_PREFIX> $(which python)"'
check "... no such directory" refuses '^kftrainer submit: --venv none: No such file or directory' submit --local "${torch[@]}" --venv none -- true
check "... not an environment" refuses "^kftrainer submit: --venv: $here: not a Python environment: it has no pyvenv.cfg" submit --local "${torch[@]}" --venv . -- true
check "... the directory above .venv" eval 'mkdir p && cp -a env p/.venv && refuses "not a Python environment; did you mean $here/p/.venv\?" submit --local "${torch[@]}" --venv p -- true'
check "... its interpreter is gone" refuses 'gone: bin/python is missing, or its interpreter is gone; create the environment again' submit --local "${torch[@]}" --venv gone -- true
ignored='--venv is ignored: in a cluster the image provides the Python environment'
check "... a cluster's dry run ignores it, with a line" eval 'says 0 "kind: JobSet" submit --dry-run "${torch[@]}" --venv env -- true && [ "$(cat "$scratch/err")" = "kftrainer submit: $ignored" ] && ! grep -q "$here" "$scratch/out"'
check "... a local one does not mention it" eval 'says 0 "kind: JobSet" submit --local --dry-run "${torch[@]}" --venv env -- true && [ ! -s "$scratch/err" ]'

# The pods of `controller --local` are processes of this machine.
unset HERE
coproc server { exec "$kftrainer" controller --local --data "$scratch/api" 2>"$scratch/log"; }
pid=$server_PID
read -r _ <&"${server[0]}"
export KUBECONFIG=$scratch/api/kubeconfig
check "controller --local: each job's own environment" eval '
	says 0 "$here/env/bin/python$" submit --follow "${torch[@]}" --name a --venv env -- which python && ! grep -q ignored "$scratch/err" &&
	says 0 "$here/conda/bin/python$" submit --follow "${torch[@]}" --name b --venv conda -- which python'
check "... one that is gone fails the job, and why says so" eval 'says 1 "" submit --follow py.yaml --name c --annotation kftrainer.io/venv=/none
	says 0 "annotation kftrainer.io/venv: /none: no such directory" why c'
check "variables and arguments through an API" eval 'HERE=x says 0 "^last x y$" submit --follow "${torch[@]}" --name d --env-file a.env --arg y -- sh -c "echo \$A \$HERE \$0"'
kill "$pid"
wait "$pid" 2>/dev/null
finish
