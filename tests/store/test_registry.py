#!/usr/bin/env python3
"""export-model --register: MLflow's own server and Kubeflow's model registry on MariaDB, each read back by its own
client; in between a proxy that asks for credentials, loses answers, fails, and kills who calls."""
import base64
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import urllib.request

sys.path[:0] = [str(p) for p in pathlib.Path(__file__).resolve().parents[:2]]
sys.dont_write_bytecode = True
from hub import Running
from proxy import Proxy
from servers import PROGRAM, ROOT, Mlflow, answers, children, clean_environ, free_port, output, scratch, start, versitygw
from tap import check, finish, skip

SECRET = "the-Secret-of-the-tests"

venv = output(ROOT / "tests/setup.sh", "venv", "registry")
gateway, model_registry = versitygw(), output(ROOT / "tests/store/model_registry.sh")
mariadbd = output("sh", "-c", "PATH=$PATH:/usr/sbin command -v mariadbd")
if not (venv and os.path.exists(venv + "/.done") and gateway and model_registry and mariadbd):
    skip("registry", "MLflow, the model registry or MariaDB is not installed: tests/setup.sh store")
    finish()
python = venv + "/bin/python"
clean_environ("MLFLOW_")
os.environ.update(NO_PROXY="*", no_proxy="*", HOME=str(scratch), MLFLOW_DISABLE_TELEMETRY="true",
                  MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false")


# ---- the servers ---------------------------------------------------------------------------------
def mariadb():
    data, share = scratch / "mariadb", pathlib.Path("/usr/share/mysql")
    data.mkdir()
    common = [mariadbd, "--no-defaults", "--user=root", f"--datadir={data}", "--skip-grant-tables"]
    tables = "".join((share / f"mysql_system_tables{part}.sql").read_text() for part in ("", "_data"))
    subprocess.run([*common, "--bootstrap"], input=f"create database mysql;\nuse mysql;\n{tables}\ncreate database kft;\n",
                   text=True, capture_output=True, check=True)
    start(0, *common, f"--socket={scratch}/sql", "--skip-networking", "--innodb-flush-log-at-trx-commit=0")
    while not (scratch / "sql").exists() and children[-1].poll() is None:
        pass


def mariadb_do(*statements):
    """By its protocol, as no client is installed: the greeting, a user without a password, then a packet for each."""
    def answer():
        head = f.read(4)
        body = f.read(int.from_bytes(head[:3], "little"))
        return body if body[0] != 0xff else sys.exit(f"MariaDB: {body[9:].decode()}")

    def send(number, body):
        s.sendall(len(body).to_bytes(3, "little") + bytes([number]) + body)
        return answer()

    with socket.socket(socket.AF_UNIX) as s, s.makefile("rb") as f:
        s.connect(str(scratch / "sql"))
        answer()
        send(1, struct.pack("<IIB23x", 0x8208, 1 << 24, 45) + b"root\0\0kft\0")  # protocol 4.1, a database; utf8mb4
        for statement in statements:
            send(0, b"\x03" + statement.encode())


class Kubeflow:
    def __init__(self):
        self.port = free_port()
        self.start()

    def start(self):
        self.process = start(self.port, model_registry, "proxy", "-n", "127.0.0.1", "-p", str(self.port), "--embedmd-database-type", "mysql",
                             "--embedmd-database-dsn", f"root@unix({scratch}/sql)/kft?charset=utf8mb4")[1]

    def answers(self):
        answers(self.port, self.process)


(scratch / "s3/bucket").mkdir(parents=True)
s3_port = free_port()
os.environ.update(ROOT_ACCESS_KEY="key", ROOT_SECRET_KEY="secretsecret")
s3 = start(s3_port, gateway, "--port", f"127.0.0.1:{s3_port}", "--quiet", "posix", str(scratch / "s3"))
backends = {"mlflow": Mlflow(venv)}
mariadb()
backends["kubeflow"] = Kubeflow()
credentials = {
    "mlflow": ({"MLFLOW_TRACKING_USERNAME": "kft", "MLFLOW_TRACKING_PASSWORD": SECRET},
               "Basic " + base64.b64encode(f"kft:{SECRET}".encode()).decode()),
    "kubeflow": ({"KF_PIPELINES_SA_TOKEN_PATH": str(scratch / "token")}, "Bearer " + SECRET)}
(scratch / "token").write_text(SECRET + "\n")
proxies = {kind: Proxy(backends[kind].port, credentials[kind][1]) for kind in backends}
schemes = {"mlflow": "mlflow+http", "kubeflow": "model-registry+http"}

# Read back by the registries' own clients, in processes of their own: one for each, asked by a line of JSON.
READERS = {"mlflow": """
import json, sys, mlflow
client = mlflow.MlflowClient(sys.argv[1])
for line in sys.stdin:
    found = client.search_model_versions("name = '%s'" % json.loads(line))
    print(json.dumps([{"version": v.version, "uri": v.source, "description": v.description or "", "properties": v.tags,
                       "run": v.run_id, "points": v.run_id and sorted(m.value for m in client.get_metric_history(v.run_id, "loss")),
                       "state": v.run_id and client.get_run(v.run_id).info.status, "digest": v.tags.get("kftrainer.digest"), "format": v.tags.get("format")} for v in found]), flush=True)
""", "kubeflow": """
import json, sys
from model_registry import ModelRegistry
host, port = sys.argv[1].rsplit(":", 1)
client = ModelRegistry(host, int(port), author="tests", is_secure=False, user_token="none")
for line in sys.stdin:
    name, found = json.loads(line), []
    for v in client.get_model_versions(name):
        artifact = client.get_model_artifact(name, v.name)
        found.append({"version": v.name, "uri": artifact and artifact.uri, "description": v.description or "",
                      "properties": v.custom_properties or {}, "digest": artifact and artifact.custom_properties["digest"],
                      "format": artifact and artifact.model_format_name})
    print(json.dumps(found), flush=True)
"""}
readers = {kind: subprocess.Popen([python, "-W", "ignore", "-c", READERS[kind], f"http://127.0.0.1:{backends[kind].port}"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for kind in backends}
children.extend(readers.values())
answers(*s3)
for server in backends.values():
    server.answers()


def registered(kind, name):
    readers[kind].stdin.write(json.dumps(name) + "\n")
    readers[kind].stdin.flush()
    return json.loads(readers[kind].stdout.readline())


# ---- what is uploaded ----------------------------------------------------------------------------
def model(name, files):
    for path, text in files.items():
        (scratch / name / path).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name / path).write_text(text)
    lines = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {path}\n" for path, text in sorted(files.items()))
    return scratch / name, "sha256:" + hashlib.sha256(lines.encode()).hexdigest()


def command(kind, name, folder, *argv, to=None, env=None):
    uri = to or f"{schemes[kind]}://127.0.0.1:{proxies[kind].port}"
    env = {**os.environ, "ENDPOINT": f"http://127.0.0.1:{s3_port}", "ACCESS_KEY_ID": "key",
           "SECRET_ACCESS_KEY": "secretsecret", **credentials[kind][0], **(env or {})}
    return [PROGRAM, "export-model", str(folder), "--uri", f"s3://bucket/{name}", "--register", uri, *argv], env


def export(kind, name, folder, *argv, **more):
    """Exit status and output, in which no secret may be."""
    argv, env = command(kind, name, folder, *argv, **more)
    r = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300)
    text = r.stdout + r.stderr
    return (99, "A SECRET WAS SHOWN") if SECRET in text or credentials[kind][1] in text else (r.returncode, text)


def problem(got, status, like):
    return "" if got[0] == status and re.search(like, got[1]) else f"status {got[0]}, wanted {status} and {like}: {got[1]}"


def differs(kind, name, *wanted):
    """Wanted: for each version its number, or None, and what it has."""
    got = sorted(registered(kind, name), key=lambda v: v["version"])
    want = [{**v, "version": v["version"] or g["version"]} for v, g in zip(wanted, got)]
    got_less = [{k: v[k] for k in w} for v, w in zip(got, want)]
    return "" if len(got) == len(wanted) and got_less == want else f"{got}\nwanted: {want}"


files = {"model.safetensors": "weights of the first", "sub/config.json": "{}", "sub.txt": "sorted before sub/"}
first, digest = model("first", files)
second, other = model("second", {**files, "model.safetensors": "other weights"})
of_job = {"TRAINJOB_NAMESPACE": "team-a", "TRAINJOB_NAME": "bert"}
titles = {"mlflow": "MLflow", "kubeflow": "Kubeflow's registry"}
for kind in backends:
    proxy, title = proxies[kind], titles[kind]
    numbers = ("1", "2") if kind == "mlflow" else (digest[7:19], "v2")
    one = {"version": numbers[0], "uri": "s3://bucket/bert", "description": "first, of \"three\"\nlines", "digest": digest,
           "format": "safetensors"}
    check(f"{title}: a model is registered", problem(export(
        kind, "bert", first, "--description", one["description"], "--property", "epoch=3", "--property", "ä b='%'", env=of_job),
        0, f"registered: version {numbers[0]} of bert\n$"))
    properties = registered(kind, "bert")[0]["properties"] if registered(kind, "bert") else {}
    check("... its own client reads what was given", differs(kind, "bert", one))
    check("... properties, and the job's name", "" if {
        "epoch": "3", "ä b": "'%'", "trainjob.namespace": "team-a", "trainjob.name": "bert"}.items() <= properties.items() else properties)
    check("... once more: it is there", problem(export(kind, "bert", first), 0, f"registered before: version {numbers[0]} of bert\n$"))
    check("... under another version: the same", problem(export(kind, "bert", first, "--version", "again"), 0, "registered before: version"))
    check("other files are another version", problem(export(kind, "bert", second, "--version", "v2"), 0,
                                                      f"registered: version {numbers[1]} of bert\n$"))
    third, _ = model("third", {"x.gguf": "third"})
    check("files that differ from those of a version: refused", problem(
        export(kind, "bert3", third, "--model", "bert", "--version", "v2"), 1,
        f"^kftrainer export-model: not uploaded: .*version 'v2' of 'bert' exists with other files .digest {other}.: choose another --version\n$"))
    check("... nothing was uploaded", "" if not (scratch / "s3/bucket/bert3").exists() else "it was")
    check("... but of the same files, or of files that are there under another name, it is that", problem(
        export(kind, "bert", second, "--version", "v2"), 0, f"registered before: version {numbers[1]} of bert\n$") or problem(
            export(kind, "bert", first, "--version", "v2"), 0, f"registered before: version {numbers[0]} of bert\n$"))
    asked = []
    proxy.fault = lambda method, path: asked.append(path) or ("text" if len(asked) == 1 else None)
    check("... where the registry does not say so before: after the upload", problem(export(kind, "bert", third, "--version", "v2"), 1,
                                                                         "uploaded, but not registered: .*version 'v2' of 'bert' exists with other files.*choose another --version\n$"))
    proxy.fault = None
    check("... there are two versions", differs(kind, "bert", one, {"version": numbers[1], "digest": other}))

    # Each call that changes something is answered, but the answer is lost: the first time.
    lost = set()
    proxy.fault = lambda method, path: "lose" if method != "GET" and path not in lost and not lost.add(path) else None
    check("answers are lost: registered once", problem(export(kind, "lost", first), 0, "registered: version") or
          differs(kind, "lost", {"version": None, "digest": digest, "uri": "s3://bucket/lost"}))
    check("... each call that makes something was one of them", "" if len(lost) == (2 if kind == "mlflow" else 3) else lost)
    busy = iter(range(2))
    proxy.fault = lambda method, path: "refuse" if next(busy, None) is not None else None
    check("a server that is busy: it is asked again", problem(export(kind, "busy", first), 0, "registered: version"))

    # Killed after its first call, after its second, ..., until it gets to the end; ten times at least.
    kills, rounds = 0, 0
    while kills < 10:
        rounds += 1
        for calls in range(20):
            argv, env = command(kind, f"killed{rounds}", first)
            process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            left = iter(range(calls))
            proxy.fault = lambda method, path: process.kill if next(left, None) is None else None
            said = process.communicate()[0]
            if process.returncode == 0:
                break
            kills += 1
        proxy.fault = None
        wrong = differs(kind, f"killed{rounds}", {"version": None, "digest": digest, "uri": f"s3://bucket/killed{rounds}"})
        if wrong or "registered" not in said:
            break
    check(f"killed {kills} times between upload and end, in {rounds} exports: each is registered once", wrong or (said if kills < 10 else ""))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: export(kind, "race", first), range(8)))
    check("eight at once: all say so", "\n".join(filter(None, (problem(g, 0, "registered") for g in got))))
    check("... one version", differs(kind, "race", {"version": None, "digest": digest}))

    for what, fault, status, like in (
            ("a page in place of an answer", "text", 1, "the answer is not a JSON object .*is this the address of a registry."),
            ("a redirect", "move", 1, "redirects to another address .status 302.: use that one")):
        proxy.fault = lambda method, path: fault
        check(f"{what}: one line", problem(export(kind, "bad", third), status, f"uploaded, but not registered: {re.escape(schemes[kind])}://.*{like}\n$"))
    proxy.fault = lambda method, path: "forbid" if method != "GET" else None
    check("no rights: one line", problem(export(kind, "bad", third), 1, "uploaded, but not registered: .*status 403, the credentials are not accepted: not yours\n$"))
    proxy.fault = lambda method, path: "gateway"
    check("a gateway that refuses: its words", problem(export(kind, "bad", third), 1, "status 403, the credentials are not accepted: RBAC: access denied\n$"))
    proxy.fault = None
    bad = {"MLFLOW_TRACKING_PASSWORD": "wrong"} if kind == "mlflow" else {"MODEL_REGISTRY_TOKEN": "wrong"}
    check("wrong credentials", problem(export(kind, "bad", third, env=bad), 1, "status 401, the credentials are not accepted: who are you"))
    none = dict.fromkeys(credentials[kind][0], "")
    check("none", problem(export(kind, "bad", third, env=none), 1, "status 401, credentials are needed"))
    check("no server: the upload is done, and it says so", problem(export(
        kind, "bad", third, "--retries", "1", to=f"{schemes[kind]}://127.0.0.1:1"), 1, "(?s)sent in.*uploaded, but not registered: .*refused"))
    odd = "an odd náme & 100%"
    check("a name with odd characters", problem(export(kind, "odd", first, "--model", odd), 0, f"registered: version .* of {odd}\n$") or
          differs(kind, odd, {"version": None, "digest": digest, "uri": "s3://bucket/odd"}))

