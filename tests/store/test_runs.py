#!/usr/bin/env python3
"""runtime supervise --run-dir: logs, metrics and checkpoints are in a bucket and in a folder; a job continues from the
newest complete checkpoint; damage, other jobs, a server that is gone, kills."""
import collections
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path[:0] = [str(p) for p in pathlib.Path(__file__).resolve().parents[:2]]
sys.dont_write_bytecode = True
import faulty
from hub_put import TOKEN, Hub
from servers import PROGRAM, ROOT, answers, children, clean_environ, free_port, scratch, start, versitygw
from supervised import LIMIT_S, Supervised, differ
from tap import check, finish, skip

SECRET = "the-Secret-of-the-tests"
gateway = versitygw()
if not gateway:
    skip("run directories", "versitygw is not installed: tests/setup.sh store")
    finish()
clean_environ("AWS_")
subprocess.run(["make", "-s", "-C", ROOT, "build/kftrainer-shifted"], check=True, stdout=sys.stderr)
os.environ.update(HOME=str(scratch), XDG_STATE_HOME=str(scratch / "state"))
(scratch / "s3/buck").mkdir(parents=True)
KEY = scratch / "key"
subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-out", KEY], check=True, capture_output=True)


def server(port):
    return start(port, gateway, "--access", "kft", "--secret", SECRET, "--region", "us-east-1", "--port",
                 f"127.0.0.1:{port}", "--quiet", "--access-log", str(scratch / "requests"), "posix", str(scratch / "s3"))


def requests():
    """Since the last call: what was asked of the server, and for which key."""
    lines = [line.partition("] ")[2].split() for line in (scratch / "requests").read_text().splitlines()]
    (scratch / "requests").write_text("")
    return [(line[3], line[4]) for line in lines if len(line) > 4]


port = free_port()
answers(*server(port))
ENV = {"ENDPOINT": f"http://127.0.0.1:{port}", "ACCESS_KEY_ID": "kft", "SECRET_ACCESS_KEY": SECRET}

# ---- what runs: counts steps, saves as the Trainer does, and fails as it is told ------------------------------------
(scratch / "train.py").write_text("""
import json, os, sys, time
directory, resumed = os.environ["KFTRAINER_CHECKPOINT_DIR"], os.environ.get("KFTRAINER_RESUME_FROM")
last, every, wait, fail = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
rank = os.environ.get("JOB_COMPLETION_INDEX", "0")
step = json.load(open(resumed + "/trainer_state.json"))["step"] if resumed else 0
print("from", step, sorted(n for n in os.listdir(resumed) if n[0] != ".") if resumed else "", flush=True)
while step < last:
    step += 1
    time.sleep(wait)
    print("step", step, flush=True)
    if step % every == 0:
        path = f"{directory}/checkpoint-{step}"
        os.makedirs(path, exist_ok=True)
        with open(f"{path}/weights {rank}.bin", "wb") as f:
            f.write(str(step).encode() * 100000)
        if rank == "0" or "each" in fail:
            with open(f"{path}/trainer_state.json", "w") as f:
                json.dump({"step": step}, f)
    if str(step) in fail and os.environ["KFTRAINER_RESTART"] == "0":
        while not os.path.exists(fail[-1]):
            time.sleep(0.05)
        sys.exit(7)
""")


def job(name, uid):
    return json.dumps({"kind": "TrainJob", "metadata": {"name": name, "namespace": "default", "uid": uid}})


class Run(Supervised):
    """A supervisor, or one of several."""

    def __init__(self, uri, ck, *train, options=(), env=(), rank=None, uid="u1", command=None, program=PROGRAM):
        argv = [program, "runtime", "supervise", "--message", "/dev/null", "--run-dir", uri, "--run-job", job("a", uid),
                *options]
        if rank is not None:
            argv += ["--ranks", "2", "--rank", str(rank), "--hub", "127.0.0.1", "--port", str(Run.port), "--key", str(KEY)]
        self.ck = scratch / ck
        super().__init__([*argv, "--", *(command or [sys.executable, str(scratch / "train.py"), *map(str, train)])],
                         ENV | {"KFTRAINER_CHECKPOINT_DIR": str(self.ck), "JOB_COMPLETION_INDEX": str(rank or 0)} | dict(env))


def until(condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def folder(name):
    return scratch / "s3/buck" / name


def log(place, attempt, rank=0):
    parts = [place / f"attempts/{attempt}/logs/{rank}{n}.log.zst" for n in ["", *(f".{i}" for i in range(1, 99))]]
    data = b"".join(p.read_bytes() for p in parts if p.exists())
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True).stdout.decode()


def complete(place):
    return sorted(p.name[:-len(".complete")] for p in (place / "checkpoints").glob("*.complete"))


def report(place):
    return json.loads((place / "report.json").read_text())


def first(text, start="from"):
    return next((line for line in text.splitlines() if line.startswith(start)), "no such line in\n" + text)


