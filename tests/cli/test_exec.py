#!/usr/bin/env python3
"""exec against a server that speaks pods/exec as no real one can be made to: old subprotocols, frames in
pieces, pings in the middle, lost connections, refusals. tests/e2e/test_exec.sh has the real one."""
import atexit
import base64
import hashlib
import http.client
import http.server
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from tap import check, finish

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
BIN, CONT, CLOSE, PING, PONG = 2, 0, 8, 9, 10
FIN = 0x80
seen = {}  # scenario: (headers, messages received)

LABELS = {"jobset.sigs.k8s.io/jobset-name": "one", "jobset.sigs.k8s.io/replicatedjob-name": "node",
          "jobset.sigs.k8s.io/job-index": "0", "batch.kubernetes.io/job-completion-index": "0"}
JOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": {},
       "metadata": {"name": "one", "namespace": "default", "uid": "1", "creationTimestamp": "2024-01-01T00:00:00Z"}}
POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "side"}, {"name": "node"}]},
       "metadata": {"name": "one-node-0-0-abcde", "namespace": "default", "uid": "2", "labels": LABELS,
                    "creationTimestamp": "2024-01-01T00:00:01Z",
                    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "one-node-0", "uid": "3",
                                         "controller": True}]},
       "status": {"phase": "Running", "containerStatuses": [{"name": "node", "state": {"running": {}}},
                                                            {"name": "side", "state": {"running": {}}}]}}


def status(code=0, reason="NonZeroExitCode", message="command terminated with non-zero exit code"):
    if not code and reason == "NonZeroExitCode":
        return b'{"metadata":{},"status":"Success"}'
    return json.dumps({"status": "Failure", "reason": reason, "message": message,
                       "details": {"causes": [{"reason": "ExitCode", "message": str(code)}] if code else []}}).encode()


