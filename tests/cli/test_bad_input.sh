#!/bin/bash
# Bad input: refused with status 2 and one clear line, or a line for each error.
. "$(dirname "$0")/lib.sh"
in=$scratch/in
submit=(submit --dry-run)
spec() { job >"$in"; } # lines of the spec on stdin
trainer() { { echo trainer:; sed 's/^/  /'; } | spec; }

: >"$in"
check "an empty file" refuses "in: contains no document" "${submit[@]}" "$in"
printf -- '---\n# nothing\n---\n' >"$in"
check "only comments" refuses 'contains no document' "${submit[@]}" "$in"
head -c 104857600 /dev/zero >"$in"
check "100 MB" refuses 'larger than the limit of 16 MiB' "${submit[@]}" "$in"
truncate -s 1G "$in"
check "a reader of 1 GB needs no 256 MB of addresses" bash -c 'ulimit -v 262144; "$1" submit --dry-run "$2" 2>&1 | grep -q "larger than"' - "$kftrainer" "$in"
check "no such file" refuses 'nowhere.yaml: No such file or directory' "${submit[@]}" "$scratch/nowhere.yaml"
check "a folder" refuses 'error reading \[.*\]: recognized file extensions are \[.json .yaml .yml\]' "${submit[@]}" "$scratch"
if [ "$(id -u)" = 0 ]; then
	unreadable() { chmod 700 "$scratch"; echo x >"$in"; chmod 711 "$scratch"; chmod 0 "$in"
		cp "$kftrainer" "$scratch/kf"; chmod 755 "$scratch/kf"
		setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/kf" submit --dry-run "$in" >"$scratch/out" 2>"$scratch/err"
		status=$?; rm -f "$in"
		[ $status = 2 ] && grep -q 'Permission denied' "$scratch/err" || dump; }
else
	unreadable() { echo x >"$in"; chmod 0 "$in"; refuses 'Permission denied' "${submit[@]}" "$in"; }
fi
check "an unreadable file" unreadable
rm -f "$in"
for depth in 300 100000; do
	python3 -c "print('['*$depth)" >"$in"
	check "$depth brackets deep" refuses 'in:1:201: nested deeper than 200 levels' "${submit[@]}" "$in"
done
python3 -c "print('a: ' + '{a: '*500 + '1' + '}'*500)" >"$in"
check "500 mappings deep" refuses 'nested deeper' "${submit[@]}" "$in"
{ echo 'a0: &a0 [x, x, x, x, x, x, x, x, x]'
	for i in $(seq 9); do echo "a$i: &a$i [*a$((i-1)), *a$((i-1)), *a$((i-1)), *a$((i-1)), *a$((i-1)), *a$((i-1)), *a$((i-1)), *a$((i-1)), *a$((i-1))]"; done; } >"$in"
