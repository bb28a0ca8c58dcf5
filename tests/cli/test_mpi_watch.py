#!/usr/bin/env python3
"""mpi-launch --watch: a command on this machine, and nodes that must not be lost before it ends."""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from mpi_ends import PATIENCE, PROGRAM, SSHD, Sshd, Worker, free_port, is_, marked, new_key, path, until
from tap import check, finish, skip

KEY = new_key("key")
PORT = free_port("0.0.0.0")  # on each of the addresses
ADDRESSES = [f"127.0.2.{i}" for i in (1, 2, 3)]
OWN = os.uname().nodename.split(".")[0]


def command(*words, hosts=None, timeout="20s"):
    name = tempfile.mktemp(dir=os.path.dirname(KEY))
    with open(name, "w") as f:
        f.write("".join(f"{h} slots=2\n" for h in hosts or [OWN, *ADDRESSES]))
    return [PROGRAM, "mpi-launch", "--watch", name, "-i", KEY, "-p", str(PORT), "--timeout", timeout, "--", *words]


def run(*words, data=b"", **options):
    return subprocess.run(command(*words, **options), input=data, capture_output=True, timeout=PATIENCE)


def lost(r):
    """The nodes that it names, each on a line, and the last line."""
    lines = r.stderr.decode().splitlines()
    return ([line.split("lost node ")[1].split(":")[0] for line in lines if "lost node " in line],
            lines[-1].split(", but ")[-1] if lines else "")


