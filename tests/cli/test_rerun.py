#!/usr/bin/env python3
"""runtime supervise --dev, and the sessions of `kftrainer rerun`, byte by byte: 16 ranks get files, or none does."""
import atexit
import hashlib
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from ports import free_port
from tap import check, finish

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
scratch = tempfile.TemporaryDirectory()
KEY, RANKS, LIMIT_S = f"{scratch.name}/key", 16, 120
with open(KEY, "wb") as f:
    f.write(subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], check=True,
                           capture_output=True).stdout)
PORT = free_port()


def is_(what, got, want):
    check(what, None if got == want else f"got {got!r}, expected {want!r}")


def until(condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def folder(rank):
    return f"{scratch.name}/rank{rank}"


def start(rank, ranks=RANKS, idle="60s", port=PORT):
    os.makedirs(folder(rank), exist_ok=True)
    with open(f"{folder(rank)}.log", "ab") as log:
        p = subprocess.Popen([PROGRAM, "runtime", "supervise", "--message", "/dev/null", "--ranks", str(ranks), "--rank", str(rank),
                              "--hub", "127.0.0.1", "--port", str(port), "--key", KEY, "--dev", folder(rank), "--idle", idle,
                              "--restart-grace", "300ms", "--", "sh", "-c", '[ ! -e go ] || . ./go', "sh", "first"],
                             cwd=folder(rank), stdout=log, stderr=log, start_new_session=True)
    return p


def log(rank):
    with open(f"{folder(rank)}.log", encoding="utf-8") as f:
        return f.read()


def frame(kind, data=b""):
    return struct.pack(">cI", kind, len(data)) + data


def line(path, data):
    return f"f {len(data)} {hashlib.sha256(data).hexdigest()} {path}\n".encode()


class Session:
    def __init__(self, rank=0):
        self.p = subprocess.Popen([PROGRAM, "runtime", "rerun", "--dev", folder(rank)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)

    def send(self, *frames):
        try:
            self.p.stdin.write(b"".join(frames))
            self.p.stdin.flush()
        except BrokenPipeError:
            pass  # it was refused, and says so

    def hear(self):
        head = self.p.stdout.read(5)
        if len(head) < 5:
            return "", b""
        kind, size = struct.unpack(">cI", head)
        return kind.decode(), self.p.stdout.read(size)

    def hear_until(self, wanted):
        """All of the command's output until a frame of that kind, and what that one says."""
        out = []
        while True:
            kind, data = self.hear()
            if kind in (wanted, "!", ""):
                return kind, data, b"".join(out)
            if kind in "OR":
                out.append(data)

    def leave(self):
        try:
            self.p.stdin.close()
        except BrokenPipeError:
            pass
        self.p.stdout.close()
        self.p.wait()


def needed(bits, n):
    return [i for i in range(n) if bits[i // 8] >> i % 8 & 1]


def rerun(files, *args, session=None):
    """Send what is needed; the session after G."""
    s = session or Session()
    names = sorted(files)
    s.send(*[frame(b"A", a + b"\0") for a in args])
    text = b"".join(line(n, files[n]) for n in names)
    s.send(*[frame(b"M", text[i:i + 16384]) for i in range(0, len(text), 16384)], frame(b"B"))
    kind, bits, _ = s.hear_until("N")
    s.needs = needed(bits, len(names)) if kind == "N" else (kind, bits)
    for i in s.needs if kind == "N" else []:
        data = files[names[i]]
        s.send(frame(b"F", struct.pack(">I", i)), *[frame(b"D", data[at:at + 16384]) for at in range(0, len(data), 16384)])
    if kind == "N":
        s.send(frame(b"G"))
    return s


def ends(s):
    """(exit code, text, output) of its run, or the refusal."""
    kind, data, out = s.hear_until("X")
    s.leave()
    return (data[0], data[1:].decode(), out) if kind == "X" else (kind, data.decode(errors="replace"), out)


def texts(name):
    return {open(f"{folder(i)}/{name}", "rb").read() if os.path.exists(f"{folder(i)}/{name}") else None for i in range(RANKS)}


ranks = [start(0)]


@atexit.register
def end():  # however this ends
    for p in ranks:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()


until(lambda: os.path.exists(f"{folder(0)}/.kftrainer-rerun/socket"))
clients = [Session(), Session()]
refused = select.select([c.p.stdout for c in clients], [], [], LIMIT_S)[0]
early, second = sorted(clients, key=lambda c: c.p.stdout in refused)
is_("before all ranks are there a client waits, a second is refused", (len(refused), ends(second)[1][:28]), (1, "another rerun is in progress"))
ranks += [start(i) for i in range(1, RANKS)]
check("the first run ends, and all wait", None if until(lambda: "waiting for 'kftrainer rerun'" in log(0)) else log(0))
go = b'echo "rank 0 $KFTRAINER_RESTART $*"\n'
s = rerun({"go": go}, b"--lr", b"1 *", session=early)
is_("all ranks need a new file", s.needs, [0])
is_("... and run it, with the arguments", ends(s), (0, "", b"rank 0 1 first --lr 1 *\n"))
is_("... each", texts("go"), {go})
s = rerun({"go": go})
is_("without a change nothing is needed; arguments are of one run", (s.needs, ends(s)), ([], (0, "", b"rank 0 2 first\n")))
big = os.urandom(4 << 20)
s = rerun({"go": go, "big": big})
got = ends(s)
is_("4 MiB reach 16 ranks", (got[:2], texts("big") == {big}), ((0, ""), True))
s = rerun({"go": b'[ $OTHER ] || exit $(($(basename "$PWD" | tr -d a-z) == 5 ? 33 : 0))\n', "big": big})
is_("the rank that failed is named", ends(s)[:2], (33, "rank 5 ended with status 33"))
with open(f"{folder(3)}/big", "wb") as f:
    f.write(b"changed by rank 3")
s = rerun({"go": go, "big": big})
is_("what one rank has changed is sent again", (s.needs, ends(s)[0], texts("big") == {big}), ([0, 1], 0, True))
s = rerun({"go": go})
is_("a file that is no longer there is removed", (ends(s)[0], texts("big")), (0, {None}))

# ---- what breaks changes nothing -----------------------------------------------------------------------------
os.rename(f"{folder(7)}/.kftrainer-rerun", f"{folder(7)}/away")
with open(f"{folder(7)}/.kftrainer-rerun", "w", encoding="utf-8"):
    pass
s = rerun({"go": b"echo new\n"})
kind, text, _ = ends(s) if isinstance(s.needs, list) else (s.needs[0], s.needs[1].decode(), b"")
is_("a rank that cannot stage files is named", (kind, text.startswith("rank 7: "), texts("go")), ("!", True, {go}))
os.unlink(f"{folder(7)}/.kftrainer-rerun")
os.rename(f"{folder(7)}/away", f"{folder(7)}/.kftrainer-rerun")
s = Session()
s.send(frame(b"M", line("go", b"echo new\n")), frame(b"B"))
s.hear_until("N")
second = Session()
is_("a second session gets a line", second.hear()[1][:31], b"another rerun is in progress; w")
second.leave()
s.send(frame(b"F", struct.pack(">I", 0)), frame(b"D", b"echo n"))
s.leave()
is_("a session that breaks changes nothing", texts("go"), {go})
check("... and is forgotten", None if until(lambda: ends(rerun({"go": go}))[0] == 0) else "busy")
for what, frames, like in (("a list that is none", [frame(b"M", b"x\n"), frame(b"B")], "invalid line"),
                           ("a path that leaves the directory", [frame(b"M", line("../go", b"")), frame(b"B")], "../go"),
                           ("a name of ours", [frame(b"M", line(".kftrainer-rerun/socket", b"")), frame(b"B")], "reserved name"),
                           ("a frame that is too long", [b"M\xff\xff\xff\xff"], "invalid frame"),
                           ("a frame of an unknown type", [frame(b"q")], "unknown frame")):
    s = Session()
    s.send(*frames)
    kind, data, _ = s.hear_until("!")
    s.leave()
    is_(f"{what} is refused", (kind, like in data.decode()), ("!", True))
s = Session()
s.send(frame(b"M", line("go", b"echo new\n")), frame(b"B"))
s.hear_until("N")
s.send(frame(b"F", struct.pack(">I", 0)), frame(b"D", b"echo NEW\n"), frame(b"G"))
kind, data, _ = s.hear_until("X")
s.leave()
is_("a file that changed while it was sent", (kind, b"go: changed while it was sent" in data, texts("go")), ("!", True, {go}))
if os.geteuid() == 0 and shutil.which("setpriv"):
    os.chmod(scratch.name, 0o755)
    r = subprocess.run(["setpriv", "--reuid", "12345", "--clear-groups", "--bounding-set", "-all", PROGRAM, "runtime", "rerun", "--dev",
                        folder(0)], stdin=subprocess.DEVNULL, capture_output=True)
    is_("another user is refused", (r.returncode, b"Permission denied" in r.stderr), (1, True))

# ---- while it runs -------------------------------------------------------------------------------------------
s = rerun({"go": b"trap '' TERM; echo up; sleep 100\n"})
while s.hear() != ("O", b"up\n"):
    pass
t = rerun({"go": go})
is_("a command that ignores TERM is started again", ends(t)[0], 0)
is_("... the session that followed it ends", s.hear_until("X")[0], "")
s.leave()
s = rerun({"go": b"echo up; exec sleep 100\n"})
while s.hear() != ("O", b"up\n"):
    pass
ranks[9].kill()
ranks[9].wait()
ranks[9] = start(9)
is_("a rank is lost", ends(s)[0], 125)
check("... its successor gets the files of today", None if until(lambda: ends(rerun({"go": go}))[0] == 0) else log(0))
is_("... like all", texts("go"), {go})
s = rerun({"go": b"[ ${PWD##*/} != rank0 ] || head -c 30000000 /dev/zero; echo; echo end\n"})
got = ends(s)
is_("30 MB of output arrive", (got[0], len(got[2])), (0, 30000005))
s = rerun({"go": b"[ ${PWD##*/} != rank0 ] || { head -c 30000000 /dev/zero; echo end >../end; }\n"})
while s.hear()[0] != "O":
    pass
os.kill(s.p.pid, signal.SIGSTOP)
check("a session that does not read does not stop the command for long", None if until(lambda: os.path.exists(f"{scratch.name}/end"))
      else "it waits")
os.kill(s.p.pid, signal.SIGKILL)
s.leave()
for p in ranks:
    p.terminate()
is_("TERM ends the supervisors with 143: such a pod has not succeeded", {p.wait() for p in ranks}, {143})
ranks = [start(0, ranks=1, idle="1s")]
is_("alone, without a rerun it ends with 0", ranks[0].wait(), 0)
finish()
