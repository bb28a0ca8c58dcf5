#!/usr/bin/env python3
"""runs, and logs, why, get and events --from: what a job left in its run directory is read as the job was, after its own
state is gone; from a folder and from a bucket; damaged and hostile run directories are one line."""
import html
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path[:0] = [str(p) for p in pathlib.Path(__file__).resolve().parents[:2]]
sys.dont_write_bytecode = True
from servers import PROGRAM, ROOT, answers, clean_environ, free_port, scratch, start, versitygw
from tap import check, finish, skip

SECRET = "the-Secret-of-the-tests"
gateway = versitygw()
subprocess.run(["make", "-s", "-C", ROOT, "build/kftrainer-shifted"], check=True, stdout=sys.stderr)
clean_environ("AWS_")
tmp = scratch / "tmp"
tmp.mkdir()
os.environ.update(HOME=str(scratch), XDG_STATE_HOME=str(scratch / "state"), TMPDIR=str(tmp))


def run(*argv, code=0, env=()):
    done = subprocess.run([PROGRAM, *map(str, argv)], capture_output=True, text=True, errors="replace", timeout=300, env=os.environ | dict(env))
    return done if done.returncode == code else SystemExit(f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}")


def out(*argv, **how):
    done = run(*argv, **how)
    return str(done) if isinstance(done, SystemExit) else done.stdout


def same(what, found, wanted):
    check(what, "" if found == wanted else f"found:\n{found}\nwanted:\n{wanted}")


def has(what, text, *wanted):
    check(what, "".join(f"no {word!r} in:\n{text}\n" for word in wanted if word not in text))


# ---- two jobs: one fails on rank 1 after it has reported, one succeeds ----------------------------------------------
(scratch / "train.py").write_text("""
import json, os, ssl, sys, time, urllib.request
rank = int(os.environ["PET_NODE_RANK"])
for step in range(3):
    print("step", step, "of rank", rank, flush=True)
if rank == 0:
    token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
    context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
    for step in (1, 2, 3):
        body = {"trainerStatus": {"progressPercentage": 40, "metrics": [{"name": "loss", "value": str(0.75 / step)}, {"name": "step", "value": str(step)}],
                                  "lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}
        request = urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps(body).encode(),
                                         {"Authorization": "Bearer " + token, "Content-Type": "application/json"}, method="POST")
        print("reported", urllib.request.urlopen(request, context=context).status, flush=True)
    time.sleep(1)
if rank == 1 and "fail" in sys.argv:
    time.sleep(3)
    print("ValueError: the loss is not finite", file=sys.stderr)
    sys.exit(3)
time.sleep(2)
""")
runs = scratch / "runs"


def submit(name, *args, code=0):
    return run("submit", "--local", "-q", "--run-dir", f"file://{runs}/{name}", "--name", name, "--runtime", "torch-distributed", "--nodes", 2,
               "--", "python3", scratch / "train.py", *args, code=code)


for name, args, code in (("bad", ["fail"], 3), ("good", [], 0)):
    done = submit(name, *args, code=code)
    check(f"a job with a run directory: {name}", str(done) if isinstance(done, SystemExit) else "")


def story(text):
    """What both tell: not the pods' names, their node, or when."""
    return re.sub(r"-run\b|-[a-z0-9]{5}\b| on node \S+|--from \S+|--local \S+ -n default| [0-9.]+s\b", "", text)


before = {(verb, name): out(verb, "--local", name) for verb in ("logs", "why") for name in ("bad", "good")}
states = {name: json.loads(out("get", "--local", name, "-o", "json"))["status"] for name in ("bad", "good")}
done = run("submit", "--local", "-q", "--run-dir", f"file://{scratch}/quiet", "--name", "quiet", "--runtime", "torch-distributed", "--nodes", 2,
           "--", "sh", "-c", "[ $PET_NODE_RANK = 0 ] || echo one line")
check("a job with a node that writes nothing", str(done) if isinstance(done, SystemExit) else "")
shutil.rmtree(scratch / "state")
same("... its logs", out("logs", "--from", f"file://{scratch}/quiet"), "[node-1] one line\n")

