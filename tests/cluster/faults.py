"""For tests/cluster/test_faults_*: the controller as a process that is killed and started again, TrainJobs
that are created, suspended, resumed, completed and deleted meanwhile, and what must be true of a cluster
afterwards. Runs inside the cluster's namespace, as root."""
import atexit
import base64
import collections
import ctypes
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import api

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # pylint: disable=wrong-import-position

NS = f"faults-{os.getpid()}"
TRAINER_NS = "kubeflow-system"
MERGE = "application/merge-patch+json"
KINDS = ["TrainJob", "JobSet", "Job", "Pod", "Secret", "ConfigMap", "Service",
         "PodGroup.scheduling.x-k8s.io", "PodGroup.scheduling.volcano.sh"]
libc = ctypes.CDLL(None)
here = os.path.dirname(os.path.abspath(__file__))


# ---- TAP -----------------------------------------------------------------------------------------
class Tap:
    """tests/tap.py for tests that collect problems in lists."""

    def check(self, what, problems=()):
        """Passed when there are no problems; the first of them are shown."""
        problems = list(problems)
        tap.check(what, "\n".join(str(problem) for problem in problems[:20]) or bool(problems))
        return not problems

    def true(self, what, value):
        return self.check(what, [] if value else ["it is not so"])

    def finish(self):
        tap.finish()


def note(text):
    print(f"# {text}", flush=True)


def until(seconds, what):
    """Calls what() until it returns no problems; those it returned last. Seconds are a quiet machine's: longer is noted,
    for the test may be ended before it is over."""
    begin, noted = time.monotonic(), False
    while True:
        problems = what()
        waited = time.monotonic() - begin
        if not problems or waited > 4 * seconds:
            return problems
        if waited > seconds and not noted:
            noted = True
            note(f"after {seconds} s: " + "; ".join(str(problem) for problem in problems[:5]))
        time.sleep(0.5)


# ---- the cluster ---------------------------------------------------------------------------------
def cluster(*args):
    subprocess.run([os.path.join(here, "cluster.sh"), os.environ["CLUSTER"], *args], check=True,
                   stdout=subprocess.DEVNULL)


def admin():
    return api.Api(os.environ["KUBECONFIG"])


def healthy():
    try:
        return [] if admin().request("GET", "/readyz")[0] == 200 else ["the API server is not ready"]
    except OSError as error:
        return [f"the API server does not answer: {error}"]


