#!/usr/bin/env python3
"""Iceberg tables are read as pyiceberg reads them, or as their rows were before they were written; the rest is refused."""
import datetime
import decimal
import gzip
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform, VoidTransform
from pyiceberg.types import (BinaryType, BooleanType, DateType, DecimalType, DoubleType, FixedType, FloatType, IntegerType, ListType,
                             LongType, MapType, NestedField, StringType, StructType, TimestampType, TimestamptzType, TimeType, UUIDType)

import columns
import lake
from tap import check, finish

DUMP = os.environ.get("DUMP", str(ROOT / "build/san/tests/cache/dump"))
PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
SEED = int(os.environ.get("SEED", random.randrange(10**6)))
print(f"# SEED={SEED}", flush=True)
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-iceberg-"))
catalog = lake.catalog(scratch / "lake")


def arrow(schema):
    return columns.narrow_schema(schema_to_pyarrow(schema))


def ours(path, schema, *args):
    return columns.table(columns.dump(DUMP, *args, path), schema)


def ordered(table, key="id"):
    return table.take(pc.sort_indices(table, sort_keys=[(key, "ascending")]))


def compare(path, want, *args):
    """Rows as they were put in, whatever their order."""
    try:
        return columns.differences(ordered(ours(path, want.schema, *args)), ordered(want))
    except (columns.Refused, RuntimeError, AssertionError, pa.ArrowInvalid) as e:
        return e


def as_pyiceberg(name, table, *args, **scan):
    want = table.scan(**scan).to_arrow()
    schema = arrow(table.scan(**scan).projection())
    check(name, compare(lake.local(table.metadata_location), want.cast(schema), *args))


def refused(name, like, path, *args):
    try:
        columns.dump(DUMP, *args, path)
        check(name, "it is read")
    except columns.Refused as e:
        check(name, None if all(x in str(e) for x in like) else e)


def version(n):
    return {"format-version": str(n)}


# ---- types ----
FIELDS = [
    NestedField(1, "id", LongType(), True), NestedField(2, "bool", BooleanType()), NestedField(3, "int", IntegerType()),
    NestedField(4, "float", FloatType()), NestedField(5, "double", DoubleType()), NestedField(6, "money", DecimalType(9, 2)),
    NestedField(7, "big", DecimalType(38, 10)), NestedField(8, "date", DateType()), NestedField(9, "time", TimeType()),
    NestedField(10, "ts", TimestampType()), NestedField(11, "tz", TimestamptzType()), NestedField(12, "text", StringType()),
    NestedField(13, "bytes", BinaryType()), NestedField(14, "fixed", FixedType(5)), NestedField(15, "uuid", UUIDType()),
    NestedField(16, "list", ListType(17, LongType(), False)),
    NestedField(18, "map", MapType(19, StringType(), 20, DoubleType(), False)),
    NestedField(21, "struct", StructType(NestedField(22, "x", IntegerType()), NestedField(23, "y", ListType(24, StringType(), False)))),
]
EVERY = Schema(*FIELDS)
r = random.Random(SEED)


def row(i):
    whole = {"id": i, "bool": r.random() < .5, "int": r.randrange(-2**31, 2**31), "float": r.randrange(1000) / 4, "double": r.random(),
             "money": decimal.Decimal(r.randrange(-10**9 + 1, 10**9)).scaleb(-2), "big": decimal.Decimal(r.randrange(10**20)).scaleb(-10),
             "date": datetime.date(1960, 1, 1) + datetime.timedelta(r.randrange(40000)),
             "time": datetime.time(r.randrange(24), r.randrange(60), 1, r.randrange(10**6)),
             "ts": datetime.datetime(2026, 1, 1) + datetime.timedelta(r.randrange(40), microseconds=r.randrange(10**6)),
             "tz": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(r.randrange(40)),
             "text": r.choice(["", "a", "ünï", "x" * 40, "a/b=c d"]), "bytes": r.randbytes(r.randrange(9)), "fixed": r.randbytes(5),
             "uuid": uuid.UUID(int=r.getrandbits(128)).bytes, "list": [r.choice([None, 1, 2]) for _ in range(r.randrange(4))],
             "map": [(k, r.random()) for k in "abc"[:r.randrange(4)]],
             "struct": {"x": r.choice([None, 7]), "y": [r.choice([None, "t"]) for _ in range(r.randrange(3))]}}
    return {k: None if k != "id" and r.random() < .2 else v for k, v in whole.items()}


