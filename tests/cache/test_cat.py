#!/usr/bin/env python3
"""cache-serve cat: rows as JSON and CSV, counts, shards of every world, and what is refused."""
import base64
import csv
import io
import json
import math
import os
import pathlib
import shutil
import struct
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

import samples
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-cat-"))


def cat(*args, code=0):
    done = subprocess.run([PROGRAM, "cache-serve", "cat", *map(str, args)], capture_output=True)
    assert done.returncode == code, f"status {done.returncode}: {done.stderr}"
    return (done.stderr if code else done.stdout).decode()


def refused(like, *args, code=2):
    said = cat(*args, code=code)
    return None if like in said and len([x for x in said.splitlines() if not x.startswith("Try ")]) == 1 else said


class Single(float):
    """Of 32 bits or fewer: equal to what reads back as the same."""
    def __eq__(self, other):
        return isinstance(other, (int, float)) and struct.pack("<f", self) == struct.pack("<f", other)

    def __ne__(self, other):
        return not self == other


def plain(v, kind):
    """A value of pyarrow as the JSON that is expected."""
    if v is None:
        return None
    if pa.types.is_struct(kind):
        return {f.name: plain(v[f.name], f.type) for f in kind}
    if pa.types.is_map(kind):
        pairs = [[plain(k, kind.key_type), plain(x, kind.item_type)] for k, x in v]
        return dict(pairs) if pa.types.is_string(kind.key_type) else pairs
    if pa.types.is_list(kind):
        return [plain(x, kind.value_type) for x in v]
    if pa.types.is_decimal(kind):
        return format(v, "f")
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return base64.b64encode(v).decode()
    if pa.types.is_floating(kind):
        return "NaN" if math.isnan(v) else ("Infinity" if v > 0 else "-Infinity") if math.isinf(v) \
            else v if pa.types.is_float64(kind) else Single(v)
    if pa.types.is_date(kind):
        return v.isoformat()
    return v


TIMES = [name for name in samples.FLAT if name.startswith("t")]
table = samples.table(11, {**samples.FLAT, **samples.NESTED}, 400, .3).drop_columns(TIMES)
whole = samples.write(scratch / "b.parquet", table)
read = pq.read_table(whole)
want = [{f.name: plain(row[f.name], f.type) for f in read.schema} for row in read.to_pylist()]
got = [json.loads(line) for line in cat(whole).splitlines()]
check("JSON: every type but times", "\n".join(f"row {i}, {k}: {g[k]!r}, not {w[k]!r}" for i, (g, w) in enumerate(zip(got, want))
                                             for k in w if g[k] != w[k]) or (len(got) != len(want) and "rows"))
moments = pa.table({
    "date": pa.array([0, -719162, 11016, 2932896, None], pa.date32()),
    "ms": pa.array([0, -1, 951782400123, 253402300799999, None], pa.timestamp("ms")),
    "us": pa.array([0, -1, 951782400123456, 1, None], pa.timestamp("us", "UTC")),
    "ns": pa.array([0, -1, 951782400123456789, 1, None], pa.timestamp("ns")),
    "time": pa.array([0, 1, 86399999999, 3600000000, None], pa.time64("us")),
})
samples.write(scratch / "times.parquet", moments)
check("times", None if [json.loads(x) for x in cat(scratch / "times.parquet").splitlines()][:4] == [
    {"date": "1970-01-01", "ms": "1970-01-01T00:00:00.000", "us": "1970-01-01T00:00:00.000000Z",
     "ns": "1970-01-01T00:00:00.000000000", "time": "00:00:00.000000"},
    {"date": "0001-01-01", "ms": "1969-12-31T23:59:59.999", "us": "1969-12-31T23:59:59.999999Z",
     "ns": "1969-12-31T23:59:59.999999999", "time": "00:00:00.000001"},
    {"date": "2000-02-29", "ms": "2000-02-29T00:00:00.123", "us": "2000-02-29T00:00:00.123456Z",
     "ns": "2000-02-29T00:00:00.123456789", "time": "23:59:59.999999"},
    {"date": "9999-12-31", "ms": "9999-12-31T23:59:59.999", "us": "1970-01-01T00:00:00.000001Z",
     "ns": "1970-01-01T00:00:00.000000001", "time": "01:00:00.000000"},
] else cat(scratch / "times.parquet"))
text = cat("-o", "csv", "--column", "string", "--column", "int64", "--column", "ints", whole)
rows = list(csv.DictReader(io.StringIO(text, newline="")))
check("CSV: the same", None if [(r["int64"], r["string"], r["ints"]) for r in rows] == [
    ("" if w["int64"] is None else str(w["int64"]), w["string"] or "",
     "" if w["ints"] is None else json.dumps(w["ints"], separators=(",", ":"))) for w in want] else text[:2000])
tricky = pa.table({"s": ['a,b', 'say "x"', "two\nlines", "", None, "\x1b[31m", "\\"], "n": range(7)})
samples.write(scratch / "tricky.parquet", tricky)
check("CSV: quotes", None if cat("-o", "csv", scratch / "tricky.parquet").split("\r\n") == [
    "s,n", '"a,b",0', '"say ""x""",1', '"two\nlines",2', '"",3', ",4", "\x1b[31m,5", "\\,6", ""] else cat("-o", "csv", scratch / "tricky.parquet"))
