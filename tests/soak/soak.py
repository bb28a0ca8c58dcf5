#!/usr/bin/python3
"""soak.py SCENE SCRATCH: the long ones, in a cluster (soak_*.sh start it). Settings: SOAK_CYCLES (10000),
SOAK_JOBS (10000)."""
import os
import signal
import sys
import time

tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(tests, "cluster"), os.path.join(tests, "bench")]
import cluster_bench as bench  # noqa: E402
import faults  # noqa: E402
from faults import NS, Tap, admin, api, note, set_up, until  # noqa: E402

CYCLES = int(os.environ.get("SOAK_CYCLES") or 10000)
JOBS = int(os.environ.get("SOAK_JOBS") or 10000)
FAST = "clientConnection: {qps: 1000, burst: 1000}\n"


def scene_cycles(tap, scratch):
    """TrainJobs come and go, 200 at a time: memory is what it was after the first tenth."""
    one = bench.Ours(scratch, "soak", bench.config(scratch, "soak", FAST)).start()
    tap.check("the controller serves", set_up())
    marks, size = [], 200
    kinds = list(faults.SPECS.values())
    for done in range(0, CYCLES, size):
        def create(a, i):
            runtime, trainer = kinds[i % len(kinds)]
            bench.must(a.request("POST", api.path("TrainJob", NS), faults.train_job(
                NS, f"s{done + i:06d}", runtime, True, trainer)), 201)
        bench.at_once(size, 8, create)
        bench.wait_for(600, lambda: bench.count("JobSet", NS), size, 0.5)
        bench.at_once(size, 8, lambda a, i: bench.must(a.delete("TrainJob", NS, f"s{done + i:06d}"), 200))
        bench.wait_for(600, lambda: bench.count("JobSet", NS), 0, 0.5)
        marks.append(bench.rss(one.pid))
        if done // size % max(1, CYCLES // size // 10) == 0:
            note(f"{done + size} cycles: {marks[-1]:.1f} MB")
    tenth = max(1, len(marks) // 10)
    early, late = max(marks[tenth:3 * tenth + 1]), max(marks[-2 * tenth:])
    note(f"RSS {early:.1f} MB early, {late:.1f} MB late; CPU {bench.cpu(one.pid) / CYCLES * 1000:.2f} ms a cycle")
    tap.check("memory stays what it was", [] if late < early + 1 else [f"{early:.1f} MB, then {late:.1f}"])
    tap.check("nothing is left", until(120, lambda: faults.World(admin()).orphans()))
    one.kill(signal.SIGTERM)
    tap.true("asked to end, it ends well", one.process.returncode == 0)


def scene_many(tap, scratch):
    one = bench.Ours(scratch, "soak", bench.config(scratch, "soak", FAST)).start()
    tap.check("the controller serves", set_up())
    begin, used = time.monotonic(), bench.cpu(one.pid)
    bench.create(NS, JOBS)
    bench.settled(NS, JOBS)
    note(f"{JOBS} TrainJobs in {time.monotonic() - begin:.0f} s, {(bench.cpu(one.pid) - used) / JOBS * 1000:.2f} ms of "
         f"CPU each, RSS {bench.rss(one.pid):.1f} MB")
    tap.true("each has a JobSet", bench.count("JobSet", NS) == JOBS)
    one.kill(signal.SIGTERM)
    tap.true("asked to end, it ends well", one.process.returncode == 0)
    note(f"restarted: reconciling after {bench.start(one):.0f} ms")
    time.sleep(60)
    note(f"RSS then {bench.rss(one.pid):.1f} MB")
    one.kill(signal.SIGTERM)


def main():
    scene, scratch = sys.argv[1:]
    tap = Tap()
    globals()["scene_" + scene](tap, scratch)
    tap.finish()


main()
