#!/bin/bash
# A handful of the golden cases through the binary: it shows what the library
# makes, and refuses what the library refuses, at the same field.
. "$(dirname "$0")/lib.sh"
golden=build/san/tests/golden/golden

# shows CASE: the List of `submit --dry-run=client` is byte for byte the library's.
shows() {
	"$golden" --export "tests/golden/$1" "$scratch" || return 1
	run submit --dry-run=client -o json -n golden-namespace \
		--runtime-file "$scratch/runtimes.json" "$scratch/job.json"
	[ "$status" = 0 ] && diff "$scratch/objects.json" "$scratch/out" || dump
}

# names CASE PATH...: refused, and each field is named (upstream writes RuntimeRef once).
names() {
	local path
	"$golden" --export "tests/golden/$1" "$scratch" || return 1
	shift
	run submit --dry-run=client -o json -n golden-namespace \
		--runtime-file "$scratch/runtimes.json" "$scratch/job.json"
	[ "$status" = 2 ] && [ ! -s "$scratch/out" ] || dump || return 1
	for path; do
		grep -Fiq " $path: " "$scratch/err" || dump || return 1
	done
}

for c in upstream/torch-env-merge upstream/torch-shipped-4-nodes upstream/mpi-deepspeed \
	upstream/flux-basic upstream/gang-volcano upstream/patch-two-managers \
	upstream/tune-initializers upstream/tmpl-policies own/xgboost-cpu-workers own/builtin-jax; do
	check "$c" shows "$c"
done
check "own/reject-tune-qlora-gpus" names own/reject-tune-qlora-gpus \
	spec.trainer.numProcPerNode spec.trainer.resourcesPerNode
check "own/reject-xgboost-reserved" names own/reject-xgboost-reserved \
	'spec.trainer.env[0]' 'spec.trainer.env[2]'
check "own/correction-01-unknown-names" names own/correction-01-unknown-names spec.runtimePatches
check "own/reject-many-at-once" names own/reject-many-at-once \
	spec.trainer.numNodes spec.activeDeadlineSeconds spec.trainer.numProcPerNode
check "upstream/reject-runtime-missing" names upstream/reject-runtime-missing spec.RuntimeRef
finish
