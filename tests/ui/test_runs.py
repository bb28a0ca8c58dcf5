#!/usr/bin/env python3
"""Jobs that really train, with run directories: the page while they run, and of what is left of them. Pictures of docs/ui.md."""
import json
import re
import subprocess
import tempfile

from browser import CONTRAST, PROGRAM, Browser, Server, check, equal, finish, os

HOME = tempfile.TemporaryDirectory()
ENV = {"PATH": "/usr/bin:/bin", "HOME": HOME.name, "XDG_STATE_HOME": HOME.name + "/state"}
RUNS, STEPS, GOES_ON = f"file://{HOME.name}/runs", 60, 20
# A network learns to count bits. Of `vit` rank 1 fails once, after step 40: all go on from the checkpoint of step GOES_ON.
TRAIN = f"""import json, os, ssl, sys, time, urllib.request
import torch
def wait(file):
    while not os.path.exists("{HOME.name}/" + file): time.sleep(0.02)
name, rate = sys.argv[1], float(sys.argv[2])
rank, again = int(os.environ["PET_NODE_RANK"]), os.environ["KFTRAINER_RESTART"] != "0"
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 9))
x = torch.randint(0, 2, (512, 8)).float()
y = x.sum(1).long()
optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
print(f"\\x1b[1mrank {{rank}}\\x1b[0m of {{os.environ['PET_NNODES']}}, torch {{torch.__version__}}", flush=True)
kept = f"{HOME.name}/{{name}}.{{rank}}"
if again:
    for part, state in zip((model, optimizer), torch.load(kept)): part.load_state_dict(state)
for step in range({GOES_ON} if again else 0, {STEPS}):
    if step == {GOES_ON}: torch.save((model.state_dict(), optimizer.state_dict()), kept)
    out = model(x)
    loss = torch.nn.functional.cross_entropy(out, y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    right = (out.argmax(1) == y).float().mean().item()
    print(f"step {{step + 1}}/{STEPS} loss \\x1b[33m{{loss.item()!r}}\\x1b[0m accuracy \\x1b[32m{{right:.3f}}\\x1b[0m", flush=True)
    if rank == 0:
        metrics = {{"loss": repr(loss.item()), "accuracy": repr(right), "step": str(step)}}
        body = {{"trainerStatus": {{"progressPercentage": 100 * (step + 1) // {STEPS}, "estimatedRemainingSeconds": ({STEPS} - step) // 10,
            "lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "metrics": [{{"name": n, "value": v}} for n, v in metrics.items()]}}}}
        urllib.request.urlopen(urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps(body).encode(),
            {{"Content-Type": "application/json", "Authorization": "Bearer " + token}}), context=context).read()
    if name == "vit" and rank == 1 and not again and step == 40:
        sys.exit("RuntimeError: NCCL communicator was aborted on rank 1")
    time.sleep(0.1)
    if name == "gpt" and step in (9, 44): wait(f"gpt-{{step}}")
if name == "bert": sys.exit("ValueError: the validation set is empty")
"""
with open(HOME.name + "/train.py", "w", encoding="ascii") as f:
    f.write(TRAIN)


