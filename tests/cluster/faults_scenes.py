#!/usr/bin/python3
"""faults_scenes.py SCENE SCRATCH: what goes wrong, one scene after the other, and what must be true
afterwards (faults.py). Settings: FAULTS_JOBS, FAULTS_KILLS, FAULTS_SEED. The environment has
KUBECONFIG, CLUSTER and KFTRAINER; SCRATCH has the controller's trainer.kubeconfig."""
import base64
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from faults import (MERGE, NS, TRAINER_NS, Controller, Proxy, Tap, Watcher, Workload, admin, api, clean_up, cluster,
                    compact, healthy, judge, note, set_up, train_job, until, webhooks_answer)
from faults_ends import scene_ends  # pylint: disable=unused-import

SEED = int(os.environ.get("FAULTS_SEED") or time.time())
JOBS = int(os.environ.get("FAULTS_JOBS") or 0)


def refusals(tap, work, allowed):
    """Each refusal is one of those that such a fault explains."""
    note("refused: " + (", ".join(f"{n}x {what}" for what, n in work.answers.most_common(12)) or "nothing"))
    tap.check("unsupported requests were refused",
              [what for what in work.answers if not any(word in what for word in allowed)])


# The API server's own words when a webhook or itself does not answer; and of two who write at once.
REFUSED = ("failed calling webhook", "Error", "Disconnected", "IncompleteRead", "BadStatusLine", "503", "404",
           "Operation cannot be fulfilled", "shutting down", "etcdserver", "no endpoints", "forbidden", "cannot read the runt")


def scene_kill(tap, scratch):
    """The controller is killed again and again while it works."""
    kills, chance = int(os.environ.get("FAULTS_KILLS") or 8), random.Random(SEED)
    one = Controller(scratch).start()
    tap.check("the controller serves", set_up())
    watcher, work = Watcher(), Workload(JOBS or 40, 1.5 * kills, SEED)
    watcher.start()
    work.start()
    done = 0
    while done < kills or work.busy():
        # As long as it takes to start; then, as long as its work takes.
        time.sleep(chance.choice([chance.uniform(0, 0.2), chance.uniform(0.2, 3)]))
        if done < kills:
            tap_runs = one.runs()
            one.kill()
            done += tap_runs
            one.start()
    note(f"killed {done} times")
    tap.check("all that was to happen happened", work.join())
    refusals(tap, work, REFUSED)
    judge(tap, work.jobs, watcher)
    tap.check("it never crashed by itself", one.crashes())
    one.kill(signal.SIGTERM)
    tap.true("asked to end, it ends well", one.process.returncode == 0)


def same_process(tap, one, pid):
    tap.check("all that time it was one process", [] if one.runs() and one.pid == pid else [one.text()[-2000:]])
    one.kill(signal.SIGTERM)
    tap.true("asked to end, it ends well", one.process.returncode == 0)
    tap.check("without a crash", one.crashes())


def disturbed(tap, scratch, fault, seconds, jobs):
    """A workload, and fault() again and again until it is through; the controller stays."""
    one = Controller(scratch).start()
    tap.check("the controller serves", set_up())
    pid, watcher, work = one.pid, Watcher(), Workload(JOBS or jobs, seconds, SEED)
    watcher.start()
    work.start()
    faults = 0
    while work.busy():
        faults += fault(one)
    note(f"{faults} times")
    tap.check("all that was to happen happened", work.join())
    refusals(tap, work, REFUSED)
    tap.true("something was cut", faults)
    judge(tap, work.jobs, watcher)
    same_process(tap, one, pid)


def scene_apiserver(tap, scratch):
    """The API server is killed and comes back."""
    def kill(_):
        time.sleep(5)
        return not restart()
    disturbed(tap, scratch, kill, 15, 30)


def scene_watch(tap, scratch):
    """All of its connections to the API server are reset, those of watches and calls under way alike."""
    proxy = Proxy()
    proxy.kubeconfig(f"{scratch}/trainer.kubeconfig")

    def cut(_):
        time.sleep(1.5)
        return proxy.cut() >= 5 # the watches
    disturbed(tap, scratch, cut, 10, 30)


def scene_dumb(tap, scratch):
    """Its connections stay open, and nothing comes through them any more: the end of a watch does not come."""
    proxy = Proxy()
    proxy.kubeconfig(f"{scratch}/trainer.kubeconfig")
    dumb = []

    def silence(_):
        time.sleep(3)
        if not dumb:
            dumb.append(proxy.go_dumb())
        return bool(dumb[0])
    disturbed(tap, scratch, silence, 10, 20)


