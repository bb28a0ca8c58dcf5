#!/usr/bin/python3
"""10,000 loads of the pages, logs and streams of `ui`, of an API server and of local runs, with sanitizers and without:
no error, and no growth. Setting: SOAK_LOADS (10000)."""
import http.client
import os
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "ui")]
sys.dont_write_bytecode = True
from stub import Jobs, Page  # noqa: E402
from tap import check, finish  # noqa: E402

LOADS, THREADS = int(os.environ.get("SOAK_LOADS") or 10000), 4
# What is asked for, its status, and what it has to have.
CLUSTER = (("/", 200, b"job-00007"), ("/?state=Complete&q=job-00007&label=team%3Da", 200, b"1 job"), ("/jobs/default/job-00007", 200, b"</html>"),
           ("/jobs/default/job-00007/delete", 200, b"csrf"), ("/jobs/default/nobody", 404, b"</html>"), ("/x", 404, b"</html>"))
LOCAL = (("/", 200, b"loud"), ("/jobs/default/loud", 200, b"1 line 5000"), ("/log?job=default/loud", 200, b"node-1 1 line 5000"),
         ("/stream?rows=1", 200, b"event: mark\n"), ("/stream?job=default/loud&log=*&lines=100&plot=default/loud", 200, b"event: end\n"))


def load(page, asked, n, wrong):
    c = http.client.HTTPConnection("127.0.0.1", int(page.port))
    for i in range(n):
        path, status, has = asked[i % len(asked)]
        if path.startswith("/stream"):  # until that event, then it is left
            s = http.client.HTTPConnection("127.0.0.1", int(page.port))
            s.request("GET", path, headers={"Cookie": page.cookie})
            answer = s.getresponse()
            body = next((line for line in answer if line == has), b"")
            answer.close()
            s.close()
        else:
            answer, body = page.ask(path, c)
        if answer.status != status or has not in body:
            wrong.append((path, answer.status, body[:500]))
    c.close()


def loads(page, asked, n):
    wrong = []
    threads = [threading.Thread(target=load, args=(page, asked, n // THREADS, wrong)) for _ in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return wrong


def soak(name, page, asked, n):
    wrong = loads(page, asked, n // 10)
    early = page.rss(), page.files()
    wrong += loads(page, asked, n)
    late = page.rss(), page.files()
    print(f"# {name}: {early[0]:.1f} MB and {early[1]} files after {n // 10} loads, {late[0]:.1f} MB and {late[1]} after {n} more", flush=True)
    check(f"{name}: each load has its page", wrong[:5])
    if name.startswith("as released"):
        check(f"{name}: its memory does not grow", f"{early[0]:.1f} MB, then {late[0]:.1f} MB" if late[0] > early[0] + 2 else None)
    check(f"{name}: nor do its open files", f"{early[1]}, then {late[1]}" if late[1] > early[1] + 3 * THREADS else None)
    check(f"{name}: it ends with nothing to report", page.end())


for name, program, factor in (("as released", f"{ROOT}/kftrainer", 1), ("sanitized", f"{ROOT}/build/san/kftrainer", 10)):
    with tempfile.TemporaryDirectory() as folder:
        server = Jobs(100, folder)
        soak(f"{name}, a cluster", Page(program, folder), CLUSTER, LOADS // factor)
        server.end()
        os.environ["XDG_STATE_HOME"] = folder
        subprocess.run([f"{ROOT}/kftrainer", "submit", "--local", "--runtime", "torch-distributed", "--name", "loud", "--nodes", "2", "--", "sh", "-c",
                        "seq 5000 | sed \"s/^/$JOB_COMPLETION_INDEX line /\""], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        soak(f"{name}, local", Page(program, folder, "--local"), LOCAL, LOADS // factor)
finish()
