#!/usr/bin/env python3
"""The page of `ui --local` in Chromium: by what is on the screen, by keys alone, from 360 px on, dark and light."""
import http.client
import http.server
import subprocess
import sys
import tempfile
import threading

from browser import CONTRAST, PROGRAM, Browser, Server, check, equal, finish, os, re

HOME = tempfile.TemporaryDirectory()
ENV = {"PATH": "/usr/bin:/bin", "HOME": HOME.name}
# Markup, a control character, bytes that are no UTF-8, and a character that turns the direction of text.
COLORS = "".join(f"\\033[{f};{c}mx" for f in [*range(30, 38), *range(90, 98)] for c in (40, 41, 43, 47, 102, 107))
ODD = r"printf '\033[31m<script>alert(1)</script>\033[0m & \001 \377 \342\200\256live\n<img src=http://evil.example/x>\n'"
# Both ranks write and end with 3, whichever is first: the first failure ends the others.
BOTH = f"; trap '' TERM; >{HOME.name}/wrote.$JOB_COMPLETION_INDEX; until [ $(ls {HOME.name}/wrote.* | wc -l) = 2 ]; do sleep 0.01; done; exit 3"
LOSS = ("import sys, time\nfor step in range(1, 41):\n    print(f'\\033[2mstep {step}/40\\033[0m loss \\033[32m{3 / step + 0.2:.3f}\\033[0m')\n"
        "print('" + COLORS + "\\033[m')\n"
        "print('\\033[1mcheckpoint\\033[0m saved to /tmp/out', flush=True)\nsys.stdin.read() if sys.argv[1:] else None")


def run(*args):
    return subprocess.run([PROGRAM, *args], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")


def submit(name, *command, flags=()):
    return run("submit", "--local", "--runtime", "torch-distributed", "--name", name, *flags, "--", *command)


class Elsewhere:
    """Another site's server, which has this body."""

    def __init__(self, body):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body.encode() if self.path == "/" else b"")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.origin = f"http://localhost:{self.server.server_port}"


submit("digits", "python3", "-c", LOSS, flags=("--nodes", "2"))
submit("odd", "sh", "-c", ODD + BOTH, flags=("--nodes", "2"))
submit("waits", "true", flags=("--suspend", "--detach"))
server = Server(ENV, "--local")
elsewhere = Elsewhere(f'<a href="{server.url}">the jobs</a>')
b = Browser()
b.screen(1000, 700)

# ---- how one gets in -------------------------------------------------------------------------------
b.go(elsewhere.origin + "/")
b.click("a")
b.until("behind a link of another site the page opens", lambda: b.text("h1") == "Jobs")
equal("behind a link of another site the page opens, without its token", b.url(), server.origin + "/")
b.go(server.origin + "/")
equal("... and again, by its cookie", b.text("h1"), "Jobs")

# ---- the page, without its script and with it ------------------------------------------------------------
def look(what):
    def equals(test, *values):
        equal(f"{what}: {test}", *values)

    def checks(test, problem):
        check(f"{what}: {test}", problem)

    b.screen(1000, 700)
    b.go(server.origin + "/")
    rows = b.rows()[1:]
    equals("the list has the jobs", [row[1] for row in rows], ["digits", "odd", "waits"])
    equals("... with their states", [row[2] for row in rows], ["Complete", "Failed", "Suspended"])
    checks("contrast of the list, light", b.js(CONTRAST))
    b.screen(1000, 700, dark=True)
    checks("contrast of the list, dark", b.js(CONTRAST))
    b.click("input[name=q]")
    b.type("w", "a", "I", "T", "s", "Enter")
    b.until("the filter acts by Enter", lambda: "q=waITs" in b.url())
    equals("a filter: what it leaves", [row[1] for row in b.rows()[1:]], ["waits"])
    equals("... how many", b.text("main > p"), "1 job")
    equals("... what it was", b.js("return document.querySelector('input[name=q]').value"), "waITs")
    equals("its parts have names", b.names("form select, form input, form button"),
           [("combobox", "State"), ("textbox", "Text"), ("textbox", "Labels"), ("button", "Filter")])
    b.click("form a")
    b.until("the filter is taken away", lambda: len(b.rows()) == 4)

    b.click("td a")
    b.until("the job's page", lambda: b.text("h1") == "digits")
    equals("a link of the list leads to the job", b.url(), server.origin + "/jobs/default/digits")
    last = "84 lines" if what == "with it" else "node-1 step 1/40 loss 3.200"  # it has only the lines that are in sight
    b.until("its log", lambda: last in b.text() and "node-0 step 40/40 loss 0.275" in b.text())
    checks("contrast of a job, dark", b.js(CONTRAST))
    b.screen(1000, 700)
    checks("... light", b.js(CONTRAST))
    b.go(server.origin + "/jobs/default/odd")
    b.until("its log", lambda: "<img src=http://evil.example/x>" in b.text())
    equals("text of a log is not markup", b.find("img, main script"), [])
    equals("the timeline", [row[2] for row in b.rows("table")[1:]], ["queued", "starting", "starting", "training", "failed", "failed", "failed"])
    equals("its headings", [text for text in b.texts("h1, h2") if text not in ("Metrics", "Supervision")], ["odd", "Timeline", "Pods", "Events", "Log", "YAML"])
    marked = b.texts(".added")
    checks("the YAML marks defaults", None if "suspend: false  # default" in marked else marked)
    checks("... and what the runtime gives", None if any(line.endswith("# of the runtime torch-distributed") for line in marked) else marked)
    equals("... in another color than the rest", b.js("return getComputedStyle(document.querySelector('.added')).color !== "
                                                     "getComputedStyle(document.querySelector('pre')).color"), True)
    checks("all that can be used has a name", [pair for pair in b.names("a, button, input, select, h1, h2") if pair[0] != "none" and not pair[1]])

    for path in ("/", "/jobs/default/odd"):
        b.screen(360, 640)
        b.go(server.origin + path)
        wide = b.js("return [document.documentElement.scrollWidth, innerWidth]")
        checks(f"{path} fits into 360 px", None if wide[0] <= wide[1] else wide)
    b.screen(1000, 700)
    b.go(server.origin + "/")
    order = []
    while "a waits" not in order and len(order) < 30:
        b.type("Tab")
        order.append(b.focused())
    equals("the order of focus is that of the page", order, ["a kftrainer", "select state", "input q", "input label", "button Filter",
                                                            "a digits", "a odd", "a waits"])
    b.go(server.origin + "/")
    while b.focused() != "a odd":
        b.type("Tab")
    b.type("Enter")
    b.until("keys alone lead to a job", lambda: b.text("h1") == "odd")
    while b.focused() != "a Delete":
        b.type("Tab")
    b.type("Enter")
    b.until("... and to what can be done with it", lambda: b.text("h1") == "Delete odd?")
    equals("keys alone lead to a job, and to what can be done with it", b.url(), server.origin + "/jobs/default/odd/delete")


