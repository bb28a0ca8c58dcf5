#!/usr/bin/env python3
"""Train on a table of the data cache: with examples/cache.yaml, or by hand.

    MAKE_TABLE=DIRECTORY python3 cache_train.py   writes a table of 100,000 rows: x, y = 3 x + 1

Each rank reads its shard and fits y = a x + b. At the end the rows of all ranks are summed up:
with TABLE_ROWS set, the job fails unless each row was read exactly once.
"""
import os
import pathlib
import sys

ROWS = 100_000


def make_table(directory):
    import pyarrow as pa
    from pyarrow import parquet

    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    x = [i / ROWS for i in range(ROWS)]
    table = pa.table({"id": pa.array(range(ROWS), pa.int64()), "x": x, "y": [3 * value + 1 for value in x]})
    for i in range(4):
        parquet.write_table(table.slice(i * ROWS // 4, ROWS // 4), f"{directory}/part-{i}.parquet", row_group_size=4000)


def batches(rank, world):
    """Columns of this rank's rows, as tensors."""
    import torch
    from pyarrow import flight

    head = flight.FlightClient(f"grpc://{os.environ['TRAIN_JOB_NAME']}-cache-service:50051")
    info = head.get_flight_info(flight.FlightDescriptor.for_path(str(rank), str(world)))
    rows = 0
    for endpoint in info.endpoints:
        for location in endpoint.locations:
            for chunk in flight.FlightClient(location).do_get(endpoint.ticket):
                rows += chunk.data.num_rows
                yield {name: torch.tensor(chunk.data.column(i).to_pylist()) for i, name in enumerate(chunk.data.schema.names)}
    if info.total_records not in (-1, rows):  # -1: unknown, as of upstream's head
        raise RuntimeError(f"{rows} of {info.total_records} rows")


def train():
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = torch.nn.Linear(1, 1)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    steps = torch.optim.SGD(parallel.parameters(), lr=0.5)
    seen = torch.zeros(3, dtype=torch.int64)  # rows, sum of ids, sum of their squares modulo 2^61
    with parallel.join():  # shards differ by a row, so one rank may have a batch more
        for batch in batches(rank, world):
            ids = batch["id"]
            seen += torch.stack([torch.tensor(len(ids)), ids.sum(), (ids * ids % 1_000_003).sum()])
            for x, y in zip(batch["x"].float().split(500), batch["y"].float().split(500)):
                steps.zero_grad()
                torch.nn.functional.mse_loss(parallel(x[:, None])[:, 0], y).backward()
                steps.step()
    print(f"rank {rank} of {world}: {int(seen[0])} rows", flush=True)
    dist.all_reduce(seen)
    rows = int(os.environ.get("TABLE_ROWS", ROWS))
    wanted = [rows, sum(range(rows)), sum(i * i % 1_000_003 for i in range(rows))]
    if rank == 0:
        print(f"all ranks: {int(seen[0])} rows, checksum {'right' if seen.tolist() == wanted else 'WRONG'}", flush=True)
        print(f"y = {float(model.weight):.2f} x + {float(model.bias):.2f}", flush=True)
    dist.destroy_process_group()
    return 0 if seen.tolist() == wanted else 1


if __name__ == "__main__":
    if "MAKE_TABLE" in os.environ:
        make_table(os.environ["MAKE_TABLE"])
    else:
        sys.exit(train())
