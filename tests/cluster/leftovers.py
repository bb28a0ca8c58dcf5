#!/usr/bin/python3
"""leftovers.py OBJECTS TRAINJOB RUNTIME KEY: what upstream's manager leaves of a TrainJob, as JSON.

OBJECTS: what `kftrainer submit --dry-run=client` prints for it (the golden cases say that it is
upstream's), TRAINJOB and RUNTIME as the API server has them, KEY: an ECDSA key, and KEY.pub. What
differs is how typed clients write: empty structs are there, the snapshot is the runtime with its
managedFields."""
import base64
import json
import sys
import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(path):
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, Loader)


def based(path):
    with open(path, "rb") as file:
        return base64.b64encode(file.read()).decode()


def typed(jobset):
    for rjob in jobset["spec"]["replicatedJobs"]:
        template = rjob["template"]["spec"]["template"]
        rjob["template"].setdefault("metadata", {})
        template.setdefault("metadata", {})
        for container in template["spec"].get("initContainers", []) + template["spec"]["containers"]:
            container.setdefault("resources", {})
    for policy in jobset["spec"].get("volumeClaimPolicies", []):  # which JobSet's webhook completes
        policy.pop("retentionPolicy")
        for claim in policy["templates"]:
            claim.pop("status")


def main():
    objects, trainjob, runtime, key = sys.argv[1:]
    items, trainjob = read(objects), read(trainjob)
    items = items["items"] if items["kind"] == "List" else [items]
    meta = trainjob["metadata"]
    with open(runtime, encoding="utf-8") as file:
        items.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": meta["name"] + "-runtime-snapshot"},
                      "data": {"runtime": file.read()}})
    for item in items:
        item["metadata"]["namespace"] = meta["namespace"]
        item["metadata"]["ownerReferences"] = [{
            "apiVersion": trainjob["apiVersion"], "kind": trainjob["kind"], "name": meta["name"], "uid": meta["uid"],
            "controller": True, "blockOwnerDeletion": True}]
        if item["kind"] == "JobSet":
            typed(item)
        elif item["kind"] == "Secret":
            item["data"] = {"ssh-privatekey": based(key), "ssh-publickey": based(key + ".pub")}
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


if __name__ == "__main__":
    main()
