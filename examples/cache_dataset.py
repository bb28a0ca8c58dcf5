#!/usr/bin/env python3
"""A PyTorch dataset with rows of kftrainer's data cache: a shard for each rank and each worker of its DataLoader.

    python3 cache_dataset.py grpc://HEAD:50051

prints how many rows this rank has read, and the sum of the first column.
"""
import json
import os
import sys

import torch
from pyarrow import flight
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class CacheDataset(IterableDataset):
    """Batches of one epoch. With `equal`, all shards have the same number of rows: "drop" or "pad"."""

    def __init__(self, head, columns, rank=0, world=1, equal="drop"):
        self.head, self.columns, self.rank, self.world, self.equal = head, columns, rank, world, equal
        self.epoch = 0

    def set_epoch(self, epoch):
        """Another shard for each rank in each epoch."""
        self.epoch = epoch

    def descriptor(self):
        worker = get_worker_info()
        index, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        shards = self.world * workers
        shard = (index * self.world + self.rank + self.epoch) % shards
        return flight.FlightDescriptor.for_command(json.dumps({"rank": shard, "world": shards, "equal": self.equal}))

    def __iter__(self):
        with flight.FlightClient(self.head) as head:
            info = head.get_flight_info(self.descriptor())
        rows = 0
        for endpoint in info.endpoints:
            with flight.FlightClient(endpoint.locations[0]) as client:
                for chunk in client.do_get(endpoint.ticket):
                    rows += chunk.data.num_rows
                    yield {name: torch.tensor(chunk.data.column(name).to_pylist()) for name in self.columns(chunk.data.schema)}
        if info.total_records not in (-1, rows):  # -1: unknown
            raise RuntimeError(f"{self.head}: {rows} of {info.total_records} rows")


def main():
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    data = CacheDataset(sys.argv[1], lambda schema: schema.names[:1], rank, world, "pad")
    rows, total = 0, 0
    for batch in DataLoader(data, batch_size=None, num_workers=int(os.environ.get("LOADERS", 2))):
        for values in batch.values():
            rows, total = rows + len(values), total + int(values.sum())
    print(f"rank {rank} of {world}: {rows} rows, sum {total}")


if __name__ == "__main__":
    main()