# ---- a bucket: a failure, a restart in place, and the end ------------------------------------------------------------
(scratch / "code").mkdir()
shutil.copy(scratch / "train.py", scratch / "code")
r = Run("s3://buck/runs/one", "ck1", 4, 1, 0.1, 3, scratch / "one-3", options=["--restarts", "1", "--keep", "2", "--run-code", str(scratch / "code")])
place = folder("runs/one")
until(lambda: "checkpoint-3" in complete(place))
(scratch / "one-3").touch()
check("s3: the job succeeds after a restart", differ(r.wait(), 0) and r.text)
check("... the restart continued from the newest checkpoint", differ([line for line in r.text.splitlines() if "from" in line],
      ["from 0 ", "from 3 ['trainer_state.json', 'weights 0.bin']"]))
check("... the newest two are kept", differ(complete(place), ["checkpoint-3", "checkpoint-4"]))
check("... and no file of the others", differ(sorted(p.name for p in (place / "checkpoints").iterdir() if p.is_dir()),
                                              ["checkpoint-3", "checkpoint-4"]))
check("... the logs of both attempts", differ([log(place, i).splitlines()[0] for i in (1, 2)],
                                              ["from 0 ", "from 3 ['trainer_state.json', 'weights 0.bin']"]))
said = report(place)
check("... the report", differ((said["status"], said["exit"], said["attempt"], said["restarts"], said["checkpoint"]["name"]),
                               ("Succeeded", 0, 2, 1, "checkpoint-4")))
check("... code, job, events", None if (place / "code.tar.zst").stat().st_size and "name: a" in (place / "job.yaml").read_text()
      and "checkpoint-4 is complete" in (place / "attempts/2/events.jsonl").read_text() else "missing")
check("... nothing of the environment", next((str(p) for p in place.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()), None))

requests()
r = Run("s3://buck/runs/lines", "ck-lines", command=["seq", "10000"])
check("a run of 10,000 lines costs at most 20 requests", differ((r.wait(), len(asked := requests()) <= 20), (0, True)) and asked)

begun = scratch / "begun"
r = Run(f"file://{begun}", "begun-ck", command=["sh", "-c", f"for i in $(seq 60); do [ -e {scratch}/seen ] && exit; sleep 0.1; done"])
until((begun / "report.json").exists)
check("the report says that a run runs before its first lines are due", differ(report(begun)["status"], "Running"))
(scratch / "seen").touch()
check("... and how it ended", differ((r.wait(), report(begun)["status"]), (0, "Succeeded")) and r.text)

# ---- another job, another node ----------------------------------------------------------------------------------------
r = Run("s3://buck/runs/one", "ck2", 4, 1, 0, uid="u2")
check("another job is refused", differ((r.wait(), "'kftrainer submit --resume' (kftrainer.io/resume" in r.text), (126, True)) and r.text)
r = Run("s3://buck/runs/one", "ck2", 5, 1, 0, options=["--resume"], uid="u2")
check("... unless it resumes: a new node has the files", differ((r.wait(), first(r.text)),
      (0, "from 4 ['trainer_state.json', 'weights 0.bin']")) and r.text)


class Taken(faulty.Server):
    """As soon as a job has written its name another one writes its own."""

    def answer(self, conn, method, target, *rest):
        owner = folder("runs/two") / "owner.json"
        if method != "PUT" and owner.exists() and "u9" not in owner.read_text():
            owner.write_text(json.dumps({"layout": 1, "name": "b", "uid": "u9", "time": "2026-01-01T00:00:00Z"}))
        super().answer(conn, method, target, *rest)


taken = Taken(upstream=ENV["ENDPOINT"]).start()
for options in [], ["--resume"]:
    shutil.rmtree(folder("runs/two"), ignore_errors=True)
    r = Run("s3://buck/runs/two", "ck-two", 4, 1, 0, options=options, env={"ENDPOINT": f"http://127.0.0.1:{taken.port}"})
    check(f"of two jobs that come at once one is refused {options}", differ((r.wait(), "it belongs to job b" in r.text), (126, True)) and r.text)
broken = faulty.Server(upstream=ENV["ENDPOINT"]).start()
broken.faults.set("/buck status=503\n/buck/ status=503")
r = Run("s3://buck/runs/late", "ck-late", 1, 1, 0, env={"ENDPOINT": f"http://127.0.0.1:{broken.port}"})
until(lambda: "run directory" in r.text)
broken.faults.set("")
check("what failed behind the job's name is written by the next try", differ((r.wait(), (folder("runs/late") / "job.yaml").exists()), (0, True)) and r.text)
damaged = place / "checkpoints/checkpoint-5/weights 0.bin"
damaged.write_bytes(b"6" * damaged.stat().st_size)
r = Run("s3://buck/runs/one", "ck3", 6, 1, 0, uid="u2")
check("damaged files: the next older one is taken, and named", differ((r.wait(), first(r.text), "checkpoint-5 is damaged" in r.text
      and "the next older one is checkpoint-4" in r.text), (0, "from 4 ['trainer_state.json', 'weights 0.bin']", True)) and r.text)
(place / "checkpoints/checkpoint-9.complete").write_text('{"layout": 1, "name": "checkpoint-9"')
r = Run("s3://buck/runs/one", "ck3", 6, 1, 0, uid="u2")
check("... and a .complete that is cut off is none; equal files are not fetched", differ((r.wait(), first(r.text)),
      (0, "from 6 ['trainer_state.json', 'weights 0.bin']")) and r.text)

