"""How long users wait for the controller, and what that costs (cluster_bench.py: rows `latency` and `life`).

Times are those at which a watch shows a change to a client. A row is (name, value, unit, conditions, target)."""
import json
import statistics
import threading
import time

import api
from faults import MERGE, admin, train_job


class Seen(threading.Thread):
    """When a watch first showed what: {(name, what): seconds}. `what(obj)` gives the words of an object."""

    def __init__(self, kind, namespace, what):
        super().__init__(daemon=True)
        self.what, self.times, self.more = what, {}, threading.Condition()
        client = admin()
        version = client.get(kind, namespace)[1]["metadata"]["resourceVersion"]
        self.events = client.stream(f"{api.path(kind, namespace)}?watch=1&resourceVersion={version}")
        self.start()

    def run(self):
        for event in self.events:
            now = time.monotonic()
            words = ["gone"] if event["type"] == "DELETED" else self.what(event["object"])
            with self.more:
                for word in words:
                    self.times.setdefault((event["object"]["metadata"]["name"], word), now)
                self.more.notify_all()

    def forget(self, name):
        with self.more:
            self.times = {key: value for key, value in self.times.items() if key[0] != name}

    def wait(self, name, word, seconds=300):
        with self.more:
            if not self.more.wait_for(lambda: (name, word) in self.times, seconds):
                raise SystemExit(f"bench: {name} is not {word} after {seconds} s")
            return self.times[name, word]


def told(tj):
    """Of a TrainJob: that it has a status, what its Suspended condition says, each jobsStatus."""
    status = tj.get("status", {})
    suspended = [c["status"] for c in status.get("conditions", []) if c["type"] == "Suspended"]
    ended = [c["type"] for c in status.get("conditions", []) if c["type"] in ("Complete", "Failed")
             and c["status"] == "True"]
    return (["status"] if status else []) + [f"suspended {s}" for s in suspended] + ended + counts(
        status.get("jobsStatus"))


def made(jobset):
    spec = "suspended True" if jobset["spec"].get("suspend") else "suspended False"
    return ["there", spec] + counts(jobset.get("status", {}).get("replicatedJobsStatus"))


def counts(jobs):
    names = ("active", "ready", "succeeded", "failed", "suspended")
    return [json.dumps([[job["name"]] + [job.get(n, 0) for n in names] for job in jobs])] if jobs else []


def middle(name, seconds, target):
    """The median, in ms."""
    return name, statistics.median(seconds) * 1000, "ms", f"as a watch shows it; median of {len(seconds)}, one after the other", target


class Scene:
    def __init__(self, namespace):
        self.ns, self.a = namespace, admin()
        self.trainjobs, self.jobsets = Seen("TrainJob", namespace, told), Seen("JobSet", namespace, made)
        self.followed = []

    def create(self, name, suspend, a=None, trainer=None):
        begin = time.monotonic()
        status, answer, _ = (a or self.a).request("POST", api.path("TrainJob", self.ns), train_job(
            self.ns, name, "torch-distributed", suspend, trainer or {"numNodes": 2}))
        if status != 201:
            raise SystemExit(f"bench: {answer.get('message')}")
        return begin

    def suspend(self, name, is_):
        """Seconds until the JobSet, and until the status, says so."""
        word = f"suspended {is_}"
        self.followed += self.follows(name)
        for seen in (self.trainjobs, self.jobsets):
            seen.forget(name)
        begin = time.monotonic()
        self.a.request("PATCH", api.path("TrainJob", self.ns, name), {"spec": {"suspend": is_}}, MERGE)
        return self.jobsets.wait(name, word) - begin, self.trainjobs.wait(name, word) - begin

    def delete(self, name):
        begin = time.monotonic()
        self.a.delete("TrainJob", self.ns, name, "Background")
        return self.trainjobs.wait(name, "gone") - begin

    def follows(self, name):
        """From each numbers of a JobSet to the TrainJob's: those that were told."""
        with self.trainjobs.more, self.jobsets.more:
            return [when - self.jobsets.times[key] for key, when in self.trainjobs.times.items()
                    if key[0] == name and key[1][0] == "[" and key in self.jobsets.times]

    def settle(self, name, seconds=60):
        """Until the TrainJob has shown numbers of its JobSet, and for half a second at least."""
        end = time.monotonic() + seconds
        time.sleep(0.5)
        while not self.follows(name) and time.monotonic() < end:
            time.sleep(0.05)

    def wave(self, n, at_once):
        names = [f"w{n}-{i:04d}" for i in range(n)]
        begin = time.monotonic()
        thread = threading.Thread(target=at_once, args=(n, 16, lambda a, i: self.create(names[i], True, a)))
        thread.start()
        return names, begin, thread

    def end_of(self, names):
        there = [self.jobsets.wait(name, "there") for name in names]
        status = [self.trainjobs.wait(name, "status") for name in names]
        return there, status


