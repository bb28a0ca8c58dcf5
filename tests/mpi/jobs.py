"""MPI jobs for tests: four implementations, and what mpirun reads, as the pipeline writes it.

An implementation is a row of implementations(). A job's pods are namespaces of this machine; what its
nodes run, and what mpirun starts its ranks with, is its transport: "worker" and "ssh" as the annotation
has them, or "openssh": OpenSSH's client in the place of our agent, and nothing else different.
"""
import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
from pods import Pod
from processes import marked

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
PATIENCE = 150  # seconds of what should happen by itself: then it hangs, and the test fails
scratch = tempfile.mkdtemp(prefix="kft-mpi-")
atexit.register(shutil.rmtree, scratch, True)


def venv(name):
    return subprocess.check_output([os.path.join(ROOT, "tests/setup.sh"), "venv", name], text=True).strip()


class Implementation:
    def __init__(self, name, kind, mpirun, prefix=None, compiler=None, passes=()):
        self.name, self.kind, self.prefix, self.compiler = name, kind, prefix, compiler
        self.mpirun = mpirun
        self.passes = passes  # how mpirun is to pass a variable on: words before its name; (): it passes all
        self.path = (f"{prefix}/bin:" if prefix else "") + "/usr/bin:/bin:/usr/sbin:/sbin"
        self.program = f"{scratch}/ranks-{name}"

    def compile(self):
        run_path = [f"-Wl,-rpath,{self.prefix}/lib"] if self.prefix else []
        subprocess.run([self.compiler[0], "-O1", "-o", self.program, f"{HERE}/ranks.c", *self.compiler[1:], *run_path],
                       check=True)


@functools.cache
def implementations():
    openmpi, mpich, intel = venv("openmpi"), venv("mpich"), venv("impi")
    rows = [
        Implementation("openmpi4", "OpenMPI", "/usr/bin/mpirun.openmpi", None, ["mpicc.openmpi"], ["-x"]),
        Implementation("openmpi5", "OpenMPI", f"{openmpi}/bin/mpirun", openmpi, [f"{openmpi}/bin/mpicc"], ["-x"]),
        Implementation("mpich4", "MPICH", "/usr/bin/mpirun.mpich", None, ["mpicc.mpich"]),
        Implementation("mpich5", "MPICH", f"{mpich}/bin/mpirun", mpich, [f"{mpich}/bin/mpicc"]),
        # It comes without headers; its library has MPICH's binary interface.
        Implementation("intel", "Intel", f"{intel}/bin/mpirun", intel,
                       ["cc", f"-I{mpich}/include", f"{intel}/lib/libmpi.so.12", "-Wl,--allow-shlib-undefined"]),
    ]
    only = os.environ.get("MPI")
    rows = [r for r in rows if not only or r.name in only.split()]
    for row in rows:
        row.compile()
    return rows


def chosen(rows, i, shift):
    """
    The rows to run: all; those of ROW; or, with SHORT, the first, and each other with one implementation.
    `shift`: another one for another transport.
    """
    if os.environ.get("ROW"):
        return [r for r in rows if r in os.environ["ROW"].split()]
    turn = implementations().index(i)
    return [r for n, r in enumerate(rows)
            if not os.environ.get("SHORT") or n == 0 or (n + shift) % len(implementations()) == turn]


def printable(out):
    """The end of an output, for a report."""
    text = out[-3000:].decode(errors="replace")
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {{name: mpi, labels: {{trainer.kubeflow.org/framework: mpi}}}}
spec:
  mlPolicy: {{numNodes: {nodes}, mpi: {{mpiImplementation: {kind}, numProcPerNode: {slots}, runLauncherAsNode: true}}}}
  template:
    metadata: {{annotations: {{kftrainer.io/mpi: {transport}}}}}
    spec:
      successPolicy: {{operator: All, targetReplicatedJobs: [launcher]}}
      replicatedJobs:
      - name: node
        template:
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: none
                  command: [/usr/sbin/sshd, -De]
                  env: &env
                  - {{name: POD, valueFrom: {{fieldRef: {{fieldPath: metadata.name}}}}}}
      - name: launcher
        dependsOn: [{{name: node, status: Ready}}]
        template:
          metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
          spec: {{template: {{spec: {{containers: [{{name: node, image: none, env: *env}}]}}}}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}}}
