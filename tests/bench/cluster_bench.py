#!/usr/bin/python3
"""Figures of the controller beside upstream's manager, in a cluster of its own (cluster.sh starts it). Settings:
BENCH_ROWS (all of: start idle cpu latency life rate others many), BENCH_JOBS (200), BENCH_LIVES (10), BENCH_MANY (2500),
BENCH_RUNNING (of those, 60), BENCH_UPSTREAM (the program of upstream; without it only ours is measured)."""
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
from row import lacks, row  # noqa: E402

JOBS = int(os.environ.get("BENCH_JOBS") or 200)
LIVES = int(os.environ.get("BENCH_LIVES") or 10)
UPSTREAM = os.environ.get("BENCH_UPSTREAM")
MANY = int(os.environ.get("BENCH_MANY") or 2500)
RUNNING = int(os.environ.get("BENCH_RUNNING") or 60)
ROWS = (os.environ.get("BENCH_ROWS") or "start idle cpu latency life rate others many").split()
VERSION = "upstream " + UPSTREAM.split("upstream-")[-1].split("-")[0] if UPSTREAM else "upstream"  # the folder's name has it
WORKERS = 16
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{TRAINER_NS}/leases"


def config(scratch, name, more="", theirs=False):
    """Upstream's has the certificate that ours made, and no metrics."""
    path = f"{scratch}/{name}.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write("apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
                   f"leaderElection: {{leaderElect: true, resourceName: {name}, resourceNamespace: {TRAINER_NS}, "
                   "resourceLock: leases, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}\n" + more)
        file.write("certManagement: {enable: false}\nwebhook: {port: 9443}\nmetrics: {bindAddress: '0'}\n"
                   "health: {healthProbeBindAddress: ':8081'}\n" if theirs else
                   "metrics: {bindAddress: '127.0.0.1:8443', secureServing: false}\n")
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
        return one.text().count(one.reconciles) if os.path.exists(one.log) else 0
    before, begin = told(), time.monotonic()
    one.start()
    while told() == before:
        if not one.runs() or time.monotonic() > begin + 60:
            sys.exit(one.text())
        time.sleep(0.001)
    return (time.monotonic() - begin) * 1000


# ---- the two ------------------------------------------------------------------------------------
class Ours(Controller):
    theirs, reconciles = False, '"msg":"reconciling"'


