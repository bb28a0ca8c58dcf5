#!/usr/bin/python3
"""Figures of `ui` with 1,000 TrainJobs of a stand-in API server. usage: ui_bench.py KFTRAINER"""
import contextlib
import http.client
import os
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time

from row import lacks, row

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ui"))
from stub import Jobs, Page  # noqa: E402

JOBS, ROUNDS, VIEWERS = 1000, 21, 3


def size(page):
    """Bytes of a page without jobs, and of all that it asks for, as sent."""
    text = page.ask("/", **{"Accept-Encoding": "identity"})[1].decode()
    parts = ["/"] + re.findall(r'(?:src|href)="(/[a-z0-9_.-]+\.(?:js|css|svg))"', text)
    total = sum(len(page.ask(part, **{"Accept-Encoding": "gzip"})[1]) for part in parts)
    row("the page of `ui`", total / 1000, "KB", f"as sent, without jobs: {len(parts)} files", "≤ 120 KB")


def lists(page):
    took = []
    c = http.client.HTTPConnection("127.0.0.1", int(page.port))
    for _ in range(ROUNDS):
        start = time.perf_counter()
        answer, _ = page.ask("/", c)
        took.append((time.perf_counter() - start) * 1000)
        assert answer.status == 200
    row(f"`ui`: list of {JOBS:,} jobs", statistics.median(took), "ms", f"with a stand-in API server; median of {ROUNDS}", "≤ 100 ms")


def view(page):
    """A viewer: reads what its stream says until the server ends."""
    c = http.client.HTTPConnection("127.0.0.1", int(page.port))
    c.request("GET", "/stream?rows=1", headers={"Cookie": page.cookie})
    answer = c.getresponse()
    with contextlib.suppress(http.client.IncompleteRead):  # it is cut when the server ends
        while answer.read1(65536):
            pass


def memory(page):
    for _ in range(VIEWERS):
        threading.Thread(target=view, args=(page,), daemon=True).start()
    time.sleep(3)
    row(f"`ui`: memory with {JOBS:,} jobs", page.rss(), "MB", f"RSS with {VIEWERS} viewers, after {ROUNDS} lists", "≤ 16 MB")


def paint(page):
    if not shutil.which("chromedriver"):
        lacks("`ui`: first paint", "chromium-driver is not installed")
        return
    from browser import Browser
    b, took = Browser(), []
    name, value = page.cookie.split("=")
    b.devtools("Network.setCookie", name=name, value=value, url=page.origin + "/")
    for _ in range(7):
        b.go(page.origin + "/")
        took.append(b.until("a paint", lambda: b.js("return performance.getEntriesByType('paint').map(e => e.startTime)"))[0])
    b.end()
    row("`ui`: first paint", statistics.median(took), "ms", "headless Chromium from loopback, a list without jobs; median of 7", "≤ 200 ms")


with tempfile.TemporaryDirectory() as folder:
    for n, figures in ((0, (size, paint)), (JOBS, (lists, memory))):
        server = Jobs(n, folder)
        page = Page(os.path.abspath(sys.argv[1]), folder)
        for figure in figures:
            figure(page)
        page.end()
        server.end()
