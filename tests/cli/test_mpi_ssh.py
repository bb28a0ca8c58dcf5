#!/usr/bin/env python3
"""mpi-launch and OpenSSH's sshd: the same as with mpi-worker, and peers that only look like one."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from mpi_ends import PATIENCE, PROGRAM, SSHD, Sshd, free_port, is_, marked, new_key, path, run_commands, until
from tap import check, finish, skip


def ends(what, r, code, *says):
    """Exit code and one line on stderr that says all of it."""
    text = r.stderr.decode()
    check(what, None if r.returncode == code and text.count("\n") == 1 and all(
        s in text for s in says) else f"{r.returncode}: {text}")


if not SSHD:
    check("sshd is installed", "no sshd: tests/setup.sh quick installs it")
    finish()
KEY, OTHER = new_key("key"), new_key("other")
PASSED, LOST = f"passed-{os.getpid()}", f"lost-{os.getpid()}"

# ---- a peer that vanishes: begun now, looked at in the end -----------------------------
# A network of its own, whose only link goes down while the command runs.
VANISH = """ip link set lo up
"$0" mpi-worker --listen 127.0.0.1 -p 2222 -i "$1" 2>"$2.log" & worker=$!
"$0" mpi-launch --timeout 20s -i "$1" 127.0.0.1 'echo up; exec sleep 1000' >"$2" 2>"$2.err" & agent=$!
until grep -q up "$2"; do kill -0 $agent || exit 9; sleep 0.1; done
ip link set lo down
echo down
wait $agent; code=$?
kill $worker
exit $code"""
out = tempfile.mktemp(dir=os.path.dirname(KEY))
vanishing = subprocess.Popen(["unshare", "-Urn", "sh", "-c", VANISH, PROGRAM, KEY, out],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

# ---- a command -----------------------------------------------------------------------
server = Sshd(KEY)
run_commands(server)
r = server.run('echo \'$HOME\' "a  b"; echo "$0" | grep -c sh')
is_("no word is changed", (r.stdout, r.returncode), (b"$HOME a  b\n1\n", 0))
for name, code in (("KILL", 137), ("TERM", 143), ("SEGV", 139)):
    is_(f"the end of SIG{name}", server.run(f"kill -{name} $$").returncode, code)
r = server.run("no-such-program --x")
is_("a program that is not there: the shell's own words, 127 and a hint",
    (r.returncode, b"not found" in r.stderr, b"does not pass on the container's PATH" in r.stderr),
    (127, True, True))
is_("a command of exactly a packet", server.run("echo " + "x" * (32750 - 13) + " | wc -c").stdout, b"32738\n")
ends("... of one byte more is refused, with sshd's limit", server.run("echo " + "x" * (32750 - 12) + " | wc -c"), 255,
     "the command has 32751 bytes; an sshd takes at most 32750")
with subprocess.Popen(server.command("exec >&- 2>&-; sleep 0.5; exit 4")) as p:
    is_("output that ends early does not end the command", p.wait(PATIENCE), 4)
with subprocess.Popen(server.command("cat | wc -c"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
    is_("5 MB of input, the slow way", p.communicate(b"y" * 5000000, PATIENCE)[0], b"5000000\n")
link = path("ssh")
os.symlink(PROGRAM, link)
r = subprocess.run([link, "-x", "-q", "-o", "ConnectionAttempts=10", "127.0.0.1", "-p",
                    str(server.port), "-i", KEY, "(", "echo", "as ssh", ")"], capture_output=True,
                   timeout=PATIENCE)
is_("by the name ssh, with its options", (r.stdout, r.returncode), (b"as ssh\n", 0))


def end(mark):
    for pid in marked(mark):
        os.kill(pid, signal.SIGKILL)


for signum in (signal.SIGTERM, signal.SIGINT):
    with subprocess.Popen(server.command(f"MARK={PASSED}; export MARK; exec sleep 1000")) as p:
        until(lambda: marked(PASSED))
        p.send_signal(signum)
        is_(f"{signal.Signals(signum).name} ends it", p.wait(PATIENCE), 128 + signum)
        if os.getuid() == 0:
            end(PASSED)  # OpenSSH passes no signal on to what root runs
        is_("... and the command", bool(until(lambda: not marked(PASSED))), True)
with subprocess.Popen(server.command(f"MARK={LOST}; export MARK; kill -9 $PPID; exec sleep 1000"),
                      stderr=subprocess.PIPE) as p:
    text = p.communicate(timeout=PATIENCE)[1].decode()
    is_("a server that dies midway: 255 and a line",
        (p.returncode, text.count("\n"), text.startswith("kftrainer mpi-launch: 127.0.0.1: ")),
        (255, 1, True))
end(LOST)

# ---- the job's key -------------------------------------------------------------------
ends("a key that the server does not know", server.run("true", key=OTHER), 255,
     "127.0.0.1: authentication: ", "host key is not the job's key")
r = server.run("true", key=OTHER, env={"KFTRAINER_MPI_HOST_KEY": "any"})
ends("... whatever its host key is", r, 255, "does not accept the job's key for user ")
ends("a user that is not there", server.run("true", host="nobody-here@127.0.0.1"), 255,
     "does not accept the job's key for user nobody-here")
server.stop()
server = Sshd(KEY, host_key=OTHER)
ends("another host key", server.run("true"), 255, "the sshd's host key is not the job's key")
is_("... is accepted if one says so", [server.run("-oStrictHostKeyChecking=no", "echo yes").stdout,
                                       server.run("echo yes", env={"KFTRAINER_MPI_HOST_KEY": "any"}).stdout],
    [b"yes\n", b"yes\n"])
ends("... and says it right", server.run("true", env={"KFTRAINER_MPI_HOST_KEY": "all"}), 255,
     "KFTRAINER_MPI_HOST_KEY: invalid value 'all': want job or any")
server.stop()
ed25519 = path("ed25519")
subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ed25519], check=True)
server = Sshd(KEY, host_key=ed25519)
ends("a host key of a kind that is not spoken", server.run("true"), 255, "authentication: key exchange: ")
server.stop()
for what, kind in (("P-256", ("ecparam", "-name", "prime256v1", "-genkey", "-noout")),
                   ("RSA", ("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")),
                   ("PKCS #8", ("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"))):
    key = new_key(what.replace(" ", ""), *kind)
    server = Sshd(key)
    r = server.run("echo here")
    is_(f"a key of the kind {what}", (r.stdout, r.stderr), (b"here\n", b""))
    server.stop()

shared = path("shared")
shutil.copy(KEY, shared)
os.chmod(shared, 0o644)
server = Sshd(KEY)
is_("a key that everybody may read", server.run("echo read", key=shared).stdout, b"read\n")
port = free_port()
r = subprocess.run([PROGRAM, "mpi-launch", "-p", str(port), "-i", shared, "--timeout", "1s",
                    "127.0.0.1", "true"], capture_output=True, timeout=PATIENCE)
ends("... no sshd of root's starts with: the message says so", r, 255, "Connection refused; others can read")
if os.getuid() == 0:
    r = subprocess.run([SSHD, "-t", "-f", "/dev/null", "-h", shared], capture_output=True, timeout=PATIENCE)
    check("... as it is", None if r.returncode and b"UNPROTECTED" in r.stderr else r.stderr.decode())
    os.chmod(os.path.dirname(KEY), 0o755)
    r = subprocess.run(["setpriv", "--reuid=12345", "--regid=0", "--clear-groups",
                        *server.command("echo any uid", key=shared)], capture_output=True, timeout=PATIENCE,
                       env={"PATH": os.environ["PATH"]})
    is_("a user id without a name", (r.stdout, r.stderr), (b"any uid\n", b""))
else:
    skip("... as it is; a user id without a name", "only root can")
server.stop()

# ---- servers that are late, and busy ---------------------------------------------------
port = free_port()
late = subprocess.Popen([PROGRAM, "mpi-launch", "-p", str(port), "-i", KEY, "127.0.0.1", "echo here"],
                        stdout=subprocess.PIPE)
time.sleep(1)
server = Sshd(KEY, port=port)
is_("a server that comes up later is waited for", late.communicate(timeout=PATIENCE)[0], b"here\n")
server.stop()
server = Sshd(KEY, "MaxStartups 1:100:1")
agents = [subprocess.Popen(server.command(f"echo {i}", timeout="60s"), stdout=subprocess.PIPE)
          for i in range(8)]
is_("8 at once to a server that takes one", [a.communicate(timeout=PATIENCE)[0] for a in agents],
    [b"%d\n" % i for i in range(8)])
check("... and drops others", None if "MaxStartups" in server.log() else server.log())
server.stop()

# ---- peers that are no sshd ------------------------------------------------------------


def peer(says, closes):
    """The port of one that says this to whoever comes, and closes or reads on."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                s, _ = listener.accept()
                s.sendall(says)
                while not closes and s.recv(4096):
                    pass
                s.close()
            except OSError:
                if listener.fileno() < 0:
                    return

    threading.Thread(target=serve, daemon=True).start()
    return listener