replaced = faulty.Server(upstream=ENV["ENDPOINT"]).start()
replaced.faults.set("/buck/runs/one/checkpoints/*.complete status=412 1")
r = Run("s3://buck/runs/one", "ck3", 6, 1, 0, uid="u2", env={"ENDPOINT": f"http://127.0.0.1:{replaced.port}"})
check("one that is replaced while it is read is read again, and nothing is said", differ((r.wait(), first(r.text), "changed while" in r.text),
      (0, "from 6 ['trainer_state.json', 'weights 0.bin']", False)) and r.text)
replaced.faults.set("/buck/runs/one/checkpoints/*.complete status=412 2")
r = Run("s3://buck/runs/one", "ck3", 6, 1, 0, uid="u2", env={"ENDPOINT": f"http://127.0.0.1:{replaced.port}"})
check("a place that fails for a moment before the command starts ends nothing", differ((r.wait(), first(r.text), r.text.count("changed while")),
      (0, "from 6 ['trainer_state.json', 'weights 0.bin']", 1)) and r.text)
r = Run("gs://buck/runs/one", "ck6", 7, 1, 0, uid="u2")
check("gs://, by HMAC keys: the same run goes on", differ((r.wait(), first(r.text), "checkpoint-7" in complete(place)),
      (0, "from 6 ['trainer_state.json', 'weights 0.bin']", True)) and r.text)

# ---- a file that is written where it is, by a command that is killed ---------------------------------------------------
torn = """import os, sys, time
path = os.environ["KFTRAINER_CHECKPOINT_DIR"] + "/step=%s.ckpt"
print("from", os.environ.get("KFTRAINER_RESUME_FROM", "nothing").rsplit("/")[-1], flush=True)
if os.environ["KFTRAINER_RESTART"] == "0":
    open(path % 1, "w").write("whole")
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    open(path % 2, "w").write("half")
    os.kill(os.getpid(), 9)
time.sleep(4)
"""
r = Run("s3://buck/runs/torn", "ck5", options=["--restarts", "1"], command=[sys.executable, "-c", torn, str(scratch / "kept")])
until(lambda: complete(folder("runs/torn")) == ["step=1.ckpt"])
(scratch / "kept").touch()
check("a .ckpt whose writer is killed is never complete", differ((r.wait(), [x for x in r.text.splitlines() if "from" in x],
      complete(folder("runs/torn"))), (0, ["from nothing", "from step=1.ckpt"], ["step=1.ckpt"])) and r.text)

# ---- a command that is killed as it removes an old checkpoint (Automodel#3261) -----------------------------------------
half = f"""cd "$KFTRAINER_CHECKPOINT_DIR"; [ "$KFTRAINER_RESTART" = 0 ] || exit 0
for i in 1 2; do mkdir checkpoint-$i; echo w >checkpoint-$i/w; echo s >checkpoint-$i/trainer_state.json
until [ -e {scratch}/half/checkpoints/checkpoint-$i.complete ]; do sleep 0.1; done; done; rm checkpoint-1/w; kill -9 $$"""
r = Run(f"file://{scratch}/half", "half-ck", options=["--restarts", "1"], command=["sh", "-c", half])
check("one that is half removed here stays whole there", differ((r.wait(), complete(scratch / "half"), json.loads(
    (scratch / "half/checkpoints/checkpoint-1.complete").read_text().splitlines()[0])["files"]), (0, ["checkpoint-1", "checkpoint-2"], 2)) and r.text)

# ---- symbolic links in a checkpoint (unchanged weights), and instead of one (last.ckpt, latest); an empty file ----------
links = """cd "$KFTRAINER_CHECKPOINT_DIR" && mkdir .new base .new/d && echo w >base/w && echo m >.new/d/m && : >empty.ckpt && ln -s x.ckpt x.ckpt
ln -s ../base/w .new/w && ln -s ../../../kept .new/d/k && ln -s ../base .new/base && mv .new step-1 && ln -s step-1 last.ckpt && ln -s step-1 latest"""
uri = f"file://{scratch}/links"
r = Run(uri, "links-ck", command=["sh", "-c", links])
check("links to files are kept as files, one to a directory is named, links to checkpoints and empty files are none", differ(
    (r.wait(), complete(scratch / "links"), "step-1: skipped base: a symbolic link" in r.text), (0, ["step-1"], True)) and r.text)
r = Run(uri, "links-ck", command=["sh", "-c", 'cd "$KFTRAINER_RESUME_FROM" && test -L w && test -L d/k'])
check("... here they stay links", differ(r.wait(), 0) and r.text)
r = Run(uri, "links-ck2", command=["sh", "-c", 'cd "$KFTRAINER_RESUME_FROM" && test -f d/k && find * -type f -exec cat {} + | sort | tr -d "\\n"'])
check("... on another node they are files", differ((r.wait(), r.text), (0, "mw")) and r.text)

# ---- a checkpoint that is being fetched ------------------------------------------------------------------------------
fetched = """cd "$KFTRAINER_CHECKPOINT_DIR" && printf '0 checkpoint-2' >.kftrainer-resumed && mkdir checkpoint-2 .new && echo x >.new/weights
echo '{"step": 2}' >checkpoint-2/trainer_state.json && sleep 1 && mv .new checkpoint-1 && until [ -e ../done ]; do sleep 0.1; done"""
r, place = Run(f"file://{scratch}/fetched", "fetched-ck", command=["sh", "-c", fetched]), scratch / "fetched"
until(lambda: complete(place))
(scratch / "done").touch()
check("files that are being fetched are not sent", differ((r.wait(), complete(place)), (0, ["checkpoint-1"])) and r.text)

