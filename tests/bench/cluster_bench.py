#!/usr/bin/python3
"""Figures of the controller, in a cluster of its own (cluster_bench.sh starts it). Settings:
BENCH_JOBS (500), BENCH_MANY (2500; 0: not), BENCH_RUNNING (of those, 60), BENCH_ROWS (all of: start idle cpu latency life rate many others),
BENCH_UPSTREAM (its manager, to be measured by turns with ours), BENCH_LIVES (10)."""
import base64
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
import api  # noqa: E402
import faults  # noqa: E402
import latency  # noqa: E402
from faults import Controller, TRAINER_NS, admin, until, webhooks_answer  # noqa: E402

JOBS = int(os.environ.get("BENCH_JOBS") or 500)
LIVES = int(os.environ.get("BENCH_LIVES") or 10)
UPSTREAM = os.environ.get("BENCH_UPSTREAM")
MANY = int(os.environ.get("BENCH_MANY") or 2500)
RUNNING = int(os.environ.get("BENCH_RUNNING") or 60)
ROWS = (os.environ.get("BENCH_ROWS") or "start idle cpu latency life rate many others").split()
TAG = os.environ.get("BENCH_TAG", "")
WORKERS = 16
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{TRAINER_NS}/leases"


def line(what, value, want):
    print(f"{what:<58} {value:>22}   {want}", flush=True)


def config(scratch, name, more=""):
    path = f"{scratch}/{name}.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write("apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
                   f"leaderElection: {{leaderElect: true, resourceName: {name}}}\n"
                   "metrics: {bindAddress: '127.0.0.1:8443', secureServing: false}\n" + more)
    return path


def rss(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(row.split()[1]) for row in file if row.startswith("Rss:")) * 1024 / 1e6


def cpu(pid):
    """Seconds, of all threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def calls(kind="rest_client_requests_total"):
    with faults.urllib.request.urlopen("http://127.0.0.1:8443/metrics", timeout=10) as answer:
        rows = [row.rsplit(" ", 1) for row in answer.read().decode().splitlines() if row.startswith(kind)]
    return {name: float(value) for name, value in rows}


def count(kind, namespace):
    answer = admin().request("GET", api.path(kind, namespace) + "?limit=1")[1]
    return len(answer.get("items", [])) + answer["metadata"].get("remainingItemCount", 0)


def wait_for(seconds, what, value, pause=0.05):
    deadline = time.monotonic() + seconds
    while (is_ := what()) != value:
        if time.monotonic() > deadline:
            sys.exit(f"bench: {is_} after {seconds} s, not {value}")
        time.sleep(pause)


def at_once(n, threads, do):
    """do(api, i) for all i, by that many threads."""
    def run(first):
        a = admin()
        for i in range(first, n, threads):
            do(a, i)
    list_ = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for thread in list_:
        thread.start()
    for thread in list_:
        thread.join()


def must(answer, *wanted):
    if answer[0] not in wanted:
        sys.exit(f"bench: {answer[0]} {answer[1].get('message')}")
    return answer[1]


def namespace(name):
    must(admin().request("POST", api.path("Namespace"), {"apiVersion": "v1", "kind": "Namespace",
                                                         "metadata": {"name": name}}), 201)
    return name


def create(ns, n):
    at_once(n, 8, lambda a, i: must(a.request("POST", api.path("TrainJob", ns), faults.train_job(
        ns, f"b{i:05d}", "torch-distributed", True, {"numNodes": 2})), 201))


def in_pages(kind, ns):
    """Ten thousand at once take the API server longer than a request may."""
    more = ""
    while more is not None:
        answer = must(admin().request("GET", f"{api.path(kind, ns)}?limit=500&continue={more}"), 200)
        yield from answer.get("items") or []
        more = answer["metadata"].get("continue") or None


def all_tell(ns, n, of_status):
    """of_status() is true of the status of each."""
    wait_for(3600, lambda: sum(of_status(tj.get("status", {})) for tj in in_pages("TrainJob", ns)), n, max(1, n / 1000))


def settled(ns, n):
    """All have a status that says so."""
    all_tell(ns, n, lambda status: any(c["type"] == "Suspended" for c in status.get("conditions", [])))


def counted(ns, n):
    """JobSet's controller has done its part: with many that takes minutes, and each status of a JobSet is work."""
    all_tell(ns, n, lambda status: any(job["suspended"] for job in status.get("jobsStatus", [])))


def start(one):
    """Milliseconds from exec to its first line about reconciling."""
    def told():
        return one.text().count('"msg":"reconciling"') if os.path.exists(one.log) else 0
    before, begin = told(), time.monotonic()
    one.start()
    while told() == before:
        if not one.runs() or time.monotonic() > begin + 60:
            sys.exit(one.text())
        time.sleep(0.001)
    return (time.monotonic() - begin) * 1000


def row_start(scratch):
    took = []
    for i in range(7):
        one = Controller(scratch, f"start{i}", config(scratch, "start"))
        took.append(start(one))
        one.kill(signal.SIGTERM)
    line("controller: start to reconciling, free lease", f"{statistics.median(took):.0f} ms", "<= 100 ms")


