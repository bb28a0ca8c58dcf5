"""The two ends of mpi-launch in tests: workers, real sshds, keys, and what runs on them."""
import os
import shutil
import subprocess
import tempfile
import time

import processes
from ports import free_port
from tap import check

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
GREETING = b"KFT-MPI 1\r\n"
PATIENCE = 60
SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")
scratch = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(scratch.name, name)


def new_key(name, *kind):
    """A private key and its line of authorized_keys, NAME.pub."""
    kind = kind or ("ecparam", "-name", "secp521r1", "-genkey", "-noout")
    subprocess.run(["openssl", *kind, "-out", path(name)], check=True, stderr=subprocess.DEVNULL)
    os.chmod(path(name), 0o600)
    with open(path(name + ".pub"), "wb") as f:
        subprocess.run(["ssh-keygen", "-y", "-f", path(name)], check=True, stdout=f)
    return path(name)


def until(condition):
    """Its first true value, or its last."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


def resident(pid):
    """In KB."""
    with open(f"/proc/{pid}/status") as f:
        return int(f.read().split("VmRSS:")[1].split()[0])


def marked(mark):
    """The processes that have it in their environment."""
    return [pid for pid, _ in processes.marked("MARK=" + mark)]


class End:
    """A server on a port that was free a moment ago: another is taken if it no longer is."""

    def __init__(self, key, host="127.0.0.1", port=None):
        self.key, self.host = key, host
        for _ in range(10):
            self.port = port or free_port(host)
            self.log_name = tempfile.mktemp(dir=scratch.name)
            with open(self.log_name, "wb") as log:
                self.process = self.start(log)
            until(lambda: self.says in self.log() or self.process.poll() is not None)
            if port or "in use" not in self.log():
                break
            self.process.wait()

    def log(self):
        with open(self.log_name) as f:
            return f.read()

    def command(self, *args, key=None, host=None, timeout="20s"):
        return [PROGRAM, "mpi-launch", "-p", str(self.port), "-i", key or self.key, "--timeout",
                timeout, host or self.host, *args]

    def run(self, *args, data=b"", env=None, **options):
        return subprocess.run(self.command(*args, **options), input=data, capture_output=True,
                              timeout=PATIENCE, env=dict(os.environ, **(env or {})))

    def stop(self):
        self.process.terminate()
        return self.process.wait(PATIENCE)


class Worker(End):
    says = "listening"

    def __init__(self, key, *args, env=None, cwd=None, **where):
        self.args, self.env, self.cwd = args, env, cwd
        super().__init__(key, **where)

    def start(self, log):
        return subprocess.Popen(
            [PROGRAM, "mpi-worker", "--listen", self.host, "-p", str(self.port), "-i", self.key,
             *self.args], stderr=log, cwd=self.cwd, env=dict(os.environ, **(self.env or {})))


class Sshd(End):
    """OpenSSH's, as the images of Kubeflow run it: the job's key is its host key, too."""
    says = "Server listening"

    def __init__(self, key, *options, host_key=None, authorized=None, **where):
        self.options = options
        self.host_key, self.authorized = host_key or key, authorized or key + ".pub"
        super().__init__(key, **where)

    def start(self, log):
        if os.getuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        conf = tempfile.mktemp(dir=scratch.name)
        with open(conf, "w") as f:
            f.write("\n".join([
                f"Port {self.port}", f"ListenAddress {self.host}", f"HostKey {self.host_key}",
                f"AuthorizedKeysFile {self.authorized}", "StrictModes no", "PidFile none",
                "PermitRootLogin yes", "UsePAM no", "PrintMotd no", *self.options, ""]))
        return subprocess.Popen([SSHD, "-D", "-e", "-f", conf], stdin=subprocess.DEVNULL, stderr=log)


def is_(what, got, want):
    check(what, None if got == want else f"got  {got!r}\nwant {want!r}")


def run_commands(end):
    """What a command's streams and status are, whoever runs it."""
    r = end.run("echo", "out;", "echo", "err", ">&2;", "exit", "3")
    is_("its output, its errors, its status", (r.stdout, r.stderr, r.returncode),
        (b"out\n", b"err\n", 3))
    r = end.run("cat", data=b"a\0b" * 100000)
    is_("300,000 bytes of input come back", (len(r.stdout), r.stdout == b"a\0b" * 100000),
        (300000, True))
    r = end.run("head -c 30000000 /dev/zero | tr '\\0' x; echo end >&2")
    is_("30 MB of output", (len(r.stdout), r.stdout.count(b"x"), r.stderr),
        (30000000, 30000000, b"end\n"))
    # What is written to one stream while the client reads the other must not wait for ever.
    r = end.run("for i in $(seq 100); do echo e >&2; head -c 300000 /dev/zero; done")
    is_("output and errors by turns", (len(r.stdout), len(r.stderr)), (30000000, 200))
    with subprocess.Popen(end.command("exit 5"), stdin=subprocess.PIPE) as p:
        is_("input that never ends keeps nothing running", p.wait(PATIENCE), 5)
    with subprocess.Popen(end.command("exec <&-; echo closed; sleep 0.2; exit 6"),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        try:
            p.stdin.write(b"x" * 1000000)
            p.stdin.close()
        except BrokenPipeError:
            pass
        is_("a command that reads no input does not stop who writes it", p.wait(PATIENCE), 6)