def etcd(call, **body):
    request = urllib.request.Request(f"http://127.0.0.1:2379/v3/{call}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def compact():
    """etcd forgets the past, so that a watch cannot go on from there."""
    revision = etcd("kv/range", key="AA==")["header"]["revision"]
    etcd("kv/compaction", revision=revision, physical=True)


def writes_of(kind, namespace):
    """How often each object has been written since it was made: etcd counts."""
    prefix = f"/registry/{kind}/{namespace}/".encode()
    found = etcd("kv/range", key=base64.b64encode(prefix).decode(), keys_only=True,
                 range_end=base64.b64encode(prefix[:-1] + bytes([prefix[-1] + 1])).decode())
    return {base64.b64decode(kv["key"]).decode().rsplit("/", 1)[1]: int(kv["version"])
            for kv in found.get("kvs", [])}


class Proxy(threading.Thread):
    """Stands between one client and the API server: connections that can be cut, or go dumb."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port, self.pairs, self.lock = self.listener.getsockname()[1], [], threading.Lock()
        self.start()

    def run(self):
        while True:
            client = self.listener.accept()[0]
            try:
                server = socket.create_connection(("10.250.0.1", 6443))
            except OSError:
                client.close()
                continue
            pair = {"sockets": (client, server), "dumb": False}
            with self.lock:
                self.pairs.append(pair)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(pair, source, sink), daemon=True).start()

    def pump(self, pair, source, sink):
        try:
            while data := source.recv(65536):
                if not pair["dumb"]:
                    sink.sendall(data)
        except OSError:
            pass
        if not pair["dumb"]:
            self.close(pair)

    def close(self, pair, reset=False):
        with self.lock:
            if pair not in self.pairs:
                return False
            self.pairs.remove(pair)
        for end in pair["sockets"]:
            try:
                if reset:  # connect(AF_UNSPEC): at once, though another thread is reading
                    libc.connect(end.fileno(), bytes(16), 16)
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        return True

    def cut(self):
        """Resets all there are; how many those were."""
        return sum(self.close(pair, True) for pair in list(self.pairs))

    def go_dumb(self):
        """Those there are stay open, and nothing comes through any more."""
        with self.lock:
            for pair in self.pairs:
                pair["dumb"] = True
            return len(self.pairs)

    def kubeconfig(self, path):
        """The same rights by way of this."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("10.250.0.1:6443", f"127.0.0.1:{self.port}"))


# ---- the controller ------------------------------------------------------------------------------
class Controller:
    all = []

    def __init__(self, scratch, name="one", config=None):
        self.scratch, self.config, self.process = scratch, config, None
        self.log = os.path.join(scratch, f"controller-{name}.log")

    def start(self):
        argv = [os.environ["KFTRAINER"], "controller", *(["--config", self.config] if self.config else [])]
        env = dict(os.environ, POD_NAMESPACE=TRAINER_NS, KFTRAINER_STRICT="1",
                   KUBECONFIG=os.path.join(self.scratch, "trainer.kubeconfig"))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(argv, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.all.append(self.process)
        return self

    @property
    def pid(self):
        return self.process.pid

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def kill(self, number=signal.SIGKILL):
        if self.runs():
            self.process.send_signal(number)
            self.process.wait(60)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def crashes(self):
        """What no log of a controller that was killed from outside may hold."""
        words = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "out of memory", "Assertion")
        return [line for line in self.text().splitlines() if any(word in line for word in words)]


def clean_up():
    admin().delete("Namespace", None, NS)


def webhooks_answer():
    status, answer, _ = admin().request("POST", api.path("TrainJob", "default") + "?dryRun=All",
                                        train_job("default", "probe", "there-is-none", False))
    said = answer.get("message", "")
    return [] if "there-is-none" in said else [f"{status} {said}"]


# ---- TrainJobs -----------------------------------------------------------------------------------
# Secrets (MPI, flux), a PodGroup each of two kinds, several jobs in a JobSet, ConfigMaps.
SPECS = {
    "torch": ("torch-distributed", {"numNodes": 2}),
    "mpi": ("deepspeed-distributed", {"numNodes": 2}),
    "flux": ("flux-distributed", {"numNodes": 2}),
    "jax": ("jax-distributed", {"numNodes": 1}),
    "xgboost": ("xgboost-distributed", {"numNodes": 2}),
    "gang": ("faults-gang", {"numNodes": 2}),
    "volcano": ("faults-volcano", {"numNodes": 2}),
}


def gang_runtime(name, policy):
    pod = {"containers": [{"name": "node", "image": "example.invalid/none"}]}
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {"name": "node", "template": {"metadata": {"labels": label}, "spec": {"template": {"spec": pod}}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
            "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
            "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "podGroupPolicy": policy,
                     "template": {"spec": {"replicatedJobs": [job]}}}}


def train_job(namespace, name, runtime, suspend, trainer=None):
    spec = {"runtimeRef": {"name": runtime}, "suspend": suspend}
    if trainer:
        spec["trainer"] = trainer
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec}


@atexit.register
def end_controllers():
    for process in Controller.all:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()


