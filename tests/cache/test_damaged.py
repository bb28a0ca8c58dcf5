#!/usr/bin/env python3
"""Parquet files that are cut, flipped, hostile or encrypted: one clear error within the memory limit, never other rows."""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

import samples
from tap import check, finish

DUMP = os.environ.get("DUMP", str(ROOT / "build/san/tests/cache/dump"))
PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
MEMORY = 32 << 20
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-damaged-"))
r = random.Random(7)


class Crash(Exception):
    pass


def read_all(files):
    """What is said of each: ("rows", checksum) or ("error", why)."""
    paths = [scratch / f"file-{i}.parquet" for i in range(len(files))]
    for path, data in zip(paths, files):
        path.write_bytes(data)
    done = subprocess.run([DUMP, "-e", "-m", str(MEMORY), *paths], capture_output=True)
    said = [tuple(line.split(" ", 1)) for line in done.stdout.decode(errors="replace").splitlines()]
    if done.returncode or len(said) != len(files):
        shutil.copy(paths[min(len(said), len(paths) - 1)], ROOT / "build/crash.parquet")
        raise Crash(f"number {len(said)} of {len(files)}, kept as build/crash.parquet:\n" + done.stderr.decode()[:4000])
    for i, (what, why) in enumerate(said):
        if what == "error":
            assert why.startswith(f"{paths[i]}: ") and "BUG" not in why, why
            said[i] = what, why[len(f"{paths[i]}: "):]
    return said


def verdict(files, allowed):
    """A problem, unless each file is refused or its rows are those allowed (None: any)."""
    try:
        said = read_all(list(files.values()))
    except (Crash, AssertionError) as e:
        return e
    return "\n".join(f"{name}: it is read as other rows" for name, got in zip(files, said)
                     if got[0] == "rows" and allowed is not None and got not in allowed)


# ---- cut and flipped ----
FILES = {
    "snappy v1": dict(compression="snappy"),
    "zstd v2": dict(compression="zstd", data_page_version="2.0"),
    "gzip plain": dict(compression="gzip", use_dictionary=False),
    "lz4 v2": dict(compression="lz4", data_page_version="2.0"),
    "none": dict(compression="none"),
}
table = samples.table(5, {**samples.FLAT, **samples.NESTED}, 120, .3)
for name, options in FILES.items():
    whole = samples.write(scratch / "whole.parquet", table, **options).read_bytes()
    rows = read_all([whole])[0]
    check(f"{name}: whole", rows[1] if rows[0] == "error" else None)
    cuts = [r.randrange(len(whole)) for _ in range(10)] + [0, 1, 7, 8, 11, 12, len(whole) - 1]
    check(f"{name}: cut", verdict({f"cut at {n}": whole[:n] for n in cuts}, ()))
    pages = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    flipped, changed = {}, {}
    for _ in range(60):
        at, bit = r.randrange(4, pages), 1 << r.randrange(8)
        flipped[f"byte {at}, bit {bit}"] = whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1:]
        at, byte = r.randrange(pages, len(whole)), r.choice([0, 0x7f, 0xff, r.randrange(256)])
        changed[f"byte {at} is {byte}"] = whole[:at] + bytes([byte]) + whole[at + 1:]
    check(f"{name}: a bit of a page flipped", verdict(flipped, (rows,)))
    check(f"{name}: a byte of the metadata changed", verdict(changed, None))


# ---- hostile: metadata and pages made by hand ----
def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def thrift(v):
    """(type, bytes) in the compact protocol: dict: struct by field id; all integers are i64."""
    if isinstance(v, bool):
        return 1 if v else 2, b""
    if isinstance(v, int):
        return 6, varint((v << 1 ^ v >> 63) & (1 << 64) - 1)
    if isinstance(v, (bytes, str)):
        v = v.encode() if isinstance(v, str) else v
        return 8, varint(len(v)) + v
    if isinstance(v, list):
        items = [thrift(x) for x in v]
        return 9, bytes([0xf0 | (items[0][0] if items else 12)]) + varint(len(v)) + b"".join(x for _, x in items)
    out, last = b"", 0
    for key in sorted(v):
        kind, data = thrift(v[key])
        head = bytes([key - last << 4 | kind]) if key - last < 16 else bytes([kind]) + varint(key << 1)
        out, last = out + head + data, key
    return 12, out + b"\0"


INT32, INT64, BYTES = 1, 2, 6
REQUIRED, OPTIONAL, REPEATED = 0, 1, 2


