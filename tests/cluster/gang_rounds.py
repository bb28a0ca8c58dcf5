#!/usr/bin/python3
"""gang_rounds.py NAMESPACE RUNTIME ROUNDS [POKE]: two TrainJobs of three nodes at once where there is room for four
pods, so often: one runs, then the other. A watch sees each change of the pods: at none do two jobs have pods with a
node. POKE: an unchanged PodGroup is touched, for the scheduler of scheduler-plugins tries a waiting gang again when a
pod is added or a PodGroup changes, not when pods end. Jobs become Complete, and are deleted, while the next round runs.
A figure for each step is the median of the rounds."""
import os
import statistics
import sys
import time

import api

NODES = 3
SECONDS = 300  # to wait, on a loaded machine
MERGE = "application/merge-patch+json"
JOBSET = "jobset.sigs.k8s.io/jobset-name"


def is_complete(job):
    return any(c["type"] == "Complete" and c["status"] == "True" for c in job.get("status", {}).get("conditions", []))


class Rounds:
    def __init__(self, ns, runtime, poke):
        self.ns, self.runtime, self.poke = ns, runtime, poke
        self.client, self.steps, self.running = api.Api(os.environ["KUBECONFIG"]), {}, set()
        self.jobs, self.pods = api.Watch(self.client, "TrainJob", ns), api.Watch(self.client, "Pod", ns)
        self.pods.check = self.check

    def pods_of(self, name):
        """Those that are not on their way out."""
        return [p for p in self.pods.objects.values()
                if p["metadata"].get("labels", {}).get(JOBSET) == name and "deletionTimestamp" not in p["metadata"]]

    def bound(self, name):
        return sum("nodeName" in p["spec"] for p in self.pods_of(name))

    def check(self):
        """After each change: of the jobs that the test has not ended, one has pods with a node."""
        count = {name: self.bound(name) for name in sorted(self.running)}
        if sum(n > 0 for n in count.values()) > 1:
            raise RuntimeError(f"mixed: {count}")

    def wait(self, step, watch, what, between=None):
        begin = time.monotonic()
        while not (answer := watch.wait(what, 0.2 if between else SECONDS)):
            if time.monotonic() > begin + SECONDS:
                sys.exit(f"{step}: not within {SECONDS} s; pods with a node: {({n: self.bound(n) for n in self.running})}")
            between()
        self.steps.setdefault(step, []).append(time.monotonic() - begin)
        return answer

    def create(self, name):
        with self.pods.changed:
            self.running.add(name)
        status, answer, _ = self.client.request("POST", api.path("TrainJob", self.ns), {
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": name, "labels": {"queue": "root.gangs", "kai.scheduler/queue": "gangs"}},
            "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": self.runtime}}})
        if status != 201:
            sys.exit(f"{status} {answer.get('message')}")

    def full(self, names):
        """The job all of whose pods have a node; all of the other's exist."""
        return (all(len(self.pods_of(name)) == NODES for name in names) and
                next((name for name in names if self.bound(name) == NODES), None))

    def touch(self, name):
        if self.poke:
            self.client.request("PATCH", api.path("PodGroup.scheduling.x-k8s.io", self.ns, name),
                                {"metadata": {"annotations": {"test/again": str(time.monotonic())}}}, MERGE)

    def succeed(self, name):
        with self.pods.changed:
            self.running.remove(name)
            pods = self.pods_of(name)
        for pod in pods:
            self.client.request("PATCH", api.path("Pod", self.ns, pod["metadata"]["name"], "status"),
                                {"status": {"phase": "Succeeded"}}, MERGE)

    def one(self, names, between):
        for name in names:
            self.create(name)
        first = self.wait("one runs", self.pods, lambda: self.full(names))
        second = names[first == names[0]]
        between(second)
        self.succeed(first)
        self.touch(second)
        self.wait("the other runs", self.pods, lambda: self.bound(second) == NODES, lambda: self.touch(second))
        self.succeed(second)

    def ended(self, names):
        self.wait("both are Complete", self.jobs, lambda: all(is_complete(self.jobs.objects.get(name, {})) for name in names))
        for name in names:
            self.client.delete("TrainJob", self.ns, name, "Background")


def why(ns):
    """What `why` says of the first that waits."""
    wanted = os.environ.get("WAITING")

    def look(name):
        begin = time.monotonic()
        while wanted and wanted not in (said := os.popen(f"{os.environ['KFTRAINER']} why -n {ns} {name}").read()):
            if time.monotonic() > begin + SECONDS:
                sys.exit(f"why: {said}")
            time.sleep(0.2)
    return look


def main(ns, runtime, rounds, poke=""):
    all_, before = Rounds(ns, runtime, poke), ()
    begin = time.monotonic()
    for i in range(1, int(rounds) + 1):
        print(f"round {i}", flush=True)
        names = (f"a{i}", f"b{i}")
        all_.one(names, why(ns) if i == 1 else lambda name: None)
        all_.ended(before)
        before = names
    all_.ended(before)
    print(f"{(time.monotonic() - begin) / int(rounds):.1f} s a round")
    for step, took in all_.steps.items():
        print(f"{step}: {statistics.median(took):.2f} s, at most {max(took):.2f} s")


main(*sys.argv[1:])
