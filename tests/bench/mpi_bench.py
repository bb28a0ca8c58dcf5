#!/usr/bin/python3
"""mpi-launch and mpi-worker against OpenSSH's client and a warm sshd, in turns: `make bench`.

usage: mpi_bench.py KFTRAINER
"""
import os
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
if len(sys.argv) != 2:
    sys.exit(__doc__)
os.environ["KFTRAINER"] = os.path.abspath(sys.argv[1])
from mpi_ends import PROGRAM, Sshd, Worker, free_port, new_key, path, resident, until

AGENTS, HOSTS, OUTPUT = 64, 128, 10**9
TICKS = os.sysconf("SC_CLK_TCK")
KEY = new_key("key")
worker = Worker(KEY)
sshd = Sshd(KEY, f"MaxStartups {AGENTS * 4}")


def ssh(command):
    return ["ssh", "-F", "/dev/null", "-p", str(sshd.port), "-i", KEY, "-o", "BatchMode=yes", "-o",
            "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
            "127.0.0.1", command]


def ours(command):
    return worker.command(command, timeout="60s")


def line(what, value, want=""):
    print(f"{what:<58} {value:>26}   {want}", flush=True)


def first_byte(argv):
    begun = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        p.stdout.read(1)
        return time.perf_counter() - begun


def cpu_of(pid):
    """Seconds, with the children that it has reaped."""
    with open(f"/proc/{pid}/stat") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:15])) / TICKS


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return f.read().split()


def at_once(argv, server):
    """Wall time and CPU of both sides."""
    before = sum(os.times()[2:4]) + cpu_of(server.process.pid)
    begun = time.perf_counter()
    agents = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
              for _ in range(AGENTS)]
    codes = {p.wait() for p in agents}
    wall = time.perf_counter() - begun
    if codes != {0}:
        sys.exit(f"mpi_bench: exit codes {codes}")
    until(lambda: not children_of(server.process.pid))
    return wall, sum(os.times()[2:4]) + cpu_of(server.process.pid) - before


def throughput(argv):
    begun = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        subprocess.run(["cat"], stdin=p.stdout, stdout=subprocess.DEVNULL, check=True)
    return OUTPUT / 1e6 / (time.perf_counter() - begun)


def agent_rss():
    with subprocess.Popen(ours("echo up; exec sleep 100"), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as p:
        p.stdout.read(1)
        rss = resident(p.pid)
        p.kill()
        return rss / 1024


def wait_for_last():
    """From the last worker's listening to the end of --wait, with all others up."""
    port = free_port("0.0.0.0")
    hosts = [f"127.0.2.{i + 1}" for i in range(HOSTS)]
    with open(path("hosts"), "w") as f:
        f.write("".join(f"{host} slots=1\n" for host in hosts))
    workers = [Worker(KEY, host=host, port=port) for host in hosts[:-1]]
    with subprocess.Popen([PROGRAM, "mpi-launch", "--wait", path("hosts"), "-p", str(port), "-i", KEY],
                          stderr=subprocess.DEVNULL) as p:
        time.sleep(3)
        workers.append(Worker(KEY, host=hosts[-1], port=port))
        begun = time.perf_counter()
        if p.wait():
            sys.exit(f"mpi_bench: --wait exits with {p.returncode}")
        took = time.perf_counter() - begun
    for w in workers:
        w.stop()
    return took


def medians(rows):
    return [statistics.median(column) for column in zip(*rows)]


idle = resident(worker.process.pid) / 1024
a, b, c = medians([(first_byte(ours("echo x")), first_byte(ssh("echo x")),
                    first_byte(sshd.command("echo x"))) for _ in range(21)])
line("exec of the agent to the command's first byte", f"{a * 1e3:.1f} ms, {a / b:.3f} of ssh", "<= 15 ms, <= 0.2")
line("... of ssh to a warm sshd", f"{b * 1e3:.1f} ms")
line("... of the agent to that sshd", f"{c * 1e3:.1f} ms, {c / b:.2f} of ssh")
runs = [at_once(ours("true"), worker) + at_once(ssh("true"), sshd) for _ in range(5)]
a, x, b, y = medians(runs)
line(f"{AGENTS} agents at once: wall time", f"{a:.2f} s, {a / b:.3f} of ssh", "<= 0.167")
line("... CPU, both sides", f"{x:.2f} s, {x / y:.3f} of ssh", "<= 0.125")
line("... of ssh: wall time, CPU", f"{b:.2f} s, {y:.2f} s")
line("resident: an agent, an idle worker", f"{agent_rss():.1f} MB, {idle:.1f} MB", "<= 3 MB, <= 2 MB")
a, b = medians([(throughput(ours(f"head -c {OUTPUT} /dev/zero")),
                 throughput(ssh(f"head -c {OUTPUT} /dev/zero"))) for _ in range(3)])
line("1 GB of output", f"{a:.0f} MB/s, {a / b:.2f} of ssh", ">= 300 MB/s")
worker.stop()
sshd.stop()
line(f"--wait over {HOSTS} hosts, after the last is up", f"{wait_for_last():.2f} s", "<= 1 s")