# ---- after its state is gone ------------------------------------------------------------------------------------------
for name in ("bad", "good"):
    uri = f"file://{runs}/{name}"
    same(f"{name}: logs --from has what logs had", sorted(out("logs", "--from", uri).splitlines()), sorted(before["logs", name].splitlines()))
    same(f"... of one rank", out("logs", "--from", uri, "--rank", 1), "".join(
        line.split(" ", 1)[1] + "\n" for line in before["logs", name].splitlines() if line.startswith("[node-1]")))
    same(f"... its last line", out("logs", "--from", uri, "--rank", 1, "--tail", 1).count("\n"), 1)
    status = json.loads(out("get", "--from", uri, "-o", "json"))["status"]
    same(f"... get: the conditions", [(c["type"], c["status"], c["reason"]) for c in status["conditions"]],
         [(c["type"], c["status"], c["reason"]) for c in states[name]["conditions"] if c["type"] in ("Failed", "Complete")])
    same(f"... and what it reported", [status["trainerStatus"][key] for key in ("progressPercentage", "metrics")],
         [states[name]["trainerStatus"][key] for key in ("progressPercentage", "metrics")])
    has(f"... events", out("events", "--from", uri), "attempt 1", f"trainjob/{name}")
has("why --from: the first failure", out("why", "--from", f"file://{runs}/bad"), "bad has failed: the first failure is that of node-1 (node rank 1)",
    "container node ended with exit code 3", "ValueError: the loss is not finite", f"kftrainer logs bad --from file://{runs}/bad")
has("... which `why` had named, too", before["why", "bad"], "the first failure is that of node-1 (node rank 1)", "exit code 3", "ValueError: the loss is not finite")
has("why --from: of one that succeeded", out("why", "--from", f"file://{runs}/good"), "good completed")
same("get --from: the table", re.sub(r" +", " ", out("get", "--from", f"file://{runs}/bad", "-o", "wide").splitlines()[1]).split(" ")[:4],
     ["bad", "Failed", "torch-distributed", "2"])
same("nothing is left in TMPDIR", os.listdir(tmp), [])
same("... nor in the state directory", (scratch / "state").exists(), False)

# ---- runs ----------------------------------------------------------------------------------------------------------------
table = out("runs", f"file://{runs}").splitlines()
same("runs: the newest first", [row.split()[1:3] for row in table[1:]], [["good", "Succeeded"], ["bad", "Failed"]])
has("... what they reported last", table[2], "40%", "loss 0.25")
listed = json.loads(out("runs", f"file://{runs}", "-o", "json"))
same("... as JSON", [(one["name"], one["uri"], one["metrics"][0]["value"]) for one in listed],
     [("good", f"file://{runs}/good", "0.25"), ("bad", f"file://{runs}/bad", "0.25")])
same("... of one run", [row.split()[1] for row in out("runs", f"file://{runs}/bad").splitlines()[1:]], ["bad"])

# ---- from a bucket -----------------------------------------------------------------------------------------------------------
if gateway:
    port = free_port()
    shutil.copytree(runs, scratch / "s3/buck/runs")
    answers(*start(port, gateway, "--access", "kft", "--secret", SECRET, "--region", "us-east-1", "--port", f"127.0.0.1:{port}", "--quiet",
                   "--access-log", str(scratch / "requests"), "posix", str(scratch / "s3")))
    keys = {"ENDPOINT": f"http://127.0.0.1:{port}", "ACCESS_KEY_ID": "kft", "SECRET_ACCESS_KEY": SECRET}
    same("s3: logs --from", sorted(out("logs", "--from", "s3://buck/runs/bad", env=keys).splitlines()), sorted(before["logs", "bad"].splitlines()))
    (scratch / "requests").write_text("")
    same("s3: runs", [row.split()[1] for row in out("runs", "s3://buck/runs", env=keys).splitlines()[1:]], ["good", "bad"])
    same("... by a listing, and one request for each", sorted(word for line in (scratch / "requests").read_text().splitlines() for word in line.split()
         if word.startswith("s3_")), ["s3_GetObject", "s3_GetObject", "s3_ListObjectsV2"])
    denied = run("logs", "--from", "s3://buck/runs/bad", code=1, env=keys | {"SECRET_ACCESS_KEY": "a-wrong-Secret"})
    check("s3: a wrong secret is one line, without it", str(denied) if isinstance(denied, SystemExit) else
          "" if denied.stderr.count("\n") == 1 and "a-wrong-Secret" not in denied.stderr else denied.stderr)
