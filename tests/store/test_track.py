#!/usr/bin/env python3
"""runtime supervise --track, submit --track: what a job reports is in MLflow as its own server and client have it; in
between a proxy that asks for credentials, loses answers, fails, and is away."""
import base64
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path[:0] = [str(p) for p in pathlib.Path(__file__).resolve().parents[:2]]
sys.dont_write_bytecode = True
from proxy import Proxy
from servers import PROGRAM, ROOT, Mlflow, children, clean_environ, output, scratch
from tap import check, finish, skip

SECRET = "the-Secret-of-the-tests"
venv = output(ROOT / "tests/setup.sh", "venv", "registry")
if not venv or not os.path.exists(venv + "/.done"):
    skip("tracking", "MLflow is not installed: tests/setup.sh store")
    finish()
python = venv + "/bin/python"
clean_environ("MLFLOW_")
os.environ.update(NO_PROXY="*", no_proxy="*", HOME=str(scratch), XDG_STATE_HOME=str(scratch / "state"),
                  MLFLOW_DISABLE_TELEMETRY="true", MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false")
credentials = {"MLFLOW_TRACKING_USERNAME": "kft", "MLFLOW_TRACKING_PASSWORD": SECRET}
authorization = "Basic " + base64.b64encode(f"kft:{SECRET}".encode()).decode()
server = Mlflow(venv)
port = server.port
proxy = Proxy(port, authorization)

# ---- what a job runs: reports by upstream's protocol, line by line from a file ------------------------------------

def reports(name, *statuses):
    path = scratch / name
    path.write_text("".join(json.dumps({"trainerStatus": s}) + "\n" for s in statuses))
    return f"python3 {ROOT}/tests/store/report.py {path}"


def status(percent, at, **metrics):
    return {"progressPercentage": percent, "lastUpdatedTime": at,
            "metrics": [{"name": name, "value": value} for name, value in metrics.items()]}


# ---- read back by MLflow's own client -----------------------------------------------------------------------------
READER = """
import json, sys, mlflow
client = mlflow.MlflowClient(sys.argv[1])
for line in sys.stdin:
    ask = json.loads(line)
    if "delete" in ask:
        client.delete_run(ask["delete"])
    if "forget" in ask:
        client.delete_experiment(client.create_experiment(ask["forget"]))
    found = []
    for e in client.search_experiments():
        for r in client.search_runs([e.experiment_id], "tags.`kftrainer.job` = '%s'" % ask["key"]):
            points = {k: sorted([m.step, m.timestamp, m.value] for m in client.get_metric_history(r.info.run_id, k))
                      for k in r.data.metrics}
            found.append({"id": r.info.run_id, "experiment": e.name, "name": r.info.run_name, "status": r.info.status,
                          "tags": r.data.tags, "params": r.data.params, "points": points, "end": r.info.end_time})
    print(json.dumps(found), flush=True)
"""
reader = None


def runs(key, **ask):
    global reader
    if not reader:
        reader = subprocess.Popen([python, "-W", "ignore", "-c", READER, f"http://127.0.0.1:{port}"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        children.append(reader)
    reader.stdin.write(json.dumps({"key": key, **ask}) + "\n")
    reader.stdin.flush()
    return json.loads(reader.stdout.readline())


def differs(key, points=None, **wanted):
    """The one run of the key, whose members are as wanted."""
    found = runs(key)
    if len(found) != 1:
        return f"{len(found)} runs: {found}"
    return unlike({name: found[0][name] for name in wanted}, wanted) or (points and unlike(found[0]["points"], points))


def command(key, *argv, to="digits", options=(), env=None):
    uri = to if "://" in to else f"mlflow+http://127.0.0.1:{proxy.port}/{to}"
    words = [PROGRAM, "runtime", "supervise", "--message", "/dev/null", "--stall-after", "never",  # a script waits for a server
             "--track", uri, "--track-job", key, *options, "--", *argv]
    return words, {**os.environ, **credentials, **(env or {})}


def supervise(key, *argv, **more):
    """Exit status and output, in which no secret may be."""
    words, env = command(key, *argv, **more)
    r = subprocess.run(words, env=env, capture_output=True, text=True, timeout=300)
    text = r.stdout + r.stderr
    return (99, "A SECRET WAS SHOWN") if SECRET in text or authorization[6:] in text else (r.returncode, text)


def unlike(got, wanted):
    return "" if got == wanted else f"{got}\nwanted: {wanted}"


def problem(got, code, like="(?s).*"):
    return "" if got[0] == code and re.search(like, got[1]) else f"status {got[0]}, wanted {code} and {like}: {got[1]}"


server.answers()
# ---- a job of two nodes, with its own calls of MLflow -------------------------------------------------------------
values = ["0.1", "1e-300", "-2.5", "1.7976931348623157e+308", "nan", "3"]
(scratch / "own.py").write_text("import mlflow\nmlflow.log_metric('own', 1.5, step=7, timestamp=1700000000000)\n")
first = [status(10 * i, f"2026-11-27T10:00:{i:02}.{i}25Z", loss=v) for i, v in enumerate(values)]
(scratch / "rank.sh").write_text(f"""echo "rank $JOB_COMPLETION_INDEX of run $MLFLOW_RUN_ID at $MLFLOW_TRACKING_URI in $MLFLOW_EXPERIMENT_NAME"
[ "$JOB_COMPLETION_INDEX" = 0 ] || exec {python} -W ignore {scratch}/own.py
exec {reports("first", *first)}
""")
r = subprocess.run([PROGRAM, "submit", "--local", "--track", f"mlflow+http://127.0.0.1:{proxy.port}/hand%20writing", "--nodes", "2",
                    "--runtime", "torch-distributed", "--name", "digits", "--image", "img:1", "--", "sh", str(scratch / "rank.sh")],
                   env={**os.environ, **credentials}, capture_output=True, text=True)
said = r.stdout + r.stderr
ranks = sorted(set(re.findall(r"rank (\d) of run (\w+) at (\S+) in (.*)", said)))
uid = json.loads(subprocess.run([PROGRAM, "get", "digits", "-o", "json"], capture_output=True, text=True).stdout)["metadata"]["uid"]
key = f"default/digits/{uid}"
check("submit --local --track", problem((r.returncode, said), 0))
found = runs(key)
check("... there is one run", "" if len(found) == 1 else f"{key}: {found}")
run = found[0] if found else {"id": 0, "params": {}, "tags": {}, "points": {}, "status": 0, "name": 0, "experiment": 0}
where = (run["id"], f"http://127.0.0.1:{proxy.port}", "hand writing")
check("... the trainer has it on all ranks", unlike(ranks, [("0", *where), ("1", *where)]))
check("... its name, experiment and end", unlike((run["name"], run["experiment"], run["status"]), ("digits", "hand writing", "FINISHED")))
check("... its parameters", unlike({**run["params"], "trainjob.processes": "1"}, {
    "trainjob.image": "img:1", "trainjob.nodes": "2", "trainjob.processes": "1", "trainjob.command": f"sh {scratch}/rank.sh"}))
check("... its job", unlike({k: v for k, v in run["tags"].items() if k.startswith("trainjob.")},
                             {"trainjob.namespace": "default", "trainjob.name": "digits", "trainjob.uid": uid}))
base = 1795773600000  # 2026-11-27T10:00:00Z
points = [[i, base + 1000 * i + 100 * i + 25, float(v)] for i, v in enumerate(values)]
check("... exactly the points that it reported", unlike(repr(run["points"].get("loss")), repr(points)))
check("... its progress", unlike(run["points"].get("progress"), [[i, t, 10.0 * i] for i, t, _ in points]))
check("... what it logs itself is in the same run", unlike(run["points"].get("own"), [[7, 1700000000000, 1.5]]))
check("... no secret is shown", "" if SECRET not in said else "it is")


# ---- restarts -----------------------------------------------------------------------------------------------------
def series(*values, first=0):
    return [status(5, f"2026-11-27T10:00:{first + i:02}Z", loss=str(v)) for i, v in enumerate(values)]


def read(*values, first=0):
    return {"loss": [[first + i, base + 1000 * (first + i), float(v)] for i, v in enumerate(values)],
            "progress": [[first + i, base + 1000 * (first + i), 5.0] for i in range(len(values))]}


again = f"[ $KFTRAINER_RESTART = 1 ] || {{ {reports('a', *series(3, 2))}; exit 1; }}; {reports('b', *series(1, 0.5, first=2))}"
check("a restart in place", problem(supervise("a/place/1", "sh", "-c", again, options=["--restarts", "1"]), 0))
check("... goes on in the same run", differs("a/place/1", read(3, 2, 1, 0.5), status="FINISHED"))
check("a job that fails", problem(supervise("a/fails/1", "sh", "-c", reports("c", *series(3, 2)) + "; exit 3"), 3))
check("... its run has failed", differs("a/fails/1", read(3, 2), status="FAILED"))
check("another pod of the same job", problem(supervise("a/fails/1", "sh", "-c", reports("d", *series(1, first=2))), 0))
check("... goes on in the same run", differs("a/fails/1", read(3, 2, 1), status="FINISHED"))


def until(key, done):
    while not done(runs(key)):
        time.sleep(0.05)


def has_run(got):
    return got and got[0]["params"]  # they are written last


def background(key, script, **more):
    words, env = command(key, "sh", "-c", script, **more)
    return subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


process = background("a/lost/1", reports("e", *series(3, 2)) + "; exec sleep 300")
until("a/lost/1", lambda got: got and len(got[0]["points"].get("loss", [])) == 2)
process.kill()
process.communicate()
check("a pod that is lost leaves its run as it is", differs("a/lost/1", read(3, 2), status="RUNNING"))
check("... the next one ends it", problem(supervise("a/lost/1", "sh", "-c", reports("f", *series(1, first=2))), 0) or
      differs("a/lost/1", read(3, 2, 1), status="FINISHED"))
process = background("a/asked/1", "exec sleep 300")
until("a/asked/1", lambda got: got)
process.terminate()
process.communicate()
check("a job that is stopped", differs("a/asked/1", status="KILLED"))
check("a command that does not exist", problem(supervise("a/none/1", "/no/such"), 127) or differs("a/none/1", status="FAILED"))
steps = [{"metrics": [{"name": "global_step", "value": str(n)}, {"name": "loss", "value": "1"}, {"name": "word", "value": "x"}],
          "lastUpdatedTime": "2026-11-27T10:00:00Z"} for n in (100, 200)]
check("a report that names its step", problem(supervise("a/steps/1", "sh", "-c", reports("g", *steps)), 0) or differs(
    "a/steps/1", {"loss": [[100, base, 1.0], [200, base, 1.0]], "global_step": [[100, base, 100.0], [200, base, 200.0]]}))
odd = status(5, "2026-11-27T10:00:00Z", **{"timing(s)/gen": "1", "/x//y/": "2", "..": "3", "..z/.": "7", "sp ace:ok-1.5": "4", "ä%": "5"})
check("names that MLflow does not take", problem(supervise("a/odd/1", "sh", "-c", reports("h", odd)), 0, "^$") or ("" if {
    "timing_s_/gen", "_/x/_/y/_", "_..", "_..z/_.", "sp ace:ok-1.5", "__", "progress"} == set(runs("a/odd/1")[0]["points"]) else runs("a/odd/1")))
many = [status(5, f"2026-11-27T10:{i // 60:02}:{i % 60:02}Z", **{f"m{k}": str(i * k) for k in range(60)}) for i in range(40)]
check("2,440 points in one go", problem(supervise("a/many/1", "sh", "-c", reports("i", *many)), 0) or (
    "" if sum(map(len, runs("a/many/1")[0]["points"].values())) == 2440 else "some are missing"))

# ---- a server that is away: test_registry.py kills it ---------------------------------------------------------------
go = scratch / "go"


def said(process, like):
    """What it says until that line."""
    text = ""
    for line in process.stdout:
        text += line
        if re.search(like, line):
            break
    return text


process = background("b/away/1", f"{reports('j', *series(3))}; until [ -e {go}.1 ]; do sleep 0.05; done; "
                                 f"{reports('k', *series(2, 1, first=1))}; until [ -e {go}.2 ]; do sleep 0.05; done")
until("b/away/1", lambda got: got and len(got[0]["points"].get("loss", [])) == 1)
proxy.fault = lambda method, path: "away"
pathlib.Path(f"{go}.1").touch()
out = said(process, "the job goes on, and [24] points wait$")
proxy.fault = None
out += said(process, "tracking goes on$")
until("b/away/1", lambda got: len(got[0]["points"]["loss"]) == 3)
pathlib.Path(f"{go}.2").touch()
out += process.stdout.read()
check("a server that is away, and comes back", problem((process.wait(), out), 0, "^.*the job goes on, and [24] points wait\n(.*points wait\n)*.*tracking goes on\n$"))
check("... nothing is lost", differs("b/away/1", read(3, 2, 1), status="FINISHED"))

process = background("b/late/1", f"until [ -e {go}.3 ]; do sleep 0.05; done; {reports('n', *series(3, 2))}")
until("b/late/1", has_run)
proxy.fault = lambda method, path: "away"
pathlib.Path(f"{go}.3").touch()
out = said(process, "the job's end and 4 points wait$")
check("one that is away when the job ends", unlike(process.poll(), None))
proxy.fault = None
check("... and comes back: the job has waited", problem((process.wait(), out + process.stdout.read()), 0, "tracking goes on\n$") or
      differs("b/late/1", read(3, 2), status="FINISHED"))

process = background("b/never/1", f"until [ -e {go}.4 ]; do sleep 0.05; done; {reports('o', *series(3, 2))}",
                     options=["--run-dir", f"file://{scratch}/run"])
until("b/never/1", has_run)
proxy.fault = lambda method, path: "away"
pathlib.Path(f"{go}.4").touch()
out = said(process, "the job's end and 4 points wait$")
process.terminate()
out += process.stdout.read()
check("... or does not before somebody ends the wait: what is lost is said, and where it is kept", problem(
    (process.wait(), out), 0, f"not sent: the job's end, 4 points; kept in file://{scratch}/run\n$"))
proxy.fault = None
check("... its run stays as it is", differs("b/never/1", {}, status="RUNNING"))
kept = [json.loads(line) for line in (scratch / "run/attempts/1/metrics.jsonl").read_text().splitlines()]
check("... the run directory has its reports", unlike([line["metrics"] for line in kept], [[{"name": "loss", "value": v}] for v in ("3", "2")]))
left = iter(range(3))
proxy.fault = lambda method, path: "refuse" if next(left, None) is not None else None
check("a server that is busy at the start", problem(supervise("b/busy/1", "sh", "-c", '[ "$MLFLOW_RUN_ID" ]'), 0) or differs("b/busy/1", status="FINISHED"))
lost = set()
proxy.fault = lambda method, path: "lose" if path not in lost and not lost.add(path) else None
check("each answer is lost once", problem(supervise("b/lost/1", "sh", "-c", reports("l", *series(3, 2))), 0))
check("... each point is there once", differs("b/lost/1", read(3, 2), status="FINISHED"))
proxy.fault = None
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    got = list(pool.map(lambda n: supervise("b/race/1", "sh", "-c", "echo run $MLFLOW_RUN_ID", to="race"), range(4)))
check("four at once: one experiment, one run", differs("b/race/1", experiment="race") or (
    "" if len({text for _, text in got}) == 1 else got))

# ---- what is refused: the job goes on -----------------------------------------------------------------------------
check("no server", problem(supervise("c/none/1", "echo", "trained", to="mlflow+http://127.0.0.1:1/x"), 0,
                           "(?s)^trained\n.*refused.*the job goes on, and 0 points wait\n.*not sent: the job's end, 0 points\n$"))
for what, fault, like in (("a page in place of an answer", "text", "the answer is not a JSON object"),
                          ("a redirect", "move", "redirects to another address")):
    proxy.fault = lambda method, path: fault
    check(what, problem(supervise("c/bad/1", "echo", "trained"), 0, f"(?s)^trained\n.*{like}.*the job goes on"))
proxy.fault = None
check("wrong credentials", problem(supervise("c/bad/1", "echo", "trained", env={"MLFLOW_TRACKING_PASSWORD": "wrong"}), 0,
                                   "(?s)^trained\n.*status 401, the credentials are not accepted"))
runs("", forget="forgotten")
check("an experiment that is deleted", problem(supervise("c/bad/1", "echo", "trained", to="forgotten"), 0,
                                               "(?s)^trained\n.*the experiment 'forgotten' is deleted: restore it"))
check("... none of these made a run", "" if not runs("c/bad/1") else runs("c/bad/1"))
name = "odd náme/100% 'of' \"it\""
check("an experiment with an odd name", problem(supervise("c/odd/1", "true", to="odd%20n%C3%A1me%2F100%25%20'of'%20%22it%22"), 0) or
      differs("c/odd/1", experiment=name))
process = background("c/gone/1", f"until [ -e {go}.5 ]; do sleep 0.05; done; {reports('m', *series(3))}; sleep 2")
until("c/gone/1", has_run)
runs("", delete=runs("c/gone/1")[0]["id"])
pathlib.Path(f"{go}.5").touch()
out = process.communicate()[0]
check("a run that somebody deletes", problem((process.returncode, out), 0, "the run \\w+ is deleted; nothing more is tracked\n"))
check("... is not made again", "" if not runs("c/gone/1") else runs("c/gone/1"))

for what, uri in (("a password in the URI", "mlflow+http://u:{}@h/x"), ("no experiment", "mlflow+http://h"),
                  ("a model registry", "model-registry://h/x"), ("a query", "mlflow+http://h/x?token={}")):
    check(f"{what}: refused", problem(supervise("d/x/1", "true", to=uri.format(SECRET)), 2, "--track: "))
    r = subprocess.run([PROGRAM, "submit", "--local", "--runtime", "torch-distributed", "--track", uri.format(SECRET), "--", "true"],
                       capture_output=True, text=True)
    check("... by submit, too", problem((r.returncode, r.stdout + r.stderr), 2, "kftrainer.io/track: expected mlflow") or (
        "A SECRET WAS SHOWN" if SECRET in r.stderr else ""))
finish()
