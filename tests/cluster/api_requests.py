"""What apiserver.py asks a real API server and this machine's: REQUESTS, in order."""
import json

from api import TRAINER

NS = "api-compare"
CORE, BATCH = "/api/v1", "/apis/batch/v1"
JOBSETS = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NS}/jobsets"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
MAPS, SECRETS, EVENTS = (f"{CORE}/namespaces/{NS}/{plural}" for plural in ("configmaps", "secrets", "events"))
JOBS, RUNTIMES = (f"{TRAINER}/namespaces/{NS}/{plural}" for plural in ("trainjobs", "trainingruntimes"))
CLUSTER_RUNTIMES = f"{TRAINER}/clustertrainingruntimes"
JSON, MERGE, PATCH = "application/json", "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
META = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
META_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
AGENT = "compare/1.0"

REQUESTS = []


def ask(name, method, path, body=None, **how):
    """type, accept, agent: headers. raw: the body is text. keep: the answer has that name from here on, and
    "{{NAME metadata.uid}}" in a path or a body is its own uid for each server."""
    kind = how.get("type", JSON if body is not None else None)
    REQUESTS.append({"name": name, "method": method, "path": path, "keep": how.get("keep"),
                     "body": body if body is None or how.get("raw") else json.dumps(body),
                     "headers": dict({"Accept": how.get("accept", JSON), "User-Agent": how.get("agent", AGENT)},
                                     **({"Content-Type": kind} if kind else {}))})


def obj(kind, name, version="v1", **members):
    meta = dict({"name": name}, **members.pop("metadata", {}))
    return dict({"apiVersion": version, "kind": kind, "metadata": meta}, **members)


def config(name, data=None, **meta):
    return obj("ConfigMap", name, metadata=meta, **({"data": data} if data is not None else {}))


def job(name, spec=None, **meta):
    return obj("TrainJob", name, "trainer.kubeflow.org/v1alpha1", metadata=meta, spec=dict({
        "runtimeRef": {"name": "torch-distributed"}, "managedBy": "kueue.x-k8s.io/multikueue"}, **(spec or {})))


