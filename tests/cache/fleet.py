"""A head and workers of the data cache on loopback, and upstream's way to read from them."""
import atexit
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pyarrow as pa
from pyarrow import flight

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
SANITIZED = b"__asan_init" in pathlib.Path(PROGRAM).read_bytes()  # its memory says nothing


class Authority:
    """A CA in a directory: `ca`, and certificates of it for 127.0.0.1 and localhost."""

    def __init__(self, directory, name="ca"):
        self.directory, self.name, self.ca = directory, name, directory / f"{name}.pem"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                     "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.directory, check=True, capture_output=True)

    def certificate(self, name, names="IP:127.0.0.1,DNS:localhost", key=("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")):
        """The options of a server for it; files that exist are replaced one after the other."""
        new = f"{name}.new"
        self.openssl("req", *key, "-nodes", "-subj", f"/CN={name}", "-keyout", f"{new}.key", "-out", f"{name}.csr")
        (self.directory / f"{name}.ext").write_text(f"subjectAltName={names}\n")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.pem", "-CAkey", f"{self.name}.key", "-CAcreateserial", "-days", "2",
                     "-extfile", f"{name}.ext", "-out", f"{new}.pem")
        for kind in ("key", "pem"):
            (self.directory / f"{new}.{kind}").rename(self.directory / f"{name}.{kind}")
        return "--tls-cert", self.directory / f"{name}.pem", "--tls-key", self.directory / f"{name}.key"

    def client(self, uri, **options):
        return flight.FlightClient(uri, tls_root_certs=self.ca.read_bytes(), **options)


started = []
signal.signal(signal.SIGTERM, lambda *_: sys.exit("killed"))


@atexit.register
def end_all():
    for process in started:
        process.kill()


class Server:
    """One process; what it logs is kept, and may be waited for."""

    def __init__(self, role, location, *args, port=0, **env):
        self.lines = []
        self.news = threading.Condition()
        self.process = subprocess.Popen(
            [PROGRAM, "cache-serve", role, "127.0.0.1", str(port), *map(str, args)], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "METADATA_LOC": str(location), "HEALTH_PORT": "0", **env})
        started.append(self.process)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        ports = self.wait_for(r"listening port=(\d+) health=(\d+)")
        self.port, self.health = int(ports[1]), int(ports[2])
        self.uri = f"{'grpc+tls' if '--tls-cert' in args else 'grpc'}://127.0.0.1:{self.port}"

    def read(self):
        for line in self.process.stderr:
            if os.environ.get("FLEET_LOG"):
                sys.stderr.write(f"{self.process.pid}: {line}")
            with self.news:
                self.lines.append(line)
                self.news.notify_all()
        with self.news:
            self.lines.append(None)
            self.news.notify_all()

    def wait_for(self, pattern, after=0):
        """The match of a line that was logged, or will be; an error if the process ends without it."""
        with self.news:
            at = after
            while True:
                while at == len(self.lines):
                    self.news.wait()
                if self.lines[at] is None:
                    raise RuntimeError(f"it ended with {self.process.wait()} and never said {pattern}: {self.lines}")
                found = re.search(pattern, self.lines[at])
                if found:
                    return found
                at += 1

    def ready(self, path="/ready"):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}{path}") as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def rss(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) * 1024

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait()
        self.reader.join()
        return code


class Fleet:
    """With `wait`, it is ready; with an Authority its clients trust that."""

    def __init__(self, location, workers=2, wait=True, args=(), head=(), authority=None, **env):
        self.location, self.args, self.head_args, self.env = location, args, head, env
        self.client = authority.client if authority else flight.FlightClient
        self.workers = [Server("worker", location, *args, **env) for _ in range(workers)]
        self.head = self.start_head()
        if wait:
            self.wait()

    def start_head(self):
        options = [x for w in self.workers for x in ("--worker", f"127.0.0.1:{w.port}")]
        return Server("head", self.location, *options, *self.head_args, **self.env)

    def wait(self):
        self.head.wait_for(r"INFO ready rows=")

    def until(self, true):
        """Until that is true: what a head learns by asking its workers."""
        while not true():
            if self.head.process.poll() is not None:
                raise RuntimeError(f"the head ended: {self.head.lines}")
            time.sleep(.05)

    def restart_worker(self, i):
        self.workers[i] = Server("worker", self.location, *self.args, port=self.workers[i].port, **self.env)

    def info(self, rank, world, *more):
        with self.client(self.head.uri) as client:
            return client.get_flight_info(flight.FlightDescriptor.for_path(str(rank), str(world), *more))

    def read(self, rank, world):
        """As upstream's client does: each endpoint in order, a new client for each location."""
        batches = []
        for endpoint in self.info(rank, world).endpoints:
            for location in endpoint.locations:
                with self.client(location) as client:
                    reader = client.do_get(endpoint.ticket)
                    schema = reader.schema
                    batches += [chunk.data for chunk in reader]
        return pa.Table.from_batches(batches, schema)

    def action(self, server, name, body=b""):
        with self.client(server.uri) as client:
            return [json.loads(r.body.to_pybytes()) for r in client.do_action(flight.Action(name, body))]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.codes = [s.stop() for s in [self.head, *self.workers] if s.process.poll() is None]
