#!/usr/bin/env python3
"""`kftrainer preflight`: each check passes, finds what it is for, and names the device or link."""
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from standin import (CUDA, CUDART, NCCL, NVML, PROGRAMS, ROOT, SCRATCH, dev, environ, has, is_, libraries, run,
                     uuid)
from tap import check, finish, skip

SLOW = "1000h"  # this machine may be slow: only hangs on command are to be found


def rows(standin, *args, timeout=SLOW, **options):
    code, out, err = run(standin, "preflight", "-o", "json", "--timeout", timeout, *args, **options)
    return code, [json.loads(line) for line in out.splitlines()], err


def bad(result):
    """Of the rows that did not pass: check, device, result."""
    return [(r["check"], r.get("device"), r["result"]) for r in result[1] if r["result"] != "pass"]


def message(result):
    return " ".join(r["message"] for r in result[1] if r["result"] != "pass")


def finds(what, standin, code, rows_wanted, *parts, args=(), **options):
    got = rows(standin, *args, **options)
    is_(what, (got[0], bad(got), got[2]), (code, rows_wanted, ""))
    if parts:
        has("... with the reason", message(got), *parts)


def everything_passes(program):
    code, found, err = rows("devices=4", program=program)
    is_("four devices pass", (code, err, {r["result"] for r in found}), (0, "", {"pass"}))
    is_("... all checks", list(dict.fromkeys(r["check"] for r in found)),
        ["devices", "driver", "health", "memory", "bandwidth", "peers", "nccl"])
    check("... a row has its node and its time",
          [r for r in found if r["node"] != os.uname().nodename or r["ms"] < 0] or None)
    is_("... 90 % of the free memory", [r["value"] > 0.85 * (64 << 20) for r in found if r["check"] == "memory"], [True] * 4)
    bus = [r for r in found if r["check"] == "nccl"]
    is_("... bus bandwidth", [(r["unit"], r["value"] > 0) for r in bus], [("GB/s", True)])
    code, out, _ = run("devices=2", "preflight", "--quick", "--timeout", SLOW, program=program)
    has("lines for people", out, "pass     memory     1      read back as written: ", "all-reduce over all devices")
    is_("one device has no links", {r["check"] for r in rows("devices=1", program=program)[1]},
        {"devices", "driver", "health", "memory", "bandwidth"})
    is_("--check", {r["check"] for r in rows("devices=2", "--check", "driver, memory", program=program)[1]},
        {"driver", "memory"})


def presence(program):
    nothing = dev(0)
    code, found, _ = rows("", dev=nothing, program=program)
    is_("no GPU, none requested: pass", (code, [r["result"] for r in found]), (0, ["pass"]))
    code, found, _ = rows("", "--gpus", "2", dev=nothing, program=program)
    is_("... two requested: fatal", (code, found[0]["result"], found[0]["expected"]), (30, "fatal", 2))
    finds("fewer than requested", "devices=2", 30, [("devices", None, "fatal")], args=("--gpus", "3"), program=program)
    finds("a device that is lost", "devices=3 lost=1", 30, [("devices", "1", "fatal")], "GPU is lost",
          program=program, CUDA_VISIBLE_DEVICES="0,2")
    finds("one that is not this job's is not checked", "devices=3 wrong=1", 0, [], program=program,
          CUDA_VISIBLE_DEVICES=f"{uuid(0)},{uuid(2)}")
    for absent in (NVML, CUDA):
        code, found, _ = rows("", lib=libraries(absent), program=program)
        is_(f"without {absent}", (code, [r["result"] for r in found]), (30, ["fatal"]))
        has("... its name", found, "cannot load " + absent)
    finds("without libcudart: a warning", "", 10, [("driver", None, "warning")], CUDART, lib=libraries(CUDART),
          program=program, PATH="/usr/bin:/bin")
    finds("without libnccl: a warning", "devices=2", 10, [("nccl", None, "warning")], NCCL, lib=libraries(NCCL),
          program=program, PATH="/usr/bin:/bin")


