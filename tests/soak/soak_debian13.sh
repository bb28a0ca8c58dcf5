#!/bin/bash
# Debian 13's PyTorch, in a root of 1.5 GB that is made for it: torchrun of a build without libuv, on two nodes of two.
# KFT_TRIXIE=DIR: there is one.
# shellcheck disable=SC2016 # what is for another shell
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
root=${KFT_TRIXIE:-$scratch/trixie}
[ "$(id -u)" = 0 ] || {
	skip "Debian 13" "debootstrap and chroot take root"
	finish
}
[ -e "$root/usr/bin/torchrun" ] ||
	check "Debian 13 is there" debootstrap --variant=minbase --include=python3-torch,python3-numpy trixie "$root" http://deb.debian.org/debian
cp kftrainer "$root/usr/local/bin/"
cp tests/e2e/image/ddp.py "$root/root/"
inside() { # COMMAND: in the root, with a /proc and /tmp of its own
	unshare -m -p -f bash -c 'mount --bind "$0" "$0"; mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; mount -t tmpfs tmp "$0/tmp"
		exec env -i HOME=/tmp PATH=/usr/local/bin:/usr/bin:/bin /usr/sbin/chroot "$0" sh -c "cd /root; $1"' "$root" "$1" >"$scratch/out" 2>&1
}
faulty() { ! inside 'torchrun ddp.py 1 -1' && grep -q 'use_libuv was requested' "$scratch/out"; }
check "its torchrun fails" faulty
trains() {
	inside 'kftrainer submit --local --runtime torch-distributed --nodes 2 --nproc-per-node 2 -- torchrun ddp.py 5 -1' && return
	cat "$scratch/out"
	return 1
}
check "not under submit --local" trains
same() { [ "$(grep -o 'parameters [0-9a-f]*$' "$scratch/out" | sort | uniq -c | awk '{ print $1 }')" = 4 ] || { cat "$scratch/out"; return 1; }; }
check "... where all four ranks have the same parameters" same
finish
