#!/usr/bin/python3
"""Figures of large jobs and many of them, on nodes that kwok plays (cluster.sh starts it). Settings: SCALE_PARTS (all of:
finished large many), SCALE_NODES (500), SCALE_LARGE (nodes of the large job, 5,000), SCALE_JOBS (100, of 8 nodes each),
SCALE_SECONDS (in which those are created, 360: a tenth of an hour of 1,000), SCALE_FINISHED (10,000)."""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
import api  # noqa: E402
import faults  # noqa: E402
import latency  # noqa: E402
from cluster_bench import at_once, config, cpu, in_pages, must, namespace, rss, wait_for  # noqa: E402
from faults import Controller, admin, until, webhooks_answer  # noqa: E402
from row import row  # noqa: E402

PARTS = (os.environ.get("SCALE_PARTS") or "finished large many").split()
NODES, LARGE, JOBS, SECONDS, FINISHED = (int(os.environ.get(f"SCALE_{name}") or value) for name, value in (
    ("NODES", 500), ("LARGE", 5000), ("JOBS", 100), ("SECONDS", 360), ("FINISHED", 10000)))
SEED = int(os.environ.get("SEED") or 1)
KFTRAINER = os.environ["KFTRAINER"]
LIVES = (2, 10, 30)  # seconds that the pods of a job run


def nodes():
    room = {"cpu": "1000", "memory": "4Ti", "pods": "1000"}
    at_once(NODES, 8, lambda a, i: must(a.request("POST", api.path("Node"), {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": f"kwok-{i:04d}"},
        "status": {"capacity": room, "allocatable": room}}), 201))
    wait_for(300, lambda: sum(any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
                              and not node["spec"].get("taints") for node in in_pages("Node", None)), NODES, 1)


def runtime(ns, name, annotations, mpi=False):
    pod = {"metadata": {"annotations": annotations},
           "spec": {"containers": [{"name": "node", "image": "example.invalid/none", "command": ["train"]}]}}
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    jobs = [{"name": "node", "template": {"metadata": {"labels": label}, "spec": {"backoffLimit": 0, "template": pod}}}]
    policy = {"numNodes": 1, "torch": {}}
    if mpi:
        jobs = [{"name": "launcher", "template": {"metadata": {"labels": label}, "spec": {"template": pod}}},
                {"name": "node", "template": {"spec": {"template": pod}}}]
        policy = {"numNodes": 1, "mpi": {"numProcPerNode": 8, "mpiImplementation": "OpenMPI"}}
    must(admin().request("POST", api.path("TrainingRuntime", ns), {
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}}}), 201)


def job(ns, name, of, n, suspend=False):
    found = faults.train_job(ns, name, of, suspend, {"numNodes": n})
    found["spec"]["runtimeRef"].update(kind="TrainingRuntime", apiGroup="trainer.kubeflow.org")
    return found


def command(*argv, code=0):
    """Seconds and peak MB of one command of the program, and what it printed."""
    with tempfile.NamedTemporaryFile("r") as report:
        begin = time.perf_counter()
        done = subprocess.run(["/usr/bin/time", "-f", "%M", "-o", report.name, KFTRAINER, *argv], capture_output=True, text=True)
        took = time.perf_counter() - begin
        if done.returncode != code:
            sys.exit(f"bench: {' '.join(argv)}: {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")
        return took, int(report.read().split()[-1]) / 1024, done.stdout


