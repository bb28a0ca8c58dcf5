#!/usr/bin/env python3
"""Commands with columns, a filter and batchRows: what the workers send beside what pyarrow selects."""
import json
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache", also="cache19")
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import flight

import columns
import samples
from fleet import Fleet
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-view-"))
N = 900
every = samples.table(3, {**samples.FLAT, **samples.NESTED}, N, .3)
every = every.append_column("row", pa.array(range(N), pa.int64()))
want = pq.read_table(samples.write(scratch / "every.parquet", every, row_group_size=250)).replace_schema_metadata(None)


def read(fleet, **command):
    with flight.FlightClient(fleet.head.uri) as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps(command)))
    chunks = []
    for endpoint in info.endpoints:
        with flight.FlightClient(endpoint.locations[0]) as client:
            reader = client.do_get(endpoint.ticket)
            schema = reader.schema
            chunks += [c.data for c in reader]
    if schema != info.schema:
        raise RuntimeError(f"DoGet: {schema}, GetFlightInfo: {info.schema}")
    return info, chunks, pa.Table.from_batches(chunks, schema).replace_schema_metadata(None)


def differ(got, table):
    plain = pa.schema([f.remove_metadata() for f in got.schema])
    if plain.names != table.schema.names:
        return f"{plain.names} not {table.schema.names}"
    got.validate(full=True)
    return columns.differences(got, table)


with Fleet(scratch / "every.parquet", 2) as fleet:
    for names in (["row"], ["row", "int8", "points", "texts"], ["map", "bool"], []):
        info, chunks, got = read(fleet, columns=names)
        ordered = [n for n in want.schema.names if n in names]
        check(f"columns {names}, in the table's order", (differ(got, want.select(ordered)) if names else None)
              or (None if info.total_records == N == sum(c.num_rows for c in chunks) else info.total_records))
    for condition, mask in ((["row", "<", 333], pc.less(want["row"], 333)), (["row", "<=", 333], pc.less_equal(want["row"], 333)),
                            (["row", "!=", 333], pc.not_equal(want["row"], 333)), (["int32", "is null"], pc.is_null(want["int32"])),
                            (["string", "in", ["a", "kubeflow"]], pc.is_in(want["string"], pa.array(["a", "kubeflow"]))),
                            (["bool", "=", True], want["bool"]), (["row", ">", N], pc.greater(want["row"], N))):
        info, _, got = read(fleet, filter=[condition])
        check(f"filter {condition}: every column of the rows that pass", differ(got, want.filter(mask))
              or (None if info.total_records == -1 else info.total_records))
    both = pc.and_(pc.greater_equal(want["row"], 100), pc.is_valid(want["string"]))
    shards = [read(fleet, rank=r, world=3, filter=[["row", ">=", 100], ["string", "is null", False]], columns=["row", "string"])[2] for r in range(3)]
    check("two conditions, two columns, three ranks", differ(pa.concat_tables(shards), want.filter(both).select(["string", "row"])))
    some = [x for x in range(50000, -1, -7)] + [1, 1]
    check("in, of many values without order", differ(read(fleet, filter=[["row", "in", some]])[2], want.filter(pc.is_in(want["row"], pa.array(some)))))
    shard = read(fleet, rank=1, world=4, start=100, columns=["row"])[2]
    check("start counts rows before a filter", None if shard["row"].to_pylist() == list(range(325, 450)) else shard)
    _, chunks, got = read(fleet, batchRows=7)
    check("batchRows: batches of at most so many rows", differ(got, want) or (None if max(c.num_rows for c in chunks) == 7 else len(chunks)))
    for what, command, text in (("an unknown column", {"columns": ["nowhere"]}, "no column 'nowhere'"), ("columns: no list", {"columns": "row"}, "list of names"),
                                ("a filter of another form", {"filter": {"row": 1}}, "filter"), ("a literal of another type", {"filter": [["row", "=", "x"]]}, "filter"),
                                ("more names than columns", {"columns": ["row"] * 100}, "more names than"),
                                ("65 conditions", {"filter": [["row", ">=", 0]] * 65}, "more than 64"),
                                ("batchRows 0", {"batchRows": 0}, "1 or more")):
        try:
            read(fleet, **command)
            check(f"refused: {what}", "it was not")
        except pa.ArrowInvalid as e:
            check(f"refused: {what}", None if text in str(e) else e)
    rows, mark, table = fleet.info(0, 1).endpoints[0].ticket.ticket.partition(b"\nkftrainer table ")
    for what, more in (("no JSON", b"{"), ("an unknown key", b'{"x": 1}'), ("an unknown column", b'{"columns": ["x"]}'), ("a list", b'[["row", "=", 1]]')):
        with flight.FlightClient(fleet.workers[0].uri) as client:
            try:
                got = client.do_get(flight.Ticket(rows + b"\nkftrainer view " + more + mark + table)).read_all()
                check(f"a ticket's view refused: {what}", got)
            except pa.ArrowInvalid:
                check(f"a ticket's view refused: {what}", None)
    check("the worker serves on", None if fleet.read(0, 1).num_rows == N else "it does not")

# Batches made for a reader are freed as they are sent.
wide = scratch / "wide.parquet"
pq.write_table(pa.table({"k": range(40000), "tokens": pa.array([list(range(i, i + 512)) for i in range(40000)], pa.list_(pa.int32()))}),
               wide, compression="none", use_dictionary=False, row_group_size=2000)
with Fleet(wide, 1) as fleet:
    before = fleet.workers[0].rss()
    _, chunks, got = read(fleet, filter=[["k", ">=", 1]])
    check("a filtered read of 80 MB costs little memory", None if got.num_rows == 39999 and fleet.workers[0].rss() - before < 24 << 20
          else fleet.workers[0].rss() - before)
    with flight.FlightClient(fleet.workers[0].uri) as client:
        stalled = client.do_get(flight.Ticket(fleet.info(0, 1).endpoints[0].ticket.ticket + b'\nkftrainer view {"filter": [["k", ">=", 1]]}'))
        stalled.read_chunk()
        stalled.cancel()
    check("a read that ends early", None if fleet.read(0, 1).num_rows == 40000 else "wrong")
shutil.rmtree(scratch)
finish()
