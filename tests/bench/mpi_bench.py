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
from row import row
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
row("the agent's first byte", a * 1e3, "ms", "from exec to the command's first byte over mpi-worker; by turns, median of 21", "≤ 15 ms, ≤ 0.2",
    "ssh to a warm sshd", b * 1e3)
row("... over that sshd", c * 1e3, "ms", "the same agent, as a client of OpenSSH's server", "", "ssh to a warm sshd", b * 1e3)
a, x, b, y = medians([at_once(ours("true"), worker) + at_once(ssh("true"), sshd) for _ in range(3)])
row(f"{AGENTS} agents at once", a, "s", "from the first start to the last end; by turns, median of 3", "≤ 0.167", "ssh", b)
row("... CPU", x, "s", "of agents and worker, of clients and sshd", "≤ 0.125", "ssh", y)
row("memory of an agent", agent_rss(), "MB", "RSS while its command runs", "≤ 3 MB")
row("memory of an idle worker", idle, "MB", "RSS after its start", "≤ 2 MB")
a, b = medians([(throughput(ours(f"head -c {OUTPUT} /dev/zero")),
                 throughput(ssh(f"head -c {OUTPUT} /dev/zero"))) for _ in range(3)])
row("1 GB of output", a, "MB/s", "of a remote command; by turns, median of 3", "≥ 300 MB/s", "ssh", b)
worker.stop()
sshd.stop()
row(f"`mpi-launch --wait` for {HOSTS} hosts", wait_for_last(), "s", "from the start of the last worker to its end", "≤ 1 s")
