"""MPI jobs for tests: four implementations, and what mpirun reads, as the pipeline writes it.

An implementation is a row of IMPLEMENTATIONS. FAULTS is what they get wrong themselves, whatever the
agent: the rows of a test that it concerns have another result there, or none.
"""
import atexit
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

PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
PATIENCE = 300  # of a command that should end by itself: then it hangs
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


# (implementation, row of a test): what is known to be wrong, and without any agent of ours.
FAULTS = {
    ("openmpi5", "stdin"): "data piped into mpirun does not reach a rank on another host",
    ("openmpi5", "worker"): "mpirun returns 0 when it loses a daemon",
    ("mpich4", "exit"): "waits for the ranks that go on after one exits 3",
    ("mpich5", "exit"): "waits for the ranks that go on after one exits 3",
    ("mpich4", "worker"): "hangs when an agent fails",
}

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {{name: mpi, labels: {{trainer.kubeflow.org/framework: mpi}}}}
spec:
  mlPolicy: {{numNodes: {nodes}, mpi: {{mpiImplementation: {kind}, numProcPerNode: 2, runLauncherAsNode: true}}}}
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


def job_yaml(implementation, transport, command, nodes=3, name="j", env=None):
    path = tempfile.mktemp(suffix=".yaml", dir=scratch)
    with open(path, "w") as f:
        f.write(RUNTIME.format(nodes=nodes, kind=implementation.kind, transport=transport, name=name,
                               command=json.dumps(command),
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
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read()
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"MARK={mark}".encode() in f.read().split(b"\0") and words.startswith(
                        os.path.join(scratch, "ranks-").encode()):
                    found.append(int(pid))
        except OSError:
            pass
    return found


class Job:
    """A job's pods in namespaces: a launcher and, once start_nodes() was called, its nodes."""

    number = 0

    def __init__(self, implementation, transport, nodes=3):
        Job.number += 1
        self.i, self.transport = implementation, transport
        self.folder = os.path.join(scratch, f"job{Job.number}")
        self.mark = f"{os.path.basename(scratch)}-{Job.number}"
        os.makedirs(self.folder + "/bin")
        for link in ("mpi-launch", "mpi-worker"):
            os.symlink(PROGRAM, f"{self.folder}/bin/{link}")
        self.key = self.folder + "/id_rsa"
        subprocess.run(["openssl", "ecparam", "-name", "secp521r1", "-genkey", "-noout", "-out", self.key], check=True,
                       stderr=subprocess.DEVNULL)
        self.running, self.pods = [], {}
        self.read_objects(nodes)

    def read_objects(self, nodes):
        """The launcher's variables and the host file, with places on this machine."""
        text = subprocess.check_output([PROGRAM, "submit", "--dry-run=client", "-o", "json", job_yaml(
            self.i, self.transport, [self.i.mpirun], nodes)], text=True)
        text = text.replace("/opt/kftrainer/", self.folder + "/bin/").replace(
            "/etc/mpi/", self.folder + "/").replace("/root/.ssh/", self.folder + "/")
        objects = json.loads(text)["items"]
        jobset = next(o for o in objects if o["kind"] == "JobSet")
        launcher = next(j for j in jobset["spec"]["replicatedJobs"] if j["name"] == "launcher")
        container = launcher["template"]["spec"]["template"]["spec"]["containers"][0]
        self.env = {e["name"]: e["value"] for e in container["env"] if "value" in e}
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
        tmp = os.path.join(self.folder, "tmp-" + pod.hostname)
        os.makedirs(tmp, exist_ok=True)
        return {"PATH": self.i.path, "HOME": "/root", "TMPDIR": tmp, "POD": pod.hostname, "MARK": self.mark,
                "KFTRAINER_MPI_KEY": self.key, **more}

    def node_command(self):
        if self.transport == "worker":
            return [self.folder + "/bin/mpi-worker"]
        with open(self.folder + "/authorized_keys", "w") as f:
            f.write(subprocess.check_output(["ssh-keygen", "-y", "-f", self.key], text=True))
        return ["/usr/sbin/sshd", "-D", "-e", "-p", "2222", "-f", "/dev/null", "-h", self.key, "-o", "StrictModes=no",
                "-o", f"AuthorizedKeysFile={self.folder}/authorized_keys", "-o", "UsePAM=no"]

    def start_nodes(self, **env):
        for pod in self.nodes:
            with open(f"{self.folder}/log-{pod.hostname}", "wb") as log:
                self.running.append(pod.popen(*self.node_command(), stderr=log, stdin=subprocess.DEVNULL,
                                              env=self.environment(pod, **env)))
        return self

    def mpirun(self, *words, options=(), env=None, **streams):
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        env = env or {}
        for name in ("MARK", *env):
            options = (*options, *self.i.passes, name) if self.i.passes else options
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **streams}
        p = self.launcher.popen(self.i.mpirun, *options, self.i.program, *words,
                                env=self.environment(self.launcher, **self.env, **root, **env), **streams)
        self.running.append(p)
        return p

    def run(self, *words, data=None, **options):
        """Its exit status and output; None: it hung."""
        p = self.mpirun(*words, **({"stdin": subprocess.PIPE} if data is not None else {}), **options)
        try:
            out = p.communicate(data, timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            p.kill()
            return None, p.communicate()[0]
        return p.returncode, out

    def wait_for_ranks(self, count):
        return until(lambda: len(ranks_with(self.mark)) == count)

    def end(self):
        for p in self.running:
            if p.poll() is None:
                p.kill()
            p.wait()
            for stream in (p.stdin, p.stdout):
                if stream:
                    stream.close()
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
