#!/usr/bin/python3
"""Runs the programs of `make bench`, shows their rows, and writes docs/figures.md and README's quotes of it.

usage: figures.py KFTRAINER DUMP [SUBJECT...]

Each program prints lines of JSON (row.py). One that takes longer than its limit is ended. What a program says
in other words is shown, not written. With subjects only those are measured, and nothing is written; without root neither.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, README = ROOT / "docs/figures.md", ROOT / "README.md"
# Subject, heading, limit in seconds, program. What needs a cluster takes root.
SUBJECTS = (
    ("program", "The program", 180, ("bench.py", "KFTRAINER")),
    ("client", "The program", 180, ("cluster.sh", "client")),
    ("controller", "The controller in a cluster", 1080, ("cluster.sh", "controller")),
    ("gang", "The controller in a cluster", 300, ("cluster.sh", "gang")),
    ("scale", "Scale", 2400, ("cluster.sh", "scale")),
    ("apiserver", "`controller --local`", 240, ("cluster.sh", "apiserver")),
    ("store", "Downloads", 360, ("store_bench.py", "KFTRAINER")),
    ("flight", "The data cache", 180, ("flight_bench.py", "KFTRAINER")),
    ("parquet", "The data cache", 180, ("parquet_bench.py", "DUMP")),
    ("mpi", "MPI", 180, ("mpi_bench.py", "KFTRAINER")),
    ("supervise", "Supervised jobs", 420, ("supervise_bench.py", "KFTRAINER")),
    ("supervise_nodes", "Supervised jobs", 900, ("nodes.sh",)),
    ("runs", "Supervised jobs", 360, ("runs_bench.py", "KFTRAINER")),
    ("gpu", "GPUs", 60, ("gpu_bench.py", "KFTRAINER")),
    ("ui", "The page of `ui`", 120, ("ui_bench.py", "KFTRAINER")),
    ("ui_live", "The page of `ui`", 300, ("ui_live_bench.py", "KFTRAINER")),
)
HEAD = """# Figures

`make bench` measured all of them in one run and wrote this page. A peer ran in the same run on the same machine, by
turns where the row says so; × is ours divided by the peer's. Repeat one subject with `make bench ROWS=SUBJECT`.
"""


def load():
    return float(pathlib.Path("/proc/loadavg").read_text().split()[0])


class Load(threading.Thread):
    """The load while something is measured, each second: the mean and the most."""

    def __init__(self):
        super().__init__(daemon=True)
        self.before, self.seen, self.over = load(), [], threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(1):
            self.seen.append(load())

    def text(self):
        self.over.set()
        seen = self.seen or [self.before]
        return f"{self.before:.1f} before, {sum(seen) / len(seen):.1f} (at most {max(seen):.1f}) meanwhile"


def machine():
    def of(path, pattern):
        return re.search(pattern, pathlib.Path(path).read_text(), re.M)[1]
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    processor, memory = of("/proc/cpuinfo", r"^model name.*: (.*)"), int(of("/proc/meminfo", r"^MemTotal: *(\d+)")) / 1e6
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    return (f"{processor}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GB; Linux {os.uname().release.split('-')[0]}; {when} UTC"
            + (f"; commit {commit}" if commit else ""))


def measured(found):
    return f"{found['value']} {found['unit']}".strip()


def beside(found):
    """What the peer did, or nothing."""
    return f"{found['peer_value']} {found['unit']}".strip() if "peer" in found else ""


def show(found):
    if "lacks" in found:
        print(f"{found['name']:<64} not measured: {found['lacks']}", flush=True)
        return
    peer = f"{found['peer']}: {beside(found)}, {found['ratio']} ×" if "peer" in found else ""
    print(f"{found['name']:<64} {measured(found):>14}   {found['target']:<12} {peer}".rstrip(), flush=True)


def run(program, limit):
    """Its rows; the last is what it lacks, where it did not end well."""
    rows, said = [], ""
    here = os.path.dirname(os.path.abspath(__file__))
    process = subprocess.Popen([f"{here}/{program[0]}", *program[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True, cwd=ROOT)
    late = [threading.Timer(seconds, os.killpg, (process.pid, number))
            for seconds, number in ((limit, signal.SIGTERM), (limit + 60, signal.SIGKILL))]
    for timer in late:
        timer.start()
    try:
        for line in process.stdout:
            if line.startswith('{"name": '):
                rows.append(json.loads(line))
                show(rows[-1])
            else:
                said = line.strip() or said
                print(f"# {line}", end="", flush=True)
        status = process.wait()
        if not late[0].is_alive():
            said = f"not within {limit} s"
    finally:
        for timer in late:
            timer.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
    if status or not rows:
        rows.append({"name": "the rest", "lacks": said or f"exit code {status}"})
        show(rows[-1])
    return rows


def cells(*texts):
    return "| " + " | ".join(texts) + " |"


def table(rows):
    lines = []
    for r in rows:
        if "lacks" in r:
            lines.append(cells(r["name"], "", "", "", f"Not measured: {r['lacks']}"))
        else:
            peer = f"{beside(r)} ({r['peer']}), {r['ratio']} ×" if "peer" in r else ""
            lines.append(cells(r["name"], measured(r), peer, r["target"], r["conditions"]))
    return lines


def page(where, loads, rows):
    lines = [HEAD, where, "", "Load: " + "; ".join(loads) + ".", ""]
    for heading in dict.fromkeys(subject[1] for subject in SUBJECTS):
        lines += [f"## {heading}", "", cells("what", "measured", "peer", "to hold", "how"), "|---|---|---|---|---|"]
        for subject in SUBJECTS:
            lines += table(rows[subject[0]]) if subject[1] == heading else []
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def quote(rows):
    """README's table of figures: name, ours, theirs."""
    found = {r["name"]: r for r in rows if "lacks" not in r}

    def quoted(match):
        r = found.get(match[1])
        return cells(match[1], measured(r), beside(r)) if r else match[0]
    README.write_text(re.sub(r"^\| ([^|\n]*?) \|[^|\n]*\|[^|\n]*\|$", quoted, README.read_text(), flags=re.M))


def main():
    kftrainer, dump, only = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    unknown = set(only) - {subject[0] for subject in SUBJECTS}
    if unknown:
        sys.exit(f"bench: {' '.join(sorted(unknown))}: the subjects are {' '.join(subject[0] for subject in SUBJECTS)}")
    os.environ["KFTRAINER"] = kftrainer
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended"))
    begin, whole, loads, rows = time.monotonic(), Load(), [], {}
    where = machine()
    print(where)
    for subject, _, limit, program in SUBJECTS:
        if only and subject not in only:
            continue
        print(f"\n{subject}", flush=True)
        during = Load()
        rows[subject] = run([{"KFTRAINER": kftrainer, "DUMP": dump}.get(word, word) for word in program], limit)
        loads.append(f"{subject} {during.text()}")
        print(f"load {loads[-1]}")
    took = f"{(time.monotonic() - begin) / 60:.0f} minutes"
    loads.append(f"all {whole.text()}")
    print(f"\n{took}; load: {loads[-1]}")
    if only or os.geteuid():
        print("nothing is written: that takes all subjects, and root")
    else:
        PAGE.write_text(page(f"{where}; {took}.", loads, rows))
        quote([r for found in rows.values() for r in found])
        print("docs/figures.md and README.md are written")


if __name__ == "__main__":
    main()