def row_idle(scratch):
    one = Controller(scratch, "idle", config(scratch, "idle"))
    start(one)
    until(60, webhooks_answer)
    time.sleep(20)
    line("controller: RSS, nothing to do", f"{rss(one.pid):.1f} MB", "<= 6 MB")
    one.kill(signal.SIGTERM)


def row_cpu(scratch):
    one = Controller(scratch, "cpu", config(scratch, "cpu"))
    start(one)
    until(60, webhooks_answer)
    ns, before = namespace(f"bench-cpu{TAG}"), cpu(one.pid)
    create(ns, JOBS)
    settled(ns, JOBS)
    time.sleep(5)
    used = (cpu(one.pid) - before) / JOBS * 1000
    line(f"controller: CPU a suspended TrainJob, of {JOBS}", f"{used:.2f} ms", "<= 1.5 ms")
    line("  calls to the API server a TrainJob", f"{sum(calls().values()) / JOBS:.2f}", "")
    line("  passes a TrainJob", f"{sum(calls('controller_runtime_reconcile_total').values()) / JOBS:.2f}", "")
    line("  RSS then", f"{rss(one.pid):.1f} MB", "")
    one.kill(signal.SIGTERM)
    return ns


# ---- how long users wait, and upstream's manager in our place -------------------------------------
class Upstream(Controller):
    """It has the certificate that ours made, and all rights."""
    def start(self):
        folder = "/tmp/k8s-webhook-server/serving-certs"
        os.makedirs(folder, exist_ok=True)
        secret = admin().get("Secret", TRAINER_NS, "kubeflow-trainer-webhook-cert")[1]["data"]
        for name in ("tls.crt", "tls.key", "ca.crt"):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(base64.b64decode(secret[name]))
        path = f"{self.scratch}/upstream.yaml"
        with open(path, "w", encoding="utf-8") as file:
            file.write("apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
                       "certManagement: {enable: false}\nwebhook: {port: 9443}\n"
                       "metrics: {bindAddress: '0'}\nhealth: {healthProbeBindAddress: ':8081'}\n"
                       "clientConnection: {qps: 50, burst: 100}\nleaderElection: {leaderElect: false}\n")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([UPSTREAM, "--config", path], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)
        self.all.append(self.process)
        return self


def contenders(scratch, name):
    """Ours; with BENCH_UPSTREAM ours, theirs, ours, each started and ended again."""
    for i, theirs in enumerate((False, True, False) if UPSTREAM else (False,)):
        one = Upstream(scratch, f"{name}{i}") if theirs else Controller(scratch, f"{name}{i}", config(
            scratch, f"{name}{i}", "clientConnection: {qps: 50, burst: 100}\n"))
        one.start()
        until(60, webhooks_answer)
        time.sleep(3)
        yield "upstream" if theirs else "kftrainer", f"{name}{TAG}{i}", one
        one.kill(signal.SIGTERM)


def row_latency(scratch):
    for who, name, _ in contenders(scratch, "latency"):
        print(f"{who}:")
        scene, other = (latency.Scene(namespace(f"bench-{name}-{i}")) for i in range(2))
        latency.alone(line, scene)
        for n in (100, JOBS):
            latency.waves(line, scene, other, at_once, n)
        latency.ahead(line, scene, other, at_once, JOBS)


def row_life(scratch):
    for who, name, one in contenders(scratch, "life"):
        scene, before = latency.Scene(namespace(f"bench-{name}")), cpu(one.pid)
        latency.lives(scene, LIVES)
        line(f"{who}: CPU a life (create, 8 pods, complete, delete)", f"{(cpu(one.pid) - before) / LIVES * 1000:.1f} ms",
             "<= 1/3 of upstream's")


# ---- as many a second as a client that only applies ----------------------------------------------
def made():
    """JobSets made, as the controller counts them: lists of the API server would slow it down."""
    return sum(calls("trainer_trainjob_jobset_seconds_count").values())


def apply_share(objects, first, step, barrier):
    a = admin()
    a.get("JobSet", objects[0]["metadata"]["namespace"], "none")  # connects
    barrier.wait()
    for obj in objects[first::step]:
        url = api.path("JobSet", obj["metadata"]["namespace"], obj["metadata"]["name"])
        answer = a.request("PATCH", url + "?fieldManager=bench&force=true", obj, "application/apply-patch+yaml")
        if answer[0] != 201:
            print(answer[1].get("message"), file=sys.stderr)
            os._exit(1)


