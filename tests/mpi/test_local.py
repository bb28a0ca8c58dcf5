#!/usr/bin/env python3
"""`submit --local` with mpirun of every implementation: where ranks run, and how jobs end."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from collections import Counter

from faults import FAULTS
from jobs import PATIENCE, PROGRAM, implementations, job_yaml, ranks_with, scratch, until
from tap import check, finish, skip

ENV = dict(os.environ, XDG_STATE_HOME=os.path.join(scratch, "state"))
ODD = "it's \"odd\": `id` \\ \n second line"


class Run:
    count = 0

    def __init__(self, i, *words, options=(), env=None, isolation=None, within=()):
        Run.count += 1
        self.i, self.name, self.mark = i, f"j{Run.count}", f"{os.path.basename(scratch)}-l{Run.count}"
        env = {"MARK": self.mark, **(env or {})}
        for variable in env:
            options = (*options, *i.passes, variable) if i.passes else options
        file = job_yaml(i, "ssh", [i.mpirun, *options, i.program, *words], name=self.name, env=env)
        more = {"KFTRAINER_ISOLATION": isolation} if isolation else {}
        self.process = subprocess.Popen([*within, PROGRAM, "submit", "--local", file], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env={**ENV, "PATH": i.path, **more})

    def result(self):
        """Its exit status, None: it hangs; and its output."""
        try:
            out = self.process.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None, self.process.communicate()[0]
        return self.process.returncode, out

    def has_ranks(self):
        return until(lambda: len(ranks_with(self.mark)) == 6 or self.process.poll() is not None) \
            and self.process.poll() is None

    def children(self, name):
        """Processes of this run whose program, or script, is called that."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
                with open(f"/proc/{pid}/environ", "rb") as f:
                    mine = b"/" + self.name.encode() + b"/" in f.read()
            except OSError:
                continue
            if mine and name.encode() in map(os.path.basename, words[:2]):
                found.append(int(pid))
        return found


def show(rc, out):
    end = "did not end" if rc is None else f"exit status {rc}"
    return f"{end}\n{out.decode(errors='replace')[-3000:]}"


def places(out):
    """pod -> how many ranks, for three pods of one job; what is random in its name is left out."""
    return Counter(re.sub(r"-[a-z0-9]{5}$", "", pod) for pod in re.findall(r" at \S+ in (\S+)", out.decode()))


def check_place(what, i, **where):
    run = Run(i, "place", **where)
    rc, out = run.result()
    want = {f"{run.name}-{pod}": 2 for pod in ("launcher-0-0", "node-0-0", "node-0-1")}
    check(f"{i.name}: {what}", None if rc == 0 and places(out) == want and b"sum 21" in out else show(rc, out))


def place(i):
    check_place("each pod has its ranks, and their sum is right", i)


def plain(i):
    check_place("without namespaces, too", i, isolation="none")


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


def output(i):
    rc, out = Run(i, "output", "10000000").result()
    lines = [line.split(b"] ", 1)[-1] for line in out.splitlines()]
    got = [line for line in lines if re.fullmatch(rb"\d{99}", line)]
    check(f"{i.name}: 10 MB of output", None if rc == 0 and got == [b"%099d" % n for n in range(100000)]
          else f"{len(got)} lines of {len(lines)}\n" + show(rc, out))


def ends(i, what, end):
    """`end` kills something of a job whose ranks wait."""
    run = Run(i, "wait")
    if run.has_ranks():
        end(run)
        rc, out = run.result()
    else:
        rc, out = 0, b"the ranks did not start\n"
        run.process.kill()
        out += run.result()[1]
    gone = until(lambda: not ranks_with(run.mark))
    check(f"{i.name}: {what} is killed, the job fails, nothing is left",
          None if rc and gone else f"left: {ranks_with(run.mark)}\n" + show(rc, out))


def kill_one(name):
    def end(run):
        for pid in run.children(name)[:1]:
            os.kill(pid, signal.SIGKILL)
    return end


def worker(i):
    ends(i, "a node", kill_one("mpi-worker"))


def mpirun(i):
    ends(i, "mpirun", kill_one(os.path.basename(i.mpirun)))


def submit(i):
    ends(i, "submit", lambda run: run.process.kill())


# A machine with loopback alone, and with an sshd where a node's own would listen. "$1": what else it has.
ALONE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", """
ip link set lo up; eval "$1"; mkdir -p /run/sshd
/usr/sbin/sshd -f /dev/null -p 2222 -h "$0" -o PidFile=none -o StrictModes=no -o AuthorizedKeysFile="$0.pub"
shift; exec "$@" """]
NETWORK = "ip link add v0 type veth peer name v1; ip addr add 10.88.0.1/24 dev v0; ip link set v0 up; ip link set v1 up"
# OpenSSH starts something on another host, by its name.
ELSEWHERE = """
echo 127.9.9.9 elsewhere >"$0.hosts"; echo 127.0.0.1 localhost $(hostname) >>"$0.hosts"
mount --bind "$0.hosts" /etc/hosts
printf '#!/bin/sh\nexec ssh -p 2222 -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "$@"\n' "$0" >"$0.ssh"
chmod +x "$0.ssh"; exec env PRTE_MCA_plm_ssh_agent="$0.ssh" "$@" """


def alone_with_openssh(i, key, network):
    p = subprocess.Popen([*ALONE, key, network, "sh", "-ec", ELSEWHERE, key, i.mpirun, "--host", "elsewhere:1", "-n", "1",
                          "echo", "there"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env={**ENV, "PATH": i.path, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                              "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    try:
        return p, p.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        return p, p.communicate()[0]


def alone(i):
    if os.geteuid() != 0:
        skip(f"{i.name}: a machine without a network", "needs root")
        return
    key = os.path.join(scratch, "host_key")
    if not os.path.exists(key):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    fault = FAULTS.get((i.name, "alone"))
    if not fault:
        check_place("a machine without a network, whose port 2222 is taken", i, within=[*ALONE, key, ""])
        return
    p, out = alone_with_openssh(i, key, "")
    check(f"{i.name}: without a network, with OpenSSH: {fault.why}",
          None if p.returncode and b"there" not in out else show(p.returncode, out))
    p, out = alone_with_openssh(i, key, NETWORK)
    check(f"{i.name}: ... with one it does", None if p.returncode == 0 and b"there" in out else show(p.returncode, out))
    check_place("a machine whose port 2222 is taken", i, within=[*ALONE, key, NETWORK])


ROWS = (place, plain, leave, kill, variables, output, worker, mpirun, submit, alone)
only = os.environ.get("ROW", "").split()
for i in implementations():
    for row in ROWS:
        if only and row.__name__ not in only:
            continue
        begin = time.monotonic()
        row(i)
        print(f"# {i.name} {row.__name__} {time.monotonic() - begin:.1f} s", flush=True)
finish()
