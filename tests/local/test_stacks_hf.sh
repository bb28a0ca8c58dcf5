#!/bin/bash
# Hugging Face's libraries with PyTorch's newest release, on two nodes: Accelerate, Transformers' Trainer, TRL with PEFT.
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/stacks.sh"

python "$stacks/hf.py" accelerate sft trainer script >one.out 2>&1

run "$kftrainer" submit --local --name accelerate --runtime torch-distributed --nodes 2 --launcher accelerate -- \
	"$stacks/hf.py" accelerate
ok "Accelerate on 2 nodes, by --launcher accelerate: exits 0" exits 0
ok "... process 1 is on the other node" printed '^\[node-1\] accelerate: process 1 of 2$'
ok "... losses are those of one process, to 1e-3" equal accelerate: one.out out 1e-3

# torchrun is the runtime's.
run "$kftrainer" submit --local --name trainer --runtime accelerate-distributed --nodes 2 --arg "$stacks/hf.py" --arg sft --arg trainer
ok "TRL's SFTTrainer with LoRA and Transformers' Trainer, by accelerate-distributed on 2 nodes: exits 0" exits 0
ok "... SFTTrainer's losses are those of one process, to 1e-3" equal sft: one.out out 1e-3
# Of 2 layers q is 32 x 32 and v is 32 x 16, each with A and B of rank 4.
ok "... only LoRA's 896 parameters are trained" test "$(of 'sft trains:' out)" = 896.0000
ok "... Trainer's are, too" equal trainer: one.out out 1e-3
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

# Its command, and with it the arguments for the folders, are the runtime's; losses of steps 2, 4, 6 and 8.
words=(use_cpu=True bf16=False max_steps=8 per_device_train_batch_size=4 learning_rate=0.01 logging_steps=2 disable_tqdm=True
	save_strategy=no report_to=none)
run "$kftrainer" submit --local --name trl --runtime trl-distributed --nodes 2 --model "file://$PWD/model" \
	--dataset "file://$PWD/dataset" "${words[@]/#/--arg=--}"
ok "trl-distributed on 2 nodes, with a model and a data set of folders: exits 0" exits 0
sed -nE "s/^\[node-0\] +\{'loss': '?([0-9.]+).*/\1/p" out | xargs printf 'script: %s %s %s %s\n' >script.out
ok "... losses are those of one process, to 1e-3" equal script: one.out script.out 1e-3
finish
