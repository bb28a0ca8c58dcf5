#!/usr/bin/python3
"""Figures of the client: `get` beside kubectl on the cluster of this test (cluster.sh
starts it), and `logs -f` of a stand-in log server. usage: client_bench.py KFTRAINER FOLDER"""
import os
import re
import resource
import statistics
import subprocess
import sys
import time

from row import row

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS, RATE, SECONDS = 64, 1000, 10
JOBS = 100
ROUNDS = 31


def took(argv):
    start = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def get(kftrainer):
    jobs = "".join("---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
                   f"metadata: {{name: bench-{i}, namespace: get-bench}}\n"
                   "spec: {suspend: true, runtimeRef: {name: torch-distributed}, trainer: {numNodes: 2}}\n" for i in range(JOBS))
    subprocess.run(["kubectl", "create", "namespace", "get-bench"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["kubectl", "create", "-f", "-"], input=jobs.encode(), check=True, stdout=subprocess.DEVNULL)
    path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/get-bench/trainjobs?limit=500"
    ours, peer = [], []
    for _ in range(ROUNDS):
        ours.append(took([kftrainer, "get", "-n", "get-bench"]))
        peer.append(took(["kubectl", "get", "--raw", path]))
    more = statistics.median(a - b for a, b in zip(ours, peer))
    row("`get` of 100 TrainJobs", statistics.median(ours), "ms", f"whole process; by turns, median of {ROUNDS}; {more:+.0f} ms in pairs",
        "≤ 15 ms more", "kubectl get --raw", statistics.median(peer))
    subprocess.run(["kubectl", "delete", "namespace", "get-bench", "--wait=false"], check=True, stdout=subprocess.DEVNULL)


def logs(kftrainer, folder):
    server = subprocess.Popen([sys.executable, f"{HERE}/logserver.py", folder, "--ranks", str(RANKS), "--rate", str(RATE),
                               "--seconds", str(SECONDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    server.stdout.readline()
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = ["/usr/bin/time", "-f", "%M", "-o", f"{folder}/rss", kftrainer, "logs", "-f", "bench", "--kubeconfig", f"{folder}/config"]
    with open(f"{folder}/out", "wb") as out:
        subprocess.run(argv, stdout=out, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    server.stdin.close()
    server.wait()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    following = [0] * RANKS
    with open(f"{folder}/out", encoding="utf-8") as out:
        for text in out:
            rank, number = map(int, re.match(r"\[node-\d+\] +rank (\d+) line (\d+) ", text).groups())
            if following[rank] != number:
                sys.exit(f"bench: logs: rank {rank}: line {number} instead of {following[rank]}")
            following[rank] += 1
    if set(following) != {RATE * SECONDS}:
        sys.exit("bench: logs: lines are missing")
    with open(f"{folder}/rss", encoding="ascii") as file:
        rss = int(file.read()) / 1024
    row("`logs -f`", cpu / SECONDS, "cores", f"{RANKS} ranks of {RATE:,} lines/s for {SECONDS} s from a stand-in server, its start among it; all lines "
        f"after {wall:.1f} s", "≤ 1")
    row("`logs -f`: peak memory", rss, "MB", "peak RSS then", "≤ 20 MB")


if sys.argv[3:] != ["logs"]:
    get(sys.argv[1])
logs(sys.argv[1], sys.argv[2])
