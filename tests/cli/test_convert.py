#!/usr/bin/python3
"""kftrainer convert: each row of the tables, the walk over V1's schema, bad input."""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, finish  # noqa: E402

KFTRAINER = os.environ.get("KFTRAINER", os.path.join(os.getcwd(), "kftrainer"))
SCRATCH = tempfile.TemporaryDirectory()
# libyaml's: Python's own take ten times as long.
LOADER, DUMPER = getattr(yaml, "CSafeLoader", yaml.SafeLoader), getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def read(text):
    return list(yaml.load_all(text, LOADER))


def write(doc):
    return yaml.dump(doc, Dumper=DUMPER, sort_keys=False)


def test(what, ok, why=""):
    check(what, None if ok else f"failed: {why}"[:4000])


def run(text, *args, command="convert"):
    if not isinstance(text, (str, bytes)):
        docs = text if isinstance(text, list) else [text]
        text = "---\n".join(map(write, docs))
    if isinstance(text, str):
        text = text.encode()
    p = subprocess.run([KFTRAINER, command, *args, "-"], input=text, capture_output=True)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


KINDS = {
    # kind: replica specs, roles, container, port, whether ranks share one template
    ("PyTorchJob", "v1"): ("pytorchReplicaSpecs", ["Master", "Worker"], "pytorch", "pytorchjob-port", True),
    ("TFJob", "v1"): ("tfReplicaSpecs", ["Chief", "PS", "Worker", "Evaluator"], "tensorflow", "tfjob-port", False),
    ("XGBoostJob", "v1"): ("xgbReplicaSpecs", ["Master", "Worker"], "xgboost", "xgboostjob-port", True),
    ("PaddleJob", "v1"): ("paddleReplicaSpecs", ["Master", "Worker"], "paddle", "master", False),
    ("JAXJob", "v1"): ("jaxReplicaSpecs", ["Worker"], "jax", "jaxjob-port", True),
    ("MPIJob", "v1"): ("mpiReplicaSpecs", ["Launcher", "Worker"], "mpi", "mpi-port", False),
    ("MPIJob", "v2beta1"): ("mpiReplicaSpecs", ["Launcher", "Worker"], "mpi", "mpi-port", False),
}
RJOB = {"Chief": "chief", "PS": "ps", "Evaluator": "evaluator", "Launcher": "launcher", "Worker": "node", "Master": "node"}


