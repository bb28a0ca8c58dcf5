#!/usr/bin/env python3
"""pyarrow 19, which upstream's client pins, and examples/cache_dataset.py with PyTorch, read from head and workers."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache19")
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

from fleet import Fleet
from tap import check, finish

check("the client is pyarrow 19", None if pa.__version__.startswith("19.") else pa.__version__)
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-clients-"))
N = 10007
table = pa.table({"i": pa.array(range(N), pa.int64()), "tokens": pa.array([[i % 97] * (i % 9) for i in range(N)], pa.list_(pa.int32())),
                  "text": [f"row {i}" for i in range(N)], "when": pa.array(range(N), pa.timestamp("us", "UTC"))})
pq.write_table(table, scratch / "t.parquet", row_group_size=1000)

with Fleet(scratch / "t.parquet", 3) as fleet:
    whole = fleet.read(0, 1)
    check("all rows, in order", None if whole.cast(table.schema).equals(table) else whole.schema)
    parts = pa.concat_tables(fleet.read(r, 7) for r in range(7))
    check("the same by 7 ranks", None if parts.equals(whole) else parts.num_rows)

    def upstreams_loop(rank, world, loader, loaders, epoch, size=128):
        """Batches of one DataLoader worker, in the steps of upstream's notebook: each location of each endpoint in turn."""
        shards = loaders * world
        shard = (loader * world + rank + epoch) % shards
        info = flight.connect(fleet.head.uri).get_flight_info(flight.FlightDescriptor.for_path(str(shard), str(shards)))
        left = None
        for endpoint in info.endpoints:
            for location in endpoint.locations:
                for chunk in flight.FlightClient(location).do_get(endpoint.ticket):
                    rows = pa.table(chunk.data.columns, schema=chunk.data.schema)
                    rows = pa.concat_tables([left, rows]) if left else rows
                    while rows.num_rows >= size:
                        yield rows.slice(0, size)
                        rows = rows.slice(size)
                    left = rows if rows.num_rows else None
        if left:
            yield left

    for epoch in range(2):
        got = {(r, w): list(upstreams_loop(r, 2, w, 3, epoch)) for r in range(2) for w in range(3)}
        seen = sorted(i for batches in got.values() for b in batches for i in b["i"].to_pylist())
        check(f"upstream's client loop, 2 ranks with 3 loaders each, epoch {epoch}: every row once", None if seen == list(range(N)) else len(seen))
        check("... in batches of 128, but the last", [b.num_rows for batches in got.values() for b in batches[:-1] if b.num_rows != 128] or None)
        first = got[0, 0][0]["i"][0].as_py()
        check("... which begin with the epoch's shard", None if first == epoch * -(-N // 6) else first)

    def example(rank, world, loaders):
        done = subprocess.run([sys.executable, ROOT / "examples/cache_dataset.py", fleet.head.uri], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": "/usr/lib/python3/dist-packages", "RANK": str(rank),
                                   "WORLD_SIZE": str(world), "LOADERS": str(loaders)})
        found = re.search(rf"rank {rank} of {world}: (\d+) rows, sum (\d+)", done.stdout)
        return (int(found[1]), int(found[2])) if found else done.stderr[-2000:]

    alone = example(0, 1, 0)
    check("the example: one rank reads all rows", None if alone == (N, N * (N - 1) // 2) else alone)
    ranks = [example(r, 2, 2) for r in range(2)]
    # 4 shards of 2,502 rows: the last one begins again at row 0, by 1 row.
    check("the example: 2 ranks with 2 loaders each, padded to the same number of rows",
          None if ranks[0][0] == ranks[1][0] == 5004 and sum(s for _, s in ranks) == N * (N - 1) // 2 else ranks)


class Fewer(flight.FlightServerBase):
    """A cache that lost rows: it announces 3 and sends 2."""

    def get_flight_info(self, context, descriptor):
        return flight.FlightInfo(rows.schema, descriptor, [flight.FlightEndpoint(b"t", [f"grpc://127.0.0.1:{self.port}"])], 3, -1)

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(rows)


rows = pa.table({"i": [1, 2]})
fewer = Fewer("grpc://127.0.0.1:0")
done = subprocess.run([sys.executable, ROOT / "examples/cache_dataset.py", f"grpc://127.0.0.1:{fewer.port}"], capture_output=True, text=True,
                      env={**os.environ, "PYTHONPATH": "/usr/lib/python3/dist-packages", "LOADERS": "0"})
check("the example fails when rows are missing", None if done.returncode and "2 of 3 rows" in done.stderr else done)
fewer.shutdown()
shutil.rmtree(scratch)
finish()
