#!/usr/bin/env python3
"""What lives on the page, in Chromium: list, job, log and plots change without a reload, by what is on the screen."""
import json
import re
import subprocess
import tempfile

from browser import CONTRAST, PROGRAM, Browser, Server, check, equal, finish, os

HOME = tempfile.TemporaryDirectory()
ENV = {"PATH": "/usr/bin:/bin", "HOME": HOME.name}
RANKS, MANY, STEPS = 8, 3000, 24
# Waits for the file whose name is the argument.
WAIT = f"def wait(name):\n    while not os.path.exists('{HOME.name}/' + name): time.sleep(0.01)\n"
LOG = "import os, time\n" + WAIT + f"""rank = os.environ['PET_NODE_RANK']
for i in range({MANY}): print(f'\\x1b[3{{int(rank) % 6 + 1}}mrank\\x1b[0m {{rank}} line {{i}} ')
print('<script>alert(1)</script> needle of ' + rank + ' \\u202eevil', flush=True)
wait('more')
for i in range(5): print(f'late {{i}} of {{rank}}', flush=True)
wait('over')
"""
TRAIN = "import json, os, ssl, sys, time, urllib.request\n" + WAIT + """import random
random.seed(int(sys.argv[2]))
x, w = [[random.gauss(0, 1) for _ in range(4)] for _ in range(64)], [0.0] * 4
context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
for step in range(int(sys.argv[1])):
    off = [sum(a * b for a, b in zip(w, row)) - sum(row) for row in x]
    w = [a - 0.1 * sum(o * row[i] for o, row in zip(off, x)) / 64 for i, a in enumerate(w)]
    metrics = {"loss": repr(sum(o * o for o in off) / 64), "step": str(step), "<i>odd": ["NaN", "inf", "1e308", "-1e308"][step % 4],
        "flat": ["0.9999997615814209", "1.000000238418579"][step % 2], "large": "1e14", "huge": ["-1e299", "1e299"][step % 2], "zero": "0"}
    body = {"trainerStatus": {"progressPercentage": 100 * step // int(sys.argv[1]), "lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "metrics": [{"name": name, "value": value} for name, value in metrics.items()]}}
    urllib.request.urlopen(urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + token}), context=context).read()
    print("wrote", step, metrics["loss"], flush=True)
    wait(f"{sys.argv[3]}-{step}")
"""


