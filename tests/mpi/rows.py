"""The rows that every implementation passes, with one transport: called by test_worker.py and test_sshd.py."""
import collections
import hashlib
import os
import re
import signal
import subprocess
import time

from faults import FAULTS, HANG, HANG_HOSTS, HANGS, hangs_at_end, patiently
from jobs import PATIENCE, Job, chosen, implementations, printable, ranks_with, until
from tap import check, skip

ODD = "it's \"odd\": $HOME `id` \\ \n second line"
LATE_S = 30


def show(rc, out):
    end = "did not end" if rc is None else f"exit status {rc}"
    return f"{end}\n{printable(out)}"


def placed(out):
    return collections.Counter(re.findall(rb"rank \d+ of \d+ at (\S+) in", out))


def misplaced(job, rc, out):
    want = {p.hostname.encode(): job.slots for p in job.pods.values()}
    n = job.slots * len(want)
    good = rc == 0 and placed(out) == want and b"sum %d" % (n * (n + 1) // 2) in out
    return None if good else show(rc, out) + job.log()


# ---- rows: what is wrong, or None ----------------------------------------------------------------


def place(job):
    return misplaced(job, *job.run("place"))


def leave(job):
    rc, out = job.run("leave")
    return None if rc == 3 else show(rc, out)


def exits(job):
    """A rank that loses its connection to the one that exits may abort the job first, with a status of its own."""
    rc, out = job.run("exit")
    return None if rc == 3 or (rc and b"MPI_ERRORS_ARE_FATAL" in out) else show(rc, out)


def kill(job):
    rc, out = job.run("kill")
    return None if rc else show(rc, out)


def stdin(job):
    data = os.urandom(15000).hex().encode()
    # To a rank of another host: rank 0 is the launcher's, but MPICH's, which knows no other reader.
    to = {"OpenMPI": ("3", ("--stdin", "3")), "Intel": ("3", ("-s", "3")), "MPICH": ("0", ())}[job.i.kind]
    rc, out = job.run("stdin", to[0], data=data, options=to[1])
    want = b"read %d bytes, sum %d" % (len(data), sum(data))
    return None if rc == 0 and want in out else show(rc, out)


def output(job):
    """Through a pipe, as a container's is."""
    want = b"".join(b"%099d\n" % i for i in range(100000))
    p = job.popen("output", str(len(want)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    job.hung = False
    try:
        out = p.communicate(timeout=job.patience)[0]
    except subprocess.TimeoutExpired:
        job.hung = True
        p.kill()
        return f"did not end; then {len(p.communicate()[0])} bytes"
    same = hashlib.sha256(out).digest() == hashlib.sha256(want).digest()
    return None if p.returncode == 0 and same else f"{len(out)} bytes, {p.returncode}: {out[:500]} ... {out[-500:]}"


def variables(job):
    rc, out = job.run("env", "ODD", env={"ODD": ODD})
    return None if rc == 0 and b"[" + ODD.encode() + b"]" in out else show(rc, out)


def launcher(job):
    p = job.mpirun("wait")
    started = job.wait_for_ranks(6)
    p.kill()
    gone = job.wait_for_none()
    return None if started and gone else \
        f"started {started}, left {ranks_with(job.mark)}\n" + show(None, p.output()) + job.log()


def worker(job):
    """The last row: a node is gone after it."""
    p = job.mpirun("wait")
    started = job.wait_for_ranks(6)
    job.node_processes[0].kill()
    rc = p.wait()
    gone = job.wait_for_none()
    return None if started and rc and gone else f"started {started}, left {ranks_with(job.mark)}\n" + show(rc, p.output())


ROWS = {
    "place": (place, "each host has its ranks, and their sum is right"),
    "leave": (leave, "ranks exit 3, and mpirun, too"),
    "exit": (exits, "one rank exits 3, all end"),
    "kill": (kill, "one rank is killed, all end"),
    "stdin": (stdin, "30,000 bytes of input"),
    "output": (output, "10 MB of output"),
    "variables": (variables, "a variable with quotes, dollar signs and newlines"),
    "launcher": (launcher, "the launcher is killed, no rank is left"),
    "worker": (worker, "a node is killed, all end, mpirun fails"),
}


def check_fault(i, row, job, fault):
    """With our agent: what the fault is does not matter, nor does mpirun. No rank is left."""
    fault.shows(job)
    check(f"{i.name}: {row}: {fault.why}; nothing is left",
          None if job.wait_for_none() else str(ranks_with(job.mark)))


def check_openssh(i):
    """Its faults are its own: they are the same with OpenSSH's client."""
    known = [(row, FAULTS[i.name, row]) for row in ROWS if (i.name, row) in FAULTS]
    if not known:
        return
    job = Job(i, "openssh").start_nodes()
    for row, fault in known:
        check(f"{i.name}: {row}, with OpenSSH: {fault.why}", fault.shows(job))
        job.wait_for_none()
    job.end()


def check_hang(i):
    """What rows are run again for happens with OpenSSH's client, too."""
    if i.name not in HANGS:
        return
    job = Job(i, "openssh", nodes=HANG_HOSTS, slots=1).start_nodes()
    check(f"{i.name}: with OpenSSH, {HANG_HOSTS} hosts: {HANGS[i.name]}", hangs_at_end(job))
    job.end()


def rows(transport):
    for i in implementations():
        job = Job(i, transport).start_nodes()
        job.prefix = job.watch
        job.patience = HANG if i.name in HANGS else PATIENCE
        for name in chosen(ROWS, i, 2 if transport == "ssh" else 0):
            begin = time.monotonic()
            row, what = ROWS[name]
            fault = FAULTS.get((i.name, name))
            if fault and not fault.watched:
                check_fault(i, name, job, fault)
            else:
                check(f"{i.name}: {what}", patiently(i, lambda: (row(job), job.hung)))
            print(f"# {i.name} {name} {time.monotonic() - begin:.1f} s", flush=True)
        job.end()
        if (i.name, "worker") in FAULTS:
            lost(i, transport)


def lost(i, transport):
    """The fault of row worker, for certain: mpirun returns 0, what runs it does not. REPEAT: so many times."""
    for n in range(int(os.environ.get("REPEAT", "1"))):
        job = Job(i, transport).start_nodes()
        job.prefix = job.watch
        p = job.mpirun("wait")
        started = job.wait_for_ranks(6)
        for pid in job.agents():
            os.kill(pid, signal.SIGSTOP)
        job.node_processes[n % len(job.nodes)].kill()
        rc = p.wait()
        gone = job.wait_for_none()
        good = started and rc == 255 and gone and b"exit status 0, but 1 of 2 nodes were lost" in p.output()
        check(f"{i.name}: mpirun returns 0 when it loses a node, the launcher 255", None if good else
              f"started {started}, left {ranks_with(job.mark)}\n" + show(rc, p.output()))
        job.end()


# ---- nodes that are late -------------------------------------------------------------------------


def late(jobs, others=()):
    """
    The nodes of each start LATE_S after its mpirun, of all implementations at once. `others`: jobs with
    OpenSSH's client, which has given up by then.
    """
    begun = [(job, job.mpirun("place")) for job in (*jobs, *others)]
    time.sleep(LATE_S)
    for job, p in begun:
        if job in others:
            fault = FAULTS.get((job.i.name, "late"))
            failed = p.wait() if p.ended() else None
            check(f"{job.i.name}: with OpenSSH they are not waited for" + (f": {fault.why}" if fault else ""),
                  None if (failed is None if fault else failed) else show(failed, p.output()))
            p.kill()
        else:
            job.start_nodes()
    for job, p in begun:
        if job not in others:
            # Ranks that hang at their end turn all processors until they are killed.
            if job.i.name in HANGS and until(lambda p=p: b"\nsum " in p.output() or p.ended()):
                job.patience = HANG
            rc = p.wait(job.patience)
            hung = rc is None and job.i.name in HANGS
            check(f"{job.i.name}: nodes that come up {LATE_S} s late are waited for",
                  misplaced(job, 0 if hung else rc, p.output()))


# ---- trees ---------------------------------------------------------------------------------------

# How mpirun starts daemons by way of other nodes, two by each. MPICH's starts all of them itself. Ranks
# that wait leave their core to the others: there are more than cores.
FAN_OUT = {
    "openmpi4": {"OMPI_MCA_routed_radix": "2", "OMPI_MCA_mpi_yield_when_idle": "1"},
    "openmpi5": {"PRTE_MCA_prte_rml_radix": "2", "PRTE_MCA_rml_base_radix": "2", "OMPI_MCA_mpi_yield_when_idle": "1"},
    "intel": {"I_MPI_HYDRA_BRANCH_COUNT": "2"},
}


def tree(i, transport, hosts=8, fan_out=2, slots=2, env=None):
    """
    So many nodes, of which the launcher starts `fan_out` at most itself. One of those that Intel MPI's
    starts is its own proxy, which starts as many.
    """
    most = 2 * fan_out - 1 if i.kind == "Intel" else fan_out
    job = Job(i, transport, nodes=hosts + 1, slots=slots).start_nodes()
    job.env.update(FAN_OUT[i.name] if env is None else env)
    p = job.mpirun("wait")
    started = job.wait_for_ranks((hosts + 1) * slots)
    agents = [len(pod.pids("mpi-launch")) for pod in (job.launcher, *job.nodes)]
    until(lambda: b"\nsum " in p.output() or p.ended())
    p.kill()
    good = started and agents[0] <= most and sum(agents) == hosts
    check(f"{i.name}: {hosts} nodes, fan-out {fan_out}: nodes start nodes",
          None if good else f"agents on launcher and nodes: {agents}\n" + show(None, p.output()) + job.log())
    check(f"{i.name}: ... each has its ranks", misplaced(job, 0, p.output()))
    check(f"{i.name}: ... nothing is left of them", None if job.wait_for_none() else str(ranks_with(job.mark)))
    if i.name not in HANGS:
        check(f"{i.name}: ... and they end", place(job))
    job.end()
