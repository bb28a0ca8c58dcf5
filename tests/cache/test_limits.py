#!/usr/bin/env python3
"""Peers that want a server's memory, threads or connections: what they get, and what others get meanwhile."""
import json
import pathlib
import shutil
import signal
import socket
import struct
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

from fleet import SANITIZED, Fleet, Server
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-limits-"))
pq.write_table(pa.table({"i": range(1000)}), scratch / "t.parquet", row_group_size=100)
(scratch / "token").write_text("a.token")
DATA, HEADERS, RST, SETTINGS, GOAWAY, WINDOW = 0, 1, 3, 4, 7, 8
END_HEADERS, MAX_FRAME = 4, 16384
EXHAUSTED, UNIMPLEMENTED, UNAUTHENTICATED = b"8", b"12", b"16"


class Peer:
    """One connection of HTTP/2, frame by frame."""

    def __init__(self, server, source="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", server.port), source_address=(source, 0))
        self.stream, self.left, self.data, self.room, self.gone = -1, b"", b"", {0: 65535}, False
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.frame(SETTINGS, 0, 0, b"")

    def frame(self, kind, flags, stream, data):
        self.socket.sendall(struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data)

    def begin(self, method, kind="application/grpc"):
        """The headers of a call, without HPACK's tables; its body may follow."""
        fields = [(":method", "POST"), (":scheme", "http"), (":authority", "h"), (":path", f"/arrow.flight.protocol.FlightService/{method}"), ("content-type", kind)]
        self.stream += 2
        self.room[self.stream] = 1 << 20
        self.frame(HEADERS, END_HEADERS, self.stream,
                   b"".join(b"\0" + bytes([len(n)]) + n.encode() + bytes([len(v)]) + v.encode() for n, v in fields))

    def more(self, size):
        """As much of a body as there is room for: how much."""
        sent = 0
        while sent < size:
            n = min(size - sent, MAX_FRAME, self.room[0], self.room[self.stream])
            if not n:
                kind, *_ = self.next()
                if kind in (None, RST, GOAWAY, HEADERS):
                    break
                continue
            self.frame(DATA, 0, self.stream, bytes(n))
            sent += n
            for at in (0, self.stream):
                self.room[at] -= n
        return sent

    def next(self):
        """The next frame: its kind, stream and data; None at the end."""
        while len(self.left) < 9 or len(self.left) < 9 + int.from_bytes(self.left[:3], "big"):
            try:
                got = self.socket.recv(1 << 16)
            except ConnectionError:
                got = b""
            if not got:
                return None, 0, b""
            self.left += got
        size = 9 + int.from_bytes(self.left[:3], "big")
        frame, self.left = self.left[:size], self.left[size:]
        kind, stream = frame[3], int.from_bytes(frame[5:9], "big")
        if kind == WINDOW:
            self.room[stream] = self.room.get(stream, 0) + int.from_bytes(frame[9:], "big")
        elif kind == SETTINGS and not frame[4] & 1:
            self.frame(SETTINGS, 1, 0, b"")
        return kind, stream, frame[9:]

    def status(self):
        """The header block that ends the call."""
        kind = 0
        while kind is not None:
            kind, stream, data = self.next()
            if kind in (HEADERS, RST) and stream == self.stream:
                return data if kind == HEADERS else b"reset"
        return b"closed"

    def close(self):
        self.socket.close()


def has(status, code):
    """Is grpc-status `code`? nghttp2 writes two digits in Huffman's code if that is shorter."""
    huffman = {EXHAUSTED: b"8", UNIMPLEMENTED: b"\x08\xbf", UNAUTHENTICATED: b"\x0b\x9f"}
    return code in status or huffman[code] in status


def rank(fleet, options=None):
    with flight.FlightClient(fleet.head.uri) as client:
        return client.get_flight_info(flight.FlightDescriptor.for_path("0", "1"), options).total_records


