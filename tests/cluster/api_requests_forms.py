"""More of what apiserver.py asks: pages of lists, watches from a version, Table and PartialObjectMetadata,
discovery, patches at their edges, dry runs, deletion with preconditions and propagation."""
from api_requests import CORE, MERGE, META, META_LIST, PATCH, STRATEGIC, TABLE, TRAINER, ask, config, job, obj

NS = "api-forms"
MAPS, SECRETS, SERVICES, EVENTS = (f"{CORE}/namespaces/{NS}/{plural}" for plural in ("configmaps", "secrets", "services", "events"))
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
JOBS = f"{TRAINER}/namespaces/{NS}/trainjobs"
OPTIONS = {"kind": "DeleteOptions", "apiVersion": "v1"}


def lease(name, **meta):
    return obj("Lease", name, "coordination.k8s.io/v1", metadata=meta, spec={"holderIdentity": name})


def pages():
    for i in range(7):
        ask(f"pages: Lease {i}", "POST", LEASES, lease(f"l{i}", labels={"even": str(i % 2 == 0).lower()}))
    ask("pages: first", "GET", f"{LEASES}?limit=3", keep="page")
    ask("pages: second", "GET", f"{LEASES}?limit=3&continue={{{{page metadata.continue}}}}", keep="page")
    ask("pages: third", "GET", f"{LEASES}?limit=3&continue={{{{page metadata.continue}}}}")
    ask("pages: the rest at once", "GET", f"{LEASES}?continue={{{{page metadata.continue}}}}")
    ask("pages: of another list", "GET", f"{SECRETS}?limit=3&continue={{{{page metadata.continue}}}}")
    ask("pages: continue with a version", "GET", f"{LEASES}?continue={{{{page metadata.continue}}}}&resourceVersion=1")
    ask("pages: by label", "GET", f"{LEASES}?limit=2&labelSelector=even%3Dtrue", keep="page")
    ask("pages: by label, second", "GET", f"{LEASES}?limit=2&labelSelector=even%3Dtrue&continue={{{{page metadata.continue}}}}")
    ask("pages: by field", "GET", f"{LEASES}?limit=2&fieldSelector=metadata.name!%3Dl1", keep="page")
    ask("pages: by field, second", "GET", f"{LEASES}?limit=2&fieldSelector=metadata.name!%3Dl1&continue={{{{page metadata.continue}}}}")
    ask("pages: as many as there are", "GET", f"{LEASES}?limit=7")
    ask("pages: of a table", "GET", f"{LEASES}?limit=3", accept=TABLE, keep="page")
    ask("pages: of a table, second", "GET", f"{LEASES}?limit=3&continue={{{{page metadata.continue}}}}", accept=TABLE)
    ask("pages: of metadata", "GET", f"{LEASES}?limit=3", accept=META_LIST)
    ask("pages: of all namespaces", "GET", f"/apis/coordination.k8s.io/v1/leases?labelSelector=even%3Dtrue&limit=2")
    ask("pages: of custom kinds", "GET", f"{JOBS}?limit=1", keep="page")
    ask("pages: a version that is too new", "GET", f"{LEASES}?resourceVersion=999999999999")
    ask("pages: one of a version that is too new", "GET", f"{LEASES}/l0?resourceVersion=999999999999")
    ask("pages: exactly of a version", "GET", f"{LEASES}?resourceVersionMatch=Exact")
    ask("pages: a match of another word", "GET", f"{LEASES}?resourceVersion=1&resourceVersionMatch=Sometimes")
    ask("pages: a match for a page", "GET", f"{LEASES}?resourceVersion=0&resourceVersionMatch=Exact")


