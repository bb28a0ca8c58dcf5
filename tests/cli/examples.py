"""What test_manual.py and test_docs.py share: command lines of documents, run as a person would.

A line that needs no cluster has to succeed. One that needs a cluster gets the kubeconfig of a
server that nobody runs, and has to fail for exactly that: options and arguments are understood,
then the server is asked. NEEDS_MORE has the few lines that need something else.
"""
import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("KFTRAINER", os.path.join(ROOT, "kftrainer"))
sys.path.insert(0, os.path.join(ROOT, "tests"))  # tap.py
SERVER = "127.0.0.1:1"  # tcpmux: nobody listens there

# What a line may need besides a cluster: how it exits, and what it says.
NEEDS_MORE = {
    "./checkpoints --uri s3://": (1, "./checkpoints"),
    "./out --uri ": (1, "./out"),
    "STORAGE_URI=s3://bucket/m1 kftrainer export-model": (1, "/workspace/output"),
    "kftrainer cache-serve cat": (1, ".parquet: No such file"),
    "kftrainer cache-serve head": (1, ".parquet: No such file"),
    "kftrainer gpu-feed": (1, "no NVIDIA GPU"),
    "kftrainer mpi-launch": (255, "id_rsa: No such file"),
    "kftrainer mpi-launch --wait": (1, "hostfile: No such file"),
    "kftrainer mpi-launch --watch": (1, "hostfile: No such file"),
    "kftrainer mpi-worker": (1, "id_rsa: No such file"),
}

IN_CLUSTER = "controller delete events exec get install logs rerun resume submit suspend uninstall wait why".split()
UNTIL_STOPPED = re.compile(r"kftrainer (controller|ui|get .*(-w|--watch))\b")

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: nobody
contexts:
- {name: nobody, context: {cluster: nobody, user: nobody}}
- {name: staging, context: {cluster: nobody, user: nobody}}
clusters: [{name: nobody, cluster: {server: "http://%s"}}]
users: [{name: nobody, user: {}}]
""" % SERVER

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: digits}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [sh, -c, "echo rank $PET_NODE_RANK"]}
"""


def output(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True).stdout


def environment(folder, **more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "AWS_", "HF_"))}
    return dict(kept, **{"HOME": folder, "KUBECONFIG": "", "XDG_STATE_HOME": f"{folder}/state",
                         "PATH": f"{folder}/bin:/usr/bin:/bin", **more})


def make_folder(folder):
    """The files that examples name; `torchrun` only has to be found."""
    os.makedirs(f"{folder}/bin")
    os.makedirs(f"{folder}/.zsh/completions")
    os.symlink(PROGRAM, f"{folder}/bin/kftrainer")
    write(f"{folder}/bin/torchrun", "#!/bin/sh\n[ \"$A\" = b ] && [ $PET_NNODES = 2 ] && [ $PET_NPROC_PER_NODE = 2 ]\n")
    os.chmod(f"{folder}/bin/torchrun", 0o755)
    write(f"{folder}/job.yaml", JOB)
    write(f"{folder}/kubeconfig", KUBECONFIG)
    write(f"{folder}/.env", "A=b\n")
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", f"{folder}/.venv"], check=True)
    os.mkdir(f"{folder}/code")
    for path in ("code/train.py", "train.py"):
        write(f"{folder}/{path}", "print('hello')\n")
    made = json.loads(output("submit", "--dry-run=client", "-o", "json", "-q", "--runtime", "torch-distributed",
                             "--workspace", f"{folder}/code", "--", "true"))
    with open(f"{folder}/workspace.tar.zst", "wb") as archive:
        archive.write(base64.b64decode(made["items"][0]["binaryData"]["workspace.tar.zst"]))
    mine = output("runtime", "get", "torch-distributed")
    for name in ("my-runtime.yaml", "my-runtimes.yaml"):
        write(f"{folder}/{name}", mine)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def needs_cluster(line):
    """Is a cluster asked when this line runs?"""
    match = re.search(r"\bkftrainer\s+([a-z-]+)(.*)", line, re.S)
    if not match or match[1] not in IN_CLUSTER or "--local" in line or "--dry-run=client" in line or "--from " in line:
        return False
    prints = re.search(r" -o (yaml|json)| --dry-run| --crds", match[2])
    return not (match[1] == "install" and prints)


def run_script(script, folder, env):
    """(exit code, stdout, stderr). With until: stopped once the errors have that."""
    env = dict(env)
    until = env.pop("until", None)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        job = subprocess.Popen(["bash", "-c", "set -eo pipefail\n" + script], cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=out, stderr=err, env=environment(folder, **env), start_new_session=True)
        while until and job.poll() is None and until not in text_of(err):
            time.sleep(0.05)
        if until and job.poll() is None:
            os.killpg(job.pid, signal.SIGTERM)
        code = job.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGTERM)  # what it left in the background
        return code, text_of(out), text_of(err)


def text_of(file):
    """What another process has written to the file; its position is that process's, too."""
    return os.pread(file.fileno(), 1 << 20, 0).decode(errors="replace")


def run_example(line, folder, **more):
    """None, or what is wrong with that line; `more`: variables for it."""
    # kubectl is not here: what it is given has to be YAML with something in it.
    script = line.replace("| kubectl apply --server-side -f -", "| grep '^kind: ' >/dev/null")
    script = script.replace("source <(", "bash -n <(").replace("| source", "| grep complete >/dev/null")
    want, says, env = 0, "", dict(more)
    if line.startswith("kftrainer ui"):
        env["until"] = "open it in a browser"
    elif needs_cluster(line):
        want, says, env["KUBECONFIG"] = 125 if re.search("kftrainer (exec|rerun)", line) else 1, SERVER, f"{folder}/kubeconfig"
        if UNTIL_STOPPED.search(line):
            want, env["until"] = (0 if "controller" in line else 143), SERVER
    elif UNTIL_STOPPED.search(line):
        env["until"] = "serving this machine's API"
    if "--gpu" in line:
        env["CUDA_VISIBLE_DEVICES"] = "0"  # a GPU to hand out, be it there or not
    for part, (code, words) in NEEDS_MORE.items():
        if part in line:
            want, says = code, words
    code, out, err = run_script(script, folder, env)
    if code == want and says in err:
        return None
    return f"$ {line}\nstatus {code} instead of {want}, with '{says}' in its errors\n{out}{err}"


def run_examples(lines, folder):
    """The first problem, or None."""
    problems = (run_example(line.replace("\0", "\\\n"), folder) for line in lines)
    return next((p for p in problems if p), None)
