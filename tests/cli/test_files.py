#!/usr/bin/python3
"""-f: files, directories, URLs and streams of JSON, as kubectl reads them; what Go programs write."""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, finish  # noqa: E402

KFTRAINER = os.environ.get("KFTRAINER", os.path.join(os.getcwd(), "kftrainer"))
SCRATCH = tempfile.TemporaryDirectory()
os.chdir(SCRATCH.name)
ENV = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and k != "KUBECONFIG"}


def job(name, **more):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": name, "creationTimestamp": None},
            "spec": {"runtimeRef": {"name": "torch-distributed"}}, "status": {}, **more}


def runtime(name):
    unset = {"creationTimestamp": None}
    pod = {"metadata": unset, "spec": {"containers": [{"name": "node", "image": "i", "resources": {}}]}}
    step = {"name": "node", "template": {"metadata": {**unset, "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                                         "spec": {"template": pod}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {**unset, "name": name},
            "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"metadata": unset, "spec": {"replicatedJobs": [step]}}}, "status": {}}


def write(path, *docs, text=None):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as f:
        f.write("\n".join(map(json.dumps, docs)) if text is None else text)
    return path


def run(*args, stdin=b""):
    p = subprocess.run([KFTRAINER, *args], input=stdin, capture_output=True, env=ENV)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def gives(what, args, code, out=None, err=None, **more):
    got = run(*args, **more)
    ok = got[0] == code and (out is None or got[1].split("\n")[:-1] == out) and (err is None or err in got[2])
    check(what, None if ok else f"{got}")


def valid(*pairs):
    return [f"{file}: TrainJob {name} is valid" for file, name in pairs]


stream = (json.dumps(job("a")) + json.dumps(job("b")) + "\n---\n" + json.dumps(job("c"))).encode()
for what, text in (("one after another, and after ---", stream), ("a byte order mark and CRLF", b"\xef\xbb\xbf" + stream.replace(b"}{", b"}\r\n{"))):
    for verb in (["runtime", "validate", "-"], ["runtime", "validate", "-f", "-"]):
        gives(f"JSON: {what}: {' '.join(verb)}", verb, 0, valid(("stdin", "a"), ("stdin", "b"), ("stdin", "c")), stdin=text)
gives("JSON: submit", ["submit", "--dry-run", "-o", "name", "-f", "-"], 0, [f"jobset.jobset.x-k8s.io/{n}" for n in "abc"], stdin=stream)
gives("JSON: a wrong field", ["runtime", "validate", "-"], 2, [], "stdin:2:13: spec.x: Unknown field",
      stdin=json.dumps(job("a")).encode() + b'\n{"spec": {  "x": 1, "runtimeRef": {"name": "torch-distributed"}}, "apiVersion": "trainer.kubeflow.org/v1alpha1", '
      b'"kind": "TrainJob", "metadata": {"name": "a"}}')
gives("JSON: a trailing comma", ["submit", "--dry-run", "-"], 2, [], "stdin:2:8: a key in quotes expected, found '}'; remove", stdin=b'{"a":1}\n{"b":2,}')

write("d/b.json", job("b"))
write("d/a.yaml", runtime("mine"))
write("d/c.yml", text="# nothing\n")
write("d/sub/d.yaml", job("d"))
write("d/x.txt", text="no: [")
write("empty/x.md", text="")
os.makedirs("empty/sub")
os.symlink("d", "link")
first = ["d/a.yaml: ClusterTrainingRuntime mine is valid", *valid(("d/b.json", "b"))]
gives("a directory", ["runtime", "validate", "d"], 0, first)
gives("... and all below it", ["runtime", "validate", "-R", "-f", "d/"], 0, first + valid(("d/sub/d.yaml", "d")))
gives("... through a link", ["runtime", "validate", "link"], 0, [line.replace("d/", "link/", 1) for line in first])
gives("several", ["submit", "--dry-run=client", "-o", "name", "-f", "d", "-f", "d/sub"], 0, [f"jobset.jobset.x-k8s.io/{n}" for n in "bd"])
gives("several, separated by commas", ["submit", "--dry-run", "-o", "name", "-f", "d/a.yaml,d/b.json,d/sub"], 0,
      [f"jobset.jobset.x-k8s.io/{n}" for n in "bd"])
gives("a pattern", ["runtime", "validate", "-f", "d/*/*.y*ml"], 0, valid(("d/sub/d.yaml", "d")))
gives("a pattern of nothing", ["runtime", "validate", "-f", "d/*.zml"], 2, [], "d/*.zml: No such file or directory")
gives("one of several is not there", ["convert", "-f", "d/a.yaml,d/none.yaml"], 2, [], "d/none.yaml: No such file or directory")
gives("render", ["runtime", "render", "-o", "name", "-R", "-f", "d"], 0, [f"jobset.jobset.x-k8s.io/{n}" for n in "bd"])
code, out, err = run("runtime", "list", "--runtime-file", "d", "-o", "name")
check("list", None if code == 0 and "clustertrainingruntime.trainer.kubeflow.org/mine" in out else err)
code, out, err = run("convert", "-R", "d")
check("convert", None if code == 0 and out.count("kind: TrainJob") == 2 and not err else err)
for args in (["submit", "--dry-run", "empty"], ["convert", "-R", "empty"], ["runtime", "validate", "empty"]):
    gives(f"{' '.join(args)}: no file of these names", args, 2, [], "error reading [empty]: recognized file extensions are [.json .yaml .yml]")
gives("one of several is empty", ["runtime", "render", "-o", "name", "-f", "empty", "-f", "d"], 0, ["jobset.jobset.x-k8s.io/b"])
gives("all are empty", ["convert", "-f", "empty", "-f", "empty/sub"], 2, [], "error reading [empty empty/sub]: recognized")
write("v1/job.json", text=json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "j", "creationTimestamp": None}, "spec": {
    "runPolicy": {}, "jaxReplicaSpecs": {"Worker": {"replicas": 1, "template": {"metadata": {"creationTimestamp": None}, "spec": {
        "containers": [{"name": "jax", "image": "i", "resources": {}}]}}}}}, "status": {"conditions": None, "replicaStatuses": None}}))
