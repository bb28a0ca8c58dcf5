#!/bin/bash
# tests/gpu/build.sh DIR: compiles standin.c into four libraries and a clock in that directory; CC is the compiler.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
library() { # NAME WHICH [FLAG...]
	"${CC:-gcc}" -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -D_GNU_SOURCE -O2 -shared -fPIC -fvisibility=hidden \
		-Wl,-Bsymbolic,-soname,"$1" -I"$here/../.." "-DSTANDIN_$2" "${@:3}" \
		-o "$dir/$1" "$here/standin.c" -ldl
}
dir=$1
library libcuda.so.1 CUDA
library libnvidia-ml.so.1 NVML
library libnccl.so.2 NCCL
library libcudart.so.12 CUDART
"${CC:-gcc}" -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -D_GNU_SOURCE -O2 -shared -fPIC -o "$dir/standin-clock.so" "$here/standin_clock.c"