def run(*args):
    return subprocess.run([PROGRAM, *args], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")


def submit(name, *command, flags=()):
    return run("submit", "--local", "--runtime", "torch-distributed", "--name", name, *flags, "--", *command)


def allow(name):
    with open(os.path.join(HOME.name, name), "w", encoding="ascii"):
        pass


for name, text in (("log.py", LOG), ("train.py", TRAIN)):
    with open(os.path.join(HOME.name, name), "w", encoding="utf-8") as f:
        f.write(text)
server = Server(ENV, "--local")
url, origin = server.url, server.origin
b = Browser()
b.screen(1200, 900)

# ---- the list --------------------------------------------------------------------------------------
b.go(url)
b.until("the list", lambda: b.text(".live") == "live")
b.js("window.stays = 1")
submit("zeta", "true", flags=("--suspend", "--detach"))
b.until("a new job is shown", lambda: [row[1] for row in b.rows()[1:]] == ["zeta"])
submit("alpha", "python3", HOME.name + "/log.py", flags=("--detach", "--nodes", str(RANKS)))
b.until("... at its place", lambda: [row[1] for row in b.rows()[1:]] == ["alpha", "zeta"])
equal("... which is counted", b.text("main table + p, main p"), "2 jobs")
b.until("a change of state is shown", lambda: b.rows()[2][2] == "Suspended")
run("delete", "--local", "zeta")
b.until("... and that it is deleted", lambda: [row[1] for row in b.rows()[1:]] == ["alpha"])
equal("... without a reload", b.js("return window.stays"), 1)
b.go(origin + "/?state=Failed")
b.until("the filter holds for what comes", lambda: b.text(".live") == "live" and len(b.rows()) == 1)

# ---- its log ---------------------------------------------------------------------------------------
KEPT = 20000  # of which each rank has its share
b.go(origin + "/jobs/default/alpha")


def count():
    return b.text(".tools .note")


b.until("the log's last lines", lambda: count() == f"{KEPT} lines")
b.until("... of all ranks", lambda: b.texts(".ranks button") == ["all"] + [f"node-{i}" for i in range(RANKS)])
check("... of which those on the screen are elements", None if 10 < len(b.find(".line")) < 200 else len(b.find(".line")))
equal("... in the colors of their ranks", len({b.js("return getComputedStyle(arguments[0]).color", {"element-6066-11e4-a52e-4f735466cecf": e})
                                               for e in b.find(".ranks button")[1:]}), RANKS)
b.click(".tools button")
b.until("pause", lambda: b.text(".live") == "live; the log is paused")
paused = count()
allow("more")
b.click(".tools [type=search]")
b.type(*"needle")
b.until("search", lambda: len(b.find(".line mark")) >= 1 and "of 20000 lines" in count())
equal("... finds the lines", sorted(b.texts(".line")), sorted(f"node-{i} <script>alert(1)</script> needle of {i} \\u202eevil" for i in range(RANKS)))
equal("... as text", b.js("return document.querySelectorAll('.log script').length"), 0)
b.js("const i = document.querySelector('[type=search]'); i.value = 'rank 5 line 2999'; i.dispatchEvent(new Event('input'))")
b.until("a search over a change of color", lambda: count().startswith("1 of"))
equal("... is marked (kubetui#873)", b.js("return [...document.querySelectorAll('.line mark')].map(m => m.textContent)"), ["rank", " 5 line 2999"])
b.js("const i = document.querySelector('[type=search]'); i.value = ''; i.dispatchEvent(new Event('input'))")
b.until("... until it is empty", lambda: count() == paused)
selected = b.js("getSelection().selectAllChildren(log.all.lastChild); document.querySelector('.tools button').click(); return String(getSelection())")
b.until("resume: what came meanwhile", lambda: count() == f"{KEPT} lines, the last of {KEPT + 5 * RANKS}")
equal("... what is selected stays so (ray#45190)", b.js("return String(getSelection())"), selected)
check("... each line once", None if len(set(b.texts(".line"))) == len(b.texts(".line")) else b.texts(".line"))
b.js("document.querySelectorAll('.ranks button')[4].click()")
b.until("one rank", lambda: count() == f"{MANY + 6} lines" and b.js("return document.querySelectorAll('.ranks button')[4].ariaPressed") == "true")
check("... alone", None if {t.split()[0] for t in b.texts(".line")} == {"node-3"} else b.texts(".line"))
equal("its link leads to the whole log", b.js("return document.querySelector('.tools a').getAttribute('href')"), "/log?job=default/alpha")
before = b.rows("#pods + table")
b.js("getSelection().selectAllChildren(document.querySelector('#pods + table td'))")
allow("over")
b.until("the pods end on the screen", lambda: {row[1] for row in b.rows("#pods + table")[1:]} == {"Succeeded"})
equal("... whose name stays selected", b.js("return String(getSelection())"), before[1][0])
check("... which they had not", None if {row[1] for row in before[1:]} == {"Running"} else before)
b.until("... as the paragraph says", lambda: "completed" in b.text("pre.why"))
b.until("... and the log", lambda: "the log has ended" in count())

# ---- plots -----------------------------------------------------------------------------------------
def losses(name):
    return [(int(line.split()[1]), float(line.split()[2])) for line in run("logs", "--local", name).stdout.splitlines() if line.startswith("wrote")]


def plotted(metric, column=1):
    """[[x, y], ...] of what uPlot draws of the metric."""
    return b.js("""const f = [...document.querySelectorAll('.plot')].find(f => f.querySelector('b').textContent === arguments[0]);
        return f ? f.uplot.data[0].map((x, i) => [x, f.uplot.data[arguments[1]][i]]).filter(p => p[1] !== undefined) : []""", metric, column)


for n, name in enumerate(("beta", "gamma")):
    submit(name, "python3", HOME.name + "/train.py", str(STEPS), str(n), name, flags=("--detach",))
    b.go(f"{origin}/jobs/default/{name}")
    for step in range(STEPS):
        b.until(f"step {step} of {name} is drawn", lambda step=step: len(plotted("loss")) == step + 1)
        allow(f"{name}-{step}")
b.until("the loss over steps", lambda: b.js("""const s = document.querySelector('#plots + .tools select'); s.value = 'step';
    s.dispatchEvent(new Event('change')); return 1""") and len(plotted("loss")) == STEPS)
equal("a job's losses are what is drawn, in full", [tuple(p) for p in plotted("loss")], losses("gamma"))
equal("what is not finite, or has no scale, is a gap", [y for _, y in plotted("<i>odd")], [None] * STEPS)
b.js("const i = document.querySelector('#plots + .tools input'); i.value = 'default/beta'; i.dispatchEvent(new Event('change'))")
b.until("another job over it", lambda: len(plotted("loss", 2)) == STEPS)
equal("... with its own losses", [tuple(p) for p in plotted("loss", 2)], losses("beta"))
check("... whose names and last values stand above", None if re.search(r"loss gamma [\d.e-]+ beta [\d.e-]+", " ".join(b.texts(".plot figcaption"))) else
      b.texts(".plot figcaption"))
check("... and in the address", None if b.url().endswith("/jobs/default/gamma?with=default/beta") else b.url())
equal("flat and huge ones are drawn", [len(plotted(name)) for name in ("flat", "large", "huge", "zero")], [STEPS] * 4)
equal("... with a few marks each", b.js("""return [...document.querySelectorAll('.plot')].map(f => f.uplot.axes.map(a => (a._splits || []).length))
    .flat().filter(n => n > 20)"""), [])
equal("eight metrics are all that there are", b.js("return document.querySelector('.plots + button').checkVisibility()"), False)
b.js("stream.heard.points(['default/gamma', 'gaps', true, Array.from({length: 600}, (_, i) => [1000 * i, i, i % 2 ? null : 1 + i % 5])])")
b.until("values between gaps are drawn", lambda: b.js("""const f = [...document.querySelectorAll('.plot')].find(f => f.querySelector('b').textContent === 'gaps');
    if (!f) return 0;
    const c = f.querySelector('canvas'), d = c.getContext('2d').getImageData(c.width / 4, 0, c.width / 2, c.height - 60).data;
    let n = 0;
    for (let i = 0; i < d.length; i += 4) n += d[i + 3] > 0 && d[i + 2] > d[i] + 60;
    return n""") > 100)
b.js("document.querySelector('.plot').uplot.setScale('x', {min: 5, max: 5 + 1e-15})")
b.until("a range that doubles cannot tell apart is widened", lambda: b.js(
    "const x = document.querySelector('.plot').uplot.scales.x; return x.max - x.min") > 1e-6)
b.go(b.url())
b.until("... which shows it again", lambda: len(plotted("loss", 2)) > 0 and len(plotted("loss", 1)) > 0)
b.js("stream.heard.points(['default/beta', 'of beta', true, [[1, 1, 1]]])")
b.until("what the other alone has", lambda: "of beta" in b.texts(".plot b"))
b.js("document.querySelector('.tools [title]').click()")
b.until("... goes with it", lambda: "of beta" not in b.texts(".plot b") and "loss" in b.texts(".plot b"))
b.screen(360, 800)
b.until("a narrow screen: the plots are in it", lambda: b.js("return [...document.querySelectorAll('.uplot')].every(u => u.getBoundingClientRect().right <= 360)"))
b.screen(1200, 900, dark=True)
equal("dark: contrast is enough", b.js(CONTRAST), [])
b.screen(1200, 900)
equal("light: contrast is enough", b.js(CONTRAST), [])

# ---- a job in development is run again -------------------------------------------------------------------
CODE = os.path.join(HOME.name, "code")


def edit(number):
    with open(CODE + "/train.sh", "w", encoding="ascii") as f:
        f.write(f"echo edit {number} of rank $JOB_COMPLETION_INDEX\n")


def ask():
    """The page that asks, from the job's page."""
    b.go(origin + "/jobs/default/dev")
    b.click(".acts a")
    b.until("a page asks", lambda: b.text("h1") == "Rerun dev?")
    b.js("document.dispatchEvent(new Event('visibilitychange'))")
    equal("it has nothing that lives", b.js("return stream.source"), None)


def refused():
    """What the command says."""
    return run("rerun", "--local", "dev").stderr.removeprefix("kftrainer rerun: ").strip()


os.mkdir(CODE)
edit(0)
submit("dev", "sh", "train.sh", flags=("--dev", "--idle", "1h", "--detach", "--nodes", "2", "--workspace", CODE))
b.go(origin + "/jobs/default/dev")
b.until("a job in development waits", lambda: b.text(".log").count("edit 0 of rank") == 2 and "waiting for 'kftrainer rerun'" in b.text(".log"))
equal("it can be run again", b.texts(".acts a"), ["Rerun", "Suspend", "Delete"])
pods = [row[0] for row in b.rows("#pods + table")]
edit(1)
ask()
check("... which asks, with the directory that is sent", None if f"Of {CODE} on this machine, " in b.text("main p") else b.text("main"))
b.click("main button")
b.until("... runs the new file on both ranks", lambda: b.url() == origin + "/jobs/default/dev" and b.text(".log").count("edit 1 of rank") == 2)
equal("... in the same pods", [row[0] for row in b.rows("#pods + table")], pods)
ask()
b.js("document.querySelector('[name=uid]').value += '0'")
b.click("main button")
b.until("another directory than the one that was shown is not sent", lambda: "was replaced" in b.text("[role=alert]"))
ask()
os.mkfifo(CODE + "/fifo")
b.click("main button")
b.until("what cannot be sent", lambda: b.find("[role=alert]"))
equal("what cannot be sent: as the command says it", b.text("[role=alert]"), refused())
os.rename(CODE, CODE + ".away")
b.go(origin + "/jobs/default/dev")
equal("without the directory it is grey, as the command says it", [b.texts(".acts button"), b.texts(".acts .note")], [["Rerun"], [refused()]])
run("delete", "--local", "dev")
b.until("a job that is gone: the page says so", lambda: "no TrainJob dev" in b.text(".live"))
submit("dev", "true", flags=("--suspend", "--detach"))
b.until("... until there is one again (node-red-dashboard#278)", lambda: b.text(".live") == "live")
run("delete", "--local", "dev")

# ---- an API server that goes away ----------------------------------------------------------------------
def controller():
    p = subprocess.Popen([PROGRAM, "controller", "--local", "--data", HOME.name + "/api"], env=ENV, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    p.stdout.readline()
    return p


def waits(name):
    run("submit", "--kubeconfig", HOME.name + "/api/kubeconfig", "--runtime", "torch-distributed", "--name", name, "--suspend", "--", "true")


api = controller()
other = Server(ENV, "--kubeconfig", HOME.name + "/api/kubeconfig")
b.go(other.url)
b.until("its page", lambda: b.text("h1") == "Jobs")
b.go(other.origin + "/?state=Suspended")  # it mirrors the jobs above
waits("one")
b.until("a job of an API server", lambda: [row[1] for row in b.rows()[1:]] == ["one"])
api.kill()
api.wait()
b.until("it is gone: the page says so", lambda: "Not up to date: " in b.text(".live") and "127.0.0.1" in b.text(".live"))
equal("... and has what was there", [row[1] for row in b.rows()[1:]], ["one"])
api = controller()
waits("two")
b.until("it is back: the page goes on by itself", lambda: [row[1] for row in b.rows()[1:]] == ["one", "two"] and b.text(".live") == "live")
b.go(origin + "/")
other.end()
api.terminate()
api.wait()

# ---- many tabs ---------------------------------------------------------------------------------------
for tab in range(8):  # a browser has six connections to a server
    b.ask("POST", "/window", handle=b.ask("POST", "/window/new", type="tab")["handle"])
    b.go(f"{origin}/?q={tab}")
    b.until(f"tab {tab + 2} lives", lambda: b.text(".live") == "live")

# ---- the server ends ---------------------------------------------------------------------------------
b.listen()
equal("the console has no error but the two refusals", [line for line in b.said if "/jobs/default/dev/rerun - Failed" not in line], [])
equal("nothing is asked of another server", b.foreign(origin, other.origin), [])
server.end()
b.until("the server has ended: the page says so", lambda: "does not answer" in b.text(".live"))
b.end()
finish()
