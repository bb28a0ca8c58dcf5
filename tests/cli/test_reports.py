#!/usr/bin/env python3
"""runtime supervise: the progress that its command reports, as transformers' KubeflowCallback does."""
import http.server
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
from tap import check, finish

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
scratch = tempfile.TemporaryDirectory()
PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj/status"


def is_(what, got, want):
    check(what, None if got == want else f"got {got!r}, expected {want!r}")


# ---- the command: its client is that of transformers.integrations, without its throttle ----
CLIENT = r"""
import json, os, ssl, sys, urllib.request, urllib.error
E = "KUBEFLOW_TRAINER_SERVER_"
def post(body, token=None, path=None, method="POST", raw=False):
    url = os.environ[E + "URL"]
    if path is not None:
        url = url.split("/apis")[0] + path
    context = ssl.create_default_context(cafile=os.environ[E + "CA_CERT"])
    with open(os.environ[E + "TOKEN"], encoding="utf-8") as f:
        token = f.read().strip() if token is None else token
    data = body if raw else json.dumps(body).encode()
    r = urllib.request.Request(url, data=data, method=method,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(r, timeout=5, context=context) as resp:
            return resp.status, json.load(resp)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e).get("message")
def report(percent, **more):
    return post({"trainerStatus": {"lastUpdatedTime": "2026-11-21T04:48:17.123456+00:00", "progressPercentage": percent, **more}})
def tell(x):
    print(json.dumps(x), flush=True)
"""


def run(code, env=(), *options):
    clean = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and not k.startswith("KUBEFLOW")}
    r = subprocess.run([PROGRAM, "runtime", "supervise", "--message", "/dev/null", *options, "--", sys.executable, "-c", CLIENT + code],
                       capture_output=True, text=True, env={**clean, **dict(env)})
    if r.stderr:
        print("#", r.stderr.replace("\n", "\n# "))
    return [json.loads(line) for line in r.stdout.splitlines()]


# ---- no status server ----------------------------------------------------------------
GOOD = {"progressPercentage": 4, "metrics": [{"name": "loss", "value": "0.5"}], "lastUpdatedTime": "2026-11-21T04:48:17Z"}
got = run(r"""
tell(report(4, metrics=[{"name": "loss", "value": "0.5"}]))
tell(post({"trainerStatus": None}))
tell(post({"trainerStatus": {"progressPercentage": 4}}))
for bad in ({"progressPercentage": 101}, {"progressPercentage": "4"}, {"estimatedRemainingSeconds": -1}, {"metrics": [{"name": "", "value": "1"}]},
            {"metrics": [{"name": "x" * 65, "value": "1"}]}, {"metrics": [{"name": "x", "value": "1"}] * 257}, {"lastUpdatedTime": "today"}):
    tell(post({"trainerStatus": {"lastUpdatedTime": "2026-11-21T04:48:17Z", **bad}})[0])
for bad in b"", b"[]", b"{", b'{"trainerStatus": 1}', b'{"trainerStatus": {}}', b'{"a": 1, "a": 2}', b"\xff\x00", b"{" * 60000:
    tell(post(bad, raw=True)[0])
tell(post(b" " * 70000, raw=True))
tell(report(5, metrics=[{"name": "\u00e9" * 64, "value": "1"}])[0])
""")
is_("a report is accepted, and answered as by a status server", got[:2], [[200, {"trainerStatus": GOOD}], [200, {}]])
is_("... not without its time", got[2], [422, "Invalid payload"])
is_("what the schema refuses", got[3:10], [422] * 7)
is_("what is no report", got[10:18], [422] * 8)
is_("... a large one", got[18], [413, "Payload too large"])
is_("... 64 characters are no more, however many bytes", got[19], 200)
got = run(r"""
tell(post({}, token="x")); tell(post({}, token="")); tell(post({}, path="/apis/other")); tell(post({}, path=os.environ[E + "URL"].partition("/apis")[1] + "/../status"))
r = urllib.request.Request(os.environ[E + "URL"])
try:
    urllib.request.urlopen(r, timeout=5, context=ssl.create_default_context(cafile=os.environ[E + "CA_CERT"]))
except urllib.error.HTTPError as e:
    tell(e.code)
""")
is_("another token, another path, another method", got, [[403, "Forbidden"]] * 2 + [[404, "Not found"]] * 2 + [404])
got = run(r"""
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    codes = list(pool.map(lambda i: report(i % 100)[0], range(400)))
import time
time.sleep(1.1)
tell([sorted(set(codes)), report(1)[0]])
""")
is_("a flood is refused or taken, and then it goes on", [set(got[0][0]) <= {200, 429}, got[0][1]], [True, 200])
NO_PROXY = 'tell([report(1)[0], os.environ["no_proxy"], os.environ["NO_PROXY"]])'
DEAD = {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
is_("the command's proxy is not asked", run(NO_PROXY, DEAD), [[200, "127.0.0.1", "127.0.0.1"]])
is_("... and its list is kept", run(NO_PROXY, {**DEAD, "NO_PROXY": "a.example"}), [[200, "a.example,127.0.0.1", "a.example,127.0.0.1"]])
got = run(r"""
import subprocess
subprocess.run([sys.executable, "-c", "import os; print(len(open(os.environ['KUBEFLOW_TRAINER_SERVER_TOKEN']).read()))"], close_fds=True, cwd="/")
tell(sorted(oct(os.stat(os.environ[E + n]).st_mode & 0o777) for n in ("TOKEN", "CA_CERT")))
""")
is_("a grandchild reads the token, whose file is of this user alone", got, [64, ["0o400", "0o400"]])


# ---- progress, stalls and restarts -------------------------------------------------------
def supervise(code, *options):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KUBEFLOW")}
    r = subprocess.run([PROGRAM, "runtime", "supervise", "--message", "/dev/null", *options, "--", sys.executable, "-c", "import time\n" + CLIENT + code],
                       capture_output=True, text=True, env=clean)
    return r.returncode, "stalled" in r.stderr, r.stderr


is_("a job that reports progress is left alone", supervise("for i in range(14): report(i); time.sleep(0.3)", "--stall-after", "500ms")[:2], (0, False))
is_("... and one whose first step is slow", supervise("report(0); time.sleep(4); [report(i) for i in range(3)]", "--stall-after", "1s")[:2], (0, False))
is_("... not when it stops", supervise("[report(i) for i in range(4)]; time.sleep(60)", "--stall-after", "1s")[:2], (134, True))
code, _, err = supervise('tell(os.environ["KFTRAINER_RESTART"]); report(5); time.sleep(1.5); sys.exit(9)', "--restarts", "50")
is_("three restarts without progress are the last", (code, err.count("restart 3 of at most 50"), err.count("not started again: three restarts without progress")), (9, 1, 1))
OOM = 'report(int(os.environ["KFTRAINER_RESTART"]) // 2, metrics=[{"name": "step", "value": "1"}]); time.sleep(1.5); raise MemoryError'
code, _, err = supervise(OOM, "--restarts", "50")
is_("out of memory at the same step twice", (code, err.count("of at most 50"), err.count("not started again: out of memory at the same step twice")), (1, 1, 1))

# ---- with a status server ------------------------------------------------------------
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=x",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{scratch.name}/key", "-out", f"{scratch.name}/ca.crt"],
               check=True, capture_output=True)
