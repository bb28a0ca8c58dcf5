#!/usr/bin/env python3
"""Directories KEY=VALUE: the columns and rows of pyarrow.dataset with partitioning="hive", and its refusals."""
import json
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
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from fleet import PROGRAM, Fleet
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-hive-"))
root = scratch / "t"


def make(files):
    shutil.rmtree(root, ignore_errors=True)
    for i, (path, more) in enumerate(files.items()):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [i], **more}), root / path)


def cat(*args):
    done = subprocess.run([PROGRAM, "cache-serve", "cat", *map(str, args)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def rows(at, *args):
    code, out, err = cat(*args, at)
    return sorted(out.splitlines()) if code == 0 else err


def wanted(at, condition=None):
    table = ds.dataset(at, format="parquet", partitioning="hive").to_table(filter=condition)
    return sorted(json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in table.to_pylist())


def differs(files, below="."):
    make(files)
    want, got = wanted(root / below), rows(root / below)
    return None if got == want else f"{got}, wanted {want}"


def values(*names, key="m"):
    return {f"{key}={name}/a.parquet": {} for name in names}


# ---- types ----
for names in (("2023", "2024"), ("01", "2"), ("007", "0", "-0", "00"), ("-1", "2"), ("+1", "2"), (" 1",), ("1 ",), ("0x10", "0X1f"), ("0xFFFFFFFF",), ("0x",),
              ("0x123456789",), ("0xg",), ("-0x1",), ("2147483647", "-2147483648"), ("2147483648",), ("-2147483649",), ("000000000000000000001",), ("-", "1"),
              ("1", "x"), ("1.5",), ("1e3",), ("1_000",), ("true", "false"), ("2023-01-02",), ("null", "1"), ("NaN",), ("\u0663",),
              ("1", "__HIVE_DEFAULT_PARTITION__"), ("a", "__HIVE_DEFAULT_PARTITION__"), ("", "1"), ("a%20b%2Fc", "x+y"), ("%31",), ("100%", "%zz", "%4"),
              ("%5F_HIVE_DEFAULT_PARTITION__", "1"), ("b=c", "d"), ("\u65e5 \u672c",)):
    check(f"the values {ascii(names)}", differs(values(*names)))

# ---- layouts ----
int32 = pa.array([9], pa.int32())
for what, files in (("nested keys", {"y=1/m=2/a.parquet": {}, "y=1/m=x/a.parquet": {}, "y=2/m=3/a.parquet": {}}),
                    ("nested in another order", {"m=2/y=1/a.parquet": {}, "y=1/m=3/a.parquet": {}}),
                    ("keys of their own", {"b=1/a.parquet": {}, "a=2/a.parquet": {}}),
                    ("files beside it", {"a.parquet": {}, "y=1/a.parquet": {}, "y=1/m=2/a.parquet": {}}),
                    ("other directories between", {"x/y=1/z/a.parquet": {}}),
                    ("a key twice", {"y=1/y=2/a.parquet": {}}),
                    ("an encoded key", {"a%20b=1/a.parquet": {}, "a b=2/a.parquet": {}}),
                    ("= in a file's name", {"a=1.parquet": {}, "y=2/b=2.parquet": {}}),
                    ("names in any case", {"y=1/A.PARQUET": {}, "y=2/b.Parq": {}, "y=3/c.parquet": {}}),
                    ("hidden directories", {"_y=1/a.parquet": {}, ".z=1/a.parquet": {}, "y=1/a.parquet": {}, "_temporary/y=2/a.parquet": {}}),
                    ("codes with leading zeros", {"code=01001/a.parquet": {}, "code=2A001/a.parquet": {}}),
                    ("a large string in the files, too", {"p=a/a.parquet": {"q": pa.array(["a"], pa.large_string())}}),
                    ("keys in two cases", {"Y=1/a.parquet": {}, "y=2/a.parquet": {}}),
                    ("the column is in the files, too", {"y=1/a.parquet": {"y": int32, "z": ["q"]}, "y=2/a.parquet": {"y": int32, "z": ["r"]}}),
                    ("... and in one without the directory", {"a.parquet": {"y": int32}, "y=1/a.parquet": {"y": int32}, "y=__HIVE_DEFAULT_PARTITION__/a.parquet": {"y": int32}}),
                    ("... as strings", {"y=a/a.parquet": {"y": ["z"]}})):
    check(what, differs(files))
check("a directory below", differs(values("1", "2"), "m=1"))
check("one file", differs(values("1", "2"), "m=1/a.parquet"))
for uri in (f"file://{root}/m=1/a.parquet", f"file://{root}/m%3D1/a.parquet"):
    check("... by " + uri[-15:], None if rows(uri) == wanted(root / "m=1/a.parquet") else rows(uri))
make(values("1", "2", key="_m"))
check("... hidden ones only", None if f"no file whose name ends in .parquet, but for hidden ones ('_', '.'): _m=" in rows(root) else rows(root))
for i, nullable in enumerate((False, True)):
    pq.write_table(pa.table({"n": [None if nullable else 7]}, schema=pa.schema([pa.field("n", pa.int64(), nullable)])), root / f"m={i}.parquet")
    (root / f"m={i}").mkdir()
    (root / f"m={i}.parquet").rename(root / f"m={i}/a.parquet")
shutil.rmtree(root / "_m=1")
shutil.rmtree(root / "_m=2")
check("a column that is nullable in some files", None if rows(root) == wanted(root) else rows(root))
make(values("1", "2"))
(root / "m=1/_SUCCESS").write_text("")
(root / "m=1/.a.parquet.crc").write_text("crc")
check("_SUCCESS and .crc files", None if rows(root) == wanted(root) else rows(root))
for what, files, words in (("null everywhere", values("__HIVE_DEFAULT_PARTITION__"), "the partition m is null everywhere"),
                           ("no UTF-8", values("%ff"), "is not UTF-8"),
                           ("another type in the file", {"y=1/a.parquet": {"y": [1]}}, "a.parquet: column y is of type int64, but of int32 in its directory's name"),
                           ("... a string", {"y=1/a.parquet": {"y": ["1"]}}, "column y is of type string, but of int32")):
    make(files)
    try:
        refused = f"pyarrow has {wanted(root)}"
    except pa.ArrowException:
        code, out, err = cat(root)
        refused = None if code and not out and words in err and err.count("\n") == 1 else (code, out, err)
    check(f"refused, as by pyarrow: {what}", refused)
make({f"k{i}=1/a.parquet": {} for i in range(65)})
check("refused: too many keys", None if "more than 64 keys" in rows(root) else rows(root))

# ---- filters ----
make({f"y={y}/c={c}/a.parquet": {"s": [f"{y}{c}"]} for y in ("2023", "2024", "__HIVE_DEFAULT_PARTITION__") for c in ("a", "b")})
y, c = pc.field("y"), pc.field("c")
for condition, same in ((["y", "=", 2024], y == 2024), (["y", "<", 2024], y < 2024), (["y", "!=", 2023], y != 2023), (["y", "is null"], y.is_null()),
                        (["y", "is null", False], y.is_valid()), (["c", "=", "b"], c == "b"), ([["c", ">", "a"], ["y", "in", [2023]]], (c > "a") & (y == 2023)),
                        ([["n", ">=", 2], ["y", "<=", 2024]], (pc.field("n") >= 2) & (y <= 2024)), (["y", "=", 1], y == 1)):
    got, want = rows(root, "--filter", json.dumps(condition)), wanted(root, same)
    check(f"--filter {json.dumps(condition)}", None if got == want else f"{got}, wanted {want}")
check("only the column", None if sorted(rows(root, "--column", "c")) == ['{"c":"a"}'] * 3 + ['{"c":"b"}'] * 3 else rows(root, "--column", "c"))
check("... and another in the filter", None if rows(root, "--column", "s", "--filter", '["y", ">", 2023]') == ['{"s":"2024a"}', '{"s":"2024b"}'] else rows(root, "--column", "s"))
code, out, err = cat("--filter", '["y", "=", "x"]', root)
check("a literal of another type", None if code and "y" in err and not out else (code, out, err))
make(values("1", "2"))
damaged = bytearray((root / "m=1/a.parquet").read_bytes())
damaged[4:40] = b"x" * 36
(root / "m=1/a.parquet").write_bytes(damaged)
check("partitions that the filter excludes are not read", None if rows(root, "--filter", '["m", "=", 2]') == ['{"n":1,"m":2}'] and isinstance(rows(root), str) else rows(root))

# ---- from a server ----
make({"a=1/x.parquet": {}, "a=2/x.parquet": {}, "a=x/x.parquet": {}, "x.parquet": {}})
with Fleet(root, 3) as fleet:
    check("workers that hold a file each: the same columns", None if rows(fleet.head.uri) == wanted(root) == rows(root) else (rows(fleet.head.uri), rows(root)))
    got = rows(fleet.head.uri, "--filter", '["a", "=", "2"]')
    check("... and a filter", None if got == wanted(root, pc.field("a") == "2") else got)
shutil.rmtree(scratch)
finish()
