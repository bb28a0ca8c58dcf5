"""A stand-in for the hub's commit API and Git LFS, in memory; what is committed can be read, too. tests/store/test_hf_put.py has
huggingface_hub, upstream's client, upload to it."""
import base64
import hashlib
import json
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

TOKEN, CHUNK = "hf_GoodToken0123456789", 6_000_000


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
        self.trees, self.lock = {self.head: {}}, threading.Lock()

    def move(self):
        self.head = hashlib.sha1(self.head.encode()).hexdigest()
        self.trees[self.head] = {p: (data, self.lfs.get(p)) for p, data in self.files.items()}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, doc=None, **headers):
        body = json.dumps({} if doc is None else doc).encode()
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

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        kind, *rest = unquote(urlsplit(self.path).path).removeprefix("/api/models")[1:].split("/", 4)[2:]
        if kind in ("tree", "resolve"):
            return self.read(kind, self.server.trees.get(rest[0], {}), "/".join(rest[1:]))
        self.answer(200, {"name": "me", "type": "user", "sha": self.server.head, "id": "org/m", "private": False,
                          "siblings": [], "tags": [], "auth": {"accessToken": {"role": "write"}}})

    def read(self, kind, tree, path):
        if kind == "resolve":
            data, oid = tree.get(path, (None, None))
            if data is None:
                return self.answer(404, {"error": "Entry not found"})
            first, _, last = (self.headers.get("Range") or "bytes=0-")[6:].partition("-")
            part = data[int(first):int(last or len(data)) + 1]
            self.send_response(206 if "Range" in self.headers else 200)
            if "Range" in self.headers:
                self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}")
            self.send_header("ETag", '"%s"' % (oid or blob(data)))
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            return self.wfile.write(part) if self.command == "GET" else None
        all_below = "recursive=True" in self.path
        found = [{"type": "file", "path": p, "oid": blob(data), "size": len(data), **({"lfs": {"oid": oid, "size": len(data)}} if oid else {})}
                 for p, (data, oid) in sorted(tree.items())
                 if (p.startswith(path + "/") or not path) and (all_below or "/" not in p[len(path) + 1 if path else 0:])]
        self.answer(200 if found or not path else 404, found)

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
            with hub.lock:
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
