#!/usr/bin/env python3
"""`kftrainer gpu`: what is shown, and what each failure of a library or a device becomes."""
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from standin import (CUDA, LIBRARIES, NVML, PATIENCE, PROGRAMS, SCRATCH, dev, environ, gpu, has, is_,
                     libraries, mig, run, uuid)
from tap import check, finish


def one_line(what, result, *parts, code=1):
    status, out, err = result
    wrong = status != code or out or err.count("\n") != 1 or any(p not in err for p in parts)
    check(what, f"status {status}\n{out}{err}" if wrong else None)


def libraries_and_calls(program):
    """What the libraries do, and what is then said. 300 ms is this machine's patience, not a limit."""
    def failing(standin, *args, **options):
        return run(standin, "gpu", *args, program=program, **options)
    one_line("NVML is absent", failing("", lib=libraries(NVML)), "cannot load " + NVML)
    wrong = libraries(NVML)
    with open(os.path.join(wrong, NVML), "w", encoding="ascii") as f:
        f.write("not a library at all")
    one_line("... or no library: the path and why", failing("", lib=wrong), os.path.join(wrong, NVML))
    other = libraries(NVML)
    with open(os.path.join(LIBRARIES, NVML), "rb") as f, open(os.path.join(other, NVML), "wb") as to:
        image = bytearray(f.read())
        image[18:20] = b"\xb7\x00"  # e_machine: AArch64
        to.write(image)
    one_line("... or another machine's", failing("", lib=other), "cannot load " + NVML)
    lacking = libraries(NVML)
    with open(os.path.join(LIBRARIES, NVML), "rb") as f, open(os.path.join(lacking, NVML), "wb") as to:
        to.write(f.read().replace(b"nvmlDeviceGetUUID\0", b"nvmlDeviceGetUXID\0"))
    has("a symbol is absent: its name, for each device", gpu("", lib=lacking, program=program)[0],
        "nvmlDeviceGetUUID", "not found")
    one_line("no driver", failing("fail=nvmlInit_v2:9"), NVML + ": nvmlInit_v2: Driver Not Loaded (9)")
    one_line("a call hangs", failing("hang=nvmlInit_v2", "--timeout", "300ms"),
             NVML + ": nvmlInit_v2: no answer within 300ms")
    one_line("a call aborts", failing("abort=nvmlDeviceGetCount_v2"),
             NVML + ": nvmlDeviceGetCount_v2", "signal 6")
    one_line("a call crashes", failing("crash=nvmlInit_v2"), NVML + ": nvmlInit_v2", "signal 11")
    one_line("a call ends the process", failing("exit=nvmlInit_v2"), NVML + ": nvmlInit_v2", "status 3")
    doc = gpu("devices=3 abort=nvmlDeviceGetMigMode", program=program)[0]
    is_("devices that kill the helper are errors of theirs",
        ["nvmlDeviceGetMigMode" in d["error"] for d in doc["devices"]], [True] * 3)
    is_("a driver without devices", gpu("devices=0", program=program)[0]["devices"], [])


def fields(program):
    doc, err = gpu("devices=4 used=0:20 ecc=1:3 lost=2 mig=3:2 width=0:8 links=1:2 throttle=0:72 driver=13010",
                   program=program)
    is_("versions", (doc["driver"], doc["cuda"], doc["nvml"]), ("570.86.10", "13.1", "12.570.86"))
    first, second, third, fourth = doc["devices"]
    is_("a device", first, {
        "index": 0, "uuid": uuid(0), "name": "Stand-in GPU",
        "memory": {"total": 64 << 20, "used": 20 << 20, "free": 44 << 20}, "minor": 0,
        "pcie": {"busId": "0000FFFF:01:00.0", "generation": 5, "maxGeneration": 5, "width": 8, "maxWidth": 16},
        "ecc": {"enabled": True, "corrected": 0, "uncorrected": 0, "correctedEver": 0, "uncorrectedEver": 0},
        "remappedRows": {"corrected": 0, "uncorrected": 0, "pending": 0, "failed": 0},
        "processes": [{"pid": 4711, "memory": 20 << 20}], "computeCapability": "9.0",
        "throttle": ["hw-slowdown", "hw-thermal"], "nvlinks": {"active": 4, "total": 4}, "usable": True})
    is_("counts", (second["ecc"]["uncorrected"], second["nvlinks"]["active"]), (3, 2))
    has("one that is lost", third, "GPU is lost (15)")
    is_("MIG instances", [i["uuid"] for i in fourth["mig"]], [mig(3, 0), mig(3, 1)])
    is_("how they reach each other", doc["links"],
        [["X", "NV4", "?", "SYS"], ["NV4", "X", "?", "SYS"], ["?", "?", "X", "?"], ["SYS", "SYS", "?", "X"]])
    is_("nothing on stderr", err, "")
    is_("older devices retire pages", gpu("retired=0:5", program=program)[0]["devices"][0]["retiredPages"],
        {"corrected": 0, "uncorrected": 5})
    code, out, _ = run("devices=2 mig=1:2", "gpu", "-o", "wide", program=program)
    has("wide: the same for people", out, "driver 570.86.10, CUDA 12.8", uuid(1), mig(1, 1), "5/5 x16/16", "NV4")
    is_("... with status", code, 0)


