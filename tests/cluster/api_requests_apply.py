"""More of what apiserver.py asks: who owns which field. Server-side apply by several managers, lists
that merge by their keys, what patches and updates do to managedFields, the name of the manager."""
import json

from api_requests import APPLY, CORE, JSON, MERGE, PATCH, STRATEGIC, TRAINER, apply, ask, config, job, obj, runtime

NS = "api-managers"
MAPS, SECRETS, EVENTS = (f"{CORE}/namespaces/{NS}/{plural}" for plural in ("configmaps", "secrets", "events"))
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
JOBS, RUNTIMES = (f"{TRAINER}/namespaces/{NS}/{plural}" for plural in ("trainjobs", "trainingruntimes"))
TRAINER_VERSION = "trainer.kubeflow.org/v1alpha1"
TIME = "2026-01-01T00:00:00Z"


def part(kind, name, version=TRAINER_VERSION, **members):
    """Of an object: what one manager says."""
    return obj(kind, name, version, **members)


def condition(name, status="True", reason="R"):
    return {"type": name, "status": status, "reason": reason, "message": "m", "lastTransitionTime": TIME}


def shared():
    """A field of several managers goes with the last of them."""
    path = f"{MAPS}/shared"
    apply("shared: one", path, config("shared", {"k": "v", "own": "1"}), "one")
    apply("shared: two", path, config("shared", {"k": "v"}), "two")
    apply("shared: three", path, config("shared", {"k": "v", "third": "3"}, annotations={"a/b": "c"}), "three")
    apply("shared: one leaves", path, config("shared", {"own": "1"}), "one")
    apply("shared: two leaves", path, config("shared"), "two")
    apply("shared: the last leaves", path, config("shared", annotations={"a/b": "c"}), "three")
    apply("shared: conflict of three fields with two", path, config("shared", {"own": "2"}, annotations={"a/b": "d"}), "four")
    apply("shared: forced takes all three", path, config("shared", {"own": "2"}, annotations={"a/b": "d"}), "four", "&force=true")
    apply("shared: and loses nothing to who says the same", path, config("shared", {"own": "2"}), "one")
    apply("shared: who lost has nothing left", path, config("shared"), "three")
    apply("shared: dry run of a conflict", path, config("shared", {"own": "9"}), "nine", "&dryRun=All")
    apply("shared: dry run, forced", path, config("shared", {"own": "9"}), "nine", "&dryRun=All&force=true")
    ask("shared: nothing came of dry runs", "GET", path)
    apply("shared: force=false", path, config("shared", {"own": "9"}), "nine", "&force=false")
    apply("shared: force is no word", path, config("shared", {"own": "9"}), "nine", "&force=maybe")


