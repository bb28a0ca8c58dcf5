"""Of test_cluster.sh, in the cluster's network namespace: what Chromium shows of the jobs in namespace lab."""
import atexit
import socket
import subprocess

from browser import PROGRAM, Browser, Server, check, equal, finish, os

READER = os.environ["READER"]


def run(*args):
    return subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def jobs():
    return {row[1]: row for row in b.rows()[1:]}


def losses():
    return b.js("""const f = [...document.querySelectorAll('.plot')].find(f => f.querySelector('b').textContent === 'loss');
        return f ? f.uplot.data : []""")


server = Server(os.environ | {"ENDPOINT": "http://127.0.0.1:7070", "ACCESS_KEY_ID": "kft", "SECRET_ACCESS_KEY": "kft-secret-key"}, "-n", "lab")
b = Browser()
b.screen(1000, 900)
b.go(server.url)
b.until("the list", lambda: b.text("h1") == "Jobs")
equal("the list has the jobs of the namespace", list(jobs()), ["bert", "once", "vit", "waits"])
b.until("the states change by themselves", lambda: [row[2] for row in b.rows()[1:]] == ["Running", "Failed", "Running", "Suspended"])
b.screen(1000, 320)
b.shot("cluster-list")
b.screen(1000, 900)
b.go(server.origin + "/?label=team%3Dblue")
equal("labels are asked of the API server", list(jobs()), ["bert", "waits"])
b.go(server.origin + "/?label=team%3Dblue%2C%2C%3D")
check("... which says what is none", None if "expected: identifier" in b.text("[role=alert]") else b.text())

# ---- a user who may change jobs --------------------------------------------------------------------------
b.go(server.origin + "/jobs/lab/bert")
equal("what can be done", b.texts(".acts a, .acts button"), ["Suspend", "Delete"])
b.click(".acts a")
b.until("a page asks", lambda: b.text("h1") == "Suspend bert?")
check("... and says what is lost", None if "It has 2 pods." in b.text() else b.text())
equal("... whose parts have names", b.names("main button, main a"), [("button", "Suspend"), ("link", "Cancel")])
b.shot("ask")
b.click("main form a")
b.until("it can be left", lambda: b.text("h1") == "bert")
equal("... with nothing done", "suspend: true" in run("get", "bert", "-n", "lab", "-o", "yaml").stdout, False)
b.click(".acts a")
b.until("a page asks", lambda: b.text("h1") == "Suspend bert?")
b.click("main button")
b.until("the form leads back to the job", lambda: b.url().endswith("/jobs/lab/bert"))
equal("suspend, as the command", run("wait", "bert", "--for", "suspended", "-n", "lab", "--timeout", "300s").returncode, 0)
b.go(b.url())
equal("... now it can be resumed", b.texts(".acts a, .acts button"), ["Resume", "Delete"])
b.click(".acts a")
b.until("a page asks", lambda: b.text("h1") == "Resume bert?")
b.type("Tab", "Tab", "Enter")
b.until("by keys alone: back to the job", lambda: b.url().endswith("/jobs/lab/bert"))
equal("resume, as the command", run("wait", "bert", "--for", "condition=Suspended=False", "-n", "lab", "--timeout", "300s").returncode, 0)
b.go(server.origin + "/jobs/lab/once")
check("a pod with NUL in its message", None if "core\ufffddump" in b.text() else b.text())
b.go(server.origin + "/jobs/lab/once/delete")
b.click("main button")
b.until("delete: leads to the list", lambda: b.text("h1") == "Jobs")
equal("delete, as the command", run("wait", "once", "--for", "deleted", "-n", "lab", "--timeout", "300s").returncode, 0)

# ---- what happened -----------------------------------------------------------------------------------------
b.go(server.origin + "/jobs/lab/vit")
timeline = [row for row in b.rows("table") if row[2] != "waiting"]  # for a scheduler: there is none
equal("the timeline: its states", [row[2] for row in timeline[1:]], ["queued", "starting", "starting", "training", "restarted", "restarted"])
equal("... with what went wrong", [row[3] for row in timeline[5:]], [
    f"node-{rank} (node rank {rank}): container node: exit code 137 (SIGKILL), out of memory, restarted 2 times" for rank in (0, 1)])
