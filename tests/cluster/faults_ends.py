"""For faults_scenes.py: finished TrainJobs go after their time to live, once, never early, whatever happens to the
controller. They end by a deadline of a second: no pod has to be reported on."""
import calendar
import os
import re
import signal
import threading
import time
import api
from faults import MERGE, NS, Controller, admin, note, set_up, until

CONFIG = ("apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
          "leaderElection: {leaderElect: false}\n")
LARGEST = "2147483647|of type integer with format int32"  # Kubernetes 1.34, 1.37
JSON_PATCH = "application/json-patch+json"


def seconds(stamp):
    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))


class Ends(threading.Thread):
    """When each TrainJob ended and when its deletion was accepted, by uid, as the API server has it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ended, self.deleted, self.names = {}, {}, {}
        self.version = admin().get("TrainJob", NS)[1]["metadata"]["resourceVersion"]

    def run(self):
        url = api.path("TrainJob", NS)
        while True:
            try:
                for event in admin().stream(f"{url}?watch=1&resourceVersion={self.version}"):
                    self.see(event)
            except (OSError, api.http.client.HTTPException):
                time.sleep(0.3)

    def see(self, event):
        meta, status = event["object"]["metadata"], event["object"].get("status", {})
        uid, self.version = meta["uid"], meta["resourceVersion"]
        self.names[uid] = meta["name"]
        if "completionTime" in status:
            self.ended.setdefault(uid, status["completionTime"])
        if "deletionTimestamp" in meta:
            self.deleted.setdefault(uid, meta["deletionTimestamp"])

    def early(self, ttl):
        """Those that were deleted before their end plus their TTL, of which ttl() is told the name."""
        return [f"{self.names[uid]} ended at {self.ended.get(uid)} and was deleted at {when}"
                for uid, when in self.deleted.items() if ttl(self.names[uid]) is not None and
                (uid not in self.ended or seconds(when) - seconds(self.ended[uid]) < ttl(self.names[uid]))]


def runtime(name, policy, jobset=None):
    pod = {"containers": [{"name": "node", "image": "example.invalid/none"}]}
    job = {"name": "node", "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": pod}}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
            "metadata": {"name": name, "namespace": NS, "labels": {"trainer.kubeflow.org/framework": "plain"}},
            "spec": {"runPolicy": policy, "template": {"spec": {"replicatedJobs": [job], **(jobset or {})}}}}


def train_job(name, of, spec=None, finalizers=None):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": name, "namespace": NS, "finalizers": finalizers or []},
            "spec": {"runtimeRef": {"name": of, "kind": "TrainingRuntime"}, **(spec or {})}}


def create(a, obj):
    status, answer, warnings = a.request("POST", api.path(obj["kind"], NS), obj)
    return status, answer.get("message", ""), warnings


def patch(a, name, change, kind="TrainJob", sub=None):
    return a.request("PATCH", api.path(kind, NS, name, sub), change, MERGE)[0]


def left(a, prefix):
    """What still is there of TrainJobs with such names."""
    return [f"{kind} {obj['metadata']['name']}" for kind in ("TrainJob", "JobSet", "Job", "Pod", "ConfigMap")
            for obj in a.items(kind, NS) if obj["metadata"]["name"].startswith(prefix)]


def lacks(a, name, what):
    """The TrainJob's status, or metadata, lacks this member."""
    obj = a.get("TrainJob", NS, name)[1]
    return [] if what in obj.get("status", {}) or what in obj.get("metadata", {}) else [f"{name} has no {what}"]


def told(a, name, reason):
    """How often the controller has told that of the TrainJob."""
    return sum((event.get("series") or {}).get("count") or event.get("count") or 1 for event in a.items("Event", NS)
               if event["reason"] == reason and event["involvedObject"]["name"] == name)


def refused(tap, a):
    for what, ttl, word in (("negative", -1, "greater than or equal to 0"), ("too large", 1 << 31, LARGEST),
                            ("a text", "5", "string")):
        status, message, _ = create(a, train_job("bad", "ends", {"ttlSecondsAfterFinished": ttl}))
        tap.check(f"a TTL that is {what} is refused", [] if status in (403, 422) and re.search(word, message) else [status, message])
    for policy, word in (({"activeDeadlineSeconds": 0}, "greater than or equal to 1"),
                         ({"ttlSecondsAfterFinished": -1}, "greater than or equal to 0")):
        status, message, _ = create(a, runtime("bad", policy))
        tap.check(f"runPolicy {policy} is refused", [] if status == 422 and word in message else [status, message])
    status, _, warnings = create(a, runtime("jobset", {"ttlSecondsAfterFinished": 3600}, {"ttlSecondsAfterFinished": 1}))
    tap.check("a TTL of the JobSet's template beside it is admitted, with a warning",
              [] if status == 201 and any("runPolicy" in w for w in warnings) else [status, warnings])


