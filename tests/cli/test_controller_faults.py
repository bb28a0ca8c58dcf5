#!/usr/bin/env python3
"""The controller and an API server that misbehaves: tests/unit/kube/apiserver.py in its place."""
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from ports import free_port
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
SECONDS = 60
NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def until(is_so, seconds=SECONDS):
    """Waits until it is so; True then."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_so():
            return True
        time.sleep(0.05)
    return False


class Api:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, os.path.join(ROOT, "tests/unit/kube/apiserver.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body else None, method=method)
        try:
            with NO_PROXY.open(request, timeout=SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"code": error.code}

    def ctl(self, **what):
        return self.call("POST", "/ctl", what)

    def items(self, plural):
        return self.ctl(op="objects", plural=plural)["items"]

    def seen(self, what):
        return self.ctl(op="seen").get(what, 0)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Controller:
    """Of the program, with that API server; settings are lines of its configuration."""

    def __init__(self, api, folder, settings="", options=()):
        config, kubeconfig, self.log = (os.path.join(folder, name) for name in ("config", "kubeconfig", "log"))
        self.start(config, kubeconfig, api, settings, options)
        while until(self.ended_or_answers) and self.process.poll() is not None and "in use" in self.text():
            self.start(config, kubeconfig, api, settings, options)  # another program has taken a port

    def ended_or_answers(self):
        try:
            return self.process.poll() is not None or self.probe("/healthz")
        except OSError:
            return False

    def start(self, config, kubeconfig, api, settings, options):
        self.health, self.webhook = free_port(), free_port()
        with open(config, "w", encoding="utf-8") as file:
            file.write("apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
                       f"webhook: {{host: 127.0.0.1, port: {self.webhook}}}\nmetrics: {{bindAddress: '0'}}\n"
                       f"health: {{healthProbeBindAddress: '127.0.0.1:{self.health}'}}\n" + settings)
        with open(kubeconfig, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": api.url}}],
                       "users": [{"name": "u", "user": {}}], "current-context": "x",
                       "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}, file)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "POD_"))}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([PROGRAM, "controller", "--config", config, "--kubeconfig", kubeconfig, *options],
                                            env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def text(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def lines(self, like):
        return [line for line in self.text().splitlines() if re.search(like, line)]

    def probe(self, path):
        try:
            with NO_PROXY.open(f"http://127.0.0.1:{self.health}{path}", timeout=SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=SECONDS)


def runtime(api):
    node = {"name": "node", "replicas": 1, "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "i"}]}}}}}
    api.call("POST", TRAINER + "/clustertrainingruntimes", {
        "apiVersion": TRAINER[6:], "kind": "ClusterTrainingRuntime", "metadata": {"name": "rt"},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [node]}}}})


def train_job(api, name):
    api.call("POST", TRAINER + "/namespaces/a/trainjobs", {
        "apiVersion": TRAINER[6:], "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "a", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"runtimeRef": {"name": "rt", "apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime"},
                 "managedBy": "trainer.kubeflow.org/trainjob-controller", "suspend": False}})


def scene_lease(api, folder):
    """Another takes the lease while the new leader waits for its first lists."""
    api.ctl(op="stall", plural="trainjobs", on=True)
    one = Controller(api, folder, "leaderElection: {leaderElect: true}\n")
    check("it leads", None if until(lambda: api.items("leases")) else one.text())
    check("... and waits for its first list", None if until(lambda: api.seen("GET trainjobs")) else one.text())
    lease = api.items("leases")[0]
    lease["spec"]["holderIdentity"] = "another"
    del lease["metadata"]["resourceVersion"]
    api.call("PUT", "/apis/coordination.k8s.io/v1/namespaces/kubeflow-system/leases/" + lease["metadata"]["name"], lease)
    check("a leader that loses the lease before it has its first lists ends",
          None if until(lambda: one.process.poll() is not None) else one.text())
    check("... and says so", None if one.process.poll() == 1 and one.lines("lost the lease") else one.text())
    check("... without having worked", one.lines('"msg":"reconciling"'))
    api.ctl(op="stall", plural="trainjobs", on=False)
    if one.process.poll() is None:
        one.stop()


def scene_away(api, folder):
    """All writes are cut off: each TrainJob meets that again and again."""
    runtime(api)
    api.ctl(op="fail", n=10**6, status=0, of="PATCH")
    one = Controller(api, folder)
    for i in range(20):
        train_job(api, f"j{i}")
    check("20 TrainJobs are tried again and again", None if until(lambda: api.seen("PATCH configmaps") > 200) else one.text())
    said = one.lines('"level":"(warn|error)"')
    check("while the API server is away that is one line in the log",
          None if len([line for line in said if "the API server does not respond" in line]) == 1 else "\n".join(said))
    check("... and none for each TrainJob", [line for line in said if "j1" in line and "does not respond" not in line])
    api.ctl(op="fail", n=0, status=0)
    check("... after which the work is done",
          None if until(lambda: len(api.items("jobsets")) == 20) else one.text())
    one.stop()


def scene_pods(api, folder):
    """It may not read pods."""
    runtime(api)
    api.ctl(op="deny", plural="pods", on=True)
    one = Controller(api, folder)
    train_job(api, "j")
    check("without the right to read pods it works", None if until(lambda: api.items("jobsets")) else one.text())
    check("... asking now and then", None if until(lambda: api.seen("GET pods") >= 4) else one.text())
    said = one.lines("pods")
    check("... and says so in one line", None if len(said) == 1 and "not allowed to read pods" in said[0] else "\n".join(said))
    one.stop()


MISSING = "JobSet, which Kubeflow Trainer needs, is not installed in the cluster"


def scene_jobset(api, folder):
    """The API server has no JobSets, and then it has."""
    runtime(api)
    api.ctl(op="unserved", plural="jobsets", on=True)
    one = Controller(api, folder)
    for i in range(5):
        train_job(api, f"j{i}")
    told = lambda: [e for e in api.items("events") if MISSING in e.get("message", "")]
    check("without JobSet an event of each TrainJob says so", None if until(lambda: len(told()) == 5) else api.items("events"))
    check("... in those words", None if all(e["message"].endswith(": " + MISSING) for e in told()) else told())
    check("... the log in one line", None if len(one.lines(MISSING)) == 1 else one.text())
    check("... readiness, which it does not fail",
          None if until(lambda: one.probe("/readyz")[0] == 200) and f"[-]jobset failed: {MISSING}\n" in one.probe("/readyz")[1] else one.probe("/readyz"))
    check("... on its own it does", None if one.probe("/readyz/jobset")[0] == 500 else one.probe("/readyz/jobset"))
    why = subprocess.run([PROGRAM, "why", "j0", "-n", "a", "--kubeconfig", os.path.join(folder, "kubeconfig")],
                         capture_output=True, text=True, timeout=SECONDS, check=False)
    check("... why", None if MISSING in " ".join(why.stdout.split()) else why.stdout + why.stderr)
    calls = api.seen("PATCH jobsets")
    check("... no calls are made", None if calls == 0 else calls)
    api.ctl(op="unserved", plural="jobsets", on=False)
    since = time.monotonic()
    check("once it is there, the TrainJobs go on", None if until(lambda: len(api.items("jobsets")) == 5) else one.text())
    print(f"# after {time.monotonic() - since:.1f} s")
    check("... and readiness is as always", None if until(lambda: one.probe("/readyz") == (200, "ok")) else one.probe("/readyz"))
    api.ctl(op="unserved", plural="jobsets", on=True)
    check("it goes away again: readiness says so", None if until(lambda: MISSING in one.probe("/readyz")[1]) else one.text())
    one.stop()


def failed_message(api, name):
    for tj in api.items("trainjobs"):
        for c in tj.get("status", {}).get("conditions", []):
            if tj["metadata"]["name"] == name and c["type"] == "Failed":
                return c["message"]
    return None


def fail_job(api, name, codes):
    """As the kubelet and JobSet's controller say it: pods that ended with these exit codes, one after the other."""
    for rank, code in enumerate(codes):
        api.call("POST", "/api/v1/namespaces/a/pods", {
            "apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": f"n{rank}"},
            "metadata": {"name": f"{name}-node-0-{rank}-x", "namespace": "a", "creationTimestamp": "2026-01-01T00:00:01Z",
                         "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": f"{name}-node-0",
                                              "uid": f"job-{name}", "controller": True}],
                         "labels": {"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": "node",
                                    "jobset.sigs.k8s.io/job-index": "0", "batch.kubernetes.io/job-completion-index": str(rank)}},
            "status": {"phase": "Failed", "containerStatuses": [{"name": "node", "state": {"terminated": {
                "exitCode": code, "reason": "Error", "message": "boom", "finishedAt": f"2026-01-01T00:00:{30 - rank}Z"}}}]}})
    api.call("PATCH", f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/a/jobsets/{name}/status", {"status": {"conditions": [
        {"type": "Failed", "status": "True", "reason": "FailedJobs", "message": SAYS,
         "lastTransitionTime": "2026-01-01T00:01:00Z"}]}})


