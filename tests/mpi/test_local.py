#!/usr/bin/env python3
"""`submit --local` with mpirun of every implementation: where ranks run, and how jobs end."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from collections import Counter

import jobs
from jobs import PROGRAM, implementations, job_yaml, ranks_with, scratch, until
from tap import check, finish

ENV = dict(os.environ, XDG_STATE_HOME=os.path.join(scratch, "state"))
ODD = "it's \"odd\": `id` \\ \n second line"


class Run:
    count = 0

    def __init__(self, i, *words, options=(), env=None, isolation=None):
        Run.count += 1
        self.i, self.name, self.mark = i, f"j{Run.count}", f"{os.path.basename(scratch)}-l{Run.count}"
        env = {"MARK": self.mark, **(env or {})}
        for variable in env:
            options = (*options, *i.passes, variable) if i.passes else options
        file = job_yaml(i, "ssh", [i.mpirun, *options, i.program, *words], name=self.name, env=env)
        more = {"KFTRAINER_ISOLATION": isolation} if isolation else {}
        self.process = subprocess.Popen([PROGRAM, "submit", "--local", file], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env={**ENV, "PATH": i.path, **more})

    def result(self):
        out = self.process.communicate(timeout=jobs.PATIENCE)[0]
        return self.process.returncode, out

    def has_ranks(self):
        return until(lambda: len(ranks_with(self.mark)) == 6 or self.process.poll() is not None) \
            and self.process.poll() is None

    def children(self, name):
        """Processes of this run whose program is called that."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
                with open(f"/proc/{pid}/environ", "rb") as f:
                    mine = b"/" + self.name.encode() + b"/" in f.read()
            except OSError:
                continue
            if mine and os.path.basename(words[0].decode()) == name:
                found.append(int(pid))
        return found


def show(rc, out):
    return f"exit status {rc}\n{out.decode(errors='replace')[-3000:]}"


def places(out):
    """pod -> how many ranks, for three pods of one job; what is random in its name is left out."""
    return Counter(re.sub(r"-[a-z0-9]{5}$", "", pod) for pod in re.findall(r" at \S+ in (\S+)", out.decode()))


def place(i, isolation):
    run = Run(i, "place", isolation=isolation)
    rc, out = run.result()
    want = {f"{run.name}-{pod}": 2 for pod in ("launcher-0-0", "node-0-0", "node-0-1")}
    where = "without namespaces" if isolation else "each pod has its ranks"
    check(f"{i.name}: {where}, and their sum is right",
          None if rc == 0 and places(out) == want and b"sum 21" in out else show(rc, out))


def leave(i):
    rc, out = Run(i, "leave").result()
    check(f"{i.name}: ranks exit 3, and the job, too", None if rc == 3 else show(rc, out))


def kill(i):
    rc, out = Run(i, "kill").result()
    check(f"{i.name}: one rank is killed, the job fails", None if rc else show(rc, out))


def variables(i):
    rc, out = Run(i, "env", "ODD", env={"ODD": ODD}).result()
    lines = [line.split("] ", 1)[-1] for line in out.decode().splitlines()]
    want = f"[{ODD}]".split("\n")
    check(f"{i.name}: a variable with quotes and newlines",
          None if rc == 0 and all(w in lines for w in want) else show(rc, out))


def worker(i):
    run = Run(i, "wait")
    started = run.has_ranks()
    if started:
        os.kill(run.children("mpi-worker")[0], signal.SIGKILL)
    rc, out = run.result()
    check(f"{i.name}: a node is killed, the job fails, nothing is left",
          None if started and rc and not ranks_with(run.mark) else show(rc, out))


def killed(i):
    run = Run(i, "wait")
    started = run.has_ranks()
    run.process.kill()
    run.result()
    gone = until(lambda: not ranks_with(run.mark))
    check(f"{i.name}: submit is killed, nothing is left", None if started and gone else f"started {started}")


for i in implementations():
    place(i, None)
    place(i, "none")
    for row in (leave, kill, variables, worker, killed):
        row(i)
finish()
