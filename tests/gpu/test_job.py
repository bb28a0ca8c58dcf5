#!/usr/bin/env python3
"""`kftrainer preflight --nodes`: an all-reduce over several nodes, and who is to blame when it fails."""
import concurrent.futures
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from ports import free_port
from standin import NCCL, PATIENCE, PROGRAMS, SCRATCH, dev, environ, has, is_, libraries
from tap import check, finish

KEY, OTHER, SHORT = (os.path.join(SCRATCH, name) for name in ("key", "other", "short"))
for path, text in ((KEY, "a secret of this job"), (OTHER, "a secret of another"), (SHORT, "x")):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
SLOW = "1000h"


class Node:
    """One node's preflight; in JSON, unless it is refused."""

    def __init__(self, rank, nodes, port, standin="", *args, key=KEY, program=PROGRAMS[0], checks="devices,job", host="127.0.0.1",
                 index=False, timeout=SLOW, **env):
        rank_args = [] if index else ["--node-rank", str(rank)]
        more = {"JOB_COMPLETION_INDEX": str(rank)} if index else {}
        self.process = subprocess.Popen(
            [program, "preflight", "-o", "json", *(["--check", checks] if checks else []), "--timeout", timeout, "--nodes", str(nodes), *rank_args,
             "--leader", f"{host}:{port}", "--job-key", key, *args],
            env=environ(f"devices=2 {standin}", **more, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL)

    def end(self):
        out, self.errors = self.process.communicate(timeout=PATIENCE)
        self.rows = [json.loads(line) for line in out.splitlines()]
        self.job = [r for r in self.rows if r["check"] == "job"]
        return self.process.returncode

    def bad(self):
        return [(r.get("device"), r["result"]) for r in self.job if r["result"] != "pass"]

    def says(self):
        return " ".join(r["message"] for r in self.job)


def job(*standins, program=PROGRAMS[0], port=None, **options):
    """Ended nodes; rank 0 is the last to start."""
    port = port or free_port()
    nodes = [Node(r, len(standins), port, standins[r], program=program, **options) for r in reversed(range(len(standins)))][::-1]
    codes = {n.end() for n in nodes}
    alike = [n.job == nodes[0].job for n in nodes]
    return nodes[0], codes, all(alike)


def finds(what, standins, code, bad, *parts, **options):
    return found(what, job(*standins, **options), code, bad, *parts)


def found(what, job, code, bad, *parts):
    first, codes, alike = job
    is_(what + ": on all nodes alike", (first.bad(), codes, alike, first.errors), (bad, {code}, True, ""))
    if parts:
        has("... with the reason", first.says(), *parts)
    return first


ME = os.uname().nodename


def passes():
    for program in PROGRAMS:
        print("#", program)
        first = finds("two nodes pass", ("", ""), 0, [], "all-reduce over all nodes", program=program, index=True)
        is_("... with the bus bandwidth", [(r["unit"], r["value"] > 0) for r in first.job], [("GB/s", True)])
        if program != PROGRAMS[0]:
            continue
        finds("a leader by its IPv6 address", ("", ""), 0, [], program=program, host="[::1]")
        finds("three nodes of 1, 2 and 1 devices", ("devices=1", "", "devices=1"), 0, [], program=program)
        finds("wrong sums of a GPU of three nodes", ("", "sum=1", ""), 30,
              [(None, "fatal"), (ME, "fatal"), (f"{ME}/1", "fatal")], "GPU 1: 1 sums of NCCL's all-reduce are wrong", program=program)


def blame():
    finds("a slow node", ("devices=1", "devices=1", "devices=1 network=400000"), 30, [(ME, "fatal")], "fails with every other node: less than half")
    finds("a slow link between two", ("devices=1 badlink=1", "devices=1", "devices=1 badlink=1"), 30, [(f"{ME}-{ME}", "fatal")], "check the link")
    finds("wrong sums, two nodes", ("sum=0", ""), 30, [(None, "fatal")], "GPU 0: 1 sums")
    words = (("abort=ncclGroupEnd", "signal 6"), ("fail=ncclCommInitRank:2", "unhandled system error (2)"),
             ("hang=ncclGroupEnd", "no answer within 3s"))
    with concurrent.futures.ThreadPoolExecutor() as pool:  # the other node waits for its deadline
        jobs = pool.map(lambda word, port: job("", word, timeout="3s", port=port), (w for w, _ in words), (free_port() for _ in words))
    for (word, like), ended in zip(words, jobs):
        found(word + " on one", ended, 30, [(None, "fatal")], NCCL + ": ncclG" if "Group" in word else "ncclCommInitRank", like)
    finds("a node without NCCL", ("", ""), 30, [(None, "fatal")], "cannot load " + NCCL, lib=libraries(NCCL), PATH="/usr/bin:/bin")
    finds("a node whose own checks failed", ("", "failed=0"), 30, [(ME, "fatal")], "node rank 1", "its own checks failed",
          checks="health,job")


def absent():
    port = free_port()
    alone = Node(0, 3, port, "", "--deadline", "3s", host="j-node-0-0.j")
    second = Node(1, 3, port, "", "--deadline", "60s")
    is_("a rank that never comes: fatal, where it was expected and where not", (alone.end(), second.end()), (30, 30))
    is_("... with its node", alone.bad(), [("j-node-0-2.j", "fatal")])
    has("... and its rank", second.says(), "node rank 2 (j-node-0-2.j): did not connect")
    nobody = Node(1, 2, free_port(), "", "--deadline", "500ms")
    is_("rank 0 never comes: fatal", nobody.end(), 30)
    has("... with the address", nobody.says(), "127.0.0.1:")
    port = free_port()
    nodes = Node(0, 2, port), Node(1, 2, port, dev=dev(0))
    is_("a node without a GPU: fatal on all", [n.end() for n in nodes], [30, 30])
    has("... that says which", nodes[0].says(), "node rank 1", "has no GPU")
    port = free_port()
    nodes = [Node(r, 2, port, dev=dev(0), checks=None) for r in range(2)]
    is_("two nodes without GPUs pass, as one does", [n.end() for n in nodes], [0, 0])
    is_("... and say so", [n.says() for n in nodes], ["no node has a GPU"] * 2)
    for n in nodes:
        has("... and what was not checked", str(n.rows), "not checked, nor ports, links and clocks", "'127.0.0.1'", "--leader JOB-node-0-0.JOB:PORT")
    nodes = [Node(r, 2, port, "", "--gpus", "1", dev=dev(0)) for r in range(2)]
    is_("... but if GPUs are required: fatal", [n.end() for n in nodes], [30, 30])


def wait_for(condition):
    """It comes to pass; what started the test waits no longer than for any program."""
    until = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < until:
        time.sleep(.02)
    return condition()


def helpers(node):
    with open(f"/proc/{node.process.pid}/task/{node.process.pid}/children", encoding="ascii") as file:
        return file.read().split()


def is_gone(pid):
    """Nothing of it runs: init may not have waited for it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def dies(program, rank, port, with_signal, deadline):
    """A job of three whose all-reduce has begun when a node gets the signal: it, the others, all helpers."""
    tmp = os.path.join(SCRATCH, f"dies{port}")
    os.mkdir(tmp)
    nodes = [Node(r, 3, port, "devices=1" + " hang=ncclGroupEnd" * (r == rank), "--deadline", deadline, program=program,
                  timeout="3s", TMPDIR=tmp) for r in range(3)]
    begun = wait_for(lambda: glob.glob(f"{tmp}/standin-nccl-*"))  # all have been told: the others have joined
    started = [pid for n in nodes for pid in helpers(n)]
    nodes[rank].process.send_signal(with_signal)
    others = [n for n in nodes if n is not nodes[rank]]
    codes = [n.end() for n in others]
    nodes[rank].process.kill()
    nodes[rank].process.communicate()
    return begun, others, codes, [pid for pid in started if not wait_for(lambda: is_gone(pid))], len(started)


DEATHS = (("a rank", 1, signal.SIGKILL, "100h", f"node rank 1 ({ME}): exited during the all-reduce"),
          ("rank 0", 0, signal.SIGKILL, "100h", "node rank 0 (127.0.0.1): has closed the connection"),
          ("a rank that is frozen", 2, signal.SIGSTOP, "30s", f"node rank 2 ({ME}): no answer by the check's deadline"))


def deaths(pool):
    """Of a rank in the middle of the all-reduce. They take their deadlines: what they come to is looked at later."""
    return [(program, what, said, pool.submit(dies, program, rank, free_port(), with_signal, deadline))
            for program in PROGRAMS for what, rank, with_signal, deadline, said in DEATHS]


def died(deaths):
    for program, what, said, job in deaths:
        print("#", program)
        begun, others, codes, left, n_helpers = job.result()
        check(f"{what} dies in the all-reduce", None if begun and n_helpers == 3 else (begun, n_helpers))
        is_("... each other rank: fatal", codes, [30, 30])
        for n in others:
            has("... it names the rank and its node", n.says(), said)
            is_("... and nobody else", n.bad(), [(None if what == "rank 0" else ME, "fatal")])
            is_("... and complains of nothing else", n.errors, "")
        is_("... no helper is left", left, [])


def strangers():
    for program in PROGRAMS:
        port = free_port()
        first = Node(0, 2, port, program=program)
        stranger = Node(1, 2, port, key=OTHER)
        is_("a stranger: fatal there", stranger.end(), 30)
        garbage = []
        for data in (b"GET / HTTP/1.1\r\n\r\n", bytes(100), b"\x16\x03\x01\xff\xff" + bytes(70000)):
            with socket.create_connection(("127.0.0.1", port)) as s:
                try:
                    s.sendall(data)
                    s.shutdown(socket.SHUT_WR)
                    garbage.append(s.recv(10000)[:5] != b"HTTP/")
                except OSError:
                    garbage.append(True)
        is_("... and who speaks something else gets no answer", garbage, [True] * 3)
        third = Node(7, 9, port)  # with the key, but of another rank
        is_("... nor a rank that is not of this job", third.end(), 30)
        second = Node(1, 2, port, program=program)
        is_("... the job goes on without them", (second.end(), first.end(), first.bad()), (0, 0, []))
        is_("... a line each", first.errors.count("refused: "), 5)
        false_leader = Node(0, 2, port := free_port(), key=OTHER)
        follower = Node(1, 2, port, "", "--deadline", "20s")
        is_("a stranger's rank 0, and its id, are refused", follower.end(), 30)
        check("... nothing was reduced", [r for r in follower.job if "bandwidth" in r["message"]] or None)
        false_leader.process.kill()
        false_leader.process.communicate()


def arguments():
    for what, node, like in (
            ("a short key", Node(0, 2, 1, key=SHORT), "at least 16"), ("no key", Node(0, 2, 1, key="/nowhere"), "/nowhere"),
            ("a rank beyond", Node(5, 2, 1), "out of range"), ("no port", Node(0, 2, "x"), "HOST:PORT"),
            ("a port beyond", Node(0, 2, 70000), "HOST:PORT"),
            *((f"{c} of nodes without names", Node(0, 2, 1, checks="job," + c), f"--check {c}: the other nodes' names do not follow")
              for c in ("names", "ports", "links", "clocks"))):
        code = node.end()
        check("refused: " + what, None if code in (1, 2) and not node.rows else (code, node.rows))
        has("... that says so", node.errors, like)


with concurrent.futures.ThreadPoolExecutor() as background:
    begun = deaths(background)
    passes()
    blame()
    absent()
    strangers()
    arguments()
    died(begun)
shutil.rmtree(SCRATCH, ignore_errors=True)
finish()
