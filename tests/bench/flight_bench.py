#!/usr/bin/env python3
"""tests/bench/flight_bench.py KFTRAINER: rows over Arrow Flight, beside pyarrow's own server with the same table in memory.

The client is pyarrow in both; CPU is the server's alone. Figures of a server are medians of ROUNDS reads.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cache"), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
os.environ["KFTRAINER"] = os.path.abspath(sys.argv[1])
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

from fleet import Fleet

ROUNDS = int(os.environ.get("ROUNDS", 10))
SERVER = """
import sys
import pyarrow.parquet as pq
from pyarrow import flight
table = pq.read_table(sys.argv[1])
class Server(flight.FlightServerBase):
    def get_flight_info(self, context, descriptor):
        return flight.FlightInfo(table.schema, descriptor, [flight.FlightEndpoint(b"t", ["grpc://127.0.0.1:%d" % self.port])], table.num_rows, -1)
    def do_get(self, context, ticket):
        return flight.RecordBatchStream(reader())
def reader():
    import pyarrow as pa
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=16384))
server = Server("grpc://127.0.0.1:0")
print(server.port, flush=True)
server.serve()
"""


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def read(endpoint, uri):
    with flight.FlightClient(uri) as client:
        return sum(chunk.data.num_rows for chunk in client.do_get(endpoint.ticket))


def measure(name, head, server, rows, size):
    descriptor = flight.FlightDescriptor.for_path("0", "1")
    with flight.FlightClient(head) as client:
        took = []
        for _ in range(500):
            start = time.perf_counter()
            info = client.get_flight_info(descriptor)
            took.append(time.perf_counter() - start)
    endpoint = info.endpoints[0]
    before, start = cpu(server), time.perf_counter()
    for _ in range(ROUNDS):
        assert read(endpoint, endpoint.locations[0]) == rows
    seconds, used = time.perf_counter() - start, cpu(server) - before
    took.sort()
    print(f"  {name:<10} {used / (ROUNDS * size / 1e9):5.2f} s CPU/GB {ROUNDS * size / 1e6 / seconds:7.0f} MB/s "
          f"{resident(server) / size:5.2f} x Arrow's size; GetFlightInfo p50 {statistics.median(took) * 1e6:5.0f} us, p99 {took[494] * 1e6:5.0f} us",
          flush=True)


TABLES = {
    "lists of 512 tokens": lambda: pa.table({"k": range(100000), "tokens": pa.array([range(i, i + 512) for i in range(100000)], pa.list_(pa.int32()))}),
    "28-byte rows": lambda: pa.table({**{name: pa.array(range(6000000), pa.int64()) for name in "abc"}, "d": pa.array(range(6000000), pa.int32())}),
}
for what, make in TABLES.items():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/t.parquet"
        table = make()
        pq.write_table(table, path, row_group_size=table.num_rows // 20)
        print(f"{what}: {table.nbytes / 1e6:.0f} MB", flush=True)
        with Fleet(path, 1) as fleet:
            measure("kftrainer", fleet.head.uri, fleet.workers[0].process.pid, table.num_rows, table.nbytes)
        with subprocess.Popen([sys.executable, "-c", SERVER, path], stdout=subprocess.PIPE, text=True) as peer:
            port = int(peer.stdout.readline())
            measure("pyarrow", f"grpc://127.0.0.1:{port}", peer.pid, table.num_rows, table.nbytes)
            peer.kill()
