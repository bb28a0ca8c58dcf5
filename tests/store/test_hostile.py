#!/usr/bin/env python3
"""Downloads against peers that want more than to be asked: an S3 endpoint, a hub, a web
server or a metadata server that lies, and what somebody has left in a shared claim."""
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
from tap import check, finish, skip, trust_nobody

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
SECRET = "hf_SecretSecretSecret"
trust_nobody()
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-hostile-"))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def any(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.peer.asked.append((self.command, self.path, dict(self.headers)))
        status, fields, body = self.server.peer.answer(self)
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **fields}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = any


class Peer:
    """answer(handler) -> (status, headers, body); .asked has what came."""

    def __init__(self, answer, tls=False):
        self.answer, self.asked = answer, []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads, self.server.peer = True, self
        self.server.handle_error = lambda *_: None
        self.host = "localhost:%d" % self.server.server_address[1]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(scratch / "srv.pem", scratch / "srv.key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = ("https://" if tls else "http://") + self.host
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def auth(self, path):
        """Whether each request for it came with credentials."""
        return ["Authorization" in h for _, p, h in self.asked if p == path]


def run(*argv, env=None):
    base = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HF_", "GOOGLE_"))}
    base |= {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(scratch / "home"), "NO_GCE_CHECK": "true", "NO_PROXY": "*",
             "no_proxy": "*", "SSL_CERT_FILE": str(scratch / "srv.pem")}
    base = {k: str(v) for k, v in (base | (env or {})).items() if v is not None}
    r = subprocess.run([PROGRAM, *map(str, argv)], env=base, capture_output=True, text=True, timeout=300)
    r.text = r.stdout + r.stderr
    if SECRET in r.text:
        r.text, r.returncode = "A SECRET WAS SHOWN\n" + r.text.replace(SECRET, "SECRET"), 99
    return r


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in pathlib.Path(folder).rglob("*")
            if p.is_file() and ".kftrainer" not in p.parts}


def fetch(uri, want, env=None, status=0, keep=False, argv=()):
    """Problem or ''; `want`: the files, or what the complaint is like."""
    to = scratch / "to"
    if not keep:
        shutil.rmtree(to, ignore_errors=True)
    r = run("initialize-dataset", "--uri", uri, "--to", to, "--retries", 1, *argv, env=env)
    if bool(r.returncode) != bool(status) or r.returncode not in (0, 1, 2):
        return f"status {r.returncode}: {r.text}"
    if status == 0:
        got = files_of(to)
        return "" if got == want else f"{sorted(got)}, wanted {sorted(want)}: {r.text}"
    return "" if all(w in r.text for w in want) and not files_of(to) else f"{want} not in: {r.text}"


subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                scratch / "srv.key", "-out", scratch / "srv.pem", "-subj", "/CN=localhost", "-days", "2", "-addext",
                "subjectAltName=DNS:localhost"], check=True, capture_output=True)
DATA = b"0123456789" * 10
KEYS = {"ACCESS_KEY_ID": "AKID", "SECRET_ACCESS_KEY": "x"}


# ---- an S3 endpoint whose ETag is to become a header ----
def listing(etag):
    def answer(h):
        if "list-type" in h.path:
            return 200, {}, ("<L><IsTruncated>false</IsTruncated><Contents><Key>d/x</Key><ETag>%s</ETag><Size>100</Size>"
                             "</Contents></L>" % etag)
        return 200, {}, DATA
    return answer


for what, etag in (("CR and LF", "&quot;x&quot;&#13;&#10;X-Evil: yes"), ("LF", "x&#10;X-Evil: yes&#10;y"),
                   ("a request", "x&#13;&#10;&#13;&#10;GET /evil HTTP/1.1&#13;&#10;Host: h&#13;&#10;X: y")):
    peer = Peer(listing(etag))
    problem = fetch("s3://buck/d", {"x": DATA}, KEYS | {"ENDPOINT": peer.url})
    got = [(p, h) for _, p, h in peer.asked if "X-Evil" in h or "evil" in p]
    check(f"an ETag with {what} in it does not become a header", problem or got)

# ---- a web server that leads a token away and back ----
def lead(first, *steps):
    """PATH -> where to, or what is there, on whichever server is asked."""
    table = {}
    for path, to in (first, *steps):
        table[path] = to

    def answer(h):
        to = table.get(h.path.partition("?")[0])
        if to is None:
            return 404, {}, ""
        return (302, {"Location": to}, "") if isinstance(to, str) else (200, {}, to)
    return answer


TOKEN = {"ACCESS_TOKEN": SECRET}
for what, name, text in (("a manifest", "m.urls", "x\n"), ("a file", "x", DATA)):
    a, b = Peer(None), Peer(None)
    a.answer = lead((f"/{name}", f"{b.url}/away"), ("/back", text if isinstance(text, bytes) else text.encode()), ("/x", DATA))
    b.answer = lead(("/away", f"{a.url}/back"))
    if name == "x":
        a.answer = lead(("/x", f"{b.url}/away"), ("/back", DATA))
    problem = fetch(f"{a.url}/{name}", {"x": DATA}, TOKEN)
    check(f"a token that was dropped on the way to another host stays dropped: {what}", problem or
          ("" if (a.auth(f"/{name}"), b.auth("/away"), a.auth("/back")) == ([True], [False], [False])
           else (a.auth(f"/{name}"), b.auth("/away"), a.auth("/back"))))