def visibility(program):
    def usable(value=None, standin="devices=4", **options):
        more = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
        doc, err = gpu(standin, program=program, **options, **more)
        return [d["usable"] for d in doc["devices"]] if doc else err
    is_("all", usable(), [True] * 4)
    is_("CUDA_VISIBLE_DEVICES empty", usable(""), [False] * 4)
    is_("... -1", usable("0,-1,2"), [True, False, False, False])
    is_("... numbers and UUIDs", usable("2," + uuid(0)), [True, False, True, False])
    is_("... the beginning of a UUID", usable("GPU-00000003"), [False, False, False, True])
    is_("... a number that is none's ends it", usable("1,9,2"), [False, True, False, False])
    has("... a UUID that is none's", usable("GPU-12345678"), "no devices with UUID GPU-12345678")
    has("... several begin so", usable("GPU-0000"), "several devices")
    is_("no device file of it", usable(dev=dev(2)), [True, True, False, False])
    closed = dev(4)
    os.chmod(os.path.join(closed, "nvidia1"), 0)
    if os.getuid() != 0:
        is_("one that may not be opened", usable(dev=closed), [True, False, True, True])


def no_gpu():
    nothing = dev(0)
    env = environ("hang=nvmlInit_v2", dev=nothing)
    start = time.monotonic()
    r = subprocess.run([PROGRAMS[0], "gpu"], env=env, capture_output=True, timeout=PATIENCE)
    took = time.monotonic() - start
    print(f"# {took * 1000:.1f} ms without a GPU")
    is_("without /dev/nvidia*: one line, no helper", (r.returncode, r.stdout.decode(), r.stderr),
        (0, f"no NVIDIA GPU: {nothing}/nvidia* not found\n", b""))
    has("... another vendor is named", run("", "gpu", dev=dev(0, "kfd"))[1], "AMD devices are not supported")
    doc, _ = gpu("", dev=nothing)
    is_("... and JSON says so, too", (doc["devices"], "not found" in doc["message"]), ([], True))
    trace = shutil.which("strace")
    if trace:
        r = subprocess.run([trace, "-f", "-e", "trace=clone,fork,vfork,execve", PROGRAMS[0], "gpu"], env=env,
                           capture_output=True, timeout=PATIENCE)
        is_("... and no process is started", r.stderr.count(b"clone") + r.stderr.count(b"fork"), 0)


def helpers(pid):
    """Children that run another program: LeakSanitizer, too, has one, and whom that one leaves waits forever."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(p) for p in f.read().split() if os.readlink(f"/proc/{p}/exe") != os.readlink(f"/proc/{pid}/exe")]
    except OSError:
        return []


def killed(program, times):
    """The helper is killed at random points; its parent reports it or goes on with another one."""
    bad, hit = [], 0
    env = environ("devices=6 delay=20")
    for _ in range(times):
        with subprocess.Popen([program, "gpu", "-o", "json"], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            found = helpers(p.pid)
            while not found and p.poll() is None:
                time.sleep(0.0005)
                found = helpers(p.pid)
            time.sleep(random.random() / 100)
            for child in found:
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            out, err = p.communicate(timeout=PATIENCE)
        hit += b"signal 9" in out + err
        if p.returncode not in (0, 1) or err.count(b"\n") != p.returncode or \
                (p.returncode == 1 and b"signal 9" not in err and b"cannot run" not in err):
            bad.append((p.returncode, err))
    print(f"# {hit} of {times} in the middle")
    check(f"killed at {times} random points: one line at most, and an end", bad or (None if hit else "never hit"))


def leftovers():
    check("no file is left in TMPDIR", glob.glob(f"{SCRATCH}/kftrainer-gpu-??????") or None)


for each in PROGRAMS:
    print("#", each)
    libraries_and_calls(each)
    fields(each)
    visibility(each)
    killed(each, 100 if each == PROGRAMS[0] else 20)
no_gpu()
leftovers()
shutil.rmtree(SCRATCH, ignore_errors=True)
finish()