def updates_and_applies():
    """The same manager applies and updates: two entries."""
    path = f"{MAPS}/both"
    apply("both: applied", path, config("both", {"a": "1", "b": "1"}), "m")
    ask("both: updated by the same", "PATCH", path + "?fieldManager=m", {"data": {"a": "2", "c": "1"}}, type=MERGE)
    apply("both: applied again", path, config("both", {"a": "3", "b": "1"}), "m")
    ask("both: a patch takes what was applied", "PATCH", path + "?fieldManager=n", {"data": {"b": None}}, type=MERGE)
    apply("both: it comes back", path, config("both", {"a": "3", "b": "1"}), "m")
    ask("both: a put without what was applied", "PUT", path + "?fieldManager=p", config("both", {"c": "1"}))
    ask("both: a put to the same by another", "PUT", path + "?fieldManager=q", config("both", {"c": "1"}))
    apply("both: the same by an apply", path, config("both", {"c": "1"}), "r")
    ask("both: json patch by a manager", "PATCH", path + "?fieldManager=j", [
        {"op": "add", "path": "/metadata/labels", "value": {"x": "1"}}, {"op": "replace", "path": "/data/c", "value": "2"}], type=PATCH)
    ask("both: strategic patch by a manager", "PATCH", path + "?fieldManager=s", {
        "metadata": {"annotations": {"x": "1"}}, "data": {"c": "3"}}, type=STRATEGIC)
    ask("both: a patch of what the manager has already", "PATCH", path + "?fieldManager=s", {"data": {"c": "3"}}, type=MERGE)
    ask("both: dry run of a patch", "PATCH", path + "?fieldManager=t&dryRun=All", {"data": {"c": "4"}}, type=MERGE)
    ask("both: at last", "GET", path)
    ask("forgotten: all managers", "PATCH", path, {"metadata": {"managedFields": [{}]}}, type=MERGE)
    apply("forgotten: conflict with what was before", path, config("both", {"c": "5"}), "m")
    apply("forgotten: forced", path, config("both", {"c": "5"}), "m", "&force=true")
    ask("forgotten: managers of a patch", "PATCH", path, {"metadata": {"managedFields": [{
        "manager": "made-up", "operation": "Update", "apiVersion": "v1", "time": TIME, "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:c": {}}}}]}}, type=MERGE)
    ask("forgotten: managers that are none", "PATCH", path, {"metadata": {"managedFields": [{
        "manager": "made-up", "operation": "Sing", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]}}, type=MERGE)
    ask("forgotten: managedFields null", "PATCH", path, {"metadata": {"managedFields": None}}, type=MERGE)


def bodies():
    """What is applied is any YAML."""
    path = f"{MAPS}/body"
    apply("body: empty data", path, config("body", {}), "one")
    apply("body: data null", path, dict(config("body"), data=None), "one")
    apply("body: a value null", path, config("body", {"a": None, "b": "1"}), "one")
    apply("body: a number in data", path, config("body", {"a": 1}), "one")
    apply("body: without a kind", path, {"apiVersion": "v1", "metadata": {"name": "body"}}, "one")
    apply("body: without a version", path, {"kind": "ConfigMap", "metadata": {"name": "body"}}, "one")
    apply("body: another kind", path, obj("Secret", "body"), "one")
    apply("body: without a name", path, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"n": "1"}}, "one")
    apply("body: another namespace", path, config("body", namespace="default"), "one")
    apply("body: an array", path, [1], "one")
    apply("body: text", path, "just words", "one", raw=True)
    apply("body: YAML", path, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: body}\ndata:\n  a: |\n    two\n    lines\n", "one", raw=True)
    apply("body: no YAML", path, "a: [", "one", raw=True)
    apply("body: a uid of none", f"{MAPS}/none", config("none", uid="1-2-3"), "one")
    apply("body: another uid", path, config("body", uid="1-2-3"), "one")
    apply("body: a version of none", f"{MAPS}/none", config("none", resourceVersion="5"), "one")
    ask("body: its version", "GET", path, keep="body")
    apply("body: the right version", path, config("body", {"a": "v"}, resourceVersion="{{body metadata.resourceVersion}}"), "one")
    apply("body: the right uid", path, config("body", {"a": "u"}, uid="{{body metadata.uid}}"), "one")
    apply("body: creates, dry run", f"{MAPS}/dry", config("dry", {"a": "1"}), "one", "&dryRun=All")
    ask("body: a dry run made nothing", "GET", f"{MAPS}/dry")
    ask("body: apply by POST", "POST", f"{MAPS}?fieldManager=one", config("posted"), type=APPLY)
    ask("body: apply by PUT", "PUT", f"{path}?fieldManager=one", config("body"), type=APPLY)


def managers():
    """Who writes: fieldManager, or what stands before the / in User-Agent."""
    for i, agent in enumerate(("kubectl/v1.34.0 (linux/amd64) kubernetes/abc", "word", "OpenAPI-Generator/35.0.0/python",
                               "with blanks and/more", "/nothing-before", "x" * 200, "a\tb/1")):
        ask(f"manager: agent {agent[:30]!r}", "POST", MAPS, config(f"agent-{i}", {"a": "1"}), agent=agent)
    ask("manager: patch by an agent", "PATCH", f"{MAPS}/agent-0", {"data": {"a": "2"}}, type=MERGE, agent="Mozilla/5.0 (X11)")
    ask("manager: update by an agent", "PUT", f"{MAPS}/agent-1", config("agent-1", {"a": "2"}), agent="curl/8.0")
    ask("manager: longer than 128", "POST", f"{MAPS}?fieldManager={'m' * 129}", config("long"))
    ask("manager: 128 long", "POST", f"{MAPS}?fieldManager={'m' * 128}", config("long"))
    ask("manager: with blanks", "POST", f"{MAPS}?fieldManager=a%20b", config("blanks", {"a": "1"}))
    ask("manager: not printable", "POST", f"{MAPS}?fieldManager=a%01b", config("unprintable", {"a": "1"}))
    ask("manager: not printable, patch", "PATCH", f"{MAPS}/blanks?fieldManager=a%01b", {"data": {"a": "2"}}, type=MERGE)
    apply("manager: not printable, apply", f"{MAPS}/blanks", config("blanks", {"b": "2"}), "a%01b")
    ask("manager: longer than 128, update", "PUT", f"{MAPS}/blanks?fieldManager={'m' * 129}", config("blanks"))


