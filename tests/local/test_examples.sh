#!/bin/bash
# Every file of examples/ is run by a test: RUN_BY has which. Those that no other test runs are run here, with a small
# script in place of a user's.
# before: tests/store/versitygw.sh
# shellcheck disable=SC1091,SC2016,SC2154 # what is for eval; lib.sh
. "$(dirname "$0")/lib.sh"
unset CUDA_VISIBLE_DEVICES KFTRAINER_ISOLATION NO_COLOR
examples=$PWD/examples ports=$PWD/tests/ports.py versitygw=$(tests/store/versitygw.sh 2>/dev/null)

declare -A RUN_BY=(
	[cache.yaml]=tests/local/test_cache.sh [cache_train.py]=tests/local/test_cache.sh
	[cache_dataset.py]=tests/cache/test_flight_clients.py
	[custom-runtime.yaml]=tests/local/test_examples.sh
	[deepspeed.yaml]=tests/local/test_examples.sh
	[digits.yaml]=tests/local/test_torch.sh [digits.py]=examples/digits.yaml
	[export.yaml]=tests/local/test_examples.sh
	[gpu_feed.py]=tests/gpu/test_feed.py
	[jax-line.yaml]=tests/local/test_frameworks.sh [line.py]=examples/jax-line.yaml
	[mpi.yaml]=tests/local/test_mpi.sh
	[slurm.yaml]=tests/local/test_examples.sh
	[torchtune.yaml]=tests/local/test_torchtune.sh
	[xgboost-trees.yaml]=tests/local/test_frameworks.sh [trees.py]=examples/xgboost-trees.yaml
)
named() { # FILE: in what runs it, as examples/FILE, or as the module that it is
	[ -f "${RUN_BY[$1]:-}" ] || { echo "no test runs examples/$1"; return 1; }
	grep -Eq "(examples[^ ]*/|examples/|import )${1%.py}\b" "${RUN_BY[$1]}" || { echo "${RUN_BY[$1]} does not name examples/$1"; return 1; }
}
for path in examples/*; do
	check "$path is run by a test" named "${path##*/}"
done
for file in "${!RUN_BY[@]}"; do
	[ -e "examples/$file" ] || check "examples/$file, which RUN_BY has, is there" false
done

cd "$scratch" || exit 1
mkdir code
cat >train.py <<'PY'
import os
import sys
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print(f"rank {dist.get_rank()} counts {total.item():.0f}:", *sys.argv[1:], flush=True)
if dist.get_rank() == 0 and os.path.isdir("/workspace/output"):
    torch.save(total, "/workspace/output/model.pt")
dist.destroy_process_group()
PY
cat >code/train.py <<'PY'
import os
import sys
rank, size = (os.environ["OMPI_COMM_WORLD_" + name] for name in ("RANK", "SIZE"))
os.write(1, f"rank {rank} counts {size}: {' '.join(sys.argv[1:])}\n".encode())  # at once: mpirun merges what ranks write
PY
ranks() { # COUNT [WORDS]: so many say that they are so many
	[ "$(grep -Eo "rank [0-9]+ counts $1:${2:+ $2}$" out | sort -u | wc -l)" = "$1" ]
}

mkdir -p state/kftrainer/claims/team-a/vision-data # the claim of the team's that it names
run "$kftrainer" submit --local --gpu 0 --cpu 1 --nproc-per-node 1 "$examples/custom-runtime.yaml"
ok "examples/custom-runtime.yaml: exits 0" exits 0
ok "... four nodes train together, with its arguments" ranks 4 "--epochs 90 --batch-size 256"
run "$kftrainer" submit --local --cpu 1 --nproc-per-node 1 "$examples/slurm.yaml"
ok "examples/slurm.yaml: exits 0" exits 0
ok "... two nodes train together" ranks 2
run "$kftrainer" submit --local --gpu 0 --workspace code "$examples/deepspeed.yaml"
ok "examples/deepspeed.yaml: exits 0" exits 0
ok "... mpirun has started three nodes of four processes in the workspace" ranks 12 "--stage 3"
port=$(/usr/bin/python3 "$ports")
mkdir -p s3/models
ROOT_ACCESS_KEY=key ROOT_SECRET_KEY=secretsecret "$versitygw" --port "127.0.0.1:$port" --quiet posix s3 >s3.log 2>&1 &
s3=$!
at_exit 'kill "$s3"'
until curl -s --noproxy '*' -o /dev/null "http://127.0.0.1:$port"; do sleep 0.1; done
cat >s3.yaml <<END
{apiVersion: v1, kind: Secret, metadata: {name: s3}, stringData: {
  ACCESS_KEY_ID: key, SECRET_ACCESS_KEY: secretsecret, ENDPOINT: "http://127.0.0.1:$port"}}
END
NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 run "$kftrainer" submit --local -f s3.yaml "$examples/export.yaml"
ok "examples/export.yaml: exits 0" exits 0
ok "... what the node has saved is where the patch of the job says" test -s s3/models/bert/model.pt
finish
