#!/usr/bin/env python3
"""runtime supervise: status, signals, orphans, output, restarts."""
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from tap import check, finish

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
scratch = tempfile.TemporaryDirectory()
MESSAGE = os.path.join(scratch.name, "message")


def is_(what, got, want):
    check(what, None if got == want else f"got {got!r}, expected {want!r}")


def argv(*command, options=()):
    return [PROGRAM, "runtime", "supervise", "--message", MESSAGE, *options, "--", *command]


def run(script, *options, shell="sh", **more):
    r = subprocess.run(argv(shell, "-c", script, options=options), capture_output=True, **more)
    return r.returncode, r.stdout, r.stderr


def message(content=b""):
    with open(MESSAGE, "wb") as f:
        f.write(content)


def read_message():
    with open(MESSAGE, "rb") as f:
        return f.read()


# ---- status and output ---------------------------------------------------------------
is_("status 0, output and errors", run("echo out; echo err >&2"), (0, b"out\n", b"err\n"))
is_("an exit code", run("exit 41")[0], 41)
is_("a signal is 128 + its number", run("kill -9 $$")[0], 137)
r = subprocess.run(argv("/nowhere/program"), capture_output=True)
is_("a command that does not exist", (r.returncode, b"/nowhere/program: No such file" in r.stderr), (127, True))
r = subprocess.run(argv("/etc/passwd"), capture_output=True)
is_("a command that cannot be run", (r.returncode, b"/etc/passwd: Permission denied" in r.stderr), (126, True))
is_("standard input", run("cat", input=b"in\n")[:2], (0, b"in\n"))
is_("the command's Python shows its output at once, and its stacks", run('echo $PYTHONUNBUFFERED $PYTHONFAULTHANDLER')[1], b"1 1\n")
is_("... unless it is told otherwise", run('echo "[$PYTHONUNBUFFERED]"', env={**os.environ, "PYTHONUNBUFFERED": ""})[1], b"[]\n")
is_("the command leads a process group", run("import os, sys; sys.exit(os.getpgrp() != os.getpid())", shell=sys.executable)[0], 0)
WRITE = "import os,sys\nd=bytes(range(256))*4096\nfor i in range(64): sys.stdout.buffer.write(d)\n"
r = subprocess.run(argv(sys.executable, "-c", WRITE), capture_output=True)
is_("64 MiB without a newline arrive in order", hashlib.sha256(r.stdout).digest(),
    hashlib.sha256(bytes(range(256)) * 4096 * 64).digest())
r = subprocess.run(["sh", "-c", '"$@" | wc -c', "-", *argv("head", "-c", str(1 << 30), "/dev/zero")], capture_output=True)
is_("1 GiB without a newline arrives", r.stdout.strip(), b"1073741824")
BULK = "import os\nos.write(1, b'x' * 70000)\nfor i in range(40): os.write(i % 2 + 1, b'%07d\\n' % i * 20000)\nos._exit(3)"
FILE = os.path.join(scratch.name, "output")
LINES = [b"x" * 70000 + b"".join(b"%07d\n" % i * 20000 for i in range(0, 40, 2)), b"".join(b"%07d\n" % i * 20000 for i in range(1, 40, 2))]
for what, mode in ("a file", "wb"), ("a file in append mode", "ab"), ("/dev/full", None):
    with open(MESSAGE, "wb"), open(FILE if mode else "/dev/full", mode or "wb") as to:
        r = subprocess.run(argv(sys.executable, "-c", BULK), stdout=to, stderr=subprocess.PIPE)
    with open(FILE, "rb") as f:
        got = f.read()
    with open(MESSAGE, "rb") as f:
        last = f.read()
    is_(f"much output to {what}: each stream in order, and the message", (r.returncode, mode is None or got == LINES[0], r.stderr == LINES[1],
        len(last), set(last.splitlines()) <= {b"%07d" % i for i in range(40)}), (3, True, True, 4096, True))
    open(FILE, "wb").close()
is_("a command that closes its output goes on", run("exec >&- 2>&-; exit 7")[0], 7)
is_("a process that keeps the output open is not waited for", run("setsid sleep 20 & echo end")[:2], (0, b"end\n"))


