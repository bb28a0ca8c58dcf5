"""What clients write in protobuf, as kubectl create and client-go's controllers do; part of apiserver.py."""
from api_requests import CORE, EVENTS, JOBS, LEASES, MAPS, NS, SECRETS, ask, config, job

TYPE = "application/vnd.kubernetes.protobuf"


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def message(*fields):
    """Of (number, value): an integer, text, bytes; a tuple of its own fields is a message."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else message(*value) if isinstance(value, tuple) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def entries(number, of):
    return tuple((number, ((1, key), (2, value))) for key, value in of.items())


def proto(kind, *fields, version="v1"):
    return b"k8s\0" + message((1, ((1, version), (2, kind))), (2, message(*fields)), (3, ""), (4, ""))


def meta(name, *more):
    """As Go writes it: what has no pointer is there when it is empty, too."""
    return (1, ((1, name), (2, ""), (3, ""), (4, ""), (5, ""), (6, ""), (7, 0), (8, ()), *more))


def send(name, method, path, *fields, kind="ConfigMap", version="v1", how=TYPE):
    ask(f"proto: {name}", method, path, proto(kind, *fields, version=version), raw=True, type=how)


DATA = entries(2, {"a": "1", "b": "", "c": "ä\n"})
lease = (1, ""), (2, 15), (3, ((1, 1000000000), (2, 123456789))), (4, ((1, 1000000001), (2, 0))), (5, 0)

send("a ConfigMap", "POST", MAPS, meta("proto"), *DATA)
send("with labels and more", "POST", MAPS, meta("proto-more", *entries(11, {"l": "", "a/b": "1"}), *entries(12, {"n": "ö"}), (
    13, ((1, "Thing"), (3, "n"), (4, "1-2"), (5, "example.org/v1"), (6, 1))), (14, "a.b/c")), *entries(3, {"bin": b"\0\xff"}), (4, 0))
send("it is there", "POST", MAPS, meta("proto"))
send("a generated name", "POST", MAPS, (1, ((2, "gen-"),)))
send("without a name", "POST", MAPS)
send("dry run", "POST", MAPS + "?dryRun=All&fieldManager=me", meta("proto-dry"))
send("an unknown field", "POST", MAPS + "?fieldValidation=Strict", meta("proto-unknown"), (99, "x"))
send("another kind", "POST", MAPS, meta("proto-kind"), kind="Secret")
send("another namespace", "POST", MAPS, (1, ((1, "proto-ns"), (3, "other"))))
send("a parameter", "POST", MAPS, meta("proto-parameter"), how=TYPE + "; charset=utf-8")
send("update", "PUT", f"{MAPS}/proto?fieldManager=two", meta("proto"), *entries(2, {"a": "2"}))
send("update of an old version", "PUT", f"{MAPS}/proto", (1, ((1, "proto"), (6, "1"))))
send("what managers had", "PUT", f"{MAPS}/proto", meta("proto", (17, (
    (1, "m"), (2, "Update"), (3, "v1"), (4, ((1, 1000000000),)), (6, "FieldsV1"), (7, ((1, '{"f:data":{"f:a":{}}}'),))))), *entries(2, {"a": "2"}))
send("a namespace", "POST", f"{CORE}/namespaces", meta("api-proto"), (2, ()), (3, ((1, ""),)), kind="Namespace")
send("a Secret", "POST", SECRETS, meta("proto"), *entries(2, {"a": b"\0\1", "e": b""}), (3, "Opaque"), *entries(4, {"t": "x"}), kind="Secret")
send("a Secret without a type", "POST", SECRETS, meta("proto-2"), (3, ""), (5, 1), kind="Secret")
send("a Lease", "POST", LEASES, meta("proto"), (2, lease), kind="Lease", version="coordination.k8s.io/v1")
send("a Lease, updated without version", "PUT", f"{LEASES}/proto", meta("proto"), (2, lease), kind="Lease", version="coordination.k8s.io/v1")
send("an Event", "POST", EVENTS, (1, ((1, "proto.1"), (3, NS))), (2, ((1, "TrainJob"), (2, NS), (3, "a"), (4, ""), (5, "v1"), (6, ""), (7, ""))),
     (3, "R"), (4, "m"), (5, ((1, "c"), (2, ""))), (6, ((1, 1000000000), (2, 0))), (7, ((1, 1000000000), (2, 0))), (8, 1), (9, "Normal"),
     (10, ()), (12, ""), (14, "c"), (15, "i"), kind="Event")
send("delete, another uid", "DELETE", f"{MAPS}/proto", (2, ((1, "x"),)), kind="DeleteOptions")
send("delete, an old version", "DELETE", f"{MAPS}/proto", (2, ((2, "1"),)), kind="DeleteOptions")
send("delete, dry run", "DELETE", f"{MAPS}/proto", (5, "All"), kind="DeleteOptions")
send("delete, unknown propagation", "DELETE", f"{MAPS}/proto", (4, "Never"), kind="DeleteOptions")
send("delete, orphans both ways", "DELETE", f"{MAPS}/proto", (3, 1), (4, "Orphan"), kind="DeleteOptions")
send("delete", "DELETE", f"{MAPS}/proto", (1, 0), (4, "Background"), kind="DeleteOptions")
send("delete Secrets", "DELETE", SECRETS, (4, "Background"), kind="DeleteOptions")
send("delete an absent TrainJob", "DELETE", f"{JOBS}/absent", kind="DeleteOptions")
ask("proto: options in YAML", "DELETE", f"{LEASES}/proto", "propagationPolicy: Background\n", raw=True, type="application/yaml")
ask("proto: options in text", "DELETE", f"{MAPS}/absent", "{}", raw=True, type="text/plain")
ask("proto: an object in YAML", "POST", MAPS, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\n", raw=True, type="application/yaml")
ask("proto: a type in capitals", "POST", MAPS, config("capitals"), type="Application/JSON")
ask("proto: any type", "POST", MAPS, config("any-type"), type="*/*")
ask("proto: any type of a TrainJob", "POST", JOBS, job("any-type"), type="*/*")
for what, where, spec in (
        ("may I", "selfsubjectaccessreviews", (2, ((1, ((1, NS), (2, "get"), (5, "pods"))),))),
        ("what may I", "selfsubjectrulesreviews", (2, ((1, NS),)))):
    send(what, "POST", f"/apis/authorization.k8s.io/v1/{where}", meta(""), spec, version="authorization.k8s.io/v1",
         kind="SelfSubjectAccessReview" if where == "selfsubjectaccessreviews" else "SelfSubjectRulesReview")
