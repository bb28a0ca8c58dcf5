"""What the implementations get wrong themselves, whatever the agent.

FAULTS: (implementation, row of rows.py) -> Fault. `shows` runs what shows it, ends it, and says why it
was not seen, or None: tests want None of OpenSSH's client, so that a fault that is gone leaves the table.
`watched`: mpi-launch --watch makes up for it, and the row holds with our agent.
"""
import collections
import os
import signal
import time

from jobs import printable, until

SETTLE = 5  # seconds: what goes on for so long has not ended

Fault = collections.namedtuple("Fault", "why shows watched", defaults=[False])


def report(p, seen):
    return None if seen else f"exit status {p.process.poll()}\n{printable(p.output())}"


def goes_on(p, begun):
    """It has begun, and is then still there."""
    if begun:
        time.sleep(SETTLE)
    problem = report(p, begun and not p.ended())
    p.kill()
    return problem


def begun(p):
    return until(lambda: b"begin" in p.output() or p.ended()) and b"begin" in p.output()


def others_go_on(job):
    """Now and then Hydra's proxy fails at once, with an assertion of its own (!closed): one of RUNS shows it."""
    for _ in range(RUNS):
        p = job.mpirun("exit")
        problem = goes_on(p, begun(p))
        if not problem:
            return None
    return problem


def input_is_lost(job):
    p = job.mpirun("stdin", "3", data=b"x" * 30000, options=("--stdin", "3"))
    if until(lambda: b"begin" in p.output() or p.ended()):
        time.sleep(SETTLE)
    seen = b"begin" in p.output() and b"read 30000" not in p.output()
    p.kill()
    return report(p, seen)


def no_failure(job):
    """
    The last row of a job. mpirun learns of it from the daemon's connection or from its agent, whichever
    is first: here the agents are stopped.
    """
    p = job.mpirun("wait")
    started = job.wait_for_ranks(6)
    for pid in job.agents():
        os.kill(pid, signal.SIGSTOP)
    job.node_processes[0].kill()
    return report(p, started and p.wait() == 0)


FAULTS = {
    ("openmpi5", "stdin"): Fault("mpirun passes no input on to a rank of another host", input_is_lost),
    ("openmpi5", "worker"): Fault("mpirun may return 0 when it loses a node", no_failure, watched=True),
    ("mpich4", "exit"): Fault("mpirun waits for the ranks that go on after one exits 3", others_go_on),
    ("mpich5", "exit"): Fault("mpirun waits for the ranks that go on after one exits 3", others_go_on),
    # What late() of rows.py and alone() of test_local.py see.
    ("openmpi5", "alone"): Fault("it starts no daemon where there is loopback alone", None),
    ("mpich4", "late"): Fault("mpirun hangs when an agent fails", None),
}

# What hangs now and then, more on a busy machine, whatever the agent: such a run is begun again.
# MPICH 4: a rank waits in MPI_Finalize for its peers over UCX; they wait in PMI's barrier, where they answer
# nobody. Hardly a job of HANG_HOSTS ends, with mpi-launch or with OpenSSH's client: rows.check_hang() shows it.
HANGS = {
    "mpich4": "ranks hang in MPI_Finalize",
}
HANG = 45  # seconds
HANG_HOSTS = 24
RUNS = 5


def hangs_at_end(job):
    """A run whose ranks have printed all they do, their sum as well, and that then does not end."""
    for _ in range(RUNS):
        p = job.mpirun("place")
        if not until(lambda: b"\nsum " in p.output() or p.ended()) or b"\nsum " not in p.output():
            return report(p, False)
        if p.wait(HANG) is None:
            return None
    return f"{RUNS} runs ended"


def patiently(i, attempt):
    """attempt(): (what is wrong or None, did it hang?)."""
    for again in range(RUNS):
        problem, hung = attempt()
        if not problem or not hung or i.name not in HANGS:
            break
        print(f"# {i.name}: {HANGS[i.name]}: run {again + 1} of {RUNS}", flush=True)
    return problem
