#!/bin/bash
# tests/setup.sh build   what `make` needs
# tests/setup.sh release what `make release` needs: build, and a compiler for 64-bit Arm
# tests/setup.sh demo    what `make demo` needs: build, PyTorch, scikit-learn
# tests/setup.sh quick   what `make quick` needs: build, clang and what checks text
# tests/setup.sh cluster what `make cluster` needs: a real control plane and its programs
# tests/setup.sh mpi     what `make mpi` needs: four implementations of MPI, and OpenSSH's server
# tests/setup.sh e2e     what `make e2e` needs: that, nodes, and images with PyTorch
# tests/setup.sh check   what `make check` needs: all of it, and frameworks in venvs
# tests/setup.sh stack   what people train with today: PyTorch's newest release and its libraries, 6 GB in a venv
# tests/setup.sh store   what `make store` needs: upstream's clients of hub and S3, in another venv
# tests/setup.sh cache   what `make cache` needs: pyarrow, pyiceberg and others in a venv, an S3 server
# tests/setup.sh ui      what `make ui` needs: Chromium and its driver
# tests/setup.sh gpu     what `make gpu` needs: NVIDIA's headers, and libraries that load without a GPU
# tests/setup.sh bench   what `make bench` needs: quick, store, cache, ui; as root also cluster, and upstream's manager
# tests/setup.sh venv [stack|store|convert|cache|mpich|...]  prints where that venv is
#
# Looks what is missing and installs only that: Debian packages as root or by a
# sudo that asks no password, Python packages into kftrainer's cache folder. Where
# neither is possible it prints the line to run and exits 2. With nothing missing
# it prints nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../vendor/sysroot.sh")
cache=${cache%/*}
python=/usr/bin/python3 # Debian's: python3-torch is for it and for no other

build="gcc libc6-dev make m4 cmake ninja-build dpkg-dev patch python3 bzip2 xz-utils file ca-certificates debian-archive-keyring"
release="$build git gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
demo="$build python3-torch python3-sklearn"
quick="$build git gnupg time clang lld-14 libclang-rt-14-dev llvm clang-format-14 shellcheck mandoc
	procps openssl openssh-client openssh-server curl python3-yaml zstd zsh fish"
cluster="$build iproute2 iptables openssl curl procps python3-yaml python3-venv
	runc containernetworking-plugins debootstrap
	$(command -v go >/dev/null || echo golang-go)"
e2e="$cluster $demo openmpi-bin openssh-server" # in the image of its pods
store="python3-venv openssl mariadb-server-core $(command -v go >/dev/null || echo golang-go)"
mpi="iproute2 openssl openmpi-bin libopenmpi-dev mpich libmpich-dev libfabric1 openssh-server
	python3-venv"
ui="chromium chromium-driver fonts-dejavu-core"
check="$e2e $mpi $quick $release $ui ccache lintian qemu-user-static mariadb-server-core python3-venv"

say() { echo "setup: $*"; }

missing() { # PACKAGE...: those that are not installed
	local have
	have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
	have=$'\n'$have$'\n'
	for package in "$@"; do
		[[ $have == *$'\n'"installed $package"$'\n'* ]] || echo "$package"
	done
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

# A registry that does not answer in time is asked again, three times in all. What
# was printed is shown if it failed: one line where that is the network's fault.
retry() { # WHAT COMMAND...
	local what=$1 try log why
	shift
	log=$(mktemp)
	for try in 1 2 3; do
		! "$@" >>"$log" 2>&1 </dev/null || { rm -f "$log"; return 0; }
		[ $try = 3 ] || sleep $((try * 5))
	done
	why=$(grep -m 1 -oE "Failed to fetch .*|connection broken by .*" "$log") ||
		tail -n 20 "$log" >&2
	rm -f "$log"
	say "$what${why:+: $why}"
	exit 1
}

apt_install() {
	as_root apt-get update -qq -o Acquire::Retries=3 &&
		as_root apt-get install -qq -y --no-install-recommends -o Acquire::Retries=3 \
			-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 "$@"
}

packages() { # PACKAGE...
	local list
	list=$(missing "$@" | xargs)
	[ -n "$list" ] || return 0
	if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
		say "packages are missing and installing them takes root; run:"
		echo "  sudo apt-get update && sudo apt-get install --no-install-recommends $list"
		exit 2
	fi
	# The tests start sshds of their own: the machine's is not wanted (sshd(8), Debian's).
	[[ " $list " != *" openssh-server "* ]] ||
		as_root sh -c "mkdir -p /etc/ssh && touch /etc/ssh/sshd_not_to_be_run"
	say "installing $list"
	# shellcheck disable=SC2086
	retry "apt-get could not install them" apt_install $list
}

# "# over: BASE" in a list: it is complete together with BASE.txt, whose packages come after its own.
base() { sed -n 's/^# over: //p' "$here/setup/$1.txt"; }

venv_path() { # LIST: tests/setup/LIST.txt
	local base
	base=$(base "$1")
	echo "$cache/venv-$(cat "$here/setup/$1.txt" ${base:+"$here/setup/$base.txt"} | sha256sum | cut -c 1-12)"
}

# In place, because a venv knows its own path; .done says that it is complete. That of the base has to be there.
venv() { # LIST WHAT [OPTION...]: of Python's venv
	local dir base pip
	dir=$(venv_path "$1")
	base=$(base "$1")
	pip=$([ -z "$base" ] || venv_path "$base")
	[ ! -e "$dir/.done" ] || { touch "$dir"; return 0; }
	mkdir -p "$cache"
	exec 9>"$dir.lock"
	flock 9
	[ ! -e "$dir/.done" ] || return 0
	say "installing $2 into $dir"
	rm -rf "$dir"
	"$python" -m venv ${base:+--without-pip} "${@:3}" "$dir"
	retry "pip could not install them" "${pip:-$dir}/bin/python" -m pip --python "$dir/bin/python" install --quiet \
		--disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
		-r "$here/setup/$1.txt"
	[ -z "$base" ] || for site in "$dir"/lib/python3*/site-packages; do
		echo "import site; site.addsitedir('$(venv_path "$base")/lib/${site#"$dir/lib/"}')" >"$site/$base.pth"
	done
	touch "$dir/.done"
}

