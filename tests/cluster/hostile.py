#!/usr/bin/python3
"""Clients that mean no good, for test_hostile.sh.

hostile.py hold ADDRESS PORT HOW COUNT   COUNT connections at a time, from three addresses, that
                                         never get on; those that the server ends are opened
                                         again after 10 s. "holding" is printed when all
                                         have been opened, and on SIGTERM how many were.
    HOW: silent   nothing is sent          hello    a piece of a ClientHello
         tls      a handshake, no request  head     ...and a header, a byte a second
         body     ...and a body, a byte a second       plain-head, plain-body: without TLS
hostile.py token KEY CHANGES < TOKEN     a service account's token with claims changed, signed
                                         by the RSA key in that file, or unsigned (KEY: none)
"""
import base64
import json
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import time

HELLO = bytes.fromhex("1603010200010001fc0303")
HEAD = b"POST /mutate-trainer-kubeflow-org-v1alpha1-trainjob HTTP/1.1\r\nHost: a\r\n"
BODY = HEAD + b"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
START = {"silent": b"", "hello": HELLO, "tls": b"", "head": HEAD + b"X-", "body": BODY}
DRIP = {"head": b"x", "body": b" "}


class Held:
    """One connection: `step` when its socket is ready, `drip` once a second."""

    def __init__(self, number, options):
        self.how = options.how.replace("plain-", "")
        self.sock = socket.socket()
        self.sock.setblocking(False)
        self.sock.bind((f"127.7.0.{number % 3 + 1}", 0))
        self.sock.connect_ex((options.address, options.port))
        self.secure = self.how not in ("silent", "hello") and not options.how.startswith("plain-")
        self.tls, self.ready = options.tls, False

    def step(self):
        """What it waits for next; None: it is over."""
        try:
            if self.secure and not isinstance(self.sock, ssl.SSLSocket):
                self.sock.getpeername()
                self.sock = self.tls.wrap_socket(self.sock, do_handshake_on_connect=False)
            if self.secure and not self.ready:
                self.sock.do_handshake()
            if not self.ready:
                self.sock.getpeername()
                self.ready = True
                self.sock.send(START[self.how])
            elif not self.sock.recv(65536):
                return None
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except ssl.SSLWantWriteError:
            return selectors.EVENT_WRITE
        except OSError:
            return None
        return selectors.EVENT_READ

    def drip(self):
        try:
            if self.ready and self.how in DRIP:
                self.sock.send(DRIP[self.how])
        except OSError:
            pass  # step() sees it, too


class Hold:
    def __init__(self, address, port, how, count):
        self.address, self.port, self.how, self.count = address, int(port), how, int(count)
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.selector, self.opened, self.closed = selectors.DefaultSelector(), 0, []
        signal.signal(signal.SIGTERM, self.end)

    def end(self, *_):
        print(self.opened, flush=True)
        sys.exit(0)

    def open(self):
        held = Held(self.opened, self)
        self.opened += 1
        self.selector.register(held.sock, selectors.EVENT_WRITE, held)

    def step(self, key):
        held, wait = key.data, key.data.step()
        self.selector.unregister(key.fileobj)
        if wait is None:
            held.sock.close()
            self.closed.append(time.monotonic())
        else:
            self.selector.register(held.sock, wait, held)

    def run(self):
        said, next_drip = False, time.monotonic() + 1
        while True:
            self.closed = [when for when in self.closed if when > time.monotonic() - 10]
            for _ in range(min(50, self.count - len(self.selector.get_map()) - len(self.closed))):
                self.open()
            for key, _ in self.selector.select(0.2):
                self.step(key)
            if not said and self.opened >= self.count:
                said = True
                print("holding", flush=True)
            if time.monotonic() > next_drip:
                next_drip += 1
                for key in list(self.selector.get_map().values()):
                    key.data.drip()


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(key, changes):
    head, claims, _ = sys.stdin.read().strip().split(".")
    head, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, claims))
    claims.update(json.loads(changes))
    if key == "none":
        head = {"alg": "none", "typ": "JWT"}
    text = encoded(json.dumps(head).encode()) + "." + encoded(json.dumps(claims).encode())
    signature = b"" if key == "none" else subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", key], input=text.encode(), stdout=subprocess.PIPE,
        check=True).stdout
    print(text + "." + encoded(signature))


def main():
    action, *arguments = sys.argv[1:]
    if action == "hold":
        Hold(*arguments).run()
    elif action == "token":
        token(*arguments)


if __name__ == "__main__":
    main()