check "a billion laughs" refuses 'in:[0-9]+:[0-9]+: ' "${submit[@]}" "$in"
printf 'a: &a [*a]\n' >"$in"
check "an alias within itself" refuses 'in:1:' "${submit[@]}" "$in"
printf 'a: *nothing\n' >"$in"
check "an alias to nothing" refuses 'in:1:4: ' "${submit[@]}" "$in"
printf 'a: [1, 2\nb: 3\n' >"$in"
check "a list without its end" refuses 'in:2:' "${submit[@]}" "$in"
printf 'kind: TrainJob\n\tapiVersion: x\n' >"$in"
check "a tab" refuses 'in:2:1: ' "${submit[@]}" "$in"
printf 'a: \xff\xfe\n' >"$in"
check "not UTF-8" refuses 'in:' "${submit[@]}" "$in"
head -c 5000 /bin/sh >"$in"
check "a program" refuses 'in:' "${submit[@]}" "$in"
printf 'a: 1\nb: 2\na: 3\n' >"$in"
check "a key twice" refuses 'in:3:1: duplicate key "a"' "${submit[@]}" "$in"
echo 'numNodes: 1' | trainer; echo '    numNodes: 2' >>"$in"
check "a field twice" refuses 'in:10:5: duplicate key "numNodes"' "${submit[@]}" "$in"
echo hello >"$in"
check "a word" refuses 'in:1:1: kind: Required' "${submit[@]}" "$in"
printf '#!/bin/sh\nset -e\npython3 train.py\n' >"$in"
check "a script of the shell: where it goes" refuses "in:2:1: kind: Required value: .* but a text; a command or script goes after '--'" "${submit[@]}" "$in"
echo '{"kind": "TrainJob"}' >"$in"
check "no apiVersion" refuses 'apiVersion: Required' "${submit[@]}" "$in"
echo '{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJobb"}' >"$in"
check "an unknown kind of ours" refuses 'kind: Unsupported value: "TrainJobb": did you mean .TrainJob.' "${submit[@]}" "$in"
echo '{"apiVersion": "trainer.kubeflow.org/v2", "kind": "TrainJob"}' >"$in"
check "another version" refuses 'the apiVersion of a TrainJob is trainer.kubeflow.org/v1alpha1' "${submit[@]}" "$in"
for kind in v1/PyTorchJob v1/TFJob v1/XGBoostJob v1/PaddleJob v1/JAXJob v1/MPIJob v2beta1/MPIJob; do
	printf 'apiVersion: kubeflow.org/%s\nkind: %s\nmetadata: {name: x}\nspec: {}\n' "${kind%/*}" "${kind#*/}" >"$in"
	check "a $kind: what it is, and what to do" refuses \
		"in:2:1: kind: Unsupported value: \"${kind#*/}\": .*: kftrainer convert $in" "${submit[@]}" "$in"
done
check "... the last one's operator" refuses 'it belongs to MPI Operator; convert it' "${submit[@]}" "$in"
echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}' >"$in"
check "no TrainJob in it" refuses 'contains no TrainJob, but ConfigMap$' "${submit[@]}" "$in"
spec </dev/null && mv "$in" "$in.job"
echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}' >"$in"
check "... those of --runtime-file are not in it" refuses 'contains no TrainJob, but ConfigMap$' "${submit[@]}" "$in" --runtime-file "$in.job"
for i in 1 2; do spec </dev/null; cat "$in"; echo ---; done >"$in.two"; mv "$in.two" "$in"
check "two TrainJobs of one name" refuses 'in:12:3: metadata.name: Duplicate value: "tiny": another TrainJob has this name$' "${submit[@]}" "$in"
sed -i 's/ name: tiny/ generateName: tiny/' "$in"
check "... whose names are generated" says 0 'name: tinyxxxxx$' "${submit[@]}" "$in"
echo '{"cells": [], "metadata": {}, "nbformat": 4}' >"$in"
check "a notebook" refuses 'in:1:1: kind: Required value: this is a notebook' "${submit[@]}" "$in"
printf 'services:\n  train: {image: a}\n' >"$in"
check "a Compose file" refuses 'in:1:1: kind: Required value: this is a file for Docker Compose' "${submit[@]}" "$in"

