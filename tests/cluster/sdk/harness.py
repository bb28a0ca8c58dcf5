"""What the tests of the Kubeflow SDK share: one release's client, as an ordinary user of a
namespace has it, what an administrator sees meanwhile, and checks, which are told as TAP.

A check is a function of a Sdk; it fails by an exception. `since` and `until` say which releases
have what it calls: the first, and the last.
"""
import contextlib
import importlib.metadata
import os
import socket
import sys
import time
import traceback
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from api import Api, path  # noqa: E402
from kubeflow.trainer import KubernetesBackendConfig, TrainerClient  # noqa: E402

CHECKS = []
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"


def check(what, since=(0, 1), until=(9, 9)):
    def note(function):
        CHECKS.append((what, since, until, function))
        return function
    return note


def version(release):
    return tuple(int(part) for part in release.split(".")[:2])


class Sdk:
    """`config`: the user's kubeconfig; `admin`: an Api with all rights."""

    def __init__(self, namespace, config, admin_config):
        self.release = importlib.metadata.version("kubeflow")
        self.version = version(self.release)
        self.namespace = namespace
        self.admin = Api(admin_config)
        self.client = TrainerClient(KubernetesBackendConfig(config_file=config, namespace=namespace))

    # ---- what an administrator sees --------------------------------------------------------------
    def get(self, kind, name):
        status, found, _ = self.admin.get(kind, self.namespace, name)
        assert status == 200, f"{kind} {name}: {status}"
        return found

    def of_job(self, kind, name):
        """The objects of that kind that belong to the TrainJob."""
        return [item for item in self.admin.items(kind, self.namespace)
                if item["metadata"]["name"].startswith(name)
                or item["metadata"].get("labels", {}).get(JOBSET_NAME) == name]

    def template(self, name, job="node"):
        """The pod template of the JobSet's replicatedJob."""
        jobs = self.get("JobSet", name)["spec"]["replicatedJobs"]
        return next(item["template"]["spec"]["template"] for item in jobs if item["name"] == job)

    def container(self, name, job="node"):
        return next(item for item in self.template(name, job)["spec"]["containers"] if item["name"] == job)

    def pods(self, name, count):
        found = wait(30, lambda: sized(self.of_job("Pod", name), count))
        return sorted(found, key=lambda pod: pod["metadata"]["name"])

    def report(self, pod, **status):
        """What a kubelet would, where there is none."""
        url = path("Pod", self.namespace, pod["metadata"]["name"], "status")
        code, said, _ = self.admin.request("PATCH", url, {"status": status}, "application/merge-patch+json")
        assert code == 200, said


    def token(self, pod):
        """What a kubelet would put into it, for reports of progress."""
        audience = next(source["serviceAccountToken"]["audience"] for volume in pod["spec"]["volumes"]
                        for source in volume.get("projected", {}).get("sources", [])
                        if source.get("serviceAccountToken", {}).get("audience"))
        meta = pod["metadata"]
        url = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default/token"
        code, said, _ = self.admin.request("POST", url, {"spec": {"audiences": [audience], "boundObjectRef": {
            "kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}}})
        assert code == 201, said
        return said["status"]["token"]


@contextlib.contextmanager
def resolved(url, address):
    """Outside of pods: the name in that URL leads to the address."""
    name, ask = urllib.parse.urlsplit(url).hostname, socket.getaddrinfo

    def answer(host, *more, **named):
        return ask(address if host == name else host, *more, **named)
    socket.getaddrinfo = answer
    try:
        yield
    finally:
        socket.getaddrinfo = ask


def sized(items, count):
    assert len(items) == count, [item["metadata"]["name"] for item in items]
    return items


def wait(seconds, function):
    """Until it raises no AssertionError: what it returns."""
    end = time.monotonic() + seconds
    while True:
        try:
            return function()
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def refused(function, *like, kind=RuntimeError):
    """It raises `kind`; the API server's words, in the cause, are LIKE."""
    try:
        said = function()
    except kind as error:
        text = f"{error} {getattr(error.__cause__, 'body', error.__cause__)}"
        for part in like:
            assert part in text, text
        return
    raise AssertionError(f"it should have been refused, and said {said}")


def environment(container):
    return {item["name"]: item.get("value") for item in container.get("env", [])}


def run(sdk, left_out=()):
    """All checks that this release has, in order; the number of those that failed. `left_out`: what: why."""
    unknown = [what for what in left_out if what not in [entry[0] for entry in CHECKS]]
    assert not unknown, unknown
    number = failed = 0
    for what, since, until, function in CHECKS:
        if not since <= sdk.version <= until or what in left_out:
            continue
        number += 1
        start = time.monotonic()
        try:
            function(sdk)
            print(f"ok {number} - {sdk.release}: {what}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {sdk.release}: {what}")
            for line in traceback.format_exc().splitlines()[-60:]:
                print(f"#   {line}")
        if os.environ.get("SDK_TIMES"):
            print(f"#   {time.monotonic() - start:.1f} s", flush=True)
    print(f"1..{number}", flush=True)
    return failed