# ---- nothing is read of whom may not call ----
token = ("--token-file", scratch / "token")
good = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer a.token")])
with Fleet(scratch / "t.parquet", 1, args=token, head=token) as fleet:
    worker = fleet.workers[0]
    before = worker.rss()
    peers, sent = [], 0
    for _ in range(8):
        peers.append(Peer(worker))
        for _ in range(50):
            peers[-1].begin("DoPut")
            sent += peers[-1].more(1 << 20)
    check("400 bodies without a token: no memory", None if SANITIZED or worker.rss() - before < 8 << 20 else f"{worker.rss() - before} bytes for {sent}")
    peer = Peer(worker)
    peer.begin("DoPut")
    status = peer.status()
    check("the answer does not wait for the body", None if has(status, UNAUTHENTICATED) else status)
    check("who has the token is served", None if rank(fleet, good) == 1000 else "not served")
    for peer in peers:
        peer.close()

# ---- limits of bodies ----
with Fleet(scratch / "t.parquet", 1) as fleet:
    worker = fleet.workers[0]
    for method, size, code in (("DoGet", 300 << 10, EXHAUSTED), ("DoExchange", 0, UNIMPLEMENTED), ("Handshake", 0, UNIMPLEMENTED), ("PollFlightInfo", 0, UNIMPLEMENTED)):
        peer = Peer(worker)
        peer.begin(method)
        peer.more(size)
        status = peer.status()
        check(f"{method}, whose request does not end, is answered: {code.decode()}", None if has(status, code) else status)
        peer.close()
    peer = Peer(worker)
    peer.begin("DoGet")
    peer.frame(DATA, 0, peer.stream, b"\0\x40\0\0\0")
    status = peer.status()
    check("a message that says that it is 1 GiB: answered before it comes", None if has(status, EXHAUSTED) else status)
    for kind, other in (("application/grpc-web", True), ("application/grpcx", True), ("application/grpc;x=y", False), ("application/grpc+proto", False)):
        peer.close()
        peer = Peer(worker)
        peer.begin("DoExchange", kind)
        status = peer.status()
        check(f"content-type {kind}", None if has(status, UNIMPLEMENTED) != other else status)
    peer.close()
    before = worker.rss()
    peers = []
    for _ in range(40):
        peers.append(Peer(worker))
        for _ in range(40):
            peers[-1].begin("DoGet")
            peers[-1].more(200 << 10)
    check("1600 tickets of 200 KiB that do not end: at most 128 MiB, and some", None if SANITIZED or worker.rss() - before < 150 << 20 else f"{worker.rss() - before} bytes")
    for peer in peers:
        peer.close()
    fleet.until(lambda: rank(fleet) == 1000)
    peer = Peer(worker)
    peer.begin("DoGet")
    peer.more(200 << 10)
    fleet.until(lambda: fleet.read(0, 1).num_rows == 1000)
    check("when they are gone, others are served", None)

    # ---- connections of one address ----
    peers = []
    for _ in range(300):
        try:
            peers.append(Peer(worker))
            peers[-1].begin("DoGet")
        except ConnectionError:
            pass
    other = Peer(worker, "127.0.0.2")
    other.begin("DoExchange")
    status = other.status()
    check("300 connections of one address with a request each: another address is served", None if has(status, UNIMPLEMENTED) else status)
    fds = len(list(pathlib.Path(f"/proc/{worker.process.pid}/fd").iterdir()))
    check("which has at most 256", None if fds < 256 + 40 else fds)
    for peer in peers:
        peer.close()

# ---- assignments while a load hangs ----
silent = socket.create_server(("127.0.0.1", 0))
worker = Server("worker", f"http://127.0.0.1:{silent.getsockname()[1]}/t.parquet")
head = flight.FlightCallOptions(headers=[(b"kftrainer-head", b"Bearer mine")])
states = []
with flight.FlightClient(worker.uri) as client:
    for end in range(1, 9):
        rows = f'{{"first": 0, "end": {end}, "rows": 10}}'.encode()
        list(client.do_action(flight.Action("assign", rows), head))
        if end == 1:
            worker.wait_for("INFO loading first=0")
            silent.accept()
        states += [json.loads(r.body.to_pybytes())["state"] for r in client.do_action(flight.Action("stats", b""))]
check("8 assignments while the first one's file does not come: all are answered", None if states == ["loading"] * 8 else states)
worker.stop(signal.SIGKILL)
shutil.rmtree(scratch)
finish()