def leaf(name="x", kind=INT64, repetition=REQUIRED, **more):
    return {1: kind, 3: repetition, 4: name, **{int(k[1:]): v for k, v in more.items()}}


def page(body, n, encoding=0, kind=0, size=None, crc=None):
    head = {1: kind, 2: len(body) if size is None else size, 3: len(body)}
    if kind == 2:
        head[7] = {1: n, 2: encoding}
    else:
        head[5] = {1: n, 2: encoding, 3: 3, 4: 3}
    if crc is not None:
        head[4] = crc
    return thrift(head)[1] + body


def file(pages=b"", n=1, rows=None, schema=None, meta=None, chunk=None, group=None, footer=None):
    schema = schema or [{4: "root", 5: 1}, leaf()]
    rows = n if rows is None else rows
    meta = {1: schema[-1].get(1, 0), 2: [], 3: [], 4: 0, 5: n, 6: len(pages), 7: len(pages), 9: 4, **(meta or {})}
    group = {1: [{2: 0, 3: meta, **(chunk or {})}], 2: 0, 3: rows, **(group or {})}
    footer = thrift({1: 2, 2: schema, 3: rows, 4: [group], **(footer or {})})[1]
    return b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def nested(depth, repetition):
    return [{4: "root", 5: 1}] + [{3: repetition, 4: f"g{i}", 5: 1} for i in range(depth)] + [leaf()]


ONE = (42).to_bytes(8, "little")
HUGE = 1 << 62
strings = [{4: "root", 5: 1}, leaf(kind=BYTES, _6=0)]
optional = [{4: "root", 5: 1}, leaf(repetition=OPTIONAL)]
lists = [{4: "root", 5: 1}, {3: OPTIONAL, 4: "l", 5: 1, 6: 3}, {3: REPEATED, 4: "list", 5: 1}, leaf("element")]
runs = lambda count, value: varint(count << 1) + bytes([value])
levels = lambda data: len(data).to_bytes(4, "little") + data
good = page(ONE, 1)
check("hand-made: whole", None if read_all([file(good)])[0][0] == "rows" else read_all([file(good)])[0][1])