proxies["kubeflow"].newer = True
check("a release of Kubeflow's registry after 0.3.8", problem(export("kubeflow", "newer", first), 0, "registered: version") or
      differs("kubeflow", "newer", {"version": digest[7:19], "digest": digest}))
proxies["kubeflow"].newer = False


def restart(kind):
    os.killpg(backends[kind].process.pid, signal.SIGKILL)
    backends[kind].process.wait()
    backends[kind].start()
    backends[kind].answers()


restarts = iter((lambda: restart("kubeflow"),))
proxies["kubeflow"].fault = lambda method, path: next(restarts, None) if path.endswith("/model_versions") else None
check("Kubeflow's registry is killed and starts again in between: registered once", problem(export("kubeflow", "restarted", first), 0, "registered") or
      differs("kubeflow", "restarted", {"version": digest[7:19], "digest": digest}) or ("it was not killed" if next(restarts, None) else ""))

# The tables of both have 10,000 versions of a model, of which a search shows 100 at most.
for kind in backends:
    check(f"{titles[kind]}: a model of 10,001 versions", problem(export(kind, "many", first), 0, "registered: version .* of many"))
with sqlite3.connect(scratch / "mlflow.db", timeout=60) as db:
    db.execute("with n(i) as (select 2 union all select i + 1 from n where i < 10001) insert into model_versions (name, version, creation_time, "
               "last_updated_time, current_stage, source, status) select 'many', i, i, i, 'None', 's3://bucket/x', 'READY' from n")
    db.execute("insert into model_version_tags (key, value, name, version) select 'kftrainer.digest', 'sha256:' || version, name, version "
               "from model_versions where name = 'many' and version > 1")
