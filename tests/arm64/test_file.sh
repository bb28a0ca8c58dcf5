#!/bin/bash
# What kind of file the program for 64-bit Arm is, and on which machines it runs: page sizes and CPUs.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
arm=build/aarch64/kftrainer
export SOURCE_DATE_EPOCH=0

segments() { readelf -lW "$arm"; }
kind() { file -b "$arm" | grep 'ARM aarch64' | grep 'static-pie linked' | grep stripped; }
no_needed() { ! readelf -dW "$arm" | grep -E 'NEEDED|RUNPATH|RPATH'; }
aligned() { segments | awk '$1 == "LOAD" { n++; bad += $NF != "0x10000" } END { exit n < 2 || bad }'; }
no_paths() { ! grep -qF -e "$PWD/core" -e "$(dirname "$(vendor/sysroot.sh aarch64)")" "$arm"; }
check "is a stripped static PIE for aarch64" kind
check "asks for no shared library" no_needed
check "its segments can be mapped with pages of 64 KiB" aligned
check "has no segment both writable and executable" eval '! segments | grep -E "LOAD.* RWE "'
check "names no folder of the machine that built it" no_paths
check "is at most 6 MiB" test "$(stat -c %s "$arm")" -le $((6 << 20))
check "is what starts here by its name" eval 'cmp -s kftrainer "$arm" && env -i ./kftrainer version'
check "has the GPU helper for aarch64" python3 -c 'import sys
program, helper = (open(p, "rb").read() for p in sys.argv[1:])
assert helper in program and helper[18:20] == b"\xb7\0"' "$arm" build/aarch64/gpu-helper
check "has the library for MPICH for aarch64" python3 -c 'import sys
program, library = (open(p, "rb").read() for p in sys.argv[1:])
assert library in program and library[18:20] == b"\xb7\0"' "$arm" build/aarch64/mpich.so
libraries() { # PROGRAM: but Nettle, and the compiler's own, which may be another revision
	"$1" version -o json | grep -o '"[a-z0-9]*": *"[^"]*-[^"]*"' | grep -Ev '"(nettle|libgcc)"'
}
check "is linked with the libraries of x86-64" eval 'libraries build/rel/kftrainer | grep -q curl && diff <(libraries build/rel/kftrainer) <(libraries "$kftrainer")'

# The same List with each page size and CPU: Cortex-A53 has no LSE atomics, so outline atomics choose.
dry_run() { run submit --dry-run=client -o json --runtime torch-distributed --nodes 3 --name j -- python3 train.py; [ "$status" = 0 ] || dump; }
dry_run && cp "$scratch/out" "$scratch/want"
check "makes what x86-64 makes" eval 'build/rel/kftrainer submit --dry-run=client -o json --runtime torch-distributed --nodes 3 --name j -- python3 train.py | cmp - "$scratch/want"'
for size in 4096 16384 65536; do
	check "runs with pages of $size bytes" eval 'QEMU_PAGESIZE=$size dry_run && cmp "$scratch/out" "$scratch/want"'
done
for cpu in cortex-a53 cortex-a76 a64fx; do
	check "runs on $cpu" eval 'QEMU_CPU=$cpu dry_run && cmp "$scratch/out" "$scratch/want"'
done
for test in crypto/test_crypto crypto/test_digest; do
	check "... $test without LSE" env QEMU_CPU=cortex-a53 "build/aarch64/tests/unit/$test"
done
for test in base/test_large cache/test_table; do
	check "$test with pages of 64 KiB" env QEMU_PAGESIZE=65536 "build/aarch64/tests/unit/$test"
done
finish