# ---- clocks that are an hour off, and one that is set back -----------------------------------------------------------
SHIFTED, clock = str(ROOT / "build/kftrainer-shifted"), [scratch / f"clock{i}" for i in (0, 1)]
saves = """echo from "${KFTRAINER_RESUME_FROM##*/}"; cd "$KFTRAINER_CHECKPOINT_DIR"
for name; do until [ -e "../go-$name" ]; do sleep 0.1; done; mkdir .new; echo "$name" >.new/weights; mv .new "$name"; done"""
place = scratch / "clock"


def shifted(i, ck, *names, rank=None):
    return Run(f"file://{place}", ck, rank=rank, program=SHIFTED, env={"SHIFTED_CLOCK": str(clock[i])}, command=["sh", "-c", saves, "sh", *names])


def save(name):
    (scratch / f"go-{name}").touch()
    until(lambda: name in complete(place))


clock[0].write_text("3600")
r = shifted(0, "clock-ck", "younger", "older")
save("younger")
clock[0].write_text("-3600")
save("older")
check("a clock that is set back by two hours: both are complete", differ((r.wait(), complete(place)), (0, ["older", "younger"])) and r.text)
clock[0].write_text("-7200")
r = shifted(0, "clock-ck2", "attempt")
save("attempt")
check("... the next attempt continues from the last", differ((r.wait(), first(r.text)), (0, "from older")) and r.text)
# What is the newest does not show in names (pytorch-lightning#9944, #4861, litgpt#661).
place = scratch / "names"
for names in (("epoch=00-val_loss=0.90", "step=9-v7", "epoch=01-val_loss=0.31", "iter-5-ckpt", "last"), ("none",)):
    r = Run(f"file://{place}", f"names-ck-{names[0]}", command=["sh", "-c", saves, "sh", *names])
    for name in names:
        save(name)
    said = (r.wait(), first(r.text))
check("names of which none says how new it is: continues from the last", differ(said, (0, "from last")) and r.text)
check("... and the last three are kept", differ(complete(place), ["iter-5-ckpt", "last", "none"]))
# Both are seen at the same moment; the one that is written last is the last by its name.
pair = """echo from "${KFTRAINER_RESUME_FROM##*/}"; cd "$KFTRAINER_CHECKPOINT_DIR"; mkdir .z .a; echo z >.z/weights; echo a >.a/weights
touch -d "@1700000000.1" .a/weights; touch -d "@1700000000.%s" .z/weights; mv .a a$1; mv .z z$1"""
place = scratch / "pair"
for i, (what, part) in enumerate((("nanoseconds", "100000001"), ("the same time", "1"))):
    for turn in range(2):
        r = Run(f"file://{place}", f"pair-ck{i}{turn}", command=["sh", "-c", pair % part, "sh", f"{i}{turn}"])
        said = (r.wait(), first(r.text))
    check(f"two without a number at once, {what}: continues from the last", differ(said, (0, f"from z{i}0")) and r.text)
Run.port, place = free_port(), scratch / "clocks"
clock[1].write_text("3600")
both = [shifted(i, f"clocks-ck{i}", "all", rank=i) for i in (0, 1)]
save("all")
check("two ranks whose clocks differ by hours: what both save is complete", differ(([r.wait() for r in both], [
    json.loads(line).get("rank") for line in (place / "checkpoints/all.complete").read_text().splitlines()[1:]]), ([0, 0], [0, 1])))
listed = subprocess.run([PROGRAM, "runs", f"file://{scratch}"], capture_output=True, text=True).stdout
check("... runs: attempts, checkpoints and ages", None if re.search(r"/clock +a +Succeeded +([0-9]+s|12[0-9]m) +1 +2 +attempt ", listed)
      and re.search(r"/clocks +a +Succeeded +([0-9]+s|12[0-9]m) +2 +1 +all ", listed) else listed)

# ---- checkpoints that are replaced, removed, or written faster than they are sent (ray#48801; save_total_limit) ---------
(scratch / "often.py").write_text("""
import os, shutil, sys, time
directory, how, stop = os.environ["KFTRAINER_CHECKPOINT_DIR"], *sys.argv[1:]
step = 1000 * int(os.environ["KFTRAINER_RESTART"])
while not os.path.islink(stop) or step < int(os.readlink(stop)):
    step += 1
    path = {"last": "last.pt", "below": "out/checkpoint-%d"}.get(how, "checkpoint-%d").replace("%d", str(step))
    new = f"{directory}/.new"
    if how == "last":
        with open(new, "w") as f:
            f.write(str(step) * 100000)
    else:
        os.makedirs(f"{directory}/{path}" if how == "each" else new)
        with open((f"{directory}/{path}" if how == "each" else new) + f"/part-{os.environ['JOB_COMPLETION_INDEX']}", "w") as f:
            f.write(str(step) * 100000)
    if how == "each":  # the ranks train together
        rank = directory[-1]
        while not os.path.exists(f"{directory[:-1]}{1 - int(rank)}/{path}/part-{1 - int(rank)}"):
            time.sleep(0.01)
        with open(f"{directory}/{path}/.metadata", "w") as f:
            f.write("whole")
    else:
        os.makedirs(os.path.dirname(f"{directory}/{path}"), exist_ok=True)
        os.rename(new, f"{directory}/{path}")
    if how == "limit" and step > 1:
        shutil.rmtree(f"{directory}/checkpoint-{step - 1}")
    time.sleep(0.3)
""")