# ---- from https to http ----
plain, secure = Peer(lead(("/m.urls", b"x\n"), ("/x", DATA))), Peer(None, tls=True)
secure.answer = lead(("/m.urls", f"{plain.url}/m.urls"), ("/x", DATA))
check("a manifest does not go from https to http", fetch(f"{secure.url}/m.urls", ["from https to http"], status=1) or plain.asked)
SHA, MD5 = (__import__("hashlib").new(n, DATA).hexdigest() for n in ("sha256", "md5"))
for what, line, good in (("nothing", "", False), ("MD5", f" md5={MD5}", False), ("SHA-256", f" sha256={SHA}", True),
                         ("MD5 and SHA-256", f" sha256={SHA} md5={MD5}", True)):
    secure.answer = lead(("/m.urls", f"{plain.url}/x{line}\n".encode()))
    check(f"a manifest over https names a URL of http with {what} as proof", fetch(f"{secure.url}/m.urls", {"x": DATA}) if good else
          fetch(f"{secure.url}/m.urls", ["sha256="], status=1))
    secure.answer = lead(("/m.urls", f"y{line}\n".encode()), ("/y", f"{plain.url}/x"))
    check(f"a file is redirected from https to http with {what} as proof", fetch(f"{secure.url}/m.urls", {"y": DATA}) if good else
          fetch(f"{secure.url}/m.urls", ["SHA-256"], status=1))
wrong = f"{plain.url}/x sha256={SHA[::-1]} md5={MD5}\n".encode()
secure.answer = lead(("/m.urls", wrong))
check("a right MD5 does not make up for a wrong SHA-256", fetch(f"{secure.url}/m.urls", ["checksum"], status=1))

# ---- who gives tokens, and what is no token ----
(scratch / "home").mkdir()
OBJECT = {"name": "x", "size": "100", "generation": "1"}


def google(flavor):
    def answer(h):
        if h.path.startswith("/computeMetadata/"):
            return 200, flavor, json.dumps({"access_token": SECRET, "expires_in": 3600})
        if h.headers.get("Authorization"):
            return 401, {}, "{}"
        return 200, {}, DATA if "alt=media" in h.path else json.dumps({"items": [OBJECT]})
    return answer


for what, flavor in (("without Metadata-Flavor", {}), ("of another flavor", {"Metadata-Flavor": "Evil"})):
    peer = Peer(google(flavor))
    problem = fetch("gs://buck/", {"x": DATA}, {"ENDPOINT": peer.url, "GCE_METADATA_HOST": peer.host, "NO_GCE_CHECK": None})
    check("gs: an answer " + what + " is not the metadata server's", problem)
peer = Peer(google({}), tls=True)
check("gs: an endpoint without a scheme is https", fetch("gs://buck/", {"x": DATA}, {"ENDPOINT": peer.host}))

