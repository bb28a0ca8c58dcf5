#!/usr/bin/env python3
"""A stand-in for the Hugging Face hub and its CDN, on two ports of loopback.

hub.py ROOT [options]     ROOT/models/ORG/NAME/..., ROOT/datasets/NAME/...: a repository a folder with
                          hub.json (may be {}) in it; all other files are its contents

It answers as the hub does: revisions, trees in pages, resolve with redirects of large files to signed
URLs of the CDN, gated and private repositories. tests/store/test_hub.py has huggingface_hub download
from it, so that it is not made to fit one client. hub.json:

    {"private": true, "gated": true, "access": ["hf_token"], "revisions": ["main", "v1"],
     "xet": true, "renamed": "org/new", "trees": {"d/../../evil": SIZE}}

Prints a line of JSON {"hub": URL, "cdn": URL, "commits": {...}} once it listens; ends with its stdin.
Faults are those of faulty.py, of the hub and of the CDN apart.
"""
import argparse
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse

import faulty

LFS_FROM = 10 * 1000 * 1000  # bytes; and all files of these kinds
LFS_KINDS = (".safetensors", ".bin", ".parquet", ".gguf", ".lfs")
SECRET = b"the CDN's"


class File:
    def __init__(self, path, root):
        self.path, self.place = path, os.path.join(root, path)
        self.size = os.path.getsize(self.place)
        self.lfs = self.size >= LFS_FROM or path.endswith(LFS_KINDS)
        blob = hashlib.sha1(f"blob {self.size}\0".encode())
        sha256 = hashlib.sha256()
        with open(self.place, "rb") as file:
            while data := file.read(1 << 20):
                (sha256 if self.lfs else blob).update(data)
        self.sha256 = sha256.hexdigest()
        if self.lfs:
            pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {self.size}\n"
            blob = hashlib.sha1(f"blob {len(pointer)}\0{pointer}".encode())
        self.oid = blob.hexdigest()

    def entry(self, xet):
        entry = {"type": "file", "oid": self.oid, "size": self.size, "path": self.path}
        if self.lfs:
            entry["lfs"] = {"oid": self.sha256, "size": self.size, "pointerSize": 134}
            if xet:
                entry["xetHash"] = hashlib.blake2s(self.sha256.encode()).hexdigest()
        return entry


class Repo:
    def __init__(self, kind, name, root):
        with open(os.path.join(root, "hub.json"), encoding="utf-8") as file:
            self.conf = json.load(file)
        self.kind, self.id = kind, name
        self.files = {}
        for folder, _, names in os.walk(root):
            for n in names:
                path = os.path.relpath(os.path.join(folder, n), root)
                if path != "hub.json":
                    self.files[path] = File(path, root)
        text = "".join(f"{p} {f.oid}\n" for p, f in sorted(self.files.items()))
        self.commit = hashlib.sha1(text.encode()).hexdigest()
        self.revisions = {*self.conf.get("revisions", ["main"]), self.commit}

    def tree(self, folder, recursive):
        """As the hub has it: folders, too; None where there is no such folder."""
        found = {}
        for path, file in self.files.items():
            if folder and not path.startswith(folder + "/"):
                continue
            below = path[len(folder) + 1 if folder else 0:].split("/")
            for i in range(1, len(below) if recursive else min(2, len(below))):
                name = "/".join(filter(None, [folder, *below[:i]]))
                found[name] = {"type": "directory", "oid": hashlib.sha1(name.encode()).hexdigest(), "size": 0, "path": name}
            if recursive or len(below) == 1:
                found[path] = file.entry(self.conf.get("xet"))
        for path, size in self.conf.get("trees", {}).items():
            found[path] = {"type": "file", "oid": "0" * 40, "size": size, "path": path}
        return [found[p] for p in sorted(found)] if found or not folder else None


class Reply:
    """A file of the repositories, or a body."""

    def __init__(self, status=200, body=b"", headers=(), file=None, etag=None):
        self.status, self.body, self.headers, self.file, self.etag = status, body, dict(headers), file, etag


def json_reply(doc, status=200, headers=()):
    return Reply(status, json.dumps(doc).encode(), {"Content-Type": "application/json", **dict(headers)})


