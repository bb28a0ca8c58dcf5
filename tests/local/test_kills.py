#!/usr/bin/python3
"""kill -9 of `controller --local` and of runs at random moments, while jobs are created, suspended,
resumed and deleted: what was acknowledged is there, no job runs twice, nothing is left. TAP.

KILLS, JOBS: how many (8, 24); SEED repeats the choices; OLD: an older kftrainer, which is the server until
a third of the kills, and then replaced."""
import http.client
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "cluster")]
from api import Api, path  # noqa: E402
from processes import marked  # noqa: E402

KFTRAINER = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
KILLS, JOBS = int(os.environ.get("KILLS", "8")), int(os.environ.get("JOBS", "24"))
OLD = os.environ.get("OLD")
SEED = os.environ.get("SEED", str(random.randrange(10**6)))
NS = "default"
scratch = tempfile.mkdtemp()
state = os.path.join(scratch, "state")
failed = number = 0


def tell(what, problems):
    global failed, number
    number += 1
    failed += bool(problems)
    print(f"{'not ok' if problems else 'ok'} {number} - {what}")
    for problem in list(problems)[:20]:
        print(f"#   {problem}")
    sys.stdout.flush()


class Server:
    """Killed at random moments and started again, until `stop`."""

    def __init__(self):
        self.data = os.path.join(scratch, "api")
        self.log = open(os.path.join(scratch, "log"), "ab")
        self.api, self.kills, self.over = None, 0, False
        self.up()
        self.thread = threading.Thread(target=self.killer)
        self.thread.start()

    def up(self):
        env = dict(os.environ, XDG_STATE_HOME=state)
        program = OLD if OLD and self.kills < KILLS // 3 else KFTRAINER
        self.process = subprocess.Popen([program, "controller", "--local", "--data", self.data], env=env,
                                        stdout=subprocess.PIPE, stderr=self.log)
        assert self.process.stdout.readline(), "the server does not start"
        self.api = Api(os.path.join(self.data, "kubeconfig"))

    def killer(self):
        choice = random.Random(SEED)
        while self.kills < KILLS and not self.over:
            time.sleep(choice.uniform(0.2, 1.5))
            self.process.kill()
            self.process.wait()
            self.kills += 1
            self.up()

    def end(self):
        self.over = True
        self.thread.join()
        self.process.terminate()
        self.process.wait()

    def ask(self, method, url, body=None, kind=None):
        """Until there is an answer: (status, document, whether it was asked again)."""
        again = False
        while True:
            try:
                status, said, _ = self.api.request(method, url, body, *([kind] if kind else []), tries=1)
                if status < 500:
                    return status, said, again
            except (OSError, http.client.HTTPException, ValueError):
                pass
            again = True
            time.sleep(0.05)


def mark(name):
    return os.path.join(scratch, name)


def script(name, waits):
    """Each run leaves a line; one that waits ends once its file is there."""
    wait = f"until [ -e {mark(name)}.go ]; do sleep 0.1; done" if waits else "true"
    return f"echo run >>{mark(name)}.runs; {wait}"


