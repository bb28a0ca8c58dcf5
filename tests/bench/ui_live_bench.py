#!/usr/bin/env python3
"""What lives on the page of `kftrainer ui`: a change of one of 1,000 jobs in `controller --local`, a log of 64 ranks.

    tests/bench/ui_live_bench.py ./kftrainer
"""
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time

from row import row

PROGRAM = os.path.abspath(sys.argv[1])
JOBS, VIEWERS, RANKS, SECONDS = 1000, 3, 64, 5
HOME = tempfile.TemporaryDirectory()
ENV = {"PATH": "/usr/bin:/bin", "HOME": HOME.name}
PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"


class Api:
    """`controller --local` of its own, by its kubeconfig."""

    def __init__(self):
        self.process = subprocess.Popen([PROGRAM, "controller", "--local", "--data", HOME.name + "/api"], env=ENV, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.config = self.process.stdout.readline().strip()
        with open(self.config, encoding="ascii") as f:
            text = f.read()
        self.headers = {"Authorization": "Bearer " + re.search(r'"token":"([^"]+)', text)[1]}
        self.conn = http.client.HTTPSConnection("127.0.0.1", int(re.search(r"https://127.0.0.1:(\d+)", text)[1]),
                                                context=ssl.create_default_context(cafile=os.path.dirname(self.config) + "/ca.crt"))

    def send(self, method, path, body, kind="application/json"):
        self.conn.request(method, path, json.dumps(body), {**self.headers, "Content-Type": kind})
        answer = self.conn.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {data[:200]}")


class Page:
    def __init__(self, *args):
        self.process = subprocess.Popen([PROGRAM, "ui", *args], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.port, token = re.search(r":(\d+)/\?(.*)", self.process.stdout.readline()).groups()
        self.headers = {}
        self.headers = {"Cookie": self.ask("/?" + token).getheader("Set-Cookie").split(";")[0]}

    def ask(self, path):
        c = http.client.HTTPConnection("127.0.0.1", int(self.port))
        c.request("GET", path, headers=self.headers)
        return c.getresponse()

    def end(self):
        self.process.terminate()
        self.process.wait()


def until(stream, *events):
    """The data of each event up to the first of those."""
    while line := stream.readline():
        if line.startswith(b"event: "):
            name = line[7:].decode().strip()
            yield name, stream.readline()[6:]
            if name in events:
                return


def jobs():
    api = Api()
    for i in range(JOBS):
        api.send("POST", PATH, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": f"job-{i:04d}"},
                                "spec": {"suspend": True, "runtimeRef": {"name": "torch-distributed"}, "trainer": {
                                    "command": ["python", "-c", "x" * 500], "env": [{"name": f"E{k}", "value": "v" * 50} for k in range(20)]}}})
    page = Page("--kubeconfig", api.config)
    streams = [page.ask("/stream?rows=1") for _ in range(VIEWERS)]
    for s in streams:
        list(until(s, "mark"))
    times = []
    for i in range(51):
        api.send("PATCH", f"{PATH}/job-{i:04d}", {"metadata": {"labels": {"i": str(i)}}}, "application/merge-patch+json")
        began = time.monotonic()
        for s in streams:
            list(until(s, "mark"))
        times.append(time.monotonic() - began)
    row("`ui`: a change in the streams of all viewers", max(times) * 1e3, "ms", f"after the API server's answer; {VIEWERS} viewers; the most of 51", "≤ 300 ms")
    page.end()
    api.process.terminate()
    api.process.wait()


def log():
    script = (f"until [ -e {HOME.name}/go ]; do sleep 0.1; done; n=0; while [ $n -lt {SECONDS * 5} ]; do "
              "awk -v n=$n 'BEGIN { for (i = 0; i < 200; i++) print \"line\", n * 200 + i, \"of a log, with loss 0.123456\" }'; n=$((n + 1)); sleep 0.2; done")
    subprocess.run([PROGRAM, "submit", "--local", "--runtime", "torch-distributed", "--name", "loud", "--nodes", str(RANKS), "--detach", "--",
                    "sh", "-c", script], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    page = Page("--local")
    stream, seen = page.ask("/stream?job=default/loud&log=*&lines=20000"), {}
    with open(HOME.name + "/go", "w", encoding="ascii"):
        began = time.monotonic()
    for name, data in until(stream, "end"):
        for line in json.loads(data)["lines"] if name == "log" else []:
            if line[0]:
                seen.setdefault(line[0], []).append(int(line[1].split()[1]))
    took = time.monotonic() - began
    want = list(range(SECONDS * 1000))
    lost = RANKS * len(want) - sum(len(set(got) & set(want)) for got in seen.values())
    twice = sum(len(got) - len(set(got)) for got in seen.values())
    row(f"`ui`: log of {RANKS} ranks, 1,000 lines/s each", lost + twice, "lines", f"lost or twice, of {RANKS * len(want):,} in {took:.1f} s", "0 lines")
    page.end()


jobs()
log()
