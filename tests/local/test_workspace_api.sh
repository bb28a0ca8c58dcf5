#!/bin/bash
# submit --workspace, of any size: with --local, and through the API of `controller --local`.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # what is for other shells; server.sh
. "$(dirname "$0")/server.sh"
code=$scratch/code store=$scratch/api/workspaces
mkdir "$code"
echo 'import os, zlib; print("read", os.getcwd(), zlib.crc32(open("big", "rb").read()))' >"$code/train.py"
head -c 20971520 /dev/urandom >"$code/big"
want="read /mnt/workspace $(python3 -c 'import sys, zlib; print(zlib.crc32(open(sys.argv[1], "rb").read()))' "$code/big")"
submit() { # NAME ARGUMENT...
	"$kftrainer" submit --workspace "$code" --runtime torch-distributed --name "$@" -- python3 train.py >"$scratch/out" 2>&1 </dev/null
}
prints() { grep -Fq -e "$1" "$scratch/out"; }
archives() { find "$store" -name workspace.tar.zst | wc -l; }
stored() { [ "$(archives)" = "$1" ]; }

check "20 MB with --local" eval 'submit here --local && prints "$want"'
up
check "20 MB through the API of this machine" eval 'submit there --follow && prints "$want"'
check "... the archive is a file beside the API, readable only by its user" eval \
	'stored 1 && [ "$(stat -c %a "$store"/*/workspace.tar.zst)" = 600 ]'
check "... and not among its objects" test "$(wc -c <"$scratch/api/objects")" -lt 1000000
check "another job with the same directory" eval 'submit again --follow && prints "$want" && stored 1'
check "... on two nodes" eval 'submit two --follow --nodes 2 && prints "[node-1] $want"'
check "a suspended one" submit later --suspend
check "... runs when it is resumed, after a restart of the server" eval \
	'down KILL && up && "$kftrainer" resume later && "$kftrainer" wait later && "$kftrainer" logs later >"$scratch/out" && prints "$want"'
check "the archive stays while a job has it" eval '"$kftrainer" delete there again two && until_true eval "[ -z \"\$(kubectl get jobsets -o name | grep -v -e later -e here)\" ]" && stored 1'
check "... and goes with the last" eval '"$kftrainer" delete later && until_true stored 0'
rm "$code/big"
touch "$code/big"
check "a small one is in a ConfigMap" eval 'submit small --follow && prints "read /mnt/workspace 0" && stored 0 && kubectl get configmaps -o name | grep small-workspace-'
head -c 2097152 /dev/urandom >"$code/big"
sed "s/./0/g" "$scratch/api/workspaces.key" >"$scratch/key" && mv "$scratch/key" "$scratch/api/workspaces.key"
check "an API whose directory is not this one is told from its key" eval '! submit else && prints "but a ConfigMap holds 1048576" && ! kubectl get trainjob else 2>/dev/null'
check "... and nothing is stored" stored 0
finish
