#!/usr/bin/env python3
"""Downloads, beside upstream's own clients on the same machine: part of `make bench`.

usage: store_bench.py KFTRAINER [ROW...]

The hub is tests/store/hub.py on two processes, S3 is versitygw over a folder; both run on the same
processors. Source and target lie in memory, so that nothing waits for a disk and fsync costs nothing.
Ours verifies every byte (SHA-256, git blob ids, CRC-64/NVME, MD5) unless told not to; huggingface_hub and opendal (one object after the
other, as upstream uses it) count them. CPU is that of the client alone. A row without numbers of
the peer: it is not installed (tests/setup.sh store).
"""
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/store"))
sys.dont_write_bytecode = True
import hub as standin
from row import lacks, row as figure

HUB_PEER = """import sys
from huggingface_hub import snapshot_download
snapshot_download(sys.argv[1], local_dir=sys.argv[2])"""
S3_PEER = """import opendal, os, sys
op = opendal.Operator("s3", root="/", bucket="bench", endpoint=os.environ["ENDPOINT"], region="us-east-1",
                      access_key_id=os.environ["ACCESS_KEY_ID"], secret_access_key=os.environ["SECRET_ACCESS_KEY"])
op = op.layer(opendal.layers.RetryLayer(max_times=3, factor=2.0, jitter=True))
os.makedirs(sys.argv[2])
for entry in op.list(sys.argv[1] + "/", recursive=True):
    if not entry.path.endswith("/"):
        data = op.read(entry.path)
        with open(os.path.join(sys.argv[2], os.path.basename(entry.path)), "wb") as file:
            file.write(data)"""
S3_FILL = """import opendal, os, pathlib, sys
op = opendal.Operator("s3", root="/", bucket="bench", endpoint=os.environ["ENDPOINT"], region="us-east-1",
                      access_key_id=os.environ["ACCESS_KEY_ID"], secret_access_key=os.environ["SECRET_ACCESS_KEY"])
for path in pathlib.Path(sys.argv[1]).iterdir():
    if path.name != "hub.json":
        op.write(sys.argv[2] + "/" + path.name, path.read_bytes())"""
MB = 1_000_000
VERSIONS = dict(re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / "tests/setup/store.txt").read_text(), re.M))

# Name, files, bytes of each, options of the hub (None: S3), what to hold (from upstream's figures).
ROWS = (
    ("4 x 500 MB, http", 4, 500 * MB, (), "≥ 800 MB/s"),
    ("4 x 500 MB, https", 4, 500 * MB, ("--tls", "CERTS"), "≥ 500 MB/s"),
    ("4 x 500 MB, S3", 4, 500 * MB, None, "≥ 800 MB/s"),
    ("1 x 1000 MB at 50 MB/s a connection", 1, 1000 * MB, ("--rate", 50 * MB), "≥ 350 MB/s"),
    ("2,000 x 50 KB, http", 2000, 50_000, (), "≤ 2.6 s"),
    ("2,000 x 50 KB, 20 ms of delay", 2000, 50_000, ("--delay", 20), "≤ 4 s"),
    ("2,000 x 50 KB, S3", 2000, 50_000, None, "≤ 2.6 s"),
)


def repository(root, n, size):
    """Random bytes, which neither compress nor repeat; n files of it."""
    folder = root / f"models/bench/{n}x{size}"
    if not folder.exists():
        folder.mkdir(parents=True)
        block = random.Random(n).randbytes(16 * MB)
        for i in range(n):
            with open(folder / f"{i:04}.{'safetensors' if size > MB else 'json'}", "wb") as file:
                for at in range(0, size, len(block)):
                    file.write(i.to_bytes(8, "big") + block[8:min(len(block), size - at)])
        (folder / "hub.json").write_text("{}")
    return f"bench/{n}x{size}"


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)


def touch(file, size):
    """What a virtual machine's host has not given yet costs whoever writes to it first: not one of those measured."""
    with open(file, "wb") as out:
        for _ in range(0, size, MB):
            out.write(bytes(MB))
    file.unlink()


def measure(argv, env, target):
    """Seconds, CPU seconds, peak MB of one run."""
    report = target.with_suffix(".time")
    start = time.perf_counter()
    done = subprocess.run(["/usr/bin/time", "-f", "%U %S %M", "-o", report, *argv], env=env, capture_output=True, text=True)
    took = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, argv))}: {done.stderr[-2000:]}")
    user, system, peak = map(float, report.read_text().split())
    shutil.rmtree(target)
    return took, user + system, peak / 1024


