#!/usr/bin/env python3
"""apiserver.py REAL OURS: the same requests to a real API server and to this machine's.

REAL and OURS are kubeconfigs. Answers are compared as documents: status, body and warnings,
managedFields included; values that each server makes up (uid, versions, times) are replaced
by a word. DIFFERENCES lists what is meant to differ, with the reason. One line a request that
differs and is in no row, or is in one and does not; exit status 1 if there is any.
"""
import concurrent.futures
import http.client
import json
import re
import sys
import urllib.parse

from api import Api
import api_requests_apply  # noqa: F401  # they add to REQUESTS, in this order
import api_requests_forms  # noqa: F401
import api_requests_proto  # noqa: F401
import api_requests_rules  # noqa: F401
from api_requests import AGENT, CORE, JOBSETS, JSON, NS, REQUESTS, obj

# What Kubernetes 1.37 answers where 1.34 does not, and ours with it: both values, brought to one.
NEWER = 37
TEXTS_OF_NEWER = [
    ('Invalid value: "object": field is immutable', "Invalid value: field is immutable"),  # 1.34, 1.37
    ("metadata.ownerReferences[0]", "metadata.ownerReferences"),  # 1.37, 1.34
]
minor = 34  # of the real one

# Requests whose answers are meant to differ: (name, reason).
OWN_CA = "a cluster puts kube-root-ca.crt in each namespace"
ALL_RULES = "ours checks the rules even where a type is wrong, and says which value broke one"
WEBHOOK = "JobSet's defaulting webhook and controller are no part of this API"
NO_NULLS = "a null is as if it were absent, in what is applied as in all else but maps of texts"
FORMS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/api-forms/trainjobs"
DIFFERENCES = [
    ("discovery /api", "this machine is reached in one way"),
    ("create with a bad owner", "ours says which of the references it is"),
    ("a TrainJob with a wrong type", ALL_RULES),
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
    ("proto: may I", "who asked is not kept"),
    ("proto: what may I", "who gets here has every right: one rule"),
    *((name, NO_NULLS) for name in ("body: data null", "rules: null for an object")),
    *((name, "an API server calls it 500; what a client sent is 4xx here") for name in (
        "body: a number in data", "lists: a list that is none", "patch: strategic: an order of what is none",
        f"forms: PartialObjectMetadataList v1 of {FORMS}/f", "raw: larger than any object",
        "delete: options of another kind", "delete: options that are no object", "query: get a version that is none",
        *(f"deletion: a wrong {option}" for option in (
            "dryRun", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "preconditions")))),
    *((name, "a patched object is decoded as a sent one is: 400, not 422 with the whole object") for name in (
        "patch: json: a number where text is", "patch: json: another kind",
        "rules: a patch of a uid's type",
        "patch: merge: a list where an object is", "patch: strategic: a list where an object is")),
    ("patch: json: a path without its slash", "the real one reads its last step alone, and writes what nobody meant"),
    *((name, "JSON is read strictly: no key twice, no NUL, an object at the top") for name in (
        "raw: a key twice", "raw: a key twice, PUT", "raw: a NUL", "raw: a NUL, PUT", "raw: null", "raw: null, PUT", "raw: text, PUT")),
    *((name, "forms have the one version that clients ask for first") for name in (
        f"forms: Table v1beta1 of {FORMS}", f"forms: Table v1beta1 of {FORMS}/f", f"forms: PartialObjectMetadata v1beta1 of {FORMS}/f",
        f"forms: PartialObjectMetadataList v1beta1 of {FORMS}", f"forms: PartialObjectMetadataList v1beta1 of {FORMS}/f")),
    *((name, "pods, Jobs and the node are read-only, and have fewer subresources") for name in (
        "discovery: all of /api", "discovery: all of /apis", f"discovery: {CORE}", "discovery: /apis/batch/v1")),
    *((name, "of the aggregated forms ours has v2; who asks for another gets the plain one") for name in (
        "discovery: /api, an old version of it", "discovery: /apis, an old version of it")),
    ("discovery: /openapi/v3/apis/nothing/v1", "the real one's 404 is empty"),
    *((name, "a Service names pods here; what a proxy needs is not filled in") for name in (
        "forms: a Service", "forms: a Service elsewhere")),
    ("discovery: POST", "the real one answers any method"),
    ("status: spec is left alone", "the real one calls it a write that spec was sent along"),
    ("status: of a Namespace", "conditions of namespaces have no type here: nothing writes them"),
    ("quantity 2.5", ALL_RULES),
    ("pages: of another list", "a token of another list is refused"),
    ("changes: initial events without a match", "the real one adds that its WatchList feature is off"),
    ("changes: an old kind of path", "/watch/ paths are not served"),
    ("patch: merge: a deletion time", "it stays as it was without a word"),
    ("collection: by label, foreground", "ours has the objects as they are stored then"),
]
DIFFERENCES_OLDER = [("a TrainJob with wrong values", ALL_RULES)]
DIFFERENCES_NEWER = [(name, "a write of the status has not taken the labels from their manager") for name in (
    "status: put", "status: generation counts spec alone", "status: merge patch with another uid", "job: put with its version",
    "job: runtimePatches of one", "job: runtimePatches of another", "job: runtimePatches, one less", "job: at last")]
