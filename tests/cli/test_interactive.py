#!/usr/bin/env python3
"""`submit --local -i`: the process has the terminal; input(), pdb, Ctrl-D, Ctrl-C, its size; what comes back."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
DEBUGGED = """
import sys
x = 41
print(sys.stdin.isatty(), sys.stdout.isatty(), input("name? "))
breakpoint()
x += 1
print("x is", x, flush=True)
print("read", repr(sys.stdin.readline()))
sys.exit(3)
"""
INTERRUPTED = """
import os, signal, time
caught = []
signal.signal(signal.SIGINT, lambda *_: caught.append(1))
print("wait: ", flush=True)
while not caught: time.sleep(0.05)
print("caught", os.tcgetpgrp(0) == os.getpgrp())
"""
# input() would not see a signal that comes just before it reads.
RESIZED = """
import os, signal, time
resized = []
signal.signal(signal.SIGWINCH, lambda *_: resized.append(1))
print("at first", os.get_terminal_size().columns, flush=True)
while not resized: time.sleep(0.05)
print("now", os.get_terminal_size().columns, flush=True)
input()
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("pid", flush=True)
while True: time.sleep(1)
"""


class Session:
    """A command on a terminal of its own."""

    def __init__(self, state, *args, env=None):
        self.leader, self.follower = pty.openpty()
        self.resize(77)
        self.before = termios.tcgetattr(self.follower)
        self.out = ""
        self.process = subprocess.Popen(
            [PROGRAM, *args], stdin=self.follower, stdout=self.follower, stderr=self.follower,
            env={**os.environ, "XDG_STATE_HOME": state, "TERM": "dumb", **(env or {})}, preexec_fn=self.become_leader)

    def become_leader(self):
        os.setsid()
        fcntl.ioctl(self.follower, termios.TIOCSCTTY, 0)

    def resize(self, columns):
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self):
        if select.select([self.leader], [], [], 0.1)[0]:
            self.out += os.read(self.leader, 65536).decode()
            return True
        return False

    def expect(self, text, keys=b""):
        """Types the keys once the text has come after what was expected before; False: it ended without."""
        while text not in self.out:
            if not self.read() and self.process.poll() is not None:
                return False
        self.out = self.out[self.out.index(text) + len(text):]
        os.write(self.leader, keys)
        return True

    def end(self):
        while self.read() or self.process.poll() is None:
            pass
        return self.process.wait()

    def restored(self):
        """A killed process's terminal is restored by another one."""
        deadline = time.monotonic() + 60
        while termios.tcgetattr(self.follower) != self.before:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True


def says(what, good, session):
    check(what, None if good else repr(session.out))


def begin(state, code, *args, env=None, name="talk"):
    path = os.path.join(state, "train.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    return Session(state, "submit", "--local", "-i", "--runtime", "torch-distributed", "--name", name, *args,
                   "--", "python3", path, env=env)


def refusal(state, *args, terminal=True):
    if not terminal:
        done = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr
    session = Session(state, *args)
    return session.end(), session.out


def main():
    with tempfile.TemporaryDirectory() as state:
        for isolation in ("", "none"):
            env = {"KFTRAINER_ISOLATION": isolation}
            way = ", without namespaces" if isolation else ""
            s = begin(state, DEBUGGED, env=env)
            says("input()" + way, s.expect("name? ", b"bob\n") and s.expect("True True bob"), s)
            says("breakpoint(): p x" + way, s.expect("(Pdb) ", b"p x\n") and s.expect("\n41\r\n"), s)
            says("... c" + way, s.expect("(Pdb) ", b"c\n") and s.expect("x is 42", b"\x04"), s)
            says("Ctrl-D ends its input" + way, s.expect("read ''"), s)
            says("the exit code is the command's" + way, s.end() == 3 and "talk: failed in " in s.out, s)
            says("the terminal is as before" + way, s.restored(), s)
        log = subprocess.run([PROGRAM, "logs", "--local", "talk"], env={**os.environ, "XDG_STATE_HOME": state},
                             capture_output=True, text=True, check=False).stdout
        check("the log has it, too", None if "(Pdb) p x\n41\n" in log else repr(log))
        s = begin(state, INTERRUPTED)
        says("Ctrl-C goes to the process", s.expect("wait: ", b"\x03") and s.expect("caught True"), s)
        says("... and does not end the job", s.end() == 0 and "talk: complete in " in s.out, s)
        s = begin(state, RESIZED)
        says("it knows the window's size", s.expect("at first 77"), s)
        s.resize(99)
        says("... and when it changes", s.expect("now 99", b"\n"), s)
        says("... and ends", s.end() == 0, s)
        s = begin(state, "raise SystemExit(4)", "-q")
        says("-q: only its own output", s.end() == 4 and "not retried" not in s.out, s)
        s = begin(state, STUBBORN)
        s.expect("pid")
        s.process.send_signal(signal.SIGTERM)
        says("SIGTERM stops the job", s.end() == 128 + signal.SIGTERM and "talk: interrupted" in s.out, s)
        says("... and the terminal is as before", s.restored(), s)
        s = begin(state, STUBBORN)
        s.expect("pid")
        says("(it was another one meanwhile)", termios.tcgetattr(s.follower) != s.before, s)
        s.process.send_signal(signal.SIGKILL)
        says("SIGKILL: the terminal is as before", s.end() == -signal.SIGKILL and s.restored(), s)
        local = ("submit", "--local", "-i", "--runtime", "torch-distributed", "--name", "no")
        for what, text, args in (
            ("two nodes", "-i takes one process, and this job has 2 containers", (*local, "--nodes", "2", "--", "true")),
            ("torchrun that starts several", "add --nproc-per-node 1, or run python3", (*local, "--nproc-per-node", "2", "--", "torchrun", "x.py")),
            ("--detach", "-i cannot be combined with --detach", (*local, "--detach", "--", "true")),
            ("a cluster", "-i requires --local; in a cluster use 'kubectl exec -it POD",
             ("submit", "-i", "--runtime", "torch-distributed", "--", "true")),
        ):
            status, out = refusal(state, *args)
            check("refused: " + what, None if status == 2 and text in out else repr((status, out)))
        status, out = refusal(state, *local, "--", "true", terminal=False)
        check("refused: without a terminal",
              None if status == 2 and "requires a terminal" in out else repr((status, out)))
    finish()


main()