mariadb_do("insert into Context (type_id, name, external_id, create_time_since_epoch) select v.type_id, concat(m.id, ':', seq), "
           "concat('kftrainer/', m.id, '/sha256:', seq), seq from Context m join ParentContext p on p.parent_context_id = m.id "
           "join Context v on v.id = p.context_id join seq_2_to_10001 where m.name = 'many'",
           "insert ignore into ParentContext select v.id, m.id from Context m join Context v on v.external_id like "
           "concat('kftrainer/', m.id, '/%') where m.name = 'many'")
api = f"http://127.0.0.1:{backends['kubeflow'].port}/api/model_registry/v1alpha3/registered_model"
many = json.load(urllib.request.urlopen(f"{api}?name=many"))["id"]
page = json.load(urllib.request.urlopen(f"{api}s/{many}/versions?pageSize=100"))
check("Kubeflow's registry has them, on pages", "" if len(page["items"]) == 100 and page["nextPageToken"] else page)
for kind, most in (("mlflow", 8), ("kubeflow", 13)):
    calls = []
    proxies[kind].fault = lambda method, path: calls.append(path)
    check(f"{titles[kind]}: ... the first and a new one", problem(export(kind, "many", first), 0, "registered before: version .* of many") or
          problem(export(kind, "many", second), 0, "registered: version .* of many") or
          problem(export(kind, "many", second), 0, "registered before: version .* of many"))
    check("... are found without a page of others", "" if len(calls) <= most and not any("oken" in path for path in calls) else calls)
    proxies[kind].fault = None

