#!/bin/bash
# torchtune 0.6.1 on models and data sets that initializers fetch from a stand-in of the hub: examples/torchtune.yaml by
# `submit --local`, and jobs of the Kubeflow SDK by `controller --local`. Losses and saved tensors are those of `tune
# run` by hand. On a machine without GPUs only its recipes for one device run. TORCHTUNE_ALL=1: LoRA by the SDK, too.
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2016,SC2154 # what is for eval; server.sh
. "$(dirname "$0")/server.sh"
sdk=$(tests/cluster/sdk.sh 2>"$scratch/sdk") || {
	check "the SDK is installed" eval 'cat "$scratch/sdk"; false'
	finish
}
tune=$(tests/setup.sh venv torchtune)
[ -e "$tune/.done" ] || {
	check "torchtune is installed" eval 'echo "tests/setup.sh stack"; false'
	finish
}
unset CUDA_VISIBLE_DEVICES
export OMP_NUM_THREADS=1 PATH=$tune/bin:$PATH PYTHONDONTWRITEBYTECODE=1 HF_HOME=$scratch/hf
model=$scratch/hub/models/meta-llama/Llama-3.2-1B-Instruct data=$scratch/hub/datasets/tatsu-lab/alpaca
check "a tiny Llama and a data set are made" python tests/local/tiny_llama.py make "$model" "$data"
echo '{"gated": true, "access": ["hf_token"]}' >"$model/hub.json"
echo '{}' >"$data/hub.json"
mkfifo "$scratch/hub.in"
/usr/bin/python3 tests/store/hub.py --token hf_token "$scratch/hub" <"$scratch/hub.in" >"$scratch/hub.out" &
exec 8>"$scratch/hub.in" # it ends when this is closed
until_true test -s "$scratch/hub.out"
HF_ENDPOINT=$(/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["hub"])' <"$scratch/hub.out")
export HF_ENDPOINT NO_PROXY=127.0.0.1 no_proxy=127.0.0.1

# What shrinks the recipe's model, and makes two runs of it the same.
tiny=(device=cpu seed=7 log_peak_memory_stats=False gradient_accumulation_steps=1 model.vocab_size=128256 model.num_layers=2
	model.num_heads=2 model.num_kv_heads=1 model.embed_dim=32 model.intermediate_dim=64 model.max_seq_len=512)
full=("${tiny[@]}" model._component_=torchtune.models.llama3_2.llama3_2)
lora=("${tiny[@]}" model._component_=torchtune.models.llama3_2.lora_llama3_2)

by_hand() { # METHOD ARGUMENT...: in $scratch/METHOD, without kftrainer
	tune run "$1_finetune_single_device" --config "llama3_2/1B_$1_single_device" "dataset=torchtune.datasets.instruct_dataset" \
		dataset.source=parquet "dataset.data_dir=$data/data" "output_dir=$scratch/$1" dtype=fp32 batch_size=2 \
		"tokenizer.path=$model/original/tokenizer.model" "checkpointer.checkpoint_dir=$model" "${@:2}" >"$scratch/$1.log" 2>&1 ||
		{ tail -n 20 "$scratch/$1.log"; return 1; }
}
losses() { sed -n 's/ lr:.*//p' "$1"/logs/*.txt; }
same_losses() { # METHOD FOLDER STEPS
	diff <(losses "$scratch/$1") <(losses "$2") && [ "$(losses "$2" | wc -l)" = "$3" ]
}
shown() { # LOSSES LOG: each is in the output, which has progress bars
	while read -r loss; do grep -Fq "Loss: ${loss##*:}" "$2" || { echo "no $loss"; return 1; }; done < <(losses "$1")
}
moved_of() { # MODEL FOLDER REGEX
	python tests/local/tiny_llama.py moved "$1" "$2" >"$scratch/moved" && grep -Eq "$3" "$scratch/moved"
}

compare() { # WHAT METHOD FOLDER STEPS LOG REGEX-OF-A-TENSOR
	check "$1: the losses are those of tune run by hand" same_losses "$2" "$3" "$4"
	check "$1: its log has them" shown "$3" "$5"
	check "$1: every tensor that it saved is that of tune run by hand" python tests/local/tiny_llama.py same "$scratch/$2" "$3"
	check "$1: the saved tensors have been trained" moved_of "$model" "$3" "$6"
}
output_of() { find "$scratch/state" "$scratch/api" -type d -path "*/initializer-$1/output" 2>"$scratch/last"; } # JOB

# ---- the example ---------------------------------------------------------------------------------
printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: hub-token}\nstringData: {HF_TOKEN: hf_token}\n' >"$scratch/token.yaml"
example=()
for word in "${lora[@]}" dtype=fp32 batch_size=2; do example+=(--arg "$word"); done
check "by hand: LoRA" by_hand lora "${lora[@]}" "model.lora_attn_modules=[q_proj,v_proj]" epochs=2
run "$kftrainer" submit --local --gpu 0 "${example[@]}" -f "$scratch/token.yaml" examples/torchtune.yaml
ok "examples/torchtune.yaml: exits 0" exits 0
"$kftrainer" logs --raw tune-llama >"$scratch/raw" 2>&1
compare examples/torchtune.yaml lora "$(output_of tune-llama)" 16 "$scratch/raw" 'q_proj\.lora_B'

# ---- the SDK -------------------------------------------------------------------------------------
up
check "torchtune's runtime without GPUs, for a machine that has none" kubectl patch clustertrainingruntime torchtune-llama3.2-1b --type json -p \
	'[{"op": "remove", "path": "/spec/template/spec/replicatedJobs/2/template/spec/template/spec/containers/0/resources"}]'
by_sdk() { # METHOD ARGUMENT...
	"$sdk/0.5.0/bin/python" tests/local/sdk_torchtune.py "$KUBECONFIG" "$@" >"$scratch/out" 2>"$scratch/sdk.err" &&
		read -r name status <"$scratch/out" && [ "$status" = Complete ] || { cat "$scratch/out" "$scratch/sdk.err"; return 1; }
}
sdk_trains() { # WHAT METHOD REGEX ARGUMENT...
	check "the SDK's BuiltinTrainer, $1: Complete" by_sdk "$2" "${@:4}"
	compare "the SDK's BuiltinTrainer, $1" "$2" "$(output_of "$name")" 8 "$scratch/out" "$3"
}
check "by hand: all weights" by_hand full "${full[@]}" epochs=1
sdk_trains "all weights" full 'down_proj' "${full[@]}"
if [ -n "${TORCHTUNE_ALL:-}" ]; then
	rm -rf "$scratch/lora"
	check "by hand: LoRA of the SDK" by_hand lora "${lora[@]}" "model.lora_attn_modules=[q_proj,v_proj,output_proj]" model.lora_rank=8 epochs=1
	sdk_trains LoRA lora 'output_proj\.lora_B|o_proj\.lora_B' "${lora[@]}"
fi
exec 8>&-
finish