class Peer:
    """The server's end of a WebSocket."""

    def __init__(self, handler):
        self.sock, self.file = handler.connection, handler.rfile

    def frame(self, op, data=b"", fin=FIN):
        n = len(data)
        head = bytes([fin | op])
        head += bytes([n]) if n < 126 else struct.pack("!BH", 126, n) if n < 65536 else struct.pack("!BQ", 127, n)
        return head + data

    def send(self, op, data=b"", fin=FIN):
        self.sock.sendall(self.frame(op, data, fin))

    def out(self, channel, data):
        self.send(BIN, bytes([channel]) + data)

    def end(self, code=0, **more):
        self.out(3, status(code, **more))
        self.send(CLOSE, b"\x03\xe8")

    def receive(self):
        head = self.file.read(2)
        if len(head) < 2:
            return None, b""
        n = head[1] & 127
        n = struct.unpack("!H", self.file.read(2))[0] if n == 126 else struct.unpack("!Q", self.file.read(8))[0] if n == 127 else n
        mask, data = self.file.read(4), self.file.read(n)
        key = (mask * (n // 4 + 1))[:n]
        return head[0] & 15, (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(n, "big") if n else b""

    def input(self):
        """All of standard input, until it is closed; None: the connection ended before."""
        data, pongs = b"", []
        while True:
            op, message = self.receive()
            if op is None or op == CLOSE:
                return None, data, pongs
            if op == PONG:
                pongs.append(message)
            if op == BIN and message[:1] == b"\xff":
                return message[1:], data, pongs
            if op == BIN and message[:1] == b"\0":
                data += message[1:]


def plain(p):
    p.out(1, b"")  # the API server begins each channel with nothing
    p.out(2, b"")
    p.out(1, b"out\n")
    p.out(2, b"err\n")
    p.end(7)


def pieces(p):
    text = p.frame(BIN, b"\1" + b"x" * 70000) + p.frame(BIN, b"\1y\n", 0) + p.frame(PING, b"?") + p.frame(CONT, b"z\n")
    for i in range(0, len(text), 997):
        p.sock.sendall(text[i:i + 997])
    for byte in p.frame(BIN, b"\3" + status(3)) + p.frame(CLOSE, b"\x03\xe8"):
        p.sock.sendall(bytes([byte]))
    p.input()


def pings(p):
    """Pings while the client sends: each pong must stand between messages (curl#16706)."""
    p.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
    got, done = [], threading.Event()

    def ping():
        for i in range(200):
            p.send(PING, b"p%d" % i)
        done.set()
    t = threading.Thread(target=ping)
    t.start()
    closed, data, pongs = p.input()
    t.join()
    got.append(hashlib.sha256(data).hexdigest())
    p.out(1, f"{got[0]} {closed == bytes(1)} {bool(pongs)} {all(x.startswith(b'p') for x in pongs)}".encode())
    p.end()


def empty_ping(p):
    """Without a payload, it must be answered, too (curl#19554)."""
    p.send(PING)
    op = PING
    while op not in (None, PONG):
        op, message = p.receive()
    p.end(0 if op == PONG and not message else 1)


def pours(p):
    while True:
        p.out(1, b"x" * 65536)


def never_closes(p):
    p.out(1, b"done\n")
    p.out(3, status(4))
    p.input()


def v4_input(p):
    op, message = p.receive()
    while op == PING:
        op, message = p.receive()
    p.out(1, message[1:])
    p.end()


told = threading.Event()


def waits(p):
    """Until a signal is passed on, by a shell in the same container."""
    p.out(1, b"up\n")
    told.wait(60)
    p.end(130)


def shell(p):
    told.set()
    p.end()


SCENARIOS = {
    "waits": waits, "deaf": lambda p: (p.out(1, b"up\n"), p.input()), "sh": shell,
    "plain": plain, "pieces": pieces, "pings": pings, "never-closes": never_closes, "empty-ping": empty_ping, "no-reader": lambda p: (p.end(5), p.sock.shutdown(socket.SHUT_RDWR)), "pours": pours,
    "no-status": lambda p: (p.out(1, b"half\n"), p.send(CLOSE, b"\x03\xe8")),
    "half-status": lambda p: (p.out(3, status(1)[:20]), p.send(CLOSE, b"\x03\xe8")),
    "cut": lambda p: (p.out(1, b"half\n"), p.sock.shutdown(socket.SHUT_RDWR)),
    "reset": lambda p: (p.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)), p.sock.close()),
    "masked": lambda p: p.sock.sendall(b"\x82\x81abcdx"),
    "garbage": lambda p: p.sock.sendall(b"HTTP/1.1 500 what\r\n\r\n" * 10),
    "channel-9": lambda p: (p.out(9, b"?"), p.send(BIN, b""), p.send(1, b"\1text\n"), p.end()),
    "no-message": lambda p: (p.out(3, b'{"status":"Failure"}'), p.send(CLOSE)),
    "hostile": lambda p: (p.out(3, status(0, "InternalError", "a\x1b[31m\r\nb")), p.send(CLOSE)),
    "code-999": lambda p: p.end(999),
    "huge-status": lambda p: (p.out(3, b'{"status":"' + b"x" * 300000), p.send(CLOSE)),
    "v4-input": v4_input,
}
REFUSALS = {
    "forbidden": (403, 'pods "one-node-0-0-abcde" is forbidden: User "jane" cannot get resource "pods/exec" in API group "" '
                       'in the namespace "default"'),
    "gone": (404, 'pods "one-node-0-0-abcde" not found'),
    "proxy": (400, "Upgrade request required"),
    "unreachable": (500, "error dialing backend: dial tcp 10.0.0.1:10250: i/o timeout"),
}


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, doc):
        data = json.dumps(doc).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def exec(self, query):
        name = query["command"][0]
        seen[name] = (query, self.headers)
        if name in REFUSALS:
            code, message = REFUSALS[name]
            return self.answer(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message})
        if name == "no-upgrade":
            return self.answer(200, {})
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        if name != "no-protocol":
            self.send_header("Sec-WebSocket-Protocol", "v%d.channel.k8s.io" % (4 if name == "v4-input" else 5))
        self.end_headers()
        self.close_connection = True
        try:
            peer = Peer(self)
            SCENARIOS.get(name, plain)(peer)
            while peer.input()[0] is not None:  # until the client closes: bytes left unread would reset the connection
                pass
        except (OSError, ValueError):
            pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path.endswith("/exec"):
            self.exec(urllib.parse.parse_qs(url.query, keep_blank_values=True))
        elif url.path.endswith("/trainjobs/one"):
            self.answer(200, JOB)
        elif url.path.endswith("/pods"):
            self.answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [POD]})
        else:
            self.answer(404, {"kind": "Status", "code": 404, "message": f"{url.path} not found"})

    def do_CONNECT(self):
        """As a proxy: a tunnel to this server."""
        seen["tunnel"] = self.path
        self.send_response(200)
        self.end_headers()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
