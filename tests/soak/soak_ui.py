#!/usr/bin/python3
"""10,000 loads of the pages of `ui`, with sanitizers and without: no error, and no growth. Setting: SOAK_LOADS (10000)."""
import http.client
import os
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "ui")]
sys.dont_write_bytecode = True
from stub import Jobs, Page  # noqa: E402
from tap import check, finish  # noqa: E402

LOADS, THREADS = int(os.environ.get("SOAK_LOADS") or 10000), 4
PATHS = ("/", "/?state=Complete&q=job-00007&label=team%3Da", "/jobs/default/job-00007", "/jobs/default/job-00007/delete", "/jobs/default/nobody", "/x")


def load(page, n, wrong):
    c = http.client.HTTPConnection("127.0.0.1", int(page.port))
    for i in range(n):
        path = PATHS[i % len(PATHS)]
        answer, body = page.ask(path, c)
        if answer.status != (404 if path in PATHS[4:] else 200) or not body:
            wrong.append((path, answer.status, body[:500]))


def loads(page, n):
    wrong = []
    threads = [threading.Thread(target=load, args=(page, n // THREADS, wrong)) for _ in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return wrong


for name, program, factor in (("as released", f"{ROOT}/kftrainer", 1), ("sanitized", f"{ROOT}/build/san/kftrainer", 10)):
    with tempfile.TemporaryDirectory() as folder:
        server = Jobs(100, folder)
        page = Page(program, folder)
        wrong = loads(page, LOADS // factor // 10)
        early = page.rss()
        wrong += loads(page, LOADS // factor)
        late = page.rss()
        print(f"# {name}: {early:.1f} MB after {LOADS // factor // 10} loads, {late:.1f} MB after {LOADS // factor} more", flush=True)
        check(f"{name}: each load has its page", wrong[:5])
        if name == "as released":
            check("its memory does not grow", f"{early:.1f} MB, then {late:.1f} MB" if late > early + 2 else None)
        check(f"{name}: it ends with nothing to report", page.end())
        server.end()
finish()