def rows(first, n, schema):
    return pa.Table.from_pylist([{k: v for k, v in row(i).items() if k in schema.names} for i in range(first, first + n)], schema=schema)


def put(table, first, n):
    """Appends rows; what was appended, in the cache's types."""
    schema = schema_to_pyarrow(table.schema())
    plain = columns.narrow_schema(schema)
    made = rows(first, n, plain)
    table.append(made.cast(schema))
    return made


PARTS = {
    "unpartitioned": PartitionSpec(),
    "identity": PartitionSpec(PartitionField(12, 1000, IdentityTransform(), "text"), PartitionField(2, 1001, IdentityTransform(), "bool")),
    "days_bucket_truncate": PartitionSpec(PartitionField(10, 1000, DayTransform(), "day"), PartitionField(1, 1001, BucketTransform(3), "b"),
                                          PartitionField(12, 1002, TruncateTransform(1), "t")),
}
for v in (1, 2):
    for name, spec in PARTS.items():
        table = catalog.create_table(f"db.{name}{v}", EVERY, partition_spec=spec, properties=version(v))
        want = pa.concat_tables([put(table, 0, 40), put(table, 40, 25)])
        check(f"every type, version {v}, {name.replace('_', ' ')}", compare(lake.local(table.metadata_location), want))
WHOLE, META = want, lake.local(table.metadata_location)
empty = catalog.create_table("db.empty", EVERY, properties=version(2))
check("an empty table", compare(lake.local(empty.metadata_location), arrow(EVERY).empty_table()))
counted = subprocess.run([PROGRAM, "cache-serve", "cat", "--count", f"file://{META}"], capture_output=True, text=True)
check("file:// and --count", None if counted.stdout == "65\n" else counted)

# ---- evolution ----
basic = Schema(NestedField(1, "id", LongType(), True), NestedField(2, "n", IntegerType()), NestedField(3, "f", FloatType()),
               NestedField(4, "d", DecimalType(9, 2)), NestedField(5, "gone", StringType()),
               NestedField(6, "s", StructType(NestedField(7, "x", IntegerType()), NestedField(8, "z", StringType()))))
table = catalog.create_table("db.evolved", basic, properties=version(2))


def append(*records):
    table.append(pa.Table.from_pylist(list(records), schema=schema_to_pyarrow(table.schema())))


append({"id": 1, "n": -5, "f": 1.5, "d": decimal.Decimal("1.25"), "gone": "x", "s": {"x": 1, "z": "z"}},
       {"id": 2, "n": None, "f": None, "d": None, "gone": None, "s": None})
ADDED = {"int": IntegerType(), "string": StringType(), "double": DoubleType(), "timestamp": TimestampType(),
         "list": ListType(1, StringType(), False), "struct": StructType(NestedField(1, "v", LongType())),
         "map": MapType(1, StringType(), 2, LongType(), False)}
for name, kind in ADDED.items():
    with table.update_schema() as change:
        change.add_column(f"new_{name}", kind)
    as_pyiceberg(f"a column added later is null in older files: {name}", table)
append({"id": 3, "new_int": 3, "new_list": ["a"], "new_struct": {"v": 4}, "new_map": [("k", 1)], "s": {"x": 5, "z": None}})
as_pyiceberg("old and new files", table)
with table.update_schema() as change:
    change.add_column(("s", "later"), DoubleType())
as_pyiceberg("a field added to a struct", table)
with table.update_schema() as change:
    change.update_column("n", LongType())
    change.update_column("f", DoubleType())
    change.update_column("d", DecimalType(18, 2))
    change.update_column(("s", "x"), LongType())
as_pyiceberg("int to long, float to double, a wider decimal", table)
with table.update_schema() as change:
    change.rename_column("n", "renamed")
    change.delete_column("gone")
    change.move_first("f")
    change.delete_column(("s", "z"))
