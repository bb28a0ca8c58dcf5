#!/usr/bin/env python3
"""What pyarrow writes is read as pyarrow reads it: types x encodings x compressions x pages x nulls x nesting."""
import os
import pathlib
import random
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.parquet as pq

import columns
import samples
from tap import check, finish

DUMP = os.environ.get("DUMP", str(ROOT / "build/san/tests/cache/dump"))
SEED = int(os.environ.get("SEED", random.randrange(10**6)))
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-parquet-"))
print(f"# SEED={SEED}", flush=True)


def compare(path, *args, rows=None):
    theirs = pq.ParquetFile(path).read()
    if rows:
        theirs = theirs.slice(rows[0], rows[1] - rows[0])
        args += ("-r", f"{rows[0]}:{rows[1]}")
    try:
        return columns.differences(columns.table(columns.dump(DUMP, *args, path), theirs.schema), theirs)
    except (columns.Refused, RuntimeError, AssertionError, pa.ArrowInvalid) as e:
        return e


def case(name, data, *args, rows=None, **options):
    path = samples.write(scratch / f"{name}.parquet", data, **options)
    check(name.replace("_", " "), compare(path, *args, rows=rows))


def seed(name):
    return f"{SEED} {name}"


# ---- compressions, pages, nulls ----
EVERY = {**samples.FLAT, **samples.NESTED}
CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]
NULLS = {"required": None, "no_nulls": 0, "nulls": .3, "only_nulls": 1}
data = {name: samples.table(seed(name), EVERY, 2000, share) for name, share in NULLS.items()}
for codec in CODECS:
    for version in ("1.0", "2.0"):
        name = "nulls" if codec != "snappy" else "no_nulls"
        case(f"{codec}_v{version[0]}_{name}", data[name], compression=codec, data_page_version=version)
for name in NULLS:
    for version in ("1.0", "2.0"):
        case(f"plain_v{version[0]}_{name}", data[name], use_dictionary=False, data_page_version=version)

# ---- encodings ----
FIXED = ["int32", "int64", "float", "double", "fixed3", "fixed16", "uint8", "uint16", "uint32", "uint64", "decimal5",
         "decimal38", "decimal60", "date", "ts_ns", "time_us"]
ENCODINGS = {
    "DELTA_BINARY_PACKED": ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "date", "ts_us", "one"],
    "DELTA_LENGTH_BYTE_ARRAY": ["string", "binary", "few"],
    "DELTA_BYTE_ARRAY": ["string", "binary", "few", "fixed3", "fixed16", "decimal38"],
    "BYTE_STREAM_SPLIT": FIXED,
    "RLE": ["bool"],
}
for encoding, names in ENCODINGS.items():
    for nulls in ("required", "nulls", "only_nulls"):
        for version in ("1.0", "2.0"):
            case(f"{encoding.lower()}_v{version[0]}_{nulls}", data[nulls].select(names), use_dictionary=False,
                 column_encoding={n: encoding for n in names}, data_page_version=version)
lists = pa.table({n: samples.column(random.Random(seed(n)), pa.list_(k), samples.listed(m), 500, .2)
                  for n, (k, m) in samples.FLAT.items() if n in ("int64", "string", "double")})
paths = {f"{n}.list.element": e for n, e in (("int64", "DELTA_BINARY_PACKED"), ("string", "DELTA_BYTE_ARRAY"),
                                            ("double", "BYTE_STREAM_SPLIT"))}
case("lists_of_encodings", lists, use_dictionary=False, column_encoding=paths)
case("dictionary_too_large", data["nulls"], dictionary_pagesize_limit=300)
case("decimals_as_integers", data["nulls"].select(["decimal5", "decimal15"]), store_decimal_as_integer=True)
case("int96", data["nulls"].select(["ts_ms", "ts_ns"]), use_deprecated_int96_timestamps=True)
case("one_page", data["nulls"], data_page_size=1 << 20, row_group_size=5000)
case("two_level_lists", data["nulls"].select(["ints", "texts"]), use_compliant_nested_type=False)
case("large_strings", pa.table({"s": ["x" * n for n in range(3000)]}), data_page_size=1 << 16)
case("wide_dictionary", pa.table({"s": [f"value {i}" for i in range(40000)], "i": range(40000)}), row_group_size=40000,
     data_page_size=1 << 14)
for rows in 0, 1:
    case(f"{rows}_rows", data["nulls"].slice(0, rows))
case("no_checksums", data["nulls"], write_page_checksum=False)

# ---- batches, ranges, projection ----
plain = samples.write(scratch / "ranges.parquet", data["nulls"])
v2 = samples.write(scratch / "ranges2.parquet", data["nulls"], data_page_version="2.0")
r = random.Random(seed("ranges"))
for batch in 1, 7, 64, 333:
    rows = sorted(r.sample(range(2001), 2)) if batch > 1 else (880, 920)
    check(f"rows {rows[0]} to {rows[1]} in batches of {batch}",
          compare(plain, "-b", batch, rows=rows) or compare(v2, "-b", batch, rows=rows))


def projected(*names):
    want = pq.ParquetFile(plain).read(columns=list(names))
    got = columns.table(columns.dump(DUMP, "-c", ",".join(names), plain), want.schema)
    return columns.differences(got, want)


check("some columns", projected("int64", "points", "null"))
shutil.rmtree(scratch)
finish()