def watches():
    """Changes after a version come in their order."""
    ask("changes: from here", "GET", MAPS, keep="from")
    ask("changes: created", "POST", MAPS, config("w", {"n": "1"}, labels={"on": "yes"}))
    ask("changes: modified", "PATCH", f"{MAPS}/w", {"data": {"n": "2"}}, type=MERGE)
    ask("changes: its label goes", "PATCH", f"{MAPS}/w", {"metadata": {"labels": {"on": "no"}}}, type=MERGE)
    ask("changes: its label comes", "PATCH", f"{MAPS}/w", {"metadata": {"labels": {"on": "yes"}}}, type=MERGE)
    ask("changes: another one", "POST", MAPS, config("v", labels={"on": "yes"}))
    ask("changes: deleted", "DELETE", f"{MAPS}/w")
    start = f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={{{{from metadata.resourceVersion}}}}"
    for query in ("", "&labelSelector=on%3Dyes", "&labelSelector=on%3Dno", "&fieldSelector=metadata.name%3Dv",
                  "&fieldSelector=metadata.name%3Dw&labelSelector=on%3Dyes", "&limit=1"):
        ask(f"changes: watch{query}", "GET", start + query)
    ask("changes: watch metadata", "GET", start, accept=META)
    ask("changes: watch a table", "GET", start, accept=TABLE)
    ask("changes: watch a table without objects", "GET", start + "&includeObject=None", accept=TABLE)
    ask("changes: watch a version that is gone", "GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=1")
    ask("changes: watch TrainJobs of a version that is gone", "GET", f"{JOBS}?watch=1&timeoutSeconds=1&resourceVersion=1")
    ask("changes: a table of a version that is gone", "GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=1", accept=TABLE)
    ask("changes: initial events without a match", "GET", f"{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true")
    ask("changes: a match without initial events", "GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=0&resourceVersionMatch=NotOlderThan")
    ask("changes: initial events of a list", "GET", f"{MAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
    ask("changes: watch by the path of one", "GET", f"{MAPS}/v?watch=1&timeoutSeconds=1&resourceVersion=0")
    ask("changes: watch=false is a list", "GET", f"{LEASES}?watch=false&limit=1")
    ask("changes: an old kind of path", "GET", f"{CORE}/watch/namespaces/{NS}/configmaps/absent?timeoutSeconds=1")
    ask("changes: timeoutSeconds that is none", "GET", f"{MAPS}?watch=1&timeoutSeconds=soon")


def forms():
    ask("forms: a TrainJob", "POST", JOBS, job("f", {"trainer": {"numNodes": 1}}), accept=TABLE)
    ask("forms: its metadata as an answer", "PATCH", f"{JOBS}/f", {"metadata": {"labels": {"x": "1"}}}, type=MERGE, accept=META)
    ask("forms: table of an update", "PATCH", f"{JOBS}/f", {"metadata": {"labels": {"x": "2"}}}, type=MERGE, accept=TABLE)
    for version in ("v1", "v1beta1", "v2"):
        for form in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList", "Nothing"):
            for path in (JOBS, f"{JOBS}/f"):
                ask(f"forms: {form} {version} of {path}", "GET", path, accept=f"application/json;as={form};v={version};g=meta.k8s.io")
    for accept in ("*/*", "application/*", "text/html, application/json;q=0.5", "application/json;as=Table;v=v1;g=other",
                   "application/json;as=Table", "text/plain, */*", "application/json;charset=utf-8", "text/plain, text/html",
                   "application/json;as=Table;v=v2;g=meta.k8s.io,application/json"):
        ask(f"forms: Accept {accept}", "GET", f"{JOBS}/f", accept=accept)
    for include in ("Object", "Metadata", "None", "Some"):
        ask(f"forms: a table that includes {include}", "GET", f"{LEASES}?limit=1&includeObject={include}", accept=TABLE)
    ask("forms: a refusal as a table", "GET", f"{JOBS}/absent", accept=TABLE)
    ask("forms: a refusal as metadata", "GET", f"{JOBS}/absent", accept=META)
    ask("forms: pretty", "GET", f"{JOBS}/f?pretty=true")
    ask("forms: HEAD", "HEAD", f"{JOBS}/f")
    ask("forms: an Event", "POST", EVENTS, obj("Event", "e", involvedObject={"kind": "Pod", "name": "p", "namespace": NS},
                                              reason="R", message="two\nlines", type="Warning"), accept=TABLE)
    ask("forms: events, wide", "GET", EVENTS, accept=TABLE)
    ask("forms: a Secret", "POST", SECRETS, obj("Secret", "s", data={"a": "MQ==", "b": "Mg=="}), accept=TABLE)
    ask("forms: a Service", "POST", SERVICES, obj("Service", "h", spec={
        "clusterIP": "None", "selector": {"b": "2", "a": "1", "a-b": "3"},
        "ports": [{"name": "x", "port": 80}, {"name": "y", "port": 53, "protocol": "UDP"}]}), accept=TABLE)
    ask("forms: a Service elsewhere", "POST", SERVICES, obj("Service", "x", spec={
        "type": "ExternalName", "externalName": "db.example.com"}), accept=TABLE)
    ask("forms: Services", "GET", f"{SERVICES}?includeObject=None", accept=TABLE)
    ask("forms: namespaces", "GET", f"{CORE}/namespaces?fieldSelector=metadata.name%3D{NS}", accept=TABLE)
    ask("forms: namespaces by phase", "GET", f"{CORE}/namespaces?fieldSelector=status.phase%3DActive,metadata.name%3D{NS}", accept=META_LIST)


def discovery():
    both = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList,application/json"
    for path in ("/api", "/apis"):
        ask(f"discovery: all of {path}", "GET", path, accept=both.format("v2"))
        ask(f"discovery: {path}, an old version of it", "GET", path, accept=both.format("v2beta1").replace(",application/json", ""))
    for path in ("/apis", CORE, "/apis/batch/v1", "/apis/coordination.k8s.io/v1", "/apis/batch", "/apis/jobset.x-k8s.io",
                 "/openapi/v3", "/apis/trainer.kubeflow.org/v1alpha1/", "/apis/", "/openapi/v3/apis/nothing/v1"):
        ask(f"discovery: {path}", "GET", path)
    ask("discovery: /", "GET", "/")
    ask("discovery: POST", "POST", "/apis", {})
    ask("discovery: resources as a table", "GET", TRAINER, accept=TABLE)


def patches():
    """At their edges, as dry runs of one object."""
    path = f"{MAPS}/p"
    ask("patch: a ConfigMap", "POST", MAPS, config("p", {"a": "1"}, annotations={"sl/ash": "2", "til/d_e": "3"}, finalizers=["a.b/1", "a.b/2", "a.b/3"]))
    for name, operations in (
            ("slash and tilde", [{"op": "replace", "path": "/metadata/annotations/sl~1ash", "value": "x"}, {"op": "remove", "path": "/metadata/annotations/til~1d_e"},
                                 {"op": "add", "path": "/data/~01", "value": "no such key is possible"}]),
            ("at the end", [{"op": "add", "path": "/metadata/finalizers/-", "value": "a.b/4"}]),
            ("in the middle", [{"op": "add", "path": "/metadata/finalizers/1", "value": "a.b/0"}]),
            ("behind the end", [{"op": "add", "path": "/metadata/finalizers/9", "value": "a.b/0"}]),
            ("an index that is none", [{"op": "remove", "path": "/metadata/finalizers/x"}]),
            ("a negative index", [{"op": "remove", "path": "/metadata/finalizers/-1"}]),
            ("an index with a zero", [{"op": "remove", "path": "/metadata/finalizers/01"}]),
            ("replace what is absent", [{"op": "replace", "path": "/data/none", "value": "1"}]),
            ("add below what is absent", [{"op": "add", "path": "/none/none", "value": "1"}]),
            ("test of what is absent", [{"op": "test", "path": "/data/none", "value": None}]),
            ("test of an object", [{"op": "test", "path": "/data", "value": {"a": "1"}}]),
            ("copy of what is absent", [{"op": "copy", "from": "/data/none", "path": "/data/x"}]),
            ("move of what is absent", [{"op": "move", "from": "/data/none", "path": "/data/x"}]),
            ("without a value", [{"op": "add", "path": "/data/x"}]),
            ("without a path", [{"op": "add", "value": "1"}]),
            ("without an operation", [{"path": "/data/x", "value": "1"}]),
            ("a path without its slash", [{"op": "add", "path": "data/x", "value": "1"}]),
            ("the whole", [{"op": "replace", "path": "", "value": config("p", {"w": "1"})}]),
            ("the whole goes", [{"op": "remove", "path": ""}]),
            ("of nothing", []),
            ("a number where text is", [{"op": "replace", "path": "/data/a", "value": 1}]),
            ("another name", [{"op": "replace", "path": "/metadata/name", "value": "q"}]),
            ("another kind", [{"op": "replace", "path": "/kind", "value": "Secret"}]),
            ("too many", [{"op": "test", "path": "/data/a", "value": "1"}] * 10001)):
        ask(f"patch: json: {name}", "PATCH", f"{path}?dryRun=All", operations, type=PATCH)
    for name, body in (
            ("nested null", {"metadata": {"annotations": {"a": None}}}), ("null data", {"data": None}),
            ("null metadata", {"metadata": None}), ("a text", "x"), ("a null", None), ("nothing", {}),
            ("a list where an object is", {"data": []}), ("an unknown field", {"nothing": 1}),
            ("a name", {"metadata": {"name": "p"}}), ("another namespace", {"metadata": {"namespace": "other"}}),
            ("generateName", {"metadata": {"generateName": "x"}}), ("a creation time", {"metadata": {"creationTimestamp": None}}),
            ("a deletion time", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            ("a generation", {"metadata": {"generation": 7}}), ("bad labels", {"metadata": {"labels": {"a b": "c d"}}})):
        ask(f"patch: merge: {name}", "PATCH", f"{path}?dryRun=All", body, type=MERGE)
    for name, body in (
            ("finalizers in order", {"metadata": {"$setElementOrder/finalizers": ["a.b/3", "a.b/1"], "finalizers": ["a.b/3"]}}),
            ("data keeps one", {"data": {"$retainKeys": ["a"], "a": "1"}}), ("data goes", {"data": {"$patch": "delete"}}),
            ("a key goes", {"data": {"a": None}}), ("an array", []), ("a list where an object is", {"data": []}),
            ("an order of what is none", {"metadata": {"$setElementOrder/finalizers": "x"}})):
        ask(f"patch: strategic: {name}", "PATCH", f"{path}?dryRun=All", body, type=STRATEGIC)
    ask("patch: not JSON", "PATCH", path, "{", type=MERGE, raw=True)
    ask("patch: without a body", "PATCH", path, "", type=MERGE, raw=True)
    ask("patch: with a charset", "PATCH", f"{path}?dryRun=All", {"data": {"c": "1"}}, type=MERGE + "; charset=utf-8")
    ask("patch: the version it has", "GET", path, keep="p")
    ask("patch: of that version", "PATCH", path, {"metadata": {"resourceVersion": "{{p metadata.resourceVersion}}"}, "data": {"v": "1"}}, type=MERGE)
    ask("patch: of that version, which is old now", "PATCH", path, {
        "metadata": {"resourceVersion": "{{p metadata.resourceVersion}}"}, "data": {"v": "2"}}, type=MERGE)
    ask("patch: a null version", "PATCH", f"{path}?dryRun=All", {"metadata": {"resourceVersion": None}, "data": {"v": "3"}}, type=MERGE)


def bodies():
    path = f"{MAPS}/raw"
    for name, text in (("empty", ""), ("not JSON", "{"), ("two documents", '{"kind":"ConfigMap"}{}'), ("text", '"x"'), ("null", "null"),
                       ("a key twice", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"},"data":{"a":"1","a":"2"}}'),
                       ("a number that overflows", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw","generation":1e400}}'),
                       ("a NUL", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"},"data":{"a":"\\u0000"}}')):
        ask(f"raw: {name}", "POST", MAPS + "?dryRun=All", text, raw=True)
        ask(f"raw: {name}, PUT", "PUT", path + "?dryRun=All", text, raw=True)
    ask("raw: YAML", "POST", MAPS, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: raw}\ndata: {a: '1'}\n", type="application/yaml", raw=True)
    ask("raw: YAML, PUT", "PUT", path, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: raw}\ndata: {a: '2'}\n", type="application/yaml", raw=True)
    ask("raw: too large", "POST", MAPS, config("large", {"a": "x" * (1 << 20), "b": "y" * 10}))
    ask("raw: larger than any object", "POST", JOBS, job("large", {"trainer": {"env": [{"name": "A", "value": "x" * 2000000}]}}))
    ask("raw: larger than any request", "POST", MAPS, config("large", {"a": "x" * (3 << 20)}))
    ask("raw: larger than any request, PATCH", "PATCH", f"{MAPS}/p", {"data": {"a": "x" * (3 << 20)}}, type=MERGE)
    ask("raw: generateName", "POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}})
    ask("raw: a bad generateName", "POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "Gen_"}})
    ask("raw: data and binaryData", "POST", MAPS, dict(config("binary", {"a": "1"}), binaryData={"b": "MQ=="}))
    ask("raw: a key in both", "POST", MAPS, dict(config("binary2", {"a": "1"}), binaryData={"a": "MQ=="}))
    ask("raw: a bad key", "POST", MAPS, config("key", {"a/b": "1", "..": "2"}))
    ask("raw: immutable", "POST", MAPS, dict(config("immutable", {"a": "1"}), immutable=True))
    ask("raw: a change of what is immutable", "PATCH", f"{MAPS}/immutable", {"data": {"a": "2"}}, type=MERGE)
    ask("raw: immutable no more", "PATCH", f"{MAPS}/immutable", {"immutable": False}, type=MERGE)
    ask("raw: labels of what is immutable", "PATCH", f"{MAPS}/immutable", {"metadata": {"labels": {"a": "b"}}}, type=MERGE)
    ask("raw: a Secret's docker config", "POST", SECRETS, obj("Secret", "docker", type="kubernetes.io/dockerconfigjson", data={"a": "MQ=="}))
    ask("raw: a Secret's ssh key", "POST", SECRETS, obj("Secret", "ssh", type="kubernetes.io/ssh-auth", data={}))
    ask("raw: a namespace of a bad name", "POST", f"{CORE}/namespaces", obj("Namespace", "a.b"))


def deletions():
    foreground = dict(OPTIONS, propagationPolicy="Foreground")
    for name in ("d1", "d2", "d3", "d4", "d5"):
        ask(f"delete: {name}", "POST", MAPS, config(name, finalizers=["a.b/stays"], labels={"d": name}))
    ask("delete: dry run in the body", "DELETE", f"{MAPS}/d1", dict(OPTIONS, dryRun=["All"]))
    ask("delete: dry run of another word", "DELETE", f"{MAPS}/d1", dict(OPTIONS, dryRun=["Some"]))
    ask("delete: its version", "GET", f"{MAPS}/d1", keep="d1")
    ask("delete: preconditions of another", "DELETE", f"{MAPS}/d1", dict(OPTIONS, preconditions={
        "uid": "{{d1 metadata.uid}}", "resourceVersion": "1"}))
    ask("delete: the right preconditions", "DELETE", f"{MAPS}/d1", dict(OPTIONS, preconditions={
        "uid": "{{d1 metadata.uid}}", "resourceVersion": "{{d1 metadata.resourceVersion}}"}))
    ask("delete: foreground", "DELETE", f"{MAPS}/d2", foreground)
    ask("delete: orphan", "DELETE", f"{MAPS}/d3?propagationPolicy=Orphan")
    ask("delete: orphanDependents", "DELETE", f"{MAPS}/d4", dict(OPTIONS, orphanDependents=True))
    ask("delete: both ways of saying it", "DELETE", f"{MAPS}/d5", dict(OPTIONS, orphanDependents=True, propagationPolicy="Orphan"))
    ask("delete: an unknown policy in the body", "DELETE", f"{MAPS}/d5", dict(OPTIONS, propagationPolicy="Never"))
    ask("delete: grace", "DELETE", f"{MAPS}/d5?gracePeriodSeconds=30")
    ask("delete: grace in words", "DELETE", f"{MAPS}/d5?gracePeriodSeconds=soon")
    ask("delete: options of another kind", "DELETE", f"{MAPS}/d5", {"kind": "ConfigMap", "apiVersion": "v1"})
    ask("delete: an unknown option", "DELETE", f"{MAPS}/d5", dict(OPTIONS, nothing=1))
    ask("delete: options that are no object", "DELETE", f"{MAPS}/d5", [])
    ask("delete: a change of what goes", "PATCH", f"{MAPS}/d5", {"data": {"late": "1"}}, type=MERGE)
    ask("delete: metadata as the answer", "DELETE", f"{MAPS}/v", accept=META)
    ask("delete: a TrainJob, foreground, dry run", "DELETE", f"{JOBS}/f?propagationPolicy=Foreground&dryRun=All")
    ask("delete: a TrainJob, table", "DELETE", f"{JOBS}/f?dryRun=All", accept=TABLE)
    ask("collection: dry run", "DELETE", f"{LEASES}?dryRun=All")
    ask("collection: all are there", "GET", f"{LEASES}?fieldSelector=metadata.name%3Dl6")
    ask("collection: a bad selector", "DELETE", f"{LEASES}?labelSelector=a%20b")
    ask("collection: by field", "DELETE", f"{LEASES}?fieldSelector=metadata.name%3Dl0")
    ask("collection: preconditions of another", "DELETE", LEASES, dict(OPTIONS, preconditions={"uid": "x"}))
    ask("collection: by label, foreground", "DELETE", f"{LEASES}?labelSelector=even%3Dtrue", foreground)
    ask("collection: of an unknown policy", "DELETE", f"{LEASES}?propagationPolicy=Never")
    ask("collection: in a table", "DELETE", f"{LEASES}?labelSelector=even%3Dfalse", accept=TABLE)
    ask("collection: with finalizers", "DELETE", f"{MAPS}?labelSelector=d%3Dd5")
    ask("collection: none of that label", "DELETE", f"{MAPS}?labelSelector=none%3Dx", OPTIONS)
    ask("collection: TrainJobs, limit", "DELETE", f"{JOBS}?limit=1")
    ask("collection: no TrainJobs are left", "GET", JOBS)
    for method in ("DELETE", "POST", "PUT", "PATCH"):
        for path in (f"{CORE}/configmaps", f"{TRAINER}/trainjobs"):
            ask(f"collection: {method} {path}", method, path, None if method == "DELETE" else {}, type=MERGE if method == "PATCH" else None)


ask("namespace of forms", "POST", f"{CORE}/namespaces", obj("Namespace", NS))
for each in (pages, watches, forms, discovery, patches, bodies, deletions):
    each()
