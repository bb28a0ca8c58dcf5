#!/usr/bin/env python3
"""mpi-launch --wait: every host of a host file resolves, listens and authenticates."""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from mpi_ends import PATIENCE, PROGRAM, SSHD, Sshd, Worker, free_port, is_, new_key, path, until
from tap import check, finish, skip


KEY, OTHER = new_key("key"), new_key("other")
PORT = free_port("0.0.0.0")  # on each of the addresses


def command(text, *options, timeout="20s", port=PORT):
    name = path("hostfile")
    if text is not None:
        with open(name, "w") as f:
            f.write(text)
    return [PROGRAM, "mpi-launch", "--wait", name, "-i", KEY, "-p", str(port), "--timeout", timeout, *options]


def wait(*args, **options):
    r = subprocess.run(command(*args, **options), capture_output=True, timeout=PATIENCE)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def rows(text):
    """Host and stage of each row of the table, from the words in between."""
    lines = text.splitlines()
    begin = [i for i, line in enumerate(lines) if line.startswith("HOST ")]
    return [tuple(line.split("   ")[:1]) + (line[len(line.split("   ")[0]):].strip().split("   ")[0],)
            for line in lines[begin[0] + 1:]] if begin else []


# ---- all of them ---------------------------------------------------------------------
own = os.uname().nodename.split(".")[0]
workers = [Worker(KEY, host=f"127.0.1.{i}", port=PORT) for i in range(1, 5)]
four = "".join(f"127.0.1.{i} slots=2\n" for i in range(1, 5))
code, out, err = wait(four)
is_("four hosts that are up", (code, out, err.startswith("all 4 hosts can run commands, ")), (0, "", True))
is_("... in the form of Hydra, one of them twice", wait("127.0.1.1:2\n127.0.1.2:2\n127.0.1.1:2\n")[0], 0)
is_("the machine's own name is not asked", wait(f"{own} slots=1\n{own}.some-job slots=1\n127.0.1.3\n")[0], 0)
check("... and workers log nothing of it", None if not any("refused" in w.log() for w in workers) else
      workers[0].log())
with subprocess.Popen(command(four + "127.0.1.5\n", timeout="60s"), stderr=subprocess.PIPE) as p:
    time.sleep(1.5)
    early = p.poll()
    workers.append(Worker(KEY, host="127.0.1.5", port=PORT))
    is_("one that comes up later is waited for", (early, p.wait(PATIENCE)), (None, 0))
if SSHD:
    server = Sshd(KEY, host="127.0.1.6", port=PORT)
    is_("... and one of them may be an sshd", wait(four + "127.0.1.6\n")[0], 0)
    server.stop()

# ---- some of them --------------------------------------------------------------------
stranger = Worker(OTHER, host="127.0.1.7", port=PORT)
silent = socket.create_server(("127.0.1.8", PORT))
http = socket.create_server(("127.0.1.9", PORT))


def serve():
    while True:
        try:
            s, _ = http.accept()
        except OSError:
            return
        s.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        s.close()


threading.Thread(target=serve, daemon=True).start()
code, out, err = wait(four + "no-such-host.invalid slots=1\n127.0.1.10 slots=1\n127.0.1.7\n127.0.1.8\n"
                      "127.0.1.9\n", timeout="6s")
is_("the others: each with its stage, in the file's order",
    (code, out, rows(err)),
    (1, "", [("no-such-host.invalid", "name lookup"), ("127.0.1.10", "connect"),
             ("127.0.1.7", "authentication"), ("127.0.1.8", "greeting"), ("127.0.1.9", "greeting")]))
is_("... and how many", "5 of 9 hosts cannot run commands\n" in err, True)
stranger.stop()
silent.close()
http.close()

# ---- the termination message -----------------------------------------------------------
# A /dev of its own, as a container has one.
script = """mount -t tmpfs tmpfs /mnt && cp -a /dev/null /dev/urandom /mnt 2>/dev/null
[ -c /mnt/null ] || { touch /mnt/null && mount --bind /dev/null /mnt/null; }
: >/mnt/termination-log && mount --rbind /mnt /dev || exit 99
"$@"; code=$?; echo "-- $code"; cat /dev/termination-log"""


def last_words(*args):
    r = subprocess.run(["unshare", "-Urm", "sh", "-c", script, "sh", *args], capture_output=True,
                       timeout=PATIENCE)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