rows() { # lines of "SPEC | REGEX"
	while IFS='|' read -r yaml like; do
		printf '%b\n' "$yaml" | spec
		check "spec: $yaml" refuses "$like" "${submit[@]}" "$in"
	done
}
rows <<'ROWS'
trainer: {numNodes: "2"}|in:8:13: spec.trainer.numNodes: Invalid value: .*integer
trainer: {numNodes: -1}|spec.trainer.numNodes: Invalid value: -1
trainer: {numNodes: 99999999999}|spec.trainer.numNodes:
trainer: {numNodes: 99999999999999999999999}|spec.trainer.numNodes:
trainer: {numNodes: 1.5}|spec.trainer.numNodes: .*integer
trainer: {numProcPerNode: 0}|spec.trainer.numProcPerNode: Invalid value
trainer: {numProcPerNode: auto}|in:8:13: spec.trainer.numProcPerNode: .*integer: "string"; remove it; it is the default$
trainer: {numProcPerNode: gpu}|spec.trainer.numProcPerNode: .*; remove it; the default is a process for each GPU$
trainer: {numProcPerNode: cpu}|spec.trainer.numProcPerNode: .*; remove it; without GPUs, the default is a process for each CPU$
trainer: {numProcPerNode: "2"}|spec.trainer.numProcPerNode: .*; write it without quotes$
trainer: {numProcPerNode: many}|spec.trainer.numProcPerNode: .*integer: "string"$
trainer: [a]|spec.trainer: .*object
trainer: {env: {A: b}}|spec.trainer.env: .*array
trainer: {env: [{name: A, value: 1}]}|spec.trainer.env\[0\].value: .*string
trainer: {env: [{name: A}, {name: A}]}|spec.trainer.env\[1\]: Duplicate value
trainer: {env: [{value: x}]}|spec.trainer.env\[0\].name: Required value$
trainer: {command: python train.py}|spec.trainer.command: .*write it as a list: \["python","train.py"\]
trainer: {enviroment: []}|spec.trainer.enviroment: Unknown field: use env$
trainer: {resourcesPerNode: {limits: {gpu: 1}}}|spec.trainer.resourcesPerNode.limits.gpu: Invalid value: "gpu": use nvidia.com/gpu$
trainer: {command: [true]}|spec.trainer.command\[0\]: .*string
trainer: {nmNodes: 1}|spec.trainer.nmNodes: Unknown field: did you mean 'numNodes'
trainer: {resourcesPerNode: {limits: {cpu: 1x}}}|spec.trainer.resourcesPerNode.limits.cpu: Invalid value: "1x"
trainer: {env: [{name: PET_NNODES, value: "1"}]}|spec.trainer.env: .*PET_NNODES
podTemplateOverrides: []|spec.podTemplateOverrides: Unknown field
suspend: maybe|spec.suspend: .*boolean
activeDeadlineSeconds: 0|spec.activeDeadlineSeconds:
managedBy: me|spec.managedBy:
trainer: {numNodes: 0}|spec.trainer.numNodes: Invalid value: 0: .* greater than or equal to 1$
ROWS
echo 'trainer: {numNodes: 2147483647}' | spec
check "2147483647 nodes render" says 0 'kind: JobSet' "${submit[@]}" "$in"
check "2147483647 nodes do not run here" refuses 'pods on one machine' submit --local "$in"
sed -i 's/torch-distributed/deepspeed-distributed/' "$in"
check "2147483647 nodes do not fit in a host file" refuses 'MPI Build: the MPI host file: over' "${submit[@]}" "$in"
echo 'trainer: {numNodes: 1}' | spec
sed -i 's/name: tiny/name: Tiny_/' "$in"
check "a bad name" says 2 'metadata.name: Invalid value: "Tiny_"' "${submit[@]}" "$in"
sed -i 's/name: Tiny_/labels: {}/' "$in"
check "no name" refuses 'metadata.name: Required' "${submit[@]}" "$in"
sed -i '/^  labels: {}/d' "$in"
check "empty metadata: one error" refuses 'metadata.name: Required' "${submit[@]}" "$in"
spec </dev/null; sed -i 's/torch-distributed/torch-distribute/' "$in"
check "an unknown runtime" refuses "in:6:3: spec.runtimeRef: .*did you mean 'torch-distributed'" "${submit[@]}" "$in"
spec </dev/null; echo '    kind: Runtime' >>"$in"
check "an unknown kind of runtime" refuses 'spec.runtimeRef: .*unsupported runtime: Runtime' "${submit[@]}" "$in"

