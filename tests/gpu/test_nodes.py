#!/usr/bin/env python3
"""`kftrainer preflight`: volumes, shared memory, and the names, ports, links and clocks of nodes in network namespaces;
each fault that is put in is found, and named."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
from tap import check, finish, skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-nodes-"))
(scratch / "key").write_text("a secret of this job")
NODES, MINE = 3, f"kft{os.getpid()}"
NAMES = [f"j-node-0-{i}.j" for i in range(NODES)]
CHECKS = "mounts,shm,names,ports,links,clocks"
# What is measured is the network, not what else runs on this machine: a link that has to wait for a processor is slow, too.
AT_ONCE = ["chrt", "-r", "1"]
if subprocess.run([*AT_ONCE, "true"], capture_output=True).returncode:
    AT_ONCE = []


def run(*argv, ok=True):
    r = subprocess.run([str(a) for a in argv], capture_output=True, text=True)
    if ok and r.returncode:
        raise RuntimeError(f"{argv}: {r.stderr}")
    return r


def unlike(got, wanted):
    return "" if got == wanted else f"{got}\nwanted: {wanted}"


# ---- one node -----------------------------------------------------------------------------------------------------
def alone(script, *argv, checks="mounts,shm"):
    """preflight in a mount namespace, after a script there: its exit status and rows."""
    words = " ".join(argv)
    r = run("unshare", "-m", "sh", "-c", f"{script}\nexec {PROGRAM} preflight --check {checks} -o json {words}", ok=False)
    return r.returncode, [(row["check"], row["result"], row.get("device"), row["message"])
                          for row in map(json.loads, r.stdout.splitlines()) if row["check"] != "devices"]


def killed(data):
    """A pod's container that is started again has the process ID of the one before, and its host's name."""
    what = "a check after one that was killed"
    if run("strace", "-o", "/dev/null", "true", ok=False).returncode:
        skip(what, "no strace here")
        return
    argv = [PROGRAM, "preflight", "--check", "mounts", "--mount", data]
    again = ["unshare", "--pid", "--fork", "strace", "-o", "/dev/null", "-e"]
    run(*again, "inject=fsync:signal=KILL", *argv, ok=False)
    left = len(os.listdir(data))
    r = run(*again, "trace=none", *argv, ok=False)
    check(what, unlike((left, r.returncode), (1, 0)) and r.stdout)
    for name in os.listdir(data):
        (data / name).unlink()


def volumes():
    data, work = scratch / "data", scratch / "work"
    data.mkdir()
    work.mkdir()
    good = "written, read, removed"
    code, rows = alone("true", "--mount", str(data), "--mount", str(work), checks="mounts")
    check("two volumes", unlike((code, rows), (0, [("mounts", "pass", str(data), good), ("mounts", "pass", str(work), good)])))
    check("... nothing is left in them", unlike(os.listdir(data) + os.listdir(work), []))
    killed(data)
    for what, script, like in (("a full one", f"mount -t tmpfs -o size=512k none {data}", "cannot write a file: No space left on device: make room"),
                               ("a read-only one", f"mount -t tmpfs -o ro none {data}", "cannot create a file: Read-only file system"),
                               ("one that is not there", f"rmdir {data}", "cannot create a file: No such file or directory")):
        code, rows = alone(script, "--mount", str(data), "--mount", str(work), checks="mounts")
        check(f"{what}: fatal", unlike((code, [row[:3] for row in rows]), (30, [("mounts", "fatal", str(data)), ("mounts", "pass", str(work))])))
        check("... why", "" if like in rows[0][3] else rows)
        data.mkdir(exist_ok=True)
    check("... but with --warn", unlike(alone("rmdir " + str(data), "--warn", "--mount", str(data))[0], 0))
    small = "mount -t tmpfs -o size=16m none /dev/shm"
    check("/dev/shm as large as was asked", unlike(alone(small, "--shm", "16Mi", checks="shm"), (0, [("shm", "pass", None, "as large as was asked")])))
    code, rows = alone(small, "--shm", "64Mi", checks="shm")
    check("a smaller one: fatal", unlike((code, [row[:3] for row in rows]), (30, [("shm", "fatal", "/dev/shm")])))
    check("checks that lack their option are named", unlike(alone("true", "--mount", str(work), checks="shm,names,mounts,job"), (0, [
        ("shm", "pass", None, "not checked: specify --shm SIZE"), ("names", "pass", None, "not checked: specify --nodes N"),
        ("job", "pass", None, "not checked: specify --nodes N"), ("mounts", "pass", str(work), good)])))
    r = run(PROGRAM, "preflight", "--shm", "lots", ok=False)
    check("--shm that is no size", unlike((r.returncode, "--shm 'lots': expected a size" in r.stderr), (2, True)))


# ---- three nodes --------------------------------------------------------------------------------------------------
def space(i):
    return f"{MINE}n{i}"


def inside(i, *argv, ok=True):
    return run("ip", "netns", "exec", space(i), *argv, ok=ok)


def up():
    run("ip", "netns", "add", MINE + "b")
    run("ip", "-n", MINE + "b", "link", "add", "br0", "type", "bridge")
    run("ip", "-n", MINE + "b", "link", "set", "br0", "up")
    for i in range(NODES):
        run("ip", "netns", "add", space(i))
        run("ip", "-n", space(i), "link", "add", "eth0", "type", "veth", "peer", "name", f"v{i}", "netns", MINE + "b")
        run("ip", "-n", MINE + "b", "link", "set", f"v{i}", "master", "br0", "up")
        run("ip", "-n", space(i), "addr", "add", f"10.99.0.{i + 1}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            run("ip", "-n", space(i), "link", "set", link, "up")
        hosts(i)


def hosts(i, without=None):
    (scratch / f"hosts{i}").write_text("127.0.0.1 localhost\n" + "".join(
        f"10.99.0.{k + 1} {name}\n" for k, name in enumerate(NAMES) if k != without))


def down():
    for name in [space(i) for i in range(NODES)] + [MINE + "b"]:
        run("ip", "netns", "del", name, ok=False)
    shutil.rmtree(scratch, ignore_errors=True)


def job(n=NODES, programs=None, args=(), env=None):
    """Exit statuses, and rows of each node: (check, result, device, message)."""
    started = []
    for i in range(n):
        words = [(programs or {}).get(i, PROGRAM), "preflight", "--check", CHECKS, "-o", "json", "--nodes", str(n), "--node-rank", str(i),
                 "--leader", NAMES[0] + ":29400", "--job-key", str(scratch / "key"), *args]
        started.append(subprocess.Popen(
            [*AT_ONCE, "ip", "netns", "exec", space(i), "unshare", "-m", "sh", "-c", f'mount --bind {scratch}/hosts{i} /etc/hosts && exec "$@"', "sh", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **((env or {}).get(i, {}))}))
    ended = [p.communicate() for p in started]
    rows = [[(row["check"], row["result"], row.get("device"), row["message"]) for row in map(json.loads, out.splitlines())
             if row["check"] != "devices"] for out, _ in ended]
    return [p.returncode for p in started], rows


def bad(rows):
    return [row[:3] for row in rows if row[1] != "pass"]


def finds(what, wanted, like, n=NODES, **more):
    """`like`: a measured figure is on the side of the fault's that a wait for a processor moves it to."""
    codes, rows = job(n, **more)
    check(f"{what}: found on all nodes alike", unlike((codes, [bad(r) for r in rows]), ([30] * n, [wanted] * n)))
    check("... why", "" if any(re.search(like, row[3]) for row in rows[0] if row[1] != "pass") else rows[0])


