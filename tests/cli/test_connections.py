#!/usr/bin/env python3
"""Certificates and proxies on the way to an API server: what Go's clients accept is accepted."""
import base64
import http.server
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from tap import check, finish

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
SECONDS = 60
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
NOTHING = "No TrainJobs in namespace default"


# ---- certificates -----------------------------------------------------------------------
def openssl(*args):
    subprocess.run(["openssl", *args], check=True, stderr=subprocess.DEVNULL)


def new_key(name, kind="P-256"):
    if kind == "ed25519":
        openssl("genpkey", "-algorithm", kind, "-out", f"{name}.key")
    elif kind.startswith("rsa"):
        openssl("genrsa", "-out", f"{name}.key", kind[3:])
    else:
        openssl("ecparam", "-name", {"P-256": "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1"}[kind],
                "-genkey", "-noout", "-out", f"{name}.key")


def new(name, by=None, ext="subjectAltName=IP:127.0.0.1", kind="P-256", key=None, cn=None, more=()):
    """NAME.crt and NAME.key; `by`: the CA, or None for itself; `key`: another one's."""
    if key:
        write(f"{name}.key", read(f"{key}.key"))
    else:
        new_key(name, kind)
    write(f"{name}.ext", "\n".join(ext.split("|")) + "\n")
    openssl("req", "-new", "-key", f"{name}.key", "-subj", f"/CN={cn or name}", "-out", f"{name}.csr")
    signer = ["-CA", f"{by}.crt", "-CAkey", f"{by}.key", "-CAcreateserial"] if by else ["-signkey", f"{name}.key"]
    openssl("x509", "-req", "-in", f"{name}.csr", *signer, "-days", "30", "-extfile", f"{name}.ext",
            "-out", f"{name}.crt", *more)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def chain(*names):
    """A file with these certificates, in this order."""
    path = "+".join(names) + ".pem"
    write(path, "".join(read(f"{name}.crt") for name in names))
    return path