many = "".join(f"127.1.{i // 250}.{i % 250 + 1} slots=8\n" for i in range(10000))
code, out, err = last_words(*command(many, timeout="1s"))
if "Operation not permitted" in err:
    skip("the termination message", "no namespaces for this user")
else:
    is_("10,000 hosts that are down: all are in the table", (out.split("\n")[0], len(rows(err))), ("-- 1", 10000))
    message = out.split("\n", 1)[1]
    is_("... and as many as fit in the termination message",
        (len(message) <= 4096, len(message) > 3900, message.split("\n")[0], message.split("\n")[-2][:8]),
        (True, True, "10000 of 10000 hosts cannot run commands", "... and "))
    for what, text, says in (("an empty host file", "", "contains no hosts"),
                             ("a host file with a slip", "a\nb slots=x\n", "line 2: invalid slots 'slots=x'"),
                             ("a host file of someone else's", "-oProxyCommand=x\n", "line 1: invalid host name")):
        code, out, err = last_words(*command(text))
        is_(f"{what}: one line, there too", (out.split("\n")[0], says in out, says in err, err.count("\n")),
            ("-- 2", True, True, 1))
os.unlink(path("hostfile"))
code, out, err = wait(None)
is_("no host file", (code, err), (1, "kftrainer mpi-launch: the host file: " + path("hostfile") +
                                  ": No such file or directory\n"))

# ---- its end ---------------------------------------------------------------------------
with subprocess.Popen(command("127.0.1.10\n", timeout="10m"), stderr=subprocess.PIPE) as p:
    until(lambda: "SigCgt" in (s := open(f"/proc/{p.pid}/status").read()) and
          int(s.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGTERM - 1) & 1)
    p.terminate()
    text = p.communicate(timeout=PATIENCE)[1].decode()
    # It may end before its first attempt.
    stages = [stage for _, stage in rows(text)]
    is_("SIGTERM ends it", (p.returncode, "stopped" in text, stages in (["connect"], ["not tried"])), (1, True, True))
for worker in workers:
    worker.stop()

# ---- names ------------------------------------------------------------------------------
# A resolver that knows the name only later, and negative answers that are remembered: it is
# asked again after a second at the earliest.
RESOLVER = """
import socket, struct, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
print("up", flush=True)
begun = None
while True:
    data, peer = s.recvfrom(4096)
    begun = begun or time.monotonic()
    end = data.index(0, 12) + 5
    kind = struct.unpack(">H", data[end - 4:end - 2])[0]
    known = time.monotonic() - begun > 2.5
    if kind == 1:
        print(f"{time.monotonic() - begun:.3f}", flush=True)
    answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\5\\0\\4\\x7f\\0\\0\\1" if known and kind == 1 else b""
    s.sendto(data[:2] + (b"\\x81\\x80" if known else b"\\x81\\x83") + struct.pack(
        ">HHHH", 1, 1 if answer else 0, 0, 0) + data[12:end] + answer, peer)
"""
names = """ip link set lo up && printf 'nameserver 127.0.0.1\\n' >"$1.conf" &&
mount --bind "$1.conf" /etc/resolv.conf || exit 99
"$3" -c "$4" >"$1.asked" & resolver=$!
"$2" mpi-worker --listen 127.0.0.1 -p 2222 -i "$1" 2>"$1.log" & worker=$!
until grep -q up "$1.asked" && grep -q listening "$1.log"; do sleep 0.1; done
echo 'late.example slots=1' >"$1.hosts"
"$2" mpi-launch --wait "$1.hosts" -i "$1" -p 2222 --timeout 30s; code=$?
kill $resolver $worker
exit $code"""
r = subprocess.run(["unshare", "-Urnm", "sh", "-c", names, "sh", KEY, PROGRAM, sys.executable, RESOLVER],
                   capture_output=True, timeout=PATIENCE)
text = r.stderr.decode()
if r.returncode == 99 or "Operation not permitted" in text:
    skip("names that appear later", "no namespaces for this user")
else:
    with open(KEY + ".asked") as f:
        asked = [float(line) for line in f.read().split() if line != "up"]
    check("a name that appears later is waited for", None if r.returncode == 0 else text)
    gaps = [b - a for a, b in zip(asked, asked[1:])]
    check("... and asked for once a second at most", None if len(asked) > 2 and min(gaps) > 0.95 else asked)
finish()