def often(how, *ranks, name=None):
    name = name or how
    return [Run(f"file://{scratch}/{name}", f"{name}-ck{i or 0}", rank=i, command=[sys.executable, str(scratch / "often.py"), how, str(scratch / f"stop-{name}")])
            for i in ranks]


def stop_often(name):
    """At a step that is still to come: both ranks reach it."""
    steps = [int(step.removeprefix("checkpoint-")) for step in complete(scratch / name) if step.startswith("checkpoint-")]
    (scratch / f"stop-{name}").symlink_to(str(max(steps, default=0) + 20))


Run.port = free_port()
runs = {"last": often("last", None), "limit": often("limit", None), "below": often("below", None), "each": often("each", 0, 1)}


def was_complete():  # of such a file .complete is gone as soon as the next one is sent
    return any("last.pt is complete" in p.read_text() for p in (scratch / "last").glob("attempts/1/events*"))


check("a file that is replaced more often than it is sent is complete", differ(until(was_complete), True) and runs["last"][0].text)
check("... and directories that are removed", differ(until(lambda: len(complete(scratch / "limit")) > 1), True) and runs["limit"][0].text)
check("... and those of two ranks that are not", differ(until(lambda: len(complete(scratch / "each")) > 1), True) and runs["each"][0].text)
for how in runs:
    stop_often(how)
check("... they succeed", differ([r.wait() for rs in runs.values() for r in rs], [0] * 5))
check("... without a word", next((r.text for how in ("last", "limit", "each") for r in runs[how] if "run directory" in r.text), None))
newest = json.loads((scratch / "each/checkpoints" / (complete(scratch / "each")[-1] + ".complete")).read_text().splitlines()[0])
check("... with the files of both ranks", differ(newest["files"], 4))
check("... nothing else is left in the place", differ({p.name.split(".")[0] for p in (scratch / "each/checkpoints").iterdir()} - set(complete(scratch / "each")), set()))
check("... or held here", differ([p for how in runs for p in scratch.glob(f"{how}-ck*/.kftrainer-sending*")], []))
check("what is no checkpoint: a line says that nothing was kept", differ("no checkpoint was kept: 'out' in" in runs["below"][0].text, True)
      and runs["below"][0].text)

# ---- rank 0's node is lost, the other one stays: the new supervisor of rank 0 numbers what it asks for from 1 again ------


def of_one():  # checkpoints that were called complete without the files of rank 1
    return [line for p in (scratch / "left/attempts").glob("*/events*") for line in p.read_text().splitlines()
            if "is complete: " in line and "is complete: 4 files" not in line]


def lost(seen):
    left[0].kill()
    shutil.rmtree(scratch / "left-ck0")
    left[0] = often("each", 0, name="left")[0]
    return until(lambda: any(int(name.split("-")[1]) > 1000 * seen for name in complete(scratch / "left")))


Run.port = free_port()
left = often("each", 0, 1, name="left")
check("rank 0 is lost after some checkpoints: there are new ones", differ(
    (until(lambda: len(complete(scratch / "left")) > 2), lost(1), lost(2)), (True, True, True)) and left[0].text + left[1].text)
stop_often("left")
check("... both succeed, and each that is complete has the files of both", differ(([r.wait() for r in left], of_one()), ([0, 0], [])))

# ---- two ranks, with files of their own --------------------------------------------------------------------------------
Run.port = free_port()
uri = f"file://{scratch}/both"
both = [Run(uri, f"both-ck{i}", 4, 2, 0.2, 3, scratch / "both-2", options=["--restarts", "1"], rank=i) for i in (0, 1)]
place = scratch / "both"
until(lambda: "checkpoint-2" in complete(place))
(scratch / "both-2").touch()
check("two ranks succeed after a restart", differ([r.wait() for r in both], [0, 0]) and both[0].text + both[1].text)
lines = [json.loads(line) for line in (place / "checkpoints/checkpoint-4.complete").read_text().splitlines()]
check("... the files of both are complete", differ(
    ([(x["rank"], x["path"]) for x in lines[1:] if not x["path"].startswith(".")], lines[0]["files"], lines[0]["step"], lines[0]["nodes"]),
    ([(0, "trainer_state.json"), (0, "weights 0.bin"), (1, "weights 1.bin")], 3, 4, 2)))
check("... both continued from the same, with all files", differ(
    [[line for line in r.text.splitlines() if line.startswith("from")][-1] for r in both],
    ["from 2 ['trainer_state.json', 'weights 0.bin', 'weights 1.bin']"] * 2) and both[0].text)
check("... the logs of both", differ([log(place, 2, i).splitlines()[-1] for i in (0, 1)], ["step 4"] * 2))