def children(pid):
    return subprocess.run(["ps", "-o", "comm=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()


BEGUN = os.path.join(scratch.name, "begun")
FLOOD = f"setsid sh -c 'head -c 128K /dev/zero; : > {BEGUN}; for i in 1 2 3 4; do head -c 32M /dev/zero & done; wait' & while [ ! -e {BEGUN} ]; do sleep 0.01; done; exit 3"
with subprocess.Popen(argv("bash", "-c", FLOOD), stdout=subprocess.PIPE) as p:
    while not os.path.exists(BEGUN) or "bash" in children(p.pid):
        time.sleep(0.01)
    passed = 0
    while data := os.read(p.stdout.fileno(), 1 << 16):
        passed += len(data)
        time.sleep(0.002)
    is_("... nor one that writes all the time, to a slow reader", (p.wait(), passed < 1 << 24), (3, True))
with open("/dev/full", "w") as full:
    r = subprocess.run(argv("sh", "-c", "echo lost; exit 3"), stdout=full)
is_("a full disk does not change the status", r.returncode, 3)
with subprocess.Popen(argv("sh", "-c", "while echo y; do :; done"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
    p.stdout.read(10)
    p.stdout.close()
    is_("nobody reads the output: SIGPIPE, as without a supervisor", p.wait(), 141)

# ---- the termination message ---------------------------------------------------------
message()
run("echo first; exit 1")
is_("the last output of a failure", read_message(), b"first\n")
message()
run("seq 1 9999; exit 1")
is_("... 4 KiB of it", (len(read_message()), read_message().endswith(b"9998\n9999\n")), (4096, True))
message()
run("print('ä' * 3000, flush=True); import os; os.write(1, b'\\xff\\n'); os._exit(1)", shell=sys.executable)
is_("... as UTF-8, also where it begins within a character", (read_message()[:3], read_message()[-4:]), ("?ä".encode(), b"\xa4\n?\n"))
message()
run("echo fine")
is_("... none of a success", read_message(), b"")
message(b"own")
run("echo other; exit 1")
is_("... nor over the command's own message", read_message(), b"own")

# ---- signals -------------------------------------------------------------------------
TRAP = "trap 'echo got; exit 9' %s; echo ready; while :; do sleep 0.05; done"


def signalled(name, *options, script=TRAP):
    with subprocess.Popen(argv("sh", "-c", script % name, options=options), stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        p.send_signal(getattr(signal, "SIG" + name))
        return p.wait(), p.stdout.read()


for name in "TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH":
    is_(f"SIG{name} reaches the command", signalled(name), (9, b"got\n"))
is_("after TERM it is not started again", signalled("TERM", "--restarts", "3"), (9, b"got\n"))
for code in 0, 1:  # transformers#41723 saves and leaves with 0; torchrun ends by an exception
    is_(f"... an exit code of {code} after TERM is that of the signal", signalled("TERM", script=TRAP.replace("exit 9", f"exit {code}")), (143, b"got\n"))
is_("TERM ends a command without a handler", signalled("TERM", script="echo ready; exec sleep 60 # %s"), (143, b""))
# a shell that TERM ends has not passed it on (sagemaker-training-toolkit#173)
SAVES = """sh -c 'trap "sleep 0.3; echo saved; exit 0" %s; echo ready; while :; do sleep 0.05; done'; echo not reached"""
is_("... which ends a script: its processes get it, and may save", signalled("TERM", script=SAVES), (143, b"saved\n"))
IGNORES = "sh -c 'trap \"\" %s; echo ready; sleep 0.5; echo done'; echo not reached"
is_("... or end later", signalled("TERM", script=IGNORES), (143, b"done\n"))
is_("signals that the caller ignores are not ignored",
    subprocess.run(["sh", "-c", 'trap "" TERM CHLD; exec "$@"', "-", *argv("sh", "-c", "kill $$")]).returncode, 143)

# ---- orphans -------------------------------------------------------------------------
ORPHANS = """
import os, time
for i in range(50):
    if not os.fork():
        if not os.fork():
            os._exit(0)
        os._exit(0)
for i in range(50):
    os.wait()
def zombies():
    n = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        except OSError:
            continue
        n += stat[0] == "Z" and int(stat[1]) == os.getppid()
    return n
while zombies():
    time.sleep(0.01)
"""
is_("orphans are reaped", run(ORPHANS, shell=sys.executable)[0], 0)

# ---- restarts ------------------------------------------------------------------------
code, out, err = run('echo "run $KFTRAINER_RESTART"; exit 5', "--restarts", "2")
is_("at most N restarts, each with its number", (code, out), (5, b"run 0\nrun 1\nrun 2\n"))
is_("... which are told", err.count(b"the command ended with status 5; restart"), 2)
is_("one that succeeds at last", run('[ $KFTRAINER_RESTART = 1 ]', "--restarts", "9")[0], 0)
SAYS = "echo 'ModuleNotFoundError: No module named x' >&2; [ $KFTRAINER_RESTART = 1 ] || "
is_("a module that is missing is missing again", run(SAYS + "exit 1", "--restarts", "9")[0], 1)
is_("... but a command that was killed has another cause", run(SAYS + "kill -9 $$", "--restarts", "9")[0], 0)
is_("wrong arguments", run(f"{sys.executable} -c 'import argparse; argparse.ArgumentParser().parse_args()' --wrong", "--restarts", "9")[2].count(b"restart "), 0)
is_("a final exit code", run('echo run; exit 3', "--restarts", "9", "--final", "2", "--final", "3")[:2], (3, b"run\n"))
# A worker that nobody ends says so, and ends.
WORKER = 'trap "" TERM; echo ready; i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; : > "$1"'
LEFT = f"""
import os, subprocess, sys
if os.environ['KFTRAINER_RESTART'] == '1':
    sys.exit(os.path.exists(sys.argv[1] + '.late') or os.path.exists('/proc/' + open(sys.argv[1]).read()))
p = subprocess.Popen(['sh', '-c', {WORKER!r}, '-', sys.argv[1] + '.late'], stdout=subprocess.PIPE, start_new_session=True)
p.stdout.readline()
open(sys.argv[1], 'w').write(str(p.pid))
os._exit(1)
"""
r = subprocess.run(argv(sys.executable, "-c", LEFT, os.path.join(scratch.name, "pid"),
                        options=("--restarts", "1", "--restart-grace", "100ms")), capture_output=True)
is_("a worker in its own session that ignores TERM is gone before the restart", (r.returncode, r.stdout), (0, b""))

# ---- bad input -----------------------------------------------------------------------
for what, args, text in (("no command", [], b"a command is required, after --"),
                         ("a wrong code", ["--final", "256", "--", "true"], b"--final '256': expected an exit code"),
                         ("restarts below 0", ["--restarts", "-1", "--", "true"], b"--restarts"),
                         ("a word before --", ["true"], b"unexpected argument 'true'")):
    r = subprocess.run([PROGRAM, "runtime", "supervise", *args], capture_output=True)
    check(what, None if r.returncode == 2 and text in r.stderr else f"{r.returncode}: {r.stderr!r}")
finish()
