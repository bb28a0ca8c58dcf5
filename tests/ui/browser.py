"""Headless Chromium through chromedriver's WebDriver protocol (W3C WebDriver), and what tests ask of a page.

One Browser is one session with a profile of its own; it reaches 127.0.0.1 and localhost only, and its network
log says whether a page wanted more.
"""
import atexit
import base64
import http.client
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from tap import check, finish, skip  # noqa: F401 (for those that import this)

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
SHOTS = os.path.join(ROOT, "build", "ui")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver, 12: the key of an element's reference
FLAGS = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
         "--disable-default-apps", "--disable-extensions", "--disable-sync", "--no-first-run", "--no-proxy-server", "--hide-scrollbars",
         "--force-color-profile=srgb", "--font-render-hinting=none", "--lang=en-US",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]
PATIENCE = 180  # seconds until a condition counts as never met


def equal(what, got, want):
    check(what, None if got == want else f"{got!r}, not {want!r}")


class Server:
    """`kftrainer ui` in that environment, and the address of its page. It ends with the test."""

    def __init__(self, env, *args):
        self.process = subprocess.Popen([PROGRAM, "ui", *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        atexit.register(self.end)
        self.url = self.process.stdout.readline().strip()
        self.origin = self.url.split("/?")[0]

    def end(self):
        self.process.terminate()
        return self.process.wait()


class Browser:
    def __init__(self, *flags):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        env = {"PATH": "/usr/bin:/bin", "HOME": self.home.name, "LANG": "C.UTF-8"}
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], env=env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        atexit.register(self.kill)
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                break
        self.port = int(found[1])
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        options = {"binary": "/usr/bin/chromium", "args": FLAGS + root + list(flags) + ["--user-data-dir=" + self.home.name + "/profile"]}
        session = self.send("POST", "", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.session = "/" + session["sessionId"]
        self.requests, self.said = [], []

    def send(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request(method, "/session" + path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        value = json.loads(c.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{value['error']}: {value['message']}")
        return value

    def ask(self, method, path, **body):
        return self.send(method, self.session + path, body if method == "POST" else None)

    def devtools(self, command, **params):
        return self.ask("POST", "/goog/cdp/execute", cmd=command, params=params)

    # ---- where it is -----------------------------------------------------------------------------
    def go(self, url):
        self.ask("POST", "/url", url=url)

    def url(self):
        return self.ask("GET", "/url")

    def js(self, script, *args):
        """What the function body returns."""
        return self.ask("POST", "/execute/sync", script=script, args=list(args))

    def until(self, what, condition):
        """Wait until condition() is true, and return it; a test that waits in vain fails with what is on the screen."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                value = condition()
            except RuntimeError as e:  # the page is being replaced
                value, last = None, e
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"{what}: not within {PATIENCE} s; {self.url()} shows:\n{self.text()}")

    # ---- what is on the screen -------------------------------------------------------------------
    def find(self, css):
        return [found[ELEMENT] for found in self.ask("POST", "/elements", using="css selector", value=css)]

    def text(self, css="body"):
        """The text that is rendered of the first such element; "" without one."""
        return "\n".join(self.ask("GET", f"/element/{e}/text") for e in self.find(css)[:1])

    def texts(self, css):
        return self.js("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText.trim())", css)

    def rows(self, css="table"):
        """Cells of the first such table, row by row."""
        return self.js("const t = document.querySelector(arguments[0]); return t ? [...t.rows].map(r => [...r.cells]"
                       ".map(c => c.innerText.trim())) : []", css)

    def click(self, css):
        self.ask("POST", f"/element/{self.find(css)[0]}/click")

    def type(self, *keys):
        """Each key is pressed and released, at the element that has the focus; names are those of KEYS."""
        actions = [{"type": what, "value": KEYS.get(key, key)} for key in keys for what in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def focused(self):
        return self.js("const e = document.activeElement; return e === document.body ? '' :"
                       " [e.tagName.toLowerCase(), e.name, e.matches('a, button') ? e.innerText.trim() : ''].filter(x => x).join(' ')")

    def names(self, css):
        """What a screen reader calls each: (role, name), as Chromium computes them."""
        return [(self.ask("GET", f"/element/{e}/computedrole"), self.ask("GET", f"/element/{e}/computedlabel")) for e in self.find(css)]

    def screen(self, width, height=800, dark=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def shot(self, name):
        """The screen as build/ui/NAME.png, with a palette: small enough for a document."""
        os.makedirs(SHOTS, exist_ok=True)
        with open(os.path.join(SHOTS, name + ".png"), "wb") as f:
            f.write(with_palette(base64.b64decode(self.ask("GET", "/screenshot"))))

    # ---- what it did -----------------------------------------------------------------------------
    def listen(self):
        """Move the logs of the browser to self.requests (URLs) and self.said (lines of the console)."""
        for entry in self.ask("POST", "/se/log", type="performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        self.said += [f"{entry['level']}: {entry['message']}" for entry in self.ask("POST", "/se/log", type="browser")]

    def foreign(self, *origins):
        """Requests of http and the like beyond these origins."""
        self.listen()
        return sorted({url for url in self.requests if not url.startswith(("data:", "about:", "chrome:", "file:"))
                       and not any(url.startswith(origin + "/") for origin in origins)})

    def end(self):
        try:
            self.send("DELETE", self.session)
        finally:
            self.kill()
            self.driver.stdout.close()
            self.home.cleanup()

    def kill(self):
        """The driver and its browser: they are a process group."""
        if self.driver.poll() is None:
            os.killpg(self.driver.pid, signal.SIGTERM)
            self.driver.wait()


KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Space": " ", "End": "\ue010", "Home": "\ue011", "Down": "\ue015", "Up": "\ue013"}


# ---- contrast (WCAG 2.2, 1.4.3) -------------------------------------------------------------------------
CONTRAST = """
const lum = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b };
const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
const rgba = text => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data] };
const back = e => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c.slice(0, 3) }
  return [255, 255, 255] };
