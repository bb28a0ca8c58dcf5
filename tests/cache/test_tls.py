#!/usr/bin/env python3
"""TLS of the data cache: what reads through it, what is refused in one line, and that no peer stops others."""
import os
import pathlib
import re
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

from fleet import PROGRAM, Authority, Fleet, Server
from tap import check, finish

warnings.simplefilter("ignore", DeprecationWarning)  # TLS 1.1, which is refused
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-tls-"))
N = 300_000
table = pa.table({"i": pa.array(range(N), pa.int64()), "text": [f"row {i} " + "x" * (i % 50) for i in range(N)]})
pq.write_table(table, scratch / "t.parquet", row_group_size=20_000)
ours, other = Authority(scratch), Authority(scratch, "other")
tls = ours.certificate("server")


def cat(*args, **env):
    done = subprocess.run([PROGRAM, "cache-serve", "cat", *map(str, args)], capture_output=True, text=True, env={**os.environ, **env})
    return done.returncode, done.stdout, done.stderr


def one_line(result, *texts):
    code, out, err = result
    return None if code and not out and err.count("\n") == 1 and all(t in err for t in texts) else result


def fails(call, *texts):
    try:
        call()
    except (flight.FlightError, pa.ArrowException, OSError) as e:
        return None if any(t in str(e) for t in texts) else f"{type(e).__name__}: {e}"
    return "it was not refused"


def speak(server, version, alpn=("h2",)):
    context = ssl.create_default_context(cafile=ours.ca)
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(list(alpn))
    with socket.create_connection(("127.0.0.1", server.port)) as raw, context.wrap_socket(raw, server_hostname="127.0.0.1") as s:
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5))
        return s.version(), s.selected_alpn_protocol(), s.cipher()[0], len(s.recv(9))


def ends(server, data):
    """It sends that, and waits until the server has closed the connection."""
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(data)
        try:
            while s.recv(4096):
                pass
        except ConnectionResetError:
            pass