def alone(scene, n=10):
    jobset, first, resume, suspend = [], [], [], []
    for i in range(n):
        name = f"alone{i}"
        begin = scene.create(name, True)
        there = scene.jobsets.wait(name, "there")
        jobset.append(there - begin)
        first.append(scene.trainjobs.wait(name, "suspended True") - there)
        resume.append(max(scene.suspend(name, False)))
        scene.settle(name)
        suspend.append(max(scene.suspend(name, True)))
        scene.delete(name)
    return [middle("one TrainJob: to its JobSet", jobset, "≤ 250 ms"), middle("... from its JobSet to its first status", first, "≤ 500 ms"),
            middle("... resumed: JobSet and status", resume, "≤ 250 ms"), middle("... suspended: JobSet and status", suspend, "≤ 250 ms"),
            middle("from a change of a JobSet to the status", scene.followed, "≤ 500 ms")]


def wave_of(scene, at_once, n):
    names, begin, thread = scene.wave(n, at_once)
    thread.join()
    there, status = scene.end_of(names)
    at_once(n, 8, lambda a, i: a.delete("TrainJob", scene.ns, names[i], "Background"))
    for name in names:
        scene.trainjobs.wait(name, "gone")
    return [(f"a wave of {n}: to the last status", max(status) - begin, "s", f"{n} TrainJobs created by 16 connections, one wave", "≤ upstream's"),
            ("... from a JobSet to its first status", max(s - t for s, t in zip(status, there)), "s", "the longest of that wave", "≤ 1 s")]


def ahead(scene, other, at_once, n):
    """Operations on one job while a wave of its own namespace is on its way; another tenant's job."""
    scene.create("old", False)
    scene.jobsets.wait("old", "there")
    time.sleep(1)
    names, _, thread = scene.wave(n, at_once)
    time.sleep(0.5)
    suspend = max(scene.suspend("old", True))
    begin = other.create("single", True)
    single = other.jobsets.wait("single", "there") - begin
    thread.join()
    scene.end_of(names)
    how = f"begun 0.5 s after a wave of {n} in its namespace, once"
    return [("in such a wave: suspend of an older TrainJob", suspend, "s", how, "≤ 0.5 s"),
            ("... another tenant's TrainJob to its JobSet", single, "s", "then, in a namespace of its own", "≤ 1 s more than alone")]


# ---- a life --------------------------------------------------------------------------------------
def set_pods(a, ns, job, phase, ready):
    done = 0
    for pod in a.items("Pod", ns):
        if pod["metadata"].get("labels", {}).get("jobset.sigs.k8s.io/jobset-name") != job:
            continue
        a.request("PATCH", api.path("Pod", ns, pod["metadata"]["name"], "status"), {"status": {
            "phase": phase, "conditions": [{"type": "Ready", "status": ready}]}}, MERGE)
        done += 1
    return done


def lives(scene, n, pods=8):
    """n TrainJobs from creation over 8 running pods each to their end and deletion."""
    names = [f"life{i}" for i in range(n)]
    for name in names:
        scene.create(name, False, trainer={"numNodes": pods})
    for phase, ready, word in (("Running", "True", None), ("Succeeded", "False", "Complete")):
        for name in names:
            while set_pods(scene.a, scene.ns, name, phase, ready) < pods:
                time.sleep(0.2)
        for name in names if word else ():
            scene.trainjobs.wait(name, word)
        time.sleep(2)
    for name in names:
        scene.delete(name)
    time.sleep(3)