b.devtools("Network.enable")
b.devtools("Network.setBlockedURLs", urls=["*/page.js"])
look("without its script")
b.listen()
check("without its script: it has none", None if any("page.js" in line for line in b.said) else b.said)
b.said = [line for line in b.said if "page.js" not in line]
b.devtools("Network.setBlockedURLs", urls=[])
look("with it")

# ---- --open --------------------------------------------------------------------------------------------
with tempfile.TemporaryDirectory() as bin_dir:
    with open(bin_dir + "/xdg-open", "w", encoding="ascii") as f:  # in place of a desktop's
        f.write('#!/bin/sh\necho "$$ $*" >"$0.new"; mv "$0.new" "$0.args"; exec sleep 1000\n')
    os.chmod(bin_dir + "/xdg-open", 0o755)
    ENV.update(PATH=bin_dir + ":/usr/bin:/bin", TMPDIR=HOME.name)
    opened = Server(ENV, "--local", "--open")
    b.until("--open starts a browser", lambda: os.path.exists(bin_dir + "/xdg-open.args"))
    with open(bin_dir + "/xdg-open.args", encoding="ascii") as f:
        pid, args = f.read().split(maxsplit=1)
        args = args.strip()
    check("--open: its arguments, which others can see, do not have the token", None if re.fullmatch(r"file://\S+\.html", args) else args)
    equal("... the file is for its user alone", oct(os.stat(args[7:]).st_mode & 0o777), "0o600")
    b.go(args)
    b.until("... and leads to the page", lambda: b.text("h1") == "Jobs")
    equal("... and leads to the page", b.url(), opened.origin + "/")
    b.go("about:blank")
    opened.end()
    equal("... it is gone with the command", os.path.exists(args[7:]), False)
    os.kill(int(pid), 9)
    os.unlink(bin_dir + "/xdg-open")
    ENV.update(PATH=bin_dir)
    without = subprocess.run([PROGRAM, "ui", "--local", "--open", "--idle", "1s"], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    ENV.update(PATH="/usr/bin:/bin")
    check("without xdg-open one line says so, and the URL is there", None if without.returncode == 0 and "?token=" in without.stdout and
          without.stderr.startswith("kftrainer ui: cannot open a browser: xdg-open is not installed\n") else without)
    equal("... and no file stays", [name for name in os.listdir(HOME.name) if name.endswith(".html")], [])

# ---- the whole log ---------------------------------------------------------------------------------
b.go(server.origin + "/")
cookie, answers = "; ".join(f"{c['name']}={c['value']}" for c in b.ask("GET", "/cookie")), {}
for name in ("odd", "none"):
    c = http.client.HTTPConnection(server.origin.removeprefix("http://"))
    c.request("GET", f"/log?job=default/{name}", headers={"Cookie": cookie})
    answer = c.getresponse()
    answers[name] = (answer.status, answer.read())
check("the whole log", None if answers["odd"][0] == 200 and b"<script>alert(1)</script>" in answers["odd"][1] else answers["odd"])
check("... of a job that is not there: no file", None if answers["none"][0] == 404 and b"none" in answers["none"][1] else answers["none"])

# ---- all of it -----------------------------------------------------------------------------------------
check("no request went elsewhere", b.foreign(server.origin, elsewhere.origin, opened.origin))
check("the console has no error", b.said)
b.end()
server.end()
run("delete", "--local", "waits")
finish()