# Requests whose answers differ in their wording only: code, reason and fields are the same.
WORDING = [
    "create another", "create with a bad name", "create with bad", "create with a label of", "create with data of",
    "create an array", "create a Secret that", "list ConfigMaps?labelSelector=", "list ConfigMaps?fieldSelector=nothing",
    "list ConfigMaps?fieldSelector=metadata.name", "list ConfigMaps?limit=x", "list ConfigMaps?continue=x",
    "list ConfigMaps?resourceVersion=x", "update of another uid", "merge patch, array", "json patch,", "delete with another",
    "watch&fieldSelector=nothing", "body of", "body: an array", "body: text", "body: no YAML", "body: apply by", "manager: not printable",
    "core: two controllers", "status: json patch of another", "lists: a key twice", "lists: an element without", "status: jobsStatus without", "quantity '", "quantity 2.5",
    "pages: a version that is", "pages: one of a version", "changes: watch a version", "changes: watch TrainJobs of a", "changes: a table of",
    "changes: timeoutSeconds", "forms: ", "patch: ", "raw: ", "delete: preconditions of",
    "delete: grace in words", "collection: preconditions of", "proto: another kind", "proto: delete, a", "proto: any type of",
    "meta: ", "query: ", "rules: an unknown field", "rules: ... strict", "rules: a Secret", "path: ", "rules: a patch",
]

POOL = concurrent.futures.ThreadPoolExecutor(2)  # both at once: watches take their seconds
MADE_UP = {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "selfLink"}
LEFT_OUT = {"storageVersionHash", "serverRelativeURL"}  # hashes
OF_CLUSTERS = "kube-root-ca.crt"


def of_newer(value):
    """1.34 says of a write of the status that it also wrote the metadata that came along; 1.37 does not."""
    if isinstance(value, dict) and value.get("subresource") == "status" and "fieldsV1" in value:
        return dict(value, fieldsV1={k: v for k, v in value["fieldsV1"].items() if k != "f:metadata"})
    if isinstance(value, str):
        for old, new in TEXTS_OF_NEWER:
            value = value.replace(old, new)
    return value


def plain(value, key=None):
    """Without what a server makes up."""
    if minor >= NEWER:
        value = of_newer(value)
    if key in MADE_UP and isinstance(value, (str, type(None))):
        return f"<{key}>"
    if key == "continue" and value:
        return "<continue>"
    if isinstance(value, dict):
        return {k: plain(v, k) for k, v in sorted(value.items()) if k not in LEFT_OUT}
    if key == "causes":  # in no order, and some twice
        return sorted({json.dumps(plain(v), sort_keys=True) for v in value})
    if isinstance(value, list):
        return [plain(v) for v in value if not of_cluster(v)]
    return re.sub(r"\b([Gg]en[-_])[a-z0-9]{5}\b", r"\1<random>", value) if isinstance(value, str) else value


def of_cluster(value):
    meta = value.get("metadata", value.get("object")) if isinstance(value, dict) else None
    return isinstance(meta, dict) and (meta.get("name") or meta.get("metadata", {}).get("name")) == OF_CLUSTERS


def wordless(doc):
    """A refusal without its sentences."""
    if isinstance(doc, list):  # of a watch
        return [dict(e, object=wordless(e["object"])) if isinstance(e, dict) and "object" in e else e for e in doc]
    if not isinstance(doc, dict) or doc.get("kind") != "Status":
        return doc
    doc = json.loads(json.dumps(doc))
    doc.pop("message", None)
    causes = (doc.get("details") or {}).get("causes") or []
    causes[:] = [{k: v for k, v in json.loads(c).items() if k != "message"} for c in causes]
    causes[:] = [c for c in causes if c.get("field") != "<nil>"]  # that not all rules were checked
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


def events(text, initial):
    """Those of a watch; what is there at its beginning comes in any order."""
    all_of = [json.loads(line) for line in text.splitlines()]
    if any("object" not in e for e in all_of):  # no watch
        return [normal(e) for e in all_of]
    all_of = [dict(e, object=normal(e["object"])) for e in all_of if not of_cluster(e["object"])]
    all_of = [e for e in all_of if not table_of_cluster(e)]
    return sorted(all_of, key=lambda e: json.dumps(e, sort_keys=True)) if initial else all_of