code, out, err = run("convert", "v1")
check("convert: what Go programs write", None if code == 0 and not err and "null" not in out else err + out)

# ---- URLs --------------------------------------------------------------------------------------------
asked = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0]
        asked.append((path, "Authorization" in self.headers))
        code = {"/busy": 503 if asked.count((path, False)) < 3 else 200, "/down": 500, "/none": 404}.get(path, 200)
        code = 302 if path == "/moved" else code
        body = b" " * (17 << 20) if path == "/large" else json.dumps(job("u")).encode()
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/job.json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
gives("a URL", ["runtime", "validate", url + "/job.json?token=x"], 0, valid((url + "/job.json", "u")))
gives("a URL that moved", ["submit", "--dry-run", "-o", "name", "-f", url + "/moved"], 0, ["jobset.jobset.x-k8s.io/u"])
gives("a URL that is not there is asked for once", ["convert", url + "/none"], 2, [], f'unable to read URL "{url}/none", status code=404')
gives("a URL of a busy server: three attempts", ["runtime", "validate", "-q", url + "/busy"], 0, [])
gives("... of one that stays down", ["runtime", "validate", url + "/down"], 2, [], f'unable to read URL "{url}/down", status code=500')
check("attempts", None if [sum(p == a for a, _ in asked) for p in ("/none", "/busy", "/down")] == [1, 3, 3] else str(asked))
gives("a URL of 17 MiB", ["runtime", "validate", url + "/large"], 2, [], "larger than the limit of 16 MiB")
gives("a user in a URL", ["runtime", "validate", url.replace("//", "//u:secret@") + "/job.json"], 2, [])
check("no credentials were sent", None if not any(sent for _, sent in asked) else str(asked))
server.shutdown()
finish()
