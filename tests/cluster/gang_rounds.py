#!/usr/bin/python3
"""gang_rounds.py NAMESPACE RUNTIME ROUNDS [POKE]: two TrainJobs of three nodes at once where there is room for four
pods, so often: one runs, then the other, and never have both pods with a node. POKE: an unchanged PodGroup is touched,
for the scheduler of scheduler-plugins tries a waiting gang again when a pod is added or a PodGroup changes, not when
pods end. A figure for each step is the median of the rounds."""
import os
import statistics
import sys
import time

import api

NODES = 3
SECONDS = 300  # to wait, on a loaded machine
MERGE = "application/merge-patch+json"
JOBSET = "jobset.sigs.k8s.io/jobset-name"


class Rounds:
    def __init__(self, ns, runtime, poke):
        self.ns, self.runtime, self.poke = ns, runtime, poke
        self.client, self.names, self.steps = api.Api(os.environ["KUBECONFIG"]), (), {}

    def must(self, answer, *wanted):
        if answer[0] not in wanted:
            sys.exit(f"{answer[0]} {answer[1].get('message')}")
        return answer[1]

    def pods(self):
        """Those of each job that are not on their way out."""
        all_ = [p for p in self.client.items("Pod", self.ns) if "deletionTimestamp" not in p["metadata"]]
        return {name: [p for p in all_ if p["metadata"].get("labels", {}).get(JOBSET) == name] for name in self.names}

    def bound(self):
        count = {name: sum("nodeName" in p["spec"] for p in pods) for name, pods in self.pods().items()}
        return count

    def wait(self, step, what):
        begin = time.monotonic()
        while not (answer := what()):
            if time.monotonic() > begin + SECONDS:
                sys.exit(f"{step}: not within {SECONDS} s; pods with a node: {self.bound()}")
            time.sleep(0.05)
        self.steps.setdefault(step, []).append(time.monotonic() - begin)
        return answer

    def create(self, name):
        self.must(self.client.request("POST", api.path("TrainJob", self.ns), {
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": name, "labels": {"queue": "root.gangs"}},
            "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": self.runtime}}}), 201)

    def first_runs(self):
        """The job all of whose pods have a node; all of the other's exist."""
        pods, count = self.pods(), self.bound()
        if all(count.values()):
            sys.exit(f"mixed: {count}")
        full = [name for name in self.names if count[name] == NODES]
        return full and all(len(p) == NODES for p in pods.values()) and full[0]

    def second_runs(self, name):
        if self.poke and time.monotonic() > self.touched + 0.5:
            self.touched = time.monotonic()
            self.client.request("PATCH", api.path("PodGroup.scheduling.x-k8s.io", self.ns, name),
                                {"metadata": {"annotations": {"test/again": str(self.touched)}}}, MERGE)
        return self.bound()[name] == NODES

    def succeed(self, name):
        for pod in self.pods()[name]:
            self.client.request("PATCH", api.path("Pod", self.ns, pod["metadata"]["name"], "status"),
                                {"status": {"phase": "Succeeded"}}, MERGE)
        conditions = self.client.get("TrainJob", self.ns, name)[1].get("status", {}).get("conditions", [])
        return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)

    def one(self, i, between):
        self.names, self.touched = (f"a{i}", f"b{i}"), 0
        for name in self.names:
            self.create(name)
        first = self.wait("one runs", self.first_runs)
        second = self.names[first == self.names[0]]
        between(second)
        if self.bound()[second]:
            sys.exit(f"{second} has pods with a node beside {first}")
        self.wait("it ends", lambda: self.succeed(first))
        self.wait("the other runs", lambda: self.second_runs(second))
        self.wait("the other ends", lambda: self.succeed(second))
        for name in self.names:
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
    all_ = Rounds(ns, runtime, poke)
    begin = time.monotonic()
    for i in range(1, int(rounds) + 1):
        print(f"round {i}", flush=True)
        all_.one(i, why(ns) if i == 1 else lambda name: None)
    print(f"{(time.monotonic() - begin) / int(rounds):.1f} s a round")
    for step, took in all_.steps.items():
        print(f"{step}: {statistics.median(took):.2f} s, at most {max(took):.2f} s")


main(*sys.argv[1:])