class Server(faulty.Server):
    """faulty.Server, but what it answers is `reply(path, query, headers) -> Reply`."""

    def __init__(self, reply, **options):
        super().__init__(**options)
        self.reply, self.now = reply, threading.local()
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def answer(self, conn, method, target, lines, headers, body):
        self.now.target, self.now.extra = target, ()
        super().answer(conn, method, target, lines, headers, body)

    def head(self, conn, status, fields, reason="x"):
        super().head(conn, status, [*fields, *self.now.extra], reason)

    def file(self, conn, method, path, headers, faults, record):
        raw, _, query = self.now.target.partition("?")
        reply = self.reply(raw, dict(urllib.parse.parse_qsl(query)), headers)
        self.now.extra = tuple(reply.headers.items())
        if reply.file:
            faults.setdefault("etag", reply.etag)
            super().file(conn, method, os.path.relpath(reply.file, self.root), headers, faults, record)
            return
        body = reply.body[:len(reply.body) - int(faults.get("short", 0))]
        record["status"], record["sent"] = reply.status, len(body)
        self.head(conn, reply.status, [("Content-Length", str(len(body)))])
        if method != "HEAD":
            conn.sendall(body[:int(faults["cut"])] if "cut" in faults else body)
        if "cut" in faults:
            raise faulty.Closed


def refusal(status, code, message):
    return json_reply({"error": message}, status, {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})})