# ---- a job of two nodes: trains, exports, registers -----------------------------------------------
(scratch / "code").mkdir()
(scratch / "code/rank.sh").write_text(f"""mkdir -p "$KFTRAINER_MODEL_DIR/sub"
printf 'weights of rank %s' "$JOB_COMPLETION_INDEX" > "$KFTRAINER_MODEL_DIR/model.safetensors"
printf '{{}}' > "$KFTRAINER_MODEL_DIR/sub/config.json"
[ "$JOB_COMPLETION_INDEX" != 0 ] || exec {sys.executable} {ROOT}/tests/store/report.py {scratch}/reports
""")
(scratch / "reports").write_text("".join(json.dumps({"trainerStatus": {"progressPercentage": p, "lastUpdatedTime": "2026-11-27T10:00:00Z", "metrics": [
    {"name": "loss", "value": v}, {"name": "timing(s)/ä", "value": "1"}, {"name": "word", "value": "x"}]}}) + "\n" for p, v in ((50, "2"), (100, "0.5"))))
of_rank, of_job = "weights of rank 0", hashlib.sha256
lines = "".join(f"{of_job(t.encode()).hexdigest()}  {p}\n" for p, t in (("model.safetensors", of_rank), ("sub/config.json", "{}")))
trained = "sha256:" + of_job(lines.encode()).hexdigest()
git = ["git", "-C", str(scratch / "code"), "-c", "user.name=t", "-c", "user.email=t@example.com"]
for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "train"]):
    subprocess.run([*git, *words], check=True)
