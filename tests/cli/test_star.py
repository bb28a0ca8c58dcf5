#!/usr/bin/env python3
"""runtime supervise --ranks: supervisors that start, stop and start again together."""
import atexit
import concurrent.futures
import hashlib
import hmac
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from ports import free_port
from tap import check, finish

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
scratch = tempfile.TemporaryDirectory()
LIMIT_S = 120  # for conditions that never come true
mine, parts = threading.local(), []


def part(function):
    """All of these run at the same time: most of what they do is to wait. Each one's checks are shown together."""
    parts.append(function)
    return function


def is_(what, got, want):
    mine.checks.append((what, None if got == want else f"got {got!r}, expected {want!r}"))


def checks_of(function):
    mine.checks = []
    function()
    return mine.checks


def make_key(name):
    path = os.path.join(scratch.name, name)
    pem = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                         check=True, capture_output=True).stdout
    with open(path, "wb") as f:
        f.write(pem)
    return path


KEY = make_key("key")
OTHER = make_key("other")


def until(condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Rank:
    """A supervisor with a command, in a session of their own; what they print is in a file."""
    all = []

    def __init__(self, world, rank, script, *options, key=KEY, ranks=None, port=None, err=None):
        self.path = os.path.join(scratch.name, f"rank{rank}.{time.monotonic_ns()}")
        env = dict(os.environ, JOB_COMPLETION_INDEX=str(rank), RANK=str(rank), WORK=world.work)
        with open(self.path, "wb") as out:
            self.p = subprocess.Popen(
                [PROGRAM, "runtime", "supervise", "--message", "/dev/null", "--ranks", str(ranks or world.ranks),
                 "--hub", "127.0.0.1", "--port", str(port or world.port), "--key", key, "--restart-grace", "300ms",
                 *options, "--", "sh", "-c", script], stdout=out, stderr=err or out, env=env, start_new_session=True)
        Rank.all.append(self)

    def text(self):
        with open(self.path) as f:
            return f.read()

    def saw(self, text):
        return until(lambda: text in self.text())

    def wait(self):
        try:
            return self.p.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"still running after {LIMIT_S} s"

    def has_reported(self):
        """The command's end: it has been reaped, and the supervisor waits for what comes next."""
        def state():
            with open(f"/proc/{self.p.pid}/stat") as f:
                return f.read().rsplit(") ")[-1][0]
        return until(lambda: subprocess.run(["pgrep", "-P", str(self.p.pid)], capture_output=True).returncode and state() == "S")

    def lose(self):
        """As the end of a pod: nothing is left, and nothing was said."""
        children = subprocess.run(["pgrep", "-P", str(self.p.pid)], capture_output=True, text=True).stdout.split()
        self.p.kill()
        for pid in children:
            os.kill(int(pid), signal.SIGKILL)
        self.p.wait()


@atexit.register
def end():  # however this ends
    for rank in Rank.all:
        if rank.p.poll() is None:
            rank.lose()


class World:
    def __init__(self, ranks, script, *options):
        self.ranks, self.port, self.script, self.options = ranks, free_port(), script, options
        self.work = tempfile.mkdtemp(dir=scratch.name)
        self.rank = [Rank(self, i, script, *options) for i in range(ranks)]

    def again(self, i):
        self.rank[i] = Rank(self, i, self.script, *self.options)

    def codes(self):
        return [r.wait() for r in self.rank]

    def texts(self):
        return [r.text() for r in self.rank]


# Waits for $WORK/end, so that no rank succeeds before the others have been disturbed.
RUN = 'echo "run $KFTRAINER_RESTART"; while [ ! -e $WORK/end ]; do sleep 0.02; done; '


def end(w):
    open(os.path.join(w.work, "end"), "w").close()


# ---- restarts ------------------------------------------------------------------------
@part
def a_failure():
    w = World(3, 'echo "run $KFTRAINER_RESTART"; [ $RANK$KFTRAINER_RESTART = 10 ] && exit 5; [ $KFTRAINER_RESTART = 0 ] && exec sleep 60; :',
              "--restarts", "3")
    is_("one rank fails: all start again, and succeed", w.codes(), [0, 0, 0])
    is_("... each twice, with its number", [re.findall("run .", t) for t in w.texts()], [["run 0", "run 1"]] * 3)
    is_("... said by rank 0 alone", ["rank 1 ended with status 5; restart 1 of at most 3" in t for t in w.texts()], [True, False, False])


@part
def the_last_restart():
    w = World(2, '[ $RANK = 1 ] && { echo "run $KFTRAINER_RESTART"; exit 7; }; trap "exit 9" TERM; while :; do sleep 0.02; done', "--restarts", "2")
    is_("after the last restart a rank ends with its status", w.rank[1].wait(), 7)
    is_("... after so many starts", w.rank[1].text().count("run"), 3)
    is_("... and the others are left alone", w.rank[0].saw("not started again: no restart is left") and w.rank[0].p.poll(), None)
    w.rank[0].p.terminate()
    is_("... until they are ended", w.rank[0].wait(), 9)


@part
def what_is_final():
    w = World(2, '[ $RANK = 1 ] && exit 3; exec sleep 60', "--restarts", "2", "--final", "3")
    is_("a final exit code", w.rank[1].wait(), 3)
    w.rank[0].p.terminate()
    w.rank[0].wait()
    w = World(2, '[ $RANK = 1 ] && { echo "ModuleNotFoundError: No module named x" >&2; exit 1; }; exec sleep 60', "--restarts", "2")
    is_("a module that is missing", (w.rank[1].wait(), w.rank[0].saw("not started again: it would end so again")), (1, True))
    w.rank[0].p.terminate()
    w.rank[0].wait()


@part
def after_success():
    # A rank that has succeeded is needed again when another fails later.
    w = World(2, 'echo "run $KFTRAINER_RESTART"; [ $RANK = 0 ] && exit 0; [ $KFTRAINER_RESTART = 1 ] && exit 0; '
              'while [ ! -e $WORK/end ]; do sleep 0.02; done; exit 4', "--restarts", "1")
    w.rank[0].saw("run 0")
    end(w)
    is_("a rank that had succeeded starts again with the others", (w.codes(), w.rank[0].text().count("run")), ([0, 0], 2))


# ---- what is lost comes back -----------------------------------------------------------
@part
def what_is_lost():
    w = World(3, RUN, "--restarts", "0")
    for r in w.rank:
        r.saw("run 0")
    w.rank[2].lose()
    w.again(2)
    is_("a lost rank rejoins, and all start again", [r.saw("run 1") for r in w.rank], [True] * 3)
    is_("... which does not count", w.rank[0].saw("restart 1, which does not count"), True)
    w.rank[0].lose()
    w.again(0)
    is_("rank 0, too: its successor knows the number", [r.saw("run 2") for r in w.rank], [True] * 3)
    end(w)
    is_("... and the job succeeds", w.codes(), [0, 0, 0])


@part
def what_is_evicted_or_silent():
    w = World(2, RUN, "--restarts", "0")
    for r in w.rank:
        r.saw("run 0")
    w.rank[1].p.terminate()
    is_("a rank that is evicted ends", w.rank[1].wait(), 143)
    w.again(1)
    is_("... comes back, and all start again", [r.saw("run 1") for r in w.rank], [True] * 2)
    os.kill(w.rank[1].p.pid, signal.SIGSTOP)  # its command runs on
    is_("a rank that is silent for 10 seconds is gone", w.rank[0].saw("rank 1 is gone; restart 2, which does not count"), True)
    os.kill(w.rank[1].p.pid, signal.SIGCONT)
    is_("... and starts again with the others once it is heard", [r.saw("run 2") for r in w.rank], [True] * 2)
    end(w)
    is_("... to the end", w.codes(), [0, 0])


@part
def lost_as_all_have_succeeded():
    """Rank 1 has ended, and its node is lost before the hub notices that; its pod's successor comes once all have succeeded."""
    w = World(3, '[ $RANK != 0 ] || { ' + RUN + '}; echo done')
    is_("a rank has done its work", [w.rank[i].saw("done") and w.rank[i].has_reported() for i in (1, 2)], [True] * 2)
    os.kill(w.rank[1].p.pid, signal.SIGSTOP)
    end(w)
    is_("... and is silent as all have succeeded: the others do not wait", w.rank[2].wait(), 0)
    is_("... but rank 0 does", w.rank[0].saw("all have succeeded, but rank 1 has left before it knew"), True)
    w.rank[1].p.kill()
    w.again(1)
    is_("... until its successor succeeds, which does nothing", (w.codes(), w.rank[1].text()), ([0, 0, 0], ""))


@part
def all_ended():
    w = World(2, RUN)
    w.rank[0].saw("run 0")
    os.kill(w.rank[0].p.pid, signal.SIGTERM)
    os.kill(w.rank[1].p.pid, signal.SIGTERM)
    is_("all are ended at once", w.codes(), [143, 143])


# ---- stalls ------------------------------------------------------------------------------
PYTHON = """
import os, sys, threading, time
def step():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
def load_batch():
    time.sleep(600)
print("run", os.environ["KFTRAINER_RESTART"], flush=True)
if os.environ["KFTRAINER_RESTART"] == "1":
    sys.exit(0)
if sys.argv[1:]:
    import subprocess
    children = [subprocess.Popen([sys.executable, sys.argv[0]], env=dict(os.environ, RANK=str(10 + i)), start_new_session=True) for i in range(2)]
    sys.exit(max(abs(c.wait()) for c in children))
load_batch() if os.environ["RANK"] in "1" else step()
"""
with open(os.path.join(scratch.name, "train.py"), "w") as f:
    f.write(PYTHON)
TALK = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do sleep 0.3; %s; done; "


@part
def a_stall():
    w = World(3, f"exec {sys.executable} {scratch.name}/train.py", "--restarts", "1", "--stall-after", "200ms")
    is_("a job that stalls starts again", (w.codes(), [re.findall("run .", t) for t in w.texts()]), ([0, 0, 0], [["run 0", "run 1"]] * 3))
    text = w.rank[0].text()
    is_("... which rank 0 says", (int(re.search(r"stalled: no output and no progress of any rank for (\d+) s", text)[1]) >= 3,
                                  "after the stall: restart 1 of at most 1" in text), (True, True))
    is_("... with the stack of the odd one first, and those of the others together",
        re.findall("the stack of (.*):\n.*:   ([a-z_]+)", text), [("rank 1 (1 of 3 processes)", "load_batch"), ("rank 0, rank 2 (2 of 3 processes)", "step")])
    is_("each rank says where its processes are",
        [bool(re.search(r"process \d+ \(python[^)]*\): state S(, in \w+)?, \d+\.\d s of CPU", t)) for t in w.texts()], [True] * 3)


@part
def a_launcher_that_stalls():
    w = World(2, f"exec {sys.executable} {scratch.name}/train.py launcher", "--restarts", "1", "--stall-after", "200ms")
    w.codes()
    text = w.rank[0].text()
    is_("a launcher's workers, in their own sessions, too, by their RANK",
        sorted(x for x in re.findall(r"rank \d \(RANK=\d+\)", text) if "stack" not in x),
        ["rank 0 (RANK=10)", "rank 0 (RANK=11)", "rank 1 (RANK=10)", "rank 1 (RANK=11)"])
    is_("... whose stacks do not mix", text.count("  step (train.py:"), 1)


@part
def a_stall_whose_stack_comes_late():
    with open(os.path.join(scratch.name, "late.sh"), "w") as f:
        f.write("""trap 'sleep 2; printf "Current thread 0x1 (most recent call first):\\n  File \\"a.py\\", line 3 in late\\n"; exit 134' ABRT
echo "run $KFTRAINER_RESTART"; [ "$KFTRAINER_RESTART" = 1 ] || while :; do sleep 1; done""")
    w = World(2, f"exec sh {scratch.name}/late.sh", "--restarts", "1", "--stall-after", "200ms")
    w.codes()
    is_("a process that takes two seconds for its stack has them, where few share the time",
        re.findall(r"the stack of (.*):\n.*:   (\w+) \(a.py:3\)", w.rank[0].text()), [("rank 0, rank 1 (2 of 2 processes)", "late")])


@part
def a_stall_without_abrt():
    w = World(2, 'echo "run $KFTRAINER_RESTART"; trap "" ABRT; [ $KFTRAINER_RESTART = 1 ] || while :; do sleep 1; done', "--restarts", "1", "--stall-after", "200ms")
    is_("a command that ignores ABRT is ended by TERM or KILL", w.codes(), [0, 0])


@part
def a_stall_without_a_restart():
    w = World(2, f"exec {sys.executable} {scratch.name}/train.py", "--stall-after", "200ms")
    is_("without a restart left, a rank that stalls ends by its ABRT", w.codes(), [134, 134])


@part
def no_stall():
    w = World(2, '[ $RANK = 0 ] && { ' + TALK % "echo $i" + 'exit 0; }; sleep 4', "--restarts", "1", "--stall-after", "200ms")
    is_("while one rank writes, none has stalled", (w.codes(), "stalled" in w.rank[0].text()), ([0, 0], False))
    w = World(2, f'[ $RANK = 0 ] && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do sleep 0.3; head -c 2000000 /dev/zero >>{scratch.name}/saved; done; sleep 1',
              "--restarts", "1", "--stall-after", "200ms")
    is_("... nor while one writes a file, as a checkpoint", (w.codes(), "stalled" in w.rank[0].text()), ([0, 0], False))
    w = World(2, "sleep 3", "--stall-after", "never")
    is_("never is never", (w.codes(), "stalled" in w.rank[0].text()), ([0, 0], False))


# ---- strangers -------------------------------------------------------------------------
def psk(path):
    """As psk_key() derives it: HKDF-SHA-256 of the private key."""
    der = subprocess.run(["openssl", "pkey", "-in", path, "-outform", "DER"], check=True, capture_output=True).stdout
    der = subprocess.run(["openssl", "pkcs8", "-topk8", "-nocrypt", "-inform", "DER", "-outform", "DER"],
                         input=der, check=True, capture_output=True).stdout
    prk = hmac.new(bytes(32), der, hashlib.sha256).digest()
    return hmac.new(prk, INFO + b"\1", hashlib.sha256).hexdigest()


INFO = b"kftrainer supervise v1"


def drain(s):
    s.settimeout(LIMIT_S)
    try:
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096):
            pass
    except OSError:  # the other side has ended it
        pass


