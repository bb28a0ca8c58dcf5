#!/usr/bin/python3
"""Figures of `controller --local` beside a real API server, in the same run: a read, one writer and 64,
100 watches. The clients are nonblocking TLS sockets on one thread. Where strace is installed, the writers once
more on a disk that takes 4 ms longer for each fsync: what sharing one brings shows where it takes time.
usage: apiserver_bench.py KFTRAINER FOLDER ADMIN_KUBECONFIG API_SERVER_PID"""
import json
import os
import selectors
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
from api import Api  # noqa: E402
from row import lacks, row  # noqa: E402

MAPS = "/api/v1/namespaces/api-bench/configmaps"
READS, SECONDS, ROUNDS, WRITERS = 2000, 5, 3, 64
WATCHES, RATE, CHANGED = 100, 1000, 16
SLOW_DISK = ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=4000"]
TICKS = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Connection:
    """HTTP/1.1 over TLS: `send` a request; `answered` once its answer has come as a whole."""

    def __init__(self, api):
        plain = socket.create_connection((api.url.hostname, api.url.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = api.tls.wrap_socket(plain, server_hostname=api.url.hostname)
        self.socket.setblocking(False)
        self.head = "".join(f"{k}: {v}\r\n" for k, v in api.headers.items()) + f"Host: {api.url.netloc}\r\n"
        self.got = b""

    def send(self, method, path, body=None, kind="application/json"):
        data = b"" if body is None else json.dumps(body).encode()
        more = f"Content-Type: {kind}\r\nContent-Length: {len(data)}\r\n" if body is not None else ""
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n{self.head}{more}\r\n".encode() + data)

    def read(self):
        """All that is there; b'' at the end."""
        got = []
        try:
            while True:
                got.append(self.socket.recv(65536))
                if not got[-1]:
                    sys.exit("bench: the server closed a connection")
        except ssl.SSLWantReadError:
            return b"".join(got)

    def answered(self):
        """The status, or None."""
        self.got += self.read()
        head, end, rest = self.got.partition(b"\r\n\r\n")
        if not end:
            return None
        low = head.lower()
        at = low.find(b"content-length:")
        if at >= 0:
            whole = len(rest) >= int(low[at + 15:].split(b"\r\n", 1)[0])
        else:
            whole = rest.endswith(b"0\r\n\r\n")
        if not whole:
            return None
        self.got = b""
        return int(head[9:12])


class Clients:
    """Each does its next request once the last one is answered."""

    def __init__(self, api, n):
        self.poll = selectors.EpollSelector()
        self.all = [Connection(api) for _ in range(n)]
        for c in self.all:
            self.poll.register(c.socket, selectors.EVENT_READ, c)

    def answered(self, seconds):
        """Those whose request has been answered."""
        found = [(key.data, key.data.answered()) for key, _ in self.poll.select(seconds)]
        for _, status in found:
            if status not in (None, 200, 201):
                sys.exit(f"bench: status {status}")
        return [c for c, status in found if status]

    def run(self, request, until):
        """How many were answered. request(i) gives the arguments of send(); until(n) says whether n are enough."""
        sent = done = 0
        idle = self.all
        while True:
            for c in idle:
                c.send(*request(sent))
                sent += 1
            idle = self.answered(None)
            done += len(idle)
            if until(done):
                return done

    def close(self):
        for c in self.all:
            c.socket.close()
        self.poll.close()


def reads(api):
    clients, times = Clients(api, 1), []
    for _ in range(READS):
        start = time.perf_counter()
        clients.run(lambda i: ("GET", f"{MAPS}/seen"), lambda n: n)
        times.append(time.perf_counter() - start)
    clients.close()
    return statistics.median(times) * 1e3


def writes(api, n, prefix):
    """Creations a second of n clients."""
    clients = Clients(api, n)
    start = time.perf_counter()
    done = clients.run(lambda i: ("POST", MAPS, config(f"{prefix}-{i}")), lambda n: time.perf_counter() - start > SECONDS)
    took = time.perf_counter() - start
    clients.close()
    return done / took


def both_writes(api):
    """By turns: other work of the machine comes and goes."""
    rates = [(writes(api, 1, f"one-{i}"), writes(api, WRITERS, f"many-{i}")) for i in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*rates)]


class Watching:
    """WATCHES connections, and how many changes each has seen."""

    def __init__(self, api):
        version = api.request("GET", f"{MAPS}?limit=1")[1]["metadata"]["resourceVersion"]
        self.clients = Clients(api, WATCHES)
        self.seen, self.tail = {c: 0 for c in self.clients.all}, {c: b"" for c in self.clients.all}
        for c in self.clients.all:
            c.send("GET", f"{MAPS}?watch=1&resourceVersion={version}")

    def look(self, seconds):
        for key, _ in self.clients.poll.select(seconds):
            text = self.tail[key.data] + key.data.read()
            self.seen[key.data] += text.count(b'"type":"MODIFIED"')
            self.tail[key.data] = text[-16:]


def watches(api, pid):
    """Cores of the server while WATCHES see RATE changes a second, and how many were written a second."""
    watching, writers = Watching(api), Clients(api, CHANGED)
    name = {c: f"changed-{i}" for i, c in enumerate(writers.all)}
    idle, sent, done, total = list(writers.all), 0, 0, RATE * SECONDS
    begin, used = time.perf_counter(), cpu(pid)
    while done < total:
        due = min(total, int((time.perf_counter() - begin) * RATE))
        while idle and sent < due:
            c = idle.pop(0)
            c.send("PATCH", f"{MAPS}/{name[c]}", {"data": {"n": str(sent)}}, "application/merge-patch+json")
            sent += 1
        for c in writers.answered(0.002):
            done += 1
            idle.append(c)
        watching.look(0)
    wrote = time.perf_counter() - begin
    while min(watching.seen.values()) < total:
        watching.look(1)
    took, used = time.perf_counter() - begin, cpu(pid) - used
    if set(watching.seen.values()) != {total}:
        sys.exit(f"bench: watches: {sorted(set(watching.seen.values()))} events, {total} changes")
    watching.clients.close()
    writers.close()
    return used / took, total / wrote


def config(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


def prepare(api):
    api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "api-bench"}})
    for name in ["seen"] + [f"changed-{i}" for i in range(CHANGED)]:
        api.post(MAPS, config(name))