# ---- .metadata of torch.distributed.checkpoint names the files of all ranks: those of one are not in its directory -------
named = """import os, pickle, sys
rank, directory = os.environ["JOB_COMPLETION_INDEX"], os.environ["KFTRAINER_CHECKPOINT_DIR"]
for step in "1", "2":
    to = f"{directory}/step-{step}" if (rank, step) != ("1", "1") else f"{sys.argv[1]}/elsewhere"
    os.makedirs(to)
    open(f"{to}/__{rank}_0.distcp", "w").write(step)
    if rank == "0":
        pickle.dump({i: f"__{i}_0.distcp" for i in range(2)}, open(f"{to}/.metadata", "wb"), protocol=2)
"""
Run.port, place = free_port(), scratch / "named"
both = [Run(f"file://{place}", f"named-ck{i}", rank=i, command=[sys.executable, "-c", named, str(scratch)]) for i in (0, 1)]
check("a checkpoint without a file that its .metadata names is not complete, which is said", differ(
    ([r.wait() for r in both], complete(place), "step-1: no node has sent __1_0.distcp, which its .metadata names" in both[0].text),
    ([0, 0], ["step-2"], True)) and both[0].text + both[1].text)
for rank in (0, 1):  # elasticdl#1504
    r = Run(f"file://{place}", f"named-ck{rank}", rank=rank, command=["false"])
    check(f"the pod of rank {rank} is lost as all have succeeded: its successor succeeds, and trains no more", differ(
        (r.wait(), "have succeeded before" in r.text, report(place)["attempt"]), (0, True, 1)) and r.text)

# ---- finished checkpoints whose job fails for good: the newest are sent first, and all ranks still answer ---------------
save = """import os, sys
directory = os.environ["KFTRAINER_CHECKPOINT_DIR"]
for step in sys.argv[2:]:
    os.makedirs(f"{directory}/.new/{step}", exist_ok=True)
    with open(os.fsencode(f"{directory}/.new/{step}/") + os.fsencode(sys.argv[1] % os.environ["JOB_COMPLETION_INDEX"]), "w") as f:
        f.write(step)
for step in sys.argv[2:]:
    os.rename(f"{directory}/.new/{step}", f"{directory}/checkpoint-{step}")
os.rmdir(f"{directory}/.new")
sys.exit(7)
"""
Run.port, place = free_port(), scratch / "failed"
both = [Run(f"file://{place}", f"failed-ck{i}", options=["--keep", "2"], rank=i, command=[sys.executable, "-c", save, "of %s", "1", "2", "3"])
        for i in (0, 1)]
check("two ranks fail for good: what they had saved is complete", differ(([r.wait() for r in both], complete(place)),
      ([7, 7], ["checkpoint-2", "checkpoint-3"])) and both[0].text + both[1].text)
events = [json.loads(line) for p in place.glob("attempts/1/events*.jsonl") for line in p.read_text().splitlines()]
check("... the newest first; what would be removed is not there", differ(
    ([e["message"].split()[0] for e in events if e["reason"] == "Checkpoint"], [p.name for p in place.glob("checkpoints/checkpoint-1*")]),
    (["checkpoint-3", "checkpoint-2"], [])))
check("... the report has the failure, not what came after it", differ(
    (report(place)["status"], report(place)["exit"], "ended with status 7" in report(place)["why"]), ("Failed", 7, True)) and report(place))

Run.port, place = free_port(), scratch / "refused"
both = [Run(f"file://{place}", f"refused-ck{i}", rank=i, command=[sys.executable, "-c", save, ["a", "a\nb"][i] + "%s", "1"]) for i in (0, 1)]
check("a rank's file whose name cannot be kept: never complete, and no rank waits for it", differ(
    ([r.wait() for r in both], complete(place), "invalid file name 'a\\x0ab1'" in both[1].text, "rank 1 could not send it" in both[0].text),
    ([7, 7], [], True, True)) and both[0].text + both[1].text)

ODD = ["a b", "\u00fcn\u00ef \u6a21\u578b", "100%25", "a+b&c=d?#x", "quote'\"", "*[x]?", "$HOME", "-rf", "a\\b", "com:ma,", "L" * 250, "{}"]
odd = save.replace("sys.exit(7)", "").replace('os.fsencode(sys.argv[1] % os.environ["JOB_COMPLETION_INDEX"])', 'b"weights"')
logs = Run("s3://buck/runs/logs", "logs-ck", command=["sh", "-c", f"until [ -e {scratch}/gone ]; do sleep 0.5; done; echo more; exec sleep 1000"])
for uri in ("s3://buck/runs/odd", f"file://{scratch}/odd"):
    kind = uri.partition(":")[0]
    r = Run(uri, f"odd-{kind}", command=[sys.executable, "-c", odd.replace("checkpoint-{step}", "{step}"), "", *ODD])
    names = [r.wait(), *complete(folder("runs/odd") if kind == "s3" else scratch / "odd")]
    check(f"{kind}: checkpoints with odd names; the newest three are complete", differ((names[0], len(names), set(names[1:]) <= set(ODD)), (0, 4, True))
          and r.text + str(names))
    r = Run(uri, f"odd2-{kind}", command=["sh", "-c", 'cat "$KFTRAINER_RESUME_FROM/weights"'])
    check(f"{kind}: ... and a node fetches one", differ((r.wait(), r.text in names), (0, True)) and r.text)