SAYS = "jobset failed due to one or more job failures"
FIRST = "; first: node-2 (node rank 2): container node: exit code 3"


def scene_failure(api, folder):
    """Who failed first is in the Failed condition; also where pods may not be watched, and after a restart."""
    runtime(api)
    one = Controller(api, folder)
    train_job(api, "j")
    train_job(api, "k")
    check("two TrainJobs have their JobSets", None if until(lambda: len(api.items("jobsets")) == 2) else one.text())
    fail_job(api, "j", [143, 7, 3])
    check("the Failed condition ends with the first rank that failed and its exit code",
          None if until(lambda: failed_message(api, "j")) and failed_message(api, "j") == SAYS + FIRST else failed_message(api, "j"))
    events = lambda: [e["message"] for e in api.items("events") if e["reason"] == "Failed"]
    check("... the event says more", None if until(events) and events() == [f"FailedJobs: {SAYS}{FIRST} on n2: boom"] else events())
    one.stop()
    fail_job(api, "k", [1])
    train_job(api, "m")
    one = Controller(api, folder)
    check("of one that failed while the controller was down, too", None if until(lambda: failed_message(api, "k")) and
          failed_message(api, "k").endswith("; first: node-0 (node rank 0): container node: exit code 1") else failed_message(api, "k"))
    check("... and earlier output stays", None if failed_message(api, "j") == SAYS + FIRST else failed_message(api, "j"))
    check("another is created", None if until(lambda: len(api.items("jobsets")) == 3) else one.text())
    api.ctl(op="deny", plural="pods", on=True)
    fail_job(api, "m", [1])
    check("without the right to read pods it is JobSet's message",
          None if until(lambda: failed_message(api, "m")) and failed_message(api, "m") == SAYS else failed_message(api, "m"))
    one.stop()


