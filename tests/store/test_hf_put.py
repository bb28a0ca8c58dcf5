#!/usr/bin/env python3
"""export-model to hf://: against a stand-in for the hub's commit API and Git LFS, which
huggingface_hub, upstream's client, has to be able to upload to first."""
import base64
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
from tap import check, finish, skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
TOKEN, CHUNK = "hf_GoodToken0123456789", 6_000_000
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-hfput-"))


def blob(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        self.clear()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *args):
        pass  # who hangs up, as it should

    def clear(self):
        self.files, self.lfs, self.objects, self.parts = {}, {}, {}, {}
        self.puts, self.commits, self.wrong, self.busy = 0, [], [], 0
        self.head, self.parents, self.lose, self.rival, self.commit_busy = "0" * 40, [], None, 0, 0
        self.chunk, self.shrink, self.swap = CHUNK, None, None

    def move(self):
        self.head = hashlib.sha1(self.head.encode()).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, doc=None, **headers):
        body = json.dumps(doc or {}).encode()
        self.send_response(status)
        for k, v in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self):
        self.answer(200, {"name": "me", "type": "user", "sha": self.server.head, "id": "org/m", "private": False,
                          "siblings": [], "tags": [], "auth": {"accessToken": {"role": "write"}}})

    def do_PUT(self):
        hub = self.server
        if hub.shrink:
            self.rfile.read(100_000)
            os.truncate(hub.shrink, 1000)
            self.rfile.read1()
        data = self.body()
        hub.puts += 1
        if "Authorization" in self.headers:
            hub.wrong.append("the token went to the store")
        kind, oid, *number = self.path[1:].split("/")
        if kind == "part":
            hub.parts.setdefault(oid, {})[int(number[0])] = data
        elif hashlib.sha256(data).hexdigest() != oid:
            return self.answer(400)
        elif self.headers["User-Agent"].startswith("kftrainer") and self.headers.get("x-signed") != "yes":
            return self.answer(403)  # huggingface_hub leaves out what Git LFS says to send
        if kind != "part":
            hub.objects[oid] = data
        self.answer(200, ETag='"%s"' % hashlib.md5(data).hexdigest())

    def do_POST(self):
        hub, path, data = self.server, self.path.partition("?")[0], self.body()
        if hub.busy:
            hub.busy -= 1
            return self.answer(503)
        if path.startswith("/complete/"):
            return self.complete(json.loads(data))
        if self.headers.get("Authorization") != "Bearer " + TOKEN:
            return self.answer(401, {"error": "Invalid credentials"})
        if "/preupload/" in path and hub.swap:
            shutil.move(hub.swap[0], str(hub.swap[0]) + ".was")
            os.symlink(hub.swap[1], hub.swap[0])
            hub.swap = None
        if "/preupload/" in path:
            files = json.loads(data)["files"]
            return self.answer(200, {"files": [self.preupload(f) for f in files]})
        if path.endswith(".git/info/lfs/objects/batch"):
            return self.batch(json.loads(data))
        if "/commit/" in path:
            return self.commit(path, data)
        if "/paths-info/" in path:
            return self.answer(200, [
                {"type": "file", "path": p, "oid": blob(hub.files[p]), "size": len(hub.files[p]),
                 **({"lfs": {"oid": hub.lfs[p], "size": len(hub.files[p])}} if p in hub.lfs else {})}
                for p in json.loads(data)["paths"] if p in hub.files])
        if path == "/verify":
            doc = json.loads(data)
            return self.answer(200 if len(hub.objects[doc["oid"]]) == doc["size"] else 400)
        return self.answer(200, {"url": hub.url + "/org/m", "name": "org/m"})

    def preupload(self, f):
        old = self.server.files.get(f["path"])
        large = f["size"] > 10_000_000 or f["path"].endswith((".safetensors", ".bin"))
        oid = None if old is None else self.server.lfs.get(f["path"], blob(old))
        return {"path": f["path"], "uploadMode": "lfs" if large else "regular", "shouldIgnore": False, "oid": oid}

    def batch(self, doc):
        hub, out = self.server, []
        for o in doc["objects"]:
            oid, size = o["oid"], o["size"]
            one = {"oid": oid, "size": size}
            if oid not in hub.objects:
                upload = {"href": f"{hub.url}/object/{oid}", "header": {"x-signed": "yes"}}
                if size > CHUNK and hub.chunk:
                    n = min(-(-size // hub.chunk), 10000)
                    upload = {"href": f"{hub.url}/complete/{oid}", "header": {"chunk_size": str(hub.chunk), **{
                        f"{i:05}": f"{hub.url}/part/{oid}/{i}" for i in range(1, n + 1)}}}
                one["actions"] = {"upload": upload, "verify": {"href": hub.url + "/verify"}}
            out.append(one)
        multi = any("chunk_size" in o.get("actions", {}).get("upload", {}).get("header", {}) for o in out)
        self.answer(200, {"transfer": "multipart" if multi else "basic", "objects": out})

    def complete(self, doc):
        hub, parts = self.server, self.server.parts[doc["oid"]]
        data = b"".join(parts[i] for i in sorted(parts))
        good = hashlib.sha256(data).hexdigest() == doc["oid"] and [p["partNumber"] for p in doc["parts"]] == sorted(parts) \
            and all(p["etag"].strip('"') == hashlib.md5(parts[p["partNumber"]]).hexdigest() for p in doc["parts"])
        if good:
            hub.objects[doc["oid"]] = data
        self.answer(200 if good else 400)

    def commit(self, path, data):
        hub, lines = self.server, [json.loads(line) for line in data.splitlines() if line]
        if lines[0]["key"] != "header" or not lines[0]["value"]["summary"]:
            return self.answer(400)
        if hub.commit_busy:
            hub.commit_busy -= 1
            return self.answer(503)
        if hub.rival:
            hub.rival -= 1
            hub.move()
            hub.files["rival"] = b"%d" % hub.rival
        hub.parents.append(lines[0]["value"].get("parentCommit"))
        if hub.parents[-1] not in (None, hub.head):
            return self.answer(412, {"error": "A commit has happened since. Please refresh and try again."})
        for line in lines[1:]:
            v = line["value"]
            if line["key"] == "file":
                hub.files[v["path"]] = base64.b64decode(v["content"], validate=True)
                hub.lfs.pop(v["path"], None)
            elif v["oid"] not in hub.objects or len(hub.objects[v["oid"]]) != v["size"] or v["algo"] != "sha256":
                return self.answer(400, {"error": "no such object"})
            else:
                hub.files[v["path"]], hub.lfs[v["path"]] = hub.objects[v["oid"]], v["oid"]
        hub.commits.append((unquote(path), len(lines) - 1))
        hub.move()
        if hub.lose:
            status, hub.lose = hub.lose, None
            self.close_connection = True
            return self.answer(status) if status > 1 else None
        self.answer(200, {"commitUrl": hub.url + "/org/m/commit/" + hub.head, "commitOid": hub.head, "commitMessage": "m", "hookOutput": "",
                          "success": True})


def run(uri, env=None, argv=()):
    base = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "AWS_"))} | {
        "HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HOME": str(scratch), "NO_PROXY": "*", "no_proxy": "*"}
    base = {k: v for k, v in (base | (env or {})).items() if v is not None}
    r = subprocess.run([PROGRAM, "export-model", scratch / "m", "--uri", uri, *argv], env=base, capture_output=True,
                       text=True, timeout=600)
    return r.returncode, (r.stdout + r.stderr).replace(TOKEN, "THE TOKEN WAS SHOWN")