def job(kind, version="v1", name="j", roles=None):
    specs, all_roles, container, _, _ = KINDS[kind, version]
    template = {"spec": {"containers": [{"name": container, "image": "x", "command": ["python3", "t.py"]}]}}
    spec = {specs: {r: {"replicas": 2 if r == "Worker" else 1, "template": copy.deepcopy(template)}
                    for r in (roles or all_roles)}}
    return {"apiVersion": "kubeflow.org/" + version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def put(doc, path, value):
    """path: "spec.R.Worker.restartPolicy"; R stands for the member with the replicas."""
    at = doc
    keys = path.split(".")
    for i, key in enumerate(keys):
        if key == "R":
            key = KINDS[doc["kind"], doc["apiVersion"].split("/")[1]][0]
        key = int(key) if key.isdigit() else key
        if i == len(keys) - 1 and isinstance(at, list):
            at[key:key + 1] = [value]
        elif i == len(keys) - 1:
            at[key] = value
        elif isinstance(at, list):
            while len(at) <= key:
                at.append({})
            at = at[key]
        else:
            at = at.setdefault(key, [] if keys[i + 1].isdigit() else {})
    return doc


def get(doc, path):
    """path: "runtime/spec/a/node": an element of a list by its name; a key may hold a slash."""
    if not path or doc is None:
        return doc
    key, _, rest = path.partition("/")
    if isinstance(doc, list):
        return get(doc[int(key)] if key.isdigit() else next((e for e in doc if e.get("name") == key), None), rest)
    if not isinstance(doc, dict):
        return None
    return doc[path] if path in doc else get(doc.get(key), rest)


POD = "runtime/spec/template/spec/replicatedJobs/%s/template/spec/template/spec"
JOBSPEC = "runtime/spec/template/spec/replicatedJobs/%s/template/spec"


REPORT = os.path.join(SCRATCH.name, "row.json")


def reported():
    """The lines of a report; those on stderr are all but the exact ones."""
    with open(REPORT) as f:
        docs = json.load(f)["documents"]
    return [(f["grade"], "%s:%d:%d: %s: %s: %s: %s" % (d["file"], f["line"], f["column"], f["path"], f.get("value", ""),
                                                       f["grade"], f["message"])) for d in docs for f in d["fields"]]


def row(what, doc, code, line=None, want=None, args=()):
    """Converts it: the exit code, a line that matches (or none), values."""
    status, out, err = run(doc, *args, "--report", REPORT)
    problems = []
    lines = err
    if status in (0, 3, 4):
        lines = "".join(text + "\n" for _, text in reported())
        if err != "".join(text + "\n" for grade, text in reported() if grade != "exact"):
            problems.append("stderr differs from the report")
        if not status and err:
            problems.append("exact, and a line on stderr")
    if status != code:
        problems.append(f"exit {status}, not {code}")
    if line and not re.search(line, lines, re.M):
        problems.append(f"no line like {line}")
    if not line and lines:
        problems.append("a line where none belongs")
    if code in (0, 3, 4) and status in (0, 3, 4):
        docs = {("runtime" if "Runtime" in d["kind"] else "job"): d for d in read(out)}
        for path, value in (want or {}).items():
            if get(docs, path) != value:
                problems.append(f"{path}: {get(docs, path)!r}, not {value!r}")
    if code == 2 and out:
        problems.append("something is printed")
    test(what, not problems, "\n".join(problems + [err, out]))


# ---- each row of the tables -------------------------------------------------------------------------
INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
PT = job("PyTorchJob")


def pt(path=None, value=None):
    doc = copy.deepcopy(PT)
    return put(doc, path, value) if path else doc


def both(path, value, kind="PyTorchJob", version="v1"):
    doc = job(kind, version)
    for role in KINDS[kind, version][1]:
        put(doc, f"spec.R.{role}.{path}", copy.deepcopy(value))
    return doc


node = POD % "node" + "/containers/node"
row("a PyTorchJob is exact", pt(), 0, None, {
    "runtime/kind": "TrainingRuntime", "runtime/metadata/name": "j",
    "runtime/metadata/labels/trainer.kubeflow.org/framework": "torch",
    "runtime/spec/mlPolicy": {"numNodes": 3, "torch": {}},
    "job/spec": {"runtimeRef": {"name": "j", "kind": "TrainingRuntime"}, "trainer": {"numNodes": 3}},
    node + "/command": ["python3", "t.py"],
    node + "/env/RANK/valueFrom": INDEX, node + "/env/WORLD_SIZE/value": "3",
    node + "/env/MASTER_ADDR/value": "j-node-0-0.j", node + "/env/MASTER_PORT/value": "29500",
    node + "/env/PYTHONUNBUFFERED/value": "1",
    POD % "node" + "/restartPolicy": "OnFailure", JOBSPEC % "node" + "/backoffLimit": 2147483647,
    JOBSPEC % "node" + "/successPolicy": {"rules": [{"succeededIndexes": "0"}]},
})
row("workers without a master get no rank, as in V1", job("PyTorchJob", roles=["Worker"]), 0, None,
    {node + "/env/RANK": None, "runtime/spec/mlPolicy/numNodes": 2, JOBSPEC % "node" + "/successPolicy": None})
doc = both("template.spec.containers.1", {"name": "side", "image": "img2"})
side = POD % "node" + "/containers/side"
row("a sidecar keeps its rank variables", doc, 0, None, {
    side + "/env/RANK/valueFrom": INDEX, side + "/env/WORLD_SIZE/value": "3",
    "runtime/spec/mlPolicy/torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["side"]}]}}})
doc = pt("metadata.namespace", "team")
put(doc, "metadata.labels", {"kueue.x-k8s.io/queue-name": "q"})
put(doc, "metadata.annotations", {"a": "b"})
row("metadata", doc, 0, None, {"job/metadata/namespace": "team", "runtime/metadata/namespace": "team",
    "job/metadata/labels": {"kueue.x-k8s.io/queue-name": "q"}, "job/metadata/annotations": {"a": "b"}})
row("uid", pt("metadata.uid", "u"), 3, r"^stdin:\d+:\d+: metadata\.uid: \"u\": approximate: left out: a server sets it$")
row("status", pt("status", {"startTime": "2026-01-02T03:04:05Z"}), 3, r"status: .*: approximate: left out: it belongs to the V1 job")
P = "spec.runPolicy."
for policy, code, line in (("None", 4, "lost: pods that still run when the job ends are deleted"),
                           ("Running", 0, "exact: left out: this is what JobSet does"),
                           ("All", 3, "approximate: the JobSet and its pods are deleted 60 s after")):
    row("cleanPodPolicy " + policy, pt(P + "cleanPodPolicy", policy), code,
        rf'^stdin:\d+:\d+: spec\.runPolicy\.cleanPodPolicy: "{policy}": {line}',
        {"runtime/spec/template/spec/ttlSecondsAfterFinished": 60 if policy == "All" else None})
row("ttlSecondsAfterFinished", pt(P + "ttlSecondsAfterFinished", 9), 0, None,
    {"job/spec/ttlSecondsAfterFinished": 9, "runtime/spec/template/spec/ttlSecondsAfterFinished": None})
row("activeDeadlineSeconds", pt(P + "activeDeadlineSeconds", 7), 3, "approximate: counts from when",
    {"job/spec/activeDeadlineSeconds": 7})
row("backoffLimit", pt(P + "backoffLimit", 3), 3, "3: approximate: limits each Job",
    {JOBSPEC % "node" + "/backoffLimit": 3})
doc = job("JAXJob")
row("backoffLimit beside Never", put(doc, P + "backoffLimit", 3), 0, "exact: left out: restartPolicy Never allows no failure",
    {JOBSPEC % "node" + "/backoffLimit": 0})
row("suspend", pt(P + "suspend", True), 0, None, {"job/spec/suspend": True})
row("managedBy: the operator", pt(P + "managedBy", "kubeflow.org/training-operator"), 0, None,
    {"job/spec/managedBy": "trainer.kubeflow.org/trainjob-controller"})
row("managedBy: Kueue", pt(P + "managedBy", "kueue.x-k8s.io/multikueue"), 0, None,
    {"job/spec/managedBy": "kueue.x-k8s.io/multikueue"})
S = P + "schedulingPolicy."
row("queue", pt(S + "queue", "q"), 0, None, {"runtime/spec/podGroupPolicy": {"volcano": {}}, POD % "node" + "/schedulerName": "volcano",
    "runtime/spec/template/metadata/annotations": {"scheduling.volcano.sh/queue-name": "q"}})
row("priorityClass", pt(S + "priorityClass", "high"), 3, "approximate: also becomes the pods' priority",
    {POD % "node" + "/priorityClassName": "high"})
row("minResources", pt(S + "minResources", {"cpu": "1"}), 4, "lost: the requests of all pods are used instead")
row("scheduleTimeoutSeconds", pt(S + "scheduleTimeoutSeconds", 5), 0, None,
    {"runtime/spec/podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": 5}}})
row("scheduleTimeoutSeconds beside a queue", put(pt(S + "queue", "q"), S + "scheduleTimeoutSeconds", 5), 4,
    "scheduleTimeoutSeconds: 5: lost: left out: queue and priorityClass select Volcano")
row("minAvailable without a scheduler", pt(S + "minAvailable", 2), 4, "minAvailable: 2: lost: left out: the job names no scheduler")
row("minAvailable: all pods", put(pt(S + "queue", "q"), S + "minAvailable", 3), 0, "exact: left out: a gang always consists of all pods")
row("minAvailable: fewer", put(pt(S + "queue", "q"), S + "minAvailable", 2), 4, "2: lost: a gang consists of all pods: 3")
row("restartPolicy Never", both("restartPolicy", "Never"), 0, None,
    {POD % "node" + "/restartPolicy": "Never", JOBSPEC % "node" + "/backoffLimit": 0})
row("restartPolicy Always", both("restartPolicy", "Always"), 3, "approximate: a pod that has succeeded is not started again",
    {POD % "node" + "/restartPolicy": "OnFailure"})
row("restartPolicy ExitCode", both("restartPolicy", "ExitCode"), 0, None,
    {POD % "node" + "/restartPolicy": "Never", JOBSPEC % "node" + "/podFailurePolicy": {"rules": [{"action": "FailJob",
     "onExitCodes": {"containerName": "node", "operator": "In", "values": list(range(1, 128))}}]}})
row("restartPolicy that differs", pt("spec.R.Worker.restartPolicy", "Never"), 3,
    "Worker.restartPolicy: \"Never\": approximate: all pods get the Master's: OnFailure")
row("restartPolicy of the template", both("template.spec.restartPolicy", "Always"), 0, "exact: left out: V1 overwrote it with the replica's")
row("a template written like a Pod", pt("spec.R.Worker.template.apiVersion", "v1"), 0,
    "Worker.template.apiVersion: \"v1\": exact: left out: V1 ignored it", {"runtime/spec/template/spec/replicatedJobs/node/template/spec/template/apiVersion": None})
row("... its kind", both("template.kind", "Pod"), 0, "template.kind: \"Pod\": exact: left out: V1 ignored it")
row("hostname", both("template.spec.hostname", "h"), 4, "hostname: \"h\": lost: JobSet names the pods", {POD % "node" + "/hostname": None})
row("subdomain", both("template.spec.subdomain", "h"), 4, "lost: JobSet names the service", {POD % "node" + "/subdomain": None})
row("a V1 address in an argument", both("template.spec.containers.0.args", ["--master=j-master-0:1", "j-worker-1", "j-worker-10"]), 3,
    r"args\[0\]: .*: approximate: the pod is now called --master=j-node-0-0.j:1",
    {node + "/args": ["--master=j-node-0-0.j:1", "j-node-0-2.j", "j-worker-10"]})
row("the user's RANK", both("template.spec.containers.0.env", [{"name": "RANK", "value": "7"}]), 0,
    "env\\[0\\]: .*: exact: left out: V1 overwrote it, and so", {node + "/env/RANK/valueFrom": INDEX, node + "/env/RANK/value": None})
row("a port of its own", both("template.spec.containers.0.ports", [{"name": "pytorchjob-port", "containerPort": 999}]), 3,
    "approximate: rank 0 listens on port 29500")
row("a resource of the main container", both("template.spec.containers.0.env", [{"name": "A", "valueFrom": {"resourceFieldRef": {
    "containerName": "pytorch", "resource": "limits.cpu"}}}]), 0, None, {node + "/env/A/valueFrom/resourceFieldRef/containerName": "node"})
row("the master has more", pt("spec.R.Master.template.spec.nodeSelector", {"a": "b"}), 3,
    "Master.template.spec.nodeSelector: .*: approximate: all pods get it, including the workers", {POD % "node" + "/nodeSelector": {"a": "b"}})
row("the workers have more", pt("spec.R.Worker.template.spec.nodeSelector", {"a": "b"}), 3,
    "Worker.template.spec.nodeSelector: .*: approximate: all pods get it, including the master", {POD % "node" + "/nodeSelector": {"a": "b"}})
doc = pt("spec.R.Master.template.spec.priorityClassName", "a")
row("they differ", put(doc, "spec.R.Worker.template.spec.priorityClassName", "b"), 4,
    "priorityClassName: \"a\": lost: all pods get the Worker's", {POD % "node" + "/priorityClassName": "b"})
C = "spec.R.Worker.template.spec.containers.0."
for field, value, diff in (("image", "img2", '-"x" \\+"img2"'), ("command", ["python3", "u.py"], '-"t.py" \\+"u.py"'),
                           ("args", ["--a"], '\\+"--a"'), ("env", [{"name": "A", "value": "1"}], '\\+{"name":"A"')):
    row("they differ in " + field, pt(C + field, value), 2,
        f"Master.template.spec.containers\\[0\\].{field}: .*Master and Worker differ, but all ranks of a TrainJob run the same: .*{diff}")
row("nprocPerNode: a number", pt("spec.nprocPerNode", "2"), 0, None,
    {"job/spec/trainer/numProcPerNode": 2, node + "/env/WORLD_SIZE/value": "6"})
row("nprocPerNode: auto", pt("spec.nprocPerNode", "auto"), 3, "auto\": approximate: left out: the default is the number of GPUs that a pod requests")
row("nprocPerNode: gpu", put(both("template.spec.containers.0.resources", {"limits": {"nvidia.com/gpu": 4}}), "spec.nprocPerNode", "gpu"), 3,
    "approximate: numProcPerNode is 4, the GPUs", {"job/spec/trainer/numProcPerNode": 4})
row("nprocPerNode: something", pt("spec.nprocPerNode", "many"), 2, "spec.nprocPerNode: .*must be auto, cpu, gpu or a positive number")
E_ = job("PyTorchJob", roles=["Worker"])
put(E_, "spec.elasticPolicy", {"rdzvBackend": "etcd", "rdzvId": "i", "rdzvConf": [{"key": "a", "value": "b"}, {"key": "c", "value": "d"}],
                              "maxRestarts": 5, "nProcPerNode": 2, "rdzvPort": 1234, "standalone": True})
row("elasticPolicy", E_, 0, None, {
    node + "/env/PET_RDZV_BACKEND/value": "etcd", node + "/env/PET_RDZV_ENDPOINT/value": "j-node-0-0.j:1234",
    node + "/env/PET_RDZV_ID/value": "i", node + "/env/PET_RDZV_CONF/value": "a=b,c=d", node + "/env/PET_MAX_RESTARTS/value": "5",
    node + "/env/PET_STANDALONE/value": "", "job/spec/trainer/numProcPerNode": 2,
    JOBSPEC % "node" + "/successPolicy": {"rules": [{"succeededCount": 1}]}})
doc = job("PyTorchJob", roles=["Worker"])
row("elasticPolicy: sizes", put(doc, "spec.elasticPolicy", {"minReplicas": 1, "maxReplicas": 2}), 3,
    "minReplicas: 1: approximate: the size of the job is fixed: 2 nodes", {node + "/env/PET_RDZV_BACKEND/value": "c10d"})
row("elasticPolicy: another host", put(copy.deepcopy(E_), "spec.elasticPolicy.rdzvHost", "j-worker-1"), 3,
    "rdzvHost: .*the pod is now called j-node-0-1.j", {node + "/env/PET_RDZV_ENDPOINT/value": "j-node-0-1.j:1234"})
row("elasticPolicy: metrics", put(copy.deepcopy(E_), "spec.elasticPolicy.metrics", [{"type": "Resource"}]), 2,
    "spec.elasticPolicy.metrics: .*cannot be scaled")
row("XGBoostJob", job("XGBoostJob"), 0, None, {
    "runtime/spec/mlPolicy": {"numNodes": 3, "xgboost": {}}, node + "/env/MASTER_ADDR/value": "j-node-0-0.j",
    node + "/env/WORKER_ADDRS/value": "j-node-0-1.j,j-node-0-2.j", node + "/env/WORKER_PORT/value": "29500",
    node + "/env/WORLD_SIZE/value": "3", node + "/env/RANK/valueFrom": INDEX, POD % "node" + "/restartPolicy": "Never",
    JOBSPEC % "node" + "/successPolicy": {"rules": [{"succeededIndexes": "0"}]}})
row("XGBoostJob: DMLC_", both("template.spec.containers.0.env", [{"name": "DMLC_TASK_ID", "value": "1"}], "XGBoostJob"), 3,
    "approximate: left out: the runtime's policy sets it")
row("JAXJob", job("JAXJob"), 0, None, {
    "runtime/spec/mlPolicy": {"numNodes": 2, "jax": {}}, node + "/env/COORDINATOR_ADDRESS/value": "j-node-0-0.j",
    node + "/env/COORDINATOR_PORT/value": "29500", node + "/env/NUM_PROCESSES/value": "2", node + "/env/PROCESS_ID/valueFrom": INDEX})
TF = job("TFJob")
row("TFJob", TF, 0, None, {
    "runtime/spec/mlPolicy": {"numNodes": 2}, "runtime/metadata/labels/trainer.kubeflow.org/framework": "tensorflow",
    JOBSPEC % "ps" + "/parallelism": 1, JOBSPEC % "node" + "/parallelism": None, node + "/env": None,
    "runtime/spec/template/spec/successPolicy": {"operator": "All", "targetReplicatedJobs": ["chief"]}})
row("TFJob: workers alone", job("TFJob", roles=["Worker"]), 0, None, {
    "runtime/spec/template/spec/successPolicy": None, JOBSPEC % "node" + "/successPolicy": {"rules": [{"succeededIndexes": "0"}]}})
doc = put(job("TFJob", roles=["Worker", "PS"]), "spec.successPolicy", "AllWorkers")
row("TFJob: AllWorkers", doc, 0, None, {JOBSPEC % "node" + "/successPolicy": None,
    "runtime/spec/template/spec/successPolicy": {"operator": "All", "targetReplicatedJobs": ["node"]}})
row("TFJob: enableDynamicWorker", put(job("TFJob"), "spec.enableDynamicWorker", True), 3, "approximate: a worker that fails does not stop",
    {JOBSPEC % "node" + "/backoffLimitPerIndex": 0, JOBSPEC % "node" + "/backoffLimit": None})
row("TFJob: its own TF_CONFIG", both("template.spec.containers.0.env", [{"name": "TF_CONFIG", "value": "{}"}], "TFJob"), 0,
    "exact: left out: V1 overwrote it", {node + "/env": None})
row("TFJob: for upstream", TF, 0, None, {POD % "ps" + "/containers/node/env/TF_CONFIG/value":
    '{"cluster":{"chief":["j-chief-0-0.j:2222"],"ps":["j-ps-0-0.j:2222"],"worker":["j-node-0-0.j:2222","j-node-0-1.j:2222"],'
    '"evaluator":["j-evaluator-0-0.j:2222"]},"task":{"type":"ps","index":$(KFT_TASK_INDEX)},"environment":"cloud"}'},
    ["--target", "upstream"])
row("TFJob: only a chief", job("TFJob", roles=["Chief"]), 0, None, {"runtime/spec/mlPolicy": {"numNodes": 1},
    "runtime/spec/template/spec/replicatedJobs/chief/template/metadata/labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}})
row("PaddleJob: collective", job("PaddleJob", roles=["Worker"]), 0, None, {
    "runtime/spec/mlPolicy": {"numNodes": 2}, "runtime/metadata/labels/trainer.kubeflow.org/framework": "paddle",
    node + "/env": [{"name": "PYTHONUNBUFFERED", "value": "1"}]})
row("PaddleJob: servers", job("PaddleJob"), 0, None, {"runtime/spec/mlPolicy": {"numNodes": 2}, JOBSPEC % "ps" + "/parallelism": 1,
    "runtime/spec/template/spec/successPolicy": {"operator": "All", "targetReplicatedJobs": ["ps"]}})
row("PaddleJob: for upstream", job("PaddleJob"), 0, None, {node + "/env/PADDLE_MASTER/value": "j-ps-0-0.j:36543",
    node + "/env/PADDLE_NNODES/value": "3", node + "/env/PADDLE_TRAINER_NUM/value": "1"}, ["--target", "upstream"])
row("PaddleJob: elasticPolicy", put(job("PaddleJob"), "spec.elasticPolicy", {"minReplicas": 1}), 0, "exact: left out: V1 ignored it")
M2 = job("MPIJob", "v2beta1")
launcher = POD % "launcher" + "/containers/node"
row("MPIJob v2beta1", M2, 0, None, {
    "runtime/spec/mlPolicy": {"numNodes": 2, "mpi": {"mpiImplementation": "OpenMPI", "numProcPerNode": 1}},
    "job/spec/trainer": {"numNodes": 2, "numProcPerNode": 1}, launcher + "/env/K_MPI_JOB_ROLE/value": "launcher",
    launcher + "/env/NVIDIA_VISIBLE_DEVICES/value": "", node + "/command": ["python3", "t.py"],
    POD % "launcher" + "/restartPolicy": "OnFailure", JOBSPEC % "launcher" + "/backoffLimit": None,
    "runtime/spec/template/spec/successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]}})
doc = job("MPIJob", "v2beta1")
doc["spec"].update({"slotsPerWorker": 3, "runLauncherAsWorker": True, "sshAuthMountPath": "/k", "launcherCreationPolicy": "WaitForWorkersReady",
                    "mpiImplementation": "OpenMPI", "runPolicy": {"backoffLimit": 4}})
del doc["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"]
row("MPIJob v2beta1: its fields", doc, 0, None, {
    "runtime/spec/mlPolicy": {"numNodes": 3, "mpi": {"mpiImplementation": "OpenMPI", "numProcPerNode": 3, "sshAuthMountPath": "/k",
                                                     "runLauncherAsNode": True}},
    "job/spec/trainer": {"numNodes": 3, "numProcPerNode": 3}, launcher + "/env/NVIDIA_VISIBLE_DEVICES": None,
    "runtime/spec/template/spec/replicatedJobs/launcher/dependsOn": [{"name": "node", "status": "Ready"}],
    JOBSPEC % "launcher" + "/backoffLimit": 4, node + "/command": ["/usr/sbin/sshd"], node + "/args": ["-De"]})
row("MPIJob v2beta1: AtStartup", put(job("MPIJob", "v2beta1"), "spec.launcherCreationPolicy", "AtStartup"), 0, "exact: left out: the launcher starts at once")
# The shape of MPI Operator's examples for these two (examples/v2beta1/pi).
MPI2_ENV = {
    "OpenMPI": ["OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots", "OMPI_MCA_plm_rsh_args"],
    "Intel": ["I_MPI_HYDRA_HOST_FILE", "I_MPI_PERHOST", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"],
    "MPICH": ["HYDRA_HOST_FILE", "HYDRA_LAUNCH_EXTRA_ARGS"],
}


def pi(flavor):
    as_user = {"runAsUser": 1000}
    probe = {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 2}
    template = lambda c: {"spec": {"containers": [{"image": "registry.example/mpi-pi:1", "securityContext": as_user, **c}]}}
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "pi"}, "spec": {
        "slotsPerWorker": 1, "runPolicy": {"cleanPodPolicy": "Running"}, "sshAuthMountPath": "/home/mpiuser/.ssh", "mpiImplementation": flavor,
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": template({"name": "mpi-launcher", "args": ["mpirun", "-n", "2", "/home/mpiuser/pi"]})},
            "Worker": {"replicas": 2, "template": template({"name": "mpi-worker", "command": ["/usr/sbin/sshd"], "readinessProbe": probe,
                                                            "args": ["-De", "-f", "/home/mpiuser/.sshd_config"]})}}}}


annotation = "runtime/spec/template/metadata/annotations/kftrainer.io/mpi"
for flavor in ("Intel", "MPICH"):
    want = {"runtime/spec/mlPolicy": {"numNodes": 2, "mpi": {"mpiImplementation": flavor, "numProcPerNode": 1, "sshAuthMountPath": "/home/mpiuser/.ssh"}},
            annotation: "ssh", node + "/command": ["/usr/sbin/sshd"], launcher + "/args": ["mpirun", "-n", "2", "/home/mpiuser/pi"]}
    row("MPIJob: " + flavor, pi(flavor), 0, "cleanPodPolicy: .*exact", want)
    code, out, err = run(pi(flavor))
    valid = subprocess.run([KFTRAINER, "runtime", "validate", "-"], input=out.encode(), capture_output=True)
    test(f"MPIJob: {flavor}: runtime validate", valid.returncode == 0, valid.stderr.decode() + out)
    row("MPIJob: " + flavor + " for upstream", pi(flavor), 2, "spec.mpiImplementation: .*OpenMPI only", None, ["--target", "upstream"])
row("MPIJob: OpenMPI for upstream", M2, 0, None, {annotation: None}, ["--target", "upstream"])
for flavor, names in MPI2_ENV.items():
    for name in sorted(sum(MPI2_ENV.values(), [])):
        doc = put(put(job("MPIJob", "v2beta1"), "spec.mpiImplementation", flavor), "spec.R.Launcher.template.spec.containers.0.env", [{"name": name, "value": "x"}])
        ours = name in names
        row(f"MPIJob: {name} of a user of {flavor}", doc, 0, "exact: left out: V1 overwrote it" if ours else None,
            {launcher + f"/env/{name}": None if ours else {"name": name, "value": "x"}})
row("MPIJob v1", job("MPIJob"), 4, "apiVersion: .*approximate: workers are reached by mpi-launch", {annotation: "worker", node + "/command": None, node + "/args": None})
row("MPIJob v1: a worker's command", job("MPIJob"), 4, r"Worker.template.spec.containers\[0\]: .*lost: the command becomes mpi-worker")
row("MPIJob v1 for upstream", job("MPIJob"), 4, "apiVersion: .*approximate: workers are reached by ssh",
    {annotation: None, node + "/command": ["/usr/sbin/sshd"], node + "/args": ["-De"]}, ["--target", "upstream"])
row("MPIJob v1 for upstream: a worker's command", job("MPIJob"), 4, r"containers\[0\]: .*lost: the command becomes /usr/sbin/sshd -De", None, ["--target", "upstream"])
doc = job("MPIJob")
del doc["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"]
row("MPIJob v1: its default", doc, 3, "approximate: workers are reached by mpi-launch")
row("MPIJob v1: cleanPodPolicy", put(copy.deepcopy(doc), "spec.cleanPodPolicy", "None"), 4, "spec.cleanPodPolicy: \"None\": lost")
row("MPIJob v1: runPolicy.cleanPodPolicy goes first", put(put(copy.deepcopy(doc), "spec.cleanPodPolicy", "None"), P + "cleanPodPolicy", "Running"), 3,
    "spec.cleanPodPolicy: \"None\": exact: left out: runPolicy.cleanPodPolicy overrides it")
row("MPIJob v1: discover_hosts.sh", put(copy.deepcopy(doc), "spec.R.Launcher.template.spec.containers.0.args", ["/etc/mpi/discover_hosts.sh"]), 4,
    "lost: /etc/mpi/discover_hosts.sh does not exist")
put(doc, "spec.mainContainer", "main")
for r in ("Launcher", "Worker"):
    doc["spec"]["mpiReplicaSpecs"][r]["template"]["spec"]["containers"].append({"name": "main", "image": "z"})
row("MPIJob v1: mainContainer", doc, 3, "approximate: workers", {node + "/image": "z", launcher + "/image": "z"})
row("MPIJob: no workers", job("MPIJob", "v2beta1", roles=["Launcher"]), 2, "mpiReplicaSpecs.Worker: Required value: the mpi policy requires a worker")
row("a role without replicas", pt("spec.R.Worker.replicas", 0), 0, "Worker: .*exact: left out: it has no replicas", {"runtime/spec/mlPolicy/numNodes": 1})

# ---- names -------------------------------------------------------------------------------------------
def value(doc, text, role="Launcher"):
    return put(copy.deepcopy(doc), f"spec.R.{role}.template.spec.containers.0.env", [{"name": "A", "value": text}])


def name_row(doc, text, now, code=3, line=None, args=(), at=launcher, role="Launcher"):
    row(f"{doc['kind']} {doc['apiVersion'][12:]}: {text} {' '.join(args)}", value(doc, text, role), code,
        line or (": approximate: (the pod is now called|it is now) " + re.escape(now) + "$" if now != text else None), {at + "/env/A/value": now}, args)


M1 = job("MPIJob")
del M1["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"]
for text, now in (
        ("j-worker-0.j.ns.svc:1", "j-node-0-0.j.ns.svc:1"), ("j-worker-0.j.ns.svc.cluster.local", "j-node-0-0.j.ns.svc.cluster.local"),
        ("j-worker-0.j", "j-node-0-0.j"), ("j-worker-0.j-worker", "j-node-0-0.j"), ("j-worker-1.j-worker.ns.svc", "j-node-0-1.j.ns.svc"),
        ("ssh://j-worker-0:22,j-worker-1:2", "ssh://j-node-0-0.j:22,j-node-0-1.j:2"), ("j-worker-0.j.j.svc", "j-node-0-0.j.j.svc"),
        ("a=j-launcher b='j-launcher.j'", "a=j-launcher-0-0.j b='j-launcher-0-0.j'"), ("j-worker.ns.svc", "j.ns.svc"),
        ("j-worker-$(I).j", "j-node-0-$(I).j"), ("for i in 0 1; do ssh j-worker-$i; done", "for i in 0 1; do ssh j-node-0-$i.j; done"),
        ("j-worker-${i}.j-worker:1", "j-node-0-${i}.j:1"), ("j-worker-$((i+1)) j-worker-{0..1}", "j-node-0-$((i+1)).j j-node-0-{0..1}.j"),
        ("j-worker-[0-1] j-worker-%d j-worker-*", "j-node-0-[0-1].j j-node-0-%d.j j-node-0-*.j"),
        ("j-config/hostfile j-ssh", "j-mpi-hostfile/hostfile j-mpi-ssh-auth"),
        ("j.ns.svc j", "j.ns.svc j"), ("x-j-worker-0 j-worker-0x j-workers xj-worker-0 j-worker-0-1", "x-j-worker-0 j-worker-0x j-workers xj-worker-0 j-worker-0-1")):
    name_row(M2, text, now, 0 if text == now else 3)
name_row(M2, "j-worker-2", "j-worker-2", 3, ": approximate: the job has no Worker 2$")
name_row(M2, "'j-worker-' + str(i)", "'j-worker-' + str(i)", 4, ": lost: the name of a pod is put together here: it is now j-node-0-N.j$")
for text in ("ssh $JOB-worker-0 x", "$(JOB)-worker-0.$(JOB)", "${J:-x}-worker-0:1"):
    name_row(M2, text, text, 4, ": lost: if this is a pod of the job, it is now called j-node-0-0.j$")
name_row(M2, "$JOB-launcher", "$JOB-launcher", 3, ": approximate: if this is a pod of the job, it is now called j-launcher-0-0.j$")
name_row(M2, "$JOB-worker-0x $JOB-x $JOB", "$JOB-worker-0x $JOB-x $JOB", 0)
name_row(M2, "j-worker", "j-worker", 3, ": approximate: pods are now called j-node-0-N.j$")
name_row(M2, "kubectl logs j-worker-0", "kubectl logs j-node-0-0.j", 4, ": lost: kubectl finds no pod by a host name")
name_row(M1, "mpirun --mca plm_rsh_agent /etc/mpi/kubexec.sh x", "mpirun --mca plm_rsh_agent /opt/kftrainer/mpi-launch x")
name_row(M1, "/etc/mpi/kubexec.sh", "ssh", args=["--target", "upstream"])
name_row(M1, "/opt/kube/kubectl", "/opt/kube/kubectl", 4, ": lost: workers are not reached by kubectl any more$")
name_row(M1, "sh -c /etc/mpi/discover_hosts.sh", "sh -c /etc/mpi/discover_hosts.sh", 4, ": lost: /etc/mpi/discover_hosts.sh does not exist")
doc = job("MPIJob", "v2beta1")
doc["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["initContainers"] = [
    {"name": "order", "image": "i", "volumeMounts": [{"name": "mpi-job-config", "mountPath": "/etc/mpi"}, {"name": "ssh-auth", "mountPath": "/s"}]}]
row("MPIJob v2beta1: volumes of the operator in another container", doc, 3, "volumeMounts.0..name: \"mpi-job-config\": approximate: it is now mpi-hostfile$", {
    POD % "launcher" + "/initContainers/order/volumeMounts": [{"name": "mpi-hostfile", "mountPath": "/etc/mpi"}, {"name": "mpi-ssh-auth", "mountPath": "/s"}]})
W = job("PyTorchJob", roles=["Worker"])
name_row(W, "j-worker-0.ns.svc:1 j-worker-$(I)", "j-node-0-0.j.ns.svc:1 j-node-0-$(I).j", at=node, role="Worker")
name_row(TF, "j-ps-0.j.svc:2222 j-worker-1 j-chief-0 j-evaluator-0", "j-ps-0-0.j.j.svc:2222 j-node-0-1.j j-chief-0-0.j j-evaluator-0-0.j", at=node, role="Worker")
name_row(job("JAXJob"), "j-worker-0", "j-node-0-0.j", at=node, role="Worker")
name_row(job("PaddleJob"), "j-master-0:1 j-worker-1", "j-ps-0-0.j:1 j-node-0-1.j", at=node, role="Worker")
doc = both("template.spec.containers.0.args", ["j-worker-$(I)"])
row("a worker's number as a variable, beside a master", doc, 4, r"args\[0\]: .*: lost: pods are now called j-node-0-N.j, and this one's N is higher by 1")
doc = job("MPIJob", "v2beta1")
put(doc, "spec.R.Launcher.template.spec.volumes", [{"name": "h", "configMap": {"name": "j-config"}}, {"name": "k", "secret": {"secretName": "j-ssh"}},
                                                   {"name": "o", "configMap": {"name": "j-configs"}}])
put(doc, "spec.R.Launcher.template.spec.initContainers", [{"name": "i", "image": "x", "args": ["j-worker-0"],
    "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "j-config", "key": "hostfile"}}}]}])
put(doc, "spec.R.Launcher.template.spec.containers.0.livenessProbe", {"exec": {"command": ["ping", "j-worker-1"]}})
put(doc, "spec.R.Launcher.template.spec.hostAliases", [{"ip": "10.0.0.1", "hostnames": ["j-launcher"]}])
spec = POD % "launcher"
row("MPIJob: names in other fields", doc, 3, r'volumes\[0\]\.configMap\.name: "j-config": approximate: it is now j-mpi-hostfile$', {
    spec + "/volumes/h/configMap/name": "j-mpi-hostfile", spec + "/volumes/k/secret/secretName": "j-mpi-ssh-auth",
    spec + "/volumes/o/configMap/name": "j-configs", spec + "/initContainers/i/args": ["j-node-0-0.j"],
    spec + "/initContainers/i/env/A/valueFrom/configMapKeyRef/name": "j-mpi-hostfile",
    launcher + "/livenessProbe/exec/command": ["ping", "j-node-0-1.j"], spec + "/hostAliases/0/hostnames": ["j-launcher-0-0.j"]})
LABEL = "pods have the labels jobset.sigs.k8s.io/jobset-name"
row("the operator's labels", both("template.spec.topologySpreadConstraints", [{"maxSkew": 1, "topologyKey": "h", "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"training.kubeflow.org/job-name": "j"}}}]), 4, "job-name.: .*lost: " + LABEL)
row("... of an old version", both("template.spec.affinity", {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "h",
    "labelSelector": {"matchExpressions": [{"key": "tf-replica-type", "operator": "In", "values": ["ps"]}]}}]}}, "TFJob"), 4, "key: .*lost: " + LABEL)
row("... by the downward API", both("template.spec.containers.0.env", [{"name": "A", "valueFrom": {"fieldRef": {
    "fieldPath": "metadata.labels['training.kubeflow.org/replica-index']"}}}]), 4, "fieldPath: .*lost: " + LABEL)
row("the name of a pod by the downward API", both("template.spec.containers.0.env", [{"name": "A", "valueFrom": {"fieldRef": {
    "fieldPath": "metadata.name"}}}]), 3, "fieldPath: .*approximate: the names of pods now end in random letters")
row("PET_NNODES of the user is left out", both("template.spec.containers.0.env", [{"name": "PET_NNODES", "value": "9"}]), 0,
    "env\\[0\\]: .*: exact: left out: V1 overwrote it", {node + "/env/PET_NNODES": None})
doc = put(job("PyTorchJob", roles=["Worker"]), "spec.R.Worker.template.spec.containers.0.env", [{"name": "PET_MASTER_ADDR", "value": "9"}])
row("PET_MASTER_ADDR without a master", doc, 3, "approximate: left out: the runtime's policy sets it", {node + "/env": [{"name": "PYTHONUNBUFFERED", "value": "1"}]})
row("TF_CONFIG of a sidecar", both("template.spec.containers.1", {"name": "s", "image": "x", "env": [{"name": "TF_CONFIG", "value": "{}"}]}, "TFJob"), 0, None,
    {POD % "node" + "/containers/s/env/TF_CONFIG/value": "{}"})
row("MPIJob v1: its agent", value(M1, "x"), 3, "apiVersion", {launcher + "/env/I_MPI_HYDRA_BOOTSTRAP_EXEC/value": "/opt/kftrainer/mpi-launch"})
doc = put(copy.deepcopy(M1), "spec.R.Launcher.template.spec.containers.0.env", [{"name": "OMPI_MCA_plm_rsh_agent", "value": "/x"}])
row("MPIJob v1: the user's agent", doc, 3, "env.0.: .*exact: left out: V1 overwrote it", {launcher + "/env/OMPI_MCA_plm_rsh_agent": None})

# ---- --shared -----------------------------------------------------------------------------------
SHARED = ["--shared", "torch-distributed"]
doc = both("template.spec.containers.0.resources", {"limits": {"cpu": "2"}})
for r in ("Master", "Worker"):
    put(doc, f"spec.R.{r}.template.spec.nodeSelector", {"a": "b"})
    put(doc, f"spec.R.{r}.template.metadata.labels", {"l": "m"})
    put(doc, f"spec.R.{r}.template.spec.volumes", [{"name": "v", "emptyDir": {}}])
    put(doc, f"spec.R.{r}.template.spec.containers.0.volumeMounts", [{"name": "v", "mountPath": "/v"}])
patch = "job/spec/runtimePatches/0/trainingRuntimeSpec/template/spec/replicatedJobs/node/template/spec/template"
row("shared: what a TrainJob carries", doc, 0, None, {
    "runtime": None, "job/spec/runtimeRef": {"name": "torch-distributed"}, "job/spec/trainer/image": "x",
    "job/spec/trainer/resourcesPerNode": {"limits": {"cpu": "2"}}, patch + "/spec/nodeSelector": {"a": "b"},
    patch + "/metadata/labels": {"l": "m"}, patch + "/spec/containers/node/volumeMounts": [{"name": "v", "mountPath": "/v"}]}, SHARED)
row("shared: what it does not", both("template.spec.hostNetwork", True), 4, "hostNetwork: true: lost: the shared runtime decides", {}, SHARED)
row("shared: probes", both("template.spec.containers.0.workingDir", "/w"), 4, "workingDir: \"/w\": lost: the shared runtime decides", {}, SHARED)
row("shared: sidecars", both("template.spec.containers.1", {"name": "s", "image": "img2"}), 4, r"containers\[1\]: .*lost: the shared runtime decides", {}, SHARED)
row("shared: restartPolicy", both("restartPolicy", "Never"), 4, "lost: the shared runtime decides", {}, SHARED)
row("shared: of another framework", job("JAXJob"), 2, "kind: .*the shared runtime torch-distributed is for torch, not for jax", None, SHARED)
row("shared: TFJob on a torch runtime", TF, 2, "is for torch, not for tensorflow", None, SHARED)
code, out, err = run(pt(), "--shared", "torch-distribute")
test("shared: no such runtime", code == 2 and "did you mean" in err and not out, err)

# ---- what is refused ---------------------------------------------------------------------------
row("an unknown field", pt("spec.nprocPerNodes", "2"), 2, r'spec.nprocPerNodes: Unknown field.*did you mean .nprocPerNode')
row("a field that moved", put(copy.deepcopy(TF), "spec.cleanPodPolicy", "Running"), 2, "spec.cleanPodPolicy: Unknown field: use runPolicy.cleanPodPolicy$")
row("a replica type in lower case", put(pt(), "spec.R.worker", {}), 2, "pytorchReplicaSpecs.worker: Unknown field.*Worker")
row("negative replicas", pt("spec.R.Worker.replicas", -1), 2, "Worker.replicas: Invalid value: -1")
row("huge replicas", pt("spec.R.Worker.replicas", 2147483647), 2, "replicas exceed the limit")
row("more replicas than an int32 has", pt("spec.R.Worker.replicas", 99999999999), 2, "Worker.replicas: Invalid value")
row("more workers than a variable holds", put(job("XGBoostJob"), "spec.R.Worker.replicas", 90000), 2, "addresses exceed the size of a variable")
row("two masters", pt("spec.R.Master.replicas", 2), 2, "Master.replicas: Invalid value: 2: must be 1")
row("no master of an XGBoostJob", job("XGBoostJob", roles=["Worker"]), 2, "xgbReplicaSpecs.Master: Required")
row("no replicas at all", pt("spec.pytorchReplicaSpecs", {}), 2, "pytorchReplicaSpecs: Required value: at least one replica is required")
row("no image", both("template.spec.containers.0", {"name": "pytorch"}), 2, r"containers\[0\].image: Required")
row("no container of that name", both("template.spec.containers.0.name", "x"), 2, 'one must be called "pytorch"')
row("another container called node", both("template.spec.containers.1", {"name": "node", "image": "img2"}), 2, "give this one another name")
row("a name that is none", pt("metadata.name", "Job_1"), 2, "metadata.name: ")
row("a name that gets too long", pt("metadata.name", "a" * 60), 2, r"metadata.name: .*7\d characters, where 63 are allowed")
row("generateName", {**pt(), "metadata": {"generateName": "j-"}}, 2, "metadata.name: Required value: .*instead of generateName")
row("Chief and Master", put(job("TFJob", roles=["Chief", "Worker"]), "spec.R.Master", TF["spec"]["tfReplicaSpecs"]["Chief"]), 2, "cannot be combined")
row("nprocPerNode twice", put(put(pt(), "spec.elasticPolicy", {"nProcPerNode": 2}), "spec.nprocPerNode", "2"), 2, "cannot be combined with spec.nprocPerNode")
row("a kind with a typing error", {**pt(), "kind": "PytorchJob"}, 2, 'stdin:2:1: kind: .*did you mean "PyTorchJob"')
row("an old version", {**pt(), "apiVersion": "kubeflow.org/v1beta2"}, 2, "stdin:1:1: apiVersion: .*must be kubeflow.org/v1$")
row("two jobs of one name", [pt(), pt()], 2, "the input contains another TrainingRuntime with this name")
row("a job and a TrainJob of its name", [pt(), {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"}}], 2,
    "the input contains another TrainJob with this name")
for what, text, like in (("an empty file", "", "there is no document|no document"), ("a word", "hello\n", "stdin:1:1: "), ("a list", "[1]\n", "stdin:1:1: "),
                         ("no kind", "{a: b}\n", "kind: Required"), ("broken YAML", "a: [\n", r"stdin:\d+:\d+: "),
                         ("aliases without end", "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
                             f"b{i}: &b{i} [{', '.join(['*' + ('a' if i == 0 else f'b{i-1}')] * 10)}]\n" for i in range(9)), "stdin:"),
                         ("17 MB", "# " + "x" * (17 << 20) + "\n", "larger than")):
    code, out, err = run(text)
    test("bad input: " + what, code == 2 and not out and re.search(like, err) is not None, f"{code} {err[:500]} {out[:200]}")
big = pt()
put(big, "metadata.annotations", {"note": "x" * 200000})
text = "---\n".join(write({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}"}, "data": {"a": "y" * 100000}}) for i in range(100))
code, out, err = run(text + "---\n" + write(pt()))
test("10 MB", code == 0 and len(out) > 10_000_000 and "TrainJob" in out, f"{code} {err[:300]}")

# ---- several documents ---------------------------------------------------------------------------
others = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "yes", "c": "1"}},
          {"apiVersion": "kubeflow.org/v1", "kind": "Notebook", "metadata": {"name": "book"}},
          {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "t"}, "spec": {"unknown": 1}}]
code, out, err = run(others)
test("what is no V1 job passes unchanged", code == 0 and read(out) == others and not err, err + out)
code, out, err = run({"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment", "metadata": {"name": "e"}, "spec": {"trialTemplate": {"trialSpec": pt()}}})
test("... but a job in it is lost", code == 4 and read(out)[0]["kind"] == "Experiment" and
     re.search(r"spec.trialTemplate.trialSpec: .*: lost: this document is not changed: convert the PyTorchJob in it by itself$", err, re.M), err + out)
code, out, err = run([others[0], pt(), others[1]])
test("two parsers of YAML read the same", read(out) == list(yaml.safe_load_all(out)) and len(read(out)) == 4, out)
test("the order stays", [d["kind"] for d in read(out)] == ["ConfigMap", "TrainingRuntime", "TrainJob", "Notebook"], out)
code, out, err = run({"apiVersion": "v1", "kind": "List", "items": [others[0], pt("spec.nprocPerNode", "auto")]})
test("a List", code == 3 and [d["kind"] for d in read(out)] == ["ConfigMap", "TrainingRuntime", "TrainJob"] and
     re.search(r"^stdin:\d+:\d+: spec.nprocPerNode", err), err + out)
code, out, err = run([others[0], pt()], "-o", "json")
test("-o json", code == 0 and [d["kind"] for d in json.loads(out)["items"]] == ["ConfigMap", "TrainingRuntime", "TrainJob"], err + out)
code, out, err = run([pt(), {**pt(), "spec": {}}])
test("one that is refused: nothing is printed", code == 2 and not out, err + out)
code, out, err = run([pt(P + "backoffLimit", 1), put(job("JAXJob", name="k"), P + "cleanPodPolicy", "None")])
test("the exit code is the worst", code == 4, err)
report = os.path.join(SCRATCH.name, "report.json")
code, out, err = run([pt(P + "backoffLimit", 1), others[0]], "--report", report)
have = json.load(open(report))
test("--report", code == 3 and have["exitCode"] == 3 and have["grade"] == "approximate" and
     [d["grade"] for d in have["documents"]] == ["approximate", "exact"] and have["documents"][0]["fields"][0]["path"] == "spec.runPolicy.backoffLimit" and
     have["documents"][0]["fields"][0]["line"] > 1 and have["documents"][0]["kind"] == "PyTorchJob", json.dumps(have)[:800])
run(pt("spec.nprocPerNodes", "2"), "--report", report)
have = json.load(open(report))
test("--report of a refusal", have["exitCode"] == 2 and have["documents"][0]["fields"][0]["grade"] == "refused", json.dumps(have)[:800])
text = "---\n".join(write(job("JAXJob", name=f"j{i}")) for i in range(500)) + "---\n" + \
    "---\n".join(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{i}}}\n" for i in range(9500))
code, out, err = run(text)
test("10,000 documents", code == 0 and out.count("kind: TrainJob") == 500, f"{code} {err[:300]}")

named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j-config", "namespace": "a"}, "data": {"r.sh": "x\nssh j-worker-$i\n", "s": "xj-worker-0"}}
service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "j-worker-0"}, "spec": {"selector": {"training.kubeflow.org/job-name": "j", "x": "j"}}}
code, out, err = run([named, service, put(job("MPIJob", "v2beta1"), "metadata.namespace", "a"), {**named, "metadata": {"name": "b", "namespace": "b"}}])
test("other documents that name its pods", code == 4 and read(out)[0] == named and read(out)[1] == service and [line.split(": ")[1] for line in err.splitlines()] ==
     ["data[r.sh]", "spec.selector[training.kubeflow.org/job-name]"], err)
text = "a-worker-0 b-worker-0 " * 50000
code, out, err = run([{**named, "data": {"x": text}}, put(job("JAXJob", name="a"), "metadata.namespace", "a"), put(job("JAXJob", name="b"), "metadata.namespace", "a")])
test("... many times", code == 4 and len(err.splitlines()) <= 8, err[:500])

# ---- every output passes `runtime validate` ----------------------------------------------------------
for (kind, version) in KINDS:
    code, out, err = run(job(kind, version))
    valid = subprocess.run([KFTRAINER, "runtime", "validate", "-"], input=out.encode(), capture_output=True)
    test(f"{kind} {version}: runtime validate", valid.returncode == 0, valid.stderr.decode() + out)
    rendered = subprocess.run([KFTRAINER, "runtime", "render", "-f", "-", "-o", "name"], input=out.encode(), capture_output=True)
    test(f"{kind} {version}: it renders", b"jobset.jobset.x-k8s.io/j" in rendered.stdout, rendered.stderr.decode())

# ---- the walk: no field of V1's schema is dropped without a line ---------------------------------------
with open("core/assets/schema.yaml") as f:
    DEFINITIONS = yaml.load(f, LOADER)["definitions"]
V1 = {}
for name in ("v1", "v2beta1"):
    with open(f"core/assets/{name}.yaml") as f:
        V1[name] = yaml.load(f, LOADER)
        DEFINITIONS = {**DEFINITIONS, **V1[name]["definitions"]}


def expand(node):
    while "$ref" in node:
        node = {**DEFINITIONS[node["$ref"]], **{k: v for k, v in node.items() if k != "$ref"}}
    return node


def value_of(node, mark):
    """The smallest value of that shape, with the marks that are its own."""
    node = expand(node)
    if "enum" in node:
        return [v for v in node["enum"] if v][-1]
    if node.get("x-kubernetes-int-or-string"):
        return mark["n"]
    kind = node.get("type")
    if kind == "string":
        if node.get("format") == "date-time":
            return "2026-01-02T03:04:05Z"
        return mark["s"]
    if kind == "integer":
        return mark["n"]
    if kind == "boolean":
        return True
    if kind == "array":
        return [value_of(node["items"], mark)] if "items" in node else []
    if "additionalProperties" in node:
        return {mark["s"]: value_of(node["additionalProperties"], mark)}
    return {k: value_of(node["properties"][k], mark) for k in node.get("required", []) if k in node.get("properties", {})}


def leaves(node, path=()):
    node = expand(node)
    if node.get("properties"):
        for key, child in node["properties"].items():
            yield from leaves(child, path + (key,))
    elif node.get("type") == "array" and expand(node.get("items", {})).get("properties"):
        yield from leaves(node["items"], path + (0,))
    else:
        yield path, node


def build(node, path, value, mark):
    """The object that holds `value` at the path, with what is required on the way."""
    node = expand(node)
    if not path:
        return value
    if path[0] == 0:
        return [build(node["items"], path[1:], value, mark)]
    obj = {k: value_of(node["properties"][k], mark) for k in node.get("required", []) if k in node["properties"]}
    obj[path[0]] = build(node["properties"][path[0]], path[1:], value, mark)
    return obj


def overlay(base, extra):
    """extra into base; of lists the first elements are one."""
    for key, value in extra.items():
        old = base.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            overlay(old, value)
        elif isinstance(old, list) and isinstance(value, list) and old and isinstance(old[0], dict) and isinstance(value[0], dict):
            name = old[0].get("name")
            overlay(old[0], value[0])
            if name:
                old[0]["name"] = name
        else:
            base[key] = value
    return base


def has(doc, value):
    if doc == value and type(doc) == type(value):
        return True
    if isinstance(doc, dict):
        return any(has(v, value) for v in doc.values()) or (isinstance(value, str) and value in doc)
    if isinstance(doc, list):
        return any(has(v, value) for v in doc)
    return isinstance(doc, str) and isinstance(value, (str, int)) and not isinstance(value, bool) and str(value) in doc


def scalars(value):
    if isinstance(value, dict):
        for k, v in value.items():
            yield from scalars(v)
    elif isinstance(value, list):
        for v in value:
            yield from scalars(v)
    else:
        yield value


# These become a structure, not a value; each has its row above.
STRUCTURE = re.compile(r"restartPolicy$|successPolicy$|managedBy$|launcherCreationPolicy$|mainContainer$|apiVersion$|kind$|enableDynamicWorker$|standalone$|runLauncherAsWorker$|containers\.0\.name$")


def keys_found(docs, key):
    if isinstance(docs, dict):
        return key in docs or any(keys_found(v, key) for v in docs.values())
    return isinstance(docs, list) and any(keys_found(v, key) for v in docs)


def walk(kind, version):
    specs, roles, _, _, one = KINDS[kind, version]
    schema = expand(V1[version]["kinds"][kind]["schema"])
    fields = []
    for path, node in leaves(schema):
        if path[:2] == ("spec", specs) and len(path) > 2 and path[2] not in roles:
            continue
        if path[0] in ("apiVersion", "kind") or path[:2] == ("metadata", "name"):
            continue
        fields.append((path, node))
    docs = []
    for i, (path, node) in enumerate(fields):
        mark = {"s": f"m{i}x", "n": 20000 + i}
        value = {"startTime": mark["s"]} if path == ("status",) else value_of(node, mark)
        doc = job(kind, version, name=f"w{i}")
        if path[:2] == ("spec", "elasticPolicy") and kind == "PyTorchJob":
            doc = job(kind, version, name=f"w{i}", roles=["Worker"])
        extra = build(schema, path, value, mark)
        extra.pop("apiVersion", None), extra.pop("kind", None)
        extra.get("metadata", {}).pop("name", None) if isinstance(extra.get("metadata"), dict) else None
        if path[:2] == ("spec", specs):
            inner = extra["spec"][specs]
            targets = [r for r in roles if one] or [path[2]]
            for role in targets:
                overlay(doc, {"spec": {specs: {role: copy.deepcopy(inner[path[2]])}}})
        else:
            extra.get("spec", {}).pop(specs, None)
            overlay(doc, extra)
        docs.append((path, value, doc))
    return docs


def convert_all(docs):
    """The documents in one run: refused (by number), what each became, what was said of each."""
    said, docs = {}, list(docs)
    subprocess.run([KFTRAINER, "convert", "--report", report, "-o", "json", "-"], input=json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [doc for _, _, doc in docs]}).encode(), capture_output=True)
    with open(report) as f:
        for i, entry in enumerate(json.load(f)["documents"]):
            said[i] = entry
    good = [i for i in said if said[i]["grade"] != "refused"]
    p = subprocess.run([KFTRAINER, "convert", "-o", "json", "-"], input=json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [docs[i][2] for i in good]}).encode(), capture_output=True)
    items = json.loads(p.stdout)["items"]
    return said, {i: items[2 * k:2 * k + 2] for k, i in enumerate(good)}, p.returncode


