#!/usr/bin/env python3
"""cache-serve cat --filter: the rows that pyarrow's comparisons keep; what statistics rule out is not read."""
import atexit
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests/store"), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import faulty
import samples
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
SEED = int(os.environ.get("SEED", random.randrange(10**6)))
print(f"# SEED={SEED}", flush=True)
r = random.Random(SEED)
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-filter-"))
atexit.register(shutil.rmtree, scratch, ignore_errors=True)


def cat(*args):
    done = subprocess.run([PROGRAM, "cache-serve", "cat", *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def keeps(condition, *args):
    return [row["id"] for row in cat("--column", "id", "--filter", json.dumps(condition), *args)]


# ---- each operator on each type: the same rows as pyarrow's ----
OPS = {"=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
ROWS = 3000
SKIP = ("decimal60", "half", "null")
data = samples.table(SEED, samples.FLAT, ROWS, .2).drop_columns([n for n in SKIP if n in ("half", "null")])
for name in ("int64", "string", "ts_us", "double", "decimal15"):  # sorted: bounds of pages are narrow
    data = data.append_column("sorted_" + name, data[name].take(pc.sort_indices(data[name])))
data = data.append_column("id", pa.array(range(ROWS), pa.int64()))
path = samples.write(scratch / "all.parquet", data, write_page_index=True, row_group_size=700, data_page_size=300, write_batch_size=20)
plain = samples.write(scratch / "plain.parquet", data, write_statistics=False, row_group_size=700)
printed = cat(path)
for name in data.column_names[:-1]:
    if name in SKIP:
        continue
    problems = []
    values = data[name].combine_chunks()
    for op, oracle in OPS.items():
        row = r.choice([i for i in range(ROWS) if values[i].is_valid])
        literal = printed[row][name]
        want = [i for i, keep in enumerate(oracle(values, values[row]).to_pylist()) if keep]
        for file in (path, plain):
            got = keeps([name, op, literal], file)
            if got != want:
                problems.append(f"{op} {literal!r}: {len(got)} rows, {len(want)} expected, first {[x for x in want if x not in set(got)][:3]}")
    check(f"{name}: every operator", "\n".join(problems))
some = [x for x in (r.choice(printed)["string"] for _ in range(5)) if x is not None]
check("in", None if keeps(["string", "in", some], path) == [i for i, v in enumerate(data["string"].to_pylist()) if v in some] else some)
check("in: nothing", None if keeps(["string", "in", []], path) == [] else "rows")
for name in ("string", "ints", "point", "sorted_int64"):
    if name not in data.column_names:
        continue
    null = [i for i, v in enumerate(data[name].to_pylist()) if v is None]
    check(f"{name}: is null, is not null", None if keeps([name, "is null"], path) == null and keeps([[name, "is null", False]], path) == [
        i for i in range(ROWS) if i not in set(null)] else name)
both = [["sorted_int64", ">", 0], ["few", "=", "red"], ["id", "<", 2900]]
want = [i for i in range(2900) if (data["sorted_int64"][i].as_py() or 0) > 0 and data["few"][i].as_py() == "red"]
check("all conditions hold", None if keeps(both, path) == want else want[:10])
check("shards first, then the filter", None if [x for rank in range(3) for x in keeps(both, "--rank", rank, "--world", 3, path)] == want else "no")
counted = subprocess.run([PROGRAM, "cache-serve", "cat", "--count", "--filter", json.dumps(both), path], capture_output=True, text=True).stdout
check("--count", None if counted == f"{len(want)}\n" else counted)
check("only the columns that are asked for", None if cat("--column", "few", "--filter", json.dumps(both), path) == [{"few": "red"}] * len(want) else "no")
nan = samples.write(scratch / "nan.parquet", pa.table({"id": range(4), "d": [1.0, float("nan"), None, 3.0]}))
check("NaN: unequal to all, in no order", None if keeps(["d", "!=", 1], nan) == [1, 3] and keeps(["d", ">", 0], nan) == [0, 3]
      and keeps(["d", "=", "NaN"], nan) == [] else "no")

# ---- what is not read ----
(scratch / "root").mkdir()
wide = pa.table({"id": range(40000), "day": [f"2026-{1 + i // 10000:02}-01" for i in range(40000)], "pay": [r.randbytes(50) for _ in range(40000)]})
pq.write_table(wide, scratch / "root/wide.parquet", row_group_size=10000, compression="none", use_dictionary=False, write_page_index=True,
               data_page_size=20000, write_page_checksum=True)
web = faulty.Server(str(scratch / "root")).start()
one = len(cat("--filter", '["day", "=", "2026-03-01"]', f"http://127.0.0.1:{web.port}/wide.parquet"))
read = sum(x["sent"] for x in web.records)
size = (scratch / "root/wide.parquet").stat().st_size
check("row groups that statistics rule out are not requested", None if one == 10000 and read < size * .4 else f"{one} rows, {read} of {size} bytes")
broken = bytearray((scratch / "root/wide.parquet").read_bytes())
chunk = pq.ParquetFile(scratch / "root/wide.parquet").metadata.row_group(1).column(2)
broken[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
(scratch / "broken.parquet").write_bytes(broken)
whole = subprocess.run([PROGRAM, "cache-serve", "cat", scratch / "broken.parquet"], capture_output=True, text=True)
check("pages that statistics rule out are not decoded: a damaged one goes unseen", None if "damaged: its checksum" in whole.stderr
      and keeps([["id", ">=", 19990], ["id", "<", 20003]], scratch / "broken.parquet") == list(range(19990, 20003)) else whole.stderr)


# ---- an index that contradicts itself, as of parquet-java without statistics ----
def marked(name, values, nullable, counts):
    """All pages are marked as of nulls only; their null counts are left, or replaced by `counts`."""
    file = scratch / f"{name}.parquet"
    pq.write_table(pa.table({"id": pa.array(values, pa.int32())}, pa.schema([pa.field("id", pa.int32(), nullable)])), file,
                   use_dictionary=False, write_page_index=True, data_page_size=400, write_batch_size=100)
    whole, n = bytearray(file.read_bytes()), -(-len(values) // 100)
    head = bytes([0x19, n << 4 | 1])  # a list of n booleans, 2: false
    assert n < 15 and whole.count(head + b"\2" * n) == 1, whole[-400:]
    at = whole.index(head + b"\2" * n) + 2
    whole[at:at + n] = b"\1" * n
    at = whole.rindex(bytes([0x19, n << 4 | 6]) + b"\0" * n, 0, len(whole) - 200) + 2 if counts is not None else 0
    if counts is not None:
        whole[at:at + n] = bytes([counts]) * n
    file.write_bytes(whole)
    return file


for name, nullable, counts in (("none is null", True, None), ("unknown", True, 1), ("required", False, None)):
    file = marked(name.replace(" ", "_"), list(range(1000)), nullable, counts)
    got = [keeps(x, file) for x in (["id", ">=", 990], ["id", "is null", False], ["id", "is null"])]
    check(f"pages marked as of nulls only, {name}: their rows are read", None if got == [list(range(990, 1000)), list(range(1000)), []] else got)


# ---- what is refused ----
def refused(like, text, code=2):
    done = subprocess.run([PROGRAM, "cache-serve", "cat", "--filter", text, path], capture_output=True, text=True)
    said = done.stderr.splitlines()
    check("refused: " + text[:60], None if done.returncode == code and said and like in said[0] else f"{done.returncode}: {done.stderr}")


refused("--filter", "no JSON")
refused("expected a list", '{"int64": 1}')
refused("no column 'strin'; did you mean 'string'", '["strin", "=", "x"]')
refused("column int64: unknown operator", '["int64", "~", 1]')
refused("column int64: expected an integer", '["int64", "=", 1.5]')
refused("column int64: expected an integer", '["int64", "=", "x"]')
refused("column int64: expected an integer", '["int64", "=", %s]' % ("9" * 50))
refused("column bool: expected true or false", '["bool", "=", 1]')
refused("column date: expected a date", '["date", "=", "2026-02-30"]')
refused("column ts_us: expected a time", '["ts_us", "<", "yesterday"]')
refused("column decimal5: expected a decimal of the column's scale", '["decimal5", "=", "1.234"]')
refused("column string: expected a string", '["string", "=", 5]')
refused("column fixed3: expected bytes of the column's length", '["fixed3", "=", "AAAA////"]')
refused("column string: expected a list of values", '["string", "in", "x"]')
refused("column string: the literal is missing", '["string", "="]')
refused("expected [COLUMN, OPERATOR, LITERAL]", '[["string", "=", "a", "b"]]')
refused("column decimal60: values of this type cannot be compared", '["decimal60", "=", "1"]')
finish()