# Its wheels are in no cache, or it would take 9 GB. What training imports is compiled, not all: that would take
# half as long again, for files that nobody opens.
stack() {
	local dir
	dir=$(venv_path stack)
	[ ! -e "$dir/.warm" ] || { touch "$dir"; return 0; }
	PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=no venv stack "PyTorch with Transformers, TRL, DeepSpeed and Lightning"
	env -u PYTHONDONTWRITEBYTECODE DS_ACCELERATOR=cpu "$dir/bin/python" -c "$(cat <<-'PY'
		import accelerate, datasets, deepspeed, lightning, peft, torch.distributed.checkpoint, torch.distributed.run
		from transformers import LlamaForCausalLM, Trainer
		from trl import SFTTrainer
	PY
	)" >/dev/null 2>&1 && touch "$dir/.warm"
}

use() { # SCRIPT: makes what is missing, and prints where it is
	local made
	made=$("$1")
	touch "$made"
}

# shellcheck disable=SC2046,SC2086
case ${1:-} in
cluster)
	packages $cluster
	use "$here/cluster/programs.sh"
	use "$here/cluster/lws.sh"
	use "$here/cluster/sdk.sh"
	;;
e2e)
	packages $e2e
	use "$here/cluster/programs.sh"
	use "$here/cluster/lws.sh"
	use "$here/cluster/sdk.sh"
	use "$here/e2e/images.sh"
	venv cache19 "pyarrow 19"
	venv registry "MLflow and the client of Kubeflow's model registry"
	use "$here/store/versitygw.sh"
	;;
mpi)
	packages $mpi
	venv openmpi "Open MPI 5"
	venv mpich "MPICH 5"
	venv impi "Intel MPI"
	;;
build) packages $build ;;
release) packages $release ;;
demo) packages $demo ;;
quick) packages $quick ;;
ui) packages $ui ;;
check)
	packages $check
	venv python "JAX and XGBoost"
	venv mlx "MLX"
	venv convert "TensorFlow and Paddle"
	venv store "huggingface_hub and opendal"
	venv s3 "moto"
	venv registry "MLflow and the client of Kubeflow's model registry"
	venv cache "pyarrow, pyiceberg, duckdb and polars"
	venv gpu "CUDA's headers, libcudart and libnccl"
	venv cache19 "pyarrow 19"
	use "$here/store/versitygw.sh"
	use "$here/store/model_registry.sh"
	"$here/prune.sh"
	;;
stack)
	packages python3-venv
	stack
	venv torchtune "torchtune"
	;;
store)
	packages $store
	venv store "huggingface_hub and opendal"
	venv s3 "moto"
	venv registry "MLflow and the client of Kubeflow's model registry"
	use "$here/store/versitygw.sh"
	use "$here/store/model_registry.sh"
	;;
cache)
	packages $store python3-torch
	venv cache "pyarrow, pyiceberg, duckdb and polars"
	venv cache19 "pyarrow 19"
	use "$here/store/versitygw.sh"
	;;
gpu)
	packages python3-venv
	venv gpu "CUDA's headers, libcudart and libnccl"
	venv cache "pyarrow, pyiceberg, duckdb and polars"
	;;
bench)
	for what in quick store cache ui; do "$0" $what; done
	if [ "$(id -u)" = 0 ]; then
		"$0" cluster
		packages strace
		"$here/bench/program.sh" upstream >/dev/null || say "upstream's manager could not be built: the controller is measured without it"
	fi
	;;
venv) venv_path "${2:-python}" ;;
*)
	sed -n '2,16s/^# *//p' "$0" >&2
	exit 2
	;;
esac
