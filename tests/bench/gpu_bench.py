#!/usr/bin/env python3
"""What the GPU commands take, beside their targets; without a GPU, what each figure lacks.

    tests/bench/gpu_bench.py ./kftrainer
"""
import glob
import json
import subprocess
import sys
import time

from row import lacks, row


def timed(*command):
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return time.monotonic() - began, done.stdout


def without(kftrainer):
    times = sorted(timed(kftrainer, "gpu")[0] for _ in range(51))
    row("`gpu` without a GPU", times[25] * 1e3, "ms", "whole process; median of 51", "≤ 5 ms")
    lacks("`gpu` cold, `preflight --quick`, bandwidth, all-reduce, gpu-feed", "no NVIDIA GPU")


def with_gpu(kftrainer):
    row("`gpu`, cold", timed(kftrainer, "gpu")[0], "s", "the first after the start of this program", "≤ 0.5 s")
    took, out = timed(kftrainer, "preflight", "--quick", "-o", "json")
    row("`preflight --quick`", took, "s", "whole process, once", "≤ 5 s")
    for found in map(json.loads, out.splitlines()):
        if found.get("unit") == "GB/s":
            row(f"... {found['check']} {found.get('device', '')}".strip(), found["value"], "GB/s", found["message"])
    lacks("gpu-feed", "no data cache to read")


(with_gpu if glob.glob("/dev/nvidia[0-9]*") else without)(sys.argv[1])