HOSTILE = {
    "more rows than values": (file(good, rows=HUGE, group={3: HUGE}), "values are missing|more memory"),
    "more values than pages": (file(good, n=HUGE), "values are missing|more memory"),
    "rows below zero": (file(good, rows=-1), "rows"),
    "a chunk beyond the file": (file(good, meta={7: HUGE}), "in a file of"),
    "a chunk at the end of integers": (file(good, meta={9: (1 << 63) - 1}), "in a file of"),
    "a chunk before the file": (file(good, meta={9: -5}), "damaged metadata"),
    "a chunk that is the footer": (file(good, meta={9: 30, 7: 40}), "page at"),
    "a dictionary at the data": (file(good, meta={11: 4}), None),
    "a dictionary within the data": (file(good, meta={9: 10, 11: 4, 7: 20}), ""),
    "a page beyond its chunk": (file(good, meta={7: len(good) - 1}), "page of"),
    "a page of 2 GiB": (file(page(b"\xff\xff\xff\xff\x07", 1, size=(1 << 31) - 1), meta={4: 1}), "more memory"),
    "a page of a size below zero": (file(page(ONE, 1, size=-8)), "page without a size"),
    "2 billion values in a page": (file(page(ONE, (1 << 31) - 1), n=(1 << 31) - 1), "values end|more memory"),
    "a checksum of something else": (file(page(ONE, 1, crc=5)), "damaged: its checksum"),
    "a right checksum": (file(page(ONE, 1, crc=zlib.crc32(ONE))), None),
    "an encoding that does not exist": (file(page(ONE, 1, 77)), "encoding 77"),
    "an encoding of another type": (file(page(ONE, 1, 6)), "encoding 6"),
    "a compression that does not exist": (file(good, meta={4: 99}), "compression 99"),
    "no brotli": (file(good, meta={4: 4}), "brotli: damaged data"),
    "lzo": (file(good, meta={4: 3}), "lzo"),
    "indexes without a dictionary": (file(page(b"\1\2\0", 1, 8)), "dictionary that does not exist"),
    "an index beyond the dictionary": (file(page(ONE, 1, kind=2) + page(b"\1\2\1", 1, 8)), "index 1 in a dictionary of 1"),
    "indexes of 99 bits": (file(page(ONE, 1, kind=2) + page(b"\x63\2\1", 1, 8)), "99 bits"),
    "two dictionaries": (file(page(ONE, 1, kind=2) * 2 + good), "second dictionary"),
    "a page of no type": (file(page(ONE, 1, kind=9)), "page type 9"),
    "a string of 2 GiB": (file(page(b"\xff\xff\xff\x7f", 1), schema=strings), "end too early"),
    "lengths of 2 billion strings": (file(page(b"\x80\1\4" + varint(1 << 31) + b"\0", 1, 6), schema=strings), "lengths in a page"),
    "delta blocks of no values": (file(page(b"\0\4\1\0", 1, 5)), "blocks of 0"),
    "delta blocks of a billion": (file(page(varint(1 << 30) + b"\4\1\0", 1, 5)), "blocks of"),
    "a level beyond the maximum": (file(page(levels(runs(1, 9)) + ONE, 1), schema=lists, meta={1: INT64}), "level|levels"),
    "16 million nulls": (file(page(levels(runs(1 << 24, 0)), 1 << 24), n=1 << 24, schema=optional), None),
    "a billion list elements": (file(page(levels(runs(1, 0) + runs(1 << 30, 1)) + levels(runs(1 << 30, 2)), 1 << 30),
                                     n=1 << 30, rows=1, schema=lists), "more memory"),
    "a list that begins in its middle": (file(page(levels(runs(1, 1)) + levels(runs(1, 2)) + ONE, 1), schema=lists), "in its middle"),
    "groups 1,000 deep": (file(good, schema=nested(1000, OPTIONAL)), "nested too deeply"),
    "lists 45 deep, on a value": (file(good, schema=nested(45, REPEATED)), "end too early"),
    "a group of a billion members": (file(good, schema=[{4: "root", 5: 1 << 30}, leaf()]), "schema"),
    "a group with members below zero": (file(good, schema=[{4: "root", 5: -1}, leaf()]), "schema"),
    "more in the schema than columns": (file(good, schema=[{4: "root", 5: 1}, leaf(), leaf("y")]), "belong to no column"),
    "no schema": (file(good, footer={2: []}), "schema has 0"),
    "a type that does not exist": (file(good, schema=[{4: "root", 5: 1}, leaf(kind=50)]), "physical type 50"),
    "another type than in the schema": (file(good, meta={1: INT32}), "physical type 1, 2 in the schema"),
    "a fixed length of 2 GiB": (file(good, schema=[{4: "root", 5: 1}, leaf(kind=7, _2=(1 << 31) - 1)]), "fixed length"),
    "a decimal of 1,000 digits": (file(good, schema=[{4: "root", 5: 1}, leaf(_6=5, _8=1000)]), r"decimal\(1000"),
    "data in another file": (file(good, chunk={1: "/etc/passwd"}), "in another file"),
    "an encrypted column": (file(good, chunk={8: {}}), "encrypted"),
    "an encrypted file with a plain footer": (file(good, footer={8: {}}), "encrypted"),
    "metadata longer than the file": (file(good)[:-8] + b"\xff\xff\xff\x7fPAR1", "metadata of"),
    "no Parquet at all": (b"x" * 1000, "no Parquet file"),
    "nothing": (b"", "no Parquet file: it has 0 bytes"),
}


def refused(got, why):
    if why is None:
        return None if got[0] == "rows" else got[1]
    return None if got[0] == "error" and re.search(why, got[1]) else f"expected /{why}/: {got}"


for name, got in zip(HOSTILE, read_all([data for data, _ in HOSTILE.values()])):
    check(f"hostile: {name}", refused(got, HOSTILE[name][1]))


# ---- unusual, and whole: lists of old writers, and logical types of newer ones ----
def printed(data, *args):
    path = scratch / "unusual.parquet"
    path.write_bytes(data)
    done = subprocess.run([PROGRAM, "cache-serve", "cat", *args, path], capture_output=True, text=True)
    return done.stdout + done.stderr or "nothing"