three = """cd "$KFTRAINER_CHECKPOINT_DIR" && for i in 1 2 3; do
    mkdir .new && echo $i >.new/weights && mv .new step-$i && sleep 0.1
done"""
r = Run(f"file://{scratch}/three", "three-ck", command=["sh", "-c", three])
check("the report names the newest checkpoint, though older ones are sent after it", differ((r.wait(), complete(scratch / "three"),
      report(scratch / "three")["checkpoint"]["name"]), (0, ["step-1", "step-2", "step-3"], "step-3")) and r.text)

# ---- the bucket is gone ------------------------------------------------------------------------------------------------
r = Run("s3://buck/runs/gone", "ck4", 12, 4, 0.5)
until(lambda: "step 2" in r.text)
os.killpg(children[0].pid, signal.SIGKILL)
children[0].wait()
(scratch / "gone").touch()
check("the bucket is gone: the command goes on", differ(until(lambda: "step 11" in r.text), True))
never = Run("s3://buck/runs/never", "never-ck", command=["true"])
until(lambda: "it is retried for ten minutes" in never.text)
never.process.terminate()
check("... a supervisor that waits for it before it starts ends at TERM", differ((never.wait(), "stopped before the command began" in never.text),
      (128 + signal.SIGTERM, True)) and never.text)
check("... lines name the object", differ(until(lambda: "the job continues" in logs.text), True)
      or differ("run directory: s3://buck/" in logs.text, True) and logs.text)
logs.process.terminate()
again = server(port)
answers(*again)
children.insert(0, children.pop())
got = differ((r.wait(), complete(folder("runs/gone")), log(folder("runs/gone"), 1).count("step 12")),
             (0, ["checkpoint-12", "checkpoint-4", "checkpoint-8"], 1))
check("... and all is there later", got and f"{got}\n{r.text}")
check("... with two lines at most", differ(r.text.count("the upload is retried") < 3, True) and r.text)

# ---- a place that is gone as the job is stopped -------------------------------------------------------------------------
unsaved = """cd "$KFTRAINER_CHECKPOINT_DIR" && until [ -e ../go ]; do sleep 0.1; done && mkdir .new && echo x >.new/weights && mv .new checkpoint-1
trap 'kill $!; echo stopping; exit 3' TERM INT; sleep 1000 & wait"""
stopped = {name: Run(f"file://{scratch}/{name}", f"{name}-ck", options=["--run-grace", grace], command=["sh", "-c", unsaved])
           for name, grace in {"ends": "4", "twice": "1000", "back": "1000"}.items()}
for name, r in stopped.items():
    until(lambda: (scratch / name / "attempts/1/attempt.json").exists())
    (scratch / name).rename(scratch / f"{name}-away")
    (scratch / name).touch()
(scratch / "go").touch()
for name, r in stopped.items():
    until(lambda: "the job continues" in r.text and (r.ck / "checkpoint-1").exists())
    r.process.send_signal(signal.SIGINT if name == "twice" else signal.SIGTERM)
    until(lambda: "stopping" in r.text)
stopped["twice"].process.send_signal(signal.SIGINT)
(scratch / "back").unlink()
(scratch / "back-away").rename(scratch / "back")
lost = f"run directory: not uploaded: checkpoint-1, the end of its log: {scratch}/%s"
for name, title in {"ends": "a job that is stopped while its place is gone ends with its grace, and what is lost is named",
                    "twice": "... a second Ctrl-C ends it at once"}.items():
    check(title, differ((stopped[name].wait(), lost % name in stopped[name].text), (3, True)) and stopped[name].text)
r = stopped["back"]
check("... if it is back within the grace, all is there", differ((r.wait(), complete(scratch / "back"), "not uploaded" in r.text,
      report(scratch / "back")["status"], "stopping" in log(scratch / "back", 1)), (3, ["checkpoint-1"], False, "Stopped", True)) and r.text)

# ---- a full disk -------------------------------------------------------------------------------------------------------
full, freed = scratch / "full", scratch / "freed"
full.mkdir()
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", full], capture_output=True).returncode:
    skip("a full disk", "mount(8) takes root")
else:
    try:
        (full / "other").write_bytes(bytes(1500000))
        r = Run(f"file://{full}/run", "full-ck", command=[sys.executable, "-c", f"""import os, time
os.mkdir(os.environ["KFTRAINER_CHECKPOINT_DIR"] + "/.new")
with open(os.environ["KFTRAINER_CHECKPOINT_DIR"] + "/.new/weights", "wb") as f:
    f.write(bytes(1000000))
os.rename(os.environ["KFTRAINER_CHECKPOINT_DIR"] + "/.new", os.environ["KFTRAINER_CHECKPOINT_DIR"] + "/checkpoint-1")
while not os.path.exists({str(freed)!r}):
    time.sleep(0.1)
"""])
        check("a full disk is named, and the command goes on", differ((until(
            lambda: f"run directory: {full}/run/checkpoints/checkpoint-1/weights: No space left on device; the job continues" in r.text),
            r.process.poll()), (True, None)) and r.text)
        (full / "other").unlink()
        freed.touch()
        check("... once there is room, all is there", differ((r.wait(), complete(full / "run")), (0, ["checkpoint-1"])) and r.text)
    finally:
        subprocess.run(["umount", "-l", full], check=False)

