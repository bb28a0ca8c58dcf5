"""What the makers of wheel, Debian package and image share: processors, license texts, files."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EPOCH = os.environ.get("SOURCE_DATE_EPOCH", "0")
if not EPOCH.isdecimal() or int(EPOCH) >= 1 << 32:
    sys.exit(f"{os.path.basename(sys.argv[0])}: SOURCE_DATE_EPOCH is {EPOCH!r}: want seconds since 1970")
EPOCH = int(EPOCH)
SUMMARY = "Kubeflow Trainer as one static program: train on Kubernetes, or on this machine"
MACHINES = {62: ("amd64", "x86_64"), 183: ("arm64", "aarch64")}  # e_machine of ELF


def architectures(program):
    """Its processor, as Debian and Go name it, and as Linux and Python do."""
    machine = int.from_bytes(program[18:20], "little")
    if program[:4] != b"\x7fELF" or machine not in MACHINES:
        sys.exit(f"{os.path.basename(sys.argv[0])}: that is no program for amd64 or arm64")
    return MACHINES[machine]


def licenses():
    """The texts that go with the program: name -> bytes."""
    files = {"LICENSE": ROOT / "LICENSE", "NOTICE": ROOT / "NOTICE", "LIBRARIES": ROOT / "build/licenses.txt"}
    return {name: read(path) for name, path in files.items()}


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as e:
        sys.exit(f"{os.path.basename(sys.argv[0])}: no license text: {e}; run: make kftrainer")


def write(path, data):
    """All of it, or nothing."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)
    print(f"{path}: {len(data) / 1e6:.1f} MB")
