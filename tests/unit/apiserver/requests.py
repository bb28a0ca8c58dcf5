#!/usr/bin/env python3
"""Requests for test_answers.c, a JSON document a line: those of tests/cluster/apiserver.py, and tables of what the
machine alone writes. Left out: bodies of megabytes, which test_limits.c has."""
import base64
import json
import sys

sys.path.insert(0, "tests/cluster")
import api_requests_apply  # noqa: E402,F401  # they add to REQUESTS, in the order of apiserver.py
import api_requests_forms  # noqa: E402,F401
import api_requests_proto  # noqa: E402,F401
import api_requests_rules  # noqa: E402,F401
from api_requests import BATCH, CORE, META, REQUESTS, TABLE, ask, obj  # noqa: E402

MAX_BODY = 200000
PODS, JOBS, NODES = f"{CORE}/namespaces/default/pods", f"{BATCH}/namespaces/default/jobs", f"{CORE}/nodes"


def machine(path, kind, name, version="v1", **members):
    """As the process itself writes it."""
    ask(f"machine: {name}", "POST", path, obj(kind, name, version, **members))
    REQUESTS[-1]["inside"] = True


def pod(name, phase, *statuses, **status):
    machine(PODS, "Pod", name, spec={"nodeName": "n", "containers": [{"name": "a"}, {"name": "b"}]}, status=dict(
        {"phase": phase, "podIP": "10.0.0.1", "containerStatuses": list(statuses)}, **status))


def job(name, *conditions, **status):
    machine(JOBS, "Job", name, "batch/v1", spec={
        "completions": 3, "selector": {"matchLabels": {"b": "2", "a": "1"}},
        "template": {"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b"}, {"name": "c", "image": "j"}]}}},
        status=dict({"conditions": [{"type": kind, "status": value} for kind, value in conditions]}, **status))


def kinds_of_the_machine():
    pod("runs", "Running", {"ready": True, "restartCount": 2}, {"ready": False, "restartCount": 1})
    pod("waits", "Pending", {"state": {"waiting": {"reason": "ImagePullBackOff"}}})
    pod("ended", "Failed", {"state": {"terminated": {"reason": "OOMKilled"}}}, {"state": {"terminated": {}}}, reason="Evicted")
    pod("evicted", "Failed", reason="Evicted")
    job("complete", ("Complete", "True"), succeeded=3, startTime="2026-01-01T00:00:00Z", completionTime="2026-01-01T00:01:40Z")
    job("failed", ("Complete", "False"), ("Failed", "True"), startTime="2026-01-01T00:00:00Z", completionTime="none")
    job("suspended", ("Suspended", "True"))
    job("active", succeeded=1)
    for ready in ("True", "False"):
        machine(NODES, "Node", f"ready-{ready.lower()}", status={
            "conditions": [{"type": "Ready", "status": ready}], "addresses": [
                {"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "10.0.0.2"}]})
    for path in (PODS, JOBS, NODES):
        ask(f"machine: table of {path}", "GET", path, accept=TABLE)
        ask(f"machine: pods of a phase, {path}", "GET", f"{path}?fieldSelector=status.phase%3DFailed")
        ask(f"machine: unschedulable, {path}", "GET", f"{path}?fieldSelector=spec.unschedulable%3Dtrue", accept=META)
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            ask(f"machine: {method} {path}", method, path, {})
            ask(f"machine: {method} {path}/runs/status", method, f"{path}/runs/status", {})
    for query in ("", "?container=a", "?container=none", "?container=a&previous=true", "?container=a&tailLines=-1",
                  "?container=a&limitBytes=0", "?container=a&sinceSeconds=0", "?container=a&sinceTime=now", "?container=a&tailLines=x",
                  "?container=a&sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z"):
        for name in ("runs", "absent"):
            ask(f"machine: log of {name}{query}", "GET", f"{PODS}/{name}/log{query}")


def others():
    for kind, path in (("ConfigMap", "configmaps"), ("Secret", "secrets"), ("Namespace", "")):
        ask(f"empty members of a {kind}", "POST", f"{CORE}/namespaces{path and '/default/' + path}?dryRun=All", obj(kind, "empty", metadata={
            "labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": []}, **({"data": {}, "immutable": False} if path else {})))
    for path in ("/openapi/v3/apis/coordination.k8s.io/v1", "/openapi/v3/apis/batch", "/version/x"):
        ask(f"discovery: {path}", "GET", path)


kinds_of_the_machine()
others()
for r in REQUESTS:
    body = r["body"]
    if len(body or "") > MAX_BODY:
        continue
    r["path"] = r["path"].replace("timeoutSeconds=1", "timeoutSeconds=60")  # the test ends watches itself
    if isinstance(body, bytes):
        r = dict(r, body=None, bytes=base64.b64encode(body).decode())
    print(json.dumps(r))