append({"id": 4, "renamed": 2**40, "f": 1e300, "d": decimal.Decimal("12345678901.25")})
as_pyiceberg("renamed, dropped, moved", table)
with table.update_schema() as change:
    change.add_column("gone", IntegerType())
append({"id": 5, "gone": 5})
as_pyiceberg("a dropped name with another type", table)
metadata = lake.local(table.metadata_location)
want = table.scan().to_arrow()
chosen = columns.dump(DUMP, "-c", "new_int,id", metadata)
check("two columns, one of which older files lack", columns.differences(
    ordered(columns.table(chosen, pa.schema([want.schema.field("id"), want.schema.field("new_int")]))), ordered(want.select(["id", "new_int"]))))



def keeps(condition, path):
    done = subprocess.run([PROGRAM, "cache-serve", "cat", "--column", "id", "--filter", json.dumps(condition), path], capture_output=True, text=True)
    return sorted(json.loads(x)["id"] for x in done.stdout.splitlines()) if not done.returncode else done.stderr


for condition, kept in (([["renamed", "<", 0]], [1]), ([["renamed", ">=", 2**40]], [4]), ([["f", "=", 1.5]], [1]), ([["gone", "=", 5]], [5]),
                        ([["gone", "is null"]], [1, 2, 3, 4]), ([["d", ">", "1.24"], ["new_int", "is null"]], [1, 4])):
    check(f"a filter on an evolved schema: {condition}", None if keeps(condition, metadata) == kept else keeps(condition, metadata))

# ---- partitions ----
table = catalog.create_table("db.parts", Schema(NestedField(1, "id", LongType(), True), NestedField(2, "day", DateType()),
                                                NestedField(3, "city", StringType())), properties=version(2))
days = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), None]
append(*[{"id": i, "day": days[i % 3], "city": f"c{i % 2}"} for i in range(6)])
with table.update_spec() as change:
    change.add_identity("city")
append(*[{"id": i, "day": days[i % 3], "city": f"c{i % 2}" if i % 4 else None} for i in range(6, 12)])
with table.update_spec() as change:
    change.add_field("day", DayTransform(), "d")
    change.remove_field("city")
append(*[{"id": i, "day": days[i % 3], "city": f"c{i % 2}"} for i in range(12, 18)])
as_pyiceberg("evolved partition specs", table)

# ---- values that stand in the metadata alone, as a migrated table's do ----
HIVE = ["bool", "int", "double", "money", "date", "text", "fixed", "tz"]
spec = PartitionSpec(*[PartitionField(EVERY.find_field(name).field_id, 1000 + i, IdentityTransform(), f"p{i}") for i, name in enumerate(HIVE)])
hive = catalog.create_table("db.hive", EVERY, partition_spec=spec, properties=version(2))
want = put(hive, 0, 12)
meta = lake.Metadata(hive.metadata_location)


def drop_columns(records, _):
    for record in records:
        schema, entries, about = lake.read_avro(record["manifest_path"])
        for entry in entries:
            file = lake.local(entry["data_file"]["file_path"])
            pq.write_table(pq.ParquetFile(file).read().drop_columns(HIVE), file)
            entry["data_file"]["file_size_in_bytes"] = file.stat().st_size
        lake.write_avro(record["manifest_path"], schema, entries, about)
        record["manifest_length"] = lake.local(record["manifest_path"]).stat().st_size


meta.commit(drop_columns)
check("identity partition values of columns that the files lack", compare(meta.save("hive"), want))

# ---- snapshots ----
first = table.history()[0].snapshot_id
as_pyiceberg("an older snapshot, by id", table, "-s", first, snapshot_id=first)
table.manage_snapshots().create_tag(first, "start").create_branch(table.history()[1].snapshot_id, "side").commit()
as_pyiceberg("a tag", table, "-s", "start", snapshot_id=first)
as_pyiceberg("a branch", table, "-s", "side", snapshot_id=table.history()[1].snapshot_id)
metadata = lake.local(table.metadata_location)
refused("no such snapshot", ["no snapshot 'none'", "start", str(first)], metadata, "-s", "none")
table.delete("id < 4")
as_pyiceberg("copy-on-write deletes", table)
table.overwrite(pa.Table.from_pylist([{"id": 99, "day": days[0], "city": "x"}], schema=schema_to_pyarrow(table.schema())))
as_pyiceberg("an overwrite", table)

