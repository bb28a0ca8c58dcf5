#!/usr/bin/env python3
"""An HTTP/1.1 server of files, or a proxy, that breaks things when told to.

    faulty.py --root DIR [--ready FILE] [--log FILE] [--faults FILE] [--cert PEM --key PEM]
              [--rate BYTES] [--delay MS] [--upstream http://HOST:PORT]

Listens on 127.0.0.1, any port; writes "PORT\n" to FILE of --ready. --rate is bytes a
second of each connection, --delay comes before each answer. The log has a line of JSON
for each answer: method, path, range, status, sent (bytes of body), auth (was there one).

The faults file is read again for each request; a line is "GLOB FAULT[=ARG] [TIMES]",
a line without TIMES holds for ever. Where several fit, all apply:
    status=503[,RETRY-AFTER]  that instead of the answer
    expired     403, as of a presigned URL of S3
    cut=N       the connection ends after N bytes of body
    reset=N     the same with a TCP reset
    stall=N     nothing more comes after N bytes (for a minute)
    drip=N      N bytes a second
    flip=N      byte N of the file is another one (each answer that has it)
    short=N     the answer says it is N bytes shorter than it is, and is
    norange     ranges are ignored: 200 and all of it
    refuse[=N]  a range is refused with 416, with N as the size if it is given
    range200    a range is sent with status 200, as by ModelScope; with norange all, called another range
    length=X    that as Content-Length
    range=X     "bytes X" as Content-Range of a 206
    chunked     no Content-Length
    noetag      no ETag, no Last-Modified
    etag=X      another ETag
    etags       each answer has another ETag, as of many servers behind one name
    redirect=U  302 to U; {path} in it is the request's
    gzip[=X]    Content-Encoding: gzip, or X
    deny=X      403 where X is in the URL
    lost=X      (a proxy's) a POST with X in its URL is done, and its answer gets lost
It is a module, too: Server(root).start() and .faults, .log.
"""
import argparse
import fnmatch
import hashlib
import itertools
import json
import os
import socket
import ssl
import struct
import threading
import time
from urllib.parse import unquote, urlsplit

CHUNK = 256 * 1024


class Closed(Exception):
    pass


class Faults:
    """Lines of the faults file, and how often each was used."""

    def __init__(self, path=None):
        self.path, self.lock = path, threading.Lock()
        self.rows, self.stamp = [], None

    def set(self, text):
        with self.lock:
            self.rows = []
            for line in text.splitlines():
                words = line.split()
                if words and not line.startswith("#"):
                    name, _, arg = words[1].partition("=")
                    self.rows.append([words[0], name, arg, int(words[2]) if len(words) > 2 else -1])

    def of(self, path):
        if self.path and os.path.exists(self.path):
            st = os.stat(self.path)
            if self.stamp != (st.st_mtime_ns, st.st_ino):
                self.stamp = (st.st_mtime_ns, st.st_ino)
                with open(self.path) as f:
                    self.set(f.read())
        found = {}
        with self.lock:
            for row in self.rows:
                if row[3] and fnmatch.fnmatchcase(path, row[0]):
                    row[3] -= 1 if row[3] > 0 else 0
                    found.setdefault(row[1], row[2])
        return found