(scratch / "empty").write_text("")
(scratch / "blank").write_text("\n \n")
hub = Peer(lambda h: (200, {}, "{}"), tls=True)
for name in ("empty", "blank"):
    file = scratch / name
    for what, uri, env in (
            ("of HF_TOKEN_PATH", "hf://o/m", {"HF_TOKEN_PATH": file}),
            ("of AWS_WEB_IDENTITY_TOKEN_FILE", "s3://b/x", {"AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ROLE_ARN": "r"}),
            ("of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "s3://b/x", {
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": hub.url, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file})):
        check(f"a token's file that is {name} is an error: {what}", fetch(
            uri, [what[3:] if "HF" not in what else str(file), "is empty"], env | {
                "HF_ENDPOINT": hub.url, "ENDPOINT": hub.url, "AWS_ENDPOINT_URL_STS": hub.url}, status=1)
              or [p for p in hub.asked])
    for what, uri, env in (("SSL_CERT_FILE", f"{secure.url}/x", {"SSL_CERT_FILE": file}),
                           ("AWS_CA_BUNDLE", "s3://b/x", KEYS | {"AWS_CA_BUNDLE": file, "SSL_CERT_FILE": None, "ENDPOINT": hub.url})):
        check(f"a file of trusted certificates that is {name} is an error: {what}",
              fetch(uri, [what, str(file), "cannot read CA certificates"], env, status=1) or hub.asked)
for variable, uri in (("HF_TOKEN", "hf://o/m"), ("ACCESS_TOKEN", "hf://o/m"), ("ACCESS_TOKEN", f"{secure.url}/x")):
    check(f"a token that is blank is an error: {variable} for {uri[:5]}", fetch(
        uri, [variable, "is empty"], {variable: " ", "HF_ENDPOINT": hub.url}, status=1) or hub.asked)
    check(f"a token in quotes is an error: {variable} for {uri[:5]}", fetch(
        uri, [variable, "in quotes"], {variable: '"hf_token"', "HF_ENDPOINT": hub.url}, status=1) or hub.asked)
# ---- what an earlier run has left ----
to = scratch / "to"
contents = {}


def web(*names):
    contents.clear()
    contents.update({f"/{n}": (n * 50).encode() for n in names})
    contents["/m.urls"] = "".join(n + "\n" for n in names).encode()
    return {n: contents["/" + n] for n in names}


site = Peer(lambda h: (200, {"ETag": '"%s"' % len(contents.get(h.path, b""))}, contents[h.path]) if h.path in contents else (404, {}, ""))
manifest = site.url + "/m.urls"
fetch(manifest, web("a", "w-1-of-2", "sub/deep/w-2-of-2"))
check("files that the place no longer has are removed, and folders that are empty then",
      fetch(manifest, web("a", "w-1-of-1"), keep=True) or ("sub is there" if (to / "sub").exists() else ""))
(to / "w-1-of-1").write_bytes(b"mine")
(to / "notes.txt").write_bytes(b"mine")
check("but not files that a user changed or added",
      fetch(manifest, web("a", "b") | {"w-1-of-1": b"mine", "notes.txt": b"mine"}, keep=True))
fetch(manifest, web("a", "b"))
check("nor files that other patterns matched", fetch(manifest, web("a", "c") | {"b": b"b" * 50}, keep=True, argv=["--ignore", "z"]))
fetch(manifest, web("a", "b"))
other = Peer(site.answer)
check("nor files from another place", fetch(other.url + "/m.urls", web("a", "c") | {"b": b"b" * 50}, keep=True))
fetch(manifest, web("a", "b"))
del contents["/b"]
contents.update({"/m.urls": b"a\nc\nzz\n", "/c": b"c"})
run("initialize-dataset", "--uri", manifest, "--to", to, "--retries", 1, "--connections", 1)
check("files of a failed run are known, too", "" if (to / "c").exists() else "c is not there")
check("and removed", fetch(manifest, web("a", "d"), keep=True))
outside = scratch / "outside"
outside.mkdir()
(outside / "keep").write_bytes(b"k")
fetch(manifest, web("a", "sub/keep"))
stamp = os.stat(to / "sub/keep")
(outside / "keep").write_bytes((to / "sub/keep").read_bytes())
os.utime(outside / "keep", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
shutil.rmtree(to / "sub")
(to / "sub").symlink_to(outside)
problem = fetch(manifest, web("a"), keep=True)
check("nothing is removed through a link", "" if (outside / "keep").exists() else problem or "it was")

COMMITS = {"v1": "1" * 40, "v2": "2" * 40}
FILES = {"1" * 40: {"config.json": b"{}", "model-1-of-2.safetensors": b"x1", "model-2-of-2.safetensors": b"x2"},
         "2" * 40: {"config.json": b"{ }", "model.safetensors": b"y"}}


def two_revisions(h):
    path = h.path.partition("?")[0].split("/")
    if "revision" in path:
        return 200, {}, json.dumps({"sha": COMMITS[path[-1]], "id": "o/m"})
    commit = next(p for p in path if p in FILES)
    if "tree" in path:
        return 200, {}, json.dumps([{"type": "file", "path": n, "size": len(d), "oid": __import__("hashlib").sha1(
            b"blob %d\0" % len(d) + d).hexdigest()} for n, d in FILES[commit].items()])
    return 200, {}, FILES[commit][path[-1]]


hub = Peer(two_revisions)
fetch("hf://o/m@v1", {}, {"HF_ENDPOINT": hub.url})
check("no shard of an older revision of a model remains beside the new ones",
      fetch("hf://o/m@v2", FILES["2" * 40], {"HF_ENDPOINT": hub.url}, keep=True))

# ---- contents that may have changed, and nothing tells ----
import faulty
import signal
import time

(scratch / "web").mkdir()
OLD, NEW = os.urandom(8_000_000), os.urandom(8_000_000)


def changes(what, faults, killed, path="big"):
    shutil.rmtree(to, ignore_errors=True)
    (scratch / "web/big").write_bytes(OLD)
    server = faulty.Server(root=str(scratch / "web"), rate=4_000_000 if killed else 0).start()
    server.faults.set(faults)
    uri = f"http://127.0.0.1:{server.port}/{path}"
    env = os.environ | {"NO_PROXY": "*", "HOME": str(scratch / "home")}
    if killed:
        child = subprocess.Popen([PROGRAM, "initialize-dataset", "--uri", uri, "--to", to, "--connections", "1"], env=env,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(3000):
            if sum(p.stat().st_blocks for p in to.rglob("*.part")) * 512 > 3_000_000 and list(to.rglob("*.journal")):
                break
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait()
        server.rate = 0
        (scratch / "web/big").write_bytes(NEW)
    else:
        def swap():
            while not any(r.get("sent") for r in server.records):
                time.sleep(0.01)
            (scratch / "web/big").write_bytes(NEW)
        threading.Thread(target=swap, daemon=True).start()
    r = run("initialize-dataset", "--uri", uri, "--to", to, "--connections", "1")
    got = (to / "big").read_bytes() if r.returncode == 0 else b""
    check(what, "" if got == NEW else ("a mixture" if got else r.text))


changes("killed, and the place has other contents of the same size, without ETag or Last-Modified", "/big noetag", True)
(scratch / "web/sized.urls").write_text("big size=8000000\n")
changes("the same, of a manifest that says how long it is", "/big noetag", True, "sized.urls")
changes("cut, and the place has other contents by then, without ETag or Last-Modified", "/big noetag\n/big norange\n/big cut=6000000 1", False)
changes("killed, and other contents with another ETag", "", True)

# ---- a claim that somebody else writes to, too ----
claim = scratch / "mnt/data"
(claim / "d/e").mkdir(parents=True)
(claim / "d/x").write_bytes(b"x")
(claim / "d/e/y").write_bytes(b"y")
(outside / "token").write_bytes(SECRET.encode())
PVC = {"PVC_ROOT": scratch / "mnt"}
(claim / "d/inside").symlink_to("e/y")
(claim / "d/.kftrainer-new-0123456789abcdef").write_bytes(b"half a file of an upload that was killed")
check("pvc: a link that stays in the claim is followed", fetch("pvc://data/d", {"x": b"x", "e/y": b"y", "inside": b"y"}, PVC))
for what, target in (("to another file", outside / "token"), ("by ..", "../../../outside/token"), ("by /proc", "/proc/self/environ")):
    link = claim / "d/link"
    link.symlink_to(target)
    r = fetch("pvc://data/d", {"x": b"x", "e/y": b"y", "inside": b"y"}, PVC)
    check("pvc: a link that leads out of the claim is left out: " + what, r)
    check("pvc: and cannot be named: " + what, fetch("pvc://data/d/link", ["leaves the claim"], PVC, status=1))
    link.unlink()
(claim / "dir").symlink_to(outside)
check("pvc: nor a folder behind one", fetch("pvc://data/dir", ["leaves the claim"], PVC, status=1))
check("pvc: nor a file there", fetch("pvc://data/dir/token", ["leaves the claim"], PVC, status=1))

# ---- what changes between two requests, and answers that get lost ----
import base64
import gzip
import hashlib


def sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Moving:
    """A hub whose main moves on as soon as a file was asked for; that file is damaged once."""
    commits = {"1" * 40: {"a.bin": b"old a", "b.bin": b"old b"}, "2" * 40: {"a.bin": b"new a", "b.bin": b"new b"}}
    head, damaged = "1" * 40, 0

    def __call__(self, h):
        path = h.path.partition("?")[0].split("/")
        if "revision" in path:
            return 200, {}, json.dumps({"sha": self.head, "id": "o/m"})
        files = self.commits[next(p for p in path if p in self.commits)]
        if "tree" in path:
            return 200, {}, json.dumps([{"type": "file", "path": n, "size": len(d), "oid": sha1(d)} for n, d in files.items()])
        self.head = "2" * 40
        if path[-1] == "b.bin":
            self.damaged += 1
        return 200, {}, b"xxxxx" if path[-1] == "b.bin" and self.damaged == 1 else files[path[-1]]


hub = Peer(Moving())
check("hf: a damaged file is fetched again of the same commit, though the branch has moved on",
      fetch("hf://o/m", Moving.commits["1" * 40], {"HF_ENDPOINT": hub.url}))


class Google:
    """A bucket whose object is replaced once it was listed."""
    now = 1

    def __call__(self, h):
        if h.path.startswith("/storage/v1/b/buck/o?"):
            data = b"generation %d" % self.now
            body = json.dumps({"items": [{"name": "d/x", "size": str(len(data)), "generation": str(self.now),
                                          "md5Hash": __import__("base64").b64encode(hashlib.md5(data).digest()).decode()}]})
            self.now += self.now == 1
            return 200, {}, body
        known = f"generation={self.now}" in h.path
        return (200, {}, b"generation %d" % self.now) if known else (404, {}, json.dumps({"error": {"message": "No such object"}}))


GS = {"STORAGE_EMULATOR_HOST": Peer(Google()).url}
check("gs: an object that is replaced after it was listed is listed again", fetch("gs://buck/d/", {"x": b"generation 2"}, GS))
gone = Peer(lambda h: Google()(h) if "/o?" in h.path else (404, {}, json.dumps({"error": {"message": "No such object"}})))
check("gs: one that is removed is an error", fetch("gs://buck/d/", ["d/x: no such object"], {"STORAGE_EMULATOR_HOST": gone.url}, status=1))


class Packed:
    """Google's servers unpack an object that is stored with gzip, for who does not accept it so."""
    data = gzip.compress(b"unpacked " * 50, mtime=0)

    def __call__(self, h):
        if "list-type" in h.path:
            return 200, {}, ("<L><IsTruncated>false</IsTruncated><Contents><Key>d/x</Key><Size>%d</Size><ETag>%s</ETag></Contents></L>"
                             % (len(self.data), hashlib.md5(self.data).hexdigest()))
        if h.headers.get_all("Accept-Encoding") == ["gzip"]:
            return 200, {"Content-Encoding": "gzip"}, self.data
        return 200, {}, gzip.decompress(self.data)


check("gs: HMAC keys: an object that is stored with gzip stays so", fetch("gs://buck/d/", {"x": Packed.data}, KEYS | {"ENDPOINT": Peer(Packed()).url}))


class Dated:
    """A server that knows only dates, and has If-Modified-Since as RFC 9110 says."""
    data, date = b"the newer one", "Sun, 29 Nov 2026 12:00:00 GMT"

    def __call__(self, h):
        since = h.headers.get("If-Modified-Since")
        if since and http_date(self.date) <= http_date(since):
            return 304, {}, b""
        return 200, {"Last-Modified": self.date}, self.data


http_date = __import__("email.utils").utils.parsedate_to_datetime
dated = Peer(Dated())
fetch(dated.url + "/x", {})
check("what has the same date is not fetched again", fetch(dated.url + "/x", {"x": Dated.data}, keep=True, argv=["--progress", "json"]) or
      ("" if '"present"' in run("initialize-dataset", "--uri", dated.url + "/x", "--to", to, "--progress", "json").text else "fetched"))
dated.answer.data, dated.answer.date = b"an older one, put back", "Sun, 01 Nov 2026 12:00:00 GMT"
check("an older file that is put back is fetched", fetch(dated.url + "/x", {"x": b"an older one, put back"}, keep=True))
dated.answer.data = b"of that date, but another"
check("so is one of that date and another size", fetch(dated.url + "/x", {"x": b"of that date, but another"}, keep=True))

# Another source into the same directory, after a run that a full disk has ended in the middle of a line.
place = Peer(lambda h: (404, {}, "") if "gone" in h.path else (200, {}, {"/a.urls": b"a\n", "/b.urls": b"b\ngone\n"}.get(h.path, h.path.encode())))
fetch(place.url + "/a.urls", {"a": b"/a"})
os.rename(to / ".kftrainer/manifest.jsonl", to / ".kftrainer/fetched.jsonl")
with open(to / ".kftrainer/fetched.jsonl", "a") as ledger:
    ledger.write('{"path":"cut')
run("initialize-dataset", "--uri", place.url + "/b.urls", "--to", to, "--connections", "1")
check("a record that was cut off does not give another source's files away", fetch(place.url + "/a.urls", {"a": b"/a", "b": b"/b"}, keep=True))


class Expiring:
    """A bucket that refuses the first token once it is to give the object; S3 does so with 400."""
    asked = 0

    def __call__(self, h):
        if "list-type" in h.path:
            return listing("x")(h)
        self.asked += 1
        return (400, {}, "<Error><Code>ExpiredToken</Code></Error>") if self.asked == 1 else (200, {}, DATA)


bucket = Peer(Expiring())
check("s3: a token that expires in the middle is renewed", fetch("s3://buck/d", {"x": DATA}, KEYS | {"SESSION_TOKEN": "t", "ENDPOINT": bucket.url}))


def requester_pays(h):
    """A bucket that refuses all requests, HEAD's too, whose signed headers do not say who pays."""
    if h.headers.get("x-amz-request-payer") != "requester" or "x-amz-request-payer" not in h.headers.get("Authorization", ""):
        return 403, {}, "<Error><Code>AccessDenied</Code></Error>"
    if "prefix=x" in h.path:
        return 200, {}, "<L><IsTruncated>false</IsTruncated></L>"
    return listing("x")(h)


PAYS = KEYS | {"ENDPOINT": Peer(requester_pays).url}
for uri in "s3://buck/d", "s3://buck/x":
    check(f"s3: the requester pays for {uri}", fetch(uri, {"x": DATA}, PAYS | {"AWS_REQUEST_PAYER": "requester"}))
    check("... and does not without a word", fetch(uri, ["access denied", "set AWS_REQUEST_PAYER=requester"], PAYS, status=1))
check("s3: a server that takes no bucket in the path", fetch("s3://buck/d", ["set AWS_VIRTUAL_HOSTED_STYLE_REQUEST=true"], KEYS | {
    "ENDPOINT": Peer(lambda h: (403, {}, "<Error><Code>SecondLevelDomainForbidden</Code><Message>no</Message></Error>")).url}, status=1))
for what, uri, body in (("s3", "s3://buck/e", "<L><IsTruncated>false</IsTruncated><Contents><Key>d/x</Key><Size>100</Size></Contents></L>"),
                        ("gs", "gs://buck/e", json.dumps({"items": [{"name": "d/x", "size": "100", "generation": "7"}]}))):
    url = Peer(lambda h: (200, {}, body)).url
    check(what + ": a server that ignores the prefix", fetch(uri, ["'d/x', which is not below 'e/'"], {
        **(KEYS if what == "s3" else {}), "ENDPOINT": url, "STORAGE_EMULATOR_HOST": url}, status=1))
check("s3: an ARN", fetch("s3://arn:aws:s3:us-east-1:123456789012:accesspoint/mine/d", ["accesspoint/mine/d: an ARN", "-s3alias"], KEYS, status=1))
check("s3: a directory bucket", fetch("s3://models--usw2-az1--x-s3/d", ["directory bucket", "general purpose bucket"], KEYS, status=1))


class Strict:
    """A server that refuses the header by which S3 is asked for checksums: of two parts, whose size is its HEAD's alone."""

    def __init__(self, status):
        sums = [hashlib.md5(DATA[i:i + 50]).digest() for i in (0, 50)]
        self.status, self.tag = status, f'"{hashlib.md5(b"".join(sums)).hexdigest()}-2"'

    def __call__(self, h):
        if "x-amz-checksum-mode" in h.headers:
            return self.status, {}, "<Error><Code>InvalidArgument</Code><Message>Unsupported header</Message></Error>"
        if "prefix=one" in h.path:
            return 200, {}, "<L><IsTruncated>false</IsTruncated></L>"
        if "list-type" in h.path:
            return listing(self.tag)(h)
        return 200, {"ETag": self.tag}, DATA[:50] if "partNumber" in h.path else DATA


for status in 400, 501:
    strict = Peer(Strict(status))
    check(f"s3: no checksums, {status}: an object by its key", fetch("s3://buck/one", {"one": DATA}, KEYS | {"ENDPOINT": strict.url}))
    check("... one of parts", fetch("s3://buck/d", {"x": DATA}, KEYS | {"ENDPOINT": strict.url}) or
          ("" if any("partNumber" in p and "x-amz-checksum-mode" not in h for _, p, h in strict.asked) else strict.asked))
    check("... asked for them once", "" if sum("x-amz-checksum-mode" in h for _, _, h in strict.asked) == 2 else strict.asked)


class Replaced:
    """A web server whose file is another one after the first answer."""

    def __init__(self, new, tags=True):
        self.files, self.tags = [DATA * 30000, new], tags

    def __call__(self, h):
        data, tag = self.files[0], '"%d"' % len(self.files)
        if len(self.files) > 1:
            del self.files[0]
        fields = {"ETag": tag} if self.tags else {}
        if "Range" not in h.headers:
            return 200, fields, data
        first, last = (int(x) for x in h.headers["Range"][len("bytes="):].split("-"))
        last = min(last, len(data) - 1)
        if first > last:
            return 416, fields | {"Content-Range": f"bytes */{len(data)}"}, b""
        return 206, fields | {"Content-Range": f"bytes {first}-{last}/{len(data)}"}, data[first:last + 1]


for what, new in (("longer", DATA * 40000), ("shorter", DATA * 20000), ("tiny", b"tiny"), ("new", DATA[::-1] * 30000)):
    for tags in (True, False):
        if tags or len(new) != len(DATA) * 30000:
            check(f"http: a file is replaced by a {what} one meanwhile{'' if tags else ', without ETags'}",
                  fetch(Peer(Replaced(new, tags)).url + "/x", {"x": new}))


class Bare:
    """Some S3 servers leave out the quotes of an ETag: in the list, in the answer, or in both."""

    def __init__(self, listed, sent):
        self.listed, self.sent, self.sum = listed, sent, hashlib.md5(DATA).hexdigest()

    def __call__(self, h):
        if "list-type" in h.path:
            return 200, {}, ("<L><IsTruncated>false</IsTruncated><Contents><Key>d/x</Key><Size>%d</Size><ETag>%s</ETag></Contents></L>"
                             % (len(DATA), self.listed % self.sum))
        return 200, {"ETag": self.sent % self.sum}, DATA


for listed, sent in ("%s", "%s"), ("&quot;%s&quot;", "%s"), ("%s", '"%s"'), ("&quot;%s&quot;", 'W/"%s"'):
    check(f"s3: an ETag listed as {listed}, sent as {sent}", fetch("s3://buck/d", {"x": DATA}, KEYS | {"ENDPOINT": Peer(Bare(listed, sent)).url}))
check("... another one is another object", fetch("s3://buck/d", ["keeps changing"], KEYS | {"ENDPOINT": Peer(Bare("%s", "%s0")).url}, status=1))


def instead(what, name, data):
    shutil.rmtree(to, ignore_errors=True)
    r = run("initialize-dataset", "--uri", Peer(lambda h: (200, {}, data)).url + "/" + name, "--to", to)
    return "" if r.returncode == 0 and (what in r.text if what else len(r.text.splitlines()) == 1) else r.text


check("a pointer of Git LFS is said to be one", instead("x.bin: it is a Git LFS pointer", "x.bin", b"version https://git-lfs.github.com/spec/v1\nsize 5\n"))
check("so is a page in place of a model", instead("x.safetensors: it is an HTML page", "x.safetensors", b"<!DOCTYPE html>login"))
check("... a page in place of one is not", instead(None, "x.html", b"<!DOCTYPE html>login"))


(scratch / "utf16").write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n", encoding="utf-16")
check("s3: a credentials file in UTF-16 is an error, not no credentials", fetch("s3://buck/d", ["utf16: not UTF-8"], {
    "AWS_SHARED_CREDENTIALS_FILE": scratch / "utf16", "ENDPOINT": Peer(Bare("%s", "%s")).url}, status=1))


def two_lengths(first, last):
    return lambda h: (200, {"Content-Length": str(first), "content-length": str(last)}, DATA)


for first, last in (len(DATA), 3), (3, len(DATA)):
    check(f"an answer of {first} and of {last} bytes is none", fetch(Peer(two_lengths(first, last)).url + "/x", ["two lengths"], status=1))
check("... of the same twice is", fetch(Peer(two_lengths(len(DATA), len(DATA))).url + "/x", {"x": DATA}))


def without_case(h):
    """As if the volume had no case: the last one asked for has replaced the first."""
    if h.path == "/z":
        (to / "A").unlink()
        os.link(to / "a", to / "A")
    return 200, {}, b"A\na\nz\n" if h.path == "/x.urls" else h.path.encode()


check("names that are one on a volume without case are an error",
      "" if (r := (shutil.rmtree(to, ignore_errors=True), run("initialize-dataset", "--uri", Peer(without_case).url + "/x.urls", "--to", to, "--connections", "1"))[1]).returncode == 1
      and "takes A and a for one name" in r.text else r.text)


class Bucket:
    """One whose ETags are no sums (KMS), with an object of the same size; `end` is what a completion does."""

    def __init__(self, end):
        self.end, self.has, self.ends = end, "before", 0

    def __call__(self, h):
        kms = {"x-amz-server-side-encryption": "aws:kms"}
        if h.command == "HEAD":
            return 200, {**kms, "Content-Length": str(len(PARTS)), "ETag": '"%s-2"' % hashlib.md5(self.has.encode()).hexdigest()}, b""
        if h.command == "PUT":
            return 200, {**kms, "ETag": '"%s"' % hashlib.md5(h.path.encode()).hexdigest()}, b""
        if "uploads" in h.path:
            return 200, kms, "<R><UploadId>u</UploadId></R>"
        if h.command == "GET":
            return 200, {}, "<L><IsTruncated>false</IsTruncated></L>"
        if h.command == "DELETE":
            return 204, {}, b""
        self.ends += 1
        return self.end(self)


def lost(bucket):
    bucket.has = "ours"
    raise ConnectionAbortedError


def later(bucket):
    if bucket.ends > 1:
        bucket.has = "ours"
    return 200, {}, "<R><ETag>x</ETag></R>" if bucket.ends > 1 else "<Error><Code>InternalError</Code></Error>"


PARTS = os.urandom(6_000_000)
(scratch / "parts").write_bytes(PARTS)
NO_UPLOAD = "<Error><Code>NoSuchUpload</Code></Error>"
for what, end, status, ends in (("that is always refused is none, though an object of that size is there", lambda b: (503, {}, ""), 1, 2),
                                ("of an upload that is gone is none, either", lambda b: (404, {}, NO_UPLOAD), 1, 1),
                                ("whose answer is lost is not sent again", lost, 0, 1),
                                ("that fails behind a 200 is sent again", later, 0, 2)):
    bucket = Peer(Bucket(end))
    r = run("export-model", scratch / "parts", "--uri", "s3://buck/x", "--retries", 1, env=KEYS | {"ENDPOINT": bucket.url})
    check("s3, KMS: a completion " + what, "" if (r.returncode, bucket.answer.ends) == (status, ends) else
          (r.returncode, bucket.answer.ends, bucket.answer.has, r.text))


class Locked(Bucket):
    """A bucket with Object Lock wants the sum of each body; a server that is long busy with an end sends blanks first."""

    def __call__(self, h):
        if h.command == "PUT" and h.headers.get("Content-MD5") != base64.b64encode(hashlib.md5(h.body).digest()).decode():
            return 400, {}, "<Error><Code>InvalidRequest</Code><Message>Content-MD5 is required</Message></Error>"
        return super().__call__(h)


(scratch / "small").write_bytes(b"small")
for name in "parts", "small":
    bucket = Peer(Locked(lambda b: (200, {}, " \n \r\n\t<?xml version='1.0'?><R><ETag>x</ETag></R>")))
    r = run("export-model", scratch / name, "--uri", "s3://buck/x", "--retries", 1, env=KEYS | {"ENDPOINT": bucket.url})
    check(f"s3: Object Lock, blanks before an answer: {name}", "" if r.returncode == 0 else r.text)
moved = Peer(lambda h: (307, {"Location": "http://elsewhere.invalid/"}, b""))
for r in (run("export-model", scratch / "small", "--uri", "s3://buck/x", env=KEYS | {"ENDPOINT": moved.url}),
          run("initialize-dataset", "--uri", "s3://buck/x", "--to", scratch / "to", env=KEYS | {"ENDPOINT": moved.url})):
    check("s3: a server that sends elsewhere: what to set", "" if r.returncode == 1 and "at another endpoint; check ENDPOINT" in r.text else r.text)

# ---- a volume without locks, as Lustre without "flock" ----
TRACE = shutil.which("strace") and subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True).returncode == 0
NO_LOCKS = ["strace", "-f", "-o", "/dev/null", "-e", "trace=flock", "-e", "inject=flock:error=ENOSYS"]


class TwoAtOnce:
    """The first process gets its second half once another one has begun; that waits until the first has ended."""
    begun, ended, data = threading.Event(), threading.Event(), os.urandom(100_000)

    def __call__(self, h):
        if len(h.server.peer.asked) > 1:
            self.begun.set()
            self.ended.wait()
            return 200, {}, self.data
        h.send_response(200)
        h.send_header("Content-Length", str(len(self.data)))
        h.end_headers()
        h.wfile.write(self.data[:50_000])
        self.begun.wait()
        h.wfile.write(self.data[50_000:])
        raise ConnectionAbortedError


def two_at_once():
    shutil.rmtree(to, ignore_errors=True)
    peer = Peer(TwoAtOnce())
    argv = [*NO_LOCKS, PROGRAM, "initialize-dataset", "--uri", peer.url + "/x", "--to", str(to)]
    env = os.environ | {"NO_PROXY": "*", "HOME": str(scratch / "home")}
    first = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while first.poll() is None and not any(p.stat().st_size for p in to.rglob("*.part")):
        time.sleep(0.01)
    second = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = first.communicate()[1]
    there = (to / "x").read_bytes() if (to / "x").exists() else b""
    peer.answer.ended.set()
    later = second.communicate()[1]
    if first.returncode or there != peer.answer.data:
        return f"status {first.returncode}, {len(there)} bytes, {there.count(0)} zeros: {said}"
    if second.returncode or (to / "x").read_bytes() != there:
        return f"the second: status {second.returncode}: {later}"
    return ""


def left_behind():
    """Of files in progress, those of other processes stay for a day."""
    names, old = [own + age for own in ("", ".01234567") for age in (".part", ".note")], time.time() - 25 * 3600
    for name in names:
        (to / ".kftrainer" / ("0" * 32 + name)).touch()
        if name.endswith(".note"):
            os.utime(to / ".kftrainer" / ("0" * 32 + name), (old, old))
    return fetch(manifest, web("x"), keep=True) or ", ".join(
        p.name for p in to.rglob("0000*") if p.name != "0" * 32 + ".01234567.part") or (
            "" if list(to.rglob("*.01234567.part")) else "that of another is gone")


if TRACE:
    check("two processes at once on a volume without locks fetch whole files, and remove none of the other", two_at_once())
else:
    skip("two processes at once on a volume without locks fetch whole files, and remove none of the other", "no strace here")
check("files in progress that processes without a lock have left are removed after a day", left_behind())


# ---- a file that is written to while it is copied ----
SLOW = ["strace", "-f", "-o", "/dev/null", "-e", "trace=pread64", "-e", "inject=pread64:delay_exit=100000"]


def written_to(command, target, *argv):
    """Its first part is copied; then it gets other bytes, in place."""
    shutil.rmtree(scratch / "local", ignore_errors=True)
    for name in ("from", "to"):
        (scratch / "local" / name).mkdir(parents=True)
    source = scratch / "local/from/x"
    source.write_bytes(OLD[:1 << 20])
    child = subprocess.Popen([*SLOW, PROGRAM, command, *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while child.poll() is None and not any(p.stat().st_size for p in target.parent.rglob(target.name)):
        time.sleep(0.01)
    with open(source, "r+b") as f:
        f.write(NEW[:1 << 20])
    said = child.communicate()[0]
    got = (scratch / "local/to/x").read_bytes() if (scratch / "local/to/x").exists() else b""
    return child.returncode, {OLD[:1 << 20]: "old", NEW[:1 << 20]: "new", b"": "none"}.get(got, "a mixture"), said


if TRACE:
    local = scratch / "local"
    got = written_to("initialize-dataset", local / "to/.kftrainer/*.part", "--uri", f"file://{local}/from", "--to", local / "to",
                     "--connections", "1")
    check("file: one that is written to while it is fetched is fetched again", "" if got[:2] == (0, "new") else got)
    got = written_to("export-model", local / "to/.kftrainer-new-*", local / "from/x", "--uri", f"file://{local}/to/x")
    check("file: one that is written to while it is sent is not", "" if got[:2] == (1, "none") and "changed during" in got[2] else got)
    away = scratch / "away"
    away.mkdir()
    for name in ("a", "b"):
        (away / name).write_text(name)
    first = fetch(f"file://{away}", {"a": b"a", "b": b"b"})
    r = subprocess.run(["strace", "-f", "-P", away / "a", "-o", "/dev/null", "-e", "inject=open,openat,openat2:error=ESTALE", PROGRAM,
                        "initialize-dataset", "--uri", f"file://{away}", "--to", to], capture_output=True, text=True)
    check("file: one that cannot be read now is not taken for removed", "" if (first, r.returncode, sorted(files_of(to))) ==
          ("", 1, ["a", "b"]) and f"{away}/a: Stale file handle" in r.stderr else (first, r.returncode, files_of(to), r.stderr))
    # NFS and AFS say when a file is closed that the quota did not suffice for what was written.
    log, argv = scratch / "closed", [PROGRAM, "export-model", away, "--uri", f"file://{scratch}/quota"]
    subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=close", *argv], capture_output=True)
    shutil.rmtree(scratch / "quota")
    closed = [line for line in log.read_text().splitlines() if "close(" in line]
    mine = next(line for line in closed if ".kftrainer-new-" in line or "/quota/a>" in line)
    which = [line for line in closed if line.split()[0] == mine.split()[0]].index(mine) + 1  # of its thread
    r = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=close", "-e", f"inject=close:error=EDQUOT:when={which}", *argv],
                       capture_output=True, text=True)
    check("file: one that close() says was not stored is not sent", "" if r.returncode == 1 and "uota exceeded" in r.stderr
          and not files_of(scratch / "quota") else (r.returncode, files_of(scratch / "quota"), r.stderr))
else:
    skip("files that are written to while they are copied, files of a volume that is away, quotas", "no strace here")

# ---- the disk ----
if TRACE:
    shutil.rmtree(to, ignore_errors=True)
    web("new/deep/x")
    trace = scratch / "trace"
    subprocess.run(["strace", "-f", "-y", "-s", "200", "-e", "trace=fsync,renameat,renameat2,mkdirat,write,writev", "-o", trace, PROGRAM,
                    "initialize-dataset", "--uri", manifest, "--to", to, "--progress", "json"], capture_output=True,
                   env=os.environ | {"NO_PROXY": "*", "HOME": str(scratch / "home")})
    lines = trace.read_text().splitlines()
    done = next((i for i, l in enumerate(lines) if ("write(1<" in l or "writev(1<" in l) and "done" in l and "new/deep/x" in l), -1)
    renamed = next((i for i, l in enumerate(lines) if "rename" in l and "new/deep" in l), -1)
    synced = {l.partition("<")[2].partition(">")[0] for l in lines[:done] if "fsync(" in l}
    late = {l.partition("<")[2].partition(">")[0] for l in lines[renamed:done] if "fsync(" in l}
    wanted = {str(to), str(to / "new")}
    check("the folders of a file are synced before it is said to be done", "" if 0 <= renamed < done and wanted <= synced and
          str(to / "new/deep") in late else (renamed, done, synced, late, lines[-20:]))
else:
    skip("the folders of a file are synced before it is said to be done", "no strace here")
#NEXT
shutil.rmtree(scratch, ignore_errors=True)
finish()