def run(*args):
    return subprocess.run([PROGRAM, *args], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")


def cells(name):
    """Of a job in the list, by the heads of the columns."""
    rows = b.rows()
    return next((dict(zip(rows[0], row)) for row in rows[1:] if row[1] == name), {})


def plotted(metric, column=1):
    return b.js("""const f = [...document.querySelectorAll('.plot')].find(f => f.querySelector('b').textContent === arguments[0]);
        return f ? f.uplot.data[0].map((x, i) => [x, f.uplot.data[arguments[1]][i]]).filter(p => p[1] !== undefined) : []""", metric, column)


def written(*source):
    """[[step, loss], ...] of the log, those of a second start in place of the first's."""
    lines = re.findall(r"step (\d+)/\d+ loss (?:\x1b\[\d*m)?([\d.e-]+)", run("logs", *source, "--rank", "0").stdout)
    found = {int(step) - 1: float(loss) for step, loss in lines}
    return [[step, found[step]] for step in sorted(found)]


def allow(name):
    with open(os.path.join(HOME.name, name), "w", encoding="ascii"):
        pass


JOBS = {"bert": ("0.05", "0", "1"), "gpt": ("0.2", "0", "2"), "vit": ("0.1", "1", "2")}
for name, (rate, restarts, nodes) in JOBS.items():
    run("submit", "--local", "--detach", "--supervise", "--run-dir", f"{RUNS}/{name}", "--runtime", "torch-distributed", "--nodes", nodes, "--name", name,
        "--max-restarts", restarts, "--", "python3", HOME.name + "/train.py", name, rate)
run("submit", "--local", "--detach", "--suspend", "--runtime", "torch-distributed", "--nodes", "8", "--name", "llama", "--", "true")
server = Server(ENV, "--local")
b = Browser()

# ---- while they run ------------------------------------------------------------------------------------
b.screen(1000, 400)
b.go(server.url)
b.until("the list", lambda: b.text(".live") == "live")
b.go(server.origin + "/jobs/default/gpt")
b.until("a job that runs: its log", lambda: b.text(".log").count("step 10/60") == 2)
b.js("document.querySelector('.ranks').previousElementSibling.scrollIntoView()")
allow("gpt-9")
b.until("... goes on, of both ranks", lambda: b.text(".log").count("step 45/60") == 2)
b.click(".tools [type=search]")
b.type(*"4/60") # not what our own lines of progress have
b.until("... is searched", lambda: len(b.find(".line mark")) == 10)
b.shot("log")
b.type("Enter")
b.go(b.url())
b.until("... also after a reload (headlamp#5940)", lambda: len(b.find(".line mark")) == 10)
b.go(server.origin + "/")
b.screen(1360, 316)
b.until("two have ended, one runs, one waits", lambda: [row[2] for row in b.rows()[1:]] == ["Failed", "Running", "Suspended", "Complete"]
        and cells("gpt").get("PROGRESS") == "75%")
equal("the list: restarts of the supervised", [cells(name)["RESTARTS"] for name in ("bert", "llama", "vit")], ["0", "", "1"])
check("... goodput, and the time left", None if re.fullmatch(r"\d+%", cells("vit")["GOODPUT"]) and cells("gpt")["LEFT"] else cells("vit"))
check("... the last metrics", None if cells("vit")["METRICS"].startswith("loss ") else cells("vit"))
b.shot("list")
b.screen(1000, 760, dark=True)
b.go(server.origin + "/jobs/default/vit")
b.until("the page of a job that was restarted", lambda: b.text("#supervised + table"))
supervised = json.loads(run("get", "--local", "vit", "-o", "json").stdout)["status"]["supervision"]
equal("... its supervision is what get has", b.rows("#supervised + table")[1][:3], ["1", "0", "0"])
equal("... as JSON", [supervised[key] for key in ("restarts", "stalls")], [1, 0])
states = [row[2] for row in b.rows("#timeline + table")[1:]]
check("... and its timeline", None if states[-2:] == ["restarted", "complete"] and states[0] == "queued" else states)
equal("dark: contrast is enough", b.js(CONTRAST), [])
b.shot("job-dark")
allow("gpt-44")
run("wait", "--local", "gpt", "--timeout", "60s")
b.go("about:blank")
server.end()

# ---- what is left of them ------------------------------------------------------------------------------
server = Server(ENV, "--from", RUNS)
b.screen(1000, 700)
b.go(server.url)
b.until("the list of a folder of runs", lambda: b.text(".live") == "live")
equal("the list of a folder of runs", [(row[1], row[2]) for row in b.rows()[1:]], [("bert", "Failed"), ("gpt", "Complete"), ("vit", "Complete")])
equal("... restarts", [cells(name)["RESTARTS"] for name in JOBS], ["0", "0", "1"])
b.go(server.origin + "/jobs/default/vit?with=default/bert,default/gpt")
b.until("all that they have reported is drawn", lambda: len(plotted("loss", 1)) > STEPS and len(plotted("loss", 3)) == STEPS)
b.js("""const s = document.querySelector('#plots + .tools select'); s.value = 'step'; s.dispatchEvent(new Event('change'))""")
b.until("... over steps", lambda: len(plotted("loss")) == STEPS)
for n, name in enumerate(("vit", "bert", "gpt")):
    equal(f"the losses of {name} are those that it wrote, repeated steps once", plotted("loss", n + 1), written(name, "--from", RUNS))
b.screen(1000, 530)
b.js("document.querySelector('main section').scrollIntoView()")
b.until("... in the screen", lambda: b.js("return Math.abs(document.querySelector('main section').getBoundingClientRect().top) < 2"))
b.shot("plots")
equal("nothing can be done with a run of the past", b.find(".acts"), [])
equal("its timeline has the restart", [row[2] for row in b.rows("#timeline + table")].count("restarted"), 1)
b.until("its log, of both starts", lambda: f"step {STEPS}/{STEPS}" in b.text(".log"))
lines = run("logs", "vit", "--from", RUNS).stdout.count("\n")
b.until("... all of it", lambda: f"{lines} lines" in b.text("main"))
b.screen(360, 740)
b.go(server.origin + "/jobs/default/bert")
b.until("a narrow screen", lambda: re.search(r"\d\d lines", b.text("main")))
equal("a narrow screen has the whole timeline", b.js("return document.querySelector('#timeline + table').getBoundingClientRect().right <= innerWidth"), True)
b.js("document.activeElement.blur(); scrollTo(0, 0)")
b.shot("narrow")
b.listen()
equal("the console has no error", b.said, [])
b.end()
server.end()
run("delete", "--local", "llama")
finish()
