#!/usr/bin/python3
"""golden.py [CASE]...: the golden cases against the controller that serves a cluster.

Admin of the cluster: $KUBECONFIG. A case is a folder of tests/golden/upstream, or its name, or a
pattern of names; all of them when none is given. Each gets a namespace of its own. What is expected
is expected.json, and what cluster.json adds to it: status, field managers, snapshots, events.
Prints TAP.

  -j N       cases at the same time (6)
  --slow X   multiplies all limits of time
  --keep     leaves the namespaces
  --show     prints what was found
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import random
import sys
import threading
import time
from api import KINDS, Api, Watch, kind_of, path, read_yaml
from normal import Normal, differences, errors

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "upstream")
COMPARED = ("TrainJob", "JobSet", "ConfigMap", "Secret",
            "PodGroup.scheduling.x-k8s.io", "PodGroup.scheduling.volcano.sh")
CHANGES = ("create", "patch", "patchStatus", "delete")
CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
REACHED, HOLD, POLL, FIRST_SIGN = 120, 2, 0.3, 12  # seconds
RUNTIME_LAG = 0.6                                 # until the controller knows a changed runtime


class Objects:
    """Those that are looked at, of all cases, as one watch a kind sees them; a kind that is not served has none."""

    def __init__(self, api):
        self.watches = {kind: Watch(api, kind) for kind in COMPARED + ("Event",) if api.get(kind)[0] == 200}

    def items(self, kind, namespace):
        watch = self.watches.get(kind)
        if not watch:
            return []
        if not watch.wait(lambda: watch.listed, REACHED):
            raise OSError(f"no list of {kind}s")
        return [obj for (of, _), obj in watch.objects.items() if of == namespace]


class Case:
    left_out = {}  # case: why it is not run

    def __init__(self, api, objects, folder, options):
        self.api, self.objects, self.options = api, objects, options
        with open(os.path.join(folder, "case.yaml"), encoding="utf-8") as file:
            self.case = read_yaml(file)
        self.expected = self.read(folder, "expected.json")
        if os.path.exists(os.path.join(folder, "cluster.json")):
            self.expected = merged(self.expected, self.read(folder, "cluster.json"))
        self.namespace = "g" + "".join(random.choices("bcdfghjklmnpqrstvwxz", k=7)) + "z"
        self.normal = Normal(self.namespace, time.time())
        self.cluster_wide, self.got = [], {"steps": [], "checks": {}}

    @staticmethod
    def read(folder, name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)

    def filled(self, node):
        """${NS} replaced."""
        if isinstance(node, dict):
            return {self.filled(key): self.filled(value) for key, value in node.items()}
        if isinstance(node, list):
            return [self.filled(item) for item in node]
        return node.replace("${NS}", self.namespace) if isinstance(node, str) else node

    def run(self):
        """Lines that say what differs."""
        for need in self.case.get("needs") or []:
            kind, name = need.split("/")
            if self.api.get(kind, self.namespace, name)[0] != 200:
                return [f"needs {need}, which is not in the cluster"]
        code, answer, _ = self.api.request("POST", path("Namespace"), {
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        if code != 201:
            return [f"namespace: {code} {answer.get('message')}"]
        try:
            verb = None
            for number, step in enumerate(self.filled(self.case["steps"]), 1):
                verb = next(key for key in step if key in CHANGES + ("check", "sleep", "wait"))
                if verb in CHANGES:
                    self.change(number, verb, step[verb])
                elif verb == "sleep":
                    time.sleep(step[verb])
                else:
                    getattr(self, verb)(step[verb])
            if verb != "check":
                self.check("final")
        finally:
            if not self.options.keep:
                self.clean()
        want = {key: self.expected[key] for key in ("steps", "checks")}
        return list(differences(want, self.got))

    def clean(self):
        """TrainJobs first: a controller must not work on in a namespace that goes."""
        for job in self.api.items("TrainJob", self.namespace):
            self.api.delete("TrainJob", self.namespace, job["metadata"]["name"], "Background")
        end = time.time() + 10
        while time.time() < end and self.api.items("TrainJob", self.namespace):
            time.sleep(POLL)
        for kind, name in self.cluster_wide:
            self.api.delete(kind, None, name)
        self.api.delete("Namespace", None, self.namespace)

    # ---- steps -----------------------------------------------------------------------------------
    def change(self, number, verb, what):
        kind = kind_of(what) if verb == "create" else what["kind"]
        name = what["metadata"]["name"] if verb == "create" else what["name"]
        start = time.time()
        code, answer, warnings = getattr(self, verb)(kind, name, what)
        if code < 300:
            self.normal.steps.append((number, start))
        if kind.endswith("Runtime") or kind == "PriorityClass":
            time.sleep(RUNTIME_LAG)
        if verb == "create" and len(name) >= 40:
            name = name[:20] + "..."
        step = {"step": f"{number} {verb} {kind}/{self.normal.text(name)}", "code": code}
        if code >= 300:
            step["errors"] = errors(self.normal.text(answer.get("message", "")))
        if warnings:
            step["warnings"] = len(warnings)
        self.got["steps"].append(step)

    def create(self, kind, name, obj):
        if KINDS[kind][2]:
            obj["metadata"]["namespace"] = self.namespace
        else:
            self.cluster_wide.append((kind, name))
        url = path(kind, self.namespace) + "?fieldManager=golden"
        answer = self.insist("POST", url, obj)
        if obj.get("status") and answer[0] == 201:
            self.patchStatus(kind, name, {"merge": {"status": obj["status"]}})
        return answer

    def patch(self, kind, name, what, sub=None):
        url = path(kind, self.namespace, name, sub) + "?fieldManager=golden"
        if "merge" in what:
            return self.insist("PATCH", url, what["merge"], "application/merge-patch+json")
        return self.insist("PATCH", url, what["json"], "application/json-patch+json")

    def patchStatus(self, kind, name, what):
        return self.patch(kind, name, what, "status")

    def delete(self, kind, name, what):
        return self.api.delete(kind, self.namespace, name, what.get("propagation"))

    def insist(self, method, url, body, content_type="application/json"):
        """A conflict, a webhook that is not reached, and a runtime that the API server has but the
        controller has not seen yet are no answers."""
        end = time.time() + 15
        while True:
            answer = self.api.request(method, url, body, content_type)
            message = answer[1].get("message") or ""
            again = (answer[0] == 409 and method == "PATCH"
                     or answer[0] == 500 and "failed calling webhook" in message
                     or answer[0] == 403 and "not found" in message.lower() and self.runtime_exists(body))
            if not again or time.time() > end:
                return answer
            time.sleep(POLL)

    def runtime_exists(self, body):
        ref = (body.get("spec") or {}).get("runtimeRef") if isinstance(body, dict) else None
        kind = (ref or {}).get("kind", "ClusterTrainingRuntime")
        return bool(ref) and kind in KINDS and self.api.get(kind, self.namespace, ref["name"])[0] == 200

    def wait(self, what):
        """Not a test: the next check decides."""
        end = time.time() + what.get("timeout", 30) * self.options.slow
        while time.time() < end:
            code, node, _ = self.api.get(what["kind"], self.namespace, what["name"])
            if what.get("absent"):
                if code == 404:
                    return
            elif code == 200:
                for key in filter(None, what.get("path", "").split(".")):
                    if isinstance(node, list):
                        node = next((item for item in node if key in (item.get("type"), item.get("name"))), None)
                    else:
                        node = node.get(key) if isinstance(node, dict) else None
                if node == what["equals"] if "equals" in what else node is not None:
                    return
            time.sleep(POLL)

    # ---- what there is ---------------------------------------------------------------------------
    def found(self):
        """All objects that count, and a mark that changes when one of them does."""
        found, mark = {}, []
        for kind in COMPARED:
            for obj in self.objects.items(kind, self.namespace):
                meta = obj["metadata"]
                if (kind, meta["name"]) != ("ConfigMap", "kube-root-ca.crt"):
                    found[kind, meta["name"]] = obj
                    mark.append((kind, meta["name"], meta["resourceVersion"]))
        return found, sorted(mark)

    def events(self):
        """The failures that upstream reports; other events are additions."""
        said = set()
        for event in self.objects.items("Event", self.namespace):
            about = event.get("involvedObject") or {}
            if (event.get("type"), event.get("reason")) == ("Warning", "TrainJobResourcesCreationFailed"):
                said.add((f"{about.get('kind')}/{about.get('name')}", event.get("action", ""),
                          event.get("reportingComponent", "")))
        return [{"regarding": name, "type": "Warning", "reason": "TrainJobResourcesCreationFailed",
                 "action": action, "reportingController": by} for name, action, by in sorted(said)]

    def untouched(self, found):
        """A TrainJob that the controller has not come to yet."""
        return any(kind == "TrainJob" and obj["spec"].get("managedBy", CONTROLLER) == CONTROLLER
                   and ("JobSet", name) not in found and not (obj.get("status") or {}).get("conditions")
                   and not self.events() for (kind, name), obj in found.items())

    def view(self, found, expected):
        """Compared with the state of the keys that the last check left."""
        view = {f"{kind}/{name}": self.normal.object(kind, obj) for (kind, name), obj in sorted(found.items())}
        for step in self.filled(self.case["steps"]):
            made = step.get("create")
            if made and made["metadata"].get("finalizers"):
                kind, name = made["kind"], made["metadata"]["name"]
                code, obj, _ = self.api.get(kind, self.namespace, name)
                if code == 200:
                    view[f"{kind}/{self.normal.text(name)}"] = {"finalizers": obj["metadata"].get("finalizers", [])}
        if "events" in expected:
            view["events"] = self.events()
        for ignored in (self.case.get("options") or {}).get("ignore", []):
            kind, name, *keys, last = ignored.split("/")
            node = view.get(f"{kind}/{name}") or {}
            for key in keys:
                node = node.get(key) or {}
            node.pop(last, None)
        return view

    def check(self, label):
        """Until what is expected is there and nothing has changed for a while."""
        expected = self.expected["checks"].get(label, {})
        start = changed = time.time()
        last, keys = None, dict(self.normal.keys)
        while True:
            found, mark = self.found()
            now = time.time()
            last, changed = mark, changed if mark == last else now
            quiet, passed = now - changed, now - start
            if not (self.untouched(found) and passed < FIRST_SIGN * self.options.slow):
                self.normal.keys = dict(keys)
                view = self.view(found, expected)
                good = not any(differences(expected, view))
                limit = REACHED * self.options.slow
                if quiet >= HOLD and (good or passed >= limit) or passed >= 3 * limit:
                    break
            time.sleep(POLL)
        self.got["checks"][label] = view


def merged(base, extra):
    if not isinstance(base, dict) or not isinstance(extra, dict):
        return extra
    return {**base, **{key: merged(base.get(key), value) for key, value in extra.items()}}


def chosen(wanted):
    for name in wanted or ["*"]:
        if os.path.exists(os.path.join(name, "case.yaml")):
            yield name
            continue
        hits = sorted(fnmatch.filter(os.listdir(CASES), name))
        if not hits:
            sys.exit(f"golden.py: there is no case {name}")
        yield from (os.path.join(CASES, hit) for hit in hits)


def left_out(kind, folder):
    why = kind.left_out.get(os.path.basename(os.path.normpath(folder)))
    if why:
        print(f"# {folder}: left out: {why}")
    return why


def main(kind=Case):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("-j", type=int, default=6, dest="jobs")
    parser.add_argument("--slow", type=float, default=1)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    api, lock, results = Api(os.environ["KUBECONFIG"]), threading.Lock(), []
    objects = Objects(api)

    def one(folder):
        start, case = time.time(), None
        try:
            case = kind(api, objects, folder, options)
            lines = case.run()
        except (OSError, LookupError, ValueError, TypeError, AttributeError) as problem:
            lines = [f"{type(problem).__name__}: {problem}"]
        with lock:
            results.append(lines)
            print("not ok" if lines else "ok", len(results), "-", os.path.basename(os.path.normpath(folder)),
                  f"({time.time() - start:.0f} s)" if lines else "")
            for line in lines:
                print("#   " + line)
            if options.show and case:
                print("# " + json.dumps(case.got, indent=1, sort_keys=True).replace("\n", "\n# "))
            sys.stdout.flush()

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, (folder for folder in chosen(options.cases) if not left_out(kind, folder))))
    print(f"1..{len(results)}")
    return 1 if any(results) or not results else 0


if __name__ == "__main__":
    sys.exit(main())