def runtime(name, kind="TrainingRuntime", image="i", **meta):
    return obj(kind, name, "trainer.kubeflow.org/v1alpha1", metadata=dict(
        {"labels": {"trainer.kubeflow.org/framework": "torch"}}, **meta), spec={
        "mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [{
            "name": "node", "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"template": {"spec": {"containers": [{"name": "node", "image": image}]}}}}}]}}})


def apply(name, path, body, manager, query="", **headers):
    ask(name, "PATCH", f"{path}?fieldManager={manager}{query}", body, type=APPLY, **headers)


def discovery():
    for path in ("/api", "/apis/trainer.kubeflow.org", "/apis/coordination.k8s.io", "/apis/nothing",
                 "/apis/nothing/v1", "/apis/trainer.kubeflow.org/v9", TRAINER, "/healthz", "/readyz", "/livez",
                 "/apis/jobset.x-k8s.io/v1alpha2", "/nothing", "/api/v9"):
        ask(f"discovery {path}", "GET", path)


def wrong_paths():
    for path in (f"{CORE}/nothing", f"{CORE}/namespaces/{NS}/nothing", f"{MAPS}/a/nothing", f"{JOBS}/a/scale",
                 f"{TRAINER}/namespaces/{NS}/clustertrainingruntimes", f"{CORE}/configmaps/a",
                 f"{TRAINER}/nothing", f"{TRAINER}/trainjobs/a", f"{RUNTIMES}/a/status"):
        ask(f"no such resource {path}", "GET", path)
    for method in ("PUT", "PATCH", "POST"):
        ask(f"{method} of a collection or an object", method, f"{MAPS}/a" if method == "POST" else MAPS,
            config("a"), type=MERGE if method == "PATCH" else JSON)
    ask("an absent object", "GET", f"{MAPS}/absent")
    ask("an absent TrainJob", "GET", f"{JOBS}/absent")
    ask("an absent cluster runtime", "GET", f"{CLUSTER_RUNTIMES}/absent")
    ask("an absent namespace", "GET", f"{CORE}/namespaces/absent")


def creation():
    ask("create a ConfigMap", "POST", MAPS, config("a", {"x": "1", "y": "2"}, labels={"app": "one"}))
    ask("create it again", "POST", MAPS, config("a", {"x": "1"}))
    ask("get it", "GET", f"{MAPS}/a")
    ask("its metadata", "GET", f"{MAPS}/a", accept=META)
    ask("create without data", "POST", MAPS, config("empty"))
    ask("create with empty data", "POST", MAPS, config("empty-data", {}))
    ask("create with a null", "POST", MAPS, dict(config("null"), data=None))
    ask("create with a manager", "POST", MAPS + "?fieldManager=me", config("managed", {"a": "b"}))
    ask("create, dry run", "POST", MAPS + "?dryRun=All", config("dry", {"a": "b"}))
    ask("what a dry run made", "GET", f"{MAPS}/dry")
    ask("create, dry run of another word", "POST", MAPS + "?dryRun=Some", config("dry", {"a": "b"}))
    ask("create in an absent namespace", "POST", f"{CORE}/namespaces/absent/configmaps", config("a"))
    ask("create in another namespace", "POST", MAPS, config("b", namespace="other"))
    ask("create with the namespace", "POST", MAPS, config("with-ns", namespace=NS))
    ask("create another kind", "POST", MAPS, obj("Secret", "b"))
    ask("create another version", "POST", MAPS, obj("ConfigMap", "b", "v9"))
    ask("create without a name", "POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    ask("create with a resourceVersion", "POST", MAPS, config("rv", resourceVersion="12"))
    ask("create with a uid and times", "POST", MAPS, config("own", uid="u", creationTimestamp="2020-01-01T00:00:00Z"))
    ask("create with a bad name", "POST", MAPS, config("Not/Good"))
    ask("create with bad labels", "POST", MAPS, config("labels", labels={"a b": "x", "ok": "no/no"}))
    ask("create with bad annotations", "POST", MAPS, config("annotations", annotations={"a b": "x"}))
    ask("create with a label of another type", "POST", MAPS, config("types", labels={"a": 1}))
    ask("create with data of another type", "POST", MAPS, config("types", {"a": 1}))
    ask("create with an unknown field", "POST", MAPS, dict(config("unknown"), nothing=1))
    ask("create with an unknown field, strict", "POST", MAPS + "?fieldValidation=Strict", dict(config("u2"), nothing=1))
    ask("create with an unknown field, ignored", "POST", MAPS + "?fieldValidation=Ignore", dict(config("u3"), nothing=1))
    ask("fieldValidation of another word", "POST", MAPS + "?fieldValidation=Maybe", config("u4"))
    ask("create an array", "POST", MAPS, [1])
    # Not of protobuf: a real API server closes the connection when such a body is no protobuf.
    for method, where in (("POST", JOBS), ("PUT", f"{JOBS}/a"), ("POST", RUNTIMES), ("POST", JOBSETS)):
        for kind in ("application/cbor", "text/plain", "nonsense"):
            ask(f"body of {kind}: {method} {where}", method, where, job("p"), type=kind)
    ask("create with finalizers", "POST", MAPS, config("final", finalizers=["a.b/c"]))
    ask("create with an owner", "POST", MAPS, config("owned", ownerReferences=[
        {"apiVersion": "example.org/v1", "kind": "Thing", "name": "n", "uid": "1-2"}]))
    ask("create with a bad owner", "POST", MAPS, config("owned2", ownerReferences=[{"kind": "Thing", "name": "n"}]))
    ask("create a Secret", "POST", SECRETS, obj("Secret", "s", stringData={"a": "b"}, data={"c": "ZA=="}))
    ask("create a Secret that is not base64", "POST", SECRETS, obj("Secret", "s2", data={"c": "?"}))
    ask("create a Lease", "POST", LEASES, obj("Lease", "l", "coordination.k8s.io/v1", spec={
        "holderIdentity": "me", "leaseDurationSeconds": 10, "renewTime": "2026-01-01T00:00:00.000000Z"}))
    ask("create an Event", "POST", EVENTS, obj("Event", "e", involvedObject={
        "kind": "TrainJob", "name": "a", "namespace": NS}, reason="R", message="m", type="Normal", count=1,
        firstTimestamp="2026-01-01T00:00:00Z", lastTimestamp="2026-01-01T00:00:00Z", source={"component": "c"}))
    ask("create a namespace", "POST", f"{CORE}/namespaces", obj("Namespace", "api-compare-2"))
    ask("create a TrainJob", "POST", JOBS, job("a", {"trainer": {"numNodes": 2, "image": "x"}}, labels={"q": "1"}))
    ask("create a TrainJob again", "POST", JOBS, job("a"))
    ask("create a TrainJob with status", "POST", JOBS, dict(job("status"), status={"conditions": []}))
    ask("create a TrainJob without a spec", "POST", JOBS, obj("TrainJob", "no-spec", "trainer.kubeflow.org/v1alpha1"))
    ask("create a TrainJob of no runtime", "POST", JOBS, job("none", {"runtimeRef": {"name": "absent"}}))
    ask("create a TrainJob with an unknown field", "POST", JOBS, job("unknown", {"nothing": 1}))
    ask("the same, strict", "POST", JOBS + "?fieldValidation=Strict", job("unknown2", {"nothing": 1}))
    ask("a TrainJob with a wrong type", "POST", JOBS, job("type", {"trainer": {"numNodes": "two"}}))
    ask("a TrainJob with wrong values", "POST", JOBS, job("values", {"trainer": {"numNodes": -1, "numProcPerNode": 0}}))
    ask("a TrainJob with a bad name", "POST", JOBS, job("1-digit"))
    ask("a TrainJob with a float", "POST", JOBS, job("float", {"trainer": {
        "numNodes": 1, "resourcesPerNode": {"requests": {"cpu": 2.0}, "limits": {"cpu": 2.0}}}}))
    ask("a TrainJob with nulls", "POST", JOBS, job("nulls", {"trainer": None, "suspend": None}))
    ask("a runtime", "POST", RUNTIMES, runtime("r"))
    ask("a cluster runtime", "POST", CLUSTER_RUNTIMES, runtime("api-compare", "ClusterTrainingRuntime"))
    ask("a runtime without a template", "POST", RUNTIMES, obj("TrainingRuntime", "r2", "trainer.kubeflow.org/v1alpha1", spec={}))
    ask("a runtime with the same job twice", "POST", RUNTIMES, (lambda r: r["spec"]["template"]["spec"][
        "replicatedJobs"].append(r["spec"]["template"]["spec"]["replicatedJobs"][0]) or r)(runtime("twice")))
    off = {"trainer.kubeflow.org/webhook-validation": "disabled"}
    ask("validation disabled: not of a TrainJob", "POST", JOBS, job("off", {"runtimeRef": {"name": "absent"}}, labels=off))
    wrong = runtime("off", labels=off)
    wrong["spec"]["template"]["spec"]["replicatedJobs"][0]["replicas"] = 2
    ask("validation disabled: of a runtime", "POST", RUNTIMES, wrong)
    ask("validation disabled: changed", "PATCH", f"{RUNTIMES}/off", {"metadata": {"annotations": {"a": "b"}}}, type=MERGE)
    ask("validation disabled: no longer", "PATCH", f"{RUNTIMES}/off", {"metadata": {"labels": {
        "trainer.kubeflow.org/webhook-validation": None}}}, type=MERGE)
    ask("validation: a runtime", "POST", RUNTIMES, runtime("on"))
    ask("validation: disabled with the change", "PATCH", f"{RUNTIMES}/on", {"metadata": {"labels": off}, "spec": wrong["spec"]}, type=MERGE)
    ask("a JobSet", "POST", JOBSETS, obj("JobSet", "js", "jobset.x-k8s.io/v1alpha2", spec={
        "suspend": True, "replicatedJobs": [{"name": "w", "template": {"spec": {"template": {"spec": {
            "containers": [{"name": "c", "image": "i"}]}}}}}]}))


def reading():
    for query in ("", "?labelSelector=app%3Done", "?labelSelector=app%3D%3Done", "?labelSelector=app!%3Done",
                  "?labelSelector=app", "?labelSelector=!app", "?labelSelector=app%20in%20(one,%20two)",
                  "?labelSelector=app%20notin%20(one)", "?labelSelector=app%20in%20()", "?labelSelector=app%3E1",
                  "?labelSelector=a%20b", "?labelSelector=%3D", "?labelSelector=app%3Dx/y/z", "?labelSelector=app%20in",
                  "?labelSelector=,", "?labelSelector=app%3Done,", "?fieldSelector=metadata.name%3Da",
                  "?fieldSelector=metadata.name!%3Da", "?fieldSelector=metadata.name%3Da,metadata.namespace%3D" + NS,
                  "?fieldSelector=nothing%3D1", "?fieldSelector=metadata.name", "?limit=2", "?limit=0", "?limit=x",
                  "?limit=-1", "?continue=x", "?resourceVersion=0", "?resourceVersion=x",
                  "?resourceVersion=0&resourceVersionMatch=NotOlderThan", "?limit=2&labelSelector=app"):
        ask(f"list ConfigMaps{query}", "GET", MAPS + query)
    for path in (SECRETS, LEASES, EVENTS + "?fieldSelector=involvedObject.name%3Da", JOBS, RUNTIMES, JOBSETS, f"{CORE}/namespaces/{NS}"):
        ask(f"read {path}", "GET", path)
        ask(f"table of {path}", "GET", path, accept=TABLE)
        ask(f"metadata of {path}", "GET", path, accept=META if path.endswith(NS) else META_LIST)
    ask("table of ConfigMaps", "GET", MAPS, accept=TABLE)
    ask("table with objects", "GET", MAPS + "?includeObject=Object&limit=1", accept=TABLE)
    ask("table without objects", "GET", MAPS + "?includeObject=None&limit=1", accept=TABLE)
    ask("table of one", "GET", f"{JOBS}/a", accept=TABLE)
    ask("protobuf alone", "GET", f"{JOBS}/a", accept="application/vnd.kubernetes.protobuf")
    ask("text alone", "GET", f"{MAPS}/a", accept="text/plain")
    ask("events by field", "GET", EVENTS + "?fieldSelector=involvedObject.name%3Da,reason%3DR")
    ask("events by type", "GET", EVENTS + "?fieldSelector=type%3DWarning")
    ask("secrets by type", "GET", SECRETS + "?fieldSelector=type%3DOpaque")
    ask("TrainJobs by name", "GET", JOBS + "?fieldSelector=metadata.name%3Da")
    ask("TrainJobs by an unknown field", "GET", JOBS + "?fieldSelector=spec.suspend%3Dtrue")
    ask("TrainJobs by label", "GET", JOBS + "?labelSelector=q%20in%20(1,%202)")
    ask("status of a TrainJob", "GET", f"{JOBS}/a/status")


def watches():
    start = "watch=true&timeoutSeconds=1&resourceVersion=0"
    for query in ("", "&labelSelector=app%3Done", "&fieldSelector=metadata.name%3Da", "&labelSelector=app%3Dnone",
                  "&labelSelector=a%20b", "&fieldSelector=nothing%3D1",
                  "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"):
        ask(f"watch{query}", "GET", f"{MAPS}?{start}{query}")
    ask("watch from no version", "GET", f"{MAPS}?watch=true&timeoutSeconds=1&resourceVersion=x")
    ask("watch one", "GET", f"{MAPS}?{start}&fieldSelector=metadata.name%3Da", accept=META)
    ask("watch a table", "GET", f"{JOBS}?{start}", accept=TABLE)
    ask("watch TrainJobs", "GET", f"{JOBS}?{start}&labelSelector=q%3D1")
    ask("watch Leases", "GET", f"{LEASES}?{start}")


def updates():
    ask("update a ConfigMap", "PUT", f"{MAPS}/a", config("a", {"x": "2", "z": "3"}, labels={"app": "one"}))
    ask("update it to the same", "PUT", f"{MAPS}/a", config("a", {"x": "2", "z": "3"}, labels={"app": "one"}))
    ask("update by another", "PUT", f"{MAPS}/a?fieldManager=other", config("a", {"x": "3", "z": "3"}))
    ask("update of an old version", "PUT", f"{MAPS}/a", config("a", {}, resourceVersion="1"))
    ask("update of another uid", "PUT", f"{MAPS}/a", config("a", {}, uid="other"))
    ask("update of another name", "PUT", f"{MAPS}/a", config("b", {}))
    ask("update of an absent one", "PUT", f"{MAPS}/absent", config("absent", {}))
    ask("update, dry run", "PUT", f"{MAPS}/a?dryRun=All", config("a", {"dry": "run"}))
    ask("update a TrainJob without version", "PUT", f"{JOBS}/a", job("a"))
    ask("update an absent TrainJob", "PUT", f"{JOBS}/absent", job("absent"))
    ask("managers are forgotten", "PUT", f"{MAPS}/a", config("a", {"x": "3"}, managedFields=[]))
    ask("update after that", "PUT", f"{MAPS}/a", config("a", {"x": "4"}))
    ask("merge patch", "PATCH", f"{MAPS}/a", {"data": {"m": "1", "x": None}}, type=MERGE)
    ask("merge patch to the same", "PATCH", f"{MAPS}/a", {"data": {"m": "1"}}, type=MERGE)
    ask("merge patch of an absent one", "PATCH", f"{MAPS}/absent", {"data": {}}, type=MERGE)
    ask("merge patch of the name", "PATCH", f"{MAPS}/a", {"metadata": {"name": "b"}}, type=MERGE)
    ask("merge patch of the kind", "PATCH", f"{MAPS}/a", {"kind": "Secret"}, type=MERGE)
    ask("merge patch with an old version", "PATCH", f"{MAPS}/a", {"metadata": {"resourceVersion": "1"}}, type=MERGE)
    ask("merge patch with another uid", "PATCH", f"{MAPS}/a", {"metadata": {"uid": "1"}}, type=MERGE)
    ask("merge patch, array", "PATCH", f"{MAPS}/a", [], type=MERGE)
    ask("merge patch of labels", "PATCH", f"{MAPS}/a", {"metadata": {"labels": {"l": "1"}}}, type=MERGE)
    ask("merge patch, labels gone", "PATCH", f"{MAPS}/a", {"metadata": {"labels": None}}, type=MERGE)
    ask("merge patch with force", "PATCH", f"{MAPS}/a?force=true", {}, type=MERGE)
    ask("json patch", "PATCH", f"{MAPS}/a", [{"op": "add", "path": "/data/j", "value": "1"},
                                             {"op": "test", "path": "/data/j", "value": "1"}], type=PATCH)
    ask("json patch, test fails", "PATCH", f"{MAPS}/a", [{"op": "test", "path": "/data/j", "value": "2"}], type=PATCH)
    ask("json patch of nothing", "PATCH", f"{MAPS}/a", [{"op": "remove", "path": "/data/none"}], type=PATCH)
    ask("json patch, replace, move, copy", "PATCH", f"{MAPS}/a", [
        {"op": "replace", "path": "/data/j", "value": "2"}, {"op": "move", "from": "/data/j", "path": "/data/k"},
        {"op": "copy", "from": "/data/k", "path": "/data/c~1d"}, {"op": "remove", "path": "/data/m"}], type=PATCH)
    ask("json patch, unknown operation", "PATCH", f"{MAPS}/a", [{"op": "nothing", "path": "/data"}], type=PATCH)
    ask("json patch, object", "PATCH", f"{MAPS}/a", {"op": "add"}, type=PATCH)
    ask("strategic patch", "PATCH", f"{MAPS}/a", {"data": {"s": "1"}}, type=STRATEGIC)
    ask("strategic patch, replace", "PATCH", f"{MAPS}/a", {"data": {"$patch": "replace", "only": "1"}}, type=STRATEGIC)
    ask("strategic patch, finalizers", "PATCH", f"{MAPS}/a", {"metadata": {"finalizers": ["a.b/x"]}}, type=STRATEGIC)
    ask("strategic patch, more finalizers", "PATCH", f"{MAPS}/a", {"metadata": {"finalizers": ["a.b/y"]}}, type=STRATEGIC)
    ask("strategic patch, one finalizer less", "PATCH", f"{MAPS}/a", {"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["a.b/x"]}}, type=STRATEGIC)
    ask("no finalizers", "PATCH", f"{MAPS}/a", {"metadata": {"finalizers": None}}, type=MERGE)
    ask("strategic patch of a custom kind", "PATCH", f"{JOBS}/a", {"spec": {}}, type=STRATEGIC)
    ask("patch of another type", "PATCH", f"{MAPS}/a", {}, type="text/plain")
    ask("patch of a TrainJob", "PATCH", f"{JOBS}/a", {"spec": {"suspend": True}}, type=MERGE)
    ask("patch of what is immutable", "PATCH", f"{JOBS}/a", {"spec": {"trainer": {"numNodes": 3}}}, type=MERGE)
    ask("patch of status in the main path", "PATCH", f"{JOBS}/a", {"status": {"jobsStatus": []}}, type=MERGE)
    ask("patch of /status", "PATCH", f"{JOBS}/a/status", {"metadata": {"labels": {"no": "no"}}, "spec": {"suspend": False}, "status": {
        "conditions": [{"type": "Suspended", "status": "True", "reason": "R", "message": "m",
                        "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, type=MERGE)
    ask("invalid /status", "PATCH", f"{JOBS}/a/status", {"status": {"conditions": [{"type": "X"}]}}, type=MERGE)
    ask("json patch of a TrainJob", "PATCH", f"{JOBS}/a", [{"op": "add", "path": "/metadata/labels/k", "value": "v"}], type=PATCH)
    ask("patch of a runtime", "PATCH", f"{RUNTIMES}/r", {"spec": {"mlPolicy": {"numNodes": 2}}}, type=MERGE)
    ask("unknown field by patch", "PATCH", f"{JOBS}/a?fieldValidation=Strict", {"spec": {"nothing": 1}}, type=MERGE)
    ask("unknown field by patch, warned of", "PATCH", f"{JOBS}/a?fieldValidation=Warn", {"spec": {"nothing": 1}}, type=MERGE)
    ask("update of a Secret", "PATCH", f"{SECRETS}/s", {"stringData": {"n": "1"}}, type=MERGE)
    ask("update of a Lease", "PATCH", f"{LEASES}/l", {"spec": {"holderIdentity": "you"}}, type=MERGE)


def applies():
    map_a, job_a = f"{MAPS}/applied", f"{JOBS}/applied"
    apply("apply without a manager", map_a, config("applied"), "")
    apply("apply creates", map_a, config("applied", {"a": "1", "b": "1"}, labels={"x": "1"}), "one")
    apply("apply the same", map_a, config("applied", {"a": "1", "b": "1"}, labels={"x": "1"}), "one")
    apply("apply less", map_a, config("applied", {"a": "1"}, labels={"x": "1"}), "one")
    apply("apply by two", map_a, config("applied", {"a": "1", "c": "1"}), "two")
    apply("apply, conflict", map_a, config("applied", {"a": "2"}), "two")
    apply("apply, two conflicts", map_a, config("applied", {"a": "2"}, labels={"x": "2"}), "three")
    apply("apply, forced", map_a, config("applied", {"a": "2"}), "two", "&force=true")
    apply("apply after that", map_a, config("applied", {"a": "1"}, labels={"x": "1"}), "one")
    apply("apply nothing", map_a, config("applied"), "one")
    apply("apply, dry run", map_a, config("applied", {"z": "1"}), "one", "&dryRun=All")
    apply("apply another name", map_a, config("other"), "one")
    apply("apply managedFields", map_a, config("applied", managedFields=[{"manager": "x"}]), "one")
    apply("apply an old version", map_a, config("applied", resourceVersion="1"), "one")
    apply("apply an unknown field", map_a, dict(config("applied"), nothing=1), "one")
    apply("apply an unknown field, strict", map_a, dict(config("applied"), nothing=1), "one", "&fieldValidation=Strict")
    ask("update over what was applied", "PATCH", map_a + "?fieldManager=upd", {"data": {"a": "9", "u": "1"}}, type=MERGE)
    apply("apply, conflict with an update", map_a, config("applied", {"a": "1", "u": "2"}), "one")
    apply("apply, forced over an update", map_a, config("applied", {"a": "1", "u": "2"}), "one", "&force=true")
    apply("apply what somebody updated", map_a, config("applied", {"a": "1"}), "one")
    apply("apply finalizers", map_a, config("applied", {"a": "1"}, finalizers=["a.b/1", "a.b/2"]), "one")
    apply("apply other finalizers", map_a, config("applied", finalizers=["a.b/2", "a.b/3"]), "two", "&force=true")
    apply("apply no finalizers", map_a, config("applied", {"a": "1"}), "one")
    apply("apply none of them", map_a, config("applied"), "two")
    apply("apply an owner", map_a, config("applied", ownerReferences=[
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}]), "own", "&dryRun=All")
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    apply("apply a TrainJob", job_a, job("applied", {"trainer": {"numNodes": 1, "env": env}}), "one")
    apply("apply it to the same", job_a, job("applied", {"trainer": {"numNodes": 1, "env": env}}), "one")
    apply("apply labels by another", job_a, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {
        "name": "applied", "labels": {"two": "2"}}}, "two")
    apply("apply suspend by another", job_a, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {
        "name": "applied"}, "spec": {"suspend": True}}, "two")
    apply("apply runtimePatches", job_a, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {
        "name": "applied"}, "spec": {"runtimePatches": [{"manager": "a.b/c", "trainingRuntimeSpec": {"template": {
            "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {
                "nodeSelector": {"k": "v"}}}}}}]}}}}]}}, "three")
    apply("conflict in a TrainJob", job_a, job("applied", {"suspend": False, "trainer": {"numNodes": 1, "env": env}}), "one")
    apply("apply status in the main path", job_a, dict(job("applied", {"trainer": {"numNodes": 1, "env": env}}),
                                                      status={"conditions": []}), "one")
    apply("apply /status", job_a + "/status", {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {
        "name": "applied"}, "status": {"conditions": [{"type": "T", "status": "True", "reason": "R", "message": "m",
                                                       "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, "stat")
    apply("apply another condition", job_a + "/status", {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {
        "name": "applied"}, "status": {"conditions": [{"type": "U", "status": "True", "reason": "R", "message": "m",
                                                       "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, "stat2")
    apply("apply a condition without its key", job_a + "/status", {"apiVersion": "trainer.kubeflow.org/v1alpha1",
          "kind": "TrainJob", "metadata": {"name": "applied"}, "status": {"conditions": [{"status": "True"}]}}, "stat3")
    r, path = runtime("applied"), f"{RUNTIMES}/applied"
    apply("apply a runtime", path, r, "one")
    other = runtime("applied", image="j")
    apply("conflict in a list of maps", path, other, "two")
    apply("the same, forced", path, other, "two", "&force=true")
    more = runtime("applied", image="j")
    more["spec"]["template"]["spec"]["replicatedJobs"].insert(0, {"name": "launcher", "template": {"spec": {"template": {
        "spec": {"containers": [{"name": "launcher", "image": "l"}]}}}}})
    apply("apply an element more", path, more, "two")
    apply("apply an element less", path, other, "two")
    twice = runtime("applied", image="j")
    twice["spec"]["template"]["spec"]["replicatedJobs"] *= 2
    apply("apply an element twice", path, twice, "two", "&force=true")
    ask("the runtime at last", "GET", path)
    ask("the TrainJob at last", "GET", job_a)
    ask("the ConfigMap at last", "GET", map_a)
    apply("apply to an absent namespace", f"{CORE}/namespaces/absent/configmaps/a", config("a"), "one")
    apply("apply an absent one's status", f"{JOBS}/absent/status", job("absent"), "one")
    apply("apply with a long manager", map_a, config("applied"), "m" * 129)


def deletions():
    ask("delete with another uid", "DELETE", f"{MAPS}/a", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "x"}})
    ask("delete with another version", "DELETE", f"{MAPS}/a", {"kind": "DeleteOptions", "apiVersion": "v1",
                                                               "preconditions": {"resourceVersion": "1"}})
    ask("delete, unknown propagation", "DELETE", f"{MAPS}/a?propagationPolicy=Never")
    ask("delete, dry run", "DELETE", f"{MAPS}/a?dryRun=All")
    ask("delete", "DELETE", f"{MAPS}/a")
    ask("delete again", "DELETE", f"{MAPS}/a")
    ask("delete an absent TrainJob", "DELETE", f"{JOBS}/absent")
    ask("delete with a finalizer", "DELETE", f"{MAPS}/final")
    ask("what is left of it", "GET", f"{MAPS}/final")
    ask("delete it once more", "DELETE", f"{MAPS}/final")
    ask("another finalizer meanwhile", "PATCH", f"{MAPS}/final", {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}}, type=MERGE)
    ask("its last finalizer goes", "PATCH", f"{MAPS}/final", {"metadata": {"finalizers": None}}, type=MERGE)
    ask("then it is gone", "GET", f"{MAPS}/final")
    ask("delete a TrainJob", "DELETE", f"{JOBS}/a")
    ask("delete a TrainJob, body", "DELETE", f"{JOBS}/applied", {"propagationPolicy": "Background"})
    ask("delete a collection by label", "DELETE", f"{MAPS}?labelSelector=app%3Dnone")
    ask("delete Secrets", "DELETE", SECRETS)
    ask("no Secrets are left", "GET", SECRETS)
    ask("delete Leases", "DELETE", LEASES, {"kind": "DeleteOptions", "apiVersion": "v1"})
    ask("delete the namespace default", "DELETE", f"{CORE}/namespaces/default")
    ask("delete the namespace kube-system", "DELETE", f"{CORE}/namespaces/kube-system?propagationPolicy=Foreground")
    ask("delete the cluster runtime", "DELETE", f"{CLUSTER_RUNTIMES}/api-compare")
    ask("delete runtimes", "DELETE", RUNTIMES)
    ask("no runtimes are left", "GET", RUNTIMES)


def reviews():
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
        "resourceAttributes": {"namespace": NS, "verb": "get", "resource": "pods"}}}
    ask("may I", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)


for part in (discovery, wrong_paths, creation, reading, watches, updates, applies, deletions, reviews):
    part()