def client_certificate(folder, name):
    """A CA, and a client's certificate and key of it."""
    path = os.path.join(folder, name)
    for line in (f"req -x509 -newkey rsa:2048 -nodes -keyout {path}-ca.key -subj /CN={name}-ca -days 1 -out {path}-ca.crt",
                 f"req -new -newkey rsa:2048 -nodes -keyout {path}.key -subj /CN={name} -out {path}.csr",
                 f"x509 -req -in {path}.csr -CA {path}-ca.crt -CAkey {path}-ca.key -CAcreateserial -days 1 -out {path}.crt"):
        subprocess.run(["openssl", *line.split()], check=True, capture_output=True)
    return path


def review(port, client=None):
    """The HTTP status of a webhook for a client with that certificate, or None: the server refuses the connection."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if client:
        context.load_cert_chain(client + ".crt", client + ".key")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(f"https://127.0.0.1:{port}/", data=b"{}", timeout=SECONDS) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def scene_client_ca(api, folder):
    """Webhooks that only clients of one CA reach."""
    mine, other = (client_certificate(folder, name) for name in ("mine", "other"))
    one = Controller(api, folder, options=["--webhook-client-ca", mine + "-ca.crt"])
    check("a client of --webhook-client-ca is answered", None if until(lambda: review(one.webhook, mine)) else one.text())
    check("... one of another CA is not", review(one.webhook, other))
    check("... one without a certificate is not", review(one.webhook))
    check("... probes need none", None if one.probe("/healthz")[0] == 200 else one.text())
    one.stop()
    one = Controller(api, folder)
    check("without the option anyone is answered", None if until(lambda: review(one.webhook)) else one.text())
    one.stop()
    for what, path in (("missing", os.path.join(folder, "none")), ("without certificates", os.path.join(folder, "config"))):
        one = Controller(api, folder, options=["--webhook-client-ca", path])
        check(f"a file that is {what} ends it, named", None if until(lambda: one.process.poll() is not None) and
              one.process.returncode and one.lines(f"--webhook-client-ca.*{re.escape(path)}") else one.text())


def scene_reads(api, folder):
    """What TrainJobs that anybody sends make the webhook read: 500 at once, then 100 a second."""
    sent, burst, per_second = 700, 500, 100
    one = Controller(api, folder)
    check("the webhook answers", None if until(lambda: review(one.webhook)) else one.text())
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", one.webhook, context=context, timeout=SECONDS)
    began, before, answers = time.monotonic(), api.seen("GET trainingruntimes"), set()
    for i in range(sent):
        job = {"apiVersion": TRAINER[6:], "kind": "TrainJob", "metadata": {"name": f"j{i}", "namespace": "a"},
               "spec": {"runtimeRef": {"name": f"none{i}", "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime"}}}
        kind = {"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"}
        connection.request("POST", "/validate-trainer-kubeflow-org-v1alpha1-trainjob", json.dumps({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
                "uid": str(i), "operation": "CREATE", "kind": kind, "namespace": "a", "name": f"j{i}", "object": job}}),
            {"Content-Type": "application/json"})
        answers.add(connection.getresponse().read().decode().replace(str(i), "N"))
    took, reads = time.monotonic() - began, api.seen("GET trainingruntimes") - before
    check("each unknown runtime is looked up", None if reads >= sent else f"{reads} reads; {sorted(answers)[:3]}")
    check("... at the rate that webhooks may read", None if took >= (sent - burst) / per_second else f"{reads} reads in {took:.2f} s")
    connection.close()
    one.stop()


def main():
    for name, scene in list(globals().items()):
        if not name.startswith("scene_") or sys.argv[1:] not in ([], [name[6:]]):
            continue
        api = Api()
        with tempfile.TemporaryDirectory() as folder:
            scene(api, folder)
        api.stop()
    finish()


main()
