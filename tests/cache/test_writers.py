#!/usr/bin/env python3
"""What duckdb and polars write is read as pyarrow reads it; tables that Hypothesis makes are read as they were."""
import datetime
import decimal
import itertools
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
import duckdb
import hypothesis
import hypothesis.strategies as st
import polars
import pyarrow as pa
import pyarrow.parquet as pq

import columns
import samples
from tap import check, finish

DUMP = os.environ.get("DUMP", str(ROOT / "build/san/tests/cache/dump"))
SEED = int(os.environ.get("SEED", random.randrange(10**6)))
EXAMPLES = int(os.environ.get("EXAMPLES", 25))
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-writers-"))
print(f"# SEED={SEED}", flush=True)


def compare(path, *args, theirs=None):
    theirs = pq.ParquetFile(path).read() if theirs is None else theirs
    schema = columns.narrow_schema(theirs.schema)
    try:
        return columns.differences(columns.table(columns.dump(DUMP, *args, path), schema), theirs.cast(schema))
    except (columns.Refused, RuntimeError, AssertionError, pa.ArrowInvalid) as e:
        return e


# ---- duckdb ----
base = duckdb.connect()
base.execute(f"SELECT setseed({SEED % 1000 / 1000})")
base.execute("""CREATE TABLE t AS SELECT i::BIGINT id, (i % 128)::TINYINT tiny, i::SMALLINT small, i::INTEGER whole, (i % 200)::UTINYINT utiny,
    i::UINTEGER uwhole, (i * 1000003)::UBIGINT ubig, i / 3.0::FLOAT f, random() d, i % 3 = 0 b, repeat('text', i % 7) || i s, ('v' || i % 5) few,
    (i * 1.25)::DECIMAL(9, 2) money, (i * 1.25)::DECIMAL(18, 4) money18, (i * 1.25)::DECIMAL(38, 10) money38,
    DATE '2026-01-01' + (i % 500)::INTEGER AS day_, TIMESTAMP '2026-01-01 00:00:00' + INTERVAL (i) SECOND AS ts, TIMESTAMPTZ '2026-01-01 00:00:00Z' + INTERVAL (i) MINUTE AS tz,
    TIME '01:02:03' AS tm, encode('b' || i) bytes, CASE WHEN i % 4 = 0 THEN NULL ELSE i END AS maybe, uuid() AS u,
    range(i % 5) AS l, CASE WHEN i % 3 = 0 THEN NULL ELSE {'x': i, 'y': ['a', NULL, 'b' || i]} END AS st, MAP {'k' || i % 3: i, 'z': NULL} AS m
    FROM range(5000) r(i)""")
for codec, version in itertools.product(("uncompressed", "snappy", "gzip", "zstd", "lz4_raw"), ("V1", "V2")):
    path = scratch / f"duckdb-{codec}-{version}.parquet"
    base.execute(f"COPY t TO '{path}' (FORMAT parquet, CODEC '{codec}', PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048)")
    check(f"duckdb, {codec}, {version}", compare(path))

# ---- polars ----
r = random.Random(SEED)
frame = polars.DataFrame({
    "id": range(3000), "tiny": polars.Series([r.randrange(-128, 128) for _ in range(3000)], dtype=polars.Int8),
    "unsigned": polars.Series([r.getrandbits(64) for _ in range(3000)], dtype=polars.UInt64), "d": [r.random() for _ in range(3000)],
    "f": polars.Series([r.random() for _ in range(3000)], dtype=polars.Float32), "b": [r.choice([True, False, None]) for _ in range(3000)],
    "s": [r.choice([None, "", "x" * r.randrange(30), "ünï"]) for _ in range(3000)], "few": [r.choice("abc") for _ in range(3000)],
    "bytes": [r.randbytes(r.randrange(9)) for _ in range(3000)], "day": [datetime.date(2026, 1, 1) + datetime.timedelta(i % 400) for i in range(3000)],
    "ts": [datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=i) for i in range(3000)],
    "time": [datetime.time(i % 24, i % 60, 1, i) for i in range(3000)],
    "money": [decimal.Decimal(i).scaleb(-2) for i in range(3000)],
    "list": [[None, i, i + 1][:i % 4] if i % 9 else None for i in range(3000)],
    "deep": [[["a"] * (i % 3)] * (i % 2) for i in range(3000)],
    "struct": [{"x": i, "y": {"z": str(i), "w": [float(i)]}} for i in range(3000)],
})
for codec, pages in itertools.product(("uncompressed", "snappy", "gzip", "zstd", "lz4"), (None, 4000)):
    path = scratch / f"polars-{codec}-{pages}.parquet"
    frame.write_parquet(path, compression=codec, data_page_size=pages, row_group_size=1000)
    check(f"polars, {codec}, {'small' if pages else 'large'} pages", compare(path))

