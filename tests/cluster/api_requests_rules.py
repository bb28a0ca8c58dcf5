"""More of what apiserver.py asks: odd paths and parameters, types and rules of metadata, rules of an API server's
own kinds, what applies say that has no place in the schema, options of deletions of wrong types."""
import json

from api_requests import CORE, MERGE, PATCH, TRAINER, apply, ask, config, job, obj

NS = "api-rules"
MAPS, SECRETS, EVENTS = (f"{CORE}/namespaces/{NS}/{plural}" for plural in ("configmaps", "secrets", "events"))
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
SPACES, JOBS = f"{CORE}/namespaces", f"{TRAINER}/namespaces/{NS}/trainjobs"
OPTIONS = {"kind": "DeleteOptions", "apiVersion": "v1"}
DRY = "?dryRun=All"


def meta(title, kind, **members):
    """A creation, and nothing is stored."""
    path = {"ConfigMap": MAPS, "TrainJob": JOBS, "Lease": LEASES, "Namespace": SPACES}[kind]
    body = dict(job("m") if kind == "TrainJob" else obj(kind, "m", "coordination.k8s.io/v1" if kind == "Lease" else "v1"))
    body["metadata"] = dict(body["metadata"], **members)
    ask(f"meta: {kind}: {title}", "POST", path + DRY, body)


def paths():
    ask("path: a ConfigMap", "POST", MAPS, config("a", {"x": "1"}, labels={"app": "one"}))
    for name in ("a%2fb", "..%2fsecrets", "%61", "%2e%2e", "%2e", "a%25", "", "a/", "A", "a%20b", "%ff", "a%e9"):
        ask(f"path: {name}", "GET", f"{MAPS}/{name}?fieldSelector=metadata.name%3Da")
    ask("path: a slash in the namespace", "GET", f"{CORE}/namespaces/{NS}%2fconfigmaps/a")
    ask("path: a slash behind the namespace", "GET", f"{CORE}/namespaces/..%2f/configmaps")
    ask("path: a parent, deleted", "DELETE", f"{MAPS}/%2e%2e")
    for query in ("fieldSelector=metadata.name%3Da%3Db", "fieldSelector=metadata.name%3D%5Ca", "fieldSelector=metadata.name%3Da%5C,b",
                  "timeoutSeconds=x", "limit=x", "labelSelector=app%20in%20(one,)&labelSelector=none"):
        ask(f"query: {query}", "GET", f"{MAPS}?{query}&limit=5&fieldSelector=metadata.name%3Da")
    ask("query: a manager that is not UTF-8", "PATCH", f"{MAPS}/a?fieldManager=%ff", {"data": {"y": "1"}}, type=MERGE)
    ask("query: ... as it is stored", "GET", f"{MAPS}/a")
    ask("query: get a version that is none", "GET", f"{MAPS}/a?resourceVersion=x")


def types():
    for key, value in (("uid", 5), ("resourceVersion", 12), ("generation", "5"), ("managedFields", "x"), ("namespace", 5), ("name", 3),
                       ("labels", ["a"]), ("labels", "a"), ("annotations", {"a": 1}), ("finalizers", [1]), ("ownerReferences", {}),
                       ("creationTimestamp", "yesterday"), ("creationTimestamp", None), ("deletionTimestamp", 5), ("generateName", [])):
        for kind in ("ConfigMap", "TrainJob"):
            meta(f"{key} {json.dumps(value)}", kind, **{key: value})
    for kind, version, path in (("ConfigMap", "v1", MAPS), ("TrainJob", "trainer.kubeflow.org/v1alpha1", JOBS)):
        for key in ("kind", "apiVersion"):
            for value in (3, "", None):
                ask(f"meta: {kind}: {key} {value!r}", "POST", path + DRY, dict(
                    job("x") if kind == "TrainJob" else config("x"), **dict({"kind": kind, "apiVersion": version}, **{key: value})))


