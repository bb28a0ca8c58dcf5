#!/usr/bin/env python3
"""golden_scenes.py [CASE]...: cases of tests/golden/upstream against `controller --local`; options as
tests/cluster/golden.py, which compares. What differs on a machine without JobSet's webhook, images and
gang schedulers is taken away on both sides, by the tables below; whatever else was stored is compared."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from golden import Case, main  # noqa: E402

STAND_IN = ["sleep", "1000000"]  # images are not pulled, so each container needs a command
# What JobSet's defaulting webhook writes: tests/golden/normal.c has the same for `make golden`.
POD = "replicatedJobs.*.template.spec.template.spec"
GIVEN = (("suspend", False), ("network.enableDNSHostnames", True), ("network.publishNotReadyAddresses", True), ("network", {}),
         ("successPolicy.operator", "All"), ("successPolicy", {}), ("startupPolicy.startupPolicyOrder", "AnyOrder"),
         ("startupPolicy", {}), ("failurePolicy.restartStrategy", "Recreate"), ("replicatedJobs.*.groupName", "default"),
         ("replicatedJobs.*.replicas", 1), ("replicatedJobs.*.template.spec.completionMode", "Indexed"),
         (f"{POD}.restartPolicy", "OnFailure"), (f"{POD}.containers.*.ports.*.protocol", "TCP"),
         (f"{POD}.initContainers.*.ports.*.protocol", "TCP"))
NOT_SERVED = ("PodGroup.",)
# The recordings were made without the status server, which is always there on a machine.
STATUS = ("KUBEFLOW_TRAINER_SERVER_URL", "KUBEFLOW_TRAINER_SERVER_CA_CERT", "KUBEFLOW_TRAINER_SERVER_TOKEN", "kubeflow-trainer-token")
NOT_COMPARED = {  # of jobsStatus, by case; "": of all
    "": ("ready",),  # no kubelet was there when they were recorded; here pods run
    "scene-jobset-completed": ("active",),  # here they run on when somebody else writes that their JobSet has ended
}


def is_container(node):
    return isinstance(node, dict) and "name" in node and "image" in node


def each(node, change):
    """Of every container below."""
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        each(child, change)
    if is_container(node):
        change(node)


def drop(node, steps, value):
    if steps[0] == "*":
        for child in node if isinstance(node, list) else ():
            drop(child, steps[1:], value)
    elif isinstance(node, dict) and len(steps) > 1:
        drop(node.get(steps[0]), steps[1:], value)
    elif isinstance(node, dict) and node.get(steps[0]) == value and steps[0] in node:
        del node[steps[0]]


def without_status(node):
    """Without the status server's variables, volumes and mounts; lists that are empty then as well."""
    if isinstance(node, list):
        return [without_status(child) for child in node if not (isinstance(child, dict) and child.get("name") in STATUS)]
    if not isinstance(node, dict):
        return node
    node = {key: (child, without_status(child)) for key, child in node.items()}
    return {key: child for key, (old, child) in node.items() if old == child or child != []}


def offline(objects, fields):
    """Of one check, by KIND/NAME; without those fields of jobsStatus."""
    objects = {key: without_status(obj) for key, obj in objects.items() if not key.startswith(NOT_SERVED) and not key.endswith("-tls-config")}
    for key, obj in objects.items():
        hosts = obj.get("data", {}).get("hostfile") if isinstance(obj, dict) else None
        if hosts:  # MPI runs by mpi-worker here: the launcher has its short name
            obj["data"]["hostfile"] = re.sub(r"^(\S+-launcher-\d+-\d+)\.\S+ ", r"\1 ", hosts, flags=re.M)
        for status in (obj.get("status") or {}).get("jobsStatus", []) if isinstance(obj, dict) else ():
            for field in fields:
                status.pop(field, None)
        each(obj, lambda container: container.pop("command", None))
        for path, value in GIVEN if key.startswith("JobSet/") else ():
            drop(obj.get("spec"), path.split("."), value)
    return objects


class Scene(Case):
    left_out = {
        "scene-podgroup-while-running": "this machine has no gang scheduler and serves no PodGroups",
    }

    def __init__(self, api, objects, folder, options):
        super().__init__(api, objects, folder, options)
        self.fields = NOT_COMPARED[""] + NOT_COMPARED.get(os.path.basename(folder), ())
        each(self.case["steps"], lambda container: container.update(command=STAND_IN))
        self.expected["checks"] = {label: offline(objects, self.fields) for label, objects in self.expected["checks"].items()}

    def view(self, *args):
        return offline(super().view(*args), self.fields)


if __name__ == "__main__":
    sys.exit(main(Scene))
