#!/usr/bin/env python3
"""mpi-launch and mpi-worker: what one runs on the other, and peers that are neither."""
import os
import shutil
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
import mpi_ends
from mpi_ends import (GREETING, PATIENCE, PROGRAM, free_port, is_, marked, new_key, path, resident, run_commands,
                      scratch, until)
from tap import check, finish, skip


KEY, OTHER = new_key("key"), new_key("other")
os.chmod(KEY, 0o644)  # whoever may read it


def Worker(**options):
    return mpi_ends.Worker(KEY, **options)


# ---- a peer that is slow: begun now, looked at in the end ------------------------------
def dribble():
    """A byte a second of what might become a handshake; how long that is listened to."""
    with socket.create_connection(("127.0.0.1", patient.port)) as s:
        begin = time.monotonic()
        s.recv(len(GREETING), socket.MSG_WAITALL)
        s.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        s.settimeout(1)
        while time.monotonic() < begin + 2 * PATIENCE:
            try:
                s.sendall(b"x")
                if not s.recv(100):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        slow.append(time.monotonic() - begin)


slow, patient = [], Worker()
dribbling = threading.Thread(target=dribble, daemon=True)
dribbling.start()

# ---- a command -----------------------------------------------------------------------
worker = Worker(env={"MARK": "first", "SECRET": "it is 5"}, cwd=scratch.name)
run_commands(worker)
r = worker.run('echo "$SECRET" \'$HOME\' "a  b"; pwd')
is_("the container's environment and folder; no word is changed",
    r.stdout.decode().split("\n")[:2], ["it is 5 $HOME a  b", os.path.realpath(scratch.name)])
is_("the end of a signal", worker.run("kill -9 $$").returncode, 137)
r = worker.run("no-such-program --x")
is_("a program that is not there: the shell's own words, 127 and a hint",
    (r.returncode, b"no-such-program: not found" in r.stderr,
     r.stderr.decode().splitlines()[-1]),
    (127, True, "kftrainer mpi-launch: 127.0.0.1: command not found in the container's PATH"))
LIMIT = 120 * 1024
r = worker.run("echo " + "x" * (LIMIT - 13) + " | wc -c")
is_("a command of exactly 120 KiB", r.stdout, b"%d\n" % (LIMIT - 12))
r = worker.run("echo " + "x" * (LIMIT - 12) + " | wc -c")
is_("... of one byte more is refused", (r.returncode, r.stdout, r.stderr.decode().strip()),
    (255, b"", "kftrainer mpi-launch: 127.0.0.1: the command has 122881 bytes; mpi-worker takes at most "
     "122880"))
with subprocess.Popen(worker.command("yes"), stdout=subprocess.PIPE) as p:
    p.stdout.read(1000)
    time.sleep(0.5)
    rss = resident(worker.process.pid)
    check("a reader that does not read stops the writer, and costs no memory",
          None if rss < 20000 else f"{rss} KB")
    p.kill()

for what, command, status in (("a command", "MARK=piped; export MARK; yes", 141),
                              ("one that ignores SIGPIPE, as Python does,",
                               "MARK=piped; export MARK; trap '' PIPE; while sleep 0.01; do echo y; done 2>/dev/null", 141)):
    r = subprocess.run(["bash", "-c", '"$@" | head -n 1; echo "${PIPESTATUS[0]}"', "bash", *worker.command(command)],
                       capture_output=True, timeout=PATIENCE)
    is_(f"{what} whose reader has left ends", (r.stdout.decode().split(), bool(until(lambda: not marked("piped")))),
        (["y", str(status)], True))

agents = [subprocess.Popen(worker.command(f"echo {i}"), stdout=subprocess.PIPE) for i in range(64)]
is_("64 at once", [a.communicate(timeout=PATIENCE)[0] for a in agents],
    [b"%d\n" % i for i in range(64)])
for name in ("ssh", "rsh", "mpi-launch"):
    link = path(name)
    os.symlink(PROGRAM, link)
    r = subprocess.run([link, "-x", "-q", "-o", "ConnectionAttempts=10", "me@127.0.0.1", "-p",
                        str(worker.port), "-i", KEY, "(", "echo", f"as {name}", ")"], capture_output=True,
                       timeout=PATIENCE)
    is_(f"by the name {name}, with ssh's options", (r.stdout, r.returncode), (f"as {name}\n".encode(), 0))
