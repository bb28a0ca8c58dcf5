"""Stored objects in a form that can be compared: what differs from run to run taken away, keys and
scripts as facts about them. tests/golden/README says what counts; the C checker's half of it is
tests/golden/normal.c."""
import base64
import binascii
import datetime
import hashlib
import json
import re
import struct
from api import read_yaml

VOIDS = ("metadata", "resources", "status", "strategy", "labels", "annotations")
STAMPS = ("lastTransitionTime", "lastUpdatedTime", "time", "creationTimestamp", "startTime", "lastProbeTime")
OWNER = ("apiVersion", "kind", "name", "controller", "blockOwnerDeletion")


# ---- keys and scripts ----------------------------------------------------------------------------
def der(data, at):
    """(tag, value, where the next begins)"""
    tag, size = data[at], data[at + 1]
    at += 2
    if size & 0x80:
        digits = size & 0x7f
        size = int.from_bytes(data[at:at + digits], "big")
        at += digits
    return tag, data[at:at + size], at + size


def oid(data):
    numbers, value = [data[0] // 40, data[0] % 40], 0
    for byte in data[1:]:
        value = value << 7 | byte & 0x7f
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    return ".".join(map(str, numbers))


def ssh_private(text):
    """Facts about a PEM key of RFC 5915, and its public point."""
    block = re.match(r"^-----BEGIN ([A-Z0-9 ]+)-----\n(.*?)\n-----END \1-----(\n?)$", text, re.S)
    if not block:
        return {"format": "not one PEM block"}, None
    facts, public, parts, at = {"pem": block.group(1), "finalNewline": bool(block.group(3))}, None, [], 0
    sequence = der(base64.b64decode(block.group(2)), 0)[1]
    while at < len(sequence):
        tag, value, at = der(sequence, at)
        parts.append((tag, value))
    facts["version"] = int.from_bytes(parts[0][1], "big")
    facts["privateBytes"] = len(parts[1][1])
    for tag, value in parts[2:]:
        if tag == 0xa0:
            facts["curveOID"] = oid(der(value, 0)[1])
        if tag == 0xa1:
            public = der(value, 0)[1][1:]
            facts["publicPointBytes"] = len(public)
    return facts, public


def ssh_public(text, public):
    words, strings, at = text.rstrip("\n").split(" "), [], 0
    blob = base64.b64decode(words[1])
    while at < len(blob):
        size = struct.unpack(">I", blob[at:at + 4])[0]
        strings.append(blob[at + 4:at + 4 + size])
        at += 4 + size
    return {"lines": text.count("\n"), "finalNewline": text.endswith("\n"), "fields": len(words), "type": words[0],
            "blob": [s.decode() if len(s) < 32 else f"<{len(s)} bytes>" for s in strings],
            "matchesPrivateKey": public is not None and strings[-1] == public}


def z85(text):
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    out = b""
    for at in range(0, len(text), 5):
        value = 0
        for digit in text[at:at + 5]:
            value = value * 85 + digits.index(digit)
        out += value.to_bytes(4, "big")
    return out


def x25519_public(secret):
    """RFC 7748, 5: the scalar times 9."""
    prime, scalar = 2**255 - 19, bytearray(secret)
    scalar[0] &= 248
    scalar[31] = scalar[31] & 127 | 64
    number, swapped = int.from_bytes(scalar, "little"), 0
    x2, z2, x3, z3 = 1, 0, 9, 1
    for bit_at in range(254, -1, -1):
        bit = number >> bit_at & 1
        if swapped ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swapped = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        x3, z3 = (da + cb) ** 2 % prime, 9 * (da - cb) ** 2 % prime
        x2, z2 = aa * bb % prime, (aa - bb) * (aa + 121665 * (aa - bb)) % prime
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, prime - 2, prime) % prime).to_bytes(32, "little")


def curve(text):
    """A certificate of ZeroMQ's CURVE."""
    facts, keys = {"sections": [], "finalNewline": text.endswith("\n")}, {}
    for line in text.split("\n"):
        value = re.match(r'^([\w-]+)\s*=\s*"(.*)"$', line.strip())
        if not line.strip() or line.strip().startswith("#"):
            continue
        if not line.startswith((" ", "\t")):
            facts["sections"].append(line.strip())
        elif not value:
            facts.setdefault("other", []).append(line.strip())
        elif value.group(1).endswith("-key"):
            keys[value.group(1)] = value.group(2)
            facts[value.group(1)] = f"<z85 {len(value.group(2))} chars>"
        else:
            facts[value.group(1)] = value.group(2)
    facts["publicMatchesSecret"] = x25519_public(z85(keys["secret-key"])) == z85(keys["public-key"])
    return facts