def restart():
    """With its garbage collector: where there is an election, that ends when the API server is gone, too. One that
    lives on may have missed what was deleted meanwhile, and waits for ever."""
    cluster("stop", "kube-apiserver")
    cluster("stop", "kube-controller-manager")
    cluster("start", "kube-apiserver")
    problems = until(60, healthy)
    cluster("start", "kube-controller-manager")
    return problems


def sleep(one, jobs):
    """What it misses: TrainJobs and JobSets that go, and all that etcd knew of it."""
    one.process.send_signal(signal.SIGSTOP)
    a = admin()
    for job in [job for job in jobs if job.exists and not job.complete][:5]:  # deletes need no webhook
        a.delete("TrainJob", NS, job.name)
        job.exists = False
    problems = restart()  # what was sent before would still be in its sockets
    compact()
    problems += restart()
    one.process.send_signal(signal.SIGCONT)
    return problems


def scene_gone(tap, scratch):
    """It sleeps while much happens and etcd forgets it: its watches are answered 410 Gone."""
    one = Controller(scratch).start()
    tap.check("the controller serves", set_up())
    pid, watcher, jobs = one.pid, Watcher(), []
    watcher.start()
    for prefix in ("g", "h", "k"):
        work = Workload(JOBS or 12, 3, SEED, prefix=prefix).start()
        tap.check(f"{prefix}: it does its work", work.join())
        jobs += work.jobs
        if prefix != "k":
            tap.check(f"{prefix}: while it sleeps, five TrainJobs go and etcd forgets them", sleep(one, jobs))
    judge(tap, jobs, watcher)
    same_process(tap, one, pid)


LEASE = 15  # seconds; a leader that stands still for 10 ends, and a loaded machine does so for a few


def config(scratch, name, address, lease):
    path = f"{scratch}/{name}-{address}.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
