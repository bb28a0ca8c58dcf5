#!/usr/bin/python3
"""`rerun` beside a new job, a restart in place beside JobSet's and torchrun's, and supervisors, on this machine: part of `make bench`.

usage: supervise_bench.py KFTRAINER
"""
import contextlib
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
if len(sys.argv) != 2:
    sys.exit(__doc__)
from deaths import PLAIN, TORCH, after_death
from row import lacks, row

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES, TURNS, TORCH_TURNS, MANY, IDLE_S, OUTPUT = 300, 11, 3, 64, 20, 8 << 30
FOLDER = tempfile.TemporaryDirectory()
CODE = pathlib.Path(FOLDER.name, "code")
STACK = subprocess.run([f"{ROOT}/tests/setup.sh", "venv", "stack"], capture_output=True, text=True, check=True).stdout.strip()
os.environ.update(XDG_STATE_HOME=f"{FOLDER.name}/state", HOME=FOLDER.name)
os.environ.pop("KFTRAINER_ISOLATION", None)


def first_line(argv, like):
    """Milliseconds to the first line of output that is like this; then until the end."""
    begun = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as p:
        for line in p.stdout:
            if re.search(like, line):
                ms = (time.perf_counter() - begun) * 1e3
                p.stdout.read()
                return ms
    sys.exit(f"supervise_bench: no such line: {like}")


def submit(*options):
    return [PROGRAM, "submit", "--local", "--runtime", "torch-distributed", "--nodes", "2", *options]


def edit(i):
    (CODE / "run.sh").write_text(f"echo edit {i} of $JOB_COMPLETION_INDEX\n")


def reruns():
    CODE.mkdir()
    for i in range(FILES - 1):
        (CODE / f"file{i}.py").write_text(f"value = {i}\n" * 200)
    edit(0)
    subprocess.run(submit("--dev", "--detach", "-q", "--name", "dev", "--workspace", str(CODE), "--", "sh", "run.sh"), check=True)
    first_line([PROGRAM, "rerun", "--local", "dev"], b"edit 0")
    ours, theirs = [], []
    for i in range(1, TURNS + 1):
        edit(i)
        ours.append(first_line([PROGRAM, "rerun", "--local", "dev"], f"^edit {i} ".encode()))
        theirs.append(first_line(submit("--name", f"new{i}", "--workspace", str(CODE), "--", "sh", "run.sh"), f"edit {i} of 0".encode()))
    subprocess.run([PROGRAM, "delete", "--local", "dev"], capture_output=True, check=False)
    row("a rerun's first line", statistics.median(ours), "ms",
        f"one of {FILES} files edited, two nodes, `--local`; by turns, median of {TURNS}", "≤ 500 ms", "a new job",
        statistics.median(theirs))


def submitted(name, script, *options, command=("python3",), nodes=2):
    (CODE / f"{script}.py").write_text(PLAIN if script == "plain" else TORCH)
    argv = [PROGRAM, "submit", "--local", "--runtime", "torch-distributed", "--nodes", str(nodes), "--name", name, *options, "--", *command,
            str(CODE / f"{script}.py")]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def in_place(name, script, command=("python3",)):
    return after_death(submitted(name, script, "--supervise", "--max-restarts", "1", command=command))


def recreated(name, script, command=("python3",)):
    return after_death(submitted(name, script, "--max-restarts", "1", "--env", f"MARK={FOLDER.name}/mark-{name}", command=command))


def restarts():
    ours, theirs = [], []
    for i in range(TURNS):
        ours.append(in_place(f"ours{i}", "plain"))
        theirs.append(recreated(f"theirs{i}", "plain"))
    row("death of a rank to all started again", statistics.median(ours), "ms",
        f"two nodes, Python without torch, `--local`; by turns, median of {TURNS}", "≤ 1 s", "Recreate of all pods", statistics.median(theirs))
    if not os.path.exists(f"{STACK}/.done"):
        lacks("death of a rank to the next step of PyTorch", "tests/setup.sh stack installs it")
        return
    os.environ["PATH"] = f"{STACK}/bin:{os.environ['PATH']}"
    ours, theirs, third = [], [], []
    for i in range(TORCH_TURNS):
        ours.append(in_place(f"torch-ours{i}", "ddp", ("torchrun",)))
        theirs.append(recreated(f"torch-theirs{i}", "ddp", ("torchrun",)))
        with contextlib.suppress(SystemExit):  # PyTorch 2.15 with gloo often reads the addresses of the run before from its store
            third.append(after_death(submitted(f"torch-third{i}", "ddp", "--nproc-per-node", "2", command=("torchrun", "--max_restarts", "1"), nodes=1)))
    row("death of a rank to the next step of PyTorch", statistics.median(ours), "ms",
        f"DDP by torchrun on two nodes, `--local`; by turns, median of {TORCH_TURNS}", "", "Recreate of all pods", statistics.median(theirs))
    if third:
        row("the same beside torchrun's own restart", statistics.median(ours), "ms", f"which succeeded {len(third)} times of {TORCH_TURNS}; its two ranks "
            "are on one node, so that its agent remains", "", "torchrun --max-restarts", statistics.median(third))
    else:
        lacks("the same beside torchrun's own restart", f"torchrun failed to restart {TORCH_TURNS} times of {TORCH_TURNS}")