def lost_fields(docs):
    """The fields that are neither found in the output nor named, and how many are refused."""
    said, became, code = convert_all(docs)
    lost = [] if len(said) == len(docs) and code == 4 else [f"{len(said)} reported, exit {code}"]
    for i, (path, value, _) in enumerate(docs):
        dotted = ".".join(str(p) for p in path)
        named = " ".join(f["path"] for f in said[i]["fields"])
        if i not in became:
            lost += [] if named else [dotted + ": refused, but why?"]
            continue
        marks = list(scalars(value))
        whole = not marks or any(isinstance(m, bool) for m in marks)
        found = all(has(became[i], m) for m in marks) and (not whole or keys_found(became[i], path[-1]))
        key = str([p for p in path if p != 0][-1])
        if any(f["path"] == re.sub(r"\.0\.(command|args)$", "[0]", dotted) for f in said[i]["fields"]):
            continue
        if not (found or STRUCTURE.search(dotted) or key in named or named == "spec.elasticPolicy"):
            lost.append(f"{dotted} = {value!r}: {said[i]}")
    return lost, len(docs) - len(became)


for (kind, version) in KINDS:
    docs = walk(kind, version)
    lost, refused = lost_fields(docs)
    test(f"{kind} {version}: {len(docs)} fields of its schema, {refused} of them refused: none is dropped without a line",
         not lost and refused < 20, "\n".join(lost[:40] + [f"{len(lost)} lost, {refused} refused"]))

old = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "old"}, "spec": {
    "runtimeRef": {"name": "torch-distributed"}, "trainer": {"numProcPerNode": "auto", "command": ["python3", "t.py"]},
    "labels": {"team": "a"}, "podTemplateOverrides": [
        {"targetJobs": [{"name": "node"}], "metadata": {"labels": {"x": "z"}}, "spec": {"serviceAccountName": "first"}},
        {"targetJobs": [{"name": "node"}], "spec": {"serviceAccountName": "second", "containers": [
            {"name": "node", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
            "volumes": [{"name": "v", "emptyDir": {}}]}}]}}
code, out, err = run(old)
test("a TrainJob of Trainer 2.1 becomes one of today", code == 0 and not err and read(out)[0]["metadata"] == old["metadata"],
     f"{code}: {out}{err}")
code, out, err = run(out, "--dry-run=client", "-o", "json", command="submit")
jobset = next((o for o in json.loads(out or "[]") if o["kind"] == "JobSet"), {}) if out.startswith("[") else json.loads(out or "{}")
jobset = next((o for o in jobset.get("items", [jobset]) if o.get("kind") == "JobSet"), {})
node = next((j["template"]["spec"]["template"] for j in jobset.get("spec", {}).get("replicatedJobs", []) if j["name"] == "node"), {})
pod = node.get("spec", {})
test("... whose pods are what the overrides say, the last one first",
     jobset.get("metadata", {}).get("labels", {}).get("team") == "a" and node["metadata"]["labels"]["x"] == "z"
     and pod["serviceAccountName"] == "second" and {"name": "v", "emptyDir": {}} in pod["volumes"]
     and {"name": "v", "mountPath": "/v"} in pod["containers"][0]["volumeMounts"], f"{code}: {out}{err}")
old["spec"]["podTemplateOverrides"][1]["targetJobs"] = ["node"]
code, out, err = run(old)
test("an override without the name of a job is refused", code == 2 and not out
     and "spec.podTemplateOverrides[1].targetJobs: Invalid value: \"node\": must be an object with the job's name" in err, err)

finish()
