"""How long users wait for the controller, and what that costs (cluster_bench.py: rows `latency` and `life`).

Times are those at which a watch shows a change to a client; a row tells p50, p99 and the longest.
With BENCH_UPSTREAM (a program: upstream's trainer-controller-manager) the same is measured with that in
our place, on the same cluster, by turns."""
import json
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


def spread(seconds):
    list_ = sorted(seconds)
    at = [list_[min(len(list_) - 1, int(len(list_) * share))] * 1000 for share in (0.5, 0.99)]
    return f"{at[0]:.0f} / {at[1]:.0f} / {list_[-1] * 1000:.0f} ms"


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


def alone(line, scene, n=20):
    jobset, first, resume, suspend, gone = [], [], [], [], []
    for i in range(n):
        name = f"alone{i}"
        begin = scene.create(name, True)
        there = scene.jobsets.wait(name, "there")
        jobset.append(there - begin)
        first.append(scene.trainjobs.wait(name, "suspended True") - there)
        resume.append(max(scene.suspend(name, False)))
        time.sleep(0.5)
        suspend.append(max(scene.suspend(name, True)))
        gone.append(scene.delete(name))
    line("  one TrainJob alone: to its JobSet (p50/p99/most)", spread(jobset), "p99 <= 250 ms")
    line("  ... from its JobSet to its first status", spread(first), "p99 <= 500 ms")
    line("  ... resumed, JobSet and status", spread(resume), "p99 <= 250 ms")
    line("  ... suspended, JobSet and status", spread(suspend), "p99 <= 250 ms")
    line("  from a change of a JobSet to the status", spread(scene.followed), "p99 <= 500 ms")


def waves(line, scene, others, at_once, n):
    names, begin, thread = scene.wave(n, at_once)
    thread.join()
    there, status = scene.end_of(names)
    line(f"  a wave of {n}: to the last JobSet / status",
         f"{max(there) - begin:.1f} / {max(status) - begin:.1f} s", "no slower than upstream")
    line("  ... from each JobSet to its first status", spread(s - t for s, t in zip(status, there)),
         "<= 1 s (100), <= 2 s (500)")
    at_once(n, 8, lambda a, i: a.delete("TrainJob", scene.ns, names[i], "Background"))
    for name in names:
        scene.trainjobs.wait(name, "gone")


def ahead(line, scene, other, at_once, n):
    """Operations on one job while a wave of its own namespace is on its way; another tenant's job."""
    for name in ("old", "older"):
        scene.create(name, False)
        scene.jobsets.wait(name, "there")
    time.sleep(1)
    names, _, thread = scene.wave(n, at_once)
    time.sleep(0.5)
    suspend = max(scene.suspend("old", True))
    begin = other.create("single", True)
    single = other.jobsets.wait("single", "there") - begin
    resume = max(scene.suspend("old", False))
    gone = scene.delete("older")
    thread.join()
    scene.end_of(names)
    line(f"  in a wave of {n}: suspend, resume, delete of an old job",
         f"{suspend * 1000:.0f}, {resume * 1000:.0f}, {gone * 1000:.0f} ms", "<= 500 ms")
    line("  ... another tenant's single job, to its JobSet", f"{single * 1000:.0f} ms", "<= 1 s more than alone")


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
