#!/usr/bin/python3
"""Figures of the program on this machine: part of `make bench`. Each time is of a whole process, from exec to exit.

usage: bench.py KFTRAINER
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from row import row

DEVNULL = os.open(os.devnull, os.O_RDWR)


def run(argv, env=None):
    """Seconds that one process without output takes."""
    actions = [(os.POSIX_SPAWN_DUP2, DEVNULL, fd) for fd in (0, 1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, env or os.environ, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - start
    if status:
        sys.exit(f"bench: {' '.join(argv)} exited with {os.waitstatus_to_exitcode(status)}")
    return took


def median_of(argv, runs, env=None):
    return statistics.median(run(argv, env) for _ in range(runs))


def peak_mb(argv, env=None):
    """Peak RSS. A process inherits the peak of the one that started it, so GNU time does, which is small."""
    with tempfile.NamedTemporaryFile("r") as report:
        subprocess.run(["/usr/bin/time", "-f", "%M", "-o", report.name, *argv], env=env, check=True,
                       stdout=DEVNULL, stderr=DEVNULL)
        return int(report.read()) / 1024


def in_turns(ours, peer, rounds=15, runs=10):
    """Medians of both, taken in turns so that a busy machine hits both alike."""
    a, b = [], []
    for _ in range(rounds):
        a.append(median_of(ours, runs))
        b.append(median_of(peer, runs))
    return statistics.median(a), statistics.median(b)


def first_process(kftrainer, env):
    """Milliseconds from exec of `submit --local` to the clock read by the pod's first process."""
    took = []
    for n in range(21):
        argv = [kftrainer, "submit", "--local", "--runtime", "torch-distributed", "--name", f"first{n}",
                "--", "bash", "-c", "echo T=$EPOCHREALTIME"]
        start = time.time()
        out = subprocess.run(argv, env=env, capture_output=True, text=True)
        stamp = [s for s in out.stdout.split() if s.startswith("T=")]
        if out.returncode or not stamp:
            sys.exit(f"bench: {' '.join(argv)}: {out.stdout}{out.stderr}")
        took.append((float(stamp[0][2:]) - start) * 1000)
    return statistics.median(took)


def get_of_ended(kftrainer, env):
    """Milliseconds that `get` takes over 200 runs that have ended."""
    subprocess.run([kftrainer, "submit", "--local", "-q", "--runtime", "torch-distributed", "--name", "ended0",
                    "--", "true"], env=env, check=True, stdout=DEVNULL, stderr=DEVNULL)
    jobs = os.path.join(env["XDG_STATE_HOME"], "kftrainer/jobs/default")
    for n in range(1, 200):
        copy = shutil.copytree(os.path.join(jobs, "ended0"), os.path.join(jobs, f"ended{n}"), symlinks=True)
        path = os.path.join(copy, "latest/trainjob.json")
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace("ended0", f"ended{n}"))
    return median_of([kftrainer, "get", "--local"], 51, env) * 1e3


def output(kftrainer, env):
    """Seconds of CPU of 300 MB of output, 13,000,000 lines; of sed, which does the least that can be done with them."""
    with tempfile.NamedTemporaryFile() as lines:
        subprocess.run(["seq", "-f", "step %.0f loss 0.1234", "13000000"], stdout=lines, check=True)

        def cpu(*argv):
            before = os.times()
            subprocess.run(argv, env=env, check=True, stdin=open(lines.name, "rb"), stdout=DEVNULL, stderr=DEVNULL)
            after = os.times()
            return sum(after[2:4]) - sum(before[2:4])

        return cpu(kftrainer, "submit", "--local", "--runtime", "torch-distributed", "--name", "output", "--",
                   "cat", lines.name), cpu("sed", "s/^/[node-0] /")


def sizes(kftrainer, folder):
    """MB or KB of what is handed out."""
    row("binary", os.path.getsize(kftrainer) / 1e6, "MB", "the file's size: static, with all libraries", "≤ 6 MB")
    image, chart = f"{folder}/image.tar", f"{folder}/chart.tgz"
    version = "0.0.0"
    subprocess.run(["vendor/image.py", kftrainer, version, image], check=True, stdout=DEVNULL)
    row("image", os.path.getsize(image) / 1e6, "MB", "the archive that `make image` writes")
    subprocess.run(["vendor/chart.py", kftrainer, version, chart], check=True, stdout=DEVNULL)
    row("chart", os.path.getsize(chart) / 1e3, "KB", "the archive that `make chart` writes")
    crds = subprocess.run([kftrainer, "install", "--crds", "-o", "json"], check=True, stdout=subprocess.PIPE).stdout
    row("CRDs", len(json.dumps(json.loads(crds), separators=(",", ":"))) / 1e3, "KB", "as compact JSON, all three", "≤ 300 KB")


def main():
    kftrainer = os.path.abspath(sys.argv[1])
    examples = sorted(os.path.join("examples", f) for f in os.listdir("examples") if f.endswith(".yaml"))
    largest = max(examples, key=os.path.getsize)

    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryDirectory() as other:
        env = dict(os.environ, XDG_STATE_HOME=state)
        sizes(kftrainer, state)
        ours, true = in_turns([kftrainer, "version"], ["/bin/true"])
        row("`version`", ours * 1e3, "ms", "median of 150 processes, by turns", "≤ 2 ms", "/bin/true", true * 1e3)
        dry = [kftrainer, "submit", "--dry-run=client", "-o", "yaml", largest]
        row("`submit --dry-run=client`", median_of(dry, 51) * 1e3, "ms", f"`{largest}`, the largest example; median of 51", "≤ 20 ms")
        row("`submit --dry-run=client`: peak memory", peak_mb(dry), "MB", "peak RSS of one process", "≤ 10 MB")
        row("`submit --local` to the pod's first process", first_process(kftrainer, env), "ms",
            "from exec to the clock that the pod's shell reads; median of 21", "≤ 30 ms")
        row("`get` over 200 ended local runs", get_of_ended(kftrainer, dict(os.environ, XDG_STATE_HOME=other)), "ms", "median of 51", "≤ 20 ms")
        ours, sed = output(kftrainer, env)
        row("300 MB of output of a local job", ours, "s of CPU", "13,000,000 lines of one pod; sed only adds the prefix; one run each", "≤ 2 s",
            "sed", sed)
        many = [kftrainer, "submit", "--local", "--runtime", "torch-distributed", "--name", "many", "--nodes", "200", "--", "true"]
        row("200 local pods of `true`", median_of(many, 5, env), "s", "one job of 200 nodes; median of 5", "≤ 3 s")
        row("200 local pods of `true`: peak memory", peak_mb(many, env), "MB", "peak RSS, one run")
        two = [word if word != "200" else "2" for word in many]
        row("two local pods of `true`: peak memory", peak_mb(two, env), "MB", "peak RSS, one run", "≤ 8 MB")


main()