BANNER = b"SSH-2.0-OpenSSH_9.2\r\n"
for what, says, closes in (
        ("closes", b"", True), ("is silent", b"", False), ("speaks HTTP", b"HTTP/1.1 400 Bad Request\r\n\r\n", True),
        ("is silent after its banner", BANNER, False), ("closes after its banner", BANNER, True),
        ("has a banner without end", b"SSH-2.0-" + b"x" * 1000000, False),
        ("has a packet of 4 GiB", BANNER + b"\xff\xff\xff\xff\x04\x14", False),
        ("says nonsense", BANNER + bytes(range(256)) * 400, False),
        ("lets in without a key", BANNER + b"\0\0\0\x0c\x0a\x34" + b"a" * 10, False)):
    listener = peer(says, closes)
    r = subprocess.run([PROGRAM, "mpi-launch", "-p", str(listener.getsockname()[1]), "-i", KEY,
                        "--timeout", "1s", "127.0.0.1", "true"], capture_output=True, timeout=PATIENCE)
    ends(f"a peer that {what}", r, 255, "kftrainer mpi-launch: 127.0.0.1: ")
    listener.close()

text = vanishing.communicate(timeout=PATIENCE * 2)[0].decode()
if "Operation not permitted" in text:
    skip("a peer that vanishes", "no namespaces for this user")
else:
    with open(out + ".err") as f:
        text += f.read()
    is_("a peer that vanishes is noticed", (vanishing.returncode, "down\n" in text,
                                            "kftrainer mpi-launch: 127.0.0.1: " in text), (255, True, True))
finish()
