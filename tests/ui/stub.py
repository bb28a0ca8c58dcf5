"""A stand-in for an API server that has TrainJobs and nothing else, for figures and soaks of `ui`; and a client of the page."""
import http.client
import http.server
import json
import os
import re
import subprocess
import threading

PAGE = 500  # jobs of a page of the list, as kftrainer asks for them


def job(i):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": f"job-{i:05}", "namespace": "default", "uid": f"u{i}", "resourceVersion": str(i + 1),
                         "creationTimestamp": "2026-11-27T00:00:00Z", "labels": {"team": "a"}},
            "spec": {"runtimeRef": {"name": "torch-distributed", "kind": "ClusterTrainingRuntime", "apiGroup": "trainer.kubeflow.org"},
                     "trainer": {"numNodes": 2, "command": ["python", "train.py"]}},
            "status": {"conditions": [{"type": "Complete", "status": "True", "reason": "AllJobsCompleted",
                                       "message": "jobset completed successfully", "lastTransitionTime": "2026-11-27T01:00:00Z"}],
                       "jobsStatus": [{"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}]}}


class Jobs:
    """Lists these jobs page by page; a watch has no events; all else is not found. The kubeconfig is FOLDER/config."""

    def __init__(self, n, folder):
        def text(doc):
            return json.dumps(doc, separators=(",", ":")).encode()

        pages = {}
        for at in range(0, max(n, 1), PAGE):
            meta = {"resourceVersion": "9", **({"continue": str(at + PAGE)} if at + PAGE < n else {})}
            pages[str(at)] = text({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJobList", "metadata": meta,
                                   "items": [job(i) for i in range(at, min(n, at + PAGE))]})
        one = {f"job-{i:05}": text(job(i)) for i in range(n)}
        over = self.over = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one piece: no wait for an acknowledgment

            def do_GET(self):
                path, _, query = self.path.partition("?")
                query = dict(pair.split("=") for pair in query.split("&") if pair)
                if "watch" in query:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.end_headers()
                    self.wfile.flush()
                    over.wait()
                    return
                body = pages.get(query.get("continue", "0")) if path.endswith("/trainjobs") else one.get(path.rpartition("/")[2])
                if body is None and path.rpartition("/")[2] in ("pods", "jobs", "events"):
                    body = text({"kind": "List", "metadata": {"resourceVersion": "9"}, "items": []})
                self.send_response(200 if body else 404)
                body = body or text({"kind": "Status", "status": "Failure", "message": "\"x\" not found", "reason": "NotFound", "code": 404})
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        with open(f"{folder}/config", "w", encoding="ascii") as f:
            f.write("{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
                    "users: [{name: u, user: {}}], clusters: [{name: c, cluster: {server: "
                    f"\"http://127.0.0.1:{self.server.server_port}\"}}}}]}}")

    def end(self):
        self.over.set()
        self.server.shutdown()


class Page:
    """`kftrainer ui` of that kubeconfig, or with these options, and its cookie."""

    def __init__(self, program, folder, *options):
        self.process = subprocess.Popen([program, "ui", *(options or ["--kubeconfig", f"{folder}/config"])], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        url = self.process.stdout.readline().strip()
        self.port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?(token=.*)", url).groups()
        self.origin, self.cookie = f"http://127.0.0.1:{self.port}", ""
        self.cookie = self.ask("/?" + token)[0].getheader("Set-Cookie").split(";")[0]

    def ask(self, path, connection=None, **headers):
        """(answer, body)"""
        c = connection or http.client.HTTPConnection("127.0.0.1", int(self.port))
        c.request("GET", path, headers={"Cookie": self.cookie, **headers})
        answer = c.getresponse()
        return answer, answer.read()

    def rss(self):
        """In MB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1]) / 1000

    def files(self):
        """Open descriptors."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        self.process.terminate()
        return self.process.wait()