with Fleet(scratch / "t.parquet", 2, args=tls, head=(*tls, "--ca-file", ours.ca), authority=ours) as fleet:
    head, workers = fleet.head, fleet.workers
    info = fleet.info(0, 1)
    check("the head names its workers grpc+tls://", None if {l.uri.decode() for e in info.endpoints for l in e.locations} ==
          {f"grpc+tls://127.0.0.1:{w.port}" for w in workers} else info.endpoints)
    whole = fleet.read(0, 1)
    check("pyarrow reads all rows, in order", None if whole.cast(table.schema).equals(table) else whole.num_rows)
    parts = [None] * 8

    def part(rank):
        parts[rank] = fleet.read(rank, 8)

    threads = [threading.Thread(target=part, args=(r,)) for r in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    check("the same by 8 ranks at once", None if pa.concat_tables(parts).equals(whole) else [p and p.num_rows for p in parts])
    code, out, err = cat("--ca-file", ours.ca, "--count", head.uri)
    check("cat counts them", None if (code, out) == (0, f"{N}\n") else (code, out, err))
    code, out, err = cat("--count", head.uri, SSL_CERT_FILE=str(ours.ca))
    check("and with the CA among the system's", None if (code, out) == (0, f"{N}\n") else (code, out, err))
    check("/ready stays without TLS", None if head.ready()[0] == 200 else head.ready())

    check("cat, another CA", one_line(cat("--ca-file", other.ca, head.uri), "certificate", "--ca-file"))
    check("cat, no CA", one_line(cat(head.uri), "certificate"))
    check("cat without TLS", one_line(cat(head.uri.replace("+tls", "")), "grpc+tls://"))
    check("cat, a CA file that does not exist", one_line(cat("--ca-file", scratch / "none", head.uri), "none"))
    check("pyarrow, another CA", fails(lambda: list(other.client(head.uri).list_flights()), "certificate", "handshake", "CERTIFICATE"))
    check("pyarrow without TLS", fails(lambda: list(flight.FlightClient(head.uri.replace("+tls", "")).list_flights()), "this port speaks TLS"))
    check("another name than the certificate's", one_line(cat("--ca-file", ours.ca, f"grpc+tls://ip6-localhost:{head.port}"), "ip6-localhost"))

    for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
        got = speak(head, version)
        check(f"{name} is spoken, with an AEAD and h2", None if got[:2] == (name, "h2") and got[3] and ("GCM" in got[2] or "CHACHA" in got[2]) else got)
    check("TLS 1.1 is not", fails(lambda: speak(head, ssl.TLSVersion.TLSv1_1), "TLSV1_ALERT", "PROTOCOL_VERSION", "NO_PROTOCOLS", "NO_CIPHERS", "no protocols"))
    check("nor HTTP/1.1", fails(lambda: speak(head, ssl.TLSVersion.TLSv1_3, ("http/1.1",)), "no application protocol", "NO_APPLICATION_PROTOCOL"))

    for what, data in (("garbage", b"\x80" * 5000), ("no bytes but zeros", bytes(70_000)), ("HTTP/1.1", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                       ("a record that is too long", b"\x16\x03\x01\xff\xff" + bytes(65535)), ("an alert", b"\x15\x03\x03\x00\x02\x02\x28"),
                       ("another preface", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" + bytes(100))):
        ends(workers[0], data)
        check(f"{what}: the connection ends", None)
    workers[0].wait_for(r"a connection failed.*")

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    before = workers[0].rss()
    half = []
    for i in range(1000):
        s = socket.create_connection(("127.0.0.1", workers[0].port))
        s.sendall((b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")[i % 3])
        half.append(s)
    again = fleet.read(0, 1)
    check("a thousand half-open handshakes stop nobody", None if again.equals(whole) else again.num_rows)
    grown = workers[0].rss() - before
    check("and cost less than 64 MiB", None if grown < 64 << 20 else grown)
    held = len(list(pathlib.Path(f"/proc/{workers[0].process.pid}/fd").iterdir()))
    check("the oldest ones are closed", None if held < 400 else held)
    workers[0].wait_for("not over after 10000 ms")
    check("and the others after 10 s", None)
    [s.close() for s in half]

    at = {s: len(s.lines) for s in (head, *workers)}
    ours.certificate("server")
    for s in at:
        s.wait_for("serving a certificate", at[s])
    check("a renewed certificate is served", None if fleet.read(0, 1).equals(whole) else "wrong")
    serial = subprocess.run(["openssl", "x509", "-in", scratch / "server.pem", "-noout", "-serial"], check=True, capture_output=True, text=True).stdout.strip()
    pem = ssl.get_server_certificate(("127.0.0.1", head.port))
    got = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem, check=True, capture_output=True, text=True).stdout.strip()
    check("the very one in the file", None if got == serial else (got, serial))
    at = len(workers[1].lines)
    (scratch / "server.pem").write_text("no certificate\n")
    workers[1].wait_for("the previous one stays in use", at)
    check("a file that is no certificate changes nothing", None if fleet.read(0, 1).equals(whole) else "wrong")
check("they end with 0", None if fleet.codes == [0, 0, 0] else fleet.codes)

tls = ours.certificate("server")
rsa = ours.certificate("rsa", key=("-newkey", "rsa:2048"))
token = scratch / "token"
token.write_text("a.token")
with Fleet(scratch / "t.parquet", 1, args=(*rsa, "--token-file", token), head=(*tls, "--ca-file", ours.ca, "--token-file", token)) as fleet:
    code, out, err = cat("--ca-file", ours.ca, "--token-file", token, "--count", fleet.head.uri)
    check("an RSA key, and a token", None if (code, out) == (0, f"{N}\n") else (code, out, err))
    check("no token", one_line(cat("--ca-file", ours.ca, fleet.head.uri), "token is required"))

plain, secure = Server("worker", scratch / "t.parquet"), Server("worker", scratch / "t.parquet", *ours.certificate("server"))
check("cat with TLS, a server without", one_line(cat("--ca-file", ours.ca, f"grpc+tls://127.0.0.1:{plain.port}"), "TLS"))
check("pyarrow with TLS, a server without", fails(lambda: list(ours.client(f"grpc+tls://127.0.0.1:{plain.port}").list_flights()), "WRONG_VERSION", "handshake", "SSL"))
check("which says so", None if "the client speaks TLS" in plain.wait_for("a connection failed.*")[0] else plain.lines)
for what, options, worker, text in (("a head with TLS, a worker without", (*tls, "--ca-file", ours.ca), plain, "TLS"), ("a head without, a worker with", (), secure, "grpc\\+tls://"),
                                    ("a head that trusts another CA", (*tls, "--ca-file", other.ca), secure, "certificate")):
    it = Server("head", scratch / "t.parquet", "--worker", f"127.0.0.1:{worker.port}", *options)
    said = it.wait_for("worker is not ready.*")[0]
    check(f"{what}: why it is not ready", None if re.search(text, said) else said)
    it.stop()
plain.stop()
secure.stop()

for what, options, text in (("a certificate without its key", tls[:2], "together"), ("a file that does not exist", ("--tls-cert", scratch / "none", *tls[2:]), "none"),
                            ("a key of another certificate", (*rsa[:2], *tls[2:]), "another key"), ("--ca-file without a certificate", ("--ca-file", ours.ca), "--tls-cert")):
    done = subprocess.run([PROGRAM, "cache-serve", "head", "127.0.0.1", "0", "--worker", "127.0.0.1:1", *options], capture_output=True, text=True,
                          env={**os.environ, "METADATA_LOC": str(scratch / "t.parquet"), "HEALTH_PORT": "0"})
    check(f"refused: {what}", None if done.returncode and text in done.stderr else done)
shutil.rmtree(scratch)
finish()
