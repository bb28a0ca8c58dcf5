#!/bin/bash
# tests/e2e/images.sh
#
# Makes the images that the tests' pods run, once, and prints a folder: containerd's root
# with kft.local/pause:1 and kft.local/torch:1 in it, unpacked, for nodes to start from a
# copy of it. There is no registry, and nothing is downloaded. The last part of the
# folder's name is a checksum of what decides what is in it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sysroot=$("$here/../../vendor/sysroot.sh" musl)
cache=${sysroot%/*}
programs=$("$here/../cluster/programs.sh")/bin

key=$(
	cd "$here"
	{
		"$programs/containerd" --version
		./torch_layer.py --key
		cat images.sh ./*.py image/* ../../core/assets/torch/*
	} | sha256sum | cut -c 1-12
)
dir=$cache/e2e-$key
part=$cache/e2e.part
mkdir -p "$cache"
exec 9>"$cache/e2e.lock"
flock 9
[ ! -e "$dir/.done" ] || {
	echo "$dir"
	exit
}
echo "e2e: making the images" >&2
rm -rf "$part"
mkdir -p "$part"/{pause,files/e2e,root}

"$sysroot/bin/musl-gcc" -static -Os -o "$part/pause/pause" "$here/image/pause.c"
cp "$here"/image/*.py "$here/../../core/assets/torch/sitecustomize.py" "$part/files/e2e/"
# What images for training have besides, and Debian calls otherwise or packs as a wheel.
mkdir -p "$part/files/usr/local/bin" "$part/files/usr/local/lib/python3.11/dist-packages"
ln -s /usr/bin/python3 "$part/files/usr/local/bin/python"
ln -s /usr/bin/orterun "$part/files/usr/local/bin/mpirun"
/usr/bin/python3 -m zipfile -e /usr/share/python-wheels/pip-*.whl \
	"$part/files/usr/local/lib/python3.11/dist-packages"
printf '#!/bin/sh\nexec python3 -m pip "$@"\n' >"$part/files/usr/local/bin/pip"
chmod +x "$part/files/usr/local/bin/pip"
"$here/torch_layer.py" "$part/torch.tar"
# No package has what Python compiles: each pod would compile PyTorch, for more than a second of CPU.
mkdir "$part/py"
tar -C "$part/py" -xf "$part/torch.tar" --wildcards '*.py'
compiled() { /usr/bin/python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -s "$part/$1" "$part/$1" >&2; }
compiled files
compiled py
find "$part/py" -name '*.py' -delete
for layer in pause files py; do
	tar -C "$part/$layer" --owner=0 --group=0 --mtime=@0 --sort=name -cf "$part/$layer.tar" .
done
"$here/oci.py" kft.local/pause:1 "$part/pause.img" /pause "$part/pause.tar"
"$here/oci.py" kft.local/torch:1 "$part/torch.img" bash PYTHONPATH=/e2e "$part/torch.tar" "$part/py.tar" "$part/files.tar"

# Where containerd keeps its state while it imports: gone with this mount namespace.
cat >"$part/import.sh" <<-'END'
	set -e
	mount -t tmpfs tmpfs /run
	cat >/run/config.toml <<-TOML
		version = 2
		root = "$1/root"
		state = "/run/state"
		disabled_plugins = ["io.containerd.grpc.v1.cri"]
		[grpc]
		address = "/run/containerd.sock"
	TOML
	containerd -c /run/config.toml >"$1/containerd.log" 2>&1 &
	ctr() { command ctr -a /run/containerd.sock -n k8s.io "$@"; }
	tries=0
	until ctr version >/dev/null 2>&1; do
		[ $((tries += 1)) -lt 300 ] || { tail "$1/containerd.log"; exit 1; }
		sleep 0.1
	done
	for image in pause torch; do ctr images import "$1/$image.img"; done
	kill $!
	wait $! || true
END
env "PATH=$programs:$PATH" unshare --mount --propagation private --net --pid --fork --kill-child \
	--mount-proc bash "$part/import.sh" "$part" 9>&- >&2
rm -rf "$dir"
touch "$part/root/.done"
mv "$part/root" "$dir"
rm -rf "$part"
echo "$dir"
