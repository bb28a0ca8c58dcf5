#!/usr/bin/env python3
"""`ui`: who may read the page, and that it shows what `get`, `why`, `events` and `logs` print, as text."""
import html.parser
import http.client
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from tap import check, finish, skip

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
HOME = tempfile.TemporaryDirectory()
ENV = {"PATH": "/usr/bin:/bin", "HOME": HOME.name}
# Markup, a control character, bytes that are no UTF-8, and a character that turns the direction of text.
ODD = r"printf '\033[31m<script>alert(1)</script>\033[0m & \001 \377 \342\200\256live\n'"
# Both ranks write and end with 3, whichever is first: the first failure ends the others.
BOTH = f"; trap '' TERM; >{HOME.name}/wrote.$JOB_COMPLETION_INDEX; until [ $(ls {HOME.name}/wrote.* | wc -l) = 2 ]; do sleep 0.01; done; exit 3"


def run(*args):
    return subprocess.run([PROGRAM, *args], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")


class Page(html.parser.HTMLParser):
    """tables: rows of cells; pre: the texts of <pre>; tags: all names of elements."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.pre, self.tags, self.open = [], [], set(), None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if (tag, attrs[:1]) not in [("script", [("src", "/uplot.js")]), ("script", [("src", "/page.js")])]:  # the page's own
            self.tags.add(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.open = "cell"
        elif tag == "pre":
            self.pre.append("")
            self.open = "pre"

    def handle_endtag(self, tag):
        if tag in ("td", "th", "pre"):
            self.open = None

    def handle_data(self, data):
        if self.open == "pre":
            self.pre[-1] += data
        elif self.open == "cell":
            self.tables[-1][-1][-1] += data


class Server:
    def __init__(self, *args):
        self.process = subprocess.Popen([PROGRAM, "ui", *args], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.port, self.token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?(token=[0-9a-f]{64})", self.url).groups()
        self.host, self.cookie = f"127.0.0.1:{self.port}", ""

    def ask(self, path="/", method="GET", body=None, **headers):
        """(status, headers, text); the host and the cookie are right unless given."""
        c = http.client.HTTPConnection("127.0.0.1", int(self.port))
        headers = {"Host": self.host, "Cookie": self.cookie, **headers}
        c.request(method, path, body, headers={name: value for name, value in headers.items() if value})
        answer = c.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()

    def enter(self):
        answer = self.ask("/?" + self.token)
        self.cookie = answer[1].get("Set-Cookie", "").split(";")[0]
        return answer

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait()


def equal(what, got, want):
    check(what, None if got == want else f"{got!r}, not {want!r}")


for name, command in (("good", "echo done"), ("odd", ODD + BOTH), ("long", "seq 300; head -c 9000 /dev/zero | tr '\\0' x; echo")):
    run("submit", "--local", "--runtime", "torch-distributed", "--name", name, "--nodes", "2", "--", "sh", "-c", command)

run("submit", "--local", "--runtime", "torch-distributed", "--name", "waits", "--suspend", "--detach", "--", "true")
run("wait", "--local", "waits", "--for", "suspended")

# ---- who may read it -------------------------------------------------------------------------------
server = Server("--local")
equal("without the cookie the page is refused", server.ask()[0], 403)
equal("... and what looks at the URL, and does not open it", server.ask("/?" + server.token, method="HEAD")[0], 403)
status, headers, text = server.enter()
check("the URL leads to the page", None if status == 200 and '<meta http-equiv="refresh" content="0; url=/">' in text else (status, text))
equal("... with a cookie for this page alone", headers["Set-Cookie"].split("; ")[1:], ["HttpOnly", "SameSite=Strict", "Path=/"])
equal("... once", server.ask("/?" + server.token, Cookie="")[0], 403)
equal("the cookie opens it", server.ask()[0], 200)
equal("... a wrong one does not", server.ask(Cookie=server.cookie[:-1] + "x")[0], 403)
equal("... nor under another name of this address", server.ask(Host=f"rebound.example:{server.port}")[0], 403)
status, _, text = server.ask("/?" + server.token, Host="localhost:9000")
equal("... nor through another port, which says how to forward this one", (status, "ssh -L PORT:127.0.0.1:PORT HOST" in text), (403, True))
equal("... nor for another page", server.ask(Origin="http://evil.example")[0], 403)
equal("nothing is changed by it", server.ask(method="POST")[0], 405)
policy = server.ask()[1].get("Content-Security-Policy", "")
check("it loads nothing from elsewhere, and no page frames it",
      None if "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy else policy)

# What another user of this machine can see and do: its processes' arguments, its port.
OTHER = """import glob, http.client, os, sys
port, pid = sys.argv[1:]
token = sys.stdin.read()
def status(path, **headers):
    c = http.client.HTTPConnection('127.0.0.1', int(port)); c.request('GET', path, headers=headers); return c.getresponse().status
def readable(path):
    try: return open(path, 'rb').read()
    except OSError: return b''
print([status('/'), status('/stream?rows=1'), status('/log?job=default/good'), status('/arrived?after=1.1.1'), status('/?token=' + 'a' * 64)],
      [len(readable(f'/proc/{pid}/{name}')) for name in ('environ', 'mem')], token in str([readable(p) for p in glob.glob('/proc/[0-9]*/cmdline')]))"""
if os.geteuid() == 0:
    other = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", sys.executable, "-I", "-c", OTHER, server.port,
                            str(server.process.pid)], input=server.token, capture_output=True, text=True)
    equal("another user of this machine gets nothing", (other.stdout.strip(), other.stderr), ("[403, 403, 403, 403, 403] [0, 0] False", ""))
else:
    skip("another user of this machine gets nothing", "root alone can be another user")

# ---- what it shows ---------------------------------------------------------------------------------
def table(text):
    """What `get` prints: two blanks and more are between columns."""
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


def ages(rows):  # ages change from one call to the next
    at = rows[0].index("AGE")
    return [row[:at] + row[at + 1:] for row in rows]


page = Page(server.ask()[2])
equal("the list has what get -A -o wide prints", ages([[cell or "-" for cell in row] for row in page.tables[0]]),
      ages(table(run("get", "-A", "-o", "wide", "--local").stdout)))


def listed(query):
    """The names of the jobs that this filter leaves, as the sorted text of the page has them."""
    return [row[1] for row in Page(server.ask("/?" + query)[2]).tables[0][1:]]


equal("a filter: by state", listed("state=Failed&q=&label="), ["odd"])
equal("... by text, in any case, of any column", [listed("q=OD"), listed("q=suspENDED"), listed("q=%3Cscript%3E")], [["good", "odd"], ["waits"], []])
run("submit", "--local", "--runtime", "torch-distributed", "--name", "blue", "--label", "team=blue", "--", "true")
while "blue" not in listed(""):  # the list without labels is the watch's
    time.sleep(0.02)
equal("... by labels, as get -l", [listed("label=team%3Dblue"), listed("label=team!%3Dblue&state=Failed"), listed("label=+")],
      [["blue"], ["odd"], ["blue", "good", "long", "odd", "waits"]])
equal("... by all of them", listed("label=team%3Dblue&state=Complete&q=torch"), ["blue"])
text = server.ask("/?q=%22%3E%3Cscript%3Ex&state=Complete&label=a%3Db")[2]
check("the form keeps it, as text", None if 'value="&quot;&gt;&lt;script&gt;x"' in text and "<option selected>Complete" in text and 'value="a=b"' in text else text)
check("... says what is no selector", None if server.ask("/?label=a%3D%3D%3Db%2C%2C")[2].count('role="alert"') == 1 else server.ask("/?label=a%3D%3D%3Db%2C%2C"))
equal("... takes bytes that are no text for none", [len(listed(q)) for q in ("q=%00", "q=%zz", "q", "&&=&", "state=%ff")], [5, 5, 5, 5, 0])
run("delete", "--local", "blue")
answer = server.ask("/jobs/default/odd")[2]
page = Page(answer)
equal("a job's page has what why prints", page.pre[0], run("why", "--local", "odd").stdout)
equal("... its pods, with exit codes", [(row[1], row[4]) for row in page.tables[2][1:]], [("Failed", "3")] * 2)
check("... its events", None if ["Warning", "Failed"] in [row[1:3] for row in page.tables[3]] else page.tables[3])
equal("... in the words of events", sorted(row[2:] for row in page.tables[3][1:]), sorted(
    row[2:] for row in table(run("events", "--local", "odd").stdout)[1:]))
equal("... the logs of all ranks, as text", sorted(page.pre[1].splitlines()),
      [f"node-{rank} <script>alert(1)</script> & \ufffd \ufffd \\u202elive" for rank in (0, 1)])
check("... with its color", None if '<span class="f1">' in answer else answer)
equal("... its timeline, in the words of why", [row[2] for row in page.tables[0][1:]], ["queued", "starting", "starting", "training"] + ["failed"] * 3)
check("... with what failed", None if [row[3] for row in page.tables[0][5:7]] == [f"node-{r} (node rank {r}): container node: exit code 3" for r in (0, 1)] else page.tables[0])
lines = page.pre[2].splitlines()
check("... marks what its author need not have written", None if "  suspend: false  # default" in lines and "    numNodes: 2" in lines and
      "status:  # set by the controller" in lines and [line for line in lines if line.startswith("    image: ") and line.endswith("  # of the runtime torch-distributed")] else page.pre[2])
check("... its YAML", None if page.pre[2].startswith("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n") else page.pre[2])
equal("nothing of it becomes markup", page.tags & {"script", "img", "iframe", "style"}, set())
run("submit", "--local", "--runtime", "torch-distributed", "--name", "runs", "--detach", "--", "sh", "-c", "echo begun; exec sleep 3600")
run("wait", "--local", "runs", "--for", "running")
for _ in range(600):  # that its process has begun does not mean that it has written
    if run("logs", "--local", "runs").stdout:
        break
    time.sleep(0.1)
equal("the log of a job that runs", Page(server.ask("/jobs/default/runs")[2]).pre[1], "begun\n")
run("delete", "--local", "runs")
log = Page(server.ask("/jobs/default/long")[2]).pre[1].splitlines()
equal("of each rank the last 200 lines", [sum(line.startswith(f"node-{rank} ") for line in log) for rank in (0, 1)], [200, 200])
check("... a long one is cut, and says so", None if log[199] == f"node-0 {'x' * 8192} ... (9000 bytes in all)" else log[199][-60:])
equal("the page of a job that waits does not", Page(server.ask("/jobs/default/waits")[2]).pre[1], "No container has started.\n")
status, _, text = server.ask("/jobs/default/od")
check("a job that is not there: what get says", None if status == 404 and "no TrainJob od in namespace default" in text else (status, text))
equal("another path", [server.ask(path)[0] for path in ("/jobs/default/odd/x", "/jobs/default/..", "/jobs/../odd", "/x")], [404] * 4)
equal("the style sheet", server.ask("/page.css")[1].get("Content-Type"), "text/css; charset=utf-8")

# ---- what it does ----------------------------------------------------------------------------------
def asked(act, name="waits"):
    """The hidden fields of the form that asks."""
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', server.ask(f"/jobs/default/{name}/{act}")[2]))


def do(act, name="waits", fields=None, **headers):
    """The status, and where it leads."""
    body = urllib.parse.urlencode(asked(act, name) if fields is None else fields)
    status, answer, _ = server.ask(f"/jobs/default/{name}/{act}", "POST", body, **{"Origin": f"http://{server.host}", **headers})
    return status, answer.get("Location")


def state(name):
    return run("get", "--local", name).stdout.splitlines()[1].split()[1]


form = asked("resume")
equal("a form that asks has a token and the job", sorted(form), ["csrf", "uid"])
equal("without the token nothing is done", [do("resume", fields=f) for f in ({}, {**form, "csrf": ""}, {**form, "csrf": form["csrf"][:-1] + "x"},
                                                                           {**form, "csrf": server.token[6:]})], [(403, None)] * 4)
equal("... nor for another page, or one that says not which", [do("resume", fields=form, Origin=o) for o in ("http://evil.example", "null", "")], [(403, None)] * 3)
equal("... nor without the cookie", do("resume", fields=form, Cookie=""), (403, None))
equal("... nor to another job of the name, or one that the form does not name", [do("delete", fields={**form, "uid": u}) for u in ("1", "")], [(409, None)] * 2)
equal("... nor what makes no sense", [server.ask("/jobs/default/waits/suspend")[0], server.ask("/jobs/default/good/resume")[0], do("suspend", "good", form)[0]], [409] * 3)
equal("... nor by other paths", [server.ask(f"/jobs/default/waits{path}", "POST", urllib.parse.urlencode(form), Origin=f"http://{server.host}")[0]
                                 for path in ("", "/explode", "/delete/x")] + [server.ask("/jobs/default/waits/explode")[0]], [405, 405, 405, 404])
equal("... so that it still waits", state("waits"), "Suspended")
run("submit", "--local", "--runtime", "torch-distributed", "--name", "goes", "--detach", "--", "sleep", "3600")
run("wait", "--local", "goes", "--for", "running")
equal("suspend: leads back to the job", do("suspend", "goes"), (303, "/jobs/default/goes"))
equal("... as the command", (run("wait", "--local", "goes", "--for", "suspended").returncode, state("goes")), (0, "Suspended"))
equal("resume", do("resume", "goes"), (303, "/jobs/default/goes"))
equal("... as the command", run("wait", "--local", "goes", "--for", "running").returncode, 0)
equal("delete: leads to the list", do("delete", "goes"), (303, "/"))
equal("... as the command", run("wait", "--local", "goes", "--for", "deleted").returncode, 0)

# ---- the process -----------------------------------------------------------------------------------
equal("it ends with Ctrl-C", server.end(signal.SIGINT), 0)
server = Server("--local", "--idle", "1s")
equal("--idle: it ends by itself", server.process.wait(), 0)
with socket.create_server(("127.0.0.1", 0)) as s:  # whose port nobody listens on, once it is closed
    closed = s.getsockname()[1]
with open(HOME.name + "/config", "w", encoding="ascii") as f:
    f.write(f"""{{apiVersion: v1, kind: Config, current-context: x, contexts: [{{name: x, context: {{cluster: c, user: u}}}}],
        clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{closed}"}}}}], users: [{{name: u, user: {{}}}}]}}""")
server = Server("--kubeconfig", HOME.name + "/config")
server.enter()
status, _, text = server.ask()
check("an API server that is gone: the page says so", None if status == 502 and f"127.0.0.1:{closed}" in text else (status, text))
server.end()
with socket.create_server(("127.0.0.1", closed), backlog=1000):  # an API server that does not answer
    server = Server("--kubeconfig", HOME.name + "/config")
    server.enter()
    answers, asking = queue.Queue(), 100
    for _ in range(asking):
        threading.Thread(target=lambda: answers.put(server.ask()[0]), daemon=True).start()
    refused = [answers.get() for _ in range(asking - 32)]
    equal("a hundred requests that wait for the API server: 32 do", set(refused), {503})
    equal("... and the page answers others", [server.ask("/page.css")[0], server.ask(Cookie="")[0]], [200, 403])
    server.end()
run("delete", "--local", "waits")
finish()