def flux_script(text):
    """What it decides: the hosts, tasks, resources and addresses."""
    patterns = {
        "hosts": r"[a-z0-9][-a-z0-9.]*-node-0-\[[0-9,-]+\](?:,[a-z0-9][-a-z0-9.]*-\[[0-9,-]+\])*",
        "leadHost": r"[a-z0-9][-a-z0-9]*-node-0-0\b",
        "connect": r"tcp://%h\.[^\"'\s]+",
        "bind": r"tcp://(?!%h)[^\"'\s]+",
        "port": r"default_port\s*=\s*(\d+)",
        "queuePolicy": r'queue-policy\s*=\s*"?([\w-]+)',
        "resourceSpec": r"--cores=\S+(?:\s+--gpus?=\S+)?",
        "runTasks": r"-N\s+\d+\s+-n\s+\d+(?:\s+-g\s+\d+)?"}
    found = {name: sorted({" ".join(hit.split()).replace("--gpus=", "--gpu=") for hit in re.findall(pattern, text, re.M)})
             for name, pattern in patterns.items()}
    return {name: hits for name, hits in found.items() if hits}


# ---- documents -----------------------------------------------------------------------------------
def seconds(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def without_nulls(node):
    if isinstance(node, list):
        return [without_nulls(x) for x in node]
    if not isinstance(node, dict):
        return node
    pruned = {key: without_nulls(value) for key, value in node.items()}
    return {k: v for k, v in pruned.items() if v is not None and not (v == {} and k in VOIDS)}


def without_voids(node, key=None):
    """Encoders spell nothing in several ways."""
    if isinstance(node, list):
        return [without_voids(x, key) for x in node]
    if not isinstance(node, dict):
        return node
    out = {k: without_voids(v, k) for k, v in node.items()}
    if key == "env" and out.get("value") == "":
        del out["value"]
    if key == "resourceFieldRef":
        out = {k: v for k, v in out.items() if (k, v) not in (("containerName", ""), ("divisor", "0"), ("divisor", 0))}
    return {k: v for k, v in out.items() if not (v == {} and k in VOIDS)}


class Normal:
    """Of one run of one case, in `namespace`; `steps` has the number and time of each accepted change."""

    def __init__(self, namespace, start):
        self.namespace, self.start, self.steps, self.keys = namespace, start, [], {}

    def text(self, value):
        return value.replace(self.namespace, "NS") if isinstance(value, str) else value

    def stamp(self, value, key):
        """One that the case gave (old) stays; of a patch's, the step that it is of."""
        if seconds(value) < self.start - 3600:
            return value
        if key != "time":
            return "<now>"
        done = [number for number, when in self.steps if seconds(value) >= int(when)]
        return f"<time of step {done[-1]}>" if done else "<before step 1>"

    def value(self, node, key=None):
        if isinstance(node, dict):
            return {self.text(k): self.value(v, k) for k, v in node.items()}
        if isinstance(node, list):
            return [self.value(x) for x in node]
        if isinstance(node, str) and key in STAMPS and re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$", node):
            return self.stamp(node, key)
        return self.text(node)

    def metadata(self, kind, meta):
        out = {key: self.value(meta[key]) for key in ("labels", "annotations", "finalizers") if meta.get(key)}
        if meta.get("ownerReferences"):
            out["ownerReferences"] = [{key: self.text(owner[key]) for key in OWNER if key in owner}
                                      for owner in meta["ownerReferences"]]
        if meta.get("deletionTimestamp"):
            out["beingDeleted"] = True
        if kind != "TrainJob":
            managers = {f"{entry.get('manager', '')}/{entry.get('operation', '')}"
                        for entry in meta.get("managedFields") or [] if not entry.get("subresource")}
            out["fieldManagers"] = sorted(managers - {"golden/Update"})
        return out

    def snapshot(self, text):
        runtime = read_yaml(text)
        meta = {key: (runtime.get("metadata") or {}).get(key) for key in ("name", "namespace", "labels", "annotations")}
        picked = {"apiVersion": runtime.get("apiVersion"), "kind": runtime.get("kind"),
                  "spec": runtime.get("spec"), "metadata": {k: v for k, v in meta.items() if v}}
        return self.value(without_nulls(picked))

    def data(self, kind, obj):
        name, out, public = obj["metadata"]["name"], {}, None
        source = dict(obj.get("data") or {})
        if kind == "Secret":
            source = {key: base64.b64decode(value).decode("utf-8", "replace") for key, value in source.items()}
        for key in sorted(source):
            text = source[key]
            try:
                if key == "ssh-privatekey":
                    out[key], public = ssh_private(text)
                elif key == "ssh-publickey":
                    out[key] = ssh_public(text, public)
                elif key == "curve.cert":
                    out[key] = self.value(curve(text))
                elif key == "runtime" and name.endswith("-runtime-snapshot"):
                    out[key] = self.snapshot(text)
                elif key.endswith(".sh") and name.endswith("-flux-entrypoint"):
                    out[key] = self.value(flux_script(text))
                else:
                    out[key] = "<certificate>" if "-----BEGIN CERTIFICATE" in text else self.text(text)
            except (ValueError, LookupError, AttributeError, struct.error, binascii.Error) as problem:
                out[key] = f"unreadable: {problem!r}"
        if kind == "Secret" and ("ssh-privatekey" in source or "curve.cert" in source):
            digest = hashlib.sha256(json.dumps(source, sort_keys=True).encode()).hexdigest()
            if name in self.keys:
                out["sameAsPreviousCheck"] = self.keys[name] == digest
            self.keys[name] = digest
        return out

    def object(self, kind, obj):
        out = {"metadata": self.metadata(kind, obj["metadata"])}
        if kind in ("ConfigMap", "Secret"):
            out["data"] = self.data(kind, obj)
            return dict(out, **{key: obj[key] for key in ("type", "immutable") if key in obj})
        spec = self.value(obj.get("spec"))
        out["spec"] = spec if kind == "TrainJob" else without_voids(spec)
        # Additions of ours, two of them until upstream releases KEP-2899.
        ours = ("state", "startTime", "completionTime", "restarts", "ttlSecondsAfterFinished")
        status = {key: value for key, value in (obj.get("status") or {}).items() if key not in ours}
        if kind == "TrainJob" and status:
            out["status"] = self.value(status)
            if "jobsStatus" in status:
                out["status"]["jobsStatus"].sort(key=lambda job: job.get("name", ""))
        return out


# ---- refusals ------------------------------------------------------------------------------------
ERROR = re.compile(r"(?:^|[\[\s,{])((?:spec|metadata|status)[\w.\-\[\]\"/]*): "
                   r"(Invalid value|Forbidden|Required value|Duplicate value|Unsupported value|"
                   r"Too many|Too long|Internal error|Not found)")


def errors(message):
    return sorted({f"{path}: {kind}" for path, kind in ERROR.findall(message or "")})


# ---- differences ---------------------------------------------------------------------------------
def short(value):
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 160 else text[:160] + "..."


def names(items):
    """What tells the elements of a list apart, or None."""
    for key in ("name", "mountPath", "type", "manager", "step"):
        found = [item.get(key) if isinstance(item, dict) else None for item in items]
        if all(isinstance(name, str) for name in found) and len(set(found)) == len(found):
            return found
    return None


def differences(want, got, where=""):
    """Lines that say what differs."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in list(want) + [key for key in got if key not in want]:
            if key not in got:
                yield f"{where}/{key}: missing, expected {short(want[key])}"
            elif key not in want:
                yield f"{where}/{key}: unexpected {short(got[key])}"
            else:
                yield from differences(want[key], got[key], f"{where}/{key}")
    elif isinstance(want, list) and isinstance(got, list):
        ours, theirs = names(want), names(got)
        if ours and theirs and ours != theirs:
            if sorted(ours) == sorted(theirs):
                yield f"{where}: order: expected {','.join(ours)}, got {','.join(theirs)}"
            wanted, found = dict(zip(ours, want)), dict(zip(theirs, got))
            yield from differences(wanted, found, where)
        elif len(want) != len(got):
            yield f"{where}: expected {short(want)}, got {short(got)}"
        else:
            for at, pair in enumerate(zip(want, got)):
                yield from differences(*pair, f"{where}[{ours[at] if ours else at}]")
    elif want != got or isinstance(want, bool) != isinstance(got, bool):
        yield f"{where}: expected {short(want)}, got {short(got)}"