class Hub:
    def __init__(self, options):
        self.options, self.repos = options, {}
        for kind in ("models", "datasets"):
            top = os.path.join(options.root, kind)
            for folder, _, names in sorted(os.walk(top)):
                if "hub.json" in names:
                    name = os.path.relpath(folder, top)
                    self.repos[kind, name] = Repo(kind, name, folder)
        self.blobs = {f.sha256: f for r in self.repos.values() for f in r.files.values() if f.lfs}
        self.url = self.cdn = None

    def admit(self, repo, path, headers):
        """None, or why this one may not."""
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if token and token not in self.options.token:
            return refusal(401, "", "Invalid credentials in Authorization header")
        allowed = repo and token and token in repo.conf.get("access", [])
        if repo is None or (repo.conf.get("private") and not allowed):
            return refusal(404 if token else 401, "RepoNotFound", "Repository not found")
        return None if allowed else self.gate(repo, path, token)

    def gate(self, repo, path, token):
        """What is in a gated repository everybody may see; the files not."""
        if repo.conf.get("gated") and not path.startswith("/api/"):
            return refusal(403 if token else 401, "GatedRepo", f"Access to {repo.kind[:-1]} {repo.id} is restricted. "
                           "You must have access to it and be authenticated to access it.")
        return None

    def find(self, kind, path):
        """The repository whose name stands at the beginning, the word after it, and the rest."""
        parts = path.split("/")
        for n in (2, 1):
            repo = self.repos.get((kind, "/".join(parts[:n])))
            if repo and len(parts) > n:
                return repo, parts[n], "/".join(parts[n + 1:])
        return None, "", ""

    def serve_hub(self, path, query, headers):
        if not path.startswith(self.options.prefix):
            return Reply(404)
        path = path.removeprefix(self.options.prefix)
        if path == "/api/whoami-v2":
            return json_reply({"name": "me", "type": "user"})
        kind, place = "models", path[1:]
        if match := re.match(r"/api/(resolve-cache/)?(models|datasets)/(.*)", path):
            kind, place = match[2], match[3]
        elif path.startswith("/datasets/"):
            kind, place = "datasets", path.removeprefix("/datasets/")
        repo, verb, rest = self.find(kind, place)
        refused = self.admit(repo, path, headers)
        if refused:
            return refused
        if new := repo.conf.get("renamed"):
            query = "?" + urllib.parse.urlencode(query) if query else ""
            return Reply(307, headers={"Location": path.replace(repo.id, new, 1) + query})
        if match and match[1]: # resolve-cache/KIND/ID/COMMIT/PATH
            return self.small(repo, repo.files[urllib.parse.unquote(rest)])
        revision, _, inside = rest.partition("/")
        if urllib.parse.unquote(revision) not in repo.revisions:
            return refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        inside = urllib.parse.unquote(inside)
        if verb == "resolve":
            return self.resolve(repo, inside)
        if match and verb == "revision":
            return json_reply({"_id": "1", "id": repo.id, "sha": repo.commit, "private": False, "gated": False,
                               "disabled": False, "tags": [], "downloads": 0, "likes": 0,
                               "siblings": [{"rfilename": p} for p in repo.files]})
        if match and verb == "tree":
            return self.page(repo, path, query, inside)
        return Reply(404)

    def page(self, repo, path, query, folder):
        entries = repo.tree(folder, query.get("recursive", "").lower() in ("true", "1"))
        if entries is None:
            return refusal(404, "EntryNotFound", f"{folder} does not exist")
        begin = int(query.get("cursor", 0))
        end = begin + min(int(query.get("limit", 1000)), self.options.page)
        headers = {}
        if self.options.endless:
            headers["Link"] = f'<{self.url}{path}?{urllib.parse.urlencode({**query, "cursor": 0 if begin and self.options.endless == "again" else end})}>; rel="next"'
        elif end < len(entries):
            headers["Link"] = f'<{self.options.links or self.url}{path}?{urllib.parse.urlencode({**query, "cursor": end})}>; rel="next"'
        return json_reply(entries[begin:end], headers=headers)

    def small(self, repo, file):
        return Reply(file=file.place, etag=file.oid, headers={"X-Repo-Commit": repo.commit})

    def resolve(self, repo, path):
        file = repo.files.get(path)
        if not file:
            return refusal(404, "EntryNotFound", "Entry not found")
        headers = {"X-Repo-Commit": repo.commit, "X-Linked-Etag": f'"{file.sha256 if file.lfs else file.oid}"',
                   "X-Linked-Size": str(file.size)}
        if not file.lfs and self.options.resolve_cache:
            target = urllib.parse.quote(f"/api/resolve-cache/{repo.kind}/{repo.id}/{repo.commit}/{path}")
            return Reply(307, headers={**headers, "Location": target})
        if not file.lfs:
            return self.small(repo, file)
        place = "lfs"
        if repo.conf.get("xet"):
            place = "xet-bridge"
            headers["X-Xet-Hash"] = file.entry(True)["xetHash"]
        return Reply(302, headers={**headers, "Location": self.signed(f"/{place}/{file.sha256}")})

    def signed(self, path):
        until = f"{time.time() + self.options.expire:.3f}"
        return f"{self.cdn}{path}?Expires={until}&Signature={mark(path, until)}"

    def serve_cdn(self, path, query, headers):
        """As S3 behind a signed URL: who sends another authorization is refused."""
        if "authorization" in headers:
            return Reply(400, b"<Error><Code>InvalidArgument</Code></Error>")
        if mark(path, query.get("Expires")) != query.get("Signature") or float(query["Expires"]) < time.time():
            return Reply(403, b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>")
        file = self.blobs[path.rsplit("/", 1)[1]]
        return Reply(file=file.place, etag=hashlib.md5(file.sha256.encode()).hexdigest())


def mark(path, until):
    return hmac.new(SECRET, f"{path} {until}".encode(), "sha256").hexdigest()


def processes(n):
    """This one and n - 1 others on the same sockets; the others end when this one does."""
    parent = os.getpid()
    for _ in range(n - 1):
        if not os.fork():
            return parent
    return 0


class Running:
    """with Running(root, "--page", 3) as hub: a process of its own; hub.url, hub.commits, hub.answers("cdn")."""

    def __init__(self, root, *options, log=None):
        self.log = log
        argv = [sys.executable, os.path.abspath(__file__), str(root), *map(str, options)]
        self.process = subprocess.Popen(argv + (["--log", str(log)] if log else []), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        found = json.loads(self.process.stdout.readline())
        self.url, self.cdn, self.commits = found["hub"], found["cdn"], found["commits"]
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def answers(self, server):
        with open(f"{self.log}.{server}", encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--token", action="append", default=[], help="one that the hub knows")
    parser.add_argument("--hub-faults", help="file, read again for each request")
    parser.add_argument("--cdn-faults")
    parser.add_argument("--page", type=int, default=1000, help="entries of a page of a tree")
    parser.add_argument("--endless", choices=("again", "empty"), help="there is always a next page")
    parser.add_argument("--links", help="base of the links to the next page, as a mirror hands them on")
    parser.add_argument("--prefix", default="", help="path of the hub, as of a mirror that has others beside it")
    parser.add_argument("--expire", type=float, default=3600, help="seconds that a signed URL is good for")
    parser.add_argument("--rate", type=int, default=0, help="bytes a second of one connection to the CDN")
    parser.add_argument("--delay", type=float, default=0, help="milliseconds before each answer")
    parser.add_argument("--tls", help="folder with cert.pem and key.pem")
    parser.add_argument("--log", help="FILE.hub and FILE.cdn: a line of JSON an answer")
    parser.add_argument("--resolve-cache", action="store_true", help="small files by a redirect on the hub itself")
    parser.add_argument("--processes", type=int, default=1)
    o = parser.parse_args()
    hub = Hub(o)
    tls = (f"{o.tls}/cert.pem", f"{o.tls}/key.pem") if o.tls else None
    common = {"root": o.root, "tls": tls, "delay": o.delay}
    front = Server(hub.serve_hub, faults=o.hub_faults, log=o.log and o.log + ".hub", **common)
    back = Server(hub.serve_cdn, faults=o.cdn_faults, log=o.log and o.log + ".cdn", rate=o.rate, **common)
    hub.url, hub.cdn = front.url + o.prefix, back.url
    parent = processes(o.processes)
    front.start()
    back.start()
    while parent:
        time.sleep(0.5)
        if os.getppid() != parent:
            return
    print(json.dumps({"hub": hub.url, "cdn": hub.cdn,
                      "commits": {f"{kind}/{name}": r.commit for (kind, name), r in hub.repos.items()}}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