class Server:
    def __init__(self, root=None, upstream=None, faults=None, log=None, rate=0, delay=0, tls=None):
        self.root, self.upstream, self.rate, self.delay = root, upstream, rate, delay
        self.faults, self.records, self.tags = Faults(faults), [], itertools.count(1)
        self.log = open(log, "a", buffering=1) if log else None
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*tls)
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.sock.getsockname()[1]

    def start(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.connection, args=(conn,), daemon=True).start()

    def note(self, **record):
        if self.log:
            self.log.write(json.dumps(record) + "\n")
        else:
            self.records.append(record)

    # ---- a connection ----
    def connection(self, conn):
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self.tls:
                conn = self.tls.wrap_socket(conn, server_side=True)
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    more = conn.recv(65536)
                    if not more:
                        return
                    data += more
                head, data = data.split(b"\r\n\r\n", 1)
                lines = head.decode("latin-1").split("\r\n")
                method, target, _ = lines[0].split(" ", 2)
                headers = {}
                for line in lines[1:]:
                    k, _, v = line.partition(":")
                    headers[k.strip().lower()] = v.strip()
                length = int(headers.get("content-length", 0))
                while len(data) < length:
                    more = conn.recv(65536)
                    if not more:
                        return
                    data += more
                body, data = data[:length], data[length:]
                self.answer(conn, method, target, lines, headers, body)
                if headers.get("connection", "").lower() == "close":
                    return
        except (OSError, Closed, ValueError):
            pass
        finally:
            conn.close()

    def head(self, conn, status, fields, reason="x"):
        text = f"HTTP/1.1 {status} {reason}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields) + "\r\n"
        conn.sendall(text.encode("latin-1"))

    def answer(self, conn, method, target, lines, headers, body):
        path = unquote(urlsplit(target).path)
        faults = self.faults.of(path)
        if self.delay:
            time.sleep(self.delay / 1000)
        record = {"method": method, "path": path, "range": headers.get("range"),
                  "auth": "authorization" in headers, "date": headers.get("x-amz-date"), "sent": 0}
        try:
            if "status" in faults:
                status, _, after = faults["status"].partition(",")
                record["status"] = int(status)
                self.head(conn, status, [("Content-Length", "6")] + ([("Retry-After", after)] if after else []))
                conn.sendall(b"faulty")
            elif "expired" in faults:
                record["status"] = 403
                text = b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
                self.head(conn, 403, [("Content-Length", str(len(text)))])
                conn.sendall(text)
            elif faults.get("deny", "\0") in target:
                record["status"] = 403
                self.head(conn, 403, [("Content-Length", "0")])
            elif "redirect" in faults:
                record["status"] = 302
                where = faults["redirect"].replace("{path}", path)
                self.head(conn, 302, [("Location", where), ("Content-Length", "0")])
            elif self.upstream:
                self.proxy(conn, method, target, lines, body, faults, record)
            else:
                self.file(conn, method, path, headers, faults, record)
        finally:
            self.note(**record)

    # ---- files ----
    def file(self, conn, method, path, headers, faults, record):
        full = os.path.realpath(os.path.join(self.root, path.lstrip("/")))
        if not full.startswith(os.path.realpath(self.root)) or not os.path.isfile(full):
            record["status"] = 404
            self.head(conn, 404, [("Content-Length", "0")])
            return
        with open(full, "rb") as f:
            st = os.fstat(f.fileno())
            size, fields, status = st.st_size, [], 200
            start, end = 0, size
            tag = '"%s"' % (faults.get("etag") or "etags" in faults and next(self.tags) or hashlib.md5(f"{size}-{st.st_mtime_ns}".encode()).hexdigest())
            if "noetag" not in faults:
                fields.append(("ETag", tag))
            if headers.get("if-match", tag) not in (tag, "*"):
                record["status"] = 412
                self.head(conn, 412, [("Content-Length", "0")])
                return
            if headers.get("if-none-match") == tag:
                record["status"] = 304
                self.head(conn, 304, fields)
                return
            want = headers.get("range")
            if want and "refuse" in faults:
                record["status"] = 416
                size = faults["refuse"]
                self.head(conn, 416, ([("Content-Range", f"bytes */{size}")] if size else []) + [("Content-Length", "0")])
                return
            if want and "norange" not in faults:
                first, _, last = want[len("bytes="):].partition("-")
                start, end = int(first), min(int(last) + 1 if last else size, size)
                if start >= size:
                    record["status"] = 416
                    self.head(conn, 416, [("Content-Range", f"bytes */{size}"), ("Content-Length", "0")])
                    return
                status = 200 if "range200" in faults else 206
                fields.append(("Content-Range", "bytes " + faults.get("range", f"{start}-{end - 1}/{size}")))
            if want and "norange" in faults and "range200" in faults:
                fields.append(("Content-Range", f"bytes 5-9/{size}"))
            if "short" in faults:
                end = max(start, end - int(faults["short"]))
            if "gzip" in faults:
                fields.append(("Content-Encoding", faults["gzip"] or "gzip"))
            fields.append(("Transfer-Encoding", "chunked") if "chunked" in faults
                          else ("Content-Length", faults.get("length", str(end - start))))
            record["status"] = status
            self.head(conn, status, fields)
            if method != "HEAD":
                self.body(conn, f, start, end, faults, record)

    def body(self, conn, f, start, end, faults, record):
        rate = int(faults.get("drip", 0)) or self.rate
        ends = {k: start + int(faults[k]) for k in ("cut", "reset", "stall") if k in faults}
        flip = int(faults["flip"]) if "flip" in faults else -1
        plain = not self.tls and "chunked" not in faults and flip < 0
        at, began = start, time.monotonic()
        while at < end:
            n = min(CHUNK, end - at, *(e - at for e in ends.values()))
            if rate:
                n = min(n, max(1, rate // 20))
            for kind, stop in ends.items():
                if at >= stop:
                    self.end(conn, kind)
            if plain:
                sent = os.sendfile(conn.fileno(), f.fileno(), at, n)
            else:
                data = os.pread(f.fileno(), n, at)
                if at <= flip < at + n:
                    data = data[:flip - at] + bytes([data[flip - at] ^ 1]) + data[flip - at + 1:]
                conn.sendall(b"%x\r\n%s\r\n" % (n, data) if "chunked" in faults else data)
                sent = n
            at += sent
            record["sent"] += sent
            if rate:
                late = (at - start) / rate - (time.monotonic() - began)
                if late > 0:
                    time.sleep(late)
        if "chunked" in faults:
            conn.sendall(b"0\r\n\r\n")

    def end(self, conn, kind):
        if kind == "stall":
            time.sleep(60)
        if kind == "reset":
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Closed

    # ---- a proxy ----
    def proxy(self, conn, method, target, lines, body, faults, record):
        url = urlsplit(self.upstream)
        with socket.create_connection((url.hostname, url.port)) as up:
            if url.scheme == "https":
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                up = context.wrap_socket(up)
            kept = [l for l in lines[1:] if not l.lower().startswith("connection:")
                    and not ("norange" in faults and l.lower().startswith("range:"))]
            up.sendall("\r\n".join([lines[0], *kept, "Connection: close", "", ""]).encode("latin-1") + body)
            f = up.makefile("rb")
            status = f.readline().decode("latin-1")
            while status.startswith("HTTP/1.1 100"):
                while f.readline().strip():
                    pass
                status = f.readline().decode("latin-1")
            record["status"] = int(status.split()[1])
            if method == "POST" and faults.get("lost", "\0") in target:
                raise Closed
            fields, length = [], None
            for line in iter(lambda: f.readline().decode("latin-1").rstrip("\r\n"), ""):
                k, _, v = line.partition(": ")
                if k.lower() == "content-length":
                    length = int(v)
                if k.lower() == "etag" and "noetag" in faults:
                    continue
                if k.lower() not in ("connection", "content-length"):
                    fields.append((k, v))
            chunked = any(k.lower() == "transfer-encoding" for k, _ in fields)
            if length is not None and "short" in faults:
                length = max(0, length - int(faults["short"]))
            if length is not None:
                fields.append(("Content-Length", str(length)))
            if length is None and not chunked:
                fields.append(("Connection", "close"))
            self.head(conn, record["status"], fields)
            if method != "HEAD" and record["status"] not in (204, 304):
                self.pass_on(conn, f, length, faults, record)
            if length is None:
                raise Closed

    def pass_on(self, conn, f, length, faults, record):
        rate = int(faults.get("drip", 0)) or self.rate
        ends = {k: int(faults[k]) for k in ("cut", "reset", "stall") if k in faults}
        flip = int(faults["flip"]) if "flip" in faults else -1
        at, began = 0, time.monotonic()
        while length is None or at < length:
            n = min(CHUNK, *(e - at for e in ends.values()), *([length - at] if length is not None else []),
                    *([max(1, rate // 20)] if rate else [CHUNK]))
            for kind, stop in ends.items():
                if at >= stop:
                    self.end(conn, kind)
            data = f.read1(n) if length is None else f.read(n)
            if not data:
                return
            if at <= flip < at + len(data):
                data = data[:flip - at] + bytes([data[flip - at] ^ 1]) + data[flip - at + 1:]
            conn.sendall(data)
            at += len(data)
            record["sent"] += len(data)
            if rate:
                late = at / rate - (time.monotonic() - began)
                if late > 0:
                    time.sleep(late)


def main():
    p = argparse.ArgumentParser()
    for name in ("root", "upstream", "ready", "log", "faults", "cert", "key"):
        p.add_argument("--" + name)
    p.add_argument("--rate", type=int, default=0)
    p.add_argument("--delay", type=float, default=0)
    a = p.parse_args()
    server = Server(a.root, a.upstream, a.faults, a.log, a.rate, a.delay, (a.cert, a.key) if a.cert else None)
    if a.ready:
        with open(a.ready + ".new", "w") as f:
            f.write(f"{server.port}\n")
        os.rename(a.ready + ".new", a.ready)
    else:
        print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
