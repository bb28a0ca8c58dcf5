#!/usr/bin/env python3
"""What the GPU commands take, beside their targets; without a GPU, what each figure lacks.

    tests/bench/gpu_bench.py ./kftrainer
"""
import glob
import json
import subprocess
import sys
import time


def line(what, figure, target):
    print(f"{what:<48} {figure:>24}  {target}")


def timed(*command):
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return time.monotonic() - began, done.stdout


def without(kftrainer):
    times = sorted(timed(kftrainer, "gpu")[0] for _ in range(51))
    line("gpu, without a GPU", f"{times[25] * 1e3:.2f} ms", "<= 5 ms")
    for what, target in (("gpu, cold", "<= 0.5 s"), ("preflight --quick", "<= 5 s"), ("bandwidth", ">= 90 % of torch's"),
                         ("all-reduce", "within 5 % of nccl-tests"), ("gpu-feed", ">= 80 % of the lower of cache and bus")):
        line(what, "lacks an NVIDIA GPU", target)


def with_gpu(kftrainer):
    line("gpu, cold", f"{timed(kftrainer, 'gpu')[0]:.2f} s", "<= 0.5 s")
    took, out = timed(kftrainer, "preflight", "--quick", "-o", "json")
    line("preflight --quick", f"{took:.2f} s", "<= 5 s")
    for row in map(json.loads, out.splitlines()):
        if row.get("unit") == "GB/s":
            line(f"  {row['check']} {row.get('device', '')} {row['message']}"[:48], f"{row['value']} GB/s", "")
    line("gpu-feed", "lacks a cache to read", ">= 80 % of the lower of cache and bus")


(with_gpu if glob.glob("/dev/nvidia[0-9]*") else without)(sys.argv[1])