# ---- Hypothesis: compared with what was written, for pyarrow 26 loses rows of [[]] in pages v2 ----
SCALARS = {
    pa.bool_(): st.booleans(), pa.int8(): st.integers(-2**7, 2**7 - 1), pa.int16(): st.integers(-2**15, 2**15 - 1),
    pa.int32(): st.integers(-2**31, 2**31 - 1), pa.int64(): st.integers(-2**63, 2**63 - 1), pa.uint8(): st.integers(0, 2**8 - 1),
    pa.uint16(): st.integers(0, 2**16 - 1), pa.uint32(): st.integers(0, 2**32 - 1), pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32), pa.float64(): st.floats(), pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    pa.binary(): st.binary(max_size=20), pa.binary(5): st.binary(min_size=5, max_size=5), pa.date32(): st.integers(-10**6, 10**6),
    pa.time64("us"): st.integers(0, 86399999999), pa.timestamp("us", "UTC"): st.integers(-2**60, 2**60), pa.timestamp("ms"): st.integers(-2**50, 2**50),
    pa.decimal128(12, 3): st.integers(-10**12 + 1, 10**12 - 1).map(lambda i: decimal.Decimal(i).scaleb(-3)),
    pa.decimal128(38, 0): st.integers(-10**38 + 1, 10**38 - 1).map(lambda i: decimal.Decimal(i)),
}
kinds = st.recursive(st.sampled_from(list(SCALARS)), lambda inner: st.one_of(
    st.tuples(inner, st.booleans()).map(lambda p: pa.list_(pa.field("element", p[0], p[1]))),
    st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3).map(lambda fs: pa.struct([pa.field(f"f{i}", k, n) for i, (k, n) in enumerate(fs)])),
    st.tuples(st.sampled_from([pa.string(), pa.int32()]), inner).map(lambda p: pa.map_(*p))), max_leaves=5)


def values(kind, nullable=True):
    if pa.types.is_map(kind):
        made = st.lists(st.tuples(values(kind.key_type, False), values(kind.item_type)), max_size=3)
    elif pa.types.is_list(kind):
        made = st.lists(values(kind.value_type, kind.value_field.nullable), max_size=4)
    elif pa.types.is_struct(kind):
        made = st.fixed_dictionaries({f.name: values(f.type, f.nullable) for f in kind})
    else:
        made = SCALARS[kind]
    return st.none() | made if nullable else made


@st.composite
def tables(draw):
    fields = [pa.field(f"c{i}", draw(kinds), draw(st.booleans())) for i in range(draw(st.integers(1, 4)))]
    rows, repeat = draw(st.integers(0, 12)), draw(st.sampled_from([1, 1, 7, 60]))
    arrays = [pa.array([draw(values(f.type, f.nullable)) for _ in range(rows)] * repeat, f.type) for f in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


OPTIONS = st.fixed_dictionaries({
    "compression": st.sampled_from(["none", "snappy", "gzip", "zstd", "lz4"]), "data_page_version": st.sampled_from(["1.0", "2.0"]),
    "use_dictionary": st.booleans(), "row_group_size": st.sampled_from([1, 5, 1000]), "data_page_size": st.sampled_from([1, 50, 10000]),
    "write_batch_size": st.sampled_from([1, 3, 1000]), "use_byte_stream_split": st.just(False),
    "store_decimal_as_integer": st.booleans(), "write_page_index": st.booleans()})


@hypothesis.seed(SEED)
@hypothesis.settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(tables(), OPTIONS, st.sampled_from([(), ("-b", "1"), ("-b", "3")]))
def test(table, options, args):
    path = samples.write(scratch / "made.parquet", table, **options)
    problem = compare(path, *args, theirs=table)
    assert not problem, f"{table.schema}\n{options} {args}\n{str(table.to_pydict())[:2000]}\n{problem}"


try:
    test()
    problem = None
except BaseException as e:
    problem = "\n".join([f"SEED={SEED}", *(str(x)[:3000] for x in getattr(e, "exceptions", [e]))])
check(f"{EXAMPLES} tables of Hypothesis", problem)
shutil.rmtree(scratch)
finish()