runtime() { # lines of the runtime's spec on stdin
	{ spec </dev/null; cat "$in"; echo '    kind: TrainingRuntime'; } >"$in.new"
	{ sed 's/torch-distributed/mine/' "$in.new"; printf -- '---\n'
		printf '%s\n' 'apiVersion: trainer.kubeflow.org/v1alpha1' 'kind: TrainingRuntime' 'metadata: {name: mine}' 'spec:'
		sed 's/^/  /'; } >"$in"
}
jobs='template: {spec: {replicatedJobs: [{name: NAME, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: [{name: CONTAINER, image: i}]}}}}}]}}'
jobs() { sed "s/NAME/$1/; s/CONTAINER/$2/" <<<"$jobs"; }
{ echo 'mlPolicy: {torch: {}}'; jobs worker main; } | runtime
check "a runtime without a node container" refuses 'in:.*containers.*node' "${submit[@]}" "$in"
{ echo 'mlPolicy: {tensorflow: {}}'; jobs node node; } | runtime
check "an unknown policy" refuses 'in:14:14: spec.mlPolicy.tensorflow: Unknown field' "${submit[@]}" "$in"
{ echo 'mlPolicy: {torch: {numProcPerNode: auto}}'; jobs node node; } | runtime
check "numProcPerNode auto of a runtime" refuses \
	'in:14:22: spec.mlPolicy.torch.numProcPerNode: Unknown field: remove it; it is the default$' "${submit[@]}" "$in"
{ echo 'mlPolicy: {torch: {numProcPerNode: 2}}'; jobs node node; } | runtime
check "... and a number" refuses 'numProcPerNode: Unknown field: use spec.trainer.numProcPerNode of the TrainJob$' "${submit[@]}" "$in"
{ echo 'mlPolicy: {numNodes: 0}'; jobs node node; } | runtime
check "a runtime without nodes" refuses 'in:14:14: spec.mlPolicy.numNodes: Invalid value: 0: .* to 1$' "${submit[@]}" "$in"
{ echo 'mlPolicy: {torch: {}, jax: {}}'; jobs node node; } | runtime
check "two policies" refuses 'spec.mlPolicy: .*at most one' "${submit[@]}" "$in"
echo 'mlPolicy: {torch: {}}' | runtime
check "a runtime without a template is one without jobs, as upstream has it" says 0 'kind: JobSet' "${submit[@]}" "$in"
echo '- just a list' >"$scratch/r.yaml"
spec </dev/null
check "a bad --runtime-file" refuses 'r.yaml:1:1: ' "${submit[@]}" "$in" --runtime-file "$scratch/r.yaml"
check "no such --runtime-file" refuses 'nowhere: No such file' "${submit[@]}" "$in" --runtime-file "$scratch/nowhere"

# All errors at once, in the file's documents' order, each with its place.
{ trainer <<'Y'
numNodes: x
nproc: 1
env: [{name: PET_NODE_RANK, value: "0"}]
Y
	echo ---; cat "$in" | sed 's/torch-distributed/torch/'; } >"$in.2"