def set_up():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    a = admin()
    a.request("POST", api.path("Namespace"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
    problems = until(120, webhooks_answer)
    for runtime in (gang_runtime("faults-gang", {"coscheduling": {"scheduleTimeoutSeconds": 100}}),
                    gang_runtime("faults-volcano", {"volcano": {}})):
        status, answer, _ = a.request("POST", api.path("ClusterTrainingRuntime"), runtime)
        if status not in (201, 409):
            problems.append(f"{runtime['metadata']['name']}: {answer.get('message')}")
    return problems


class Job:
    """One name: what is to happen to it, and what should be there in the end."""

    def __init__(self, name, which, script):
        self.name, self.which, self.script = name, which, list(script)
        self.exists = self.suspended = self.complete = False
        self.uid = None

    def likeness(self):
        return self.which, self.suspended, self.complete


SCRIPTS = [  # of each job one, by chance
    ["create"], ["create"], ["create suspended"], ["create suspended", "resume"], ["create", "suspend"],
    ["create", "suspend", "resume"], ["create suspended", "resume", "suspend", "resume"],
    ["create", "delete"], ["create suspended", "delete"], ["create", "suspend", "delete"],
    ["create", "delete", "create"], ["create", "delete", "create suspended", "resume"],
    ["create", "complete"], ["create", "complete", "delete"],
]


class Workload:
    """Brings all jobs through their scripts, by several threads, in about that many seconds."""

    def __init__(self, n, seconds, seed, threads=8, prefix="j"):
        self.random = random.Random(seed)
        self.jobs = [Job(f"{prefix}{i:04d}", self.random.choice(list(SPECS)), self.random.choice(SCRIPTS))
                     for i in range(n)]
        if n:  # one that has a Secret and stays, whatever chance brings
            self.jobs[0] = Job(self.jobs[0].name, "mpi", ["create"])
        self.answers = collections.Counter()  # what the API server said when it refused
        self.lock, self.given_up, self.threads = threading.Lock(), [], []
        self.pause = seconds * threads / max(1, sum(len(job.script) for job in self.jobs))
        for i in range(threads):
            self.threads.append(threading.Thread(target=self.run, args=(self.jobs[i::threads], seed + i)))

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def join(self):
        for thread in self.threads:
            thread.join()
        return self.given_up

    def busy(self):
        return any(thread.is_alive() for thread in self.threads)

    def run(self, jobs, seed):
        a, chance = admin(), random.Random(seed)
        waiting = list(jobs)
        while waiting:
            job = waiting.pop(chance.randrange(len(waiting)))
            time.sleep(chance.uniform(0, 2 * self.pause))
            step = job.script.pop(0)
            if not self.step(a, job, step):
                with self.lock:
                    self.given_up.append(f"{job.name}: {step}: not done in time")
                continue
            if job.script:
                waiting.append(job)

    def step(self, a, job, step):
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            try:
                if getattr(self, "do_" + step.split()[0])(a, job, step):
                    return True
            except (OSError, api.http.client.HTTPException) as error:
                self.count(type(error).__name__)
            time.sleep(0.1)
        return False

    def count(self, what):
        with self.lock:
            self.answers[what] += 1

    def refused(self, status, answer):
        said = answer.get("message", "")
        self.count(f"{status} {re.split(': Post|dial tcp| [jkt][0-9]{4}|the object has', said)[0][:100]}")
        return False

    def do_create(self, a, job, step):
        runtime, trainer = SPECS[job.which]
        suspend = step.endswith("suspended")
        status, answer, _ = a.request("POST", api.path("TrainJob", NS), train_job(NS, job.name, runtime, suspend,
                                                                                 trainer))
        if status == 409 and job.uid:  # the one before is not gone; or our own try, which got no answer
            found = a.get("TrainJob", NS, job.name)
            if found[0] != 200 or found[1]["metadata"]["uid"] == job.uid:
                return False
            status, answer = 201, found[1]
        elif status == 409:
            status, answer, _ = a.get("TrainJob", NS, job.name)
        if status not in (200, 201):
            return self.refused(status, answer)
        job.exists, job.suspended, job.complete, job.uid = True, suspend, False, answer["metadata"]["uid"]
        return True

    def patch_suspend(self, a, job, value):
        status, answer, _ = a.request("PATCH", api.path("TrainJob", NS, job.name), {"spec": {"suspend": value}}, MERGE)
        if status != 200:
            return self.refused(status, answer)
        job.suspended = value
        return True

    def do_suspend(self, a, job, _):
        return self.patch_suspend(a, job, True)

    def do_resume(self, a, job, _):
        return self.patch_suspend(a, job, False)

    def do_delete(self, a, job, _):
        status, answer, _ = a.delete("TrainJob", NS, job.name)
        if status not in (200, 202, 404):
            return self.refused(status, answer)
        job.exists = False
        return True

    def do_complete(self, a, job, _):
        """As JobSet's controller says it of one whose pods have all succeeded."""
        status, jobset, _ = a.get("JobSet", NS, job.name)
        if status != 200 or jobset["metadata"]["ownerReferences"][0]["uid"] != job.uid:
            return False  # not there yet
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        done = {"type": "Completed", "status": "True", "reason": "AllJobsCompleted",
                "message": "jobset completed successfully", "lastTransitionTime": now}
        status, answer, _ = a.request("PATCH", api.path("JobSet", NS, job.name, "status"),
                                      {"status": {"conditions": [done], "terminalState": "Completed"}}, MERGE)
        if status != 200:
            return self.refused(status, answer)
        job.complete = True
        return True


# ---- what must be true ---------------------------------------------------------------------------
def owner(obj):
    return next((o for o in obj["metadata"].get("ownerReferences", []) if o.get("controller")), None)


def digest(data):
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


class Watcher(threading.Thread):
    """Looks at all Secrets and JobSets twice a second: of a TrainJob each is the same one for ever."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.problems, self.end = {}, [], threading.Event()
        self.looks = 0

    def look(self, a):
        objects = [obj for kind in ("Secret", "JobSet") for obj in a.items(kind, NS)]
        # Those of a TrainJob that has just gone may be made once more: the garbage collector has them.
        alive = {obj["metadata"]["uid"] for obj in a.items("TrainJob", NS)}
        for obj in objects:
            meta, of = obj["metadata"], (owner(obj) or {}).get("uid")
            now = meta["uid"], digest(obj.get("data"))
            was = self.seen.setdefault((meta["name"], of, "data" in obj), now)
            if was != now and of in alive:
                self.problems.append(f"{meta['name']} of {of} was recreated: {was}, {now}")
        self.looks += 1

    def run(self):
        a = admin()
        while not self.end.wait(0.5):
            try:
                self.look(a)
            except (OSError, api.http.client.HTTPException):
                pass  # the API server is being restarted

    def stop(self):
        self.end.set()
        self.join()
        return self.problems + ([] if self.looks else ["nothing was looked at"])


def shape(obj, name):
    """What must be equal in any two TrainJobs of one likeness."""
    meta = obj["metadata"]
    kept = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    kept["labels"], kept["annotations"] = meta.get("labels"), meta.get("annotations")
    kept["owners"] = [{key: o.get(key) for key in ("kind", "name", "controller", "blockOwnerDeletion")}
                      for o in meta.get("ownerReferences", [])]
    if obj["kind"] == "Secret":
        kept["data"] = sorted(obj.get("data", {}))
    return json.dumps(kept, sort_keys=True).replace(name, "NAME")


def story(tj):
    """Conditions and state. `Suspended: False` tells of a suspension that one controller saw and another did not."""
    status = tj.get("status", {})
    held = sorted((c["type"], c.get("reason"), c.get("message")) for c in status.get("conditions", [])
                  if c["status"] == "True")
    return {"state": status.get("state"), "true": held}


class World:
    def __init__(self, a):
        self.objects = {kind: a.items(kind, NS) for kind in KINDS}
        for kind, items in self.objects.items():
            for obj in items:
                obj.setdefault("kind", kind.split(".")[0])
        self.jobs = {obj["metadata"]["name"]: obj for obj in self.objects["TrainJob"]}
        self.of = collections.defaultdict(list)
        for kind in ("JobSet", "Secret", "ConfigMap", *KINDS[-2:]):
            for obj in self.objects[kind]:
                if owner(obj):
                    self.of[owner(obj)["uid"]].append(obj)

    def orphans(self):
        uids = {obj["metadata"]["uid"] for items in self.objects.values() for obj in items}
        return [f"{kind} {obj['metadata']['name']} outlives its owner" for kind, items in self.objects.items()
                for obj in items for ref in obj["metadata"].get("ownerReferences", []) if ref["uid"] not in uids]

    def likeness(self, name):
        """All that belongs to a TrainJob, without its name."""
        tj = self.jobs[name]
        parts = sorted(shape(obj, name) for obj in self.of[tj["metadata"]["uid"]])
        return {"story": story(tj), "objects": parts + [json.dumps(tj["spec"], sort_keys=True)]}


def wrong(world, job):
    """What is not as it should be of one job."""
    tj = world.jobs.get(job.name)
    if not job.exists:
        return [f"{job.name} is still there"] if tj else []
    if not tj:
        return [f"{job.name} is lost"]
    if tj["metadata"]["uid"] != job.uid:
        return [f"{job.name} is another one"]
    jobsets = [obj for obj in world.of[job.uid] if obj["kind"] == "JobSet"]
    if len(jobsets) != 1:
        return [f"{job.name} has {len(jobsets)} JobSets"]
    spec = jobsets[0]["spec"]
    if not job.complete and bool(spec.get("suspend")) != job.suspended:
        return [f"JobSet {job.name}: suspend is {spec.get('suspend')}"]
    want = "Complete" if job.complete else "Suspended" if job.suspended else None
    held = [c["type"] for c in tj.get("status", {}).get("conditions", []) if c["status"] == "True"]
    if held != ([want] if want else []):
        return [f"{job.name}: conditions {held}, wanted {want}"]
    # Not compared with a twin's: where a Job is recreated, Kubernetes' own controller may lose its pods and wait.
    counts, told = jobsets[0].get("status", {}).get("replicatedJobsStatus"), tj.get("status", {}).get("jobsStatus")
    return [] if counts == told else [f"{job.name}: jobsStatus {told}, the JobSet's {counts}"]


def all_wrong(world, jobs):
    return [problem for job in jobs for problem in wrong(world, job)]


def differs(a, b):
    """Where two likenesses differ, shortly."""
    if a["story"] != b["story"]:
        return f"status {a['story']} and {b['story']}"
    for left, right in zip(a["objects"], b["objects"]):
        if left != right:
            at = next(i for i, (x, y) in enumerate(zip(left + "\0", right + "\0")) if x != y)
            return f"...{left[max(0, at - 80):at + 80]}... and ...{right[max(0, at - 80):at + 80]}..."
    return f"{len(a['objects'])} and {len(b['objects'])} objects"


def as_undisturbed(world, jobs, twins):
    problems = []
    for job in jobs:
        twin = twins.get(job.likeness())
        if not job.exists or not twin:
            continue
        is_, want = world.likeness(job.name), world.likeness(twin.name)
        if is_ != want:
            problems.append(f"{job.name} and {twin.name} {job.likeness()}: {differs(is_, want)}")
    return problems


def make_twins(jobs):
    """A TrainJob of each likeness there is, made while nothing disturbs: what the others must look like."""
    work, twins = Workload(0, 0, 0), {}
    for like in sorted({job.likeness() for job in jobs if job.exists}):
        which, suspended, complete = like
        script = ["create suspended" if suspended else "create"] + (["complete"] if complete else [])
        twin = Job(f"t{len(twins):04d}", which, [])
        a = admin()
        for step in script:
            if not work.step(a, twin, step):
                work.given_up.append(f"{twin.name}: {step}: not done in time")
        twins[like] = twin
    return twins, work.given_up


def judge(tap, jobs, watcher, seconds=400):
    """After the faults, with a controller that runs."""
    a = admin()
    left = sum(job.exists for job in jobs)
    tap.check(f"each of the {left} TrainJobs left has its one JobSet and its conditions",
              until(seconds, lambda: all_wrong(World(a), jobs)))
    twins, given_up = make_twins(jobs)
    tap.check("the controller does its work",
              given_up or until(seconds, lambda: all_wrong(World(a), twins.values())))
    tap.check(f"they are like {len(twins)} that nothing disturbed",
              until(seconds, lambda: as_undisturbed(World(a), jobs, twins)))
    tap.check("nothing is left of those that are gone", until(seconds, lambda: World(a).orphans()))
    tap.check("no Secret and no JobSet was recreated", watcher.stop())
    again = [f"Secret {name} was written {n} times" for name, n in writes_of("secrets", NS).items() if n != 1]
    secrets = [s for s in a.items("Secret", NS) if owner(s)]
    tap.check(f"none of the {len(secrets)} Secrets was written twice", again or ([] if secrets else ["there are none"]))
