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
PYTHON = sys.executable


REPORTS = """
import json, os, ssl, time, urllib.request
own = {k: os.environ["KUBEFLOW_TRAINER_SERVER_" + k] for k in ("URL", "TOKEN", "CA_CERT")}
for percent, loss in ((10, "1.5"), (20, "nan"), (30, "nan")):
    status = {"progressPercentage": percent, "metrics": [{"name": "loss", "value": loss}],
              "lastUpdatedTime": "2026-11-21T04:48:17Z"}
    urllib.request.urlopen(urllib.request.Request(
        own["URL"], json.dumps({"trainerStatus": status}).encode(), method="POST", headers={
            "Authorization": "Bearer " + open(own["TOKEN"]).read(), "Content-Type": "application/json"}),
        context=ssl.create_default_context(cafile=own["CA_CERT"])).read()
    time.sleep(0.5)
"""


def shows(what, good, got):
    check(what, None if good else repr(got))


def screen(text):
    """The lines a terminal would show in the end; knows what we write, no more."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\033\[[0-9;]*[A-Za-z]|[\r\n]|[^\033\r\n]+|\033", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row == len(lines))
        elif part == "\033[K":
            lines[row] = lines[row][:column]
        elif part == "\033[A":
            row -= 1
        elif not part.startswith("\033"):
            lines[row] = lines[row][:column] + part + lines[row][column + len(part):]
            column += len(part)
        elif not part.endswith("m"):
            lines[row] += repr(part)
    return lines


def drawn_rows(text):
    """Each row as it was drawn, without colors."""
    return re.split(r"[\r\n]+", re.sub(r"\033\[[0-9;]*[A-Za-z]", "", text))


ESCAPES = r"""
import sys
for text in ("\033[2J\033[Hclear", "\033]0;owned\007title", "\033]52;c;aGk=\033\\clip", "\033[6nask", "\005answer", "\033P$qm\033\\dcs",
             "\033[?1049halt", "\033cfull", "\u009b2Jnew", "\016shift", "\033[31mred", "under\b\b", "\033[5;5Hpos", "tab\tend", "\x7fdel"):
    sys.stdout.buffer.write(text.encode() + b"\n")
