#!/usr/bin/env python3
"""What the page's script of `ui` reads: streams that resume without loss, each line of a log once, points of metrics."""
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
HOME = tempfile.TemporaryDirectory()
ENV = {"PATH": "/usr/bin:/bin", "HOME": HOME.name}
STREAMS = 16  # LIVE_STREAMS of core/ui/live.h


def run(*args, **more):
    return subprocess.run([PROGRAM, *args], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", **more)


def submit(name, script, *flags):
    return run("submit", "--local", "--runtime", "torch-distributed", "--name", name, *flags, "--", *script)


def equal(what, got, want):
    check(what, None if got == want else f"{got!r}, not {want!r}")


class Server:
    def __init__(self, *args):
        self.process = subprocess.Popen([PROGRAM, "ui", *args], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        self.port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?(token=[0-9a-f]{64})", self.url).groups()
        self.headers = {}
        self.headers = {"Cookie": self.ask("/?" + token)[1]["Set-Cookie"].split(";")[0]}

    def open(self, path, **headers):
        c = http.client.HTTPConnection("127.0.0.1", int(self.port))
        c.request("GET", path, headers={**self.headers, **headers})
        return c.getresponse()

    def ask(self, path, **headers):
        answer = self.open(path, **headers)
        return answer.status, dict(answer.getheaders()), answer.read()

    def memory(self):
        """Of the process, in kB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait()


class Stream:
    """Server-sent events (WHATWG HTML, 9.2.6): (event, data) one after another; id: the last one's."""

    def __init__(self, server, query, after="", how="query", tells=True):
        self.server, self.tells = server, tells
        self.answer = server.open("/stream?" + query + ("&after=" + after if after and how == "query" else ""),
                                  **({"Last-Event-ID": after} if how == "header" else {}))
        self.id = ""

    def __iter__(self):
        event, data = None, ""
        while line := self.answer.fp and self.answer.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                self.id = value
            elif name == "event":
                event = value
            elif name == "data":
                data += value
            elif not name and event:
                yield event, json.loads(data)
                if event == "log" and self.tells:
                    self.server.ask("/arrived?after=" + self.id)
                event, data = None, ""

    def until(self, condition):
        """All events up to the first for which the condition holds."""
        got = []
        for event, data in self:
            got.append((event, data))
            if condition(event, data):
                return got
        return got

    def close(self):
        self.answer.close()


def rows(got):
    """The rows after these events: by name, their cells."""
    table = {}
    for event, data in got:
        if event == "rows":
            table = {} if data["full"] else table
            table.update({row[0]: row[1:] for row in data["rows"]})
            for key in data["gone"]:
                table.pop(key, None)
    return table


def lines(got):
    table = []
    for event, data in got:
        if event == "log":
            table = [] if data["first"] else table
            table += data["lines"]
    return table


def is_mark(event, _):
    return event == "mark"


# ---- the list --------------------------------------------------------------------------------------
submit("good", ("echo", "done"), "--nodes", "2")
server = Server("--local")
equal("without the cookie there is no stream", server.ask("/stream?rows=1", Cookie="")[0], 403)
equal("... nor for another page", server.ask("/stream?rows=1", Origin="http://evil.example")[0], 403)
first = Stream(server, "rows=1")
equal("it is a stream of events", first.answer.getheader("Content-Type"), "text/event-stream")
got = first.until(is_mark)
listed = [re.split(r" {2,}", line.strip()) for line in run("get", "-A", "-o", "wide", "--local").stdout.splitlines()]
check("it begins with the whole list", None if [data["full"] for event, data in got if event == "rows"] == [True] else got)
equal("... which is that of get, where ages are times", [[("-" if c == "" else c) for c in row if not isinstance(c, int)]
                                                         for row in rows(got).values()],
      [[c for i, c in enumerate(row) if listed[0][i] != "AGE"] for row in listed[1:]])
before = first.id
submit("other", ("true",), "--suspend", "--detach", "--label", "team=a")
got += first.until(lambda event, _: event == "mark" and "default/other" in rows(got + []) or event == "mark")
while "default/other" not in rows(got):
    got += first.until(is_mark)
equal("then with what changes alone", [data["full"] for event, data in got if event == "rows"][1:2], [False])
run("delete", "--local", "other")
while "default/other" in rows(got):
    got += first.until(is_mark)
equal("... and what is gone", list(rows(got)), ["default/good"])
again = Stream(server, "rows=1", before, "header")
since = again.until(is_mark)
equal("Last-Event-ID: what came since, not more", [(data["full"], [row[0] for row in data["rows"]], data["gone"])
                                                   for event, data in since if event == "rows"], [(False, [], ["default/other"])])
again.close()
for odd in ("99999999.0.0", "x", "-1.-1.-1", "%00"):
    whole = Stream(server, "rows=1", odd)
    equal(f"... an id that is none ({odd}): the whole list", list(rows(whole.until(is_mark))), ["default/good"])
    whole.close()
submit("labeled", ("true",), "--suspend", "--detach", "--label", "team=a")
picked = Stream(server, "rows=1&label=team%3Da")
part = picked.until(is_mark)
while "default/labeled" not in rows(part):
    part += picked.until(is_mark)
equal("label: the jobs that it selects", list(rows(part)), ["default/labeled"])
picked.close()
first.close()
run("delete", "--local", "labeled")

# ---- a job -----------------------------------------------------------------------------------------
submit("wait", ("sh", "-c", "until [ -e %s/go ]; do sleep 0.05; done; exit 3" % HOME.name), "--detach", "--nodes", "2")
page = Stream(server, "job=default/wait")
got = page.until(lambda event, data: event == "job" and [row[1] for row in data["tables"]["pods"]] == ["Running"] * 2)
check("a job: its pods", None if got[-1][1]["tables"]["pods"][0][0].startswith("wait-node-0-0-") else got[-1])
with open(HOME.name + "/go", "w", encoding="ascii"):
    pass
got = page.until(lambda event, data: event == "job" and "Failed" in [row[1] for row in data["tables"]["pods"]] and " failed" in data["why"])
check("... follow it to its end", None if "3" in [row[4] for row in got[-1][1]["tables"]["pods"]] else got[-1])
page.close()
gone = Stream(server, "job=default/none")
got = gone.until(lambda event, data: event == "job")
check("... one that is not there: what get says", None if "no TrainJob none in namespace default" in got[-1][1].get("error", "") else got)
gone.close()

# ---- its log ---------------------------------------------------------------------------------------
RANKS, MANY = 3, 6000  # several times what a tail keeps (TAIL_BYTES)
COUNT = f"import os\nfor i in range({MANY}): print('\\x1b[32mline\\x1b[0m', os.environ['PET_NODE_RANK'], i)\n"
submit("lines", ("python3", "-c", COUNT), "--nodes", str(RANKS))
want = sorted((f"node-{rank}", f" {rank} {i}") for rank in range(RANKS) for i in range(MANY))
log = Stream(server, "job=default/lines&log=*&lines=20000")
got = log.until(lambda event, _: event == "end")
equal("the log: each line of all ranks once", sorted((line[0], line[2]) for line in lines(got)), want)
equal("... with its color", {tuple(line[1]) for line in lines(got)}, {("f2", "line")})
log.close()
# The connection breaks again and again; the script comes back with the id of the last event that it saw.
got, after, cuts = [], "", 0
while not got or got[-1][0] != "end":
    log = Stream(server, "job=default/lines&log=*&lines=20000", after, "header" if cuts % 2 else "query", tells=False)
    for event in log:
        got.append(event)
        if event[0] == "end" or (event[0] == "log" and event[1]["lines"]):
            break
    after = log.id
    cuts += 1
    log.close()
equal("... however often the connection breaks", sorted((line[0], line[2]) for line in lines(got)), want)
check("... which it did", None if cuts > 3 else cuts)
log = Stream(server, "job=default/lines&log=node-1,node-2&lines=5")
equal("... of some ranks, the last lines", sorted((line[0], line[2]) for line in lines(log.until(lambda event, _: event == "end"))),
      [(f"node-{rank}", f" {rank} {i}") for rank in (1, 2) for i in range(MANY - 5, MANY)])
log.close()
status, headers, text = server.ask("/log?job=default/lines")
equal("the whole log as a file", (status, headers.get("Content-Disposition")), (200, 'attachment; filename="lines.log"'))
equal("... has the lines of logs", sorted(re.sub("\x1b[^m]*m", "", line) for line in text.decode().splitlines()),
      sorted(f"node-{rank} line {rank} {i}" for rank in range(RANKS) for i in range(MANY)))
equal("... of no job", server.ask("/log?job=../x")[0], 404)
ODD = r"printf '<script>alert(1)</script> \"\\\\ \000 \001 \377 \342\200\256x\nnext: data\n\n'; head -c 1000000 /dev/zero | tr '\0' y; echo"
submit("odd", ("sh", "-c", ODD))
log = Stream(server, "job=default/odd&log=*")
text = ["".join(run if isinstance(run, str) else run[1] for run in line[1:]) for line in lines(log.until(lambda event, _: event == "end"))]
equal("odd bytes are text", text[:3], ['<script>alert(1)</script> \\"\\\\ \ufffd \ufffd \ufffd \\u202ex', "next: data", ""])
equal("... a long line is cut, and says so", text[3], "y" * 8192 + " ... (1000000 bytes in all)")
log.close()

# ---- metrics ---------------------------------------------------------------------------------------
STEPS = 30
TRAIN = """import json, os, ssl, sys, time, urllib.request
import torch
torch.manual_seed(7)
model = torch.nn.Linear(4, 1)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(int(sys.argv[1])):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    metrics = {"loss": repr(loss.item()), "step": str(step), "odd": ["NaN", "inf", "1e308", "<b>"][step % 4]}
    body = {"trainerStatus": {"progressPercentage": 100 * (step + 1) // int(sys.argv[1]),
        "lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "metrics": [{"name": name, "value": value} for name, value in metrics.items()]}}
    request = urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + token})
    urllib.request.urlopen(request, context=context).read()
    print("wrote", step, metrics["loss"], flush=True)
    sys.stdin.readline()
"""
with open(HOME.name + "/train.py", "w", encoding="ascii") as f:
    f.write(TRAIN.replace("sys.stdin.readline()", f"while not os.path.exists('{HOME.name}/step-%d' % step): time.sleep(0.01)"))


def points(got, job="default/train"):
    """By metric, its [ms, step, value]."""
    table = {}
    for event, data in got:
        if event == "points" and data[0] == job:
            _, name, whole, new = data
            old = [] if whole else table.get(name, [])
            table[name] = old + [p for p in new if not old or p[0] > old[-1][0]]
    return table


# Each step waits until the one before is in the stream: no report is overtaken by the next.
submit("train", ("python3", HOME.name + "/train.py", str(STEPS)), "--detach")
plot = Stream(server, "plot=default/train")
got, step, middle = [], -1, ""
for event in plot:
    got.append(event)
    if event[0] == "mark" and points(got).get("loss") and points(got)["loss"][-1][1] > step:
        step = int(points(got)["loss"][-1][1])
        middle = plot.id if step == STEPS // 2 else middle
        with open(f"{HOME.name}/step-{step}", "w", encoding="ascii"):
            pass
        if step == STEPS - 1:
            break
plot.close()
got_losses = got
wrote = [line.split() for line in run("logs", "--local", "train", "-f").stdout.splitlines() if line.startswith("wrote ")]
equal("a torch job's losses are the points, in full", [(p[1], p[2]) for p in points(got)["loss"]], [(int(w[1]), float(w[2])) for w in wrote])
equal("... there are as many as it wrote", len(wrote), STEPS)
equal("its progress is a metric, too", [p[2] for p in points(got)[""]], [100 * (i + 1) // STEPS for i in range(STEPS)])
equal("what is no number, or not finite, is a gap", [p[2] for p in points(got)["odd"]][:4], [None, None, 1e308, None])
again = Stream(server, "plot=default/train,default/good,../x")
equal("who comes later gets all of them", points(again.until(is_mark))["loss"], points(got)["loss"])
again.close()
again = Stream(server, "plot=default/train", middle)
equal("... who was away, those since", [p[1] for p in points(again.until(is_mark))["loss"]], list(range(STEPS // 2 + 1, STEPS)))
again.close()

# ---- limits ----------------------------------------------------------------------------------------
submit("loud", ("sh", "-c", "yes 'a line that nobody reads, which is not a short one' | head -c 60000000"))
idle = [Stream(server, "job=default/good") for _ in range(STREAMS)]
for s in idle:
    s.until(lambda event, _: event == "job")
newest = Stream(server, "rows=1")
equal(f"more than {STREAMS} streams: there is another", list(rows(newest.until(is_mark)))[:1], ["default/good"])
equal("... for the oldest, which ends", idle[0].until(lambda *_: False)[-1:] is not None and idle[0].answer.isclosed(), True)
idle[1].until(lambda event, _: event == "mark")
check("... the others go on", "the second has ended" if idle[1].answer.isclosed() else None)
for s in [newest] + idle[1:]:
    s.close()
deaf = []  # who asks for a loud log, and never reads
for _ in range(1000):
    s = socket.create_connection(("127.0.0.1", int(server.port)))
    s.sendall(f"GET /stream?job=default/loud&log=*&lines=20000 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
              f"Cookie: {server.headers['Cookie']}\r\n\r\n".encode())
    deaf.append(s)
while True:  # connections beyond the server's limit are refused until it has closed others
    try:
        page = server.ask("/jobs/default/good")[0]
        break
    except OSError:
        pass
equal("1,000 that never read: pages are served", page, 200)
while True:
    try:
        newest = Stream(server, "rows=1")
        if newest.answer.status == 200:
            break
    except OSError:
        pass
equal("... streams, too", list(rows(newest.until(is_mark)))[:1], ["default/good"])
newest.close()
with open(PROGRAM, "rb") as f:
    most = 96 << 10 if b"__asan_init" not in f.read() else 1 << 20  # which keeps what is freed
check("... and the process has less than 96 MB", None if server.memory() < most else f"{server.memory()} kB")
for s in deaf:
    s.close()
wide = server.open("/", **{"Accept-Encoding": "gzip"})
equal("pages are compressed for who accepts it", wide.getheader("Content-Encoding"), "gzip")
wide.close()
wide = server.open("/", **{"Accept-Encoding": "br, gzip;q=0.0"})
equal("... not for who refuses that", wide.getheader("Content-Encoding"), None)
wide.close()
last = Stream(server, "job=default/good&log=*")
last.until(lambda event, _: event == "end")
equal("it ends with Ctrl-C while somebody looks", server.end(signal.SIGINT), 0)
last.until(lambda *_: False)
check("... who sees the end of the stream", None if last.answer.isclosed() else "it is open")
server = Server("--local", "--port", server.port)
page = Stream(server, "rows=1&job=default/lines&log=*&lines=20000", before)
got = page.until(lambda event, _: event == "end")
equal("an id of the process before it: the whole list", [data["full"] for event, data in got if event == "rows"], [True])
equal("... and the whole log", sorted((line[0], line[2]) for line in lines(got)), want)
page.close()
again = Stream(server, "plot=default/train")
equal("... and all that was reported before it began", [p[1:] for p in points(again.until(is_mark))["loss"]], [p[1:] for p in points(got_losses)["loss"]])
again.close()
server.end()

# ---- an API server that goes away --------------------------------------------------------------------
def controller():
    p = subprocess.Popen([PROGRAM, "controller", "--local", "--data", HOME.name + "/api"], env=ENV, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    p.stdout.readline()
    threading.Thread(target=p.stdout.read, daemon=True).start()
    return p


class Store(http.server.BaseHTTPRequestHandler):
    """A store of which one bucket does not answer, and the other refuses."""

    def do_GET(self):
        if self.path.startswith("/hangs"):
            threading.Event().wait()
        self.send_error(403)

    def log_message(self, *args):
        pass


store = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
threading.Thread(target=store.serve_forever, daemon=True).start()
ENV.update(ENDPOINT=f"http://127.0.0.1:{store.server_port}", ACCESS_KEY_ID="k", SECRET_ACCESS_KEY="s")
api = controller()
config = HOME.name + "/api/kubeconfig"
run("submit", "--kubeconfig", config, "--runtime", "torch-distributed", "--name", "one", "--suspend", "--", "true")
for name in ("hangs", "refuses"):
    with open(f"{HOME.name}/{name}.yaml", "w", encoding="ascii") as f:
        f.write(f"""{{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob,
            metadata: {{name: {name}, annotations: {{kftrainer.io/run-dir: "s3://{name}/run"}}}},
            spec: {{runtimeRef: {{name: torch-distributed}}, suspend: true, trainer: {{command: ["true"]}}}}}}""")
    run("submit", f.name, "--kubeconfig", config)
server = Server("--kubeconfig", config)
page = Stream(server, "rows=1")
got = page.until(is_mark)
while "default/one" not in rows(got):
    got += page.until(is_mark)
api.kill()
api.wait()
got = page.until(lambda event, _: event == "lost")
check("an API server that goes away: it is said", None if isinstance(got[-1][1], str) and "127.0.0.1" in got[-1][1] else got[-1])
api = controller()
run("submit", "--kubeconfig", config, "--runtime", "torch-distributed", "--name", "two", "--suspend", "--", "true")
got = page.until(lambda event, data: event == "lost" and data is None)
equal("... and when it is back", got[-1], ("lost", None))
while "default/two" not in rows(got):
    got += page.until(is_mark)
check("... it goes on", None)
page.close()
past = Stream(server, "plot=default/hangs,default/refuses")
got = past.until(lambda event, _: event == "past")
check("a store that does not answer keeps no other waiting", None if got[-1][1][0] == "default/refuses" and "access denied" in got[-1][1][1] else got[-1])
past.close()
taken = run("ui", "--kubeconfig", config, "--port", server.port)
check("a port that is in use: one line", None if taken.returncode == 1 and taken.stderr.count("\n") == 1 and
      f"127.0.0.1:{server.port}" in taken.stderr else taken)
with open("/dev/full", "w", encoding="ascii") as full:
    lost = subprocess.run([PROGRAM, "ui", "--kubeconfig", config], env=ENV, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False)
equal("a URL that cannot be written: it ends", lost.returncode, 1)
equal("... by itself", server.end(), 0)
api.terminate()
api.wait()
finish()