def problem(want, prefix=""):
    got = hub.files
    want = {prefix + k: v for k, v in want.items()}
    return hub.wrong or ("" if got == want else f"{sorted(got)}, wanted {sorted(want)}")


hub = Hub()
files = {"config.json": b'{"a": 1}\n', "model.safetensors": os.urandom(13_000_001), "sub/small.safetensors": b"weights",
         "sub/\u00e4 b+c.txt": b"x\n", "empty.txt": b"", "tokens.bin": os.urandom(6_000_000)}
for name, data in files.items():
    (scratch / "m" / name).parent.mkdir(parents=True, exist_ok=True)
    (scratch / "m" / name).write_bytes(data)

venv = subprocess.run([ROOT / "tests/setup.sh", "venv", "store"], capture_output=True, text=True).stdout.strip()
if os.path.exists(venv + "/.done"):
    r = subprocess.run([venv + "/bin/python", "-c", "import sys, huggingface_hub as h; h.HfApi(endpoint=sys.argv[1], "
                        f"token='{TOKEN}').upload_folder(repo_id='org/m', folder_path=sys.argv[2])", hub.url,
                        str(scratch / "m")], capture_output=True, text=True, timeout=600,
                       env=os.environ | {"HF_HUB_DISABLE_XET": "1", "HOME": str(scratch), "NO_PROXY": "*", "no_proxy": "*"})
    check("the stand-in satisfies huggingface_hub", problem(files) if r.returncode == 0 else r.stderr[-600:])
else:
    skip("the stand-in satisfies huggingface_hub", "tests/setup.sh store has not run")

hub.clear()
status, said = run("hf://org/m")
check("a folder: small files in the commit, others by LFS, basic and in parts", problem(files) if status == 0 else said)
check("one commit, at main", "" if hub.commits == [("/api/models/org/m/commit/main", 6)] else hub.commits)
check("bytes go in as many requests as there are parts", "" if hub.puts == 5 else hub.puts)
status, said = run("hf://org/m")
check("unchanged files are not sent again, nor committed",
      "" if status == 0 and "; 0 B sent" in said and len(hub.commits) == 1 and hub.puts == 5 else (said, hub.commits))