class Upstream(Controller):
    """With all rights."""
    theirs, reconciles = True, "Starting workers"

    def start(self):
        folder = "/tmp/k8s-webhook-server/serving-certs"
        os.makedirs(folder, exist_ok=True)
        secret = admin().get("Secret", TRAINER_NS, "kubeflow-trainer-webhook-cert")[1]["data"]
        for name in ("tls.crt", "tls.key", "ca.crt"):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(base64.b64decode(secret[name]))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([UPSTREAM, "--config", self.config], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.all.append(self.process)
        return self


def both(scratch, name, measure, more="", ready=True):
    """What measure(one, namespace prefix) gives of ours, and of upstream's, in its place in the same cluster."""
    found = []
    for kind in (Ours, Upstream) if UPSTREAM else (Ours,):
        tag = f"{name}-{'upstream' if kind.theirs else 'ours'}"
        one = kind(scratch, tag, config(scratch, tag, more, kind.theirs))
        if ready:
            start(one)
            until(60, webhooks_answer)
        found.append(measure(one, f"bench-{tag}"))
        one.kill(signal.SIGTERM)
    return found


def beside(name, found, unit, conditions, target=""):
    row(name, found[0], unit, conditions, target, *((VERSION, found[1]) if len(found) > 1 else ()))


def row_start(scratch):
    def measure(one, _):
        took = []
        for i in range(3 if one.theirs else 7):
            one.config = config(scratch, f"{os.path.basename(one.config)[:-5]}{i}", "", one.theirs)
            took.append(start(one))
            one.kill(signal.SIGTERM)
        return statistics.median(took)
    beside("start to reconciling", both(scratch, "start", measure, ready=False), "ms",
           "from exec to the log's line, with a free Lease; median of 7, of 3 of upstream's", "≤ 100 ms")


def row_idle(scratch):
    def measure(one, _):
        time.sleep(15)
        return rss(one.pid)
    beside("memory, idle", both(scratch, "idle", measure), "MB", "RSS 15 s after the start, leading, no TrainJob", "≤ 6 MB")


def row_cpu(scratch):
    def measure(one, ns):
        namespace(ns)
        before = cpu(one.pid)
        create(ns, JOBS)
        settled(ns, JOBS)
        time.sleep(5)
        if not one.theirs:
            row("API calls per suspended TrainJob", sum(calls().values()) / JOBS, "", f"all requests of the controller, {JOBS} TrainJobs")
        return (cpu(one.pid) - before) / JOBS * 1000
    found = both(scratch, "cpu", measure)
    beside("CPU per suspended TrainJob", found, "ms", f"of all threads, from creation to the status, {JOBS} TrainJobs, one after the other", "≤ 1.5 ms")


# ---- how long users wait ------------------------------------------------------------------------
QPS = "clientConnection: {qps: 50, burst: 100}\n"


def row_latency(scratch):
    def measure(_, ns):
        scene, other = (latency.Scene(namespace(f"{ns}-{i}")) for i in range(2))
        return latency.alone(scene) + latency.wave_of(scene, at_once, JOBS // 2) + latency.ahead(scene, other, at_once, JOBS // 2)
    for found in zip(*both(scratch, "latency", measure, QPS)):
        name, _, unit, conditions, target = found[0]
        beside(name, [one[1] for one in found], unit, conditions, target)


def row_life(scratch):
    def measure(one, ns):
        scene, before = latency.Scene(namespace(ns)), cpu(one.pid)
        latency.lives(scene, LIVES)
        return (cpu(one.pid) - before) / LIVES * 1000
    beside("CPU of a TrainJob's life", both(scratch, "life", measure, QPS), "ms",
           f"create, 8 pods run, complete, delete; mean of {LIVES}, one after the other", "≤ 1/3 of upstream's")


# ---- as many a second as a client that only applies ----------------------------------------------
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


def rate(one, ns):
    """TrainJobs that wait for a leader; then one comes. JobSets a second between the first and the last."""
    name = os.path.basename(one.config)[:-5]
    must(admin().request("POST", LEASE, {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {"holderIdentity": "bench", "leaseDurationSeconds": 3600,
                 "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())}}), 201)
    one.start()
    until(60, webhooks_answer)
    namespace(ns)
    create(ns, JOBS)
    seen = latency.Seen("JobSet", ns, lambda _: ["there"])
    must(admin().request("PATCH", f"{LEASE}/{name}", {"spec": {"holderIdentity": ""}}, faults.MERGE), 200)
    times = [seen.wait(f"b{i:05d}", "there") for i in range(JOBS)]
    settled(ns, JOBS)
    return (JOBS - 1) / (max(times) - min(times))


def row_rate(scratch):
    found = both(scratch, "rate", rate, f"clientConnection: {{qps: 10000, burst: 10000}}\ncontroller: {{groupKindConcurrency: "
                 f"{{TrainJob.trainer.kubeflow.org: {WORKERS}}}}}\n", ready=False)
    beside("TrainJobs per second", found, "", f"{JOBS} suspended TrainJobs to their JobSets as a watch shows them, {WORKERS} workers, no limit of requests")
    ns = namespace("bench-bare")
    jobsets = [dict(bare(obj, ns), apiVersion="jobset.x-k8s.io/v1alpha2", kind="JobSet") for obj in admin().items("JobSet", "bench-rate-ours")]
    time.sleep(10)  # what the other controllers have to do with those of before
    row("... beside bare applies", found[0], "/s", f"the same JobSets by {WORKERS} connections of a client that does nothing else", "≥ 0.8 of them",
        "bare applies", apply_bare(jobsets))


def run(n):
    """Jobs whose pods are reported running."""
    scene = latency.Scene(namespace("bench-running"))
    names = [f"run{i:03d}" for i in range(n)]
    for name in names:
        scene.create(name, False)
    for name in names:
        wait_for(300, lambda name=name: latency.set_pods(scene.a, scene.ns, name, "Running", "True"), 2, 1)


def fill():
    """MANY TrainJobs, of which RUNNING run."""
    there = count("TrainJob", None)
    run(RUNNING)
    ns = namespace("bench-many")
    create(ns, MANY - there - RUNNING)
    counted(ns, MANY - there - RUNNING)


def row_many(scratch):
    def measure(one, _):
        if not one.theirs:
            fill()
            wait_for(600, lambda: sum(calls("workqueue_depth").values()), 0, 5)
        time.sleep(30)
        before, seconds = cpu(one.pid), 60
        called = 0 if one.theirs else sum(calls().values())
        time.sleep(seconds)
        used = (cpu(one.pid) - before) * 3600 / seconds
        if not one.theirs:
            row("API calls per second, idle with them", (sum(calls().values()) - called) / seconds, "/s", "0.5 of them renew the Lease", "≤ 1")
        return used, rss(one.pid)
    used, memory = zip(*both(scratch, "many", measure, "clientConnection: {qps: 1000, burst: 1000}\n"))
    beside(f"CPU of an idle hour of {MANY:,} TrainJobs", used, "s", f"from 60 s, {RUNNING} of them running", "≤ 1/3 of upstream's")
    beside(f"memory with {MANY:,} TrainJobs", memory, "MB", "RSS then, with their JobSets; upstream's started when all were there", "≤ 20 MB")


def row_others(scratch):
    def measure(one, ns):
        time.sleep(10)
        before = rss(one.pid)
        namespace(ns)
        data = {"data": {"x": "x" * 200_000}, "apiVersion": "v1", "kind": "ConfigMap"}
        at_once(300, 4, lambda a, i: must(a.request("POST", api.path("ConfigMap", ns), dict(data, metadata={"name": f"c{i}"})), 201))
        time.sleep(10)
        found = rss(one.pid) - before
        must(admin().delete("Namespace", None, ns), 200)
        return found
    beside("memory for ConfigMaps of others", both(scratch, "others", measure), "MB", "growth of RSS by 300 ConfigMaps of 200 KB", "< 1 MB")


def main():
    if not UPSTREAM:
        lacks(VERSION, "tests/bench/program.sh could not build it")
    for name in ROWS:
        globals()["row_" + name](sys.argv[1])


if __name__ == "__main__":
    main()