# ---- kills of the supervisor and its command while they save; a place that breaks connections, refuses, and is slow ----
class Breaks(threading.Thread):
    """A relay to a server: each fifth connection or so ends by a reset somewhere, is answered by 500, or is read slowly."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.to, self.socket = port, socket.create_server(("127.0.0.1", 0))
        self.port, self.calm, self.faults = self.socket.getsockname()[1], False, collections.Counter()
        self.threads = []
        self.start()

    def join_relays(self):
        """Of those whose client was killed nothing reaches the server any more."""
        while self.threads:
            self.threads.pop().join(LIMIT_S)

    def run(self):
        while True:
            conn, _ = self.socket.accept()
            self.begin(self.relay, conn)

    def begin(self, what, *args):
        thread = threading.Thread(target=what, args=args, daemon=True)
        thread.start()
        self.threads.append(thread)

    def relay(self, conn):
        fault = None if self.calm else random.choice([None] * 8 + ["reset", "500", "slow"])
        self.faults[fault] += 1
        try:
            if fault == "500":
                conn.recv(65536)
                conn.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return conn.close()
            with socket.create_connection(("127.0.0.1", self.to)) as server:
                self.begin(self.pump, server, conn, None)
                self.pump(conn, server, fault)
        except OSError:
            pass

    def pump(self, source, to, fault):
        left = random.randrange(200, 400_000)
        try:
            while data := source.recv(4096 if fault == "slow" else 65536):
                left -= len(data)
                if fault == "reset" and left < 0:
                    source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    source.close()
                    return to.shutdown(socket.SHUT_RDWR)
                if fault == "slow":
                    time.sleep(0.02)
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, to):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)


class Folder:
    """A run directory that is a folder: of s3:// by versitygw, and of file://."""

    def __init__(self, uri, place, env, relay=None):
        self.uri, self.place, self.env, self.relay = uri, place, env, relay

    def files(self):
        return {str(p.relative_to(self.place)): p.read_bytes() for p in self.place.rglob("*") if p.is_file()}


hub = Hub()
hub.files["README.md"] = b""
broken, hubs = Breaks(port), Breaks(int(hub.url.rsplit(":", 1)[1]))
hub.url = f"http://127.0.0.1:{hubs.port}"  # in its answers, too
PLACES = {"s3": Folder("s3://buck/runs/kills", folder("runs/kills"), {"ENDPOINT": f"http://127.0.0.1:{broken.port}"}, broken),
          "file": Folder(f"file://{scratch}/kills", scratch / "kills", {}),
          "hf": Folder("hf://org/m/kills", None, {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN}, hubs)}
PLACES["hf"].files = lambda: {p[len("kills/"):]: data for p, data in list(hub.files.items()) if p.startswith("kills/")}


def whole(files):
    """What is complete, and what of it is not so."""
    bad, names = [], [p[len("checkpoints/"):-len(".complete")] for p in files if p.endswith(".complete")]
    for name in names:
        for line in files[f"checkpoints/{name}.complete"].splitlines()[1:]:
            x = json.loads(line)
            if hashlib.sha256(files.get(f"checkpoints/{name}/{x['path']}", b"")).hexdigest() != x["sha256"]:
                bad.append(f"{name}/{x['path']}")
    return bad, max([int(name.split("-")[1]) for name in names], default=0)


hubs.calm, p = True, PLACES["hf"]
r = Run(p.uri, "ck-hf1", 3, 1, 0.1, env=p.env)
check("hf: a run directory in a repository", differ(r.wait(), 0) and r.text)
r = Run(p.uri, "ck-hf2", 4, 1, 0, options=["--keep", "1"], env=p.env)
check("... another pod continues from it", differ((r.wait(), first(r.text)), (0, "from 3 ['trainer_state.json', 'weights 0.bin']")) and r.text)
check("... the logs of both attempts, and what cannot be removed stays", differ(
    sorted(n for n in p.files() if n.endswith((".complete", ".log.zst"))),
    [f"attempts/{i}/logs/0.log.zst" for i in (1, 2)] + [f"checkpoints/checkpoint-{i}.complete" for i in (1, 2, 3, 4)]))
hub.files, hubs.calm = {"README.md": b""}, False
for i in range(int(os.environ.get("KILLS", 1))):
    for kind, p in PLACES.items():
        r = Run(p.uri, f"ck-kill{i % 2}-{kind}", 4000, 1, 0.02, options=["--keep", "3"], env=p.env)
        until(lambda: first(r.text).startswith("from"))
        time.sleep(random.uniform(0.5, 6))
        r.kill()
        if p.relay:
            p.relay.join_relays()
        bad, newest = whole(p.files())
        check(f"{kind}, kill {i}: what is complete is whole", "\n".join(bad))
        r = Run(p.uri, f"ck-kill{(i + 1) % 2}-{kind}", newest, 1, 0, options=["--keep", "3"], env=p.env)
        check(f"{kind}, kill {i}: the next pod continues from it", differ((r.wait(), first(r.text).split()[1]), (0, str(newest))) and r.text)
print("# connections that were", dict(broken.faults + hubs.faults))
finish()