const low = [];
for (const e of document.querySelectorAll('body *')) {
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest(':disabled')) continue;
  const style = getComputedStyle(e), b = back(e), a = Number(style.opacity);
  const f = rgba(style.color).slice(0, 3).map((v, i) => v * a + b[i] * (1 - a)), [x, y] = [lum(f), lum(b)].sort((p, q) => q - p);
  const ratio = (x + 0.05) / (y + 0.05);
  if (ratio < 4.5) low.push(`${ratio.toFixed(2)}: <${e.tagName.toLowerCase()} class="${e.className}"> ${e.textContent.trim().slice(0, 40)}`);
}
return low;
"""


# ---- PNG (ISO/IEC 15948) ----------------------------------------------------------------------------------
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pixels(png):
    """(width, height, rows of RGB bytes) of a PNG with 8 bits a sample, as Chromium writes them."""
    at, data, head = 8, b"", None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        head = struct.unpack(">IIBB", body[:10]) if kind == b"IHDR" else head
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height, _, color = head
    step = 4 if color == 6 else 3
    data, rows, above = zlib.decompress(data), [], bytearray(width * step)
    for y in range(height):
        at = y * (width * step + 1)
        how, row = data[at], bytearray(data[at + 1:at + 1 + width * step])
        for i in range(len(row)):
            a = row[i - step] if i >= step else 0
            b, c = above[i], above[i - step] if i >= step else 0
            if how == 1:
                row[i] = (row[i] + a) & 255
            elif how == 2:
                row[i] = (row[i] + b) & 255
            elif how == 3:
                row[i] = (row[i] + (a + b) // 2) & 255
            elif how == 4:
                p, q, r = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                row[i] = (row[i] + (a if p <= q and p <= r else b if q <= r else c)) & 255
        above = row
        rows.append(bytes(row) if step == 3 else b"".join(row[i:i + 3] for i in range(0, len(row), 4)))
    return width, height, rows


def with_palette(png):
    """The same with at most 256 colors, the frequent ones as they are, others as the nearest of those."""
    width, height, rows = pixels(png)
    count = {}
    for row in rows:
        for i in range(0, len(row), 3):
            count[row[i:i + 3]] = count.get(row[i:i + 3], 0) + 1
    palette = sorted(count, key=lambda c: -count[c])[:256]
    number = {c: i for i, c in enumerate(palette)}
    for c in count:
        if c not in number:
            number[c] = min(range(len(palette)), key=lambda i: sum((x - y) ** 2 for x, y in zip(palette[i], c)))
    lines = b"".join(b"\0" + bytes(number[row[i:i + 3]] for i in range(0, len(row), 3)) for row in rows)
    return (png[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", b"".join(palette))
            + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))