def many(tap, a, one, n, ttl):
    """n jobs at once; the controller is killed before they end, and around the time when they go."""
    for i in range(n):
        create(a, train_job(f"many-{i}", "ends"))
    time.sleep(1)
    one.kill()
    one.start()
    tap.check(f"{n} jobs end by the deadline of their runtime", until(60 + n // 10, lambda: [
        obj["metadata"]["name"] for obj in a.items("TrainJob", NS)
        if obj["metadata"]["name"].startswith("many-") and "completionTime" not in obj.get("status", {})]))
    for _ in range(2):
        time.sleep(ttl / 3)
        one.kill()
        one.start()
    begin = time.process_time(), time.monotonic()
    tap.check("they go, with all that they own", until(60 + n // 5, lambda: left(a, "many-")))
    with open(f"/proc/{one.pid}/stat", encoding="ascii") as stat:
        used = sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    note(f"{n} were gone after {time.monotonic() - begin[1]:.1f} s; the controller used {used:.2f} s of CPU")


def finalizer(tap, a):
    create(a, train_job("kept", "ends", {"ttlSecondsAfterFinished": 0}, ["example.com/keeps"]))
    tap.check("a finalizer: the job is being deleted", until(30, lambda: lacks(a, "kept", "deletionTimestamp")))
    time.sleep(3)  # in which a controller that tries again would do so
    patch(a, "kept", {"metadata": {"annotations": {"look": "again"}}})
    tap.check("... once", until(10, lambda: [] if (n := told(a, "kept", "Expired")) == 1 else [f"{n} deletions"]))
    tap.check("... and its JobSet is not made again", [f"{kind} {obj['metadata']['name']}" for kind in ("JobSet", "Pod")
                                                       for obj in a.items(kind, NS)
                                                       if obj["metadata"]["name"].startswith("kept")])
    a.request("PATCH", api.path("TrainJob", NS, "kept"), [{"op": "remove", "path": "/metadata/finalizers/0"}], JSON_PATCH)
    tap.check("... and goes without it", until(30, lambda: left(a, "kept")))


def edited(tap, a):
    create(a, train_job("long", "ends", {"ttlSecondsAfterFinished": (1 << 31) - 1}))
    create(a, train_job("again", "ends", {"ttlSecondsAfterFinished": 6}))
    tap.check("the job's own TTL wins", until(30, lambda: lacks(a, "long", "completionTime")))
    until(30, lambda: lacks(a, "again", "completionTime"))
    a.delete("TrainJob", NS, "again", "Foreground")
    until(30, lambda: left(a, "again"))
    create(a, train_job("again", "plain"))
    tap.true("a TTL of a finished job can be changed", patch(a, "long", {"spec": {"ttlSecondsAfterFinished": 0}}) == 200)
    tap.check("... and counts at once", until(30, lambda: left(a, "long")))
    time.sleep(6)
    tap.true("a new job of a name does not inherit the TTL of the old one", a.get("TrainJob", NS, "again")[0] == 200)


def jobset_ttl(tap, a):
    create(a, train_job("inner", "jobset"))
    until(30, lambda: [] if [p for p in a.items("Pod", NS) if p["metadata"]["name"].startswith("inner")] else ["no pod"])
    for pod in a.items("Pod", NS):
        if pod["metadata"]["name"].startswith("inner"):
            patch(a, pod["metadata"]["name"], {"status": {"phase": "Succeeded"}}, "Pod", "status")
    tap.check("a JobSet goes by a TTL of its own", until(60, lambda: lacks(a, "inner", "completionTime") or [
        obj["metadata"]["name"] for obj in a.items("JobSet", NS) if obj["metadata"]["name"] == "inner"]))
    patch(a, "inner", {"metadata": {"annotations": {"look": "again"}}})
    time.sleep(3)
    tap.check("... and does not come back; the TrainJob stays", [
        what for what in left(a, "inner") if what.split()[0] in ("JobSet", "Job", "Pod")] or
              ([] if a.get("TrainJob", NS, "inner")[0] == 200 else ["it is gone"]))


def clock(tap, a, one, set_clock):
    create(a, train_job("hour", "ends", {"ttlSecondsAfterFinished": 3600}))
    create(a, train_job("deadline", "plain", {"activeDeadlineSeconds": 3600}))
    until(30, lambda: lacks(a, "hour", "completionTime"))
    for what, restart in (("while it works", False), ("before it starts", True)):
        if restart:
            one.kill()
        set_clock(7200)
        if restart:
            one.start()
        time.sleep(3)
        patch(a, "hour", {"metadata": {"annotations": {"look": what}}})
        time.sleep(2)
        tap.true(f"a clock that jumps by two hours {what} deletes nothing", a.get("TrainJob", NS, "hour")[0] == 200)
        patch(a, "deadline", {"metadata": {"annotations": {"look": what}}})
        time.sleep(2)
        tap.true("... and ends nothing by its deadline", lacks(a, "deadline", "completionTime"))
        set_clock(0)
    patch(a, "hour", {"spec": {"ttlSecondsAfterFinished": 1}})
    tap.check("... and when it is right again, the job goes", until(60, lambda: left(a, "hour")))


def scene_ends(tap, scratch):
    """Finished jobs go after their time to live."""
    config, shift, ttl = f"{scratch}/ends.yaml", f"{scratch}/clock", int(os.environ.get("FAULTS_TTL") or 9)
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONFIG)

    def set_clock(by):
        with open(shift + ".new", "w", encoding="ascii") as file:
            file.write(str(by))
        os.rename(shift + ".new", shift)
    set_clock(0)
    os.environ["SHIFTED_CLOCK"] = shift
    one, a = Controller(scratch, "ends", config).start(), admin()
    tap.check("the controller serves", set_up())
    create(a, runtime("ends", {"activeDeadlineSeconds": 1, "ttlSecondsAfterFinished": ttl}))
    create(a, runtime("plain", {}))
    watch = Ends()
    watch.start()
    refused(tap, a)
    many(tap, a, one, int(os.environ.get("FAULTS_JOBS") or 40), ttl)
    finalizer(tap, a)
    edited(tap, a)
    jobset_ttl(tap, a)
    clock(tap, a, one, set_clock)
    tap.check("none of them went early", watch.early(lambda name: ttl if name.startswith("many-") else None))
    tap.true("... of those that were seen", sum(name.startswith("many-") for name in watch.names.values()) > 1)
    tap.check("it never crashed by itself", one.crashes())
    one.kill(signal.SIGTERM)
    tap.true("asked to end, it ends well", one.process.returncode == 0)
