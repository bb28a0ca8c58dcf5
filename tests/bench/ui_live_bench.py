#!/usr/bin/env python3
"""What lives on the page of `kftrainer ui`: a change of one of 1,000 jobs in `controller --local`, a log of 64 ranks.

    tests/bench/ui_live_bench.py ./kftrainer
"""
import http.client
import json
import os
import re
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

from row import lacks, row

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ui"))
from browser import Browser  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
JOBS, VIEWERS, RANKS, SECONDS, IDLE = 1000, 3, 64, 5, 60
HOME = tempfile.TemporaryDirectory()
ENV = {"PATH": "/usr/bin:/bin", "HOME": HOME.name}
PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"


SPEC = {"suspend": True, "runtimeRef": {"name": "torch-distributed"}, "trainer": {
    "command": ["python", "-c", "x" * 500], "env": [{"name": f"E{k}", "value": "v" * 50} for k in range(20)]}}
# Frames while the page scrolls up and down through the log.
SCROLL = """const box = document.querySelector('.log'); window.frames_ = 0; window.began = performance.now();
const step = () => { window.frames_++; box.scrollTop = box.scrollHeight / 2 + 3000 * Math.sin(window.frames_ / 20); requestAnimationFrame(step) };
requestAnimationFrame(step)"""
# When each job whose name begins with "new" is on the screen: after the frame in which it is drawn.
WATCH = """window.seen = {}; new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => {
  for (const a of document.querySelectorAll('td a[href^="/jobs/default/new"]')) window.seen[a.textContent] ??= Date.now() / 1000;
}))).observe(document.querySelector('main table'), {subtree: true, childList: true})"""


def browse(page, path):
    """Chromium with that page open; None: it is not installed."""
    if not shutil.which("chromedriver"):
        return None
    b = Browser()
    name, value = page.headers["Cookie"].split("=")
    b.devtools("Network.setCookie", name=name, value=value, url=f"http://127.0.0.1:{page.port}/")
    b.screen(1200, 900)
    b.go(f"http://127.0.0.1:{page.port}{path}")
    b.until("it lives", lambda: b.text(".live") == "live")
    return b


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


def loud(name, seconds):
    """A job whose ranks write 1,000 lines a second each, once the file `go` is there."""
    script = (f"import os, time\nwhile not os.path.exists('{HOME.name}/go'): time.sleep(0.1)\nbegan = time.monotonic()\n"
              f"for n in range({seconds} * 5):\n"
              "    print('\\n'.join(f'line {n * 200 + i} of a log, with loss 0.123456' for i in range(200)), flush=True)\n"
              "    time.sleep(max(0, began + 0.2 * (n + 1) - time.monotonic()))")
    subprocess.run([PROGRAM, "submit", "--local", "--runtime", "torch-distributed", "--name", name, "--nodes", str(RANKS), "--detach", "--",
                    "python3", "-c", script], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, check=True)


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

    def tell(self, number):
        """The log has arrived up to the event of that id (core/ui/live.h)."""
        if not hasattr(self, "line"):
            self.line = http.client.HTTPConnection("127.0.0.1", int(self.port))
        self.line.request("GET", "/arrived?after=" + number, headers=self.headers)
        self.line.getresponse().read()

    def end(self):
        self.process.terminate()
        self.process.wait()


def until(stream, *events):
    """Name, data and id of each event up to the first of those."""
    number = ""
    while line := stream.readline():
        if line.startswith(b"id: "):
            number = line[4:].decode().strip()
        if line.startswith(b"event: "):
            name = line[7:].decode().strip()
            yield name, stream.readline()[6:], number
            if name in events:
                return


def jobs():
    api = Api()
    for i in range(JOBS):
        api.send("POST", PATH, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": f"job-{i:04d}"}, "spec": SPEC})
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
    screen(api, page)
    page.end()
    api.process.terminate()
    api.process.wait()


def screen(api, page):
    b = browse(page, "/")
    if not b:
        lacks("`ui`: a change on the screen", "chromium-driver is not installed")
        return
    b.until("all rows", lambda: b.js("return document.querySelectorAll('main tbody tr').length") == JOBS)
    b.js(WATCH)
    answered = {}
    for i in range(21):
        name = f"new-{i:02d}"
        api.send("POST", PATH, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": name}, "spec": SPEC})
        answered[name] = time.time()
        b.until(f"{name} is drawn", lambda name=name: b.js("return window.seen[arguments[0]] || 0", name))
    seen = b.js("return window.seen")
    took = sorted(max(0.0, seen[name] - answered[name]) * 1e3 for name in answered)
    row("`ui`: a change on the screen", statistics.median(took), "ms",
        f"a new job in a list of {JOBS:,} in Chromium, after the API server's answer; median of {len(took)}, at most {took[-1]:.0f} ms", "≤ 300 ms")
    b.listen()
    b.requests.clear()
    time.sleep(IDLE)
    b.listen()
    row("`ui`: requests of an idle viewer", len(b.requests), "/min", f"the list of {JOBS:,} jobs is open for {IDLE} s", "≤ 1 /min")
    b.end()


def log():
    loud("loud", SECONDS)
    page = Page("--local")
    stream, seen = page.ask("/stream?job=default/loud&log=*&lines=20000"), {}
    with open(HOME.name + "/go", "w", encoding="ascii"):
        began = time.monotonic()
    for name, data, number in until(stream, "end"):
        if name == "log":
            page.tell(number)
        for line in json.loads(data)["lines"] if name == "log" else []:
            if line[0]:
                seen.setdefault(line[0], []).append(int(line[1].split()[1]))
    took = time.monotonic() - began
    want = list(range(SECONDS * 1000))
    lost = RANKS * len(want) - sum(len(set(got) & set(want)) for got in seen.values())
    twice = sum(len(got) - len(set(got)) for got in seen.values())
    row(f"`ui`: log of {RANKS} ranks, 1,000 lines/s each", lost + twice, "lines", f"lost or twice, of {RANKS * len(want):,} in {took:.1f} s", "0 lines")
    page.end()


def frames():
    """While 64 ranks write and the page scrolls."""
    loud("fast", 4 * SECONDS)
    page = Page("--local")
    b = browse(page, "/jobs/default/fast")
    if not b:
        lacks("`ui`: frames while scrolling", "chromium-driver is not installed")
        return
    with open(HOME.name + "/go", "w", encoding="ascii"):
        pass
    b.until("lines", lambda: int(b.text(".tools .note").split()[0] or 0) >= 10000)
    b.js(SCROLL)
    time.sleep(SECONDS)
    shown = b.js("return window.frames_ / (performance.now() - window.began) * 1000")
    lines = b.text(".tools .note")
    row("`ui`: frames while scrolling", float(shown), "/s", f"headless Chromium, {RANKS} ranks of 1,000 lines/s each, for {SECONDS} s; {lines}", "≥ 30 /s")
    b.end()
    page.end()


jobs()
log()
os.unlink(HOME.name + "/go")
frames()