scratch = tempfile.TemporaryDirectory()
URL = "http://127.0.0.1:%d" % server.server_port


def kubeconfig(url=URL, proxy=None):
    path = os.path.join(scratch.name, "kubeconfig" + ("-proxy" if proxy else ""))
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "x",
                   "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                   "clusters": [{"name": "x", "cluster": {"server": url, **({"proxy-url": proxy} if proxy else {})}}],
                   "users": [{"name": "x", "user": {"as": "jane", "token": "secret-of-jane"}}]}, f)
    return path


CONFIG = kubeconfig()


def run(*command, options=(), data=None, config=CONFIG):
    r = subprocess.run([PROGRAM, "exec", "--kubeconfig", config, "one", *options, "--", *command], input=data,
                       stdin=None if data is not None else subprocess.DEVNULL, capture_output=True,
                       env={**os.environ, "HOME": scratch.name})
    return r.returncode, r.stdout, r.stderr.decode()


def is_(what, got, want):
    check(what, None if got == want else f"got {got!r}, expected {want!r}")


def fails(what, scenario, code, says, **more):
    got = run(scenario, **more)
    good = got[0] == code and says in got[2] and got[2].count("\n") == 1 and "secret" not in got[2]
    check(what, None if good else f"got {got!r}, expected {code} and one line with {says!r}")


is_("output, errors, exit code", run("plain"), (7, b"out\n", "err\n"))
query, headers = seen["plain"]
is_("the container that trains, without input or terminal", (query.get("container"), query.get("stdin"), query.get("tty"),
    query.get("stdout"), query.get("stderr")), (["node"], None, None, ["true"], ["true"]))
is_("both subprotocols are offered, without base64", headers["Sec-WebSocket-Protocol"], "v5.channel.k8s.io, v4.channel.k8s.io")
is_("with the user's own settings", headers["Impersonate-User"], "jane")
run("plain", "a b", "", "&x=1", "ä", options=("-c", "side"))
is_("arguments and the container's name", (seen["plain"][0]["command"], seen["plain"][0]["container"]),
    (["plain", "a b", "", "&x=1", "ä"], ["side"]))
is_("frames in pieces, fragments, a ping within", run("pieces"), (3, b"x" * 70000 + b"y\nz\n", ""))
blob = os.urandom(8 << 20)
is_("pings while much is sent are answered between messages",
    run("pings", options=("-i",), data=blob), (0, f"{hashlib.sha256(blob).hexdigest()} True True True".encode(), ""))
is_("input that nobody reads does not hide the status", run("no-reader", options=("-i",), data=blob), (5, b"", ""))
is_("a ping without a payload is answered", run("empty-ping"), (0, b"", ""))
with open("/dev/full", "w") as full:
    r = subprocess.run([PROGRAM, "exec", "--kubeconfig", CONFIG, "one", "--", "pours"], stdin=subprocess.DEVNULL, stdout=full,
                       stderr=subprocess.PIPE, env={**os.environ, "HOME": scratch.name})
