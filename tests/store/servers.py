"""The program under test; the directory and the servers of a test, which end with it."""
import atexit
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from ports import free_port  # noqa: F401: for those who import this

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KFTRAINER", str(ROOT / "kftrainer"))
scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-test-"))
children = []


@atexit.register
def end():
    for child in children:
        try:
            os.killpg(child.pid, signal.SIGKILL)  # a server may have started others
        except ProcessLookupError:
            child.kill()
        child.wait()
    shutil.rmtree(scratch, ignore_errors=True)


def output(*argv):
    """What a command prints; None: it failed."""
    done = subprocess.run(argv, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def versitygw():
    """The path of an S3 server; None: it is not installed."""
    return output(ROOT / "tests/store/versitygw.sh")


def clean_environ(prefix):
    """Removes proxies, and the variables that begin so, from the environment."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name.startswith(prefix)]:
        del os.environ[name]


def start(port, *argv):
    """Starts a server on loopback; `answers` waits for it."""
    with open(scratch / f"{port}.log", "wb") as log:
        children.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=scratch,
                                         start_new_session=True))
    return port, children[-1]


def answers(port, child):
    """Until it accepts connections; one that has ended ends the test."""
    while child.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as s:
                if s.getsockname() != s.getpeername():  # a port that nobody has may be connected to itself
                    return
        except OSError:
            pass
        time.sleep(0.05)
    sys.exit(f"{child.args[0]} does not start: {(scratch / f'{port}.log').read_text()[-500:]}")


class Mlflow:
    """MLflow's own server. Its empty tables, which take long to make, are kept with the program and copied."""

    def __init__(self, venv):
        self.python, self.db, self.empty = f"{venv}/bin/python", scratch / "mlflow.db", pathlib.Path(venv, "empty.db")
        if self.empty.exists():
            shutil.copy(self.empty, self.db)
        self.port = free_port()
        self.start()

    def start(self):
        self.process = start(self.port, self.python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1",
                             "--backend-store-uri", f"sqlite:///{self.db}", "--artifacts-destination", str(scratch / "artifacts"))[1]

    def answers(self):
        """Until it has opened its database, which its first answer waits for."""
        answers(self.port, self.process)
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/2.0/mlflow/experiments/search?max_results=1").read()
        if not self.empty.exists():
            new = self.empty.with_suffix(f".{os.getpid()}")
            with sqlite3.connect(self.db) as db, sqlite3.connect(new) as copy:
                db.backup(copy)
            os.rename(new, self.empty)