class Peak(threading.Thread):
    """The most memory of a process while it is watched, and its CPU since then."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.before, self.end = pid, rss(pid), cpu(pid), threading.Event()
        self.start()

    def run(self):
        while not self.end.wait(0.5):
            self.most = max(self.most, rss(self.pid))

    def stop(self):
        self.end.set()
        self.join()
        return max(self.most, rss(self.pid)), cpu(self.pid) - self.before


# ---- finished ones -------------------------------------------------------------------------------
def part_finished(one):
    """TrainJobs that ended long ago: Complete, as a restart of the controller finds them."""
    ns = namespace("scale-finished")
    runtime(ns, "runs", {})
    at_once(FINISHED, 8, lambda a, i: must(a.request("POST", api.path("TrainJob", ns), job(ns, f"f{i:05d}", "runs", 2, True)), 201))
    status = {"status": {"conditions": [{"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "message": "",
                                         "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    at_once(FINISHED, 8, lambda a, i: must(a.request("PATCH", f"{api.path('TrainJob', ns)}/f{i:05d}/status", status, faults.MERGE), 200))
    time.sleep(30)
    watch = Peak(one.pid)
    time.sleep(60)
    memory, used = watch.stop()
    row(f"memory with {FINISHED:,} finished TrainJobs", memory, "MB", f"RSS, after they ended; {used:.1f} s of CPU in the minute after that", "≤ 64 MB")


# ---- a large one ---------------------------------------------------------------------------------
def ready(jobs):
    return [f"ready {job.get('ready', 0)}" for job in jobs or []]


def submit(ns, name, of, n):
    path = f"{sys.argv[1]}/{name}.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(job(ns, name, of, n), file)
    return command("submit", "--dry-run=server", "-n", ns, path)


def part_large(one):
    ns = namespace("scale-large")
    runtime(ns, "runs", {})
    runtime(ns, "mpi", {}, mpi=True)
    for of in ("runs", "mpi"):
        half, took = submit(ns, "half", of, LARGE // 2)[0], submit(ns, "whole", of, LARGE)
        row(f"`submit --dry-run=server`, {LARGE:,} nodes{' of MPI' if of == 'mpi' else ''}", took[0], "s",
            f"one run, {took[1]:.1f} MB; {half:.2g} s with half as many", "≤ 2.5 × the half")
    watch = Peak(one.pid)
    seen = [latency.Seen("JobSet", ns, lambda o: ready(o.get("status", {}).get("replicatedJobsStatus"))),
            latency.Seen("TrainJob", ns, lambda o: ready(o.get("status", {}).get("jobsStatus")))]
    begin = time.monotonic()
    must(admin().request("POST", api.path("TrainJob", ns), job(ns, "large", "runs", LARGE)), 201)
    times = [each.wait("large", "ready 1", 3000) for each in seen]
    row(f"a TrainJob of {LARGE:,} nodes: status after the JobSet's", times[1] - times[0], "s",
        f"as watches show that all pods run, {times[0] - begin:.0f} s after the creation", "≤ 1 s")
    time.sleep(5)
    memory, used = watch.stop()
    row("... memory of the controller", memory, "MB", f"peak RSS; {used:.1f} s of CPU", "≤ 64 MB")
    one.kill()
    start(one)
    watch = Peak(one.pid)
    time.sleep(30)
    memory, used = watch.stop()
    row("... of one that starts then", memory, "MB", f"peak RSS of 30 s; {used:.1f} s of CPU", "≤ 64 MB")
    for argv in (["why", "large"], ["get", "large"], ["get", "large", "-o", "wide"], ["events", "large"]):
        took, memory, text = command(*argv, "-n", ns)
        row(f"... `{' '.join(argv[:1] + argv[2:])}`", took, "s", f"whole process, {memory:.1f} MB, {len(text):,} bytes", "≤ 2 s and ≤ 64 MB" if argv[0] == "why" else "")
    victims = [pod["metadata"]["name"] for pod in in_pages("Pod", ns)][:3]
    for name in victims:
        admin().request("PATCH", f"{api.path('Pod', ns)}/{name}/status", {"status": {"phase": "Failed", "containerStatuses": [{
            "name": "node", "image": "x", "imageID": "", "ready": False, "restartCount": 0,
            "state": {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2026-11-27T00:00:00Z"}}}]}}, faults.MERGE)
    wait_for(600, lambda: admin().get("TrainJob", ns, "large")[1]["status"].get("state"), "Failed", 1)
    took, memory, text = command("why", "large", "-n", ns)
    if "exit code 3" not in text:
        sys.exit(f"bench: why: {text}")
    row("... `why` of it, failed", took, "s", f"whole process, {memory:.1f} MB", "≤ 2 s and ≤ 64 MB")


# ---- many ----------------------------------------------------------------------------------------
def part_many(one):
    ns, dice = namespace("scale-many"), random.Random(SEED)
    for seconds in LIVES:
        for fails in ("no", "yes"):
            runtime(ns, f"r{seconds}-{fails}", {"ends": f"{seconds}s", "fails": fails})
    watch = Peak(one.pid)
    seen = [latency.Seen("JobSet", ns, lambda o: [c["type"].replace("Completed", "Complete") for c in o.get("status", {}).get("conditions", [])
                                                  if c["status"] == "True"]),
            latency.Seen("TrainJob", ns, latency.told)]
    begin, wanted = time.monotonic(), {}
    for i in range(JOBS):
        fails = dice.random() < 0.1
        wanted[f"m{i:04d}"] = "Failed" if fails else "Complete"
        time.sleep(max(0, begin + i * SECONDS / JOBS - time.monotonic()))
        must(admin().request("POST", api.path("TrainJob", ns), job(ns, f"m{i:04d}", f"r{dice.choice(LIVES)}-{'yes' if fails else 'no'}", 8)), 201)
    late = [seen[1].wait(name, end, 900) - seen[0].wait(name, end, 900) for name, end in wanted.items()]
    memory, used = watch.stop()
    what = f"{JOBS:,} TrainJobs of 8 nodes in {SECONDS:,} s"
    row(f"{what}: the end after the JobSet's", statistics.median(late) * 1000, "ms", f"median; at most {max(late):.2g} s; a tenth of them fail")
    row("... memory of the controller", memory, "MB", "peak RSS", "≤ 64 MB")
    row("... CPU of the controller", used * 1000 / JOBS, "ms", "for each TrainJob")


def alone(scratch):
    """Without a Lease: an API server that is busy with 5,000 pods may take longer than that is held."""
    path = config(scratch, "scale")
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("leaderElect: true", "leaderElect: false")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def start(one):
    one.start()
    if problems := until(60, webhooks_answer):
        sys.exit(f"bench: {problems}")


def main():
    one = Controller(sys.argv[1], "scale", alone(sys.argv[1]))
    start(one)
    nodes()
    for part in PARTS:
        globals()["part_" + part](one)
    one.kill()


main()