samples.write(scratch / "twice.parquet", pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
check("CSV: two columns of one name", None if cat("-o", "csv", scratch / "twice.parquet") == "a,a\r\n1,2\r\n" else "other rows")
for args in [], ["-o", "csv", "--column", "a"], ["--count", "--filter", '[["a", "=", 1]]']:
    check(f"... are refused by JSON, --column, --filter: {args}", refused("two columns are called 'a'", *args, scratch / "twice.parquet"))
check("... not by --count", None if cat("--count", scratch / "twice.parquet") == "1\n" else "other rows")
check("JSON: escapes", None if [json.loads(x)["s"] for x in cat(scratch / "tricky.parquet").splitlines()] == tricky["s"].to_pylist()
      else cat(scratch / "tricky.parquet"))

# ---- order and shards ----
for name, first, n in (("c/1", 0, 300), ("a/2", 300, 7), ("a/10", 307, 0), ("d", 307, 500)):
    (scratch / name).parent.mkdir(exist_ok=True)
    samples.write(scratch / f"{name}.parquet", pa.table({"i": pa.array(range(first, first + n), pa.int64())}), row_group_size=128)
files = [scratch / f"{name}.parquet" for name in ("d", "c/1", "a/10", "a/2")]
ordered = [json.loads(line)["i"] for line in cat(*files).splitlines()]
check("order: by path, row group, row", None if ordered == [*range(300, 307), *range(300), *range(307, 807)] else ordered)
problems = []
for world in (1, 2, 3, 7, 64, 807, 900):
    shards = []
    for rank in range(world) if world < 10 else (0, 1, world // 2, world - 1):
        lines = cat("--rank", rank, "--world", world, *files).splitlines()
        size, more = divmod(807, world)
        at = rank * size + min(rank, more)
        shards += lines
        if [json.loads(x)["i"] for x in lines] != ordered[at:at + size + (rank < more)]:
            problems.append(f"rank {rank} of {world}: {len(lines)} rows")
    if world < 10 and len(shards) != 807:
        problems.append(f"world {world}: {len(shards)} rows")
check("shards: contiguous, floor or ceil of rows/n rows", "\n".join(problems))
check("--count", None if cat("--count", *files) == "807\n" and cat("--count", "--rank", 6, "--world", 7, *files) == "115\n" else "wrong")
check("an empty table", None if cat(files[2]) == "" and cat("-o", "csv", files[2]) == "i\r\n" else "not empty")

# ---- refused ----
check("a rank beyond the world", refused("--rank 3: out of range, --world is 3", "--rank", 3, "--world", 3, whole))
check("no such column", refused("no column 'strin'; did you mean 'string'", "--column", "strin", whole))
check("no file", refused("specify a Parquet file, a directory or Iceberg metadata"))
check("a file that does not exist", refused("/absent.parquet: No such file", scratch / "absent.parquet", code=1))
check("a file twice", refused("specified twice", whole, whole))
check("files of other columns", refused("d.parquet: 1 columns, but ", whole, files[0]))
for one, other, words in ((pa.int32(), pa.int64(), "column c is of type int64, but of int32 in "),
                          (pa.timestamp("us"), pa.timestamp("us", "UTC"), "column c is of type timestamp[us, tz=UTC], but of timestamp[us] in "),
                          (pa.decimal128(10, 2), pa.decimal128(12, 2), "column c is of type decimal128(12, 2), but of decimal128(10, 2) in "),
                          (pa.null(), pa.string(), "column c is of type string, but of null in "),
                          (pa.list_(pa.int8()), pa.list_(pa.uint8()), "column c.element is of type uint8, but of int8 in "),
                          (pa.struct([("a", pa.struct([("b", pa.float32())]))]), pa.struct([("a", pa.struct([("b", pa.float64())]))]),
                           "column c.a.b is of type double, but of float in "),
                          (pa.struct([("a", pa.int64())]), pa.struct([("b", pa.int64())]), "column c is of type struct<b: int64>, but of struct<a: int64> in "),
                          (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.date32()), "column c.key_value.value is of type date32[day], but of int64 in "),
                          (pa.binary(4), pa.binary(5), "column c is of type fixed_size_binary[5], but of fixed_size_binary[4] in ")):
    for name, kind in (("x.parquet", one), ("y.parquet", other)):
        pq.write_table(pa.table({"c": pa.array([None], kind)}), scratch / name)
    check(f"another type: {words}", refused(f"y.parquet: {words}", scratch / "x.parquet", scratch / "y.parquet"))
cut = scratch / "cut.parquet"
cut.write_bytes(whole.read_bytes()[:-20])
check("a damaged file", refused("cut.parquet: no Parquet file, or cut short", cut))
check("more memory than allowed", refused("beyond the limit of 1.0 MiB", "--memory", 1 << 20, samples.write(
    scratch / "large.parquet", pa.table({"s": ["x" * 3000000]}), data_page_size=1 << 20)))
shutil.rmtree(scratch)
finish()
