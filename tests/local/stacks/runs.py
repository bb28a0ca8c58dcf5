"""Checkpoints in $KFTRAINER_CHECKPOINT_DIR: runs.py hf|fsdp2|lightning FOLDER STEPS. Two nodes, a checkpoint after each five;
rank 0 prints "loss STEP LOSS". Ranks may be killed at any time. A step waits until FOLDER/go exists, or 0.2 seconds.
"""
import os
import re
import sys
import time

os.environ.update(RANK=os.environ["PET_NODE_RANK"], WORLD_SIZE=os.environ["PET_NNODES"], LOCAL_RANK="0", LOCAL_WORLD_SIZE="1",
                  GROUP_RANK=os.environ["PET_NODE_RANK"], TORCHELASTIC_RUN_ID="x",
                  MASTER_ADDR=os.environ["PET_MASTER_ADDR"], MASTER_PORT=os.environ["PET_MASTER_PORT"])
import torch

what, folder = sys.argv[1:3]
STEPS, SAVE = int(sys.argv[3]), 5
directory, resumed = os.environ["KFTRAINER_CHECKPOINT_DIR"], os.environ.get("KFTRAINER_RESUME_FROM")
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.set_num_threads(1)
torch.manual_seed(1)
DATA = torch.rand(STEPS * 8, 16, generator=torch.Generator().manual_seed(7))


def begins(step):
    print(f"begins {os.environ['KFTRAINER_RESTART']} rank {rank} at {step}\n", end="", flush=True)


def pause():
    if not os.path.exists(f"{folder}/go"):
        time.sleep(0.2)


def step_of(path):
    return int(re.search("[0-9]+", os.path.basename(path))[0]) if path else 0  # Lightning: "step=10-v6.ckpt"


def hf():
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(16, 16)

        def forward(self, x):
            return {"loss": (self.layer(x) - x.flip(1)).pow(2).mean()}

    class Say(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            pause()

        def on_log(self, args, state, control, logs=None, **_):
            if rank == 0 and "loss" in logs:
                print(f"loss {state.global_step} {logs['loss']}\n", end="", flush=True)

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return len(DATA)

        def __getitem__(self, i):
            return {"x": DATA[i]}

    arguments = TrainingArguments(
        directory, per_device_train_batch_size=4, max_steps=STEPS, logging_steps=1, save_steps=SAVE, use_cpu=True, report_to="none",
        disable_tqdm=True, learning_rate=0.01, label_names=[])
    begins(step_of(resumed))
    Trainer(Model(), arguments, train_dataset=Rows(), callbacks=[Say()]).train(resume_from_checkpoint=resumed)


def fsdp2():
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo")
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh()) for _ in range(3)])
    mesh = init_device_mesh("cpu", (world,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    if resumed:
        of_model, of_optimizer = get_state_dict(model, optimizer)
        dcp.load({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=resumed)
        set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
    begins(step_of(resumed))
    for step in range(step_of(resumed) + 1, STEPS + 1):
        pause()
        batch = DATA[8 * step - 8:8 * step][rank::world]
        loss = (model(batch) - batch.flip(1)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.data)
        if rank == 0:
            print(f"loss {step} {loss.item() / world!r}\n", end="", flush=True)
        if step % SAVE == 0:
            of_model, of_optimizer = get_state_dict(model, optimizer)
            dcp.save({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=f"{directory}/step_{step}")
    dist.destroy_process_group()


def lightning():
    import lightning as L
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Line(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(16, 16)

        def training_step(self, batch, _):
            pause()
            loss = (self.layer(batch[0]) - batch[0].flip(1)).pow(2).mean()
            mean = self.trainer.strategy.reduce(loss.detach(), reduce_op="mean").item()
            if rank == 0:
                print(f"loss {self.trainer.global_step + 1} {mean!r}\n", end="", flush=True)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    data = torch.utils.data.TensorDataset(DATA[:8 * SAVE])  # an epoch: Lightning resumes between two of them
    sampler = torch.utils.data.DistributedSampler(data, world, rank, shuffle=False)
    loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler)
    saver = ModelCheckpoint(dirpath=directory, every_n_epochs=1, save_on_train_epoch_end=True, save_top_k=-1, filename="{step}")
    trainer = L.Trainer(accelerator="cpu", devices=1, num_nodes=world, strategy="ddp", max_epochs=STEPS // SAVE, logger=False,
                        use_distributed_sampler=False, callbacks=[saver], enable_progress_bar=False, enable_model_summary=False,
                        default_root_dir=folder)
    begins(step_of(resumed))
    trainer.fit(Line(), loader, ckpt_path=resumed)


{"hf": hf, "fsdp2": fsdp2, "lightning": lightning}[what]()
