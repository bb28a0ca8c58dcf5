"""Columns of every type, made of a seed, and files that pyarrow writes of them."""
import datetime
import decimal
import random
import struct

import pyarrow as pa
import pyarrow.parquet as pq

DAY = datetime.date(1970, 1, 1)
EXTREMES = {8: [-128, 127], 16: [-2**15, 2**15 - 1], 32: [-2**31, 2**31 - 1], 64: [-2**63, 2**63 - 1]}


def whole(bits, signed):
    def make(r):
        if r.random() < .1:
            return r.choice(EXTREMES[bits]) + (0 if signed else 2**(bits - 1))
        v = r.getrandbits(r.randrange(1, bits))
        return -v if signed and r.random() < .5 else v
    return make


def real(code, bits):
    def make(r):
        if r.random() < .1:
            return r.choice([0.0, -0.0, float("inf"), -float("inf"), float("nan")])
        return struct.unpack(code, r.getrandbits(bits).to_bytes(bits // 8, "little"))[0]
    return make


def text(r):
    words = ["", "a", "kubeflow", "ünïcode", "日本語", "x" * 15, "y" * 16, "z" * 17, "0123456789" * 9]
    return r.choice(words) + (str(r.randrange(1000)) if r.random() < .6 else "")


def money(precision, scale):
    def make(r):
        digits = r.randrange(10**r.randrange(precision + 1))
        return decimal.Decimal(r.choice([-1, 1]) * digits).scaleb(-scale, decimal.Context(prec=80))
    return make


def listed(make, most=6, nulls=.2):
    return lambda r: [None if r.random() < nulls else make(r) for _ in range(r.randrange(most))]


def moment(unit, most):
    return lambda r: r.randrange(-most, most)


FLAT = {
    "bool": (pa.bool_(), lambda r: r.random() < .5),
    **{f"int{b}": (getattr(pa, f"int{b}")(), whole(b, True)) for b in (8, 16, 32, 64)},
    **{f"uint{b}": (getattr(pa, f"uint{b}")(), whole(b, False)) for b in (8, 16, 32, 64)},
    "float": (pa.float32(), real("<f", 32)),
    "double": (pa.float64(), real("<d", 64)),
    **{f"decimal{p}": (pa.decimal128(p, s), money(p, s)) for p, s in ((5, 2), (15, 3), (38, 10))},
    "decimal60": (pa.decimal256(60, 7), money(60, 7)),
    "date": (pa.date32(), lambda r: r.randrange(-40000, 40000)),
    "time_ms": (pa.time32("ms"), lambda r: r.randrange(86400000)),
    "time_us": (pa.time64("us"), lambda r: r.randrange(86400000000)),
    "time_ns": (pa.time64("ns"), lambda r: r.randrange(86400000000000)),
    "ts_ms": (pa.timestamp("ms"), moment("ms", 10**13)),
    "ts_us": (pa.timestamp("us", "UTC"), moment("us", 10**16)),
    "ts_ns": (pa.timestamp("ns"), moment("ns", 10**18)),
    "string": (pa.string(), text),
    "binary": (pa.binary(), lambda r: r.randbytes(r.randrange(40))),
    "fixed3": (pa.binary(3), lambda r: r.randbytes(3)),
    "fixed16": (pa.binary(16), lambda r: r.randbytes(16)),
    "few": (pa.string(), lambda r: r.choice(["red", "green", "blue"])),
    "one": (pa.int64(), lambda r: 42),
}
_point = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))])


def point(r):
    return {"x": None if r.random() < .2 else r.randrange(99), "y": None if r.random() < .2 else listed(text)(r)}


NESTED = {
    "ints": (pa.list_(pa.int32()), listed(whole(32, True))),
    "tokens": (pa.list_(pa.field("element", pa.int32(), False)), listed(whole(16, True), 80, 0)),
    "texts": (pa.list_(pa.string()), listed(text)),
    "bools": (pa.list_(pa.bool_()), listed(lambda r: r.random() < .5)),
    "deep": (pa.list_(pa.list_(pa.list_(pa.float64()))), listed(listed(listed(real("<d", 64))))),
    "pair": (pa.struct([("a", pa.int32()), ("b", pa.string()), pa.field("c", pa.bool_(), False)]),
             lambda r: {"a": None if r.random() < .3 else r.randrange(99), "b": text(r), "c": r.random() < .5}),
    "points": (pa.list_(_point), listed(point)),
    "point": (_point, point),
    "map": (pa.map_(pa.string(), pa.int64()), lambda r: [(text(r), r.randrange(9)) for _ in range(r.randrange(4))]),
    "maps": (pa.map_(pa.int32(), pa.list_(pa.decimal128(9, 2))),
             lambda r: [(k, listed(money(9, 2))(r)) for k in range(r.randrange(4))]),
    "inner": (pa.struct([("s", pa.struct([("t", pa.struct([("v", pa.float32())]))]))]),
              lambda r: r.choice([None, {"s": None}, {"s": {"t": None}}, {"s": {"t": {"v": r.random()}}}])),
}


def column(r, kind, make, rows, nulls):
    return pa.array([None if r.random() < nulls else make(r) for _ in range(rows)], kind)


def table(seed, columns, rows, nulls):
    """nulls: the share of null rows; None: columns that cannot be null."""
    r = random.Random(seed)
    fields, arrays = [], []
    for name, (kind, make) in columns.items():
        fields.append(pa.field(name, kind, nulls is not None))
        arrays.append(column(r, kind, make, rows, nulls or 0))
    if nulls is not None:
        half = pa.array([None if r.random() < nulls else r.getrandbits(16) for _ in range(rows)], pa.uint16())
        fields += [pa.field("half", pa.float16()), pa.field("null", pa.null())]
        arrays += [half.view(pa.float16()), pa.nulls(rows)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def write(path, data, **options):
    """Pages of many sizes; without the notes that restore pyarrow's own types."""
    base = dict(store_schema=False, data_page_size=700, row_group_size=900, write_page_checksum=True, write_batch_size=64)
    pq.write_table(data, path, **{**base, **options})
    return path
