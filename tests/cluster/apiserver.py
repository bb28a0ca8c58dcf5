#!/usr/bin/env python3
"""apiserver.py REAL OURS: the same requests to a real API server and to this machine's.

REAL and OURS are kubeconfigs. Answers are compared as documents: status, body and warnings,
managedFields included; values that each server makes up (uid, versions, times) are replaced
by a word. DIFFERENCES lists what is meant to differ, with the reason. One line a request that
differs and is in no row, or is in one and does not; exit status 1 if there is any.
"""
import http.client
import json
import re
import sys

from api import Api
from api_requests import AGENT, CORE, JOBSETS, JSON, NS, REQUESTS, obj

# Requests whose answers are meant to differ: (name, reason).
OWN_CA = "a cluster puts kube-root-ca.crt in each namespace"
ALL_RULES = "ours checks the rules even where a type is wrong, and says which value broke one"
WEBHOOK = "JobSet's defaulting webhook and controller are no part of this API"
DIFFERENCES = [
    ("discovery /api", "this machine is reached in one way"),
    ("create with a bad owner", "ours says which of the references it is"),
    ("a TrainJob with a wrong type", ALL_RULES),
    ("a TrainJob with wrong values", ALL_RULES),
    ("a TrainJob with a bad name", ALL_RULES),
    ("invalid /status", ALL_RULES),
    ("a JobSet", WEBHOOK),
    (f"read {JOBSETS}", WEBHOOK),
    (f"table of {JOBSETS}", WEBHOOK),
    (f"metadata of {JOBSETS}", WEBHOOK),
    ("list ConfigMaps?limit=2", OWN_CA),
    ("watch&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
     "the bookmark of the real one has what its cache was made with"),
    ("table with objects", OWN_CA),
    ("table without objects", OWN_CA),
    ("protobuf alone", "JSON only: a client that takes nothing else could not read the refusal either"),
    ("text alone", "an API server has two words for this, ours one"),
    ("patch of another type", "an API server has two words for this, ours one"),
    ("merge patch of the kind", "an API server repeats the whole object in its answer"),
    ("unknown field by patch", "an API server repeats the whole object in its answer"),
    ("watch from no version", "an API server has no reason for it, and 500"),
    ("may I", "who asked is not kept"),
]
# Requests whose answers differ in their wording only: code, reason and fields are the same.
WORDING = [
    "create another", "create with a bad name", "create with bad", "create with a label of", "create with data of",
    "create an array", "create a Secret that", "list ConfigMaps?labelSelector=", "list ConfigMaps?fieldSelector=nothing",
    "list ConfigMaps?fieldSelector=metadata.name", "list ConfigMaps?limit=x", "list ConfigMaps?continue=x",
    "list ConfigMaps?resourceVersion=x", "update of another uid", "merge patch, array", "json patch,", "delete with another",
    "watch&fieldSelector=nothing", "body of",
]

MADE_UP = {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "selfLink"}
LEFT_OUT = {"storageVersionHash"}
OF_CLUSTERS = "kube-root-ca.crt"


def plain(value, key=None):
    """Without what a server makes up."""
    if key in MADE_UP and isinstance(value, (str, type(None))):
        return f"<{key}>"
    if key == "continue" and value:
        return "<continue>"
    if isinstance(value, dict):
        return {k: plain(v, k) for k, v in sorted(value.items()) if k not in LEFT_OUT}
    if key == "causes":  # in no order, and some twice
        return sorted({json.dumps(v, sort_keys=True) for v in value})
    if isinstance(value, list):
        return [plain(v) for v in value if not of_cluster(v)]
    return value


def of_cluster(value):
    meta = value.get("metadata", value.get("object")) if isinstance(value, dict) else None
    return isinstance(meta, dict) and (meta.get("name") or meta.get("metadata", {}).get("name")) == OF_CLUSTERS


def wordless(doc):
    """A refusal without its sentences."""
    if not isinstance(doc, dict) or doc.get("kind") != "Status":
        return doc
    doc = json.loads(json.dumps(doc))
    doc.pop("message", None)
    causes = (doc.get("details") or {}).get("causes") or []
    causes[:] = [{k: v for k, v in json.loads(c).items() if k != "message"} for c in causes]
    return doc