# ---- deletes by hand ----
def deletable(name, spec=PartitionSpec(), files=2, group=100):
    made = catalog.create_table(f"db.{name}", Schema(NestedField(1, "id", LongType(), True), NestedField(2, "v", StringType()),
                                                     NestedField(3, "p", IntegerType())), partition_spec=spec,
                                properties={**version(2), "write.parquet.row-group-limit": str(group)})
    for i in range(files):
        made.append(pa.Table.from_pylist([{"id": k, "v": None if k % 10 == 9 else f"v{k % 7}", "p": k // 500}
                                          for k in range(1000 * i, 1000 * i + 1000)], schema=schema_to_pyarrow(made.schema())))
    return made, lake.Metadata(made.metadata_location), made.scan().to_arrow().cast(arrow(made.schema()))


def positions(pairs):
    return pa.Table.from_pylist([{"file_path": f, "pos": p} for f, p in pairs], schema=lake.POSITIONS)


def without(want, dead):
    return want.filter(pc.invert(pc.is_in(want["id"], pa.array(sorted(dead), pa.int64()))))


table, meta, want = deletable("positions")
names = {}
for file in meta.data_files():
    for i, k in enumerate(pq.read_table(lake.local(file["file_path"]))["id"].to_pylist()):
        names[k] = file["file_path"], i
groups = pq.ParquetFile(lake.local(meta.data_files()[0]["file_path"])).num_row_groups
check("the data files have many row groups", None if groups == 10 else groups)
dead = [0, 1, 99, 100, 350, 399, 401, 999, 1000, 1999, *range(600, 700)]
meta.add_deletes(1, positions([names[k] for k in dead[:6]]), "pos-1")
meta.add_deletes(1, positions([names[k] for k in dead[5:]]), "pos-2")
deleted = meta.save("positions")
check("position deletes across row groups, two files of them, a whole group", compare(deleted, without(want, dead)))
left = [k for k in sorted(names, key=lambda k: names[k]) if k not in dead]
got = ours(deleted, want.schema)["id"].to_pylist()
check("in the order of files, groups and rows", None if got == left else f"{got[:20]} {left[:20]}")
problem = None
for world in (1, 2, 3, 7, 64):
    shards = [json.loads(x)["id"] for rank in range(world) for x in subprocess.run(
        [PROGRAM, "cache-serve", "cat", "--rank", str(rank), "--world", str(world), deleted], capture_output=True, check=True).stdout.splitlines()]
    problem = problem or (None if shards == left else f"world {world}")
check("shards are of the rows that are left", problem)
check("a filter, deleted rows", None if keeps([["id", "<", 700]], deleted) == [k for k in range(700) if k not in dead] else "no")
check("ranges and small batches", compare(deleted, without(want, dead), "-b", "7"))

def newer_than_deletes(records, sequence):
    """A data manifest that is newer than the deletes: they are not of its rows."""
    data = next(m for m in records if not m["content"])
    _, entries, _ = lake.read_avro(data["manifest_path"])
    schema, _, about = lake.read_avro(data["manifest_path"])
    for entry in entries:
        entry.update(sequence_number=sequence, file_sequence_number=sequence, status=0)
    lake.write_avro(data["manifest_path"] + ".new", schema, entries, about)
    data.update(manifest_path=data["manifest_path"] + ".new", sequence_number=sequence,
                manifest_length=lake.local(data["manifest_path"] + ".new").stat().st_size)
    newer_than_deletes.ids = {k for e in entries for k in pq.read_table(lake.local(e["data_file"]["file_path"]))["id"].to_pylist()}


table, meta, want = deletable("stale", files=1)
meta.add_deletes(1, positions([(meta.data_files()[0]["file_path"], 5)]), "pos")
check("a position delete", compare(meta.save("old"), without(want, [want["id"][5].as_py()])))
meta.commit(newer_than_deletes)
check("a position delete does not touch a newer file of that name", compare(meta.save("newer"), want))
by_key = lambda *names: pa.schema([pa.field(n, k, True, {"PARQUET:field_id": i}) for n, k, i in
                                   [("id", pa.int64(), "1"), ("v", pa.string(), "2"), ("p", pa.int32(), "3")] if n in names])
table, meta, want = deletable("equal")
meta.add_deletes(2, pa.Table.from_pylist([{"id": 3}, {"id": 1500}, {"id": 77777}], schema=by_key("id")), "eq-1", equality_ids=[1])
meta.add_deletes(2, pa.Table.from_pylist([{"v": "v3", "p": 0}, {"v": None, "p": 2}], schema=by_key("v", "p")), "eq-2", equality_ids=[2, 3])
dead = [k for k in range(2000) if k in (3, 1500) or (k // 500 == 0 and k % 7 == 3 and k % 10 != 9) or (k // 500 == 2 and k % 10 == 9)]
check("equality deletes: by a key, by two columns, by null", compare(meta.save("equal"), without(want, dead)))
equal = lake.Metadata(meta.save("equal"))
equal.commit(newer_than_deletes)
check("equality deletes leave newer files alone", compare(equal.save("newer"), without(want, set(dead) - newer_than_deletes.ids)))

spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "p"))
table, meta, want = deletable("equal_parts", spec)
meta.add_deletes(2, pa.Table.from_pylist([{"v": "v1"}], schema=by_key("v")), "eq-p", equality_ids=[2], partition={"p": 1})
dead = [k for k in range(500, 1000) if k % 7 == 1 and k % 10 != 9]
check("equality deletes of one partition", compare(meta.save("parts"), without(want, dead)))
table, meta, _ = deletable("equal_specs", files=1)
with table.update_spec() as change:
    change.add_identity("p")
table.append(pa.Table.from_pylist([{"id": k, "v": f"v{k % 7}", "p": k // 500 % 2} for k in range(1000, 2000)], schema=schema_to_pyarrow(table.schema())))
want = table.scan().to_arrow().cast(arrow(table.schema()))
meta = lake.Metadata(table.metadata_location)
meta.add_deletes(2, pa.Table.from_pylist([{"id": 700}, {"id": 1700}], schema=by_key("id")), "eq-all", equality_ids=[1], spec=0)
check("equality deletes of a spec without partitions: of all files", compare(meta.save("all"), without(want, [700, 1700])))
meta = lake.Metadata(table.metadata_location)
meta.add_deletes(2, pa.Table.from_pylist([{"id": 700}, {"id": 1700}], schema=by_key("id")), "eq-one", equality_ids=[1], spec=1, partition={"p": 1})
check("equality deletes of a partition: not of files of another spec", compare(meta.save("one"), without(want, [1700])))
WIDER = {"n": (IntegerType(), LongType()), "f": (FloatType(), DoubleType()), "d": (DecimalType(9, 2), DecimalType(18, 2))}
KEYS = [{"n": sign * 128, "f": sign * 1.5, "d": decimal.Decimal(sign * 128).scaleb(-2)} for sign in (1, -1)]
for column, kinds in WIDER.items():
    table = catalog.create_table(f"db.wider_{column}", Schema(NestedField(1, "id", LongType(), True), NestedField(2, column, kinds[0])),
                                 partition_spec=PartitionSpec(PartitionField(2, 1000, IdentityTransform(), column)), properties=version(2))
    for i in range(2):
        append(*[{"id": 10 * i + k, column: KEYS[k // 2][column]} for k in range(4)])
        if not i:
            with table.update_schema() as change:
                change.update_column(column, kinds[1])
    want = table.scan().to_arrow().cast(arrow(table.schema()))
    problem = []
    for kind in (1, 2):
        meta = lake.Metadata(table.metadata_location)
        paths = {k: f["file_path"] for f in meta.data_files() for k in pq.read_table(lake.local(f["file_path"]))["id"].to_pylist()}
        for i, key in enumerate(KEYS):  # by a manifest of the wider type
            dead = positions([(paths[2 * i], 0)]) if kind == 1 else pa.Table.from_pylist([{"id": 2 * i}, {"id": 12 - 2 * i}], schema=by_key("id"))
            meta.add_deletes(kind, dead, f"wider-{kind}-{i}", partition={column: key[column]}, equality_ids=[1] if kind == 2 else None)
        problem.append(compare(meta.save(f"wider-{kind}"), without(want, [0, 2])))
    check(f"deletes of a partition whose column became wider: {kinds[0]}", "\n".join(str(p) for p in problem if p) or None)
table, meta, want = deletable("equal_later", files=1)
with table.update_schema() as change:
    change.add_column("extra", IntegerType())
meta = lake.Metadata(table.metadata_location)
extra = pa.schema([pa.field("extra", pa.int32(), True, {"PARQUET:field_id": "4"}), pa.field("id", pa.int64(), True, {"PARQUET:field_id": "1"})])
meta.add_deletes(2, pa.Table.from_pylist([{"extra": None, "id": 7}, {"extra": 5, "id": 8}], schema=extra), "eq-x", equality_ids=[4, 1])
want = table.scan().to_arrow().cast(arrow(table.schema()))
check("equality deletes by a column that older files lack", compare(meta.save("later"), without(want, [7])))

# ---- values of columns that older files lack ----
def schema_of(meta):
    return next(s for s in meta.doc["schemas"] if s["schema-id"] == meta.doc["current-schema-id"])


schema_of(meta)["fields"][-1]["initial-default"] = 5
want = want.set_column(want.schema.get_field_index("extra"), want.schema.field("extra"), pa.array([5] * len(want), pa.int32()))
check("equality deletes by an initial-default", compare(meta.save("initial"), without(want, [8])))
late = datetime.datetime(2026, 11, 30, 8, 30, 0, 12345)
INITIAL = {"boolean": (True, True), "int": (-5, -5), "long": (-2**63, -2**63), "float": (.5, .5), "double": (1e300, 1e300),
           "decimal(9, 2)": ("-12.50", decimal.Decimal("-12.50")), "date": ("2026-11-30", late.date()), "time": ("08:30:00.012345", late.time()),
           "timestamp": ("2026-11-30T08:30:00.012345", late),
           "timestamptz": ("2026-11-30T08:30:00.012345+00:00", late.replace(tzinfo=datetime.timezone.utc)), "string": ("ü", "ü"),
           "binary": ("00ff", b"\0\xff"), "fixed[3]": ("0102ff", b"\1\2\xff"), "uuid": (str(uuid.UUID(int=7)), uuid.UUID(int=7).bytes)}
table = catalog.create_table("db.initial", Schema(NestedField(1, "id", LongType(), True), NestedField(2, "s", StructType(NestedField(3, "x", LongType())))),
                             properties=version(2))
append({"id": 1, "s": {"x": 1}}, {"id": 2, "s": None})
meta = lake.Metadata(table.metadata_location)
fields = schema_of(meta)["fields"]
for i, (kind, (text, _)) in enumerate(INITIAL.items()):
    fields.append({"id": 10 + i, "name": f"c{i}", "type": kind, "required": i % 2 == 0, "initial-default": text})
    fields[1]["type"]["fields"].append({"id": 50 + i, "name": f"c{i}", "type": kind, "required": False, "initial-default": text})
values = {f"c{i}": v for i, (_, v) in enumerate(INITIAL.values())}
want = pa.Table.from_pylist([{"id": 1, "s": {"x": 1, **values}, **values}, {"id": 2, "s": None, **values}], schema=arrow(Schema.model_validate(schema_of(meta))))
check("initial-default of every type", compare(meta.save("every"), want))
check("a filter on it", None if keeps([["c1", "=", -5]], meta.path.with_name("every.metadata.json")) == [1, 2] else "no")
for kind, text in {"int": 2**31, "date": "30.11.2026", "fixed[3]": "01", "binary": "0g", "string": 1, "boolean": "true", "decimal(9, 2)": "1.255"}.items():
    fields[2:] = [{"id": 10, "name": "wrong", "type": kind, "required": False, "initial-default": text}]
    refused(f"initial-default {text} of {kind}", ["initial-default: column wrong: "], meta.save("wrong"))
fields[2:] = [{"id": 10, "name": "wrong", "type": {"type": "struct", "fields": []}, "required": False, "initial-default": {}}]
refused("initial-default of a struct", ["column wrong: an initial-default of a nested type"], meta.save("wrong"))

# ---- files that Iceberg did not write ----
table = catalog.create_table("db.foreign", Schema(NestedField(1, "id", LongType(), True), NestedField(2, "s", StringType()),
                                                  NestedField(3, "inner", StructType(NestedField(4, "x", ListType(5, LongType(), False)),
                                                                                     NestedField(6, "m", MapType(7, StringType(), 8, LongType(), False))))),
                             properties=version(2))
foreign = pa.Table.from_pylist([{"id": 1, "s": "a", "inner": {"x": [1, None], "m": [("k", 2)]}}, {"id": 2, "s": None, "inner": None}],
                               schema=pa.schema([pa.field("id", pa.int64(), False), pa.field("s", pa.string()),
                                                 pa.field("inner", pa.struct([("x", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64()))]))]))
pq.write_table(foreign, scratch / "foreign.parquet")
table.add_files([f"file://{scratch}/foreign.parquet"])
check("files without field ids, by the name mapping", compare(lake.local(table.metadata_location), foreign.cast(arrow(table.schema()))))
with table.update_schema() as change:
    change.rename_column("s", "text")
    change.add_column("later", IntegerType())
as_pyiceberg("and after a column was renamed", table)
meta = lake.Metadata(table.metadata_location)
del meta.doc["properties"]["schema.name-mapping.default"]
refused("files without field ids, no name mapping", ["foreign.parquet", "no field ids", "schema.name-mapping.default"], meta.save("unmapped"))

table = catalog.create_table("db.int96", Schema(NestedField(1, "id", LongType(), True), NestedField(2, "t", TimestampType()),
                                                NestedField(3, "tz", TimestamptzType())), properties=version(2))
TIMES = [datetime.datetime(year, 1, 2, 3, 4, 5, 678901) for year in (1, 1677, 1965, 2026, 2263, 9999)]
append(*[{"id": i, "t": t, "tz": t.replace(tzinfo=datetime.timezone.utc)} for i, t in enumerate(TIMES)], {"id": len(TIMES)})
want = table.scan().to_arrow()
meta = lake.Metadata(table.metadata_location)
file = lake.local(meta.data_files()[0]["file_path"])
pq.write_table(pq.read_table(file), file, use_deprecated_int96_timestamps=True)


def resize(records, _):
    manifest = records[0]["manifest_path"]
    schema, entries, about = lake.read_avro(manifest)
    entries[0]["data_file"]["file_size_in_bytes"] = file.stat().st_size
    lake.write_avro(manifest, schema, entries, about)
    records[0]["manifest_length"] = lake.local(manifest).stat().st_size


meta.commit(resize)
check("INT96 timestamps", compare(meta.save("int96"), want))

# ---- metadata in other forms ----
for codec in ("null", "deflate", "snappy", "zstandard"):
    check(f"Avro files, {codec}", compare(lake.Metadata(META).rewrite(codec), WHOLE))
for name in ("zipped.metadata.json.gz", "zipped.gz.metadata.json"):
    (META.parent / name).write_bytes(gzip.compress(META.read_bytes()))
    check(f"gzip metadata, {name}", compare(META.parent / name, WHOLE))
meta = lake.Metadata(lake.local(catalog.load_table("db.unpartitioned1").metadata_location))
snapshot = meta.snapshot()
named = [m["manifest_path"] for m in meta.manifests()[1]]
del snapshot["manifest-list"]
snapshot["manifests"] = named
check("version 1, manifests in the snapshot", compare(meta.save("named"), catalog.load_table("db.unpartitioned1").scan().to_arrow().cast(arrow(EVERY))))
for key in ("schemas", "current-schema-id", "partition-specs", "default-spec-id"):
    meta.doc.pop(key)
check("version 1, one schema and one spec", compare(meta.save("v1"), catalog.load_table("db.unpartitioned1").scan().to_arrow().cast(arrow(EVERY)))
      if "schema" in meta.doc and "partition-spec" in meta.doc else sorted(meta.doc))

# ---- what is refused ----
meta = lake.Metadata(META)
meta.doc["format-version"] = 3
refused("version 3", ["Iceberg format version 3: expected 1 or 2"], meta.save("v3"))
_, meta, _ = deletable("vectors", files=1)
meta.add_deletes(1, positions([("x", 1)]), "dv", change=lambda f: f.update(file_format="PUFFIN"))
refused("deletion vectors", ["dv.parquet: deletion vectors cannot be read"], meta.save("dv"))
_, meta, _ = deletable("orc", files=1)
meta.add_deletes(1, positions([("x", 1)]), "orc", change=lambda f: f.update(file_format="ORC"))
refused("files of another format", ["orc.parquet: format ORC: expected Parquet"], meta.save("orc"))
_, meta, _ = deletable("content", files=1)
meta.add_deletes(1, positions([("x", 1)]), "c7", change=lambda f: f.update(content=7))
refused("content that is not known", ["c7.parquet: content 7"], meta.save("c7"))
_, meta, _ = deletable("beyond", files=1)
meta.add_deletes(1, positions([(meta.data_files()[0]["file_path"], 1000)]), "beyond")
refused("a position beyond the file", ["beyond.parquet", "row 1000 is deleted, but not in the file"], meta.save("beyond"))
_, meta, _ = deletable("struct_key", files=1)
meta.add_deletes(2, pa.Table.from_pylist([{"id": 1}], schema=by_key("id")), "nokey", equality_ids=[77])
refused("an equality delete by a field that is no column", ["nokey.parquet", "field 77"], meta.save("nokey"))
_, meta, _ = deletable("no_ids", files=1)
meta.add_deletes(2, pa.table({"id": [1], "v": ["v1"]}), "no-ids", equality_ids=[2])
refused("an equality delete without field ids", ["no-ids.parquet: column v (field id 2), by which it deletes rows, is missing"], meta.save("no-ids"))
meta = lake.Metadata(META)
meta.doc["schemas"][0]["fields"][2]["type"] = "geometry"
refused("a type that is not known", ["column int: type 'geometry'"], meta.save("geo"))
for wrong in 2**63, "1", 1.5, []:
    meta = lake.Metadata(META)
    meta.doc["current-snapshot-id"] = wrong
    refused(f"a current snapshot {wrong!r}: not an empty table", ["current-snapshot-id is not an integer"], meta.save("current"))
refused("two tables at once", ["cannot be combined with other files"], META, META)
refused("metadata that is no JSON", ["not.json"], (scratch / "not.json").write_text("{") and scratch / "not.json")
refused("a snapshot of plain Parquet", ["only an Iceberg table has snapshots"], scratch / "foreign.parquet", "-s", "x")

# ---- damaged data ----
table, meta, want = deletable("damaged", files=2)
victim = lake.local(meta.data_files()[0]["file_path"])
sound = victim.read_bytes()
victim.unlink()
refused("a missing data file", [victim.name, "No such file"], meta.path)
victim.write_bytes(sound[:-100])
refused("a data file cut short", [victim.name, f"{len(sound) - 100} bytes, expected {len(sound)}"], meta.path)
victim.write_bytes(sound[:200] + bytes(200) + sound[400:])
refused("a damaged data file", [victim.name], meta.path)
other = [lake.local(f["file_path"]) for f in meta.data_files()][1]
victim.write_bytes(sound)
check("and whole again", compare(meta.path, want))
manifest = lake.local(meta.manifests()[1][0]["manifest_path"])
bytes_of = manifest.read_bytes()
manifest.write_bytes(bytes_of[:-20])
refused("a manifest cut short", [manifest.name], meta.path)
manifest.write_bytes(bytes_of[:len(bytes_of) - 60] + b"\xff" * 20 + bytes_of[len(bytes_of) - 40:])
refused("a damaged manifest", [manifest.name], meta.path)
manifest.unlink()
refused("a missing manifest", [manifest.name, "No such file"], meta.path)
shutil.rmtree(scratch)
finish()