# ---- servers ----------------------------------------------------------------------------
class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = json.dumps({"kind": "TrainJobList", "apiVersion": "trainer.kubeflow.org/v1alpha1",
                           "metadata": {"resourceVersion": "1"}, "items": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve(certs, key, version=None, of=Server):
    server = of(("127.0.0.1", 0), Api)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    if version:
        context.minimum_version = context.maximum_version = version
    context.load_cert_chain(certs, f"{key}.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server


def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Proxy:
    """HTTP CONNECT or SOCKS5; every name leads to 127.0.0.1. `asked` has what clients asked for."""

    def __init__(self, kind, password=None, tls=None):
        self.kind, self.password, self.asked = kind, password, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(f"{tls}.crt", f"{tls}.key")
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.socket.accept()
            threading.Thread(target=self.one, args=(client,), daemon=True).start()

    def one(self, client):
        try:
            if self.tls:
                client = self.tls.wrap_socket(client, server_side=True)
            host, port = self.http(client) if self.kind == "http" else self.socks(client)
        except (OSError, ValueError, IndexError):
            client.close()
            return
        server = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n" if self.kind == "http" else b"\5\0\0\1\0\0\0\0\0\0")
        threading.Thread(target=pump, args=(server, client), daemon=True).start()
        pump(client, server)

    def http(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536) or b"\r\n\r\n"
        line, _, rest = head.decode().partition("\r\n")
        host, _, port = line.split()[1].rpartition(":")
        self.asked.append(host)
        if self.password and base64.b64encode(self.password.encode()).decode() not in rest:
            client.sendall(b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
            raise ValueError
        return host, int(port)

    def socks(self, client):
        client.recv(client.recv(2)[1])
        client.sendall(b"\5\0")
        kind = client.recv(4)[3]
        if kind != 3:
            raise ValueError
        host = client.recv(client.recv(1)[0]).decode()
        self.asked.append(host)
        return host, int.from_bytes(client.recv(2), "big")


def run(port, cluster, env=None, host="127.0.0.1"):
    """The output of `get`, standard error included."""
    write("kubeconfig", json.dumps({
        "clusters": [{"name": "c", "cluster": {"server": f"https://{host}:{port}", **cluster}}],
        "users": [{"name": "u", "user": {"token": "geheim"}}], "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}))
    plain = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    done = subprocess.run([PROGRAM, "get", "--kubeconfig", "kubeconfig"], text=True, timeout=SECONDS, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**plain, **(env or {})})
    return done.stdout


def gets(what, want, *args, **options):
    got = run(*args, **options)
    check(what, None if re.search(want, got) and "geheim" not in got else got)


def tls(what, want, certs, key, ca, version=None, **cluster):
    server = serve(certs, key, version)
    gets(what, want, server.server_port, {**({"certificate-authority": ca} if ca else {}), **cluster})
    server.shutdown()
    server.server_close()


CA = "basicConstraints=critical,CA:TRUE"
new("root", ext=CA)
new("other", ext=CA, cn="root")
new("far", ext=CA)
new("int", "root", ext=CA)
new("int2", "far", ext=CA, key="int", cn="int")
new("leaf", "int")
new("direct", "root")
class Rotation(Server):
    """Once the client has read the CA and connects, its file has another."""
    after = None

    def get_request(self):
        write("rotated.crt", read(self.after))
        return super().get_request()


def rotates(what, want, after):
    write("rotated.crt", read("root.crt"))
    server = serve("moved.crt", "moved", of=Rotation)
    server.after = after
    gets(what, want, server.server_port, {"certificate-authority": "rotated.crt"})
    server.shutdown()
    server.server_close()


SUPPORTED = "supported: RSA, and ECDSA with P-256, P-384 and P-521"

# ---- rotation ---------------------------------------------------------------------------
new("moved", "far")
write("nothing.crt", "nothing\n")
rotates("a CA that is replaced while the program runs is read again", NOTHING, "far.crt")
rotates("... also one that is added to the old", NOTHING, chain("root", "far"))
rotates("... unless it is of somebody else", "untrusted CA", "int.crt")
rotates("... or cannot be read", "untrusted CA", "nothing.crt")

# ---- chains -----------------------------------------------------------------------------
tls("the server's own certificate is the CA", NOTHING, "direct.crt", "direct", "direct.crt")
new("self", ext="subjectAltName=IP:127.0.0.1|basicConstraints=CA:FALSE")
tls("... one that signed itself and is no CA", NOTHING, "self.crt", "self", "self.crt")
new("tsh", ext=f"{CA}|subjectAltName=IP:127.0.0.1|keyUsage=critical,keyCertSign")
tls("... one that is a CA and may only sign", NOTHING, "tsh.crt", "tsh", "tsh.crt")
tls("an intermediate is the CA", NOTHING, "leaf.crt", "leaf", "int.crt")
tls("a chain to the root", NOTHING, chain("leaf", "int"), "leaf", "root.crt")
tls("... in another order, with the root and a stranger", NOTHING, chain("leaf", "root", "far", "int"), "leaf",
    "root.crt")
tls("... without the intermediate", r"untrusted CA; check the address and certificate-authority \(its CA: CN=int\)",
    "leaf.crt", "leaf", "root.crt")
tls("an intermediate signed by two, of which the second is trusted", NOTHING, chain("leaf", "int2", "int"), "leaf",
    "root.crt")
tls("a CA of the same name with another key", "untrusted CA.*CN=root, with another key", "direct.crt", "direct",
    "other.crt")
new("ed", ext=CA, kind="ed25519")
write("bundle.pem", "A comment\n" + read("ed.crt") + "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"
      + read("root.key") + read("far.crt") + "# root\n" + read("root.crt").replace("\n", "\r\n") + read("root.crt"))
tls("a bundle with what cannot be read", NOTHING, "direct.crt", "direct", "bundle.pem")
tls("... which is named where it might have helped", r"its CA: CN=root; skipped: certificate 1: .* is Ed25519",
    "direct.crt", "direct", chain("ed", "far"))
tls("a CA of Ed25519", r"kubeconfig:1:\d+: clusters\[0\].cluster.certificate-authority: ed.crt: certificate 1: its "
    rf"signature is Ed25519, which is not supported \({SUPPORTED}\)", "direct.crt", "direct", "ed.crt")
new("byed", "ed")
tls("... that has signed", f"Signature algorithm .* is unsupported.*; {SUPPORTED}", "byed.crt", "byed", "root.crt")

# ---- names ------------------------------------------------------------------------------
new("cn", "root", ext="extendedKeyUsage=serverAuth", cn="127.0.0.1")
tls("a Common Name alone", "its certificate has no subject alternative name; the Common Name does not count",
    "cn.crt", "cn", "root.crt")
new("dns", "root", ext="subjectAltName=DNS:*.example.com,DNS:127.0.0.1,IP:10.0.0.1")
tls("another name, an address as a name", r"another name: it is for \*\.example\.com, 127\.0\.0\.1, 10\.0\.0\.1$",
    "dns.crt", "dns", "root.crt")
tls("tls-server-name, a wildcard", NOTHING, "dns.crt", "dns", "root.crt", **{"tls-server-name": "a.example.com"})
tls("... of one label", "for another name", "dns.crt", "dns", "root.crt", **{"tls-server-name": "a.b.example.com"})
for want, names, constraints in (
        (NOTHING, "IP:127.0.0.1,DNS:a.example.com", "permitted;IP:127.0.0.0/255.0.0.0,permitted;DNS:example.com"),
        ("a name outside the name constraints of CN=limited", "IP:127.0.0.1,DNS:a.example.net",
         "permitted;DNS:example.com"),
        ("a name outside the name constraints of CN=limited", "IP:127.0.0.1", "excluded;IP:127.0.0.0/255.0.0.0")):
    new("limited", "root", ext=f"{CA}|nameConstraints=critical,{constraints}")
    new("below", "limited", ext=f"subjectAltName={names}")
    tls(f"name constraints {constraints}", want, chain("below", "limited"), "below", "root.crt")

# ---- usages, algorithms, versions --------------------------------------------------------
new("usage", "root", ext="subjectAltName=IP:127.0.0.1|keyUsage=critical,keyEncipherment")
tls("a key usage does not matter", NOTHING, "usage.crt", "usage", "root.crt")
new("client", "root", ext="subjectAltName=IP:127.0.0.1|extendedKeyUsage=clientAuth")
tls("a client's certificate", r"its certificate is not for servers \(extended key usage\)", "client.crt", "client",
    "root.crt")
new("odd", "root", ext="subjectAltName=IP:127.0.0.1|1.2.3.4=critical,DER:0500")
tls("a critical extension that nobody knows", "critical extension that is not supported: 1.2.3.4", "odd.crt", "odd",
    "root.crt")
new("noca", "root", ext="basicConstraints=CA:FALSE")
new("below", "noca")
tls("signed by what is no CA", "CN=noca, which signed its certificate, is not a CA", chain("below", "noca"), "below",
    "root.crt")
for kind, more in (("P-384", ()), ("P-521", ()), ("rsa1024", ()),
                   ("rsa2048", ("-sigopt", "rsa_padding_mode:pss", "-sha256"))):
    new("kind", ext=f"subjectAltName=IP:127.0.0.1|{CA}", kind=kind, more=more)
    new("by", "kind", kind=kind, more=more)
    tls(f"{kind} {' '.join(more)}", NOTHING, "by.crt", "by", "kind.crt")
new("sha1", "root", more=("-sha1",))
tls("SHA-1", "its certificate is signed with SHA-1", "sha1.crt", "sha1", "root.crt")
for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
    tls(version.name, NOTHING, "direct.crt", "direct", "root.crt", version)
    tls(f"{version.name}, not verified", NOTHING, "odd.crt", "odd", None, version,
        **{"insecure-skip-tls-verify": True})

# ---- proxies ----------------------------------------------------------------------------
new("kube", "root", ext="subjectAltName=DNS:kube.test")
api = serve("kube.crt", "kube")
trust = {"certificate-authority": "root.crt"}


def proxied(what, want, proxy, asked, url=None, env=None, host="kube.test"):
    proxy.asked.clear()
    cluster = {**trust, "tls-server-name": "kube.test"} if host != "kube.test" else trust
    got = run(api.server_port, {**cluster, **({"proxy-url": url} if url else {})}, env, host)
    good = re.search(want, got) and "geheim" not in got and proxy.asked == asked
    check(what, None if good else f"{got}{proxy.asked}")


socks, plain, locked = Proxy("socks"), Proxy("http"), Proxy("http", "me:geheim@1")
secure, strange = Proxy("http", tls="direct"), Proxy("http", tls="self")
HTTP, SOCKS = f"http://127.0.0.1:{plain.port}", f"socks5://127.0.0.1:{socks.port}"
LOCKED = f"127.0.0.1:{locked.port}"
proxied("socks5 resolves at the proxy", NOTHING, socks, ["kube.test"], SOCKS)
proxied("... of HTTPS_PROXY", NOTHING, socks, ["kube.test"], env={"HTTPS_PROXY": SOCKS})
proxied("http", NOTHING, plain, ["kube.test"], HTTP)
proxied("... of https_proxy, without a scheme", NOTHING, plain, ["kube.test"], env={"https_proxy": HTTP[7:]})
proxied("proxy-url counts for this machine and in spite of NO_PROXY", NOTHING, plain, ["localhost"], HTTP,
        {"NO_PROXY": "*"}, "localhost")
proxied("the variables do not count for this machine", NOTHING, plain, [], None, {"HTTPS_PROXY": HTTP}, "localhost")
proxied("... nor with NO_PROXY", "kube.test:.*cannot resolve the host name", plain, [], None,
        {"HTTPS_PROXY": HTTP, "NO_PROXY": ".test"})
proxied("... nor HTTP_PROXY and ALL_PROXY", "kube.test:.*cannot resolve the host name", plain, [], None,
        {"HTTP_PROXY": HTTP, "ALL_PROXY": HTTP})
proxied("a user and a password", NOTHING, locked, ["kube.test"], f"http://me:geheim%401@{LOCKED}")
proxied("... that are wrong", rf"the proxy {LOCKED} \(proxy-url\) refused the connection with HTTP 407: the user name or password in its URL is wrong", locked,
        ["kube.test"], f"http://me:geheim@{LOCKED}")
proxied("https, verified by the cluster's CA", NOTHING, secure, ["kube.test"], f"https://127.0.0.1:{secure.port}")
proxied("... whose certificate is a stranger's",
        rf"its proxy 127.0.0.1:{strange.port} \(proxy-url\): its certificate is signed by an untrusted CA", strange, [],
        f"https://127.0.0.1:{strange.port}")
proxied("nobody is there", r"cannot connect to its proxy 127.0.0.1:1 \(HTTPS_PROXY\): Connection refused", plain, [],
        env={"HTTPS_PROXY": "http://geheim@127.0.0.1:1"})
proxied("a scheme that Go does not know", "cluster.proxy-url: unsupported scheme 'socks4'; expected http, https or "
        "socks5", plain, [], "socks4://127.0.0.1:1")
finish()
