#!/usr/bin/env python3
"""tests/bench/flight_bench.py KFTRAINER: rows over Arrow Flight, beside pyarrow's own server with the same table in memory.

The client is pyarrow in both; CPU is the server's alone. "kernel" is the floor: a process that sends as many bytes from
memory to a reader that drops them, and echoes for GetFlightInfo. "kftrainer, bare" has that reader, too.
"""
import os
import pathlib
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cache"), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs
from row import row

venvs.use("cache")
os.environ["KFTRAINER"] = os.path.abspath(sys.argv[1])
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

from fleet import Fleet

ROUNDS = int(os.environ.get("ROUNDS", 5))
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

KERNEL = """
import mmap, socket, sys
size = int(sys.argv[1])
memory = mmap.mmap(-1, size)
memory.write(b"x" * size)
view = memoryview(memory)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    client = listener.accept()[0]
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    at = size if client.recv(1) == b"e" else 0
    while at < size:
        at += client.send(view[at:at + (1 << 20)])
    while client.recv(1 << 10):
        client.send(view[:1 << 10])
"""
WINDOW = (1 << 31) - 1


def frame(kind, flags, stream, body):
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def do_get(ticket):
    """A client's bytes for DoGet: no window or frame of it limits the server."""
    fields = {":method": "POST", ":scheme": "http", ":path": "/arrow.flight.protocol.FlightService/DoGet", ":authority": "x",
              "content-type": "application/grpc", "te": "trailers"}
    headers = b"".join(b"\0" + b"".join(bytes([len(x)]) + x.encode() for x in pair) for pair in fields.items())
    message = b"\x0a" + bytes([len(ticket)]) + ticket
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack(">HIHI", 4, WINDOW, 5, (1 << 24) - 1))
            + frame(8, 0, 0, struct.pack(">I", WINDOW - 65535)) + frame(1, 4, 1, headers)
            + frame(0, 1, 1, b"\0" + struct.pack(">I", len(message)) + message))


def drop(port, request, size):
    """Receives so many bytes, at least."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        server.sendall(request)
        into = bytearray(1 << 20)
        while size > 0:
            got = server.recv_into(into)
            if not got:
                sys.exit("the server sent less than it has")
            size -= got


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def read(endpoint, uri):
    with flight.FlightClient(uri) as client:
        return sum(chunk.data.num_rows for chunk in client.do_get(endpoint.ticket))


def transfer(server, size, once):
    """CPU seconds of the server a GB."""
    before = cpu(server)
    for _ in range(ROUNDS):
        once()
    return (cpu(server) - before) / (ROUNDS * size / 1e9)


def latency(call):
    """The median, in microseconds."""
    took = []
    for _ in range(2000):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1e6


def measure(head, server, rows, size):
    """A ticket; and CPU, memory beside the table's, latency of GetFlightInfo."""
    descriptor = flight.FlightDescriptor.for_path("0", "1")
    with flight.FlightClient(head) as client:
        took = latency(lambda: client.get_flight_info(descriptor))
        endpoint = client.get_flight_info(descriptor).endpoints[0]

    def once():
        if read(endpoint, endpoint.locations[0]) != rows:
            sys.exit("flight_bench: rows are missing")

    once()
    return endpoint.ticket.ticket, transfer(server, size, once), resident(server) / size, took


def measure_kernel(size):
    """CPU of the floor, and latency of an echo."""
    with subprocess.Popen([sys.executable, "-c", KERNEL, str(size)], stdout=subprocess.PIPE, text=True) as peer:
        port = int(peer.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as echo:
            echo.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            echo.sendall(b"e")

            def call():
                echo.sendall(b"x" * 100)
                echo.recv(1 << 10)

            took = latency(call)
        used = transfer(peer.pid, size, lambda: drop(port, b"s", size))
        peer.kill()
    return used, took


TABLES = {
    "lists of 512 tokens": lambda: pa.table({"k": range(100000), "tokens": pa.array([range(i, i + 512) for i in range(100000)], pa.list_(pa.int32()))}),
    "28-byte rows": lambda: pa.table({**{name: pa.array(range(6000000), pa.int64()) for name in "abc"}, "d": pa.array(range(6000000), pa.int32())}),
}
for what, make in TABLES.items():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/t.parquet"
        table = make()
        pq.write_table(table, path, row_group_size=table.num_rows // 20)
        with Fleet(path, 1) as fleet:
            worker = fleet.workers[0]
            ticket, used, memory, took = measure(fleet.head.uri, worker.process.pid, table.num_rows, table.nbytes)
            bare = transfer(worker.process.pid, table.nbytes, lambda: drop(worker.port, do_get(ticket), table.nbytes))
        floor, echo = measure_kernel(table.nbytes)
        with subprocess.Popen([sys.executable, "-c", SERVER, path], stdout=subprocess.PIPE, text=True) as peer:
            port = int(peer.stdout.readline())
            _, theirs, their_memory, their_took = measure(f"grpc://127.0.0.1:{port}", peer.pid, table.num_rows, table.nbytes)
            peer.kill()
        row(f"{what}: CPU of the worker", used, "s/GB", f"a table of {table.nbytes / 1e6:.0f} MB to pyarrow's client, {ROUNDS} times, one server after the other",
            "", f"pyarrow {pa.__version__}", theirs)
        row("... to a client that drops the bytes", bare, "s/GB", "HTTP/2 without limits; the peer sends as many bytes of memory over plain TCP", "",
            "a process that only sends", floor)
        row("... memory", memory, "times the table", "RSS of the server beside Arrow's size", "", f"pyarrow {pa.__version__}", their_memory)
        row("... GetFlightInfo", took, "us", f"median of 2,000 by pyarrow's client; an echo over TCP takes {echo:.0f} us", "", f"pyarrow {pa.__version__}", their_took)