def message(kind, *numbers):
    return bytes([1 + 4 * len(numbers), kind]) + b"".join(struct.pack(">I", n) for n in numbers)


def openssl(port, data, key=KEY, version="-tls1_3"):
    """A client that has a key: sends data, and returns what the hub answers until it closes."""
    p = subprocess.Popen(["openssl", "s_client", "-quiet", version, "-connect", f"127.0.0.1:{port}", "-psk_identity", INFO.decode(),
                          "-psk", psk(key), "-cipher", "PSK"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdin.write(data)
    p.stdin.flush()
    return p


STATE = message(2, 2, 0, 0, 0, 0, 0, 0)


@part
def bad_messages():
    w = World(2, RUN, "--restarts", "1")
    for r in w.rank:
        r.saw("run 0")
    hub = w.rank[0]
    p = openssl(w.port, message(1, 3, 1, 2) + STATE)
    is_("another version is refused, and told so", (hub.saw("another version of the protocol; this program has version 2"), p.stdout.read(6)),
        (True, message(5, 1)))
    p.kill()
    for what, data, text in (("another number of ranks", message(1, 2, 1, 3), "not a rank of this job"),
                             ("rank 0", message(1, 2, 0, 2), "not a rank of this job"),
                             ("a state before its rank", STATE, "unexpected message of type 2"),
                             ("a sign before its rank", message(6, 0, 9, 9, 9), "unexpected message of type 6"),
                             ("a stack of no rank", message(7, 0), "unexpected message of type 7"),
                             ("progress beyond 100 %", message(6, 0, 9, 101, 9), "invalid message: 101 in type 6"),
                             ("an order", message(3, 3, 9, 9, 0, 0, 0, 0, 0, 0), "unexpected message of type 3"),
                             ("a message of no type", b"\1\x63", "unknown message type 99"),
                             ("a message that is too long", b"\xff" * 300, "invalid message of 255 bytes")):
        before = hub.text().count("refused")
        p = openssl(w.port, data)
        until(lambda: hub.text().count("refused") > before)
        is_(f"{what} is refused in one line", (hub.text().count("refused") - before, text in hub.text()), (1, True))
        p.kill()
    end(w)
    is_("... and the job does not notice", (w.codes(), "run 1" in hub.text()), ([0, 0], False))


@part
def strangers():
    w = World(2, RUN, "--restarts", "1")
    for r in w.rank:
        r.saw("run 0")
    hub = w.rank[0]
    for what, key, version in ("another job's supervisor", OTHER, "-tls1_3"), ("an older TLS", KEY, "-tls1_2"):
        before = hub.text().count("refused a connection from 127.0.0.1")
        p = openssl(w.port, b"", key, version)
        p.wait()
        is_(f"{what} is refused", until(lambda: hub.text().count("refused a connection from 127.0.0.1") > before), True)
    for what, data in ("bytes that are no TLS", b"GET / HTTP/1.1\r\n\r\n" * 9), ("a message in the clear", message(1, 2, 1, 2) + STATE):
        before = hub.text().count("refused a connection")
        with socket.create_connection(("127.0.0.1", w.port)) as s:
            s.sendall(data)
            drain(s)
        is_(f"{what}: refused", until(lambda: hub.text().count("refused a connection") > before), True)
    impostor = Rank(w, 1, "echo started", key=OTHER)
    is_("a supervisor with another key says so", impostor.saw("does not have the key of this job"), True)
    impostor.p.terminate()
    is_("... and its command does not start", (impostor.wait(), "started" in impostor.text()), (143, False))
    end(w)
    is_("the job does not notice them", (w.codes(), "run 1" in hub.text()), ([0, 0], False))


@part
def what_is_said_to_nobody():
    w = World.__new__(World)
    w.ranks, w.port, w.work = 2, free_port(), tempfile.mkdtemp(dir=scratch.name)
    read, write = os.pipe()
    w.rank = [Rank(w, 0, RUN, err=write), Rank(w, 1, RUN)]
    os.close(write)
    for r in w.rank:
        r.saw("run 0")
    os.close(read)
    for _ in range(2):  # with the second, all that came of the first is done
        with socket.create_connection(("127.0.0.1", w.port)) as s:
            s.sendall(b"GET / HTTP/1.1\r\n\r\n" * 9)
            drain(s)
    end(w)
    is_("a supervisor whose own lines nobody reads does not end its command", w.codes(), [0, 0])


@part
def a_replay_and_a_flood():
    # What a rank said to the hub once, through a proxy that keeps it, is worth nothing a second time.
    w = World.__new__(World)
    w.ranks, w.port, w.work = 2, free_port(), tempfile.mkdtemp(dir=scratch.name)
    front = socket.create_server(("127.0.0.1", 0))
    said = []

    def proxy():
        near, _ = front.accept()
        far = socket.create_connection(("127.0.0.1", w.port))

        def pump(a, b, keep):
            try:
                while data := a.recv(65536):
                    if keep is not None:
                        keep.append(data)
                    b.sendall(data)
            except OSError:
                pass
            b.close()
        threading.Thread(target=pump, args=(far, near, None), daemon=True).start()
        pump(near, far, said)

    threading.Thread(target=proxy, daemon=True).start()
    w.rank = [Rank(w, 0, RUN, "--restarts", "1")]
    until(lambda: subprocess.run(["sh", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{w.port}"], executable="/bin/bash", stderr=subprocess.DEVNULL).returncode == 0)
    w.rank.append(Rank(w, 1, RUN, "--restarts", "1", port=front.getsockname()[1]))
    for r in w.rank:
        r.saw("run 0")
    before = w.rank[0].text().count("refused")
    with socket.create_connection(("127.0.0.1", w.port)) as s:
        s.sendall(b"".join(said))
        drain(s)
    is_("a replayed connection is refused", until(lambda: w.rank[0].text().count("refused") > before), True)

    flood = []
    for i in range(1000):
        try:
            flood.append(socket.create_connection(("127.0.0.1", w.port)))
        except OSError:
            break
    is_("1,000 connections are accepted or closed", len(flood), 1000)
    for s in flood[500:]:
        try:
            s.sendall(b"\x16\x03\x01\x02\x00")
        except OSError:
            pass
    is_("... told in ten lines", until(lambda: w.rank[0].text().count("refused a connection") >= 10), True)
    late = Rank(w, 1, RUN, "--restarts", "1")
    is_("... a rank gets in", w.rank[0].saw("rank 1 has a new pod"), True)
    is_("... and the lines of the flood remain few", w.rank[0].text().count("refused a connection") <= 25, True)
    for s in flood:
        s.close()
    for r in (*w.rank, late):
        r.p.terminate()
    for r in (*w.rank, late):
        r.wait()


# The longest first.
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for found in pool.map(checks_of, sorted(parts, key=lambda f: f not in (what_is_evicted_or_silent, a_replay_and_a_flood))):
        for found_check in found:
            check(*found_check)

# ---- bad input -------------------------------------------------------------------------
env = {k: v for k, v in os.environ.items() if k != "JOB_COMPLETION_INDEX"}
with open(os.path.join(scratch.name, "empty"), "w"):
    pass
for what, args, text in (
        ("no hub", ["--ranks", "2"], b"--ranks requires --hub and --key"),
        ("no rank", ["--ranks", "2", "--hub", "h", "--key", KEY], b"--ranks requires --rank, or JOB_COMPLETION_INDEX"),
        ("a rank too many", ["--ranks", "2", "--rank", "2", "--hub", "h", "--key", KEY], b"--rank: "),
        ("no key", ["--ranks", "2", "--rank", "1", "--hub", "h", "--key", "/nowhere"], b"--key /nowhere: "),
        ("an empty key", ["--ranks", "2", "--rank", "1", "--hub", "h", "--key", os.path.join(scratch.name, "empty")], b"not a private key")):
    r = subprocess.run([PROGRAM, "runtime", "supervise", *args, "--", "true"], capture_output=True, env=env)
    check(what, None if r.returncode in (1, 2) and text in r.stderr and r.stderr.count(b"\n") <= 2 else f"{r.returncode}: {r.stderr!r}")
finish()