def both(row, scratch, env, ours, theirs, peer):
    """One after the other, and their rows."""
    name, n, size, _, want = row
    target, large = scratch / "target", size > 10 * MB
    touch(target, 2 * n * size)  # opendal holds them, too
    ours = [*ours, "--to", target, "--progress", "none"]
    mine = measure(ours, env, target)
    counted = measure([*ours, "--no-verify"], env, target) if large else None
    other = measure([*theirs, target], env, target) if os.path.exists(theirs[0]) else None
    if not other:
        lacks(f"{name}: {peer}", "not installed")

    def show(what, of, unit, conditions, want="", mine=mine):
        figure(what, of(mine), unit, conditions, want, *((peer, of(other)) if other else ()))

    def rate(run):
        return n * size / run[0] / MB
    show(name, rate if large else lambda run: run[0], "MB/s" if large else "s", "every byte is verified; whole process, once", want)
    show("... CPU", lambda run: run[1], "s", "user and system time of the client", "≤ 1/2" if large else "≤ 1 s")
    if large:
        show("... memory", lambda run: run[2], "MB", "peak RSS", "≤ 32 MB")
        show("... --no-verify", rate, "MB/s", "bytes are counted, as the peer does", "", counted)
        show("... --no-verify: CPU", lambda run: run[1], "s", "user and system time of the client", "≤ 1/4", counted)


def of_hub(kftrainer, python, scratch, row):
    repo = repository(scratch, row[1], row[2])
    options = [str(scratch) if o == "CERTS" else o for o in row[3]]
    with standin.Running(scratch, "--processes", 2, *options) as hub:
        env = {"PATH": os.environ["PATH"], "HF_ENDPOINT": hub.url, "HF_HOME": str(scratch / "home"), "HF_HUB_DISABLE_XET": "1",
               "HF_HUB_DISABLE_PROGRESS_BARS": "1", "SSL_CERT_FILE": str(scratch / "cert.pem")}
        both(row, scratch, env, [kftrainer, "initialize-model", "--uri", f"hf://{repo}"], [python, "-c", HUB_PEER, repo],
             f"huggingface_hub {VERSIONS['huggingface_hub']}")


def of_s3(kftrainer, python, scratch, row):
    gateway = subprocess.run([ROOT / "tests/store/versitygw.sh"], capture_output=True, text=True).stdout.strip()
    if not gateway or not os.path.exists(python):
        lacks(row[0], "versitygw or opendal is not installed")
        return
    name = repository(scratch, row[1], row[2])
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    (scratch / "s3/bench").mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ["PATH"], "ENDPOINT": f"http://127.0.0.1:{port}", "ACCESS_KEY_ID": "benchmark", "SECRET_ACCESS_KEY": "benchmark-secret"}
    server = subprocess.Popen([gateway, "--port", f"127.0.0.1:{port}", "--access", "benchmark", "--secret", "benchmark-secret",
                               "--quiet", "--keep-alive", "posix", scratch / "s3"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as sock:
                if not sock.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        subprocess.run([python, "-c", S3_FILL, scratch / "models" / name, "d"], env=env, check=True)
        both(row, scratch, env, [kftrainer, "initialize-dataset", "--uri", "s3://bench/d"], [python, "-c", S3_PEER, "d"], f"opendal {VERSIONS['opendal']}")
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(scratch / "s3")


def main():
    kftrainer, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    venv = subprocess.run([ROOT / "tests/setup.sh", "venv", "store"], capture_output=True, text=True).stdout.strip()
    memory = "/dev/shm"
    if shutil.disk_usage(memory).free < 9000 * MB:
        lacks("downloads", "/dev/shm has less than 9 GB free")
        return
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-bench-", dir=memory))
    try:
        certificate(scratch)
        previous = None
        for row in ROWS:
            if not only or any(o in row[0] for o in only):
                if previous and previous[1:3] != row[1:3]:
                    shutil.rmtree(scratch / "models")
                previous = row
                (of_s3 if row[3] is None else of_hub)(kftrainer, f"{venv}/bin/python", scratch, row)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
