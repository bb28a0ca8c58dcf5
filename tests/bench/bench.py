#!/usr/bin/python3
"""Figures of kftrainer on this machine: `make bench`.

Every time is the median of several runs of a whole process; where a peer stands
on the same machine, it runs in turns with ours and the ratio is printed.
usage: bench.py KFTRAINER
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

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


def line(what, value, want):
    print(f"{what:<58} {value:>22}   {want}", flush=True)


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


def main():
    kftrainer = os.path.abspath(sys.argv[1])
    examples = sorted(os.path.join("examples", f) for f in os.listdir("examples") if f.endswith(".yaml"))
    largest = max(examples, key=os.path.getsize)

    with tempfile.TemporaryDirectory() as state:
        env = dict(os.environ, XDG_STATE_HOME=state)
        size = os.path.getsize(kftrainer)
        line("binary", f"{size / 1e6:.2f} MB", "<= 6 MB")
        ours, true = in_turns([kftrainer, "version"], ["/bin/true"])
        line("version", f"{ours * 1e3:.2f} ms", f"<= 2 ms; {ours / true:.1f}x /bin/true")
        dry = [kftrainer, "submit", "--dry-run=client", "-o", "yaml", largest]
        line(f"submit --dry-run {largest}", f"{median_of(dry, 51) * 1e3:.1f} ms", "<= 20 ms")
        line("  its peak memory", f"{peak_mb(dry):.1f} MB", "<= 10 MB")
        line("submit --local: exec to the pod's first process", f"{first_process(kftrainer, env):.1f} ms", "<= 30 ms")
        with tempfile.TemporaryDirectory() as other:
            ended = get_of_ended(kftrainer, dict(os.environ, XDG_STATE_HOME=other))
        line("get over 200 ended local runs", f"{ended:.1f} ms", "<= 20 ms")
        ours, sed = output(kftrainer, env)
        line("300 MB of output of a local job, CPU", f"{ours:.2f} s", f"<= 2 s; sed {sed:.2f} s")
        many = [kftrainer, "submit", "--local", "--runtime", "torch-distributed", "--name", "many", "--nodes", "200", "--", "true"]
        line("200 local pods of `true`", f"{median_of(many, 5, env):.2f} s", "<= 3 s")
        line("  its peak memory", f"{peak_mb(many, env):.1f} MB", "")


main()
