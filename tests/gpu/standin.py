"""For the tests of GPUs: kftrainer with the stand-in libraries of standin.c, and device files."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, ".."))
from tap import check

PATIENCE = 120
SCRATCH = tempfile.mkdtemp(prefix="kftrainer-gpu-test-")
os.environ["TMPDIR"] = SCRATCH
os.chmod(SCRATCH, 0o755)
LIBRARIES = os.path.join(SCRATCH, "lib")
CLOCK = os.path.join(LIBRARIES, "standin-clock.so")
NVML, CUDA, NCCL, CUDART = "libnvidia-ml.so.1", "libcuda.so.1", "libnccl.so.2", "libcudart.so.12"
# As it is handed on, and under ASan and UBSan.
PROGRAMS = [p for p in (os.path.join(ROOT, "kftrainer"), os.path.join(ROOT, "build/san/kftrainer"))
            if os.path.exists(p)]


def uuid(device):
    return f"GPU-{device:08x}-aaaa-bbbb-cccc-dddddddddddd"


def mig(device, instance):
    return f"MIG-{device:04x}{instance:04x}-aaaa-bbbb-cccc-dddddddddddd"


def dev(n=8, *others):
    """A directory of device files in place of /dev."""
    path = tempfile.mkdtemp(dir=SCRATCH)
    os.chmod(path, 0o755)
    for name in [f"nvidia{i}" for i in range(n)] + list(others):
        with open(os.path.join(path, name), "w", encoding="ascii"):
            pass
        os.chmod(os.path.join(path, name), 0o666)
    return path


def libraries(*absent):
    """The stand-in's directory, without some of its libraries."""
    path = tempfile.mkdtemp(dir=SCRATCH)
    for name in os.listdir(LIBRARIES):
        if name not in absent:
            shutil.copy(os.path.join(LIBRARIES, name), path)
    return path


DEV = dev()


def environ(standin, lib=LIBRARIES, dev=DEV, **more):
    env = dict(os.environ, STANDIN=standin, LD_LIBRARY_PATH=lib, LD_PRELOAD=CLOCK, KFTRAINER_GPU_DEV=dev,
               XDG_STATE_HOME=os.path.join(SCRATCH, "state"))
    env.pop("CUDA_VISIBLE_DEVICES", None)
    env.update(more)
    return env


def run(standin, *args, program=PROGRAMS[0], **options):
    r = subprocess.run([program, *args], env=environ(standin, **options), capture_output=True,
                       timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def gpu(standin, *args, **options):
    """The document of `kftrainer gpu`; {} and the reason where it fails."""
    code, out, err = run(standin, "gpu", "-o", "json", *args, **options)
    return (json.loads(out) if code == 0 else {}), err


def is_(what, got, want):
    check(what, None if got == want else f"{got!r}\nis not\n{want!r}")


def has(what, got, *parts):
    lacks = [p for p in parts if p not in str(got)]
    check(what, f"{got}\nlacks {lacks}" if lacks else None)


subprocess.run([os.path.join(HERE, "build.sh"), LIBRARIES], check=True)
