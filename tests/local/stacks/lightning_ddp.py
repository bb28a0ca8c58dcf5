"""Lightning's Trainer: lightning_ddp.py NODES: prints the mean loss of each step and the weight, by rank 0."""
import os
import sys
import tempfile

import lightning
import torch

nodes = int(sys.argv[1])
losses = []


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layer(x), y)
        losses.append(self.trainer.strategy.reduce(loss.detach(), reduce_op="mean").item())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


torch.manual_seed(0)
x = torch.rand(64, 4)
data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
# Lightning's own sampler would shuffle.
sampler = torch.utils.data.DistributedSampler(data, nodes, int(os.environ.get("RANK", "0")), shuffle=False)
loader = torch.utils.data.DataLoader(data, batch_size=8 // nodes, sampler=sampler)
model = Line()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, num_nodes=nodes, strategy="ddp" if nodes > 1 else "auto", max_epochs=1, logger=False,
        use_distributed_sampler=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=folder)
    print(f"lightning: process {trainer.global_rank} of {trainer.world_size}\n", end="", flush=True)
    trainer.fit(model, loader)
if trainer.global_rank == 0:
    print("lightning: " + " ".join(f"{number:.6f}" for number in [*losses, *model.layer.weight.flatten().tolist()]), flush=True)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
