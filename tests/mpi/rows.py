"""The rows that every implementation passes, with one transport: called by test_worker.py and test_sshd.py."""
import collections
import hashlib
import os
import re
import subprocess
import threading
import time

from jobs import FAULTS, Job, implementations, ranks_with, until
from tap import check, skip

ODD = "it's \"odd\": $HOME `id` \\ \n second line"
LATE_S = 30


def show(rc, out):
    return f"exit status {rc}\n{out.decode(errors='replace')[-3000:]}"


def placed(out):
    return collections.Counter(re.findall(rb"rank \d+ of \d+ at (\S+) in", out))


def check_place(what, job, rc, out, slots=2):
    want = {p.hostname.encode(): slots for p in job.pods.values()}
    n = slots * len(want)
    good = rc == 0 and placed(out) == want and b"sum %d" % (n * (n + 1) // 2) in out
    check(what, None if good else show(rc, out) + job.log())


def place(what, job):
    check_place(f"{what}: each host has its ranks, and their sum is right", job, *job.run("place"))


def leave(what, job):
    rc, out = job.run("leave")
    check(f"{what}: ranks exit 3, and mpirun, too", None if rc == 3 else show(rc, out))


def exits(what, job):
    rc, out = job.run("exit")
    check(f"{what}: one rank exits 3, all end", None if rc == 3 else show(rc, out))


def kill(what, job):
    rc, out = job.run("kill")
    check(f"{what}: one rank is killed, all end", None if rc else show(rc, out))


def stdin(what, job):
    data = os.urandom(15000).hex().encode()
    # To a rank of another host: Open MPI's rank 0 is the launcher's.
    to = ("3", ("--stdin", "3")) if job.i.kind == "OpenMPI" else ("0", ())
    rc, out = job.run("stdin", to[0], data=data, options=to[1])
    want = b"read %d bytes, sum %d" % (len(data), sum(data))
    check(f"{what}: 30,000 bytes of input", None if rc == 0 and want in out else show(rc, out))


def output(what, job):
    rc, out = job.run("output", "10000000", stderr=subprocess.DEVNULL)
    want = b"".join(b"%099d\n" % i for i in range(100000))
    same = hashlib.sha256(out).digest() == hashlib.sha256(want).digest()
    check(f"{what}: 10 MB of output", None if rc == 0 and same else f"{len(out)} bytes, {rc}: {out[:500]} ... {out[-500:]}")


def variables(what, job):
    rc, out = job.run("env", "ODD", env={"ODD": ODD})
    check(f"{what}: a variable with quotes, dollar signs and newlines",
          None if rc == 0 and b"[" + ODD.encode() + b"]" in out else show(rc, out))


def launcher(what, job):
    p = job.mpirun("wait")
    started = job.wait_for_ranks(6)
    p.kill()
    p.wait()
    gone = until(lambda: not ranks_with(job.mark))
    check(f"{what}: the launcher is killed, no rank is left",
          None if started and gone else f"started {started}, left {ranks_with(job.mark)}\n" + job.log())


def worker(what, job):
    """The last row: a node is gone after it."""
    p = job.mpirun("wait")
    started = job.wait_for_ranks(6)
    reader = threading.Thread(target=lambda: setattr(job, "out", p.stdout.read()))
    reader.start()
    job.running[0].kill()
    if (job.i.name, "worker") in FAULTS and job.i.name == "mpich4":
        p.kill()
    ended = until(lambda: p.poll() is not None)
    p.kill()
    reader.join()
    gone = until(lambda: not ranks_with(job.mark))
    rc = p.returncode
    good = started and ended and gone and (rc or (job.i.name, "worker") in FAULTS)
    check(f"{what}: a node is killed, all end, mpirun fails",
          None if good else f"started {started}, ended {ended}, gone {gone}\n" + show(rc, job.out))


ROWS = [place, leave, exits, kill, stdin, output, variables, launcher, worker]
NAMES = {exits: "exit"}


def late(jobs):
    """Of all implementations at once: the nodes of each start LATE_S after its mpirun."""
    begun = [(job, job.mpirun("place")) for job in jobs]
    time.sleep(LATE_S)
    for job, _ in begun:
        job.start_nodes()
    for job, p in begun:
        out = p.communicate()[0]
        check_place(f"{job.i.name}: nodes that come up {LATE_S} s late are waited for", job, p.returncode, out)


# How mpirun starts daemons by way of other nodes, two by each. MPICH's starts all of them itself. Ranks
# that wait leave their core to the others: there are more than cores.
FAN_OUT = {
    "openmpi4": {"OMPI_MCA_routed_radix": "2", "OMPI_MCA_mpi_yield_when_idle": "1"},
    "openmpi5": {"PRTE_MCA_prte_rml_radix": "2", "PRTE_MCA_rml_base_radix": "2", "OMPI_MCA_mpi_yield_when_idle": "1"},
}


def agents_in(pod):
    count = 0
    for pid in pod.pids():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                count += f.read().split(b"\0")[0].endswith(b"/mpi-launch")
        except OSError:
            pass
    return count


def tree(i, transport):
    """Eight nodes, of which two at most are the launcher's own to start."""
    job = Job(i, transport, nodes=9).start_nodes()
    job.env.update(FAN_OUT[i.name])
    p = job.mpirun("wait")
    started = job.wait_for_ranks(18)
    agents = [agents_in(pod) for pod in (job.launcher, *job.nodes)]
    p.kill()
    out = p.communicate()[0]
    good = started and agents[0] <= 2 and sum(agents) == 8
    check(f"{i.name}: eight nodes, fan-out 2: nodes start nodes",
          None if good else f"agents on launcher and nodes: {agents}\n" + show(p.returncode, out) + job.log())
    check_place(f"{i.name}: ... each has its ranks", job, *job.run("place"))
    job.end()


def rows(transport):
    only = os.environ.get("ROW")
    for i in implementations():
        job = Job(i, transport).start_nodes()
        for row in ROWS:
            name = NAMES.get(row, row.__name__)
            if only and name != only:
                continue
            fault = FAULTS.get((i.name, name))
            if fault and row is not worker:
                skip(f"{i.name}: {name}", fault)
            else:
                row(i.name, job)
        job.end()
