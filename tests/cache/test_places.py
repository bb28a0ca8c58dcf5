#!/usr/bin/env python3
"""Tables where they are: files, directories, HTTP with faults, S3 (versitygw), a hub's stand-in; each as a local copy is."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests/store"), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.parquet as pq

import faulty
import lake
from servers import answers, children, free_port, scratch, start
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
ACCESS, SECRET = "AKIDTESTTESTTEST", "SecretSecretSecret/Secret+Secret"


def run(*args, **env):
    base = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HF_"))}
    base |= {"HOME": str(scratch / "home"), "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "*", **env}
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, env=base)


def cat(*uris, **env):
    done = run("cache-serve", "cat", *uris, **env)
    return done.stdout if done.returncode == 0 else done.stderr.decode()


def same(got):
    return None if got == WANT else got[-500:] if isinstance(got, str) else f"{len(got)} bytes, {len(WANT)} expected"


def refused(like, *uris, **env):
    done = run("cache-serve", "cat", *uris, **env)
    said = done.stderr.decode()
    if SECRET in said or done.returncode not in (1, 2) or len(said.splitlines()) != 1:
        return f"status {done.returncode}: {said.replace(SECRET, 'SECRET')}"
    return None if all(x in said for x in like) else said


# ---- the table: three files in two directories, of many row groups; and what is not of it ----
data = scratch / "root/data"
(data / "part=b").mkdir(parents=True)
for name, first, rows in (("a.parquet", 0, 30000), ("part=b/x y.parquet", 30000, 100), ("z.parquet", 30100, 700000)):
    numbers = range(first, first + rows)
    table = pa.table({"n": pa.array(numbers, pa.int64()), "s": [f"row {i}" for i in numbers]})
    pq.write_table(table, data / name, row_group_size=200000, compression="none", use_dictionary=False)
for name in ("_SUCCESS", ".hidden.parquet", "README.md", "_temporary/half.parquet"):
    (data / name).parent.mkdir(exist_ok=True)
    (data / name).write_text("no table")
ROWS = 730100
WANT = cat(data / "a.parquet", data / "part=b/x y.parquet", data / "z.parquet")
lines = WANT.splitlines()
check("three files are one table", None if len(lines) == ROWS and [json.loads(x)["n"] for x in lines[::997]] == list(range(0, ROWS, 997))
      else f"{len(lines)} rows: {WANT[:300]}")

# ---- local ----
check("a directory, without what is hidden and what is no Parquet", same(cat(data)))
check("a directory by a relative path", same(cat(os.path.relpath(data))))
check("file://, percent-encoded", same(cat(f"file://{data}/a.parquet", f"file://{data}/part=b/x%20y.parquet", f"file://{data}/z.parquet")))
check("pvc://", same(cat("pvc://root/data", PVC_ROOT=str(scratch))))
check("a file specified twice", refused(["a.parquet: specified twice"], data / "a.parquet", data / "a.parquet"))
(scratch / "empty").mkdir()
check("a directory without Parquet files", refused([f"{scratch}/empty", "no file whose name ends in .parquet"], scratch / "empty"))
check("a file that does not exist", refused(["nothing.parquet", "No such file"], scratch / "nothing.parquet"))
table_of = scratch / "iceberg/metadata"
table_of.mkdir(parents=True)
(table_of / "00000-x.metadata.json").write_text("{}")
(scratch / "iceberg/data").mkdir()
shutil.copy(data / "a.parquet", scratch / "iceberg/data/a.parquet")
check("the directory of an Iceberg table is refused: its files are not its rows",
      refused([f"specify its metadata file, such as {table_of}/00000-x.metadata.json"], scratch / "iceberg"))
for newest in ("00002-a.metadata.json", "00010-b.metadata.json", "v11.metadata.json", "v12.gz.metadata.json", "100-c.metadata.json.gz"):
    (table_of / newest).write_text("{}")
    check(f"of its metadata files the newest is named: {newest}", refused([f"such as {table_of}/{newest}"], scratch / "iceberg"))
check("... of its directory, too", refused([f"such as {table_of}/{newest}"], table_of))
(table_of.parent / "v9999.metadata.json").write_text("{}")
(scratch / "iceberg/other/metadata").mkdir(parents=True)
(scratch / "iceberg/other/metadata/v999.metadata.json").write_text("{}")
check("... of one table", refused([f"such as {table_of}/{newest}"], scratch / "iceberg"))

# ---- tables of other formats, by the files that they have ----
for name, mark in (("Delta", "_delta_log/00000000000000000000.json"), ("Delta", "_delta_log/00000000000000000010.checkpoint.parquet"),
                   ("Delta", "x/y/_delta_log/00000000000000000000.json"), ("Hudi", ".hoodie/hoodie.properties"),
                   ("Hudi", "2024/01/.hoodie_partition_metadata"), ("Paimon", "snapshot/snapshot-1"), ("Paimon", "schema/schema-0"),
                   ("Lance", "_versions/1.manifest")):
    lake_of = scratch / "other lake"
    shutil.rmtree(lake_of, ignore_errors=True)
    (lake_of / mark).parent.mkdir(parents=True)
    (lake_of / mark).write_text("{}")
    shutil.copy(data / "a.parquet", lake_of / "part-0.parquet")
    check(f"a {name} table is refused: {mark}", refused([f"{lake_of}: a {name} ", mark, "not supported"], lake_of))
check("... one of its files is not", None if cat("--count", lake_of / "part-0.parquet") == b"30000\n" else "no")
(lake_of / "_versions/1.manifest").rename(lake_of / "_versions/1.txt")
(lake_of / "schema").mkdir()
(lake_of / "schema/schema-1.parquet").symlink_to(data / "a.parquet")
check("nor is a directory with names like those", None if cat("--count", lake_of) == b"60000\n" else cat("--count", lake_of))

# ---- names ----
odd = scratch / "claim/odd #?%41 +"
odd.mkdir(parents=True)
for i, name in enumerate(("q.parquet", "q#1.parquet", "q?x=1.parquet", "a%20b.parquet", "a b.parquet", "q+.parquet")):
    pq.write_table(pa.table({"i": [i]}), odd / name)
    want = b'{"i":%d}\n' % i
    problems = [(at, got) for at in (odd / name, f"file://{odd}/{name}", f"pvc://claim/{odd.name}/{name}") if (got := cat(at, PVC_ROOT=str(scratch))) != want]
    check(f"a file with the name {name}", problems)
check("a directory with such a name", None if sorted(cat(f"file://{odd}").splitlines()) == [b'{"i":%d}' % i for i in range(6)] else cat(f"file://{odd}"))
check("... in messages", refused([f"{odd}/none#: No such file"], f"file://{odd}/none#"))

# ---- HTTP, and what goes wrong on the way ----
web = faulty.Server(str(scratch / "root")).start()
URIS = [f"http://127.0.0.1:{web.port}/data/{name}" for name in ("a.parquet", "part%3Db/x%20y.parquet", "z.parquet")]


def http(faults=""):
    web.faults.set(faults)
    web.records.clear()
    return cat(*URIS)


check("http://", same(http()))
parts = [r for r in web.records if r["path"].endswith("z.parquet") and r["status"] == 206]
check("in ranges, and nothing twice", None if len(parts) > 3 and sum(r["sent"] for r in parts) < os.path.getsize(data / "z.parquet") + 200000
      else parts)
for fault in ("status=503", "cut=100000", "reset=3", "status=429,1"):
    check(f"retried: {fault}", same(http(f"*z.parquet {fault} 2")))
web.faults.set("*z.parquet norange")
check("a server without ranges", refused(["z.parquet", "does not support ranges"], *URIS))
web.faults.set("*z.parquet status=503")
check("a server that is down for good", refused(["z.parquet: HTTP 503"], "--retries", 1, *URIS))
web.faults.set("*z.parquet status=404")
check("a file that is not there", refused(["z.parquet: HTTP 404: not found"], *URIS))
web.faults.set("*z.parquet etag=one 1\n*z.parquet etag=other")
check("a file that changes while it is read", refused(["z.parquet: changed while it was read"], *URIS))
web.faults.set("*z.parquet range=5-9/800 1")
check("ranges with status 200", same(http("* range200")))
check("an answer of another range", same(http("*z.parquet range=5-9/800 1")))
other = faulty.Server(str(scratch / "root")).start()
web.faults.set(f"*z.parquet redirect=http://127.0.0.1:{other.port}{{path}}")
check("redirects", same(cat(*URIS, ACCESS_TOKEN="Secret")))
check("a token does not follow a redirect to another server", None if other.records and not any(r["auth"] for r in other.records)
      and all(r["auth"] for r in web.records[-3:]) else other.records[:3])

# ---- S3 ----
gateway = subprocess.run([ROOT / "tests/store/versitygw.sh"], check=True, capture_output=True, text=True).stdout.strip()
port = free_port()
(scratch / "buckets").mkdir()
(scratch / "buckets/buck").mkdir()
answers(*start(port, gateway, "--port", f"127.0.0.1:{port}", "--access", ACCESS, "--secret", SECRET, "--quiet", "posix",
               scratch / "buckets"))
S3 = {"ENDPOINT": f"http://127.0.0.1:{port}", "ACCESS_KEY_ID": ACCESS, "SECRET_ACCESS_KEY": SECRET}
sent = run("export-model", data, "--uri", "s3://buck/data", **S3)
assert sent.returncode == 0, sent.stderr
(scratch / "buckets/buck/data2").mkdir()
(scratch / "buckets/buck/data2/no.parquet").write_text("another directory")
check("s3://", same(cat("s3://buck/data", **S3)))
check("s3a://, a file each", same(cat("s3a://buck/data/a.parquet", "s3a://buck/data/part=b/x y.parquet", "s3a://buck/data/z.parquet", **S3)))
check("s3://, wrong credentials", refused(["s3://buck/data", "SECRET_ACCESS_KEY"], "s3://buck/data", **{**S3, "SECRET_ACCESS_KEY": "wrong"}))
check("s3://, no such object", refused(["nothing.parquet"], "s3://buck/data/nothing.parquet", **S3))
proxy = faulty.Server(upstream=S3["ENDPOINT"]).start()
proxy.faults.set("*z.parquet cut=70000 3")
check("s3://, broken connections", same(cat("s3://buck/data", **{**S3, "ENDPOINT": f"http://127.0.0.1:{proxy.port}"})))
check("gs://, HMAC keys", same(cat("gs://buck/data", **S3)))

# ---- an Iceberg table on S3, whose metadata says s3a:// ----
catalog = lake.catalog(scratch / "lake")
table = catalog.create_table("db.t", pa.schema([("n", pa.int64()), ("s", pa.string())]))
for first in (0, 500):
    table.append(pa.table({"n": pa.array(range(first, first + 500), pa.int64()), "s": [f"row {i}" for i in range(first, first + 500)]}))
want = sorted(cat(lake.local(table.metadata_location)).splitlines())
moved = lake.Metadata(table.metadata_location).rewrite(location=lambda path: path.replace(f"file://{scratch}/", "s3a://buck/"))
shutil.copytree(scratch / "lake", scratch / "buckets/buck/lake")
got = cat(f"s3://buck/{moved.relative_to(scratch)}", **S3)
check("an Iceberg table on S3, whose files are named by s3a://", None if isinstance(got, bytes) and sorted(got.splitlines()) == want and len(want) == 1000 else got)

# ---- a hub ----
repo = scratch / "hub/datasets/org/set"
shutil.copytree(data, repo / "data")
(repo / "hub.json").write_text("{}")
hub = subprocess.Popen([sys.executable, ROOT / "tests/store/hub.py", scratch / "hub"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
children.append(hub)
HF = {"HF_ENDPOINT": json.loads(hub.stdout.readline())["hub"]}
check("hf://, a directory of a repository", same(cat("hf://datasets/org/set/data", **HF)))
check("hf://, all of it", same(cat("hf://datasets/org/set", **HF)))
check("hf://, a file", None if cat("--count", "hf://datasets/org/set/data/a.parquet", **HF) == b"30000\n" else "no")
check("hf://, no such repository", refused(["org/none"], "hf://datasets/org/none", **HF))
finish()