# ---- supervisors without a job -----------------------------------------------------------------------------------------
def star(ranks, *command):
    """Supervisors on this machine; each one's command has RANK."""
    key, port = f"{FOLDER.name}/key", None
    subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key], check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = str(s.getsockname()[1])
    return [subprocess.Popen([PROGRAM, "runtime", "supervise", "--message", "/dev/null", "--ranks", str(ranks), "--hub", "127.0.0.1",
                              "--port", port, "--key", key, "--restarts", "1", "--", *command], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, env={**os.environ, "RANK": str(i), "JOB_COMPLETION_INDEX": str(i)})
            for i in range(ranks)]


def many():
    fails = 'echo $(date +%s%N) $KFTRAINER_RESTART; [ $KFTRAINER_RESTART = 1 ] && exit; [ $RANK = 9 ] || exec sleep 100; ' \
            'sleep 5; date +%s%N; kill -9 $$'
    took = []
    for _ in range(3):
        out = [p.communicate()[0].split() for p in star(MANY, "sh", "-c", fails)]
        took.append((max(int(text[-2]) for text in out) - int(out[9][2])) / 1e6)
    row(f"the same of {MANY} ranks", statistics.median(took), "ms", "all supervisors and commands on this machine; median of 3", "≤ 3 s")


def ticks(pid):
    return sum(int(n) for n in pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])


def idle():
    supervisors = star(2, "sleep", "100")
    time.sleep(3)
    before = [ticks(p.pid) for p in supervisors]
    time.sleep(IDLE_S)
    used = max(ticks(p.pid) - then for p, then in zip(supervisors, before)) / os.sysconf("SC_CLK_TCK")
    memory = max(int(re.search(r"^Rss: *(\d+)", pathlib.Path(f"/proc/{p.pid}/smaps_rollup").read_text(), re.M)[1]) for p in supervisors)
    for p in supervisors:
        p.terminate()
    for p in supervisors:
        p.communicate()
    row("a supervisor, idle: memory", memory / 1024, "MB", "RSS, the larger of two ranks", "≤ 2 MB")
    row("a supervisor, idle: CPU time", 100 * used / IDLE_S, "%", f"of one core, in {IDLE_S} s, the larger of two ranks", "≤ 0.1 %")


def supervised(*command):
    return [PROGRAM, "runtime", "supervise", "--message", "/dev/null", "--", *command]


def rate(argv):
    begun = time.perf_counter()
    subprocess.run(["sh", "-c", '"$@" | cat >/dev/null', "-", *argv], check=True)
    return OUTPUT / (time.perf_counter() - begun) / 1e9


LINES = """
import time
end = time.monotonic() + 5
while time.monotonic() < end:
    print(time.monotonic(), flush=True)
    time.sleep(0.001)
"""


def latest(argv):
    """The most that a line took from the command to this program, in milliseconds."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as p:
        return max(time.monotonic() - float(line) for line in p.stdout) * 1e3


def output():
    writes = ["head", "-c", str(OUTPUT), "/dev/zero"]
    ours, theirs = [], []
    for _ in range(5):
        ours.append(rate(supervised(*writes)))
        theirs.append(rate(writes))
    row("output through a supervisor", statistics.median(ours), "GB/s", f"{OUTPUT >> 30} GiB to a pipe that cat reads; by turns, median of 5",
        "≥ 1 GB/s", "without a supervisor", statistics.median(theirs))
    ours, theirs = [], []
    for _ in range(3):
        ours.append(latest(supervised("python3", "-c", LINES)))
        theirs.append(latest(["python3", "-c", LINES]))
    row("the latest line of 5 s", min(ours), "ms", "a line each millisecond, Python to Python; by turns, the least of 3", "≤ 10 ms",
        "without a supervisor", min(theirs))


# ---- preflight of two nodes --------------------------------------------------------------------------------------------
def preflight():
    if os.geteuid():
        lacks("`preflight` of two nodes", "network namespaces need root")
        return
    spaces = [f"kftb{os.getpid()}n{i}" for i in range(2)]
    hosts = f"{FOLDER.name}/hosts"
    pathlib.Path(hosts).write_text("127.0.0.1 localhost\n10.99.1.1 job-node-0-0.job\n10.99.1.2 job-node-0-1.job\n")
    pathlib.Path(f"{FOLDER.name}/secret").write_text("a secret of this job")

    def ip(*argv):
        subprocess.run(["ip", *argv], check=True)
    try:
        for space in spaces:
            ip("netns", "add", space)
        ip("-n", spaces[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", spaces[1])
        for i, space in enumerate(spaces):
            ip("-n", space, "addr", "add", f"10.99.1.{i + 1}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                ip("-n", space, "link", "set", link, "up")
        took = []
        for _ in range(5):
            begun = time.perf_counter()
            both = [subprocess.Popen(["ip", "netns", "exec", space, "unshare", "-m", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"',
                                      "-", PROGRAM, "preflight", "--check", "mounts,shm,names,ports,links,clocks", "--mount", FOLDER.name,
                                      "--nodes", "2", "--node-rank", str(i), "--leader", "job-node-0-0.job:29400", "--job-key", f"{FOLDER.name}/secret"],
                                     stdout=subprocess.DEVNULL) for i, space in enumerate(spaces)]
            if any([p.wait() for p in both]):
                sys.exit("supervise_bench: preflight has failed")
            took.append(time.perf_counter() - begun)
        row("`preflight` of two nodes", statistics.median(took), "s", "all checks but those of GPUs, in network namespaces; median of 5", "≤ 5 s")
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], check=False)


for subject in (reruns, restarts, many, idle, output, preflight):
    subject()
