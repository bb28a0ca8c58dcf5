"""What the tests of torchtune train: a Llama of two layers, as the hub has it, and a table of sums.

tiny_llama.py make MODEL DATASET    two folders with their files
tiny_llama.py same FOLDER FOLDER    the tensors of the safetensors in both, one by one: exits 1 if any differs
tiny_llama.py moved MODEL FOLDER    those saved in FOLDER that are not MODEL's, and not zero: exits 1 if none is
"""
import base64
import json
import pathlib
import sys

import pyarrow
import pyarrow.parquet
import torch
from safetensors.torch import load_file, save_file

LAYERS, WIDTH, HEADS, INNER, VOCABULARY = 2, 32, 2, 64, 128256  # Llama 3's tokenizer has the last


def model(folder):
    (folder / "original").mkdir(parents=True)
    torch.manual_seed(0)

    def matrix(rows, columns=WIDTH):
        return torch.randn(rows, columns) * 0.02
    tensors = {"model.embed_tokens.weight": matrix(VOCABULARY), "model.norm.weight": torch.ones(WIDTH)}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        tensors |= {
            name + "self_attn.q_proj.weight": matrix(WIDTH), name + "self_attn.o_proj.weight": matrix(WIDTH),
            name + "self_attn.k_proj.weight": matrix(WIDTH // HEADS), name + "self_attn.v_proj.weight": matrix(WIDTH // HEADS),
            name + "mlp.gate_proj.weight": matrix(INNER), name + "mlp.up_proj.weight": matrix(INNER),
            name + "mlp.down_proj.weight": matrix(WIDTH, INNER),
            name + "input_layernorm.weight": torch.ones(WIDTH), name + "post_attention_layernorm.weight": torch.ones(WIDTH)}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": 1, "head_dim": WIDTH // HEADS,
        "vocab_size": VOCABULARY, "tie_word_embeddings": True, "max_position_embeddings": 512, "torch_dtype": "float32"}))
    (folder / "original/params.json").write_text("{}")
    # tiktoken's file of ranks: all bytes, and a pair, since it wants one.
    ranks = [bytes([i]) for i in range(256)] + [b"su"]
    (folder / "original/tokenizer.model").write_text(
        "".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(ranks)))


def dataset(folder):
    (folder / "data").mkdir(parents=True)
    sums = [(a, b) for a in range(4) for b in range(4)]
    table = pyarrow.table({"input": [f"{a}+{b}" for a, b in sums], "output": [str(a + b) for a, b in sums]})
    pyarrow.parquet.write_table(table, folder / "data/train-00000-of-00001.parquet")


def saved(folder):
    """Path and name of each tensor below the folder, and the tensor."""
    return {(str(path.relative_to(folder)), name): tensor for path in sorted(pathlib.Path(folder).rglob("*.safetensors"))
            for name, tensor in load_file(path).items()}


def same(one, other):
    one, other = saved(one), saved(other)
    assert one and one.keys() == other.keys(), one.keys() ^ other.keys()
    bad = [key for key, tensor in one.items() if not torch.equal(tensor, other[key])]
    assert not bad, bad
    print(len(one), "tensors are the same")


def moved(before, after):
    before = {name: tensor for (_, name), tensor in saved(before).items()}
    changed = [name for (_, name), tensor in saved(after).items()
               if tensor.any() and not (name in before and torch.equal(tensor, before[name]))]
    assert changed
    print("\n".join(sorted(changed)))


if __name__ == "__main__":
    what, *folders = sys.argv[1:]
    folders = [pathlib.Path(folder) for folder in folders]
    if what == "make":
        model(folders[0])
        dataset(folders[1])
    else:
        {"same": same, "moved": moved}[what](*folders)
