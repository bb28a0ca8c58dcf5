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

from faults import FAULTS, HANG, HANGS, patiently
from jobs import PATIENCE, PROGRAM, chosen, implementations, job_yaml, printable, ranks_with, scratch, until
from processes import marked
from tap import check, finish, skip

ENV = dict(os.environ, XDG_STATE_HOME=os.path.join(scratch, "state"))
ODD = "it's \"odd\": `id` \\ \n second line"


# docs/mpi.md says so of MPICH 5; Debian's MPICH 4 hangs with this.
FAULT_ENV = {"mpich5": {"FI_PROVIDER": "tcp;ofi_rxm"}}


class Run:
    count = 0

    def __init__(self, i, *words, options=(), env=None, isolation=None, within=()):
        Run.count += 1
        self.i, self.name, self.mark = i, f"j{Run.count}", f"{os.path.basename(scratch)}-l{Run.count}"
        env = {"MARK": self.mark, **FAULT_ENV.get(i.name, {}), **(env or {})}
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
            out = self.process.communicate(timeout=HANG if self.i.name in HANGS else PATIENCE)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None, self.process.communicate()[0]
        return self.process.returncode, out

    def has_ranks(self):
        return until(lambda: len(ranks_with(self.mark)) == 6 or self.process.poll() is not None) \
            and self.process.poll() is None

    def children(self, *names):
        """Processes of this run whose program, or script, is called one of these."""
        return [pid for pid, words in marked(f"/{self.name}/")
                if any(os.path.basename(word) in names for word in words[:2])]


def show(rc, out):
    end = "did not end" if rc is None else f"exit status {rc}"
    return f"{end}\n{printable(out)}"


def places(out):
    """pod -> how many ranks, for three pods of one job; what is random in its name is left out."""
    return Counter(re.sub(r"-[a-z0-9]{5}$", "", pod) for pod in re.findall(r" at \S+ in (\S+)", out.decode()))


def check_place(what, i, **where):
    def attempt():
        run = Run(i, "place", **where)
        rc, out = run.result()
        want = {f"{run.name}-{pod}": 2 for pod in ("launcher-0-0", "node-0-0", "node-0-1")}
        return None if rc == 0 and places(out) == want and b"sum 21" in out else show(rc, out), rc is None
    check(f"{i.name}: {what}", patiently(i, attempt))


def check_run(i, what, good, *words, **options):
    def attempt():
        rc, out = Run(i, *words, **options).result()
        return None if good(rc, out) else show(rc, out), rc is None
    check(f"{i.name}: {what}", patiently(i, attempt))


def place(i):
    check_place("each pod has its ranks, and their sum is right", i)


def plain(i):
    check_place("without namespaces, too", i, isolation="none")


def leave(i):
    check_run(i, "ranks exit 3, and the job, too", lambda rc, out: rc == 3, "leave")


def kill(i):
    check_run(i, "one rank is killed, the job fails", lambda rc, out: rc, "kill")


def variables(i):
    def good(rc, out):
        lines = [line.split("] ", 1)[-1] for line in out.decode().splitlines()]
        return rc == 0 and all(want in lines for want in f"[{ODD}]".split("\n"))
    check_run(i, "a variable with quotes and newlines", good, "env", "ODD", env={"ODD": ODD})


def output(i):
    def good(rc, out):
        lines = [line.split(b"] ", 1)[-1] for line in out.splitlines()]
        got = [line for line in lines if re.fullmatch(rb"\d{99}", line)]
        return rc == 0 and got == [b"%099d" % n for n in range(100000)]
    check_run(i, "10 MB of output", good, "output", "10000000")


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


def kill_some(*names, count=None):
    def end(run):
        for pid in run.children(*names)[:count]:
            os.kill(pid, signal.SIGKILL)
    return end


def worker(i):
    ends(i, "a node", kill_some("mpi-worker", count=1))


def lose(run):
    """As worker(), and mpirun does not learn of it from its agents: Open MPI 5's then returns 0."""
    for pid in run.children("mpi-launch"):
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            if b"--watch" not in f.read().split(b"\0"):
                os.kill(pid, signal.SIGSTOP)
    kill_some("mpi-worker", count=1)(run)


def mpirun(i):
    ends(i, "mpirun", kill_some(os.path.basename(i.mpirun), "prterun"))


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


# Of three batch systems at once, whose node is another one, or whose file of nodes is not there.
ALLOCATION = ["env", "SLURM_JOB_ID=7", "SLURM_JOBID=7", "SLURM_STEP_ID=0", "SLURM_NNODES=1", "SLURM_NODELIST=n1",
              "SLURM_JOB_NODELIST=n1", "SLURM_STEP_NODELIST=n1", "SLURM_TASKS_PER_NODE=2", "SLURM_JOB_CPUS_PER_NODE=2",
              "PBS_JOBID=7", "PBS_ENVIRONMENT=PBS_BATCH", "PBS_NODEFILE=/nonexistent",
              "SGE_ROOT=/", "ARC=lx", "JOB_ID=7", "PE_HOSTFILE=/nonexistent"]


def allocation(i):
    check_place("in an allocation of Slurm, PBS or Grid Engine", i, within=ALLOCATION)
    as_root = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
    check_place("started by mpirun itself", i, within=[*as_root, i.mpirun, "-n", "1"])


ROWS = {row.__name__: row for row in (place, plain, leave, kill, variables, output, worker, mpirun, submit, alone,
                                      allocation)}
for i in implementations():
    for name in chosen(ROWS, i, 4):
        begin = time.monotonic()
        ROWS[name](i)
        print(f"# {i.name} {name} {time.monotonic() - begin:.1f} s", flush=True)
    if (i.name, "worker") in FAULTS:
        for _ in range(int(os.environ.get("REPEAT", "1"))):
            ends(i, "a node, and mpirun returns 0,", lose)
finish()