sys.stdout.buffer.write(b"raw \x9b2J bytes\n")
"""
# What reaches the terminal of them, after the prefix.
VISIBLE = ["clear", "title", "clip", "ask", "answer", "dcs", "alt", "full", "\\x9b2Jnew", "shift", "red", "und", "pos",
           "tab\tend", "del", "raw \\x9b2J bytes"]
BARS = r"""
import os, sys, time
rank = os.environ["JOB_COMPLETION_INDEX"]
for i in range(41):
    sys.stderr.write("\r%s: %3d%% %s" % (rank, i * 100 // 40, "#" * 200 if i == 20 else ""))
    sys.stderr.flush()
    if i == 30:
        sys.stderr.write("\r")
        print("checkpoint of", rank, flush=True)
    time.sleep(0.02)
print(" done\nlast of", rank, end="", flush=True)
"""


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
        return out.decode(errors="replace"), process.wait()


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
    sizes = 'echo "$COLUMNS $LINES ${FORCE_COLOR:-none}"'
    out, _ = local("sh", "-c", sizes)
    shows("pods know the terminal's size, less the prefix", "\033[0m 70 24 1\r\n" in out, out)
    out, _ = local("sh", "-c", sizes, env={"COLUMNS": "33", "NO_COLOR": "1"})
    shows("... unless the user says otherwise", "[node-0] 33  none" in out, out)
    out, _ = local("echo", "hello", env={"NO_COLOR": "1"})
    shows("NO_COLOR: none", "[node-0] hello" in out and "\033[3" not in out, out)
    out, _ = local("printf", "[default1]:one\\n[default12]:two\\n[default]:x\\n[defaults1]:y\\n\\n[default1]z\\n[default3]:\\n")
    shown = [line.split("]", 1) for line in screen(out) if line.startswith("[node-0")]
    shows("lines that torchrun marks have their process's prefix", [(a, b.lstrip()) for a, b in shown] ==
          [("[node-0:1", "one"), ("[node-0:12", "two"), ("[node-0", "[default]:x"), ("[node-0", "[defaults1]:y"),
           ("[node-0", ""), ("[node-0", "[default1]z"), ("[node-0:3", "")], shown)
    out, _ = local("echo", "hello", env={"TERM": "dumb"})
    shows("TERM=dumb: no escapes at all", "[node-0] hello" in out and "\033" not in out, out)
    out, status = local("sh", "-c", "trap 'echo caught; exit 0' TERM; echo up; sleep 100 & wait", keys_after=b"up", keys=b"\x03")
    shows("Ctrl-C: 130", status == 130, (status, out))
    shows("Ctrl-C: the processes get TERM and are heard", "caught" in out, out)
    shows("Ctrl-C: it says so", "interrupted" in out, out)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in ("bars.py", BARS), ("escapes.py", ESCAPES):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        out, status = local(PYTHON, os.path.join(folder, "bars.py"))
        shown = screen(out.replace("\r\n", "\n"))
        shows("bars: each is one line in the end, no prefix is lost",
              sorted(line.split(":")[0] if "%" in line else line for line in shown if "[node-" in line) ==
              sorted(f"[node-{n}] {rest}" for n in "01" for rest in (f"checkpoint of {n}", n, f"last of {n}")), shown)
        shows("... nothing else is left", [line for line in shown if line and not line.startswith("[node-")] ==
              [line for line in shown if line.startswith("tty: complete")], shown)
        shows("... with the final state", f"[node-0] 0: 100%  done" in shown, shown)
        drawn = drawn_rows(out)
        shows("... redrawn in place, both at once", re.search(r"\[node-0\]\S* 0: +[0-9]+%[^\n]*\n[^\n]*\[node-1\]\S* 1: +[0-9]+%", out), out)
        shows("... never wider than the terminal", all(len(line) < COLUMNS for line in drawn), drawn)
        out, status = local(PYTHON, os.path.join(folder, "bars.py"), columns=20)
        shows("... of 20 columns, too", all(len(row) < 20 for row in drawn_rows(out) if "%" in row and "done" not in row), drawn_rows(out))
        with tempfile.TemporaryDirectory() as state:
            out, status = local(PYTHON, os.path.join(folder, "escapes.py"), env={"XDG_STATE_HOME": state})
            for what, text in ("submit", out), ("logs", run("logs", "tty", env={"XDG_STATE_HOME": state})[0]):
                shown = screen(text.replace("\r\n", "\n"))
                shows(f"escapes: what {what} shows", [line[9:] for line in shown if line.startswith("[node-0] ")] == VISIBLE, shown)
                shows(f"... {what}: colors pass, and end with their line", "\033[31mred\033[0m" in text, text)
            out, status = run("logs", "tty", "--rank", "0", "--raw", env={"XDG_STATE_HOME": state})
            shows("logs --raw: all of them", "\033]0;owned\007title" in out and "\033[6nask" in out, out)
            out, status = run("logs", "tty", env={"XDG_STATE_HOME": state, "NO_COLOR": "1"})
            shows("NO_COLOR: none of theirs", "\033" not in out, out)
    out, status = run("submit", "--local", "--runtime", "torch-distributed", "--name", "tty", "--", "python3", "-c", REPORTS)
    shown = [line for line in screen(out) if line]
    shows("reported progress is drawn in place", "running: 10 %, loss 1.5\r\033[K" in out and status == 0, out)
    shows("... and a NaN stays, once", [line for line in shown if "loss" in line] == ["running: 20 %, loss NaN"], shown)
    out, status = run("logs", "nobody")
    shows("errors have no color", status == 1 and "\033" not in out, out)
    finish()


main()