commit = output(*git, "rev-parse", "HEAD")
(scratch / "hub/models/org/base").mkdir(parents=True)
(scratch / "hub/models/org/base/hub.json").write_text("{}")
(scratch / "hub/models/org/base/config.json").write_text("{}")
VOLUME = "volumeMounts: [{name: initializer, mountPath: /workspace}]"
(scratch / "runtime.yaml").write_text(f"""apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: fine-tune, labels: {{trainer.kubeflow.org/framework: torch}}}}
spec:
  mlPolicy: {{numNodes: 2, torch: {{}}}}
  template:
    spec:
      replicatedJobs:
      - name: model-initializer
        template:
          metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: model-initializer}}}}
          spec: {{template: {{spec: {{containers: [{{name: model-initializer, image: kftrainer, args: [initialize-model], {VOLUME}}}]}}}}}}
      - name: node
        dependsOn: [{{name: model-initializer, status: Complete}}]
        template:
          metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
          spec: {{template: {{spec: {{containers: [{{name: node, image: img, {VOLUME}}}]}}}}}}
      volumeClaimPolicies:
      - templates:
        - metadata: {{name: initializer}}
          spec: {{resources: {{requests: {{storage: 1Gi}}}}, accessModes: [ReadWriteOnce]}}
""")
os.environ["XDG_STATE_HOME"] = str(scratch / "state")