def driver_and_health(program):
    only = ("--check", "driver,health")
    finds("CUDA newer than the driver", "driver=11080", 30, [("driver", None, "fatal")], "CUDA 11.8", "has 12.8",
          args=only, program=program)
    finds("... of the same major version", "driver=12020", 0, [], args=only, program=program)
    for standin, row in (("ecc=1:3", ("ecc", "1", "fatal")), ("failed=0", ("remapped-rows", "0", "fatal")),
                         ("pending=1", ("remapped-rows", "1", "retry")), ("retired=1:2", ("retired-pages", "1", "warning")),
                         ("throttle=0:64", ("throttle", "0", "warning")), ("width=1:8", ("pcie", "1", "warning")),
                         ("links=0:3", ("nvlink", "0", "warning"))):
        finds(standin, "devices=2 " + standin, {"fatal": 30, "retry": 20, "warning": 10}[row[2]], [row], args=only,
              program=program)


def memory(program):
    only = ("--check", "memory")
    finds("memory that is wrong", "devices=2 wrong=1", 30, [("memory", "1", "fatal")], "pages of 4 KiB", args=only,
          program=program)
    finds("memory that another process has: worth trying again", "devices=2 fail=cuMemAlloc_v2:2", 20,
          [("memory", "0", "retry"), ("memory", "1", "retry")], "out of memory", args=only, program=program)
    found = rows("devices=1 used=0:60", *only, program=program)
    is_("what is free is tested", (found[0], found[1][0]["value"] <= 4 << 20), (0, True))


def failures(program):
    """In the middle of a check: one row, and the next checks go on with a new helper."""
    with concurrent.futures.ThreadPoolExecutor() as pool:  # these wait for their deadlines
        hangs = [pool.submit(rows, f"devices=2 hang={call}", "--check", checks, timeout="2s", program=program)
                 for call, checks in (("cuMemcpyDtoDAsync_v2", "bandwidth,nccl"), ("ncclGroupEnd", "nccl"))]
        for word, like in (("abort", "signal 6"), ("crash", "signal 11"), ("exit", "status 3")):
            got = rows(f"devices=2 {word}=cuMemcpyDtoDAsync_v2", program=program)
            is_(f"{word} in a copy", (got[0], bad(got)), (30, [("bandwidth", "0", "fatal"), ("bandwidth", "1", "fatal")]))
            has("... library, call and end", message(got), CUDA + ": cuMemcpyDtoDAsync_v2: ", like)
        got, never = (h.result() for h in hangs)
    is_("a hang in a copy: the next check goes on", bad(got), [("bandwidth", "0", "fatal"), ("bandwidth", "1", "fatal")])
    has("... library, call and how long", message(got), CUDA + ": cuMemcpyDtoDAsync_v2: no answer within 2s")
    has("a rank that never comes", message(never), NCCL + ": ncclGroupEnd: no answer")
    got = rows("devices=2 delay=2000", "--check", "memory", "--full", "--deadline", "20ms", program=program)
    has("a check's deadline", message(got), "deadline")
    got = rows("devices=2 fail=ncclCommInitRank:2", "--check", "nccl", program=program)
    has("NCCL's own error", message(got), "ncclCommInitRank: unhandled system error (2)")


def blame(program):
    finds("a slow link, by copies and by NCCL", "devices=4 slow=1-3", 30,
          [("peers", "1-3", "fatal"), ("nccl", "1-3", "fatal")], "less than half", args=("--check", "peers,nccl"),
          program=program)
    finds("wrong sums of one device", "devices=4 sum=2", 30, [("nccl", None, "fatal"), ("nccl", "2", "fatal")],
          "sums of NCCL's all-reduce are wrong", "fails with every other device", args=("--check", "nccl"), program=program)
    finds("... of one of two: no one can say which", "devices=2 sum=1", 30, [("nccl", None, "fatal")],
          args=("--check", "nccl"), program=program)