(scratch / "m/config.json").write_bytes(b"{}")
files["config.json"] = b"{}"
status, said = run("hf://org/m")
check("what has changed is", problem(files) if status == 0 and hub.commits[-1][1] == 1 else (said, hub.commits))
objects = dict(hub.objects)
hub.clear()
hub.objects = objects
status, said = run("hf://datasets/org/d@dev%2Fx/deep")
check("a data set, a revision, a folder; objects that the hub has are not sent",
      said if status else problem(files, "deep/") or
      ("" if hub.commits == [("/api/datasets/org/d/commit/dev/x", 6)] and hub.puts == 0 else (hub.commits, hub.puts)))
hub.clear()
hub.objects = objects
status, said = run("hf://org/m@a#b/c#/d?%20")
check("a folder and a revision with # in them", said if status else problem(files, "c#/d?%20/") or
      ("" if hub.commits == [("/api/models/org/m/commit/a#b", 6)] else hub.commits))
hub.clear()
status, said = run("hf://org/m", argv=["--allow", "*.json"])
check("patterns", said if status else problem({"config.json": b"{}"}))
hub.clear()
hub.busy = 1
status, said = run("hf://org/m", argv=["--retries", "1"])
check("a hub that is busy once is retried", said if status else problem(files))
hub.clear()
hub.busy = 100
status, said = run("hf://org/m", argv=["--retries", "1"])
check("one that stays so: as often as --retries says", "" if status == 1 and "tried 2 times" in said and hub.busy == 98
      else (hub.busy, said))
hub.clear()

# ---- commits: what is asked once, and what is not ----
for what, how in (("504", 504), ("a connection that breaks", 1)):
    hub.clear()
    hub.lose = how
    status, said = run("hf://org/m")
    check(f"a commit whose answer gets lost ({what}) is not made twice",
          said if status else problem(files) or ("" if len(hub.commits) == 1 else hub.commits))
hub.clear()
hub.commit_busy = 1
status, said = run("hf://org/m")
check("a commit that was not made is retried", said if status else problem(files) or ("" if len(hub.commits) == 1 else hub.commits))
check("a commit says what it is on", "" if hub.parents == ["0" * 40] else hub.parents)
hub.clear()
hub.rival = 2
status, said = run("hf://org/m")
check("another commit in between: ours is made on top of it", said if status else
      problem(files | {"rival": b"0"}) or ("" if len(hub.commits) == 1 and len(set(hub.parents)) == 3 else (hub.commits, hub.parents)))
hub.clear()
hub.lose, hub.rival = 504, 0
objects_then = hub.move


def lost_and_moved():
    objects_then()
    if hub.lose == 504:
        hub.files["rival"] = b"x"
        objects_then()


hub.move = lost_and_moved
status, said = run("hf://org/m")
hub.move = objects_then
check("a lost response, and another commit on top of ours: ours is not made twice",
      said if status else problem(files | {"rival": b"x"}) or ("" if len(hub.commits) == 1 else hub.commits))

# ---- a folder that somebody else writes to, too ----
hub.clear()
outside = scratch / "outside"
shutil.copytree(scratch / "m/sub", outside)
(outside / "small.safetensors").write_bytes(b"SECRETS")
hub.swap = (scratch / "m/sub", outside)
status, said = run("hf://org/m")
check("a folder that becomes a link while it is sent leads nowhere",
      "" if status == 1 and b"SECRETS" not in hub.objects.values() and not hub.commits else (status, said, hub.commits))
os.unlink(scratch / "m/sub")
shutil.move(str(scratch / "m/sub") + ".was", scratch / "m/sub")

# ---- files that change, hubs that count oddly ----
big = scratch / "m/z.bin"
for what, chunk in (("whole", 0), ("in parts", 40_000_000)):
    hub.clear()
    big.write_bytes(os.urandom(64_000_000))
    hub.chunk, hub.shrink = chunk, big
    status, said = run("hf://org/m", argv=["--allow", "z.bin", "--retries", "1"])
    check(f"a file that is truncated while it is uploaded {what} is an error, no SIGBUS",
          "" if status == 1 and "z.bin changed during the upload" in said and not hub.commits else (status, said))
big.write_bytes(os.urandom(7_000_000))
for chunk, good in ((2**63 - 1, True), (2**63 - 7_000_000, True), (1, False), (2**63, False), (0, True)):
    hub.clear()
    hub.chunk = chunk
    status, said = run("hf://org/m", argv=["--allow", "z.bin"])
    check(f"a chunk size of {chunk}", (said if status else problem({"z.bin": big.read_bytes()})) if good else
          ("" if status == 1 and "chunk_size" in said else (status, said)))
big.unlink()
hub.clear()
for what, env, words in (("no token", {"HF_TOKEN": None}, "HF_TOKEN"), ("a wrong one", {"HF_TOKEN": "hf_x"}, "HF_TOKEN"),
                         ("no hub", {"HF_ENDPOINT": "nowhere"}, "HF_ENDPOINT")):
    status, said = run("hf://org/m", env)
    check("refused: " + what, "" if status and words in said and len(said.splitlines()) <= 2 else said)
shutil.rmtree(scratch, ignore_errors=True)
finish()