def table_of_cluster(event):
    return event["object"].get("kind") == "Table" and not event["object"]["rows"]


class Server(Api):
    kept = {}  # answers by their names

    def filled(self, text):
        if isinstance(text, bytes):
            return text
        return re.sub(r"\{\{(\w+) ([\w.]+)\}\}", lambda m: urllib.parse.quote(self.value(*m.groups())), text)

    def value(self, name, path):
        value = self.kept.get(name)
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else "absent"

    def ask(self, request):
        path, body = (self.filled(request[key] or "") for key in ("path", "body"))
        status, text, warnings = self.send(request["method"], path, body if request["body"] is not None else None, request["headers"])
        try:
            if request["keep"]:
                self.kept = dict(self.kept, **{request["keep"]: json.loads(text)})
            if "watch=1" in path.replace("true", "1") and status == 200:
                return status, events(text, "resourceVersion=0" in path or "resourceVersion=" not in path), warnings
            return status, normal(json.loads(text)), warnings
        except ValueError:
            return status, text.decode("utf-8", "replace").strip(), warnings

    def send(self, method, path, body, headers):
        headers = dict(headers, **{k: v for k, v in self.headers.items() if k == "Authorization"})
        for tries in (1, 2):
            try:
                if getattr(self.local, "connection", None) is None:
                    self.local.connection = http.client.HTTPSConnection(
                        self.url.hostname, self.url.port, timeout=60, context=self.tls)
                self.local.connection.request(method, path, body, headers)
                answer = self.local.connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.local.connection = None
                if tries == 2:
                    return 0, b"<no answer>", []
        return answer.status, text, answer.headers.get_all("Warning") or []


def called(entry):
    if not isinstance(entry, dict):
        return entry
    return str(next((entry[key] for key in ("resource", "name", "version") if key in entry), (entry.get("metadata") or {}).get("name")))


def shared(real, ours):
    """Of what the real one discovers, what ours has as well: the others are kinds that ours does not serve."""
    for key in ("resources", "groups", "versions", "items"):
        if isinstance(real.get(key), list) and isinstance(ours.get(key), list):
            mine = {called(e): e for e in ours[key] if isinstance(e, dict)}
            kept = [shared(e, mine[called(e)]) for e in real[key] if isinstance(e, dict) and called(e) in mine]
            real = dict(real, **{key: sorted(kept, key=called)})
            ours[key].sort(key=called)
    if isinstance(ours.get("paths"), dict) and isinstance(real.get("paths"), dict):
        real = dict(real, paths={k: v for k, v in real["paths"].items() if k in ours["paths"]})
    elif isinstance(ours.get("paths"), list) and isinstance(real.get("paths"), list):
        real = dict(real, paths=sorted(p for p in real["paths"] if p in ours["paths"]))
        ours["paths"].sort()
    return real


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
    a, b = POOL.map(lambda server: server.ask(request), (real, ours))
    if request["name"].startswith("discovery:") and isinstance(a[1], dict) and isinstance(b[1], dict):
        a = (a[0], shared(a[1], b[1]), a[2])
    if any(request["name"].startswith(word) for word in WORDING):
        a, b = ((x[0], wordless(x[1]), x[2]) for x in (a, b))
    found = []
    if a[0] != b[0]:
        found.append(f"status: real {a[0]}, ours {b[0]}")
        found += [f"  {who}: {json.dumps(answer[1], sort_keys=True)[:400]}" for who, answer in (("real", a), ("ours", b))]
    else:
        found += show("body", a[1], b[1])
    if sorted(a[2]) != sorted(b[2]):
        found.append(f"warnings: real {a[2]}, ours {b[2]}")
    return found


def main():
    global minor
    real, ours = Server(sys.argv[1]), Server(sys.argv[2])
    minor = int(json.loads(real.send("GET", "/version", None, {})[1])["minor"])
    for server in (real, ours):
        server.send("POST", f"{CORE}/namespaces", json.dumps(obj("Namespace", NS)), {"Content-Type": JSON, "Accept": JSON, "User-Agent": AGENT})
    rows = dict(DIFFERENCES + (DIFFERENCES_NEWER if minor >= NEWER else DIFFERENCES_OLDER))
    equal = meant = wrong = 0
    for request in REQUESTS:
        found = compare(real, ours, request)
        if bool(found) == (request["name"] in rows):
            equal += not found
            meant += bool(found)
            continue
        wrong += 1
        print(f"{request['name']}: {request['method']} {request['path']}")
        print("  " + ("\n  ".join(found) or "is equal, but listed in DIFFERENCES"))
    print(f"{len(REQUESTS)} requests: {equal} equal, {meant} differ as listed, {wrong} differ otherwise")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