trainer <<'Y'
numNodes: x
nproc: 1
Y
{ cat "$in"; echo ---; sed 's/torch-distributed/torchh/; s/tiny/second/' "$in"; } >"$in.2"
all_at_once() {
	run "${submit[@]}" "$in.2"
	[ $status = 2 ] && [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" = 5 ] &&
		grep -q 'in.2:9:5: spec.trainer.numNodes' "$scratch/err" &&
		grep -q 'in.2:10:5: spec.trainer.nproc' "$scratch/err" &&
		grep -q 'in.2:20:5: spec.trainer.numNodes' "$scratch/err" &&
		grep -q 'in.2:17:3: spec.runtimeRef' "$scratch/err" || dump
}
check "all errors of all documents at once" all_at_once
two_files() {
	cp "$in" "$in.3"
	run runtime validate "$in" "$in.3" examples/digits.yaml
	[ $status = 2 ] && [ "$(grep -c 'in:' "$scratch/err")" = 2 ] && [ "$(grep -c 'in.3:' "$scratch/err")" = 2 ] &&
		grep -q 'digits is valid' "$scratch/out" || dump
}
check "validate goes on with the next file" two_files
trainer <<<'numNodes: x'
from_stdin() { "$kftrainer" submit --dry-run - <"$in" 2>"$scratch/err"; grep -q 'stdin:9:5: spec.trainer.numNodes' "$scratch/err" || cat "$scratch/err"; }
check "stdin has a name" from_stdin
python3 -c '
print("apiVersion: v1\nkind: List\nitems:")
for i in range(2):
    print(f"- apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  metadata: {{name: j{i}}}\n  spec:\n    runtimeRef: {{name: torch-distributed}}\n    trainer: {{numNodes: x}}")' >"$in"
in_a_list() { run "${submit[@]}" "$in"; grep -q 'in:9:15: spec.trainer.numNodes' "$scratch/err" && grep -q 'in:15:15: ' "$scratch/err" || dump; }
check "documents within a List have their place" in_a_list
# A hundred errors of a file, and how many more there are.
{ spec </dev/null; cat "$in"; seq -f '  f%g: 1' 99; } >"$in.2"
{ cat "$in.2"; echo ---; sed 's/tiny/second/' "$in.2"; } >"$in.3"
limited() { # FILE TOLD REST
	run "${submit[@]}" "$1"
	[ $status = 2 ] && [ "$(grep -c ': Unknown field' "$scratch/err")" = "$2" ] &&
		{ [ "$3" = 0 ] || [ "$(tail -n 1 "$scratch/err")" = "kftrainer submit: $1: $3 more errors" ]; } &&
		[ "$(wc -l <"$scratch/err")" = $(($2 + ($3 > 0))) ] || dump
}
check "99 errors are all told" limited "$in.2" 99 0
check "at most 100 errors are reported per file, not per document" limited "$in.3" 100 98
many_kinds() { # what a hundred thousand wrong fields cost, in processor time, next to as many right ones
	python3 - "$kftrainer" "$scratch/many" <<'PY'
import os, subprocess, sys
n = 100000
head = ("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: x\n%sspec:\n"
        "  runtimeRef: {name: torch-distributed}\n")
def cpu(text, *command):
    with open(sys.argv[2], "w") as f:
        f.write(text)
    best = 1e9
    for _ in range(3):
        before = os.times()
        r = subprocess.run([sys.argv[1], *command, sys.argv[2]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        after = os.times()
        best = min(best, after[2] + after[3] - before[2] - before[3])
    return best, r
rows = lambda form: "".join(form % i for i in range(n))
schema, pods = ("runtime", "validate"), ("submit", "--dry-run=client", "-o", "name", "-f")
right = {}
for command in schema, pods:
    right[command], r = cpu(head % ("  labels:\n" + rows("    f%d: a\n")), *command)
    assert r.returncode == 0, r.stderr[:300]
bad = {
    "unknown fields": head % "" + rows("  f%d: 1\n"),
    "unknown fields with long names": head % "" + "  trainer:\n" + rows("    resourcesPerNodeButMuchLongerThanThat%d: 1\n"),
    "variables without a name": head % "" + "  trainer:\n    env:\n" + rows("    - value: f%d\n"),
    "variables with unknown fields": head % "" + "  trainer:\n    env:\n" + rows("    - {name: f%d, x: 1}\n"),
    "quantities": head % "" + "  trainer:\n    resourcesPerNode:\n      limits:\n" + rows("        f%d: x\n"),
    "quantities that no pod has": head % "" + "  trainer:\n    resourcesPerNode:\n      limits:\n" + "".join(f"        a/f{i}: -{i + 1}\n" for i in range(n)),
    "variables that no pod has": head % "" + "  trainer:\n    env:\n" + rows("    - {name: f%d=, value: a}\n"),
}
for what, text in bad.items():
    command = pods if what.endswith("no pod has") else schema
    took, r = cpu(text, *command)
    lines = r.stderr.decode().splitlines()
    print(what, "%.2f s; right ones %.2f s" % (took, right[command]))
    if what == "variables that no pod has":
        assert r.returncode == 2 and "Too many: 100000" in lines[0], lines[:2]
    else:
        assert r.returncode == 2 and len(lines) == 101 and lines[-1].endswith(" more errors"), lines[-2:]
    assert took <= 6 * right[command] + 0.1, what
    assert what != "quantities that no pod has" or 'f99: Invalid value: "-100"' in lines[99], lines[99]
PY
}
check "a hundred thousand wrong fields cost about what as many right ones do" many_kinds
# What a terminal would obey is shown, never sent; a newline makes no second line.
trainer <<'Y'
"no\e[31m\nsuch\u202e": 1
Y
shown() {
	run "${submit[@]}" "$in"
	[ $status = 2 ] && ! LC_ALL=C grep -q "$(printf '[\001-\010\033\342]')" "$scratch/err" &&
		[ "$(wc -l <"$scratch/err")" = 1 ] &&
		grep -qF 'spec.trainer.no\x1b[31m\x0asuch\u202e: Unknown field' "$scratch/err" || dump
}
check "control characters of a file are made visible" shown
check "... and those of an argument" refuses 'unknown command .a.x1b.31m' "$(printf 'a\033[31m')"
finish
