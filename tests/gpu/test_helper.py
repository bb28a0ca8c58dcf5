#!/usr/bin/env python3
"""The helper: what kind of program it is, and how it starts where a machine allows little."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from standin import LIBRARIES, PATIENCE, PROGRAMS, ROOT, SCRATCH, environ, has, is_
from tap import check, finish, skip

HELPER = os.path.join(ROOT, "build/gpu-helper")
NOBODY = ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups", "--no-new-privs", "--bounding-set=-all",
          "--inh-caps=-all"]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def program():
    size = os.path.getsize(HELPER)
    check(f"at most 64 KB ({size} bytes)", size if size > 64 * 1024 else None)
    is_("it needs libc alone", re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", HELPER)), ["libc.so.6"])
    versions = re.findall(r"GLIBC_2\.(\d+)", output("readelf", "-VW", HELPER))
    check("of glibc 2.34", versions if max(map(int, versions)) > 34 else None)
    r = subprocess.run([HELPER], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    is_("started by hand it ends", (r.returncode, r.stdout + r.stderr), (1, b""))


def start(*before, shell="", **more):
    """`kftrainer gpu` behind other commands; `shell` runs before it, in a PID namespace of its own."""
    command = [*before, PROGRAM, "gpu"]
    if shell:
        command = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "sh", "-c", shell + ' && exec "$@"', "-",
                   *command]
    r = subprocess.run(command, env=environ("devices=2", **more), capture_output=True, text=True,
                       timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return r.returncode, r.stdout.count("Stand-in GPU"), r.stderr


def places():
    tmp = os.path.join(SCRATCH, "tmp")
    os.makedirs(tmp, exist_ok=True)
    os.chmod(tmp, 0o1777)
    is_("in memory: TMPDIR is not used", start(TMPDIR="/nowhere"), (0, 2, ""))
    if os.getuid() != 0:
        skip("as uid 65532, and with vm.memfd_noexec", "only root may")
        return
    is_("uid 65532 without capabilities", start(*NOBODY), (0, 2, ""))
    for value in (0, 1, 2):
        forbid = f"sysctl -qw vm.memfd_noexec={value}"
        is_(f"vm.memfd_noexec={value}", start(shell=forbid, TMPDIR=tmp), (0, 2, ""))
        is_("... as uid 65532", start(*NOBODY, shell=forbid, TMPDIR=tmp), (0, 2, ""))
    is_("no file stays", os.listdir(tmp), [])
    code, n, err = start(shell=forbid, TMPDIR="/nowhere")
    is_("2, and no TMPDIR: an error", (code, n, err.count("\n")), (1, 0, 1))
    has("... that names it", err, "/nowhere")
    code, n, err = start(shell=f"{forbid} && mount -t tmpfs -o noexec none {tmp}", TMPDIR=tmp)
    is_("2, and a TMPDIR where nothing runs: an error", (code, n, err.count("\n")), (1, 0, 1))
    has("... that says what to set", err, "noexec", "TMPDIR")


def without_glibc():
    """An image with this program alone, and the driver's libraries."""
    root = os.path.join(SCRATCH, "image")
    shutil.copytree(LIBRARIES, os.path.join(root, "lib"))
    os.makedirs(os.path.join(root, "dev"))
    for name in ("dev/nvidia0", "dev/null"):
        with open(os.path.join(root, name), "w", encoding="ascii"):
            pass
    shutil.copy(os.path.join(ROOT, "kftrainer"), root)
    r = subprocess.run(["unshare", "--root=" + root, "/kftrainer", "gpu"], env={}, capture_output=True, text=True,
                       timeout=PATIENCE)
    is_("an image without glibc: one line", (r.returncode, r.stderr.count("\n")), (1, 1))
    has("... that says so", r.stderr, "glibc 2.34")


program()
for PROGRAM in PROGRAMS:
    print("#", PROGRAM)
    places()
if os.getuid() == 0:
    without_glibc()
check("no file is left in TMPDIR", glob.glob(f"{SCRATCH}/kftrainer-gpu-??????") or None)
shutil.rmtree(SCRATCH, ignore_errors=True)
finish()