NUMBERS = b"".join(i.to_bytes(8, "little") for i in (1, 2, 3, 4))
IN_TWO = page(levels(b"\3\x98\0") + levels(runs(4, 3)) + NUMBERS, 4)  # of the second level, as its bits say: 0 2 1 2
IN_ONE = page(levels(b"\3\x0a") + levels(runs(4, 1)) + NUMBERS, 4)
LISTS = {
    **{f"{name}, a list": (IN_TWO, [{3: OPTIONAL, 4: "l", 5: 1, 6: 3}, {3: REPEATED, 4: name, 5: 1, 6: 3}, leaf("e", repetition=REPEATED)],
                           '{"l":[[1,2],[3,4]]}\n') for name in ("list", "array", "l_tuple", "bag")},
    **{f"{name}, a group": (IN_TWO, [{3: OPTIONAL, 4: "l", 5: 1, 6: 3}, {3: REPEATED, 4: name, 5: 1}, leaf("e", repetition=REPEATED)],
                            '{"l":[{"e":[1,2]},{"e":[3,4]}]}\n') for name in ("list", "array", "bag")},
    "a map without values": (IN_ONE, [{3: REQUIRED, 4: "m", 5: 1, 6: 1}, {3: REPEATED, 4: "key_value", 5: 1, 6: 2}, leaf("key")],
                             '{"m":[1,2]}\n{"m":[3,4]}\n'),
}
for name, (pages, schema, rows) in LISTS.items():
    got = printed(file(pages, n=4, rows=rows.count("\n"), schema=[{4: "root", 5: 1}, *schema]))
    check(f"lists of old writers: {name}", None if got == rows else got)
deep = [{3: REPEATED, 4: f"g{i}", 5: 1, 6: 3} for i in range(1000)]
check("... 1,000 deep", refused(read_all([file(good, schema=[{4: "root", 5: 1}, {3: OPTIONAL, 4: "l", 5: 1, 6: 3}, *deep, leaf()])])[0], "nested too deeply"))
words = page(b"\1\0\0\0q", 1, kind=2) + page(b"\1\2\0", 1, 8)
header = len(words) - len(page(b"\1\2\0", 1, 8)) - 5  # of the dictionary, not in the size of a chunk of old writers
for by, whole in {"parquet-mr": True, "parquet-mr version 1.2.8 (build x)": True, "parquet-mr version 1.2.9": False, "x": False}.items():
    got = printed(file(words, schema=strings, meta={7: len(words) - header}, footer={6: by}))
    check(f"a chunk's size without a header, by {by}", None if ('{"x":"q"}\n' == got if whole else "truncated" in got) else got)
check("... of a version out of range", verdict({by: file(good, footer={6: by}) for by in ("parquet-mr version 999999999.999999999.999999999", "parquet-mr version -99999999.1.1")}, None))
empty = {3: OPTIONAL, 4: "none", 5: 0}
for name, schema in {"a group": [empty], "in a group": [{3: OPTIONAL, 4: "g", 5: 1}, empty],
                     "in a list": [{3: OPTIONAL, 4: "l", 5: 1, 6: 3}, {3: REPEATED, 4: "list", 5: 1}, empty]}.items():
    for n, all_of_it in enumerate(([*schema, leaf()], [leaf(), *schema])):
        got = printed(file(good, schema=[{4: "root", 5: 2}, *all_of_it], meta={1: INT64}))
        check(f"without members: {name}, {n}", None if got == '{"x":42}\n' else got)
got = printed(file(good, schema=[{4: "root", 5: 1}, {3: OPTIONAL, 4: "m", 5: 1, 6: 1}, {3: REPEATED, 4: "kv", 5: 2}, leaf(), empty]))
check("without members: the values of a map", None if "a map of a group without members" in got else got)
got = printed(file(good, footer={3: 0}))
check("no number of rows: that of the row groups", None if got == '{"x":42}\n' else got)
newer = [{4: "root", 5: 1}, leaf("x", BYTES, _10={17: {}})]
wrong = {12: {3: 0, 5: b"b", 6: b"a"}}  # an order that this reader cannot know
shape = file(page(b"\1\0\0\0q", 1), schema=newer, meta=wrong, footer={7: [{1: {}}]})
got = printed(shape)
check("a logical type of a newer writer: its physical type", None if got == '{"x":"cQ=="}\n' else got)
got = printed(shape, "--filter", '[["x", "=", "cQ=="]]')
check("... whose minimum and maximum are not used", None if got == '{"x":"cQ=="}\n' else got)


# ---- encrypted by pyarrow ----
class Plain(pe.KmsClient):
    def __init__(self, _):
        super().__init__()

    def wrap_key(self, key, _):
        return key

    def unwrap_key(self, key, _):
        return key


for plaintext in (False, True):
    factory = pe.CryptoFactory(Plain)
    conf = pe.EncryptionConfiguration(footer_key="k", column_keys={"k": ["int64"]}, plaintext_footer=plaintext)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), conf)
    with pq.ParquetWriter(scratch / "secret.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    check(f"encrypted, footer {'plain' if plaintext else 'too'}", refused(read_all([(scratch / "secret.parquet").read_bytes()])[0], "encrypted"))
shutil.rmtree(scratch)
finish()
