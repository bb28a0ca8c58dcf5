#!/bin/bash
# The helper's declarations of CUDA, NVML and NCCL are those of the real headers.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
packages=$(echo "$(tests/setup.sh venv gpu)"/lib/python3*/site-packages/nvidia)

compiles() { # ABI.H CALLS.H: abi.c with these in place of ours
	mkdir -p "$scratch/gpu/helper" "$scratch/shim/nv"
	: >"$scratch/shim/nv/target" # of cuda_fp16.h, which C has no use for
	cp "$1" "$scratch/gpu/helper/abi.h"
	cp "$2" "$scratch/gpu/helper/calls.h"
	gcc -std=gnu11 -fsyntax-only -I"$scratch" -isystem "$scratch/shim" \
		-isystem "$packages/cuda_runtime/include" -isystem "$packages/cuda_nvcc/include" \
		-isystem "$packages/nvml_dev/include" -isystem "$packages/nccl/include" tests/gpu/abi.c
}
# refused SED FILE: with one declaration changed the compiler names it.
refused() {
	sed "$1" "gpu/helper/$2" >"$scratch/changed.h"
	cmp -s "$scratch/changed.h" "gpu/helper/$2" && return 1
	case $2 in
	abi.h) ! compiles "$scratch/changed.h" gpu/helper/calls.h ;;
	*) ! compiles gpu/helper/abi.h "$scratch/changed.h" ;;
	esac
}
check "all of them" compiles gpu/helper/abi.h gpu/helper/calls.h
check "a parameter of another type is seen" refused 's/cuInit, (unsigned int)/cuInit, (int)/' calls.h
check "... and a size" refused 's/X(nvmlPciInfo_t, 68)/X(nvmlPciInfo_t, 64)/' abi.h
check "... and a constant" refused 's/X(ncclFloat32, 7)/X(ncclFloat32, 8)/' abi.h
finish