def during(act, *words, **options):
    """A command that has begun, and goes on until `act` is over; then its words run."""
    begun, go = path("begun"), path("go")
    for name in (begun, go):
        if os.path.exists(name):
            os.unlink(name)
    with subprocess.Popen(command("sh", "-c", f": >{begun}; until test -e {go}; do sleep 0.05; done; {' '.join(words)}",
                                  **options), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        until(lambda: os.path.exists(begun) or p.poll() is not None)
        act(p)
        with open(go, "w"):
            pass
        out, err = p.communicate(timeout=2 * PATIENCE)
        return subprocess.CompletedProcess(p.args, p.returncode, out, err)


workers = [Worker(KEY, host=a, port=PORT, env={"MARK": "watched"}) for a in ADDRESSES]


# ---- what takes its time: begun now, looked at in the end --------------------------------
slow = [Worker(KEY, host=a, port=PORT) for a in ("127.0.2.8", "127.0.2.9")]
deaf = subprocess.Popen(command("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done", hosts=["127.0.2.8"]),
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
deaf.stdout.readline()
slow[0].process.kill()
halted = subprocess.Popen(command("sh", "-c", f"kill -STOP {slow[1].process.pid}", hosts=["127.0.2.9"]),
                          stderr=subprocess.PIPE)


def kill(p):
    workers[1].process.kill()
    workers[1].process.wait()


def again(p):
    kill(p)
    workers[1] = Worker(KEY, host=ADDRESSES[1], port=PORT, env={"MARK": "watched"})


# ---- the command ---------------------------------------------------------------------
r = run("sh", "-c", "cat; echo err >&2; exit 3", data=b"in\n")
is_("its output, its errors, its status; no line of ours", (r.stdout, r.stderr, r.returncode), (b"in\n", b"err\n", 3))
is_("status 0, too", run("true").returncode, 0)
is_("the end of a signal", run("sh", "-c", "kill -9 $$").returncode, 137)
r = run("no-such-program")
is_("a program that is not there: 127", (r.returncode, r.stderr.decode()),
    (127, "kftrainer mpi-launch: no-such-program: No such file or directory\n"))
is_("a directory: 126", run("/").returncode, 126)
LOOK = ("sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | wc -l")
plain = subprocess.run(LOOK, stdin=subprocess.PIPE, capture_output=True, check=True).stdout
is_("it inherits no signal that we block or ignore, and no descriptor", run(*LOOK).stdout.decode().split(),
    plain.decode().split())
is_("no shell is left on the nodes", until(lambda: len(marked("watched")) == 3), True)
for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
    r = during(lambda p: p.send_signal(signum), f"echo not {signum.name}")
    is_(f"{signum.name} is passed on", (r.returncode, r.stdout), (128 + signum, b""))
for code, what in (3, "... and its own end of it counts"), (0, "... but not as a success: MPICH's mpirun and its ranks may save, and leave"):
    with subprocess.Popen(command("sh", "-c", f"trap 'exit {code}' TERM; echo up; while :; do sleep 0.05; done"),
                          stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        p.terminate()
        is_(what, p.wait(PATIENCE), code or 128 + signal.SIGTERM)
r = subprocess.run(["unshare", "-Urpf", "--mount-proc", *command(
    "sh", "-c", "(sh -c 'sleep 0.1' & exec true); (sleep 0.3); grep -l '^State:.Z' /proc/[0-9]*/status; echo none")],
    capture_output=True, timeout=PATIENCE)
if b"Operation not permitted" in r.stderr:
    skip("as PID 1 it reaps orphans", "no namespaces for this user")
else:
    is_("as PID 1 it reaps orphans", (r.stdout, r.returncode), (b"none\n", 0))

# ---- nodes ---------------------------------------------------------------------------
r = during(kill, "exit 0")
is_("a node is lost, and the command returns 0: 255, which node", (r.returncode, lost(r)),
    (255, (["127.0.2.2"], "1 of 3 nodes were lost before the end")))
r = during(kill, "true", hosts=[OWN])
is_("the machine's own name alone: nothing to watch", (r.returncode, r.stderr), (0, b""))
workers[1] = Worker(KEY, host=ADDRESSES[1], port=PORT, env={"MARK": "watched"})
r = during(again, "exit 0")
is_("a node that is back before the end was lost, too", (r.returncode, lost(r)[0]), (255, ["127.0.2.2"]))
r = during(kill, "exit 4")
is_("the command's own failure stays", (r.returncode, lost(r)[0]), (4, ["127.0.2.2"]))
r = run("true", timeout="4s")
is_("a host that is missing: 255 and the table, and nothing runs",
    (r.returncode, b"1 of 4 hosts cannot run commands" in r.stderr, b"127.0.2.2" in r.stderr), (255, True, True))
workers[1] = Worker(KEY, host=ADDRESSES[1], port=PORT)


def end_at_once(pid):
    with contextlib.suppress(ProcessLookupError):  # it ended with another one
        os.kill(pid, signal.SIGKILL)


def end_shell(p):
    for pid in marked("watched"):
        if pid not in [w.process.pid for w in workers]:
            end_at_once(pid)


r = during(end_shell, "exit 0")
is_("a node whose processes are killed is lost", (r.returncode, sorted(lost(r)[0])), (255, ["127.0.2.1", "127.0.2.3"]))
if SSHD:
    workers[1].stop()
    workers[1] = Sshd(KEY, host=ADDRESSES[1], port=PORT)
    r = run("echo", "here")
    is_("one of them may be an sshd", (r.stdout, r.stderr, r.returncode), (b"here\n", b"", 0))

    def kill_sessions(p):
        mine = [workers[1].process.pid]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) in mine:
                        mine.append(int(pid))
            except OSError:
                pass
        for pid in reversed(mine):
            end_at_once(pid)
        workers[1].process.wait()

    r = during(kill_sessions, "exit 0")
    is_("... and is lost when that is killed", (r.returncode, lost(r)[0]), (255, ["127.0.2.2"]))

text = deaf.communicate(timeout=2 * PATIENCE)[1].decode()
is_("a command that goes on without a node is ended", (deaf.returncode, "lost node 127.0.2.8" in text, "30 s after a node was lost" in text),
    (137, True, True))
text = halted.communicate(timeout=3 * PATIENCE)[1].decode()
is_("a node that does not answer in the end is lost", (halted.returncode, "127.0.2.9: no answer within 60 s" in text),
    (255, True))
slow[1].process.kill()
for worker in workers:
    worker.process.poll() is None and worker.stop()
finish()