def core_kinds():
    secret, lease, event = f"{SECRETS}/s", f"{LEASES}/l", f"{EVENTS}/e"
    apply("core: a Secret", secret, obj("Secret", "s", data={"a": "MQ=="}, type="Opaque"), "one")
    apply("core: a Secret's stringData", secret, obj("Secret", "s", stringData={"b": "2"}), "two")
    apply("core: a Secret, conflict", secret, obj("Secret", "s", data={"a": "Mg=="}), "two")
    apply("core: a Secret's type is immutable", secret, obj("Secret", "s", type="a/b"), "one", "&force=true")
    apply("core: a Secret that becomes immutable", secret, obj("Secret", "s", data={"a": "MQ=="}, immutable=True), "one")
    apply("core: an immutable Secret", secret, obj("Secret", "s", data={"a": "Mw=="}, immutable=True), "one")
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 10}
    apply("core: a Lease", lease, obj("Lease", "l", "coordination.k8s.io/v1", spec=spec), "one")
    apply("core: a Lease, another holder", lease, obj("Lease", "l", "coordination.k8s.io/v1", spec={"holderIdentity": "two"}), "two")
    apply("core: a Lease, forced", lease, obj("Lease", "l", "coordination.k8s.io/v1", spec={"holderIdentity": "two"}), "two", "&force=true")
    ask("core: a Lease is renewed", "PUT", f"{lease}?fieldManager=two", obj("Lease", "l", "coordination.k8s.io/v1", spec=dict(
        spec, holderIdentity="two", renewTime="2026-01-01T00:00:00.000000Z")))
    ask("core: a Lease that is not there is made by PUT", "PUT", f"{LEASES}/new", obj("Lease", "new", "coordination.k8s.io/v1", spec=spec))
    ask("core: a Lease of wrong values", "PUT", f"{LEASES}/bad", obj("Lease", "bad", "coordination.k8s.io/v1", spec={
        "leaseDurationSeconds": -1, "leaseTransitions": -1}))
    said = {"involvedObject": {"kind": "TrainJob", "name": "a", "namespace": NS}, "reason": "R", "message": "m", "type": "Normal",
            "firstTimestamp": TIME, "lastTimestamp": TIME, "count": 1, "source": {"component": "c"}}
    apply("core: an Event", event, obj("Event", "e", **said), "one")
    apply("core: an Event again", event, obj("Event", "e", **dict(said, count=2)), "one")
    ask("core: an Event that is not there is made by PUT", "PUT", f"{EVENTS}/new", obj("Event", "new", **said))
    ask("core: an Event of another namespace", "POST", EVENTS, obj("Event", "other", **dict(
        said, involvedObject={"kind": "TrainJob", "name": "a", "namespace": "default"})))
    ask("core: an Event is counted", "PATCH", event, {"count": 3, "lastTimestamp": "2026-01-01T00:00:01Z"}, type=STRATEGIC)
    space = f"{CORE}/namespaces/{NS}"
    apply("core: a Namespace's labels", space, obj("Namespace", NS, metadata={"labels": {"team": "red"}}), "one")
    apply("core: a Namespace's labels, conflict", space, obj("Namespace", NS, metadata={"labels": {"team": "blue"}}), "two")
    apply("core: a Namespace's own label", space, obj("Namespace", NS, metadata={"labels": {"kubernetes.io/metadata.name": "x"}}), "two", "&force=true")
    for name, owners in (("owners", [("a", "1"), ("b", "2")]), ("other owners", [("c", "3")]), ("an owner again", [("a", "1")])):
        apply(f"core: {name}", f"{MAPS}/owned", config("owned", ownerReferences=[
            {"apiVersion": "example.org/v1", "kind": "Thing", "name": n, "uid": u} for n, u in owners]), name.replace(" ", "-"), "&dryRun=All")
    ask("core: two owners", "POST", f"{MAPS}?fieldManager=one", config("kept", ownerReferences=[
        {"apiVersion": "example.org/v1", "kind": "Thing", "name": n, "uid": n} for n in ("a", "b")], finalizers=["a.b/c"]))
    ask("core: an owner less, by strategic patch", "PATCH", f"{MAPS}/kept?dryRun=All", {"metadata": {"ownerReferences": [
        {"$patch": "delete", "uid": "a"}]}}, type=STRATEGIC)
    ask("core: an owner more, by strategic patch", "PATCH", f"{MAPS}/kept?dryRun=All", {"metadata": {"ownerReferences": [
        {"apiVersion": "example.org/v1", "kind": "Thing", "name": "z", "uid": "z"}]}}, type=STRATEGIC)
    ask("core: an owner changed, by strategic patch", "PATCH", f"{MAPS}/kept?dryRun=All", {"metadata": {"ownerReferences": [
        {"uid": "b", "name": "other"}]}}, type=STRATEGIC)
    ask("core: strategic patch of an unknown directive", "PATCH", f"{MAPS}/kept?dryRun=All", {"data": {"$patch": "sing"}}, type=STRATEGIC)
    ask("core: two controllers", "PATCH", f"{MAPS}/kept?dryRun=All", {"metadata": {"ownerReferences": [
        {"apiVersion": "example.org/v1", "kind": "Thing", "name": n, "uid": n, "controller": True} for n in ("a", "b")]}}, type=MERGE)