def thresholds(program):
    def expect(text):
        path = os.path.join(SCRATCH, "expect.json")
        with open(path, "w", encoding="ascii") as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return "--expect", path, "--check", "bandwidth"
    very = {"devices": {"Stand": {"hostToDevice": 0.001}, "Stand-in GPU": {"hostToDevice": 1e9}}}
    finds("far slower than expected", "", 30, [("bandwidth", "0", "fatal")], "host to device", args=expect(very),
          program=program)
    finds("fast enough", "", 0, [], args=expect({"devices": {"Stand": {"deviceToDevice": 0.001}}}), program=program)
    finds("an unknown device never fails for speed", "", 0, [], program=program,
          args=expect({"devices": {"Other": {"hostToDevice": 1e9}}}))
    for text, like in (("{", "expect.json: "), ('{"devices": []}', "devices: expected an object"),
                       ('{"device": {}}', "device: unknown"), ('{"devices": {"A": 3}}', "devices.A: expected an object"),
                       ('{"devices": {"A": {"fast": 3}}}', "devices.A.fast: unknown"),
                       ('{"devices": {"A": {"peer": "3"}}}', "devices.A.peer: expected a number"),
                       ('{"devices": {"A": {"peer": -1}}}', "devices.A.peer: expected a number"),
                       ('{"devices": {}, "devices": {}}', "expect.json: ")):
        code, found, err = rows("", *expect(text), program=program)
        is_("refused: " + text, (code, found, like in err, err.count("\n")), (2, [], True, 1))
    is_("no such file", rows("", "--expect", "/nowhere", program=program)[0], 1)
    is_("no such check", rows("", "--check", "speed", program=program)[0], 2)
    is_("--quick and --full", rows("", "--quick", "--full", program=program)[0], 2)


def real_libraries():
    """libcudart and libnccl as NVIDIA builds them, from the wheels of a venv's python3."""
    venv = subprocess.run([os.path.join(ROOT, "tests/setup.sh"), "venv", "gpu"], capture_output=True, text=True,
                          check=True).stdout.strip()
    real = {"PATH": f"{venv}/bin:/usr/bin:/bin", "LD_PRELOAD": ""}
    code, found, _ = rows("", "--check", "driver", lib=libraries(CUDART), **real)
    is_("the real libcudart is found in the venv", code, 0)
    has("... and says its version", found, "the image has 12.9")
    finds("... too new for a driver", "driver=11040", 30, [("driver", None, "fatal")], "has 12.9",
          args=("--check", "driver"), lib=libraries(CUDART), **real)
    got = rows("devices=2", "--check", "nccl", lib=libraries(NCCL), timeout="60s", **real)
    is_("the real libnccl without a driver: one row", (got[0], bad(got)), (30, [("nccl", None, "fatal")]))
    has("... of its call", message(got), NCCL + ": nccl")
    print("#", message(got))


def last_words():
    """What the kubelet keeps of an init container, for events and `why`."""
    if os.getuid() != 0:
        skip("a container's last words", "only root may mount")
        return
    script = 'mount -t tmpfs none /dev && mknod /dev/null c 1 3 && : >/dev/termination-log && "$@" >/dev/null; ' \
             'echo "$?"; cat /dev/termination-log'
    r = subprocess.run(["unshare", "--mount", "sh", "-c", script, "-", PROGRAMS[0], "preflight"],
                       env=environ("devices=2 throttle=0:64 failed=1"), capture_output=True, text=True, check=False)
    is_("a container's last words", r.stdout, f"30\nnode {os.uname().nodename}: GPU 1: remapped-rows: "
        "a memory row could not be remapped: replace the device")


for each in PROGRAMS:
    print("#", each)
    everything_passes(each)
    failures(each)
    thresholds(each)
    blame(each)
presence(PROGRAMS[0])
driver_and_health(PROGRAMS[0])
memory(PROGRAMS[0])
real_libraries()
last_words()
check("no file is left in TMPDIR", glob.glob(f"{SCRATCH}/kftrainer-gpu-??????") or None)
shutil.rmtree(SCRATCH, ignore_errors=True)
finish()
