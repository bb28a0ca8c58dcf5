#!/bin/bash
# Hugging Face's libraries with PyTorch's newest release, on two nodes: Accelerate, Transformers' Trainer, TRL with PEFT.
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/stacks.sh"

train() { # WHAT
	run "$kftrainer" submit --local --name "$1" --runtime torch-distributed --nodes 2 -- torchrun "$stacks/hf.py" "$1"
}
python "$stacks/hf.py" accelerate trainer sft >one.out 2>&1

run "$kftrainer" submit --local --name accelerate --runtime torch-distributed --nodes 2 --launcher accelerate -- \
	"$stacks/hf.py" accelerate
ok "Accelerate on 2 nodes, by --launcher accelerate: exits 0" exits 0
ok "... process 1 is on the other node" printed '^\[node-1\] accelerate: process 1 of 2$'
ok "... losses are those of one process, to 1e-3" equal accelerate: one.out out 1e-3

train trainer
ok "Transformers' Trainer on 2 nodes: exits 0" exits 0
ok "... losses are those of one process, to 1e-3" equal trainer: one.out out 1e-3
"$kftrainer" get trainer -o json >trainer.json
status() { # Trainer rounds what it reports no more than what it logs
	python3 - trainer.json "$(of trainer: out)" <<-'PY'
		import json, sys
		status = json.load(open(sys.argv[1]))["status"]["trainerStatus"]
		*_, last, mean = map(float, sys.argv[2].split())
		metrics = {metric["name"]: float(metric["value"]) for metric in status["metrics"]}
		print(status)
		assert status["progressPercentage"] == 100 and status["estimatedRemainingSeconds"] == 0
		assert abs(metrics["loss"] - last) < 1e-3 and abs(metrics["train_loss"] - mean) < 1e-3
	PY
}
ok "... its KubeflowCallback has reported progress, the last loss and the mean" status
run "$kftrainer" get trainer -o wide
ok "... which get shows" printed '^trainer +Complete .* 100% '

train sft
ok "TRL's SFTTrainer with LoRA on 2 nodes: exits 0" exits 0
ok "... losses are those of one process, to 1e-3" equal sft: one.out out 1e-3
# Of 2 layers q is 32 x 32 and v is 32 x 16, each with A and B of rank 4.
ok "... only LoRA's 896 parameters are trained" test "$(of 'sft trains:' out)" = 896.0000
finish
