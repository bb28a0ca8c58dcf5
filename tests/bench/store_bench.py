#!/usr/bin/env python3
"""Downloads, beside upstream's own clients on the same machine: part of `make bench`.

usage: store_bench.py KFTRAINER [ROW...]

The hub is tests/store/hub.py, on two processes of this machine, which the figures share its
processors with. Source and target lie in memory, so that nothing waits for a disk and fsync costs
nothing. Ours verifies every byte (SHA-256, git blob ids); huggingface_hub counts them. CPU is that of the
client alone. A row without numbers of the peer: it is not installed (tests/setup.sh store).
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/store"))
sys.dont_write_bytecode = True
import hub as standin

PEER = """import sys
from huggingface_hub import snapshot_download
snapshot_download(sys.argv[1], local_dir=sys.argv[2])"""
MB = 1_000_000

# Name, files, bytes of each, options of the hub, what to hold (from upstream's figures).
ROWS = (
    ("4 x 500 MB, http", 4, 500 * MB, (), ">= 800 MB/s"),
    ("4 x 500 MB, https", 4, 500 * MB, ("--tls", "CERTS"), ">= 500 MB/s"),
    ("1 x 1000 MB at 50 MB/s a connection", 1, 1000 * MB, ("--rate", 50 * MB), ">= 350 MB/s"),
    ("2,000 x 50 KB, http", 2000, 50_000, (), "<= 2.6 s, 1 s CPU"),
    ("2,000 x 50 KB, 20 ms of delay", 2000, 50_000, ("--delay", 20), "<= 4 s"),
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


def show(size, figures):
    took, cpu, peak = figures
    return f"{took:6.2f} s {size / took / MB:5.0f} MB/s {cpu:5.2f} s CPU {peak:4.0f} MB"


def run(kftrainer, venv, scratch, row):
    name, n, size, options, want = row
    repo = repository(scratch, n, size)
    options = [str(scratch) if o == "CERTS" else o for o in options]
    with standin.Running(scratch, "--processes", 2, *options) as hub:
        env = {"PATH": os.environ["PATH"], "HF_ENDPOINT": hub.url, "HF_HOME": str(scratch / "home"), "HF_HUB_DISABLE_XET": "1",
               "HF_HUB_DISABLE_PROGRESS_BARS": "1", "SSL_CERT_FILE": str(scratch / "cert.pem")}
        target = scratch / "target"
        ours = measure([kftrainer, "initialize-model", "--uri", f"hf://{repo}", "--to", target, "--progress", "none"], env, target)
        line = f"{name:<38} {show(n * size, ours)}   {want}"
        if os.path.exists(f"{venv}/.done"):
            theirs = measure([f"{venv}/bin/python", "-c", PEER, repo, target], env, target)
            line += f"\n{'  huggingface_hub':<38} {show(n * size, theirs)}   {theirs[0] / ours[0]:.1f}x the time, {theirs[1] / ours[1]:.1f}x the CPU"
        print(line, flush=True)


def main():
    kftrainer, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    venv = subprocess.run([ROOT / "tests/setup.sh", "venv", "store"], capture_output=True, text=True).stdout.strip()
    memory = "/dev/shm"
    if shutil.disk_usage(memory).free < 6000 * MB:
        print("bench: downloads are left out: /dev/shm has less than 6 GB free")
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
                run(kftrainer, venv, scratch, row)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
