#!/usr/bin/env python3
"""Iceberg tables over Flight: upstream's types and metadata, and what upstream's cache loses."""
import datetime
import decimal
import json
import pathlib
import shutil
import sys
import tempfile
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
from pyarrow import flight
from pyiceberg.schema import Schema
from pyiceberg.types import (BinaryType, BooleanType, DateType, DecimalType, DoubleType, FixedType, FloatType, IntegerType, ListType,
                             LongType, MapType, NestedField, StringType, StructType, TimestampType, TimestamptzType, TimeType, UUIDType)

import lake
from fleet import Fleet
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-flight-iceberg-"))
catalog = lake.catalog(scratch / "lake")
KINDS = {"flag": (BooleanType(), pa.bool_(), True), "small": (IntegerType(), pa.int32(), 7), "large": (LongType(), pa.int64(), 1 << 40),
         "single": (FloatType(), pa.float32(), .5), "double": (DoubleType(), pa.float64(), .25),
         "money": (DecimalType(9, 2), pa.decimal128(9, 2), decimal.Decimal("1.25")), "day": (DateType(), pa.date32(), datetime.date(2026, 1, 2)),
         "time": (TimeType(), pa.time64("us"), datetime.time(1, 2, 3)), "at": (TimestampType(), pa.timestamp("us"), datetime.datetime(2026, 1, 2)),
         "moment": (TimestamptzType(), pa.timestamp("us", "+00:00"), datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)),
         "text": (StringType(), pa.string(), "x"), "bytes": (BinaryType(), pa.large_binary(), b"\0\1"),
         "uuid": (UUIDType(), pa.binary(16), uuid.UUID(int=5).bytes), "fixed": (FixedType(3), pa.binary(3), b"abc")}
fields = [NestedField(i + 1, name, kind, required=name == "large") for i, (name, (kind, _, _)) in enumerate(KINDS.items())]
fields += [NestedField(50, "list", ListType(51, LongType(), element_required=True), required=False),
           NestedField(60, "struct", StructType(NestedField(61, "x", LongType(), required=False)), required=False),
           NestedField(70, "map", MapType(71, StringType(), 72, LongType(), value_required=False), required=False)]
row = {name: value for name, (_, _, value) in KINDS.items()} | {"list": [1, 2], "struct": {"x": 3}, "map": [("k", 4)]}
table = catalog.create_table("db.types", schema=Schema(*fields))
arrow = table.schema().as_arrow()
for n in (300, 700):
    table.append(pa.Table.from_pylist([row | {"large": i, "text": None if i % 3 else f"t{i}"} for i in range(n)], arrow))

with Fleet(table.metadata_location, 2) as fleet:
    got = fleet.read(0, 1)
    schema = got.schema
    wrong = [f"{name}: {schema.field(name)}" for name, (_, kind, _) in KINDS.items()
             if schema.field(name).type != kind or schema.field(name).nullable != (name != "large")]
    check("upstream's types and nullability", "\n".join(wrong))
    own = {f.name: f for f in table.schema().fields}  # pyiceberg gives ids of its own
    ids = {f.name: f.metadata for f in schema}
    check("PARQUET:field_id of columns, and no cache_index", None if ids == {n: {b"PARQUET:field_id": str(f.field_id).encode()} for n, f in own.items()}
          else ids)
    inner = [schema.field("list").type.value_field, schema.field("struct").type[0], schema.field("map").type.key_field,
             schema.field("map").type.item_field]
    want = [own["list"].field_type.element_id, own["struct"].field_type.fields[0].field_id, own["map"].field_type.key_id, own["map"].field_type.value_id]
    check("and of what is inside", None if [int(f.metadata[b"PARQUET:field_id"]) for f in inner] == want and inner[0].name == "element"
          and not inner[0].nullable else inner)
    check("all values", None if sorted(got["large"].to_pylist()) == sorted([*range(300), *range(700)])
          and all({**r, "large": 0, "text": 0} == {**row, "large": 0, "text": 0} for r in got.to_pylist())
          and sum(t is not None for t in got["text"].to_pylist()) == 100 + 234 else got.slice(0, 1).to_pylist())
    pieces = pa.concat_tables(fleet.read(r, 9) for r in range(9))
    check("the same rows by 9 ranks", None if pieces.equals(got) else pieces.num_rows)
    check("the same schema in GetFlightInfo", None if fleet.info(0, 1).schema.equals(schema, check_metadata=True) else fleet.info(0, 1).schema)

# A column that is added later: upstream serves none of the older file's rows.
with table.update_schema() as update:
    update.add_column("later", StringType())
table.append(pa.Table.from_pylist([row | {"large": 1000 + i, "later": "new"} for i in range(50)], table.schema().as_arrow()))
with Fleet(table.metadata_location, 2) as fleet:
    got = fleet.read(0, 1)
    check("an added column: null in older files, no row is missing", None if got.num_rows == 1050 and got["later"].null_count == 1000 else got.num_rows)
# Deleted rows are not served, and the totals are those of the rest.
table.delete("large < 100")
with Fleet(table.metadata_location, 3) as fleet:
    got = pa.concat_tables(fleet.read(r, 4) for r in range(4))
    check("deleted rows are not served", None if got.num_rows == 850 == fleet.info(0, 1).total_records and min(got["large"].to_pylist()) == 100
          else got.num_rows)
    data = sorted((scratch / "lake").rglob("*.parquet"))
    kept = [(f, f.read_bytes()) for f in data]
# Snapshots: the head says which, its workers follow; a command may insist on one.
first = table.history()[0].snapshot_id
table.manage_snapshots().create_tag(first, "start").commit()
with Fleet(table.metadata_location, 2, head=("--snapshot", "start")) as fleet:
    got = fleet.read(0, 1)
    check("--snapshot: the rows and columns of a tag, from all workers", None if got.num_rows == 300 and "later" not in got.schema.names
          and [fleet.action(w, "stats")[0]["snapshot"] for w in fleet.workers] == ["start"] * 2 else got.schema)
    with flight.FlightClient(fleet.head.uri) as client:
        def info(snapshot):
            return client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps({"snapshot": snapshot}))).total_records
        check("a command with that snapshot, by tag, ID and number", None if [info("start"), info(str(first)), info(first)] == [300] * 3 else "wrong")
        for other in (table.current_snapshot().snapshot_id, "main", "nowhere", 7.5, None):
            try:
                check(f"a command with another snapshot is refused: {other}", info(other))
            except pa.ArrowInvalid as e:
                check(f"a command with another snapshot is refused: {other}", None if "snapshot" in str(e) else e)
    fleet.head.stop()
    fleet.head_args = ()
    fleet.head = fleet.start_head()
    fleet.wait()
    check("a head of another snapshot: its workers load that one", None if fleet.read(0, 1).num_rows == 850 else "wrong")
# A file that is missing or cut short: upstream is ready without its rows.
for what, damage in (("missing", lambda f: f.unlink()), ("cut short", lambda f: f.write_bytes(f.read_bytes()[:-100]))):
    victim = next(f for f, _ in kept if f.name in {pathlib.PurePath(t.file.file_path).name for t in table.scan().plan_files()})
    damage(victim)
    try:
        with Fleet(table.metadata_location, 1, wait=False) as fleet:
            problem = "it started"
    except RuntimeError as e:
        problem = None if victim.name in str(e) else e
    check(f"a file that is {what}: the head ends, and names it", problem)
    for f, content in kept:
        f.write_bytes(content)
shutil.rmtree(scratch)
finish()