with open(f"{scratch.name}/token", "w") as f:
    f.write("the pod's\n")


class Server(http.server.ThreadingHTTPServer):
    """A status server: what it got, and what it answers."""
    daemon_threads = True

    def __init__(self, port=0):
        outer = self
        self.seen, self.at, self.supervision, self.answer, self.hold = [], [], [], (200, b'{"from": "the server"}'), None

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = self.path, self.headers["Authorization"], body
                if b"supervision" in body:
                    outer.supervision.append(request)
                else:
                    outer.seen.append(request)
                    outer.at.append(time.monotonic())
                if outer.hold:
                    outer.hold.wait(60)
                self.send_response(outer.answer[0])
                self.send_header("Content-Length", str(len(outer.answer[1])))
                self.end_headers()
                self.wfile.write(outer.answer[1])

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{scratch.name}/ca.crt", f"{scratch.name}/key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def env(self):
        return {"KUBEFLOW_TRAINER_SERVER_URL": f"https://127.0.0.1:{self.server_address[1]}{PATH}",
                "KUBEFLOW_TRAINER_SERVER_CA_CERT": f"{scratch.name}/ca.crt", "KUBEFLOW_TRAINER_SERVER_TOKEN": f"{scratch.name}/token"}

    def close(self):
        self.shutdown()
        self.server_close()


s = Server()
got = run('tell([os.environ[E + "URL"].partition("/apis")[2], report(4)]); tell(post({"trainerStatus": {}})[0])', s.env())
is_("the status server's answer is the command's, at its path", got, [[PATH[5:], [200, {"from": "the server"}]], 422])
is_("... which gets the pod's token and the body as it was", [(p, a, json.loads(b)["trainerStatus"]["progressPercentage"]) for p, a, b in s.seen],
    [(PATH, "Bearer the pod's", 4)])
for answer, want in ((422, b'{"message": "no"}'), [422, "no"]), ((403, b'{"message": "Forbidden"}'), [403, "Forbidden"]), ((404, b"{}"), [404, None]):
    s.answer = answer
    is_(f"... {answer[0]}, too", run("tell(report(5))", s.env()), [want])
s.answer = (500, b"{}")
s.seen.clear()
s.at.clear()
ECHO = {"trainerStatus": {"progressPercentage": 6, "lastUpdatedTime": "2026-11-21T04:48:17Z"}}
is_("an error of the server is not the command's", run("tell(report(6))", s.env()), [[200, ECHO]])
# As the command goes on, again after 0.5 s, 1 s, ...; how often depends on how long it takes to end. The last is at its end.
gaps = [b - a for a, b in zip(s.at, s.at[1:])]
is_("... and the report is sent once more at the end", (len(gaps) > 0, [g for i, g in enumerate(gaps[:-1]) if g < 0.5 * 2**i], len({b for _, _, b in s.seen})), (True, [], 1))
s.answer = (200, b"{}")
s.hold = threading.Event()
s.seen.clear()
got = run("for i in range(6, 9): tell(report(i)[0])", s.env())
s.hold.set()
is_("a server that does not answer holds no report up for the client's 5 s", got, [200, 200, 200])
s.hold = None
s.close()

# Away: the newest is kept until the server is back.
port = s.server_address[1]
gone = s.env()
p = subprocess.Popen([PROGRAM, "runtime", "supervise", "--", sys.executable, "-c", CLIENT + """
tell([report(i)[0] for i in (10, 11, 12)])
sys.stdin.read()
"""], env={**os.environ, **gone}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
is_("while the status server is away, reports are accepted at once", json.loads(p.stdout.readline()), [200, 200, 200])
s = Server(port)
p.stdin.close()
is_("... and the newest arrives later, alone", (p.wait(), [json.loads(b)["trainerStatus"]["progressPercentage"] for _, _, b in s.seen]), (0, [12]))
s.close()
finish()
