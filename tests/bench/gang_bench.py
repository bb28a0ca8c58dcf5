#!/usr/bin/python3
"""Seconds from a TrainJob of three nodes to its pods' nodes, where there is room (cluster.sh)."""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
import api  # noqa: E402
import latency  # noqa: E402
from faults import admin  # noqa: E402
from row import row  # noqa: E402

ROUNDS = 5
NODES = 3
SCHEDULERS = ("default-scheduler", "scheduler-plugins", "yunikorn")
JOBSET = "jobset.sigs.k8s.io/jobset-name"


def bound(pod):
    """A word for each pod of a job that has a node."""
    labels = pod["metadata"].get("labels", {})
    return ["bound"] if JOBSET in labels and pod["spec"].get("nodeName") else []


def pods_of(ns, name):
    return [pod["metadata"]["name"] for pod in admin().items("Pod", ns)
            if pod["metadata"].get("labels", {}).get(JOBSET) == name]


def wait(what, seconds=120):
    end = time.monotonic() + seconds
    while not (answer := what()):
        if time.monotonic() > end:
            sys.exit(f"bench: not within {seconds} s")
        time.sleep(0.05)
    return answer


def remove(ns, name):
    """The job and all pods: no kubelet lets them go."""
    client = admin()
    client.request("DELETE", api.path("TrainJob", ns, name))

    def gone():
        pods = client.items("Pod", ns)
        for pod in pods:
            client.request("DELETE", api.path("Pod", ns, pod["metadata"]["name"]), {"gracePeriodSeconds": 0})
        return not pods and not client.items("JobSet", ns)
    wait(gone)


def one(ns, scheduler, i):
    name = f"{scheduler[0]}{i}"
    seen = latency.Seen("Pod", ns, bound)
    begin = time.monotonic()
    status, answer, _ = admin().request("POST", api.path("TrainJob", ns), {
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
        "metadata": {"name": name, "labels": {"queue": "root.gangs"}},
        "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": scheduler}}})
    if status != 201:
        sys.exit(f"bench: {status} {answer.get('message')}")
    pods = wait(lambda: (found := pods_of(ns, name)) and len(found) == NODES and found)
    took = max(seen.wait(pod, "bound") for pod in pods) - begin
    remove(ns, name)
    return took


def main(ns):
    rows = {scheduler: [] for scheduler in SCHEDULERS}
    for i in range(ROUNDS):
        for scheduler in SCHEDULERS:
            rows[scheduler].append(one(ns, scheduler, i))
    default = statistics.median(rows[SCHEDULERS[0]])
    for scheduler, took in rows.items():
        peer = (SCHEDULERS[0], default) if scheduler != SCHEDULERS[0] else ()
        row(f"{NODES} nodes bound by {scheduler}", statistics.median(took), "s", f"from the TrainJob to its pods' nodes; by turns, median of {ROUNDS}, "
            f"at most {max(took):.1f} s", "", *peer)


main(sys.argv[1])