for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
    ran = path("ran-" + closed.replace(" ", ""))
    r = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *worker.command(f"echo x; echo y >&2; cat; : >'{ran}'; exit 7")],
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    is_(f"called with {closed}", (r.returncode, os.path.exists(ran), r.stdout, r.stderr),
        (7, True, b"" if ">&-" in closed.split() else b"x\n", b"" if "2>&-" in closed else b"y\n"))

# ---- the end of one side -------------------------------------------------------------
for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    with subprocess.Popen(worker.command("MARK=passed; export MARK; exec sleep 1000")) as p:
        until(lambda: marked("passed"))
        p.send_signal(signum)
        is_(f"{signal.Signals(signum).name} is passed on", (p.wait(PATIENCE), bool(until(
            lambda: not marked("passed")))), (128 + signum, True))
with subprocess.Popen(["nohup", *worker.command("echo started; read line; echo $line")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
    p.stdout.readline()
    p.send_signal(signal.SIGHUP)
    is_("... but not SIGHUP below nohup", (p.communicate(b"lived\n")[0], p.returncode), (b"lived\n", 0))
with subprocess.Popen(worker.command("MARK=killed; export MARK; trap '' TERM; sleep 1000 & wait; sleep 1000")) as p:
    until(lambda: marked("killed"))
    p.kill()
    p.wait()
    is_("a launcher that is killed: nothing is left, even of what ignores SIGTERM",
        until(lambda: not marked("killed")), True)
r = worker.run("MARK=left; export MARK; sleep 1000 & echo started")
is_("what a command leaves behind does not hold up its end", (r.stdout, r.returncode),
    (b"started\n", 0))
is_("... and ends with the connection", until(lambda: not marked("left")), True)
r = worker.run(f"""MARK=daemon; export MARK; ready={path("daemon")}
setsid sh -c ": >$ready; exec sleep 1000" </dev/null >/dev/null 2>&1 &
until test -e $ready; do sleep 0.01; done; echo off""")
is_("a daemon stays", (r.stdout, len(marked("daemon"))), (b"off\n", 1))
with subprocess.Popen(worker.command("sleep 1000"), stderr=subprocess.PIPE) as p:
    until(lambda: len(marked("first")) > 2)
    is_("SIGTERM ends the worker", worker.stop(), 0)
    is_("... and the launcher, with 255", (p.wait(PATIENCE), b"127.0.0.1: " in p.stderr.read()),
        (255, True))
is_("... and all that it started, daemons too", marked("first"), [])
with open(path("counts.py"), "w") as f:
    f.write(f"""import signal, time
received = []
signal.signal(signal.SIGTERM, lambda *_: received.append(1))
print("up", flush=True)
while not received:
    time.sleep(0.01)
time.sleep(0.3)
open({path("sigterms")!r}, "w").write(str(len(received)))
""")
for what, command in (("each by one SIGTERM: a second would end one that saves", "exec {}"), ("also one whose shell ends before it", "{}; true")):
    worker = Worker()
    command = command.format(f"{sys.executable} {path('counts.py')}")
    with subprocess.Popen(worker.command(command), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        p.stdout.readline()
        worker.stop()
    with open(path("sigterms")) as f:
        is_("... " + what, f.read(), "1")
    os.unlink(path("sigterms"))

# ---- the job's key -------------------------------------------------------------------
worker = Worker()
r = worker.run("true", key=OTHER)
is_("another job's key", (r.returncode, r.stderr.decode().startswith(
    "kftrainer mpi-launch: 127.0.0.1: authentication: the peer does not have the same key")),
    (255, True))
check("... is a line of the worker's log", None if until(
    lambda: "the peer does not have the same key" in worker.log()) else worker.log())
for what, text, says in (
        ("no key", None, "No such file or directory"),
        ("an empty key", "", "not a private key in PEM"),
        ("a damaged key", open(KEY).read().replace("\nMI", "\nMJ"), "private key"),
        ("a public key", "ssh-rsa AAAA", "not a private key in PEM")):
    name = path("bad")
    if text is None:
        name = path("none")
    else:
        with open(name, "w") as f:
            f.write(text)
    r = worker.run("true", key=name)
    is_(f"{what}: 255, one line", (r.returncode, says in r.stderr.decode(),
                                   r.stderr.decode().count("\n")), (255, True, 1))
    r = subprocess.run([PROGRAM, "mpi-worker", "-i", name], capture_output=True, timeout=PATIENCE)
    is_("... and the worker does not start", (r.returncode != 0, says in r.stderr.decode()),
        (True, True))

# ---- peers that are neither ----------------------------------------------------------


def stranger(data, wait=True):
    """What a peer gets that sends this after the greeting."""
    with socket.create_connection(("127.0.0.1", worker.port), timeout=PATIENCE) as s:
        got = b""
        while len(got) < len(GREETING):
            got += s.recv(len(GREETING) - len(got))
        s.sendall(data)
        if not wait:
            return got
        try:
            while more := s.recv(4096):
                got += more
        except ConnectionResetError:
            pass
        return got


for what, data in (("an ssh client", b"SSH-2.0-OpenSSH_9.2\r\n"),
                   ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                   ("random bytes", bytes(range(256)) * 40),
                   ("a TLS record that is too long", b"\x16\x03\x01\xff\xff" + b"\0" * 70000)):
    got = stranger(data)
    check(f"{what}: refused", None if got.startswith(GREETING) and b"HTTP" not in got else got)

# A launcher that is slow to answer the greeting, and 300 connections of another address that stay open.
waiting = socket.create_connection(("127.0.0.1", worker.port), timeout=PATIENCE)
waiting.recv(len(GREETING), socket.MSG_WAITALL)
flood = [socket.create_connection(("127.0.0.1", worker.port), PATIENCE, ("127.0.0.2", 0)) for _ in range(300)]
is_("one command more", worker.run("echo a").stdout, b"a\n")
waiting.setblocking(False)
try:
    check("a flood from one address closes no other's connection", f"closed: {waiting.recv(1)}")
except BlockingIOError:
    check("a flood from one address closes no other's connection", None)
for s in (waiting, *flood):
    s.close()


class Relay:
    """One connection to the worker, by way of `port`; `sent` is what the client said."""

    def __init__(self, greets=True):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sent, self.greets = b"", greets
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def pump(self, a, b, records):
        try:
            while data := a.recv(4096):
                self.sent += data if records else b""
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def serve(self):
        client, _ = self.listener.accept()
        with socket.create_connection(("127.0.0.1", worker.port)) as s, client:
            if not self.greets:
                s.recv(len(GREETING), socket.MSG_WAITALL)
            other = threading.Thread(target=self.pump, args=(s, client, False))
            other.start()
            self.pump(client, s, True)
            other.join()

    def end(self):
        self.thread.join(PATIENCE)
        self.listener.close()


def openssl(*options, data=b""):
    """s_client, which knows no greeting: did it get to say anything?"""
    relay = Relay(greets=False)
    r = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{relay.port}", *options], input=data,
                       capture_output=True, timeout=PATIENCE)
    relay.end()
    return r.returncode, r.stdout.decode(errors="replace") + r.stderr.decode(errors="replace")


der = subprocess.run(["openssl", "ec", "-in", KEY, "-outform", "DER"], capture_output=True,
                     check=True).stdout
secret = subprocess.run(
    ["openssl", "kdf", "-keylen", "32", "-binary", "-kdfopt", "digest:SHA256", "-kdfopt",
     "hexkey:" + der.hex(), "-kdfopt", "info:kftrainer mpi v1", "HKDF"],
    capture_output=True, check=True).stdout
psk = ("-psk", secret.hex(), "-psk_identity", "kftrainer mpi v1", "-ciphersuites",
       "TLS_AES_128_GCM_SHA256")
code, text = openssl("-tls1_3", *psk)
check("another implementation of TLS with the same key: RFC 5869's, no salt", None
      if "Reused, TLSv1.3" in text or "New, TLSv1.3" in text and code == 0 else text)
for what, options in (("TLS 1.2", ("-tls1_2", "-psk", secret.hex(), "-psk_identity",
                                   "kftrainer mpi v1")),
                      ("a key that is one bit off", ("-tls1_3", "-psk", bytes([secret[0] ^ 1, *secret[1:]]).hex(),
                                                     *psk[2:])),
                      ("another identity", ("-tls1_3", *psk[:2], "-psk_identity", "root",
                                            *psk[4:])),
                      ("certificates", ("-tls1_3",)),
                      ("another group", ("-tls1_3", "-groups", "P-256", *psk))):
    code, text = openssl(*options)
    check(f"{what}: refused", None if code != 0 and "Reused" not in text else text)

# Who has the key, and does not keep to the protocol: one line each, and nothing runs.
worker.stop()
worker = Worker()
ran = path("ran")
touch = f"touch {ran}".encode()
begin = b"\1" + struct.pack(">IBI", len(touch) + 5, 1, len(touch))
for what, data, says in (
        ("input before the command", b"\2\0\0\0\1x", "unexpected frame of type 2 before the command"),
        ("a frame of more than 64 KiB", b"\1\0\1\0\1" + b"x" * 65537, "invalid frame: type 1 with 65537 bytes"),
        ("a frame of 4 GiB", b"\2\377\377\377\377", "invalid frame: type 2 with 4294967295 bytes"),
        ("a frame of no type", b"\11\0\0\0\0", "unknown frame type 9"),
        ("a command that is cut short", begin + touch[:-1], "connection closed before a command"),
        ("another version", b"\1\0\0\0\6\2\0\0\0\1x", "version 2"),
        ("a frame of a worker", begin + b"sleep 100 #"[:len(touch)].ljust(len(touch), b"#") + b"\10\0\0\0\5\0\0\0\0\0",
         "unexpected frame of type 8 from a launcher")):
    openssl("-tls1_3", *psk, "-quiet", "-no_ign_eof", data=data)
    check(f"{what}: one line", None if until(lambda: says in worker.log()) and not os.path.exists(ran)
          else f"{says}: not in\n{worker.log()}")
relay = Relay()
count = path("count")
r = subprocess.run([PROGRAM, "mpi-launch", "-p", str(relay.port), "-i", KEY, "127.0.0.1", f"echo once >>{count}"],
                   capture_output=True, timeout=PATIENCE)
relay.end()
lines = worker.log().count("refused a connection")
stranger(relay.sent)
is_("a connection whose bytes are sent again: a line",
    (r.returncode, len(relay.sent) > 300, bool(until(lambda: worker.log().count("refused a connection") > lines))),
    (0, True, True))
is_("... and the command has run once", open(count).read(), "once\n")
worker.stop()
worker = Worker()
for _ in range(300):
    stranger(b"x", wait=False)
is_("the log is bounded: ten lines in ten seconds",
    0 < worker.log().count("refused a connection") < 100, True)
idle = [socket.create_connection(("127.0.0.1", worker.port)) for _ in range(1000)]
is_("1,000 connections that say nothing: who has the key gets through",
    worker.run("echo through").stdout, b"through\n")
rss = resident(worker.process.pid)
check("... in bounded memory", None if rss < 20000 else f"{rss} KB")
idle[-1].settimeout(PATIENCE)
is_("... and is not kept", idle[0].recv(100) in (b"", GREETING), True)
for s in idle:
    s.close()
r = subprocess.run([PROGRAM, "mpi-worker", "--listen", "127.0.0.1", "-p", str(worker.port), "-i",
                    KEY], capture_output=True, timeout=PATIENCE)
is_("a port that is taken", (r.returncode, r.stderr.decode().startswith(
    f"kftrainer mpi-worker: listen on 127.0.0.1:{worker.port}: Address ")), (1, True))
worker.stop()

# ---- a worker in a container of its own ------------------------------------------------
# PID 1 of a random user, whose root cannot be written, without capabilities.
CONTAINER = """mount --bind / /mnt && mount -o remount,bind,ro /mnt && mount -t proc proc /mnt/proc || exit 99
exec chroot /mnt setpriv --reuid=54321 --regid=54321 --clear-groups --bounding-set=-all --no-new-privs "$@" """
if os.geteuid() != 0:
    skip("as PID 1, a random user, on a read-only root", "needs root")
else:
    port, shared = free_port(), tempfile.mkdtemp(dir="/var/tmp")
    os.chmod(shared, 0o755)
    shutil.copy(PROGRAM, shared + "/mpi-worker")
    shutil.copy(KEY, shared + "/key")
    os.chmod(shared + "/key", 0o644)
    with subprocess.Popen(["unshare", "-mpf", "--kill-child", "sh", "-c", CONTAINER, "sh", shared + "/mpi-worker", "--listen",
                           "127.0.0.1", "-p", str(port), "-i", shared + "/key"], stderr=subprocess.PIPE) as p:
        text = p.stderr.readline().decode()
        check("as PID 1, a random user, on a read-only root: it starts", None if "listening" in text else text)
        r = subprocess.run([PROGRAM, "mpi-launch", "-p", str(port), "-i", KEY, "--timeout", "20s", "127.0.0.1",
                            "id -u; touch /x 2>/dev/null || echo read-only; readlink /proc/self; grep CapEff /proc/self/status; "
                            "(setsid sh -c 'exit 0' & ) ; "
                            "until ! grep -q '^State:.Z' /proc/[0-9]*/status 2>/dev/null; do sleep 0.1; done; echo no zombie"],
                           capture_output=True, timeout=PATIENCE)
        is_("... runs commands, and reaps what they leave", [w for w in r.stdout.decode().split("\n") if not w.isdigit() or
                                                              w == "54321"],
            ["54321", "read-only", "CapEff:\t" + "0" * 16, "no zombie", ""])
        for pid in open(f"/proc/{p.pid}/task/{p.pid}/children").read().split():
            os.kill(int(pid), signal.SIGTERM)
        is_("... and ends on SIGTERM", p.wait(PATIENCE), 0)
    shutil.rmtree(shared)

# ---- workers that are late -----------------------------------------------------------
port = free_port()
late = subprocess.Popen([PROGRAM, "mpi-launch", "-p", str(port), "-i", KEY, "127.0.0.1", "echo here"],
                        stdout=subprocess.PIPE)
time.sleep(1.5)
process = subprocess.Popen([PROGRAM, "mpi-worker", "--listen", "127.0.0.1", "-p", str(port), "-i", KEY],
                           stderr=subprocess.DEVNULL)
is_("a worker that comes up later is waited for", late.communicate(timeout=PATIENCE)[0], b"here\n")
process.terminate()
process.wait()


def fails(*args, env=None):
    r = subprocess.run([PROGRAM, "mpi-launch", "-i", OTHER, *args], capture_output=True,
                       timeout=PATIENCE, env=dict(os.environ, **(env or {})))
    return r.returncode, r.stderr.decode().strip()


is_("a port where nobody listens, until the deadline",
    fails("-p", str(port), "--timeout", "2s", "127.0.0.1", "true"),
    (255, "kftrainer mpi-launch: 127.0.0.1: connect: connect: Connection refused"))
code, text = fails("--timeout", "100ms", "no-such-host.invalid", "true")
is_("a name that does not resolve", (code, text.startswith(
    "kftrainer mpi-launch: no-such-host.invalid: name lookup: ")), (255, True))
is_("ConnectTimeout x ConnectionAttempts", fails(
    "-p", str(port), "-o", "ConnectTimeout=1", "127.0.0.1", "-o", "ConnectionAttempts=1", "true")[1],
    "kftrainer mpi-launch: 127.0.0.1: connect: connect: Connection refused")
is_("KFTRAINER_MPI_PORT, KFTRAINER_MPI_TIMEOUT", fails(
    "127.0.0.1", "true", env={"KFTRAINER_MPI_PORT": str(port), "KFTRAINER_MPI_TIMEOUT": "2s"})[1],
    "kftrainer mpi-launch: 127.0.0.1: connect: connect: Connection refused")
is_("... that is no port", fails("127.0.0.1", "true", env={"KFTRAINER_MPI_PORT": "x"}),
    (255, "kftrainer mpi-launch: KFTRAINER_MPI_PORT: 'x' is not a whole number"))

# ---- a container that is bare ----------------------------------------------------------
# Neither /bin/sh nor /dev, /proc or /etc: both ends start TLS there.
bare = path("bare")
os.mkdir(bare)
shutil.copy(PROGRAM, bare + "/kftrainer")
shutil.copy(KEY, bare + "/key")
root = ["chroot", bare] if os.geteuid() == 0 else ["unshare", "-Ur", "chroot", bare]
port = free_port()
process = subprocess.Popen([*root, "/kftrainer", "mpi-worker", "--listen", "127.0.0.1", "-p", str(port), "-i", "/key"],
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
text = process.stderr.readline().decode()
if "unshare" in text:
    skip("an image without /bin/sh", "no namespaces for this user")
else:
    check("mpi-worker starts without /dev", None if "listening" in text else text)
    for what, argv in (("", [PROGRAM]), (", from a root without /dev", [*root, "/kftrainer"])):
        key = KEY if argv == [PROGRAM] else "/key"
        r = subprocess.run([*argv, "mpi-launch", "-p", str(port), "-i", key, "--timeout", "20s", "127.0.0.1", "true"],
                           capture_output=True, timeout=PATIENCE)
        is_(f"an image without /bin/sh: 127, and which file{what}", (r.returncode, r.stderr.decode().splitlines()[:1]),
            (127, ["mpi-worker: /bin/sh: No such file or directory"]))
process.terminate()
process.wait()

dribbling.join(PATIENCE)
check("a handshake of one byte a second ends after 30 s",
      None if slow and 29 < slow[0] and "not authenticated within 30 s" in patient.log() else f"{slow} {patient.log()}")
patient.stop()

is_("no command", fails("127.0.0.1"), (255, "kftrainer mpi-launch: no command for 127.0.0.1"))
is_("no host", fails(), (255, "kftrainer mpi-launch: specify a host: mpi-launch [OPTIONS] HOST COMMAND"))
finish()