class Job:
    def __init__(self, server, number, fate):
        self.server, self.fate, self.name = server, fate, f"job-{number}"
        self.wrong = None  # an answer that should not be

    def url(self, kind="TrainJob"):
        return path(kind, NS, self.name)

    def create(self):
        waits = self.fate in ("resumed", "shot", "deleted")
        doc = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": self.name},
               "spec": {"runtimeRef": {"name": "torch-distributed"}, "suspend": self.fate == "held",
                        "trainer": {"numNodes": 1, "env": [{"name": "KILLS_MARK", "value": scratch}],
                                    "command": ["sh", "-c", script(self.name, waits)]}}}
        status, said, again = self.server.ask("POST", path("TrainJob", NS), doc)
        assert status == 201 or (status == 409 and again), (status, said)

    def suspend(self, on):
        status, said, _ = self.server.ask("PATCH", self.url(), {"spec": {"suspend": on}}, "application/merge-patch+json")
        assert status == 200, (status, said)

    def delete(self):
        status, said, again = self.server.ask("DELETE", self.url())
        assert status == 200 or (status == 404 and again), (status, said)

    def get(self, kind="TrainJob"):
        status, said, _ = self.server.ask("GET", self.url(kind))
        return said if status == 200 else None

    def end(self):
        for condition in ((self.get() or {}).get("status") or {}).get("conditions", []):
            if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
                return condition["type"], condition["reason"]
        return None

    def runs(self):
        try:
            with open(mark(self.name) + ".runs", encoding="utf-8") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0

    def runner(self):
        """The process of its run, while that holds the lock."""
        try:
            with open(os.path.join(state, "kftrainer", "jobs", NS, self.name, "lock"), encoding="utf-8") as file:
                return int(file.read().split()[0])
        except (FileNotFoundError, IndexError):
            return None


def until(condition):
    while not condition():
        time.sleep(0.1)


def drive(job):
    try:
        live(job)
    except AssertionError as e:
        job.wrong = e


def live(job):
    """What becomes of it, with the server coming and going."""
    job.create()
    if job.fate == "held":
        job.suspend(False)
    elif job.fate == "deleted":
        if random.random() < 0.5:
            until(lambda: job.runs())
        job.delete()
    elif job.fate == "resumed":
        until(lambda: job.runs())
        job.suspend(True)
        until(lambda: not processes(mark(job.name) + "."))
        job.suspend(False)
        until(lambda: job.runs() > 1)
        open(mark(job.name) + ".go", "w").close()
    elif job.fate == "shot":
        until(lambda: job.runs())
        os.kill(job.runner(), signal.SIGKILL)


def processes(text):
    return [pid for pid, words in marked(f"KILLS_MARK={scratch}") if text in "\0".join(words)]


EXPECTED = {  # fate: how it ends, how often it ran
    "plain": (("Complete", "AllJobsCompleted"), (1,)),
    "held": (("Complete", "AllJobsCompleted"), (1,)),
    "resumed": (("Complete", "AllJobsCompleted"), (2,)),
    "shot": (("Failed", "Interrupted"), (1,)),
    "deleted": (None, (0, 1)),
}


def left():
    """Processes and directories of jobs."""
    root = os.path.join(state, "kftrainer", "jobs", NS)
    return processes(mark("job-")) + (os.listdir(root) if os.path.isdir(root) else [])


def main():
    random.seed(SEED)
    server = Server()
    jobs = [Job(server, i, list(EXPECTED)[i % len(EXPECTED)]) for i in range(JOBS)]
    threads = [threading.Thread(target=drive, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    server.thread.join()
    tell("each request is answered as it should be", [f"{job.name}, {job.fate}: {job.wrong}" for job in jobs if job.wrong])
    tell("what was deleted is gone", [job.name for job in jobs if job.fate == "deleted" and job.get()])
    for job in jobs:
        if job.fate != "deleted" and not job.wrong:
            until(job.end)
    ends = {job: (job.end(), job.runs()) for job in jobs}
    tell(f"{len(jobs)} jobs, {server.kills} kills (SEED={SEED}): each ends as it should", [
        f"{job.name}, {job.fate}: {ends[job][0]}" for job in jobs if ends[job][0] != EXPECTED[job.fate][0]])
    tell("no job ran twice", [f"{job.name}, {job.fate}: {ends[job][1]} runs" for job in jobs
                              if ends[job][1] not in EXPECTED[job.fate][1]])
    for job in jobs:
        if job.get():
            job.delete()
    until(lambda: not left())
    tell("no process and no directory is left after delete", left())
    gone = [kind for kind in ("TrainJob", "JobSet", "Job", "Pod")
            if server.ask("GET", path(kind, NS))[1]["items"]]
    tell("nor an object", gone)
    server.end()
    shutil.rmtree(scratch)
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