def apply_bare(objects):
    """JobSets a second, by as many connections as the controller has workers."""
    processes = min(WORKERS, 2 * (os.cpu_count() or 1))
    barrier = multiprocessing.Barrier(WORKERS + 1)

    def share(p):
        threads = [threading.Thread(target=apply_share, args=(objects, i, WORKERS, barrier))
                   for i in range(p, WORKERS, processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    list_ = [multiprocessing.Process(target=share, args=(p,)) for p in range(processes)]
    for process in list_:
        process.start()
    barrier.wait()
    begin = time.monotonic()
    for process in list_:
        process.join()
        if process.exitcode:
            sys.exit("bench: an apply failed")
    return len(objects) / (time.monotonic() - begin)


def bare(obj, ns):
    meta = obj["metadata"]
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "spec": obj["spec"],
            "metadata": {"name": meta["name"], "namespace": ns,
                         **{key: meta[key] for key in ("labels", "annotations") if key in meta}}}


def rate(scratch, number):
    """TrainJobs that wait for a leader; then one comes."""
    name = f"rate{TAG}{number}"
    must(admin().request("POST", LEASE, {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {"holderIdentity": "bench", "leaseDurationSeconds": 3600,
                 "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())}}), 201)
    one = Controller(scratch, name, config(
        scratch, name, f"clientConnection: {{qps: 10000, burst: 10000}}\ncontroller: {{groupKindConcurrency: "
        f"{{TrainJob.trainer.kubeflow.org: {WORKERS}}}}}\n")).start()
    until(60, webhooks_answer)
    ns = namespace(f"bench-{name}")
    create(ns, JOBS)
    must(admin().request("PATCH", f"{LEASE}/{name}", {"spec": {"holderIdentity": ""}}, faults.MERGE), 200)
    while '"msg":"reconciling"' not in one.text():
        time.sleep(0.002)
    begin = time.monotonic()
    wait_for(600, made, JOBS)
    ours = JOBS / (time.monotonic() - begin)
    if count("JobSet", ns) != JOBS:
        sys.exit(f"bench: {count('JobSet', ns)} JobSets, and {JOBS} are counted")
    settled(ns, JOBS)
    one.kill(signal.SIGTERM)
    jobsets = [bare(obj, namespace(f"{ns}-bare")) if i == 0 else bare(obj, f"{ns}-bare")
               for i, obj in enumerate(admin().items("JobSet", ns))]
    for obj in jobsets:
        obj.update(apiVersion="jobset.x-k8s.io/v1alpha2", kind="JobSet")
    time.sleep(10)  # what the other controllers have to do with those of before
    return ours, apply_bare(jobsets)


def row_rate(scratch):
    both = [rate(scratch, i) for i in range(int(os.environ.get("BENCH_ROUNDS") or 1))]
    ours, theirs = (statistics.median(side) for side in zip(*both))
    line(f"controller: TrainJobs/s to JobSet, {WORKERS} workers", f"{ours:.0f}",
         f">= 80 % of bare applies: {ours / theirs * 100:.0f} % of {theirs:.0f}")


def run(n):
    """Jobs whose pods are reported running."""
    scene = latency.Scene(namespace(f"bench-running{TAG}"))
    names = [f"run{i:03d}" for i in range(n)]
    for name in names:
        scene.create(name, False)
    for name in names:
        wait_for(300, lambda name=name: latency.set_pods(scene.a, scene.ns, name, "Running", "True"), 2, 1)


def row_many(scratch):
    one = Controller(scratch, "many", config(scratch, "many", "clientConnection: {qps: 1000, burst: 1000}\n"))
    start(one)
    until(60, webhooks_answer)
    ns = namespace(f"bench-many{TAG}")
    there = count("TrainJob", None)
    if MANY > there:
        run(RUNNING)
        create(ns, MANY - there - RUNNING)
        counted(ns, MANY - there - RUNNING)
    wait_for(3600, lambda: sum(calls("workqueue_depth").values()), 0, 5)  # those it found at its start
    time.sleep(30)
    before, called, seconds = cpu(one.pid), sum(calls().values()), 120
    time.sleep(seconds)
    line(f"  CPU of an hour of doing nothing then, {RUNNING} running", f"{(cpu(one.pid) - before) * 3600 / seconds:.1f} s", "<= 1/3 of upstream's")
    line("  calls to the API server a second", f"{(sum(calls().values()) - called) / seconds:.2f}", "<= 1")
    line(f"controller: RSS with {count('TrainJob', None)} TrainJobs and JobSets", f"{rss(one.pid):.1f} MB",
         "<= 20 MB" if MANY <= 2500 else "")
    one.kill(signal.SIGTERM)
    start(one)
    time.sleep(20)
    line("  restarted", f"{rss(one.pid):.1f} MB", "")
    one.kill(signal.SIGTERM)


def row_others(scratch):
    one = Controller(scratch, "others", config(scratch, "others"))
    start(one)
    until(60, webhooks_answer)
    time.sleep(15)
    ns, before = namespace(f"bench-others{TAG}"), rss(one.pid)
    data = {"data": {"x": "x" * 200_000}, "apiVersion": "v1", "kind": "ConfigMap"}
    at_once(700, 4, lambda a, i: must(a.request("POST", api.path("ConfigMap", ns), dict(
        data, metadata={"name": f"c{i}"})), 201))
    time.sleep(10)
    line("controller: RSS by 700 ConfigMaps of 200 KB of others", f"{rss(one.pid) - before:+.2f} MB", "< 1 MB")
    one.kill(signal.SIGTERM)


def main():
    scratch = sys.argv[1]
    for row in ROWS:
        globals()["row_" + row](scratch)


if __name__ == "__main__":
    main()