def measure(api, pid):
    prepare(api)
    got = {"read": reads(api)}
    got["one"], got["many"] = both_writes(api)
    got["cores"], got["rate"] = watches(api, pid)
    return got


def serve(folder, argv, what):
    """What `what` gives of a server of its own."""
    with subprocess.Popen([*argv, "controller", "--local", "--data", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        server.stdout.readline()
        try:
            return what(Admin(f"{folder}/kubeconfig"), server.pid)
        finally:
            server.terminate()


def on_slow_disk(api, _):
    prepare(api)
    return both_writes(api)


class Admin(Api):
    def post(self, path, doc):
        status, answer, _ = self.request("POST", path, doc)
        if status != 201:
            sys.exit(f"bench: {path}: {answer}")


def main():
    kftrainer, folder, config_file, pid = sys.argv[1:]
    real = measure(Admin(config_file), int(pid))
    ours = serve(f"{folder}/api", [kftrainer], measure)

    def beside(name, of, unit, conditions, target=""):
        row(name, of(ours), unit, conditions, target, "kube-apiserver with etcd", of(real))
    beside("get of an object", lambda m: m["read"], "ms", f"one connection; median of {READS:,}", "≤ 0.5 ms")
    beside("creations by one writer", lambda m: m["one"], "/s", f"ConfigMaps, on disk before the answer; median of {ROUNDS} times {SECONDS} s, by turns with the next")
    beside(f"creations by {WRITERS} writers", lambda m: m["many"], "/s", "the same by as many connections")
    row("... beside one", ours["many"] / ours["one"], "times", "the last two rows", "≥ 8")
    slow = "... where fsync takes 4 ms longer"
    if shutil.which("strace"):
        one, many = serve(f"{folder}/slow", [*SLOW_DISK, kftrainer], on_slow_disk)
        row(slow, many / one, "times", f"strace delays each fdatasync: {many:,.0f} and {one:,.0f}/s", "≥ 8")
    else:
        lacks(slow, "strace is not installed")
    beside(f"CPU of {WATCHES} watches", lambda m: m["cores"], "cores", f"of the server while it is asked for {RATE:,} changes/s", "≤ 1")
    beside("... changes written", lambda m: m["rate"], "/s", f"of those {RATE:,}/s")


if __name__ == "__main__":
    main()