else:
    skip("from a bucket", "versitygw is not installed: tests/setup.sh store")

# ---- several at once, and the page of them -----------------------------------------------------------------------------------
class Page:
    """`ui --from` of a URI."""

    def __init__(self, uri, env=()):
        self.process = subprocess.Popen([PROGRAM, "ui", "--from", uri], env=os.environ | dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.port, self.cookie = self.url.split("/")[2], ""
        self.cookie = self.ask("/?" + self.url.partition("/?")[2])[1]["Set-Cookie"].split(";")[0]

    def open(self, path, method="GET"):
        c = http.client.HTTPConnection(self.port)
        c.request(method, path, headers={"Cookie": self.cookie, "Origin": "http://" + self.port})
        return c.getresponse()

    def ask(self, path, method="GET"):
        answer = self.open(path, method)
        return answer.status, answer.headers, answer.read().decode()

    def text(self, path):
        return html.unescape(re.sub(r"<[^>]*>", "", self.ask(path)[2]))

    def points(self, key, metric):
        """What is plotted: [step, value] of each."""
        for line in self.open("/stream?plot=" + key):
            if line.startswith(b"data: [") and json.loads(line[6:])[1] == metric:
                return [point[1:] for point in json.loads(line[6:])[3]]
            if line == b"event: mark\n":  # all of them have come
                return None
        return None

    def end(self):
        self.process.terminate()
        return self.process.communicate()[1].splitlines()[:-1]


def without_ages(text):
    return re.sub(r"\b(\d+[smhd])+\b", "AGE", text)


def look(what, uri, names, env=()):
    page = Page(uri, env)
    listed = page.text("/")
    check(f"{what}: the list", next((f"no {name} in {listed}" for name in names if name not in listed), ""))
    for name, run in names.items():
        key = f"default/{name}"
        shown = page.text("/jobs/" + key)
        has(f"{what}: {name}: what why says", without_ages(shown), without_ages(out("why", name, "--from", uri, env=env).splitlines()[0]))
        same("... its log", sorted(page.ask("/log?job=" + key)[2].splitlines()),
             sorted(re.sub(r"^\[([^]]*)\]", r"\1", line) for line in out("logs", name, "--from", uri, env=env).splitlines()))
        has("... of which the page has the last lines", shown, "step 2 of rank 0", "step 2 of rank 1")
        same("... its losses, from its first report on", page.points(key, "loss"), [[1, 0.75], [2, 0.375], [3, 0.25]])
        check("... with what it took", "" if re.search(r"Supervision.*GOODPUT.*productive \d+s", shown, re.S) else shown)
        check("... a run of the past cannot be changed", "" if "Delete" not in shown else shown)
    same("... by nobody", [page.ask(f"/jobs/default/{name}/delete", method)[0] for name in names for method in ("GET", "POST")], [404, 405] * len(names))
    same("... and nothing is said", page.end(), [])
    same("... or left", os.listdir(tmp), [])


look("the page of a run", f"file://{runs}/bad", {"bad": "bad"})
look("the page of several runs", f"file://{runs}", {"bad": "bad", "good": "good"})
if gateway:
    look("the page of runs in a bucket", "s3://buck/runs", {"bad": "bad", "good": "good"}, keys)
twice = scratch / "twice"
for name in ("first/Run_1", "second/Run_1"):
    shutil.copytree(runs / "bad", twice / name)
shutil.copytree(runs / "good", twice / "good")
look("of one name", f"file://{twice}", {"bad.first-run-1": "bad", "bad.second-run-1": "bad", "good": "good"})
long = scratch / "long"
for name in ("a", "b"):
    shutil.copytree(runs / "bad", long / name)
    report = json.loads((long / name / "report.json").read_text())
    (long / name / "report.json").write_text(json.dumps(report | {"name": ".".join(["a" * 63] * 3 + ["a" * 60])}))
look("of one name with no room for more", f"file://{long}", {"run.2": "bad", "run.3": "bad"})
has("of several runs logs asks which", str(run("logs", "--from", f"file://{twice}", code=2)), "has 3 runs: specify a job, or list them with 'kftrainer runs'")
(twice / "first/Run_1/report.json").write_text("{")
log = twice / "second/Run_1/attempts/1/logs/1.log.zst"
log.write_bytes(log.read_bytes()[:-3])
page = Page(f"file://{twice}")
has("a log that is cut off: the page says which", page.text("/jobs/default/bad"), "attempts/1/logs/1.log.zst", "step 2 of rank 0")
has("... again", page.text("/jobs/default/bad"), "attempts/1/logs/1.log.zst", "step 2 of rank 0")
has("... others are as they were", page.text("/jobs/default/good"), "step 2 of rank 1")
said = page.end()
check("a run that cannot be read is one line", "" if len(said) == 1 and f"file://{twice}/first/Run_1: report.json: 1:" in said[0] else f"{said}")

# ---- submit --resume: the same job and code, from its newest checkpoint ----------------------------------------------------
(scratch / "code").mkdir()
(scratch / "code/again.py").write_text("""
import os, sys
directory, resumed = os.environ["KFTRAINER_CHECKPOINT_DIR"], os.environ.get("KFTRAINER_RESUME_FROM", "")
print("from", os.path.basename(resumed), *sys.argv[1:], os.environ["SOME_TOKEN"], "of", os.environ["PET_NNODES"], flush=True)
os.makedirs(directory + "/.new")
open(directory + "/.new/state", "w").close()
os.rename(directory + "/.new", f"{directory}/checkpoint-{len(sys.argv)}")
sys.exit("ok" not in sys.argv)
""")
again = f"file://{scratch}/again"
done = run("submit", "--local", "-q", "--run-dir", again, "--name", "first", "--workspace", scratch / "code", "--runtime", "torch-distributed", "--nodes", 2,
           "--env", "SOME_TOKEN=t0p", "--", "python3", "again.py", "one", code=1)
check("a job that fails after a checkpoint", str(done) if isinstance(done, SystemExit) else "")
docs = (scratch / "again/job.yaml").read_text().split("---\n")
check("job.yaml: as submitted, and as stored", "" if len(docs) == 2 and all("name: first" in d and "SOME_TOKEN" in d and "t0p" not in d for d in docs)
      and "managedBy" not in docs[0] and "managedBy" in docs[1] else str(docs))


def resumes(what, wanted, *argv, code=0):
    done = run("submit", "--local", "--resume", again, *argv, code=code)
    has(what, str(done) if isinstance(done, SystemExit) else done.stdout + done.stderr, *wanted)
    return str(done)


resumes("--resume: a value that is not stored is named", ["values of secrets are not stored; pass SOME_TOKEN with --env NAME"], code=2)
resumes("--resume: the same job, its code, the arguments appended", ["[node-0] from checkpoint-2 one ok t1 of 2", "[node-1] from checkpoint-2 one ok t1 of 2"],
        "--env", "SOME_TOKEN=t1", "--", "ok")
resumes("... of another size and name", ["from checkpoint-3 one ok more t2 of 1"], "--env", "SOME_TOKEN=t2", "--nodes", 1, "--name", "other", "--", "more")
same("... it is that job's now", [row.split()[1:3] for row in out("runs", again).splitlines()[1:]], [["other", "Succeeded"]])
for what, wanted, argv in (("a file", "--resume cannot be combined with a file", ["job.yaml"]), ("a runtime", "cannot be combined with --runtime", ["--runtime", "x"]),
                           ("another run directory", "cannot be combined with --run-dir", ["--run-dir", again])):
    resumes(f"--resume and {what}", [wanted], *argv, code=2)
kept = (scratch / "again/report.json").read_text()
(scratch / "again/report.json").write_text(json.dumps(json.loads(kept) | {"status": "Running", "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}))
resumes("--resume: a run that goes on is refused", ["TrainJob other still runs there"], "--env", "SOME_TOKEN=t3", code=1)
(scratch / "again/report.json").write_text(kept)
(scratch / "again/code.tar.zst").unlink()
resumes("--resume without the code", ["pass it with --workspace DIR"], "--env", "SOME_TOKEN=t3", code=2)
resumes("... which is given", ["from checkpoint-4 one ok more last t4 of 1"], "--env", "SOME_TOKEN=t4", "--workspace", scratch / "code", "--", "last")
(scratch / "again/job.yaml").unlink()
resumes("--resume without job.yaml", ["it has no job.yaml", "--annotation kftrainer.io/resume=true"], "--env", "SOME_TOKEN=t5", code=1)

# ---- damaged and hostile ---------------------------------------------------------------------------------------------------


def refused(what, word, change, *argv, name="bad", code=2):
    folder = scratch / "hostile"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(runs / name, folder)
    change(folder)
    done = run(*(argv or ("logs", "--from", f"file://{folder}")), code=code)
    check(f"{what}: one line", str(done) if isinstance(done, SystemExit) else
          "" if done.stderr.count("\n") == (2 if "Try 'kftrainer" in done.stderr else 1) and word in done.stderr else f"{done.stderr!r} {done.stdout[:500]!r}")


def report(**members):
    def change(folder):
        found = json.loads((folder / "report.json").read_text())
        (folder / "report.json").write_text(json.dumps(found | members))
    return change


def text(path, content):
    return lambda folder: (folder / path).write_bytes(content)


refused("no run directory", "it has no report.json", lambda folder: (folder / "report.json").unlink(), code=1)
refused("report.json is no JSON", "report.json: 1:", text("report.json", b"{"))
refused("report.json is a list", "report.json", text("report.json", b"[]"))
refused("a name that leaves the directory", "it has no name of a TrainJob", report(name="../../x"))
refused("a namespace that does", "it has no name of a TrainJob", report(namespace="../x"))
refused("a name with an escape", "it has no name of a TrainJob", report(name="\x1b[2J"))
refused("a billion nodes", "nodes: expected 1 to 10000", report(nodes=10 ** 9))
refused("a status of a later release", "status: expected", report(status="Dreaming"))
refused("a later layout", "layout 99 is of a newer kftrainer", report(layout=99))
refused("job.yaml is no YAML", "job.yaml: ", text("job.yaml", b"a: [b"))
refused("job.yaml is a Pod", "job.yaml: expected a TrainJob", text("job.yaml", b"apiVersion: v1\nkind: Pod\n"))
whole = run("logs", "--from", f"file://{runs}/bad").stdout.splitlines()
for what, change in {
    "a log that is cut off": lambda folder: (folder / "attempts/1/logs/0.log.zst").write_bytes((folder / "attempts/1/logs/0.log.zst").read_bytes()[:-3]),
    "a log of which a byte is another": lambda folder: (folder / "attempts/1/logs/0.log.zst").write_bytes(
        (lambda b: b[:20] + bytes([b[20] ^ 1]) + b[21:])((folder / "attempts/1/logs/0.log.zst").read_bytes())),
    "a log that is no zstd": text("attempts/1/logs/0.log.zst", b"plain text\n"),
}.items():
    refused(what, "logs/0.log.zst", change, code=1)
    lines = run("logs", "--from", f"file://{scratch}/hostile", code=1).stdout.splitlines()
    of = lambda rank, lines: [line for line in lines if line.startswith(f"[node-{rank}] ")]
    check(f"... {what}: the others are whole", "" if of(1, lines) == of(1, whole) != [] else f"{lines}")
    check("... and it says itself where it ends", "" if re.match(r"\[node-0\] kftrainer: the rest of attempts/1/logs/0\.log\.zst is damaged: zstd: ",
                                                             of(0, lines)[-1]) else f"{lines}")
    refused("... which why says, too, and answers", "logs/0.log.zst", change, "why", "--from", f"file://{scratch}/hostile", code=1)
    check("... with what it knows", "" if "failed" in run("why", "--from", f"file://{scratch}/hostile", code=1).stdout else "no answer")
refused("--from and --local", "cannot be combined", lambda folder: None, "logs", "--local", "--from", f"file://{scratch}/hostile")
refused("--from and -f", "cannot be followed", lambda folder: None, "logs", "-f", "--from", f"file://{scratch}/hostile")
refused("--from and -A", "--from cannot be combined with --all-namespaces", lambda folder: None, "get", "-A", "--from", f"file://{scratch}/hostile")
refused("--from and -l", "--from cannot be combined with --selector", lambda folder: None, "get", "-l", "a=b", "--from", f"file://{scratch}/hostile")
refused("... events", "--from cannot be combined with --all-namespaces", lambda folder: None, "events", "-A", "--from", f"file://{scratch}/hostile")
refused("a name of another job", "no TrainJob other", lambda folder: None, "get", "other", "--from", f"file://{scratch}/hostile", code=1)
refused("... which why would name with a command that works", f"list its jobs with 'kftrainer get --from file://{scratch}/hostile'", lambda folder: None,
        "why", "other", "--from", f"file://{scratch}/hostile", code=1)
refused("an unknown scheme", "ftp", lambda folder: None, "runs", "ftp://x/y")


def large(folder, size):
    for i in range(3):
        with open(folder / f"attempts/1/{'logs/0.' if size else 'events.'}{i + 50}.{'log.zst' if size else 'jsonl'}", "wb") as f:
            f.truncate(6 << 30)


refused("18 GiB of lines", "attempts: the files have more than 17179869184 bytes", lambda folder: large(folder, False), "get", "--from",
        f"file://{scratch}/hostile")
refused("18 GiB of logs", "attempts: the files have more than 17179869184 bytes", lambda folder: large(folder, True))
same("... of which nothing is left in TMPDIR", os.listdir(tmp), [])


def odd(folder):
    (folder / "attempts/1/logs/..log.zst").write_bytes(b"x")
    (folder / "attempts/1/logs/99999999999999999999.log.zst").write_bytes(b"x")
    (folder / "attempts/notes").mkdir()
    (folder / "attempts/notes/events.jsonl").write_text("{}")
    (folder / "attempts/1/events.9.jsonl").write_text('not JSON\n{"time": 1}\n{"time": "2099-01-01T00:00:00.5Z", "reason": "Odd", "message": "\\u001b[2J<b>"}\n')
    (folder / "attempts/1/metrics.9.jsonl").write_text('{"progressPercentage": "many", "metrics": 7}\n')
    os.symlink("/etc/passwd", folder / "attempts/1/logs/7.log.zst")


folder = scratch / "hostile"
shutil.rmtree(folder)
for i in range(7):
    shutil.copytree(runs / "bad", folder / f"{i}")
    report(nodes=10000, name=f"n{i}")(folder / f"{i}")
page = Page(f"file://{folder}")
has("70,000 nodes: the first 50,000", page.text("/"), *(f"n{i}" for i in range(5)))
has("... a run that has more is left out, and named", "\n".join(page.end()), f"{folder}/6: the runs have more than 50000 nodes")
shutil.rmtree(folder)
shutil.copytree(runs / "bad", folder)
odd(folder)
same("files with other names are left out", out("logs", "--from", f"file://{folder}").count("step 0"), 2)
has("... lines that are no events, too", out("events", "--from", f"file://{folder}"), "Odd")
check("... and escapes are spelled out", "\x1b" in out("events", "--from", f"file://{folder}") and "there is one" or "")
has("... metrics of another shape", out("get", "--from", f"file://{folder}"), "bad")
many = [{"name": f"m{i}", "value": "1"} for i in range(10000)]
(folder / "attempts/1/metrics.10.jsonl").write_text("".join(json.dumps({"time": "2099-01-01T00:00:00Z", "metrics": metrics}) + "\n" for metrics in (
    many, many[:20], [{"name": "loss", "value": 1}, {"name": 7, "value": "8"}, "a", None, {"name": "<b>", "value": "NaN"}])) + "half a line")
page = Page(f"file://{folder}")
body = page.ask("/jobs/default/bad")[2]
check("the page of it has text alone", "" if "<td><bdi>\ufffd[2J&lt;b&gt;</bdi>" in body and "<b>" not in body.partition("<h2>Log")[0] else body)
same("... and what it has read of the metrics", [page.points("default/bad", name) for name in ("loss", "<b>", "m0")],
     [[[1, 0.75], [2, 0.375], [3, 0.25], [None, None]], [[None, None]], [[None, 1]]])
page.end()

# ---- one that goes on, one that was lost ---------------------------------------------------------------------------------
now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
report(status="Running", ended=None, why=None, exit=None, updated=now)(folder)
has("a run that goes on is Running", out("get", "--from", f"file://{folder}"), "Running")
has("... so says runs", out("runs", f"file://{folder}"), "Running")
report(updated="2026-01-01T00:00:00Z")(folder)
has("one whose supervisor is silent was lost", out("runs", f"file://{folder}"), "Lost")
has("... why says since when", out("why", "--from", f"file://{folder}"), "bad has failed: its supervisor was last heard of at 2026-01-01T00:00:00Z")
report(status="Stopped", why="the command ended with status 143", exit=143,
       supervision={"restarts": 0, "lost": 1, "stalls": 0, "failed": {"rank": 0, "status": 143}, "since": 1, "at": 2, "seconds": dict.fromkeys(
           ("queued", "starting", "productive", "stalled", "repeated", "restarting"), 1)})(folder)
stopped = out("why", "--from", f"file://{folder}")
has("one that was stopped", stopped, "bad has failed: it was stopped by a signal: the command ended with status 143. Also: ")
same("... no rank ended its last restart: there was none", "the last one" in stopped, False)
same("... nor was one killed", "it was killed" in stopped, False)
report(status="Failed", why="the command ended with status 137", exit=1,
       supervision={"restarts": 0, "lost": 0, "stalls": 0, "failed": {"rank": 1, "status": 137}, "since": 1, "at": 2, "seconds": dict.fromkeys(
           ("queued", "starting", "productive", "stalled", "repeated", "restarting"), 1)})(folder)
has("a rank that was killed, whose pod ended with 1", out("why", "--from", f"file://{folder}"), "Also: rank 1 ended with status 137: it was killed, as when memory")

# ---- ... by the bucket's clock, whatever those of its writer and reader say ------------------------------------------------
if gateway:
    bucket, clock = scratch / "s3/buck/clock", scratch / "clock"
    PROGRAM, keys = str(ROOT / "build/kftrainer-shifted"), keys | {"SHIFTED_CLOCK": str(clock)}

    def status():
        return out("runs", "s3://buck/clock", env=keys).split("\n", 1)[1].split()[2]

    for seconds in (-400, 0, 400):
        clock.write_text(str(seconds))
        for changed in (0, 400):
            report(status="Running", ended=None, why=None, exit=None, updated=now if changed else "2026-01-01T00:00:00Z")(folder)
            shutil.copytree(folder, bucket, dirs_exist_ok=True)
            os.utime(bucket / "report.json", (time.time() - changed,) * 2)
            same(f"s3: written {changed} s ago, a clock that is {seconds} s off", status(), "Lost" if changed else "Running")
            if not changed:
                done = run("submit", "--local", "--resume", "s3://buck/clock", code=1, env=keys)
                has("... --resume is refused", str(done) if isinstance(done, SystemExit) else done.stderr, "still runs there")

# ---- the clock is set back while a job runs: certificates of its servers are valid, still --------------------------------------
PROGRAM, clock = str(ROOT / "build/kftrainer-shifted"), scratch / "back"
clock.write_text("0")
done = run("submit", "--local", "-q", "--supervise", "--name", "back", "--runtime", "torch-distributed", "--", "sh", "-c", f"echo -172800 >{clock}; sleep 2",
           env={"SHIFTED_CLOCK": str(clock)})
check("a job whose clock is set back by two days", str(done) if isinstance(done, SystemExit) else "")
stored = out("get", "--local", "back", "-o", "wide").splitlines()[1].split()[9:12]
same("... what its supervisor told is stored", [*stored[:2], stored[2][-1:]], ["0", "0", "%"])
finish()