def containers(name, *list_of, **template):
    """A runtime of one job that has these containers."""
    r = runtime(name)
    inner = r["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    inner["spec"]["containers"] = list(list_of)
    inner.update(template)
    return r


def lists():
    """Maps of lists, sets and what is replaced whole."""
    path = f"{RUNTIMES}/lists"
    node = {"name": "node", "image": "i"}
    ports = [{"containerPort": 1000, "name": "a"}, {"containerPort": 1000, "protocol": "UDP"}]
    apply("lists: a container's lists", path, containers("lists", dict(
        node, env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], args=["x", "y"], ports=ports,
        volumeMounts=[{"name": "v", "mountPath": "/v"}], resources={"limits": {"cpu": "1", "memory": "1Gi"}})), "one")
    apply("lists: another's env, ports and mounts", path, part("TrainingRuntime", "lists", spec={"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{
            "name": "node", "env": [{"name": "C", "value": "3"}], "ports": [{"containerPort": 2000, "protocol": "TCP"}],
            "volumeMounts": [{"name": "w", "mountPath": "/w"}], "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}}}]}}}), "two")
    apply("lists: args are one value", path, containers("lists", dict(node, args=["x"])), "two")
    apply("lists: a port without its protocol is TCP", path, part("TrainingRuntime", "lists", spec={"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{
            "name": "node", "ports": [{"containerPort": 1000, "name": "b"}]}]}}}}}]}}}), "three")
    apply("lists: env in another order", path, containers("lists", dict(
        node, env=[{"name": "B", "value": "2"}, {"name": "A", "value": "1"}], args=["x", "y"], ports=ports)), "one")
    apply("lists: a variable's value becomes a reference", path, containers("lists", dict(
        node, env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])), "one")
    apply("lists: a key twice", path, containers("lists", dict(node, env=[{"name": "A"}, {"name": "A"}])), "one")
    apply("lists: an element without its key", path, containers("lists", dict(node, env=[{"value": "x"}])), "one")
    apply("lists: one container more", path, containers("lists", node, {"name": "side", "image": "s"}), "four", "&force=true")
    apply("lists: the job's own again", path, containers("lists", dict(node, args=["z"])), "one")
    apply("lists: a list that is none", path, containers("lists", dict(node, env={"name": "A"})), "one")
    apply("lists: labels of the pods", path, containers("lists", dict(node, args=["z"]), metadata={"labels": {"a": "1"}}), "one")
    apply("lists: labels of the pods by another", path, part("TrainingRuntime", "lists", spec={"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"metadata": {"labels": {"b": "1"}}}}}}]}}}), "two")
    ask("lists: json patch of an element", "PATCH", f"{path}?fieldManager=upd", [{
        "op": "replace", "path": "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/0/image", "value": "u"}], type=PATCH)
    apply("lists: conflict in a container", path, containers("lists", dict(node, args=["z"])), "one")
    ask("lists: merge patch replaces a list", "PATCH", f"{path}?fieldManager=upd", {"spec": {"template": {"spec": {"replicatedJobs": containers(
        "lists", dict(node, env=[{"name": "U", "value": "1"}]))["spec"]["template"]["spec"]["replicatedJobs"]}}}}, type=MERGE)
    ask("lists: at last", "GET", path)
    apply("lists: mlPolicy by one", path, part("TrainingRuntime", "lists", spec={"mlPolicy": {"numNodes": 3}}), "nodes")
    apply("lists: mlPolicy, forced", path, part("TrainingRuntime", "lists", spec={"mlPolicy": {"numNodes": 3}}), "nodes", "&force=true")
    apply("lists: and taken back", path, part("TrainingRuntime", "lists", spec={}), "nodes")


def trainjobs():
    path, status = f"{JOBS}/j", f"{JOBS}/j/status"
    apply("job: applied", path, job("j", {"trainer": {"numNodes": 2, "env": [{"name": "A", "value": "1"}]}}, labels={"l": "1"}), "one")
    apply("job: env of another", path, part("TrainJob", "j", spec={"trainer": {"env": [{"name": "A", "value": "2"}]}}), "two")
    ask("job: suspended by a patch", "PATCH", f"{path}?fieldManager=kueue", {"spec": {"suspend": True}}, type=MERGE)
    apply("job: what is immutable, forced", path, part("TrainJob", "j", spec={"trainer": {"numNodes": 3}}), "two", "&force=true")
    apply("status: two conditions by two", status, part("TrainJob", "j", status={"conditions": [condition("A")]}), "s1")
    apply("status: the other", status, part("TrainJob", "j", status={"conditions": [condition("B")]}), "s2")
    apply("status: conflict in a condition", status, part("TrainJob", "j", status={"conditions": [condition("A", "False")]}), "s2")
    apply("status: forced; what s2 leaves out goes", status, part("TrainJob", "j", status={"conditions": [condition("A", "False")]}), "s2", "&force=true")
    apply("status: jobsStatus", status, part("TrainJob", "j", status={"jobsStatus": [
        {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]}), "s3")
    apply("status: jobsStatus of another job", status, part("TrainJob", "j", status={"jobsStatus": [
        {"name": "launcher", "ready": 0, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]}), "s4")
    apply("status: jobsStatus without its fields", status, part("TrainJob", "j", status={"jobsStatus": [{"name": "x"}]}), "s5")
    apply("status: spec is left alone", status, part("TrainJob", "j", spec={"suspend": False}, status={}), "s6")
    apply("status: labels are left alone", status, part("TrainJob", "j", metadata={"labels": {"s": "1"}}, status={}), "s6")
    ask("status: json patch", "PATCH", f"{status}?fieldManager=upd", [{
        "op": "add", "path": "/status/conditions/-", "value": condition("C")}], type=PATCH)
    ask("status: merge patch to the same", "PATCH", f"{status}?fieldManager=upd", {"status": {}}, type=MERGE)
    ask("status: dry run", "PATCH", f"{status}?fieldManager=upd&dryRun=All", {"status": {"conditions": []}}, type=MERGE)
    ask("status: the job", "GET", path, keep="job")
    ask("status: put without a version", "PUT", status, job("j"))
    ask("status: put", "PUT", f"{status}?fieldManager=put", dict(job("j", resourceVersion="{{job metadata.resourceVersion}}"),
                                                                status={"conditions": [condition("P")]}))
    ask("status: put of an old version", "PUT", status, dict(job("j", resourceVersion="{{job metadata.resourceVersion}}"), status={}))
    ask("status: strategic patch", "PATCH", status, {"status": {}}, type=STRATEGIC)
    ask("status: delete", "DELETE", status)
    ask("status: create", "POST", status, job("j"))
    apply("status: main path leaves it alone", path, dict(job("j", {"trainer": {"numNodes": 2}}), status={"conditions": [condition("M")]}), "one")
    ask("status: generation counts spec alone", "PATCH", path, {"metadata": {"annotations": {"a": "b"}}}, type=MERGE)
    ask("status: merge patch with another uid", "PATCH", status, {"metadata": {"uid": "other"}, "status": {
        "state": "Created"}}, type=MERGE)
    ask("status: json patch of another uid", "PATCH", status, [
        {"op": "test", "path": "/metadata/uid", "value": "other"}, {"op": "add", "path": "/status/state", "value": "Failed"}], type=PATCH)
    ask("status: of a Namespace", "PATCH", f"{CORE}/namespaces/{NS}/status", {"status": {"conditions": [
        {"type": "T", "status": "True"}]}}, type=MERGE)
    ask("job: put with its version", "GET", path, keep="job")
    ask("job: put", "PUT", f"{path}?fieldManager=put", job("j", {"suspend": True, "trainer": {"numNodes": 2}}, resourceVersion="{{job metadata.resourceVersion}}"))
    ask("job: put of an old version", "PUT", path, job("j", {"suspend": True, "trainer": {"numNodes": 2}}, resourceVersion="{{job metadata.resourceVersion}}"))
    patches = [{"manager": f"a.b/{m}", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
        "spec": {"template": {"spec": {"nodeSelector": {m: "1"}}}}}}]}}}} for m in "xyz"]
    apply("job: runtimePatches of one", path, part("TrainJob", "j", spec={"runtimePatches": patches[:1]}), "px")
    apply("job: runtimePatches of another", path, part("TrainJob", "j", spec={"runtimePatches": patches[1:]}), "py")
    apply("job: runtimePatches, one less", path, part("TrainJob", "j", spec={"runtimePatches": patches[2:]}), "py")
    ask("job: at last", "GET", path)