webhook: {{port: 9443, host: {address}}}
health: {{healthProbeBindAddress: "{address}:8081"}}
metrics: {{bindAddress: "{address}:8443", secureServing: false}}
leaderElection:
  leaderElect: true
  resourceName: {name}
  leaseDuration: {lease}s
  renewDeadline: {lease * 2 // 3}s
  retryPeriod: {min(2, lease // 5)}s
""")
    return path


def serving(addresses):
    """What the endpoints' controller does: Services lead to these."""
    a = admin()
    for one in a.request("GET", SLICES)[1]["items"]:
        if not one["metadata"]["name"].endswith("-process"):
            continue
        ends = [{"addresses": [address], "conditions": {"ready": True}} for address in addresses]
        a.request("PATCH", f"{SLICES}/{one['metadata']['name']}", {"endpoints": ends}, MERGE)


LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{TRAINER_NS}/leases"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{TRAINER_NS}/endpointslices"
ADDRESSES = ("10.250.0.1", "10.250.0.251")


def leads(*replicas):
    return [one for one in replicas if '"msg":"reconciling"' in one.text()]


def two(scratch, name, lease):
    return [Controller(scratch, f"{name}-{which}", config(scratch, name, address, lease))
            for which, address in zip("ab", ADDRESSES)]


def work_through(tap, what, jobs, prefix):
    work = Workload(10, 2, SEED, prefix=prefix).start()
    tap.check(what, work.join())
    jobs += work.jobs


def holder_of(name):
    return admin().request("GET", f"{LEASES}/{name}")[1]["spec"].get("holderIdentity")


def change_of_leader(tap, scratch, name, lease, number, jobs):
    """Two replicas; the one that leads gets a signal. Asked to end, it releases the lease."""
    one, other = two(scratch, name, lease)
    one.start()
    tap.check(f"{name}: the first leads", until(60, lambda: [] if leads(one) else ["it does not"]))
    other.start()
    serving(ADDRESSES)
    tap.check(f"{name}: the webhooks answer", until(60, webhooks_answer))
    work_through(tap, f"{name}: there is work", jobs, f"{name}a")
    tap.check(f"{name}: of the two only one reconciles", leads(other))
    holder = holder_of(name)
    one.kill(number)
    if number == signal.SIGTERM:
        tap.true(f"{name}: the lease is released", holder and holder_of(name) != holder)
    serving(ADDRESSES[1:])
    work_through(tap, f"{name}: the first is gone, and the webhooks of the other answer", jobs, f"{name}b")
    tap.check(f"{name}: the other leads", until(60, lambda: [] if leads(other) else [other.text()[-500:]]))
    one.start()
    serving(ADDRESSES)
    work_through(tap, f"{name}: the first is back, and there is work", jobs, f"{name}c")
    tap.true(f"{name}: it does not lead", one.text().count('"msg":"reconciling"') == 1)
    for replica in (one, other):
        replica.kill(signal.SIGTERM)
    tap.check(f"{name}: no crash", one.crashes() + other.crashes())


def frozen_leader(tap, scratch, name, lease, jobs):
    """The one that leads stops without a word, and goes on when the other leads."""
    one, other = two(scratch, name, lease)
    one.start()
    tap.check(f"{name}: the first leads", until(60, lambda: [] if leads(one) else ["it does not"]))
    other.start()
    serving(ADDRESSES[1:])
    tap.check(f"{name}: the webhooks answer", until(60, webhooks_answer))
    one.process.send_signal(signal.SIGSTOP)
    at = time.monotonic()
    work = Workload(1, 0, SEED, prefix=name).start()
    tap.check(f"{name}: it is frozen, and a TrainJob comes", work.join())
    jobs += work.jobs
    tap.check(f"{name}: the TrainJob has its JobSet", until(120, lambda: [
        job.name for job in work.jobs if admin().get("JobSet", NS, job.name)[0] != 200]))
    note(f"{time.monotonic() - at:.1f} s after the leader froze, with a lease of {lease} s")
    one.process.send_signal(signal.SIGCONT)
    tap.check(f"{name}: the first goes on, and ends", until(60, lambda: ["it runs"] if one.runs() else []))
    tap.true(f"{name}: ... for it has lost the lease", f"lost the lease {name}" in one.text())
    other.kill(signal.SIGTERM)
    tap.check(f"{name}: no crash", one.crashes() + other.crashes())


def scene_replicas(tap, scratch):
    """Two replicas: one leads. It is asked to end: the other leads at once; killed or frozen: when the lease has run out."""
    subprocess.run(["ip", "addr", "add", f"{ADDRESSES[1]}/24", "dev", "kft0"], check=False, stderr=subprocess.DEVNULL)
    first = Controller(scratch).start()
    tap.check("the controller serves", set_up())
    first.kill(signal.SIGTERM)
    watcher, jobs = Watcher(), []
    watcher.start()
    change_of_leader(tap, scratch, "term", 120, signal.SIGTERM, jobs)
    change_of_leader(tap, scratch, "kill", LEASE, signal.SIGKILL, jobs)
    frozen_leader(tap, scratch, "stop", LEASE, jobs)
    serving(ADDRESSES[:1])
    first.start()
    judge(tap, jobs, watcher)
    first.kill(signal.SIGTERM)


SERVES = '"msg":"serving a certificate"'


def scene_certificate(tap, scratch):
    """The certificate nears its end, has ended, is nonsense, is gone: the webhooks answer all the time."""
    one = Controller(scratch).start()
    tap.check("the controller serves", set_up())
    pid, stop, failed, asked = one.pid, threading.Event(), [], []

    def ask():
        while not stop.wait(0.1):
            asked.append(1)
            failed.extend(webhooks_answer())
    asking = threading.Thread(target=ask)
    asking.start()
    for what, change in certificates(scratch):
        before = one.text().count(SERVES)
        a, name = admin(), "kubeflow-trainer-webhook-cert"
        url = api.path("Secret", TRAINER_NS, name)
        if change is None:
            a.request("DELETE", url)
        else:
            tap.true(f"{what}: put in the Secret", a.request("PATCH", url, {"data": change}, MERGE)[0] == 200)
        shows = lambda: [] if one.runs() and one.text().count(SERVES) > before else [one.text()[-500:]]
        tap.check(f"{what}: another is served, by the same process", until(60, shows))
        tap.check(f"{what}: the webhooks answer", webhooks_answer())
    stop.set()
    asking.join()
    tap.check(f"they did so {len(asked)} times meanwhile", failed or ([] if len(asked) > 20 else ["hardly asked"]))
    same_process(tap, one, pid)


def scene_clock(tap, scratch):
    """The wall clock jumps, and back (build/kftrainer-shifted): nothing that is timed by it goes wrong."""
    clock = os.environ["SHIFTED_CLOCK"] = f"{scratch}/clock"

    def jump(seconds):
        with open(clock + ".new", "w", encoding="ascii") as file:
            file.write(str(seconds))
        os.rename(clock + ".new", clock)
    jump(0)
    one = Controller(scratch, "clock", config(scratch, "clock", ADDRESSES[0], LEASE)).start()
    tap.check("the controller serves", set_up())
    pid, watcher, jobs = one.pid, Watcher(), []
    watcher.start()
    for what, seconds, prefix in (("7200 s ahead", 7200, "x"), ("and back", 0, "y"), ("a month ahead", 30 * 86400, "z"),
                                  ("and back", 0, "w")):
        jump(seconds)
        time.sleep(2)
        work = Workload(10, 3, SEED, prefix=prefix).start()
        tap.check(f"{what}: it does its work", work.join())
        jobs += work.jobs
        time.sleep(LEASE + 2)
        tap.check(f"{what}: it leads", [] if one.runs() else [one.text()[-1000:]])
    ahead = time.time() + 29 * 86400
    stamps = [when for event in admin().items("Event", NS) if (when := event.get("firstTimestamp") or "")]
    tap.true("its events show the jump", max(stamps, default="") > time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ahead)))
    judge(tap, jobs, watcher)
    same_process(tap, one, pid)


def reconciled():
    """How often TrainJobs were worked on, as its metrics have it."""
    with urllib.request.urlopen("http://127.0.0.1:8444/metrics", timeout=10) as answer:
        rows = [row.rsplit(" ", 1) for row in answer.read().decode().splitlines()
                if row.startswith('controller_runtime_reconcile_total{controller="trainjob_controller"')]
    return sum(float(n) for _, n in rows)


def suspended(a, names):
    """Which of them have no JobSet, or none that their status tells of."""
    told = {tj["metadata"]["name"] for tj in a.items("TrainJob", NS) if tj.get("status", {}).get("conditions")}
    made = {jobset["metadata"]["name"] for jobset in a.items("JobSet", NS)}
    return [name for name in names if name not in told or name not in made]


def scene_start(tap, scratch):
    """It starts where many TrainJobs are, of which all is done: a new one does not wait for those."""
    slow, old, a = f"{scratch}/slow.yaml", [f"old{i:02}" for i in range(40)], admin()
    with open(slow, "w", encoding="utf-8") as file:
        file.write("apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
                   "clientConnection: {qps: 2, burst: 2}\n"
                   "metrics: {bindAddress: '127.0.0.1:8444', secureServing: false}\n")
    one = Controller(scratch).start()
    tap.check("the controller serves", set_up())
    for name in old:
        a.request("POST", api.path("TrainJob", NS), train_job(NS, name, "torch-distributed", True))
    tap.check("40 TrainJobs have their objects", until(60, lambda: suspended(a, old)))
    one.kill(signal.SIGTERM)
    one = Controller(scratch, "slow", slow).start()
    tap.check("another one serves, of two calls a second", until(60, webhooks_answer))
    a.request("POST", api.path("TrainJob", NS), train_job(NS, "new", "torch-distributed", True))
    tap.check("a new TrainJob has its JobSet", until(120, lambda: [
        status for status in [a.get("JobSet", NS, "new")[0]] if status != 200]))
    done = reconciled()
    note(f"{done:.0f} TrainJobs were worked on before")
    tap.true("of those that were there most still wait", done < 30)
    tap.check("they all get their turn", until(120, lambda: [n for n in [reconciled()] if n < len(old) + 1]))
    one.kill(signal.SIGTERM)


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def certificates(scratch):
    name = f"kubeflow-trainer-controller-manager.{TRAINER_NS}.svc"
    folder = f"{scratch}/certs"
    os.makedirs(folder, 0o700, exist_ok=True)

    def data(days):
        for key in ("ca", "tls"):
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{folder}/{key}.key")
        with open(f"{folder}/ext", "w", encoding="utf-8") as file:
            file.write(f"subjectAltName=DNS:{name}\n")
        openssl("req", "-x509", "-new", "-key", f"{folder}/ca.key", "-subj", "/CN=ca", "-days", "3650",
                "-out", f"{folder}/ca.crt")
        openssl("req", "-new", "-key", f"{folder}/tls.key", "-subj", f"/CN={name}", "-out", f"{folder}/tls.csr")
        openssl("x509", "-req", "-in", f"{folder}/tls.csr", "-CA", f"{folder}/ca.crt", "-CAkey", f"{folder}/ca.key",
                "-days", str(days), "-set_serial", "2", "-extfile", f"{folder}/ext", "-out", f"{folder}/tls.crt")
        return {f: base64.b64encode(open(f"{folder}/{f}", "rb").read()).decode()
                for f in ("ca.crt", "ca.key", "tls.crt", "tls.key")}
    yield "a certificate that ends tomorrow", data(1)
    yield "one that ended yesterday", data(-1)
    yield "one that is nonsense", dict(data(300), **{"tls.crt": base64.b64encode(b"nonsense").decode()})
    yield "no Secret", None


def main():
    scene, scratch = sys.argv[1:]
    note(f"seed {SEED}")
    tap = Tap()
    globals()["scene_" + scene](tap, scratch)
    clean_up()
    tap.finish()


main()