equal("the pods: restarts", [(row[1], row[3]) for row in b.js("return [...document.querySelector('#pods + table').rows].map(r => [...r.cells].map(c => c.innerText))")[1:]],
      [("Running", "2")] * 2)
b.go(server.origin + "/jobs/lab/waits")
b.until("a server that does not answer is named", lambda: "lab/waits has reported more, which cannot be read: " in b.text())
s3 = subprocess.Popen([os.environ["S3"], "--access", "kft", "--secret", "kft-secret-key", "--port", "127.0.0.1:7070", "--quiet", "posix", os.environ["FILES"]],
                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
atexit.register(s3.kill)
b.until("s3", lambda: not socket.socket().connect_ex(("127.0.0.1", 7070)))
b.go(b.url())
b.until("what was reported before this page is plotted", lambda: len(losses()[1:] and losses()[1]) > 1)
equal("... in its order, up to what the API server has", losses(), [[0, 2, 3, 4, 5, 6], [0.9, 0.7, 0.6, 0.5, 0.4, 0.31]])
b.go(server.origin + "/jobs/lab/vit")
check("the YAML has what the runtime gives", None if any("# of the runtime torch-distributed" in line for line in b.texts(".added")) else b.texts(".added"))

b.click(".acts a")
b.until("a page asks", lambda: b.text("h1") == "Rerun vit?")
b.click("main button")
b.until("a rerun for which there is no kubelet", lambda: b.find("[role=alert]"))
equal("a rerun for which there is no kubelet: as the command says it", "kftrainer rerun: " + b.text("[role=alert]"), run("rerun", "vit", "-n", "lab").stderr.strip())

# ---- a user who may only read ------------------------------------------------------------------------------
reader = Server(os.environ | {"KUBECONFIG": READER}, "-n", "lab")
b.go(reader.url)
b.until("the list of another user", lambda: b.text("h1") == "Jobs")
equal("who may read sees the same", list(jobs()), ["bert", "vit", "waits"])
b.go(reader.origin + "/jobs/lab/vit")
equal("what may not be done cannot", b.js("return [...document.querySelectorAll('.acts *')].map(e => [e.innerText, e.disabled])"), [
    ["Rerun", True], ["you may not create pods/exec in namespace lab (kubectl auth can-i create pods --subresource=exec -n lab)", None],
    ["Suspend", True], ["you may not patch trainjobs.trainer.kubeflow.org in namespace lab (kubectl auth can-i patch trainjobs.trainer.kubeflow.org -n lab)", None],
    ["Delete", True], ["you may not delete trainjobs.trainer.kubeflow.org in namespace lab (kubectl auth can-i delete trainjobs.trainer.kubeflow.org -n lab)", None]])
check("... its reason is what a screen reader tells", None if b.js("return document.querySelector('.acts button').getAttribute('aria-describedby')") == "no-rerun" else b.text(".acts"))
b.screen(1000, 660)
b.shot("may-not")
b.go(reader.origin + "/jobs/lab/waits")
b.until("who may not read a run directory sees why there is no more", lambda: "lab/waits has reported more" in b.text())
equal("... and what there is", losses(), [[0], [0.31]])
b.screen(1000, 900)
b.go(reader.origin + "/jobs/lab/vit/delete")
b.click("main button")
b.until("the API server refuses the rest", lambda: b.find("[role=alert]"))
check("the API server refuses the rest", None if "user reader may not delete trainjobs" in b.text() else b.text())
equal("... and nothing is deleted", run("get", "vit", "-n", "lab").returncode, 0)
guest = Server(os.environ | {"KUBECONFIG": os.environ["GUEST"]}, "-n", "lab")
b.go(guest.url)
b.until("the list of a guest", lambda: list(jobs()) == ["bert", "vit", "waits"])
b.go(guest.origin + "/jobs/lab/vit")
b.until("the page lives without events", lambda: "live" in b.text("header"))
check("a user who may not see events is told so", None if "user guest may not list events" in b.text() else b.text())
b.go("about:blank")
check("no request went elsewhere", b.foreign(server.origin, reader.origin, guest.origin))
check("the console has no error", [line for line in b.said if "403 (Forbidden)" not in line and "/lab/vit/rerun - Failed" not in line])
b.end()
for s in (server, reader, guest):
    s.end()
finish()
