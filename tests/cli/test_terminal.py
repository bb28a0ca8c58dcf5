#!/usr/bin/env python3
"""What `submit --local` does on a terminal: colors, a line that shows the phase, Ctrl-C."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
COLUMNS = 80


def shows(what, good, got):
    check(what, None if good else repr(got))


def screen(text):
    """The lines a terminal would show in the end; knows what we write, no more."""
    lines, column = [""], 0
    for part in re.findall(r"\033\[[0-9;]*[A-Za-z]|[\r\n]|[^\033\r\n]+", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            lines.append("")
            column = 0
        elif part == "\033[K":
            lines[-1] = lines[-1][:column]
        elif not part.startswith("\033"):
            lines[-1] = lines[-1][:column] + part + lines[-1][column + len(part):]
            column += len(part)
    return lines


def run(*args, env=None, keys_after=None, keys=b"", columns=COLUMNS):
    """(output, exit status) on a terminal of its own; `keys` are typed once `keys_after` is seen."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with tempfile.TemporaryDirectory() as state:
        full = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        full.update({"XDG_STATE_HOME": state, "TERM": "xterm", **(env or {})})

        def become_leader():
            os.setsid()
            fcntl.ioctl(follower, termios.TIOCSCTTY, 0)

        process = subprocess.Popen([PROGRAM, *args], stdin=follower, stdout=follower, stderr=follower, env=full,
                                   preexec_fn=become_leader, close_fds=True)
        os.close(follower)
        out = b""
        while True:
            ready, _, _ = select.select([leader], [], [], 0.2)
            if not ready and process.poll() is not None:
                break
            if not ready:
                continue
            try:
                data = os.read(leader, 65536)
            except OSError:
                break
            if not data:
                break
            out += data
            if keys and keys_after in out:
                os.write(leader, keys)
                keys = b""
        os.close(leader)
        return out.decode(), process.wait()


def local(*command, **how):
    return run("submit", "--local", "--runtime", "torch-distributed", "--name", "tty", "--nodes", "2", "--", *command, **how)


def main():
    out, status = local("sh", "-c", "echo hello; sleep 0.2; echo world")
    shows("it is complete", status == 0, out)
    shows("a color for each rank", "\033[36m[node-0]\033[0m hello" in out and "\033[33m[node-1]\033[0m hello" in out, out)
    shows("the end in green", "\033[32mcomplete\033[0m" in out, out)
    shown = [line for line in screen(out) if line]
    shows("the phase is a line that goes away", "\r\033[K" in out and "running" not in "\n".join(shown), shown)
    shows("the lines are whole", sorted(line for line in shown if line.startswith("[node-")) ==
          ["[node-0] hello", "[node-0] world", "[node-1] hello", "[node-1] world"], shown)
    shows("the last line says how it ended", shown[-1].startswith("tty: complete in "), shown)
    out, status = local("sh", "-c", "sleep 0.1", columns=10)
    shows("a narrow terminal: the phase stays on one line",
          all(len(part) < 10 for part in re.findall(r"\033\[K([a-z][^\r\n\033]*)", out)), out)
    out, _ = local("echo", "hello", env={"NO_COLOR": "1"})
    shows("NO_COLOR: none", "[node-0] hello" in out and "\033[3" not in out, out)
    out, _ = local("echo", "hello", env={"TERM": "dumb"})
    shows("TERM=dumb: no escapes at all", "[node-0] hello" in out and "\033" not in out, out)
    out, status = local("sh", "-c", "trap 'echo caught; exit 0' TERM; echo up; sleep 100 & wait", keys_after=b"up", keys=b"\x03")
    shows("Ctrl-C: 130", status == 130, (status, out))
    shows("Ctrl-C: the processes get TERM and are heard", "caught" in out, out)
    shows("Ctrl-C: it says so", "interrupted" in out, out)
    out, status = run("logs", "nobody")
    shows("errors have no color", status == 1 and "\033" not in out, out)
    finish()


main()