class Rule:
    """Something that is wrong as long as it lasts."""

    def __init__(self, i, begin, end):
        self.i, self.begin, self.end = i, begin.split(), end.split()

    def __enter__(self):
        inside(self.i, *self.begin)

    def __exit__(self, *args):
        inside(self.i, *self.end)


def firewall(i, rule):
    return Rule(i, "iptables -A " + rule, "iptables -D " + rule)


def slow(i):
    return Rule(i, "tc qdisc add dev eth0 root tbf rate 10mbit burst 16kb latency 100ms", "tc qdisc del dev eth0 root")


class Far:
    """What node i sends and gets takes that many milliseconds each way: a bridge of its own, which waits."""

    def __init__(self, i, ms):
        self.i, self.ms = i, ms

    def __enter__(self):
        run("ip", "-n", MINE + "b", "link", "set", f"v{self.i}", "nomaster")
        run("ip", "-n", MINE + "b", "link", "add", "far0", "type", "veth", "peer", "name", "far1")
        run("ip", "-n", MINE + "b", "link", "set", "far1", "master", "br0", "up")
        run("ip", "-n", MINE + "b", "link", "set", "far0", "up")
        for k in range(NODES):
            inside(k, sys.executable, "-c", WHOLE)
        self.process = subprocess.Popen([*AT_ONCE, "ip", "netns", "exec", MINE + "b", sys.executable, "-c", FORWARD, f"v{self.i}", "far0",
                                         str(self.ms)], stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def __exit__(self, *args):
        self.process.kill()
        self.process.wait()
        run("ip", "-n", MINE + "b", "link", "del", "far0")
        run("ip", "-n", MINE + "b", "link", "set", f"v{self.i}", "master", "br0")


# Packets leave with their checksum, and no larger than the link takes (ETHTOOL_STXCSUM, _STSO, _SGSO).
WHOLE = """
import array, fcntl, socket, struct
for command in (0x17, 0x1f, 0x24):
    value = array.array("B", struct.pack("II", command, 0))
    fcntl.ioctl(socket.socket(), 0x8946, struct.pack("16sP", b"eth0", value.buffer_info()[0]))
"""
FORWARD = """
import collections, select, socket, sys, time
a, b = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2))
a.bind((sys.argv[1], 0)); b.bind((sys.argv[2], 0))
delay, late = float(sys.argv[3]) / 1000, collections.deque()
print("up", flush=True)
while True:
    wait = max(0, late[0][0] - time.monotonic()) if late else None
    for s in select.select([a, b], [], [], wait)[0]:
        data, address = s.recvfrom(70000)
        if address[2] != socket.PACKET_OUTGOING:
            late.append((time.monotonic() + delay, b if s is a else a, data))
    while late and late[0][0] <= time.monotonic():
        _, to, data = late.popleft()
        try:
            to.send(data)
        except OSError:
            pass
"""


def nodes():
    codes, rows = job()
    check("three nodes pass", unlike((codes, [bad(r) for r in rows]), ([0] * 3, [[]] * 3)))
    check("... each check has its line", unlike([[row[0] for row in r] for r in rows], [["mounts", "shm", "names", "clocks", "ports", "links"]] * 3))
    check("... of all links", "" if rows[0][-1][3] == "the slowest of 3 links" else rows[0])
    for _ in range(int(os.environ.get("CLEAN_RUNS", "1"))):
        began = time.monotonic()
        codes, rows = job(2)
        check("two nodes pass", unlike((codes, [bad(r) for r in rows]), ([0] * 2, [[]] * 2)))
        print(f"# {time.monotonic() - began:.2f} s")
    with slow(1):
        finds("10 Mbit/s of two nodes", [("links", "fatal", f"{NAMES[0]}-{NAMES[1]}")], rf"from {NAMES[1]} to {NAMES[0]} (0\.[1-9]|1\.[0-9]) MB/s", n=2)
    with slow(2):
        finds("10 Mbit/s from one of three", [("links", "fatal", NAMES[2])], "node rank 2: all of its links are bad: exclude it")
    with Far(1, 20):
        finds("20 ms to one of two", [("links", "fatal", f"{NAMES[0]}-{NAMES[1]}")], r" [4-9][0-9]\.[0-9] ms to an answer", n=2)
    with firewall(1, "OUTPUT -d 10.99.0.3 -j DROP"):
        finds("a link that drops all", [("links", "fatal", f"{NAMES[1]}-{NAMES[2]}")], "")
    with firewall(2, "INPUT -s 10.99.0.1 -p tcp -m tcp --sport 29500 -m statistic --mode random --probability 0.1 -j DROP"), \
            firewall(2, "INPUT -s 10.99.0.1 -p tcp -m tcp --dport 29500 -m statistic --mode random --probability 0.1 -j DROP"):
        finds("a link that drops 10 %", [("links", "fatal", f"{NAMES[0]}-{NAMES[2]}")], " packets lost: check the network")
    with firewall(0, "INPUT -p tcp --dport 29500 -j REJECT --reject-with tcp-reset"):
        finds("a port that is closed by a firewall", [("links", "fatal", NAMES[0])], "all of its links")
    taken = subprocess.Popen(["ip", "netns", "exec", space(1), sys.executable, "-c",
                              "import socket; s = socket.create_server(('', 29500)); print('up', flush=True); s.accept()"],
                             stdout=subprocess.PIPE, text=True)
    taken.stdout.readline()
    finds("a port that is taken", [("ports", "fatal", NAMES[1])], "node rank 1: ")
    taken.kill()
    taken.wait()
    hosts(0, without=2)
    codes, rows = job(args=["--deadline", "3s"])
    check("a name that does not resolve on a node", unlike(bad(rows[0])[0], ("names", "fatal", NAMES[2])))
    hosts(0)


def clocks():
    r = run("make", "-s", "-C", ROOT, "build/kftrainer-shifted", ok=False)
    if r.returncode:
        skip("clocks", "build/kftrainer-shifted is not built: " + r.stderr[-300:])
        return
    (scratch / "shift").write_text("-30")
    finds("a clock that is behind", [("clocks", "fatal", NAMES[1])], r"node rank 1: its clock is (30\.0|29\.[0-9]) s behind that of node rank 0",
          programs={1: str(ROOT / "build/kftrainer-shifted")}, env={1: {"SHIFTED_CLOCK": str(scratch / "shift")}})


try:
    if os.geteuid():
        skip("nodes", "network and mount namespaces need root")
    else:
        volumes()
        up()
        nodes()
        clocks()
finally:
    down()
finish()
