#!/usr/bin/env python3
"""cache-serve cat of a server: the same bytes as of the files, and what is refused."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

import samples
from fleet import PROGRAM, Fleet
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-cat-server-"))
path = samples.write(scratch / "every.parquet", samples.table(5, {**samples.FLAT, **samples.NESTED}, 700, .3), row_group_size=200)
token = scratch / "token"
token.write_text("a.token\n")


def cat(*args):
    done = subprocess.run([PROGRAM, "cache-serve", "cat", *map(str, args)], capture_output=True, env={**os.environ, "http_proxy": "http://127.0.0.1:1"})
    return done.returncode, done.stdout, done.stderr.decode()


with Fleet(path, 3) as fleet:
    for what, options in (("JSON", ()), ("CSV", ("-o", "csv")), ("a shard", ("--rank", 1, "--world", 4)), ("a column", ("--column", "points", "--column", "int8")),
                          ("a filter", ("--filter", '[["int32", "is null"]]')), ("a filter, CSV", ("--filter", '["bool", "=", true]', "-o", "csv")),
                          ("the number of rows", ("--count", "--rank", 2, "--world", 3)), ("of a filter", ("--count", "--filter", '[["few", "=", "red"]]'))):
        files, server = cat(*options, path), cat(*options, fleet.head.uri)
        check(f"the same as of the files: {what}", None if files == server and files[0] == 0 and files[1] else (files[1][:200], server[0], server[1][:200], server[2]))
    for what, args, text in (("an unknown column", ("--column", "x", fleet.head.uri), "no column 'x'"), ("two servers", (fleet.head.uri, fleet.head.uri), "cannot be combined with other URIs"),
                             ("a snapshot that is not loaded", ("--snapshot", "x", fleet.head.uri), "snapshot"),
                             ("a filter that is no JSON", ("--filter", "x", fleet.head.uri), "--filter"),
                             ("a path", (fleet.head.uri + "/x",), "grpc://HOST:PORT"), ("nobody there", ("grpc://127.0.0.1:1",), "127.0.0.1:1")):
        code, out, err = cat(*args)
        check(f"refused: {what}", None if code and not out and text in err and err.count("\n") <= 2 else (code, out, err))
    fleet.workers[1].stop()
    fleet.head.wait_for("worker is not ready")
    code, out, err = cat(fleet.head.uri)
    check("a worker that is gone: an error, not fewer rows", None if code and "cannot be read" in err else (code, out[:100], err))

with Fleet(path, 1, args=("--token-file", token), head=("--token-file", token)) as fleet:
    code, out, err = cat("--count", "--token-file", token, fleet.head.uri)
    check("with a token", None if (code, out) == (0, b"700\n") else (code, out, err))
    code, out, err = cat("--count", fleet.head.uri)
    check("without it", None if code and "token is required" in err else (code, out, err))


class Other(flight.FlightServerBase):
    """A server of Arrow Flight that is not ours."""

    total, locations = -1, []

    def get_flight_info(self, context, descriptor):
        return flight.FlightInfo(self.schema, descriptor, [flight.FlightEndpoint(b"t", self.locations)], self.total, -1)

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(self.table)


other = Other("grpc://127.0.0.1:0")
for what, column, text in (("dictionaries", pa.array(["a"]).dictionary_encode(), "unknown type"), ("large strings", pa.array(["a"], pa.large_string()), "unknown type")):
    other.table = pa.table({"c": column})
    other.schema = other.table.schema
    code, out, err = cat(f"grpc://127.0.0.1:{other.port}")
    check(f"another server's types, refused: {what}", None if code and text in err else (code, out, err))
other.table = pa.table({"c": [1, 2], "s": ["x", None]})
other.schema = other.table.schema
code, out, err = cat(f"grpc://127.0.0.1:{other.port}")
check("another server's rows, where the location is the head's", None if out == b'{"c":1,"s":"x"}\n{"c":2,"s":null}\n' else (code, out, err))
for what, locations in (("the same connection", ["arrow-flight-reuse-connection://?"]), ("grpc+tcp", [f"grpc+tcp://127.0.0.1:{other.port}"]),
                        ("the second of two, as the first is gone", ["grpc://127.0.0.1:1", f"grpc://127.0.0.1:{other.port}"])):
    other.locations = locations
    code, out, err = cat("--count", f"grpc+tcp://127.0.0.1:{other.port}")
    check(f"a location: {what}", None if (code, out) == (0, b"2\n") else (code, out, err))
other.locations = []
for total in (1, 3):
    other.total = total
    code, out, err = cat("--count", f"grpc://127.0.0.1:{other.port}")
    check(f"2 rows, but {total} were announced", None if code and not out and f"sent 2 rows, but the head announced {total}" in err else (code, out, err))
other.total = 2
check("2 of 2 rows", None if cat("--count", f"grpc://127.0.0.1:{other.port}")[:2] == (0, b"2\n") else "wrong")
other.shutdown()
shutil.rmtree(scratch)
finish()