def migration():
    """What kubectl has applied by itself, and then applies server-side."""
    path, last = f"{MAPS}/moved", "kubectl.kubernetes.io/last-applied-configuration"

    def before(name, data, applied):
        """As `kubectl apply` creates it."""
        annotation = json.dumps(config(name, applied), separators=(",", ":"), sort_keys=True) + "\n"
        ask(f"migration: {name}", "POST", f"{MAPS}?fieldManager=kubectl-client-side-apply", config(name, data, annotations={last: annotation}))

    before("moved", {"a": "1", "b": "1"}, {"a": "1", "b": "1"})
    apply("migration: another manager", path, config("moved", {"a": "2"}), "other")
    apply("migration: the same", path, config("moved", {"a": "1", "b": "1"}), "kubectl")
    apply("migration: a value changed", path, config("moved", {"a": "2", "b": "<&>"}, annotations={"z": "1", "y": "1"}), "kubectl")
    apply("migration: again, and one less", path, config("moved", {"a": "3"}), "kubectl")
    apply("migration: dry run", path, config("moved", {"a": "4"}), "kubectl", "&dryRun=All")
    before("edited", {"a": "9", "b": "1", "c": "1"}, {"a": "1", "b": "1"})
    apply("migration: one changed since, one of nobody's", f"{MAPS}/edited", config("edited", {"a": "2", "b": "2", "c": "2"}), "kubectl")
    apply("migration: without those", f"{MAPS}/edited", config("edited", {"b": "2"}), "kubectl")
    before("large", {"a": "1"}, {"a": "1"})
    apply("migration: too large for an annotation", f"{MAPS}/large", config("large", {"a": "x" * 300000}), "kubectl")
    for i, text in enumerate(("", "{", "[]", json.dumps(config("broken-4", {"a": "1"}) | {"apiVersion": "v2"}))):
        name = f"broken-{i}"
        ask(f"migration: {name}", "POST", f"{MAPS}?fieldManager=kubectl-client-side-apply", config(name, {"a": "1"}, annotations={last: text}))
        apply(f"migration: an annotation that is none {i}", f"{MAPS}/{name}", config(name, {"a": "2"}), "kubectl")
        apply(f"migration: ... forced {i}", f"{MAPS}/{name}", config(name, {"a": "2"}), "kubectl", "&force=true")


def quantities():
    """As they are sent: an API server keeps a custom kind's spelling."""
    for i, value in enumerate((2, 2.5, "2000m", "1e3", "0.5Gi", "")):
        ask(f"quantity {value!r}", "POST", JOBS, job(f"q-{i}", {"trainer": {"numNodes": 1, "resourcesPerNode": {"limits": {"memory": value}}}}))


ask("namespace of managers", "POST", f"{CORE}/namespaces", obj("Namespace", NS), type=JSON)
for each in (shared, updates_and_applies, bodies, managers, core_kinds, lists, trainjobs, migration, quantities):
    each()