spec:
  runtimeRef: {{kind: TrainingRuntime, name: mpi}}
  trainer:
    command: {command}
    env: {env}
"""


def job_yaml(implementation, transport, command, nodes=3, name="j", env=None, slots=2):
    path = tempfile.mktemp(suffix=".yaml", dir=scratch)
    with open(path, "w") as f:
        f.write(RUNTIME.format(nodes=nodes, kind=implementation.kind, transport=transport, name=name,
                               slots=slots, command=json.dumps(command),
                               env=json.dumps([{"name": k, "value": v} for k, v in (env or {}).items()])))
    return path


def until(condition, patience=PATIENCE):
    """Its first true value, or its last."""
    end = time.monotonic() + patience
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


def ranks_with(mark):
    """The ranks on this machine that have it in their environment."""
    return [pid for pid, words in marked(f"MARK={mark}\0") if words[0].startswith(os.path.join(scratch, "ranks-"))]


class Running:
    """A process and what it wrote, in a file: nobody has to read while it runs."""

    def __init__(self, process, path):
        self.process, self.path = process, path

    def output(self):
        with open(self.path, "rb") as f:
            return f.read()

    def ended(self):
        return self.process.poll() is not None

    def wait(self, patience=PATIENCE):
        """Its exit status; None: it hangs, and was killed with all in its pod."""
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()


# OpenSSH's client as images have it set up: this port and key, any host.
OPENSSH = """\
Port 2222
IdentityFile {key}
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
ConnectionAttempts 10
"""


class Job:
    """A job's pods in namespaces: a launcher and, once start_nodes() was called, its nodes."""

    number = 0

    def __init__(self, implementation, transport, nodes=3, slots=2):
        Job.number += 1
        self.i, self.transport, self.slots = implementation, transport, slots
        self.folder = os.path.join(scratch, f"job{Job.number}")
        self.mark = f"{os.path.basename(scratch)}-{Job.number}"
        os.makedirs(self.folder + "/bin")
        for link in ("mpi-launch", "mpi-worker"):
            os.symlink(PROGRAM, f"{self.folder}/bin/{link}")
        self.key = self.folder + "/id_rsa"
        subprocess.run(["openssl", "ecparam", "-name", "secp521r1", "-genkey", "-noout", "-out", self.key], check=True,
                       stderr=subprocess.DEVNULL)
        self.running, self.node_processes, self.pods = [], [], {}
        self.patience, self.hung = PATIENCE, False
        self.read_objects(nodes)

    def agent(self):
        """What mpirun calls: ours, or OpenSSH's client under its own name."""
        if self.transport != "openssh":
            return self.folder + "/bin/mpi-launch"
        os.makedirs(self.folder + "/openssh")
        with open(self.folder + "/openssh/config", "w") as f:
            f.write(OPENSSH.format(key=self.key))
        with open(self.folder + "/openssh/ssh", "w") as f:
            f.write(f'#!/bin/sh\nexec /usr/bin/ssh -F {self.folder}/openssh/config "$@"\n')
        os.chmod(self.folder + "/openssh/ssh", 0o755)
        return self.folder + "/openssh/ssh"

    def read_objects(self, nodes):
        """The launcher's variables and the host file, with places on this machine."""
        transport = "worker" if self.transport == "worker" else "ssh"
        text = subprocess.check_output([PROGRAM, "submit", "--dry-run=client", "-o", "json", job_yaml(
            self.i, transport, [self.i.mpirun], nodes, slots=self.slots)], text=True)
        text = text.replace("/opt/kftrainer/mpi-launch", self.agent()).replace(
            "/etc/mpi/", self.folder + "/").replace("/root/.ssh/", self.folder + "/")
        objects = json.loads(text)["items"]
        jobset = next(o for o in objects if o["kind"] == "JobSet")
        launcher = next(j for j in jobset["spec"]["replicatedJobs"] if j["name"] == "launcher")
        container = launcher["template"]["spec"]["template"]["spec"]["containers"][0]
        self.env = {e["name"]: e["value"] for e in container["env"] if "value" in e}
        self.watch = container["command"][:-1]  # what runs mpirun in a pod
        self.prefix = []
        hosts = next(o for o in objects if o["kind"] == "ConfigMap")["data"]["hostfile"]
        with open(self.folder + "/hostfile", "w") as f:
            f.write(hosts)
        names = [line.split()[0].split(":")[0] for line in hosts.splitlines()]
        hosts_file = self.folder + "/hosts"
        with open(hosts_file, "w") as f:
            f.write("127.0.0.1 localhost\n")
        for name in names:
            short = name.split(".")[0]
            self.pods[short] = Pod(hosts_file, short, f"{short}.j.default.svc.cluster.local", f"{short}.j")
        self.launcher = self.pods["j-launcher-0-0"]
        self.nodes = [p for p in self.pods.values() if p is not self.launcher]

    def environment(self, pod, **more):
        sanitizers = {k: os.environ[k] for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if k in os.environ}
        return {"PATH": self.i.path, "HOME": "/root", "TMPDIR": "/run", "POD": pod.hostname, "MARK": self.mark,
                "KFTRAINER_MPI_KEY": self.key, **sanitizers, **more}

    def node_command(self):
        if self.transport == "worker":
            return [self.folder + "/bin/mpi-worker"]
        with open(self.folder + "/authorized_keys", "w") as f:
            f.write(subprocess.check_output(["ssh-keygen", "-y", "-f", self.key], text=True))
        return ["/usr/sbin/sshd", "-D", "-e", "-p", "2222", "-f", "/dev/null", "-h", self.key, "-o", "StrictModes=no",
                "-o", f"AuthorizedKeysFile={self.folder}/authorized_keys", "-o", "UsePAM=no",
                # Not root's home: a login there runs what this machine has in .bashrc.
                "-o", f"SetEnv=TMPDIR=/run HOME={self.folder} KFTRAINER_MPI_KEY={self.key}"]

    def start_nodes(self, **env):
        for pod in self.nodes:
            with open(f"{self.folder}/log-{pod.hostname}", "wb") as log:
                self.node_processes.append(pod.popen(*self.node_command(), stderr=log, stdin=subprocess.DEVNULL,
                                                     env=self.environment(pod, **env)))
        return self

    def popen(self, *words, options=(), env=None, **streams):
        """mpirun of the program in the launcher's pod."""
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        env = env or {}
        for name in ("MARK", *env):
            options = (*options, *self.i.passes, name) if self.i.passes else options
        return self.launcher.popen(*self.prefix, self.i.mpirun, *options, self.i.program, *words,
                                   env=self.environment(self.launcher, **self.env, **root, **env), **streams)

    def mpirun(self, *words, data=b"", **options):
        """What it writes is in a file; `data`, which fits a pipe, is its input."""
        path = f"{self.folder}/out{len(self.running)}"
        with open(path, "wb") as out:
            p = self.popen(*words, stdin=subprocess.PIPE if data else subprocess.DEVNULL, stdout=out,
                           stderr=subprocess.STDOUT, **options)
        if data:
            p.stdin.write(data)
            p.stdin.close()
        self.running.append(Running(p, path))
        return self.running[-1]

    def run(self, *words, **options):
        """Its exit status (None: it hung) and output."""
        p = self.mpirun(*words, **options)
        rc = p.wait(self.patience)
        self.hung = rc is None
        return rc, p.output()

    def agents(self):
        """Of mpirun, on the launcher."""
        found = []
        for pid in self.launcher.pids("mpi-launch", "ssh"):
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if b"--watch" not in f.read().split(b"\0"):
                    found.append(pid)
        return found

    def wait_for_ranks(self, count):
        return until(lambda: len(ranks_with(self.mark)) == count)

    def wait_for_none(self):
        return until(lambda: not ranks_with(self.mark))

    def end(self):
        for p in self.running:
            p.kill()
        for p in self.node_processes:
            p.kill()
            p.wait()
        for pod in self.pods.values():
            pod.end()

    def log(self):
        text = ""
        for pod in self.nodes:
            name = f"{self.folder}/log-{pod.hostname}"
            if os.path.exists(name):
                with open(name, errors="replace") as f:
                    text += f.read()[-1000:]
        return text
