"""Hugging Face's libraries on a tiny Llama: hf.py WHAT...: prints the losses of each, by rank 0.

WHAT: accelerate (a loop of one's own), trainer (Transformers' Trainer), sft (TRL's SFTTrainer with LoRA), script (what
TRL's own script does with the folders model and dataset, which it makes first).
All take the same 64 texts in the same order, 8 at a time, however many processes share them.
"""
import json
import os
import sys
import tempfile

import torch

WORDS = "the cat dog sat on mat red blue green one two three sum of is and".split()
SIZE = int(os.environ.get("WORLD_SIZE", "1"))
TEXTS = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 9)) for i in range(64)]


def say(what, numbers):
    if os.environ.get("RANK", "0") == "0":
        print(f"{what}: " + " ".join(f"{number:.4f}" for number in numbers), flush=True)


def accelerate():
    from accelerate import Accelerator
    helper = Accelerator(cpu=True)
    print(f"accelerate: process {helper.process_index} of {helper.num_processes}\n", end="", flush=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    x = torch.rand(64, 4)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8 // SIZE)
    model, optimizer, loader = helper.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), loader)
    losses = []
    for a, b in loader:
        loss = torch.nn.functional.mse_loss(model(a), b)
        helper.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(helper.reduce(loss.detach(), "mean").item())
    say("accelerate", losses)
    helper.end_training()


def tiny():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["<pad>", "<eos>", *WORDS])}, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(WORDS) + 2, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=1))
    return model, PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")


def settings(output):
    return {"output_dir": output, "per_device_train_batch_size": 8 // SIZE, "max_steps": 8, "logging_steps": 2,
            "learning_rate": 0.01, "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "report_to": "none"}


def losses(trainer):
    done = trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry] + [done.training_loss]


def trainer(output):
    from datasets import Dataset
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments
    model, tokenizer = tiny()
    data = Dataset.from_dict({"text": TEXTS}).map(lambda row: tokenizer(row["text"]), remove_columns="text")
    run = Trainer(model, TrainingArguments(**settings(output)), train_dataset=data, processing_class=tokenizer,
                  data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
    say("trainer", losses(run))


def sft(output):
    from datasets import Dataset
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer
    model, tokenizer = tiny()
    run = SFTTrainer(model, args=SFTConfig(max_length=16, bf16=False, **settings(output)), processing_class=tokenizer,
                     train_dataset=Dataset.from_dict({"text": TEXTS}),
                     peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    say("sft", losses(run))
    say("sft trains", [sum(p.numel() for p in run.model.parameters() if p.requires_grad)])


def script(output):
    from datasets import load_dataset
    from trl import SFTConfig, SFTTrainer
    model, tokenizer = tiny()
    model.save_pretrained("model")
    tokenizer.save_pretrained("model")
    os.mkdir("dataset")
    with open("dataset/train.jsonl", "w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS)
    run = SFTTrainer("model", args=SFTConfig(bf16=False, **settings(output)), train_dataset=load_dataset("dataset", split="train"))
    say("script", losses(run)[:-1])


with tempfile.TemporaryDirectory() as folder:
    os.environ["HF_HOME"] = folder
    for what in sys.argv[1:]:
        accelerate() if what == "accelerate" else {"trainer": trainer, "sft": sft, "script": script}[what](folder)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