def table(doc):
    """Descriptions of columns are each server's own; ages are as old as they are."""
    for column in doc.get("columnDefinitions") or []:
        column["description"] = ""
    ages = [i for i, c in enumerate(doc.get("columnDefinitions") or []) if c["name"] in ("Age", "Last Seen", "First Seen")]
    for row in doc.get("rows") or []:  # later ones of a watch come without columns
        row["cells"] = ["<age>" if i in ages or re.fullmatch(r"\d+[smh]", str(cell)) else cell
                        for i, cell in enumerate(row["cells"])]
    return doc


def normal(doc):
    if isinstance(doc, dict) and doc.get("kind") == "Table":
        doc = table(doc)
    doc = plain(doc)
    if isinstance(doc, dict) and doc.get("kind") == "APIResourceList":
        doc["resources"].sort(key=lambda r: r["name"])  # those of CRDs come in any order
    for entry in managed(doc):
        entry.sort(key=lambda e: json.dumps(e, sort_keys=True))
    return doc


def managed(value):
    if isinstance(value, dict):
        for k, v in value.items():
            if k == "managedFields" and isinstance(v, list):
                yield v
            else:
                yield from managed(v)
    elif isinstance(value, list):
        for v in value:
            yield from managed(v)


def events(text):
    """Those of a watch; what was there at its beginning comes in any order."""
    all_of = [json.loads(line) for line in text.splitlines()]
    all_of = [dict(e, object=normal(e["object"])) for e in all_of if not of_cluster(e["object"])]
    return sorted((e for e in all_of if not table_of_cluster(e)), key=lambda e: json.dumps(e, sort_keys=True))


def table_of_cluster(event):
    return event["object"].get("kind") == "Table" and not event["object"]["rows"]


class Server(Api):
    def send(self, method, path, body, headers):
        headers = dict(headers, **{k: v for k, v in self.headers.items() if k == "Authorization"})
        for tries in (1, 2):
            try:
                if getattr(self.local, "connection", None) is None:
                    self.local.connection = http.client.HTTPSConnection(
                        self.url.hostname, self.url.port, timeout=60, context=self.tls)
                self.local.connection.request(method, path, None if body is None else json.dumps(body), headers)
                answer = self.local.connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.local.connection = None
                if tries == 2:
                    raise
        warnings = answer.headers.get_all("Warning") or []
        try:
            if "watch=" in path and answer.status == 200:
                return answer.status, events(text), warnings
            return answer.status, normal(json.loads(text)), warnings
        except ValueError:
            return answer.status, text.decode("utf-8", "replace").strip(), warnings


def show(what, a, b, path=""):
    """The places where two documents differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            if a.get(key) != b.get(key) or (key in a) != (key in b):
                yield from show(what, a.get(key, "<absent>"), b.get(key, "<absent>"), f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                yield from show(what, x, y, f"{path}[{i}]")
    elif a != b:
        yield f"{what}{path}: real {json.dumps(a)[:400]}, ours {json.dumps(b)[:400]}"


def compare(real, ours, request):
    name, method, path, body, headers = request
    a, b = (server.send(method, path, body, headers) for server in (real, ours))
    if any(name.startswith(word) for word in WORDING):
        a, b = ((x[0], wordless(x[1]), x[2]) for x in (a, b))
    found = []
    if a[0] != b[0]:
        found.append(f"status: real {a[0]}, ours {b[0]}")
    found += show("body", a[1], b[1])
    if sorted(a[2]) != sorted(b[2]):
        found.append(f"warnings: real {a[2]}, ours {b[2]}")
    return found


def main():
    real, ours = Server(sys.argv[1]), Server(sys.argv[2])
    for server in (real, ours):
        server.send("POST", f"{CORE}/namespaces", obj("Namespace", NS), {"Content-Type": JSON, "Accept": JSON, "User-Agent": AGENT})
    equal = meant = wrong = 0
    for request in REQUESTS:
        found = compare(real, ours, request)
        row = next((r for r in DIFFERENCES if request[0] == r[0]), None)
        if bool(found) == bool(row):
            equal += not found
            meant += bool(found)
            continue
        wrong += 1
        print(f"{request[0]}: {request[1]} {request[2]}")
        print("  " + ("\n  ".join(found) or "is equal, but listed in DIFFERENCES"))
    print(f"{len(REQUESTS)} requests: {equal} equal, {meant} differ as listed, {wrong} differ otherwise")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
