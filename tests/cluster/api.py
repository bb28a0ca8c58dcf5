"""A client of an API server, for tests: plain HTTPS, one connection a thread, and watches."""
import base64
import http.client
import json
import os
import ssl
import tempfile
import threading
import time
import urllib.parse
import yaml

TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"
KINDS = {  # kind: prefix, plural, whether it is in a namespace
    "TrainJob": (TRAINER, "trainjobs", True),
    "TrainingRuntime": (TRAINER, "trainingruntimes", True),
    "ClusterTrainingRuntime": (TRAINER, "clustertrainingruntimes", False),
    "JobSet": ("/apis/jobset.x-k8s.io/v1alpha2", "jobsets", True),
    "Job": ("/apis/batch/v1", "jobs", True),
    "Pod": ("/api/v1", "pods", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Secret": ("/api/v1", "secrets", True),
    "Service": ("/api/v1", "services", True),
    "LimitRange": ("/api/v1", "limitranges", True),
    "Event": ("/api/v1", "events", True),
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses", False),
    "PodGroup.scheduling.x-k8s.io": ("/apis/scheduling.x-k8s.io/v1alpha1", "podgroups", True),
    "PodGroup.scheduling.volcano.sh": ("/apis/scheduling.volcano.sh/v1beta1", "podgroups", True),
}


def read_yaml(text):
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def kind_of(obj):
    group = obj["apiVersion"].split("/")[0]
    return f"PodGroup.{group}" if obj["kind"] == "PodGroup" else obj["kind"]


def path(kind, namespace=None, name=None, sub=None):
    prefix, plural, namespaced = KINDS[kind]
    parts = [prefix] + (["namespaces", namespace] if namespaced and namespace else []) + [plural]
    return "/".join(parts + [part for part in (name, sub) if part])


class Api:
    """`get`, `post`...: (status, document, warnings)."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            config = read_yaml(file)
        context = self._named(config["contexts"], config["current-context"])["context"]
        cluster = self._named(config["clusters"], context["cluster"])["cluster"]
        user = self._named(config["users"], context["user"])["user"]
        self.url = urllib.parse.urlsplit(cluster["server"])
        self.headers = {"Accept": "application/json"}
        folder = os.path.dirname(os.path.abspath(kubeconfig))
        self.tls = ssl.create_default_context(cadata=self._data(cluster, "certificate-authority", folder).decode())
        if "token" in user:
            self.headers["Authorization"] = "Bearer " + user["token"]
        else:
            with tempfile.NamedTemporaryFile() as both:
                both.write(self._data(user, "client-certificate", folder) + b"\n")
                both.write(self._data(user, "client-key", folder))
                both.flush()
                self.tls.load_cert_chain(both.name)
        self.local = threading.local()

    @staticmethod
    def _named(items, name):
        return next(item for item in items if item["name"] == name)

    @staticmethod
    def _data(obj, key, folder):
        if key + "-data" in obj:
            return base64.b64decode(obj[key + "-data"])
        with open(os.path.join(folder, obj[key]), "rb") as file:
            return file.read()

    def _once(self, method, url, body, content_type):
        if getattr(self.local, "connection", None) is None:
            self.local.connection = http.client.HTTPSConnection(
                self.url.hostname, self.url.port, timeout=60, context=self.tls)
        headers = dict(self.headers, **({"Content-Type": content_type} if body is not None else {}))
        self.local.connection.request(method, url, None if body is None else json.dumps(body), headers)
        answer = self.local.connection.getresponse()
        text = answer.read()
        warnings = answer.headers.get_all("Warning") or []
        try:
            return answer.status, json.loads(text), warnings
        except ValueError:
            return answer.status, {"message": text.decode("utf-8", "replace")}, warnings

    def request(self, method, url, body=None, content_type="application/json", tries=4):
        for done in range(tries):
            try:
                answer = self._once(method, url, body, content_type)
                if answer[0] not in (429, 504) or done == tries - 1:
                    return answer
                time.sleep(1 + done)
            except (OSError, http.client.HTTPException):
                self.local.connection = None
                if done == tries - 1:
                    raise
                time.sleep(0.3)
        raise AssertionError

    def stream(self, url):
        """The documents of an answer that goes on, one a line."""
        connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=self.tls)
        connection.request("GET", url, None, self.headers)
        yield from map(json.loads, connection.getresponse())

    def get(self, kind, namespace=None, name=None):
        return self.request("GET", path(kind, namespace, name))

    def items(self, kind, namespace=None):
        return self.get(kind, namespace)[1].get("items") or []

    def delete(self, kind, namespace, name, propagation=None):
        return self.request("DELETE", path(kind, namespace, name),
                            {"propagationPolicy": propagation} if propagation else None)


class Watch:
    """The objects of a kind in a namespace, by name, as a thread sees them change; without a namespace those of all,
    by namespace and name. `check` is called after each change; what it raises, `wait` raises."""
    check = staticmethod(lambda: None)

    def __init__(self, client, kind, namespace=None):
        self.key = (lambda meta: meta["name"]) if namespace else (lambda meta: (meta.get("namespace"), meta["name"]))
        self.client, self.url = client, path(kind, namespace)
        self.objects, self.changed, self.error, self.listed = {}, threading.Condition(), None, False
        threading.Thread(target=self._run, daemon=True).start()

    def wait(self, what, seconds):
        """What `what` returns once that is true; otherwise, after so many seconds, something false."""
        with self.changed:
            answer = self.changed.wait_for(lambda: self.error or what(), seconds)
        if self.error:
            raise self.error
        return answer

    def _run(self):
        try:
            while True:
                self._follow(self._list())
        except Exception as e:  # pylint: disable=broad-except
            with self.changed:
                self.error = e
                self.changed.notify_all()

    def _list(self):
        answer = self.client.request("GET", self.url)[1]
        self.listed = True
        self._now({self.key(o["metadata"]): o for o in answer["items"]})
        return answer["metadata"]["resourceVersion"]

    def _follow(self, version):
        """Until the connection or the version ends."""
        try:
            for event in self.client.stream(f"{self.url}?watch=1&resourceVersion={version}"):
                if event["type"] == "ERROR":
                    return
                name = self.key(event["object"]["metadata"])
                objects = {**self.objects, name: event["object"]}
                if event["type"] == "DELETED":
                    del objects[name]
                self._now(objects)
        except (OSError, http.client.HTTPException):
            time.sleep(0.3)

    def _now(self, objects):
        with self.changed:
            self.objects = objects
            self.check()
            self.changed.notify_all()