is_("a full disk", (r.returncode, b"No space left" in r.stderr, r.stderr.count(b"\n")), (125, True, 1))
job = subprocess.Popen([PROGRAM, "exec", "--kubeconfig", CONFIG, "one", "--", "pours"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "HOME": scratch.name})
job.stdout.read(100000)
job.stdout.close()
is_("the reader of the output leaves: as other commands, 141 and no words", (job.wait(), job.stderr.read()), (141, b""))
r = subprocess.run(["bash", "-c", f"'{PROGRAM}' exec --kubeconfig '{CONFIG}' one -i -- plain <&- "], capture_output=True,
                   env={**os.environ, "HOME": scratch.name})
is_("standard input is closed", (r.returncode, r.stdout), (7, b"out\n"))
is_("a server that does not close after the status", run("never-closes"), (4, b"done\n", ""))
is_("an unknown channel, an empty message, a text message", run("channel-9"), (0, b"text\n", ""))
fails("the connection ends without a status", "no-status", 125, "one-node-0-0-abcde: the server closed the connection")
fails("... in the middle of one", "half-status", 125, "the server closed the connection")
fails("... without a closing message", "cut", 125, "one-node-0-0-abcde")
fails("... by a reset", "reset", 125, "one-node-0-0-abcde")
fails("a masked frame", "masked", 125, "connection lost")
fails("no WebSocket at all", "garbage", 125, "connection lost")
fails("a failure without a message", "no-message", 125, "does not say why")
fails("control characters in a message", "hostile", 125, "a")
fails("an exit code that cannot be", "code-999", 125, "non-zero exit code")
fails("an endless status", "huge-status", 125, "the server closed the connection")
fails("no subprotocol", "no-protocol", 125, "neither v5.channel.k8s.io nor v4.channel.k8s.io")
fails("an answer in place of an upgrade", "no-upgrade", 125, "did not open a WebSocket: HTTP 200")
fails("a proxy that drops the upgrade", "proxy", 125, "did not open a WebSocket: HTTP 400")
fails("no right: what is missing, and how to check", "forbidden", 125,
      "user jane may not get pods/exec in namespace default; check with 'kubectl auth can-i get pods --subresource=exec -n default'")
fails("the pod is gone", "gone", 125, "not found")
fails("the kubelet cannot be reached", "unreachable", 125, "error dialing backend")
code, out, err = run("v4-input", options=("-i",), data=b"in\n")
is_("v4: input arrives; that it has ended is not said, but told", (code, out, "older than Kubernetes 1.30" in err), (0, b"in\n", True))
is_("a command that is too long for a URL", (lambda r: (r[0], "too long" in r[2]))(run("plain", *["x" * 30000] * 10)), (125, True))


def signalled(scenario, *signals):
    told.clear()
    seen.pop("sh", None)
    job = subprocess.Popen([PROGRAM, "exec", "--kubeconfig", CONFIG, "one", "--", scenario, "a b"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "HOME": scratch.name})
    job.stdout.readline()
    for s in signals:
        job.send_signal(s)
        if s == signals[0]:
            told.wait(60)
    out, err = job.communicate()
    return job.returncode, err


is_("Ctrl-C is passed on, and the command's exit code counts", signalled("waits", signal.SIGINT), (130, b""))
is_("... to this command, in this container", (seen["sh"][0]["command"][3:], seen["sh"][0]["container"]),
    (["sh", "INT", "waits", "a b"], ["node"]))
is_("... SIGTERM, too", (signalled("waits", signal.SIGTERM), seen["sh"][0]["command"][4]), ((130, b""), "TERM"))
is_("a second one ends the program", signalled("deaf", signal.SIGINT, signal.SIGTERM), (143, b""))
SCENARIOS["sh"] = lambda p: (told.set(), p.end(1))
code, err = signalled("deaf", signal.SIGINT)
is_("one that cannot be passed on is told", (code, b"cannot pass SIGINT on" in err, err.count(b"\n")), (125, True, 1))
is_("no command", subprocess.run([PROGRAM, "exec", "one"], capture_output=True).returncode, 2)
run("plain", config=kubeconfig(proxy=URL))
is_("through a proxy it is a tunnel", seen.get("tunnel"), URL[len("http://"):])