def rules():
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}
    for kind in ("ConfigMap", "TrainJob", "Lease", "Namespace"):
        for finalizers in (["x"], ["a b/c"], ["orphan"], ["orphan", "foregroundDeletion"], ["kubernetes"]):
            meta(f"finalizers {finalizers}", kind, finalizers=finalizers)
        meta("an Event as owner", kind, ownerReferences=[dict(owner, kind="Event")])
        meta("an owner of a version of three parts", kind, ownerReferences=[dict(owner, apiVersion="a/b/c")])
    ask("rules: a ConfigMap of 1 MiB", "POST", MAPS + DRY, config("large", {"a-key": "x" * (1 << 20)}))
    ask("rules: binary data on two lines", "POST", MAPS + DRY, dict(config("lines"), binaryData={"a": "MTIz\nNDU2\n"}))
    for name, members in (("lines", {"data": {"a": "MTIz\r\nNDU2\n"}}), ("basic", {"type": "kubernetes.io/basic-auth", "data": {"x": "MQ=="}}),
                          ("basic-user", {"type": "kubernetes.io/basic-auth", "stringData": {"username": "x"}}),
                          ("number", {"stringData": {"a": 2}})):
        ask(f"rules: a Secret: {name}", "POST", SECRETS + DRY, obj("Secret", "s", **members))
    ask("rules: a Lease without a spec", "POST", LEASES + DRY, obj("Lease", "l", "coordination.k8s.io/v1"))
    ask("rules: an Event of few words", "POST", EVENTS, obj("Event", "e", reason="R", involvedObject={"kind": "Pod", "name": "p", "namespace": NS}))
    ask("rules: an Event of a node, elsewhere", "POST", EVENTS, obj("Event", "n", reason="R", involvedObject={"kind": "Node", "name": "p"}))
    ask("rules: an Event of a node", "POST", f"{CORE}/namespaces/default/events{DRY}", obj("Event", "n", reason="R", involvedObject={"kind": "Node", "name": "p"}))
    ask("rules: a namespace's phase", "POST", SPACES + DRY, obj("Namespace", "q", status={"phase": "Terminating"}))
    ask("rules: a namespace's finalizers", "POST", SPACES + DRY, obj("Namespace", "q", spec={"finalizers": ["a.b/c"]}))
    ask("rules: a namespace with a generated name", "POST", SPACES + DRY, obj("Namespace", "", metadata={"generateName": "gen-"}))


def applies():
    path = f"{JOBS}/a"
    apply("rules: a TrainJob", path, job("a", {"suspend": True}), "one")
    part = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "a"}}
    apply("rules: an unknown field of a custom kind", path, dict(part, spec={"nothing": 1}), "two")
    apply("rules: ... strict", path, dict(part, spec={"nothing": 1}), "two", "&fieldValidation=Strict")
    apply("rules: an unknown field deep down", path, dict(part, spec={"trainer": {"nothing": 1}}), "two")
    apply("rules: null for an object", path, dict(part, spec={"trainer": None}), "two", "&dryRun=All")
    ask("rules: a patch with an unknown field", "PATCH", path + DRY, {"spec": {"nothing": 1}}, type=MERGE)
    ask("rules: a patch of a uid's type", "PATCH", f"{MAPS}/a{DRY}", [{"op": "add", "path": "/metadata/uid", "value": 5}], type=PATCH)


def deletions():
    for name, options in (("dryRun", {"dryRun": "All"}), ("gracePeriodSeconds", {"gracePeriodSeconds": "x"}), ("propagationPolicy", {"propagationPolicy": 1}),
                          ("orphanDependents", {"orphanDependents": "x"}), ("preconditions", {"preconditions": "x"})):
        ask(f"deletion: a wrong {name}", "DELETE", f"{MAPS}/a", dict(OPTIONS, **options))
        ask(f"deletion: ... and it is there: {name}", "GET", f"{MAPS}/a")
    ask("deletion: a namespace, dry run", "DELETE", f"{SPACES}/{NS}{DRY}")
    ask("deletion: what holds a namespace", "POST", MAPS, config("held", finalizers=["example.com/hold"]))
    ask("deletion: a namespace", "DELETE", f"{SPACES}/{NS}")
    ask("deletion: ... while it goes", "DELETE", f"{SPACES}/{NS}")
    ask("deletion: a new object in it", "POST", MAPS, config("late"))
    ask("deletion: a generated name in it", "POST", MAPS, config("", generateName="late-"))
    ask("deletion: a new job in it", "POST", JOBS, job("late", {"suspend": True}))


ask("namespace of rules", "POST", SPACES, obj("Namespace", NS))
for each in (paths, types, rules, applies, deletions):
    each()
