#!/usr/bin/env python3
"""Bodies that a reader asks for compressed, by a header: equal to those that are not."""
import json
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache", also="cache19")
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

import columns
import samples
from fleet import Fleet
from tap import check, finish

HEADER = b"arrow-flight-compression"
CODECS = "lz4", "zstd"
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-compression-"))


class Meter:
    """Forwards connections to a server, and counts what the server sends."""

    def __init__(self, port):
        self.port, self.sent = port, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"grpc://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", self.port))
            threading.Thread(target=self.forward, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.forward, args=(server, client, True), daemon=True).start()

    def forward(self, a, b, count):
        try:
            while data := a.recv(1 << 16):
                self.sent += len(data) if count else 0
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def asking(codec):
    return flight.FlightCallOptions(headers=[(HEADER, codec.encode())] if codec else [])


def read(fleet, codec, uri=None, **command):
    with flight.FlightClient(fleet.head.uri) as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps(command)), asking(codec))
    chunks = []
    for endpoint in info.endpoints:
        with flight.FlightClient(uri or endpoint.locations[0]) as client:
            reader = client.do_get(endpoint.ticket, asking(codec))
            schema = reader.schema
            chunks += [c.data for c in reader]
    table = pa.Table.from_batches(chunks, schema)
    table.validate(full=True)
    return table


def differ(got, want):
    if not got.schema.equals(want.schema, check_metadata=True):
        return f"schema:\n{got.schema}\nnot\n{want.schema}"
    return columns.differences(got, want)


if os.environ["KFT_VENV"] == "cache19":
    check("the client is pyarrow 19", None if pa.__version__.startswith("19.") else pa.__version__)
every = samples.write(scratch / "every.parquet", samples.table(5, {**samples.FLAT, **samples.NESTED}, 900, .3), row_group_size=250)
with Fleet(every) as fleet:
    plain = read(fleet, None)
    check("none is what no header gives", differ(read(fleet, "none"), plain))
    for codec in CODECS:
        check(f"{codec}: every type", differ(read(fleet, codec), plain))
        check(f"{codec}: shards that cut batches", differ(pa.concat_tables(read(fleet, codec, rank=r, world=7) for r in range(7)), plain))
        wish = {"columns": ["int32", "string", "texts"], "filter": [["int32", "is null", False]], "batchRows": 13}
        check(f"{codec}: with columns, a filter and batchRows", differ(read(fleet, codec, **wish), read(fleet, None, **wish)))
    ticket = fleet.info(0, 1).endpoints[0].ticket
    for value in "gzip", "LZ4", "", "lz4,zstd", "x" * 3000:
        with flight.FlightClient(fleet.workers[0].uri) as client:
            try:
                client.do_get(ticket, flight.FlightCallOptions(headers=[(HEADER, value.encode())])).read_all()
                check(f"refused: '{value[:20]}'", "it was not")
            except pa.ArrowInvalid as e:
                check(f"refused: '{value[:20]}'", None if "none, lz4 or zstd" in str(e) else e)

# Long and short runs, one row of more than LZ4's blocks hold, and bytes that do not get smaller.
N = 60000
large = pa.table({"row": range(N), "same": [7] * N, "text": [f"row {i % 1000} of many rows" for i in range(N)],
                  "noise": [os.urandom(24) for _ in range(N)],
                  "blob": [bytes(range(256)) * 50000 if i == 3 else b"" for i in range(N)]})
pq.write_table(large, scratch / "large.parquet", row_group_size=20000)
with Fleet(scratch / "large.parquet", 1) as fleet:
    meter = Meter(fleet.workers[0].port)
    sent = {}
    for codec in None, *CODECS:
        before = meter.sent
        check(f"{codec}: large buffers", columns.differences(read(fleet, codec, meter.uri), large))
        sent[codec] = meter.sent - before
    check("fewer bytes: zstd, lz4, none", None if sent["zstd"] < sent["lz4"] < sent[None] / 3 else sent)
    for codec in CODECS:
        before = meter.sent
        read(fleet, codec, meter.uri, columns=["noise"])
        check(f"{codec}: what does not get smaller grows by little", None if meter.sent - before < 29 * N else meter.sent - before)

pq.write_table(large.slice(0, 0), scratch / "none.parquet")
with Fleet(scratch / "none.parquet", 1) as fleet:
    check("no rows: the schema", None if all(read(fleet, c).schema.names == large.schema.names for c in CODECS) else "differs")
shutil.rmtree(scratch)
finish()
