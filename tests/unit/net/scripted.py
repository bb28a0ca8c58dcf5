#!/usr/bin/env python3
"""A server that answers as it is told: scripted.py [CERT KEY [CLIENT_CA]]

Prints "PORT CONTROL" and ends when its standard input does. A POST to CONTROL puts a
list of answers, which requests to PORT take in order; a GET gives the list of the
requests since then. With CERT, PORT speaks TLS. An answer:

  status, headers {name: value or [values]}, body, times (the body that often)
  chunks [text or seconds to wait] instead of body: chunked transfer
  raw (these bytes instead of an answer)    hang (seconds before it)
  close (hang up afterwards, unannounced)   tunnel (CONNECT: to wherever it says)
"""
import json
import select
import socket
import ssl
import sys
import threading
import time

lock = threading.Lock()
script, log = [], []


def read_request(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        more = conn.recv(65536)
        data += more
        if not more or data.startswith(b"\x16"):  # TLS, where we speak none
            return None
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    headers = {}
    for name, _, value in (line.partition(":") for line in lines[1:]):
        before = headers.get(name.lower())
        headers[name.lower()] = (before + ", " if before else "") + value.strip()
    while len(body) < int(headers.get("content-length", 0)):
        body += conn.recv(65536)
    return {"method": method, "path": path, "headers": headers, "body": body.decode()}


def send(conn, answer):
    if "raw" in answer:
        conn.sendall(answer["raw"].encode())
        return
    head = "HTTP/1.1 %d Whatever\r\n" % answer.get("status", 200)
    for name, values in answer.get("headers", {}).items():
        for value in values if isinstance(values, list) else [values]:
            head += "%s: %s\r\n" % (name, value)
    if "chunks" in answer:
        conn.sendall((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
        for chunk in answer["chunks"]:
            if isinstance(chunk, str):
                conn.sendall(b"%x\r\n%s\r\n" % (len(chunk.encode()), chunk.encode()))
            else:
                time.sleep(chunk)
        conn.sendall(b"0\r\n\r\n")
        return
    body = answer.get("body", "").encode() * answer.get("times", 1)
    conn.sendall((head + "Content-Length: %d\r\n\r\n" % len(body)).encode() + body)


def tunnel(conn, target):
    host, _, port = target.rpartition(":")
    with socket.create_connection((host, int(port))) as peer:
        conn.sendall(b"HTTP/1.1 200 Connected\r\nX-Proxy: yes\r\n\r\n")
        while True:
            for ready in select.select([conn, peer], [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return
                (peer if ready is conn else conn).sendall(data)


def serve(conn, number):
    while True:
        request = read_request(conn)
        if not request:
            return
        request["connection"] = number
        request["resumed"] = getattr(conn, "session_reused", False)
        with lock:
            log.append(request)
            answer = script.pop(0) if script else {"status": 599, "body": "no script"}
        time.sleep(answer.get("hang", 0))
        if answer.get("tunnel"):
            return tunnel(conn, request["path"])
        send(conn, answer)
        if answer.get("close") or "raw" in answer:
            return


def control(conn, number):
    request = read_request(conn)
    if not request:
        return
    with lock:
        if request["method"] == "POST":
            script[:] = json.loads(request["body"])
            log.clear()
        send(conn, {"body": json.dumps(log)})


def listen(handle, context):
    listener = socket.create_server(("127.0.0.1", 0))

    def one(conn, number):
        try:
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context:
                conn = context.wrap_socket(conn, server_side=True)
            handle(conn, number)
        except (OSError, ValueError):
            pass
        finally:
            conn.close()

    def loop():
        number = 0
        while True:
            conn, _ = listener.accept()
            number += 1
            threading.Thread(target=one, args=(conn, number), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    return listener.getsockname()[1]


tls = None
if len(sys.argv) > 2:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[1], sys.argv[2])
if len(sys.argv) > 3:
    tls.load_verify_locations(sys.argv[3])
    tls.verify_mode = ssl.CERT_REQUIRED
print(listen(serve, tls), listen(control, None), flush=True)
sys.stdin.read()
