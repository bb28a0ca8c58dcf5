#!/usr/bin/env python3
"""
`wait` whose time is up before the API server has shown the job a second time: its state is the one that was read.
`wait` for a job that another of its name has replaced by then.
"""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
ended = threading.Event()
JOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
       "metadata": {"name": "one", "namespace": "default", "uid": "1", "resourceVersion": "1"},
       "spec": {"runtimeRef": {"name": "torch-distributed"}},
       "status": {"jobsStatus": [{"name": "node", "ready": 1, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0}]}}


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        answer = JOB
        if "name%3Dtwo" in self.path and "watch=" not in self.path:
            new = {**JOB, "metadata": {**JOB["metadata"], "name": "two", "uid": "2"}}
            answer = {"apiVersion": JOB["apiVersion"], "kind": "TrainJobList", "metadata": {"resourceVersion": "2"}, "items": [new]}
        elif not self.path.endswith(("/trainjobs/one", "/trainjobs/two")):
            ended.wait()  # lists and watches
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
server.daemon_threads = True
server.handle_error = lambda *_: None  # a client that has gone
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as folder:
    config = os.path.join(folder, "config")
    with open(config, "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
                   "contexts": [{"name": "c", "context": {"cluster": "c"}}],
                   "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}]}, f)
    def wait(*args):
        r = subprocess.run([PROGRAM, "wait", *args, "--kubeconfig", config], capture_output=True, text=True, check=False,
                           env={**os.environ, "NO_PROXY": "*", "no_proxy": "*"})
        return r.returncode, r.stdout, r.stderr

    for what, got, want in (
            ("the job is not called missing", wait("one", "--timeout", "4s"), (124, "", f"kftrainer wait: timed out: TrainJob one is Running; see 'kftrainer why --kubeconfig {config} one -n default'\n")),
            ("a job that was replaced is gone", wait("two", "--for", "deleted", "--timeout", "1m"), (0, "trainjob two is gone\n", "")),
            ("... and is not that of its name", wait("two", "--timeout", "1m"), (1, "", "kftrainer wait: TrainJob two has been deleted\n"))):
        check(what, "" if got == want else f"got {got!r}")
ended.set()
finish()