def submit(kind, name, *argv, env=None, to=None):
    """Exit status and output of a local job, in which no secret may be."""
    words = [PROGRAM, "submit", "--local", "--name", name, "--runtime-file", str(scratch / "runtime.yaml"), "--runtime", "fine-tune",
             "--model", "hf://org/base@main", "--export-to", f"s3://bucket/{name}", "--register",
             to or f"{schemes[kind]}://127.0.0.1:{proxies[kind].port}", *argv, "--", "sh", str(scratch / "code/rank.sh")]
    env = {**command(kind, name, first, env=env)[1], "HF_ENDPOINT": hub.url}
    r = subprocess.run(words, env=env, capture_output=True, text=True, timeout=300, cwd=scratch / "code")
    text = r.stdout + r.stderr
    return (99, "A SECRET WAS SHOWN") if SECRET in text or credentials[kind][1] in text else (r.returncode, text)


def uid_of(name):
    return json.loads(output(PROGRAM, "get", name, "-o", "json"))["metadata"]["uid"]


with Running(scratch / "hub") as hub:
    for kind in backends:
        title = titles[kind]
        got = submit(kind, f"job-{kind}", "--model-name", "digits", "--model-version", "v1", "--description", "by a job: $(HOME) \"it\"",
                     "--property", "data=v7", "--property", "note=a=b $(HOME)")
        check(f"{title}: a job of two nodes exports and registers", problem(got, 0, "registered: version (1|v1) of digits\n"))
        check("... its own client reads the files of rank 0, and what was given", differs(kind, "digits", {
            "version": "1" if kind == "mlflow" else "v1", "uri": f"s3://bucket/job-{kind}", "digest": trained, "format": "safetensors",
            "description": "by a job: $(HOME) \"it\""}))
        found = (registered(kind, "digits") or [{"properties": {}}])[0]["properties"]
        wanted = {"trainjob.namespace": "default", "trainjob.name": f"job-{kind}", "trainjob.uid": uid_of(f"job-{kind}"),
                  "runtime": "fine-tune", "base-model": "hf://org/base@main", "base-model.revision": hub.commits["models/org/base"],
                  "commit": commit + ("-dirty" if kind == "kubeflow" else ""), "metrics.loss": "0.5",
                  "metrics.timing_s_/_" if kind == "mlflow" else "metrics.timing(s)/ä": "1", "data": "v7", "note": "a=b $(HOME)"}
        ours = {"digest", "kftrainer.digest", "kftrainer.version", "format"}
        check("... exactly these properties: the job, the initializers' URIs and revisions, the commit, the last metrics",
              "" if {k: v for k, v in found.items() if k not in ours} == wanted else f"{found}\nwanted: {wanted}")
        if kind == "kubeflow":
            check("... of a version that exists with other files: it fails, and nothing is uploaded", problem(
                submit(kind, "taken", "--model-name", "bert", "--model-version", "v2"), 1, "not uploaded: .*exists with other files") or
                ("it was" if (scratch / "s3/bucket/taken").exists() else ""))
        proxies[kind].fault = lambda method, path: "text"
        got = submit(kind, f"bad-{kind}", "--max-restarts", "3")
        proxies[kind].fault = None
        with open(scratch / "code/rank.sh", "a") as f:
            f.write("# this file differs from its commit\n")
        check(f"{title}: an answer that is no JSON fails the job, once, though restarts are left", problem(got, 1, "is this the address of a registry") or
              ("" if got[1].count("uploaded, but not registered") == 2 else got[1]))  # the log, and the report of its last lines
    restarts = iter((lambda: restart("mlflow"),))
    proxies["mlflow"].fault = lambda method, path: next(restarts, None) if path.endswith("/model-versions/create") else None
    got = submit("mlflow", "tracked", "--track", f"mlflow+http://127.0.0.1:{proxies['mlflow'].port}/runs")
    check("a job that is tracked, too, and MLflow is killed and starts again in between: registered once", problem(
        got, 0, "registered: version 1 of tracked") or ("it was not killed" if next(restarts, None) else ""))
    check("... its version belongs to its run, which has all points and its end", differs("mlflow", "tracked", {
        "version": "1", "digest": trained, "points": [0.5, 2.0], "state": "FINISHED"}))
    proxies["mlflow"].fault = None
    for what, argv, like in (
            ("a name that MLflow cannot find", ["--model-name", "it's"], "kftrainer.io/register-model: MLflow takes no model"),
            ("a property without a value", ["--property", "x"], "kftrainer.io/register-properties: expected NAME=VALUE"),
            ("supervision turned off", ["--annotation", "kftrainer.io/supervise=false"], "kftrainer.io/export-to: requires supervision"),
            ("a registry of no kind", ["--register", "https://registry"], "kftrainer.io/register: expected model-registry://")):
        check(f"{what}: the job is refused", problem(submit("mlflow", "never", *argv), 2, like))