# ---- a rerun from the page of `ui` ---------------------------------------------------------------------------
gone = threading.Event()


def session(p):
    """Of a supervisor that needs every file and starts the command."""
    data = b""

    def until(frame):
        nonlocal data
        while frame not in data:
            op, message = p.receive()
            if op is None:
                raise OSError
            data += message[1:] if op == BIN else b""
    until(b"B\0\0\0\0")
    p.out(1, b"N" + struct.pack("!I", 1) + b"\xff")
    until(b"G\0\0\0\0")
    seen["sent"] = data
    p.out(1, b"S\0\0\0\0")
    while p.input()[0] is not None:
        pass
    gone.set()


SCENARIOS["/opt/kftrainer/kftrainer"] = session
CODE = os.path.join(scratch.name, "code")
os.mkdir(CODE)
with open(CODE + "/train.py", "w", encoding="ascii") as f:
    f.write("print('edited')\n")
JOB["metadata"]["annotations"] = {"kftrainer.io/dev": "1h", "kftrainer.io/dev-from": CODE}
NOT_MINE = f"{CODE}: you have not submitted this directory as TrainJob one on this machine; specify --workspace DIR"


def rerun():
    return subprocess.run(["timeout", "20", PROGRAM, "rerun", "--kubeconfig", CONFIG, "one"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, env={**os.environ, "HOME": scratch.name})


def record(text, uid="1"):
    """As `submit --dev` writes it."""
    path = os.path.join(scratch.name, ".local/state/kftrainer/dev", uid)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def is_refused(name):
    answer = rerun()
    is_(name, (answer.returncode, answer.stderr, "sent" in seen), (125, f"kftrainer rerun: {NOT_MINE}\n", False))


is_refused("an annotation of anybody names no directory that is sent")
record(CODE, "2")
is_refused("... nor one that was submitted as another job")
record(CODE + "\n.env")
is_refused("... nor with other files than were submitted")
page = subprocess.Popen([PROGRAM, "ui", "--kubeconfig", CONFIG], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                        text=True, env={**os.environ, "HOME": scratch.name})
atexit.register(page.terminate)
origin, token = page.stdout.readline().strip().split("/?")
cookie = {}


def ask(path, form=None):
    c = http.client.HTTPConnection(origin.removeprefix("http://"))
    c.request("POST" if form else "GET", path, urllib.parse.urlencode(form) if form else None, {**cookie, **({"Origin": origin} if form else {})})
    answer = c.getresponse()
    return answer, answer.read().decode()


cookie["Cookie"] = ask("/?" + token)[0].getheader("Set-Cookie").split(";")[0]
answer, text = ask("/jobs/default/one/rerun")
is_("... nor by the page", (answer.status, NOT_MINE in text, "<form" in text), (404, True, False))
record(CODE)
form = dict(re.findall(r'name="(csrf|uid)" value="([^"]*)"', ask("/jobs/default/one/rerun")[1]))
answer, text = ask("/jobs/default/one/rerun", form)
is_("the page's rerun leads back to the job", (answer.status, answer.getheader("Location")), (303, "/jobs/default/one"))
is_("... has sent the file", b"print('edited')" in seen["sent"], True)
gone.wait()
is_("... and ended the session, not the command", seen["/opt/kftrainer/kftrainer"][0]["command"][1:], ["runtime", "rerun", "--dev", "/mnt/workspace"])
JOB["metadata"]["annotations"]["kftrainer.io/dev-from"] = scratch.name
is_("a directory that the page did not show is not sent", ask("/jobs/default/one/rerun", form)[0].status, 409)
finish()