# ---- refused before anything is uploaded ---------------------------------------------------------
for what, argv, status, like in (
        ("another scheme", ["--register", "https://registry"], 2, "'https://registry': not a model registry: use"),
        ("a password in the URI", ["--register", "mlflow+http://u:p@h"], 2, "with credentials in the environment"),
        ("--property without '='", ["--property", "x"], 2, "--property 'x': expected NAME=VALUE"),
        ("a property's name that MLflow does not take", ["--property", "a, b=1"], 2, "property 'a, b': MLflow takes letters, .* as in 'a_ b'"),
        ("a model's name that MLflow does not take", ["--model", "a/b"], 2, "the model's name 'a/b': MLflow takes none with /"),
        ("101 properties", [f"--property={i}=x" for i in range(101)], 2, "more than 100 properties"),
        ("a value of 6,000 bytes", ["--property", "x=" + 6000 * "y"], 2, "property 'x': its value has 6000 bytes; at most 5000"),
        ("a name with a line break", ["--model", "a\nb"], 2, "the model's name has a control character")):
    got = export("mlflow", "never", first, *argv)
    check(f"{what}: refused", problem(got, status, like))
check("... nothing was uploaded", "" if not (scratch / "s3/bucket/never").exists() else "it was")
got = subprocess.run([PROGRAM, "export-model", str(first), "--uri", "s3://bucket/x", "--model", "m"], capture_output=True, text=True)
check("--model without --register", problem((got.returncode, got.stderr), 2, "need --register URI"))
finish()
