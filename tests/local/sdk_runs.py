"""sdk_runs.py KUBECONFIG: jobs of the unmodified Kubeflow SDK on this machine's API, with real
torch: two nodes, logs that are followed, a failing rank, initializers, events, delete. TAP."""
import contextlib
import io
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster", "sdk"))
from harness import Sdk, check, run, sized, wait  # noqa: E402
from kubeflow import trainer as kf  # noqa: E402

try:
    from kubeflow.trainer import options
except ImportError:  # 0.1
    options = None


def train(path):
    import os
    import time
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    total = torch.ones(1) * (dist.get_rank() + 1)
    dist.all_reduce(total)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: sum {total.item()}", flush=True)
    while not os.path.exists(path):
        time.sleep(0.1)
    print("the end", flush=True)
    dist.destroy_process_group()


def report(path):
    import sys
    sys.path[:] = path
    from kubeflow.trainer import update_trainjob_status
    assert update_trainjob_status(40, 60, {"loss": 0.5})


def fail():
    import os
    import sys
    print("about to fail", flush=True)
    sys.exit(7 if os.environ["PET_NODE_RANK"] == "1" else 0)


def hang():
    import time
    time.sleep(100000)


def runtime(sdk):
    return sdk.client.get_runtime("torch-distributed")


def steps(job):
    return {step.name: step.status for step in job.steps}


@check("two nodes: Running, logs are followed, sums are right, Complete, deleted")
def _(sdk):
    ranks = 2 if sdk.version >= (0, 5) else 1  # of a node, each of which imports torch
    total = f"of {2 * ranks}: sum {ranks * (2 * ranks + 1)}.0"
    go = os.path.join(os.environ["SCRATCH"], "go-sdk")
    name = sdk.client.train(runtime=runtime(sdk), trainer=kf.CustomTrainer(
        func=train, func_args={"path": go}, num_nodes=2, resources_per_node={"cpu": ranks}))
    sdk.client.wait_for_job_status(name, {"Running"}, timeout=600, polling_interval=1)
    lines = []
    for line in sdk.client.get_job_logs(name, step="node-0", follow=True):
        lines.append(line)
        if total in line:
            open(go, "w").close()
    log = "\n".join(lines)  # two processes of a node may share a line
    assert log.count(total) == log.count("the end") == ranks, lines
    job = sdk.client.wait_for_job_status(name, timeout=600, polling_interval=1)
    assert job.status == "Complete" and steps(job) == {"node-0": "Succeeded", "node-1": "Succeeded"}, job
    assert job.num_nodes == 2, job
    assert sdk.client.get_job(name).status == "Complete"
    log = "\n".join(sdk.client.get_job_logs(name, step="node-1"))
    assert log.count(total) == ranks, log
    if sdk.version >= (0, 3):
        kinds = {event.involved_object_kind for event in sdk.client.get_job_events(name)}
        assert {"TrainJob", "JobSet", "Pod"} <= kinds, kinds
    assert name in [job.name for job in sdk.client.list_jobs()]
    sdk.client.delete_job(name)
    assert name not in [job.name for job in sdk.client.list_jobs()]


def submitted(name, script, *options):
    """A run of `submit --local`, which the server shows."""
    return subprocess.run([os.environ["KFTRAINER"], "submit", "--local", "-q", "--name", name, "--runtime", "torch-distributed",
                           "--nodes", "2", *options, "--", "sh", "-c", script], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode


def seen(sdk, name, *wanted):
    events = {(event.involved_object_kind, event.reason) for event in sdk.client.get_job_events(name)}
    assert set(wanted) <= events, events


def no_folder(name):
    folder = os.path.join(os.environ["XDG_STATE_HOME"], "kftrainer", "jobs", "default", name)
    assert not os.path.exists(folder), folder


@check("a run of submit --local: listed, followed, its events, waited for, deleted")
def _(sdk):
    go = os.path.join(os.environ["SCRATCH"], "go-sdk-submitted")
    assert not submitted("submitted", f"echo begin $PET_NODE_RANK; until [ -e {go} ]; do sleep 0.1; done; echo end", "--detach")
    assert ("submitted", "Running") in [(job.name, job.status) for job in sdk.client.list_jobs()]
    job = sdk.client.wait_for_job_status("submitted", {"Running"}, timeout=600, polling_interval=1)
    assert job.num_nodes == 2 and steps(job) == {"node-0": "Running", "node-1": "Running"}, job
    lines = []
    for line in sdk.client.get_job_logs("submitted", step="node-1", follow=True):
        lines.append(line)
        open(go, "w", encoding="utf-8").close()
    assert lines == ["begin 1", "end"], lines
    job = sdk.client.wait_for_job_status("submitted", timeout=600, polling_interval=1)
    os.unlink(go)
    assert job.status == "Complete" and steps(job) == {"node-0": "Succeeded", "node-1": "Succeeded"}, job
    assert list(sdk.client.get_job_logs("submitted", step="node-0")) == ["begin 0", "end"]
    if sdk.version >= (0, 3):
        wait(600, lambda: seen(sdk, "submitted", ("Pod", "Started"), ("JobSet", "AllJobsCompleted"), ("TrainJob", "Completed")))
    sdk.client.delete_job("submitted")
    assert "submitted" not in [job.name for job in sdk.client.list_jobs()]
    wait(600, lambda: no_folder("submitted"))


@check("a run of submit --local that fails: Failed, and its text")
def _(sdk):
    assert submitted("broken", "echo about to fail; exit $((PET_NODE_RANK * 7))") == 7
    job = sdk.client.wait_for_job_status("broken", {"Failed"}, timeout=600, polling_interval=1)
    assert job.status == "Failed" and steps(job)["node-1"] == "Failed", job
    assert list(sdk.client.get_job_logs("broken", step="node-1")) == ["about to fail"]
    sdk.client.delete_job("broken")


@check("a failing rank: Failed, and its text")
def _(sdk):
    name = sdk.client.train(runtime=runtime(sdk), trainer=kf.CustomTrainer(func=fail, num_nodes=2))
    job = sdk.client.wait_for_job_status(name, {"Failed"}, timeout=600, polling_interval=1)
    assert job.status == "Failed" and steps(job)["node-1"] == "Failed", job
    log = "\n".join(sdk.client.get_job_logs(name, step="node-1"))
    assert "about to fail" in log, log


@check("get_runtime_packages runs a job that lists them")
def _(sdk):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        sdk.client.get_runtime_packages(runtime(sdk))
    assert "Python: 3." in said.getvalue(), said.getvalue()


# The hub is a stand-in ($HF_ENDPOINT of the server), and so is torchtune's program: it says what it got.
@check("torchtune: its arguments reach the program, and initializers have filled its folders")
def _(sdk):
    lora = {} if sdk.version == (0, 1) else {"peft_config": kf.LoraConfig(lora_rank=8)}
    name = sdk.client.train(
        runtime=sdk.client.get_runtime("torchtune-llama3.2-1b"), trainer=kf.BuiltinTrainer(config=kf.TorchTuneConfig(
            dtype=kf.DataType.BF16, batch_size=4, epochs=1, num_nodes=1, resources_per_node={"cpu": 1},
            dataset_preprocess_config=kf.TorchTuneInstructDataset(
                source=kf.DataFormat.PARQUET, split="train[:10%]", column_map={"input": "q", "output": "a"}), **lora)),
        initializer=kf.Initializer(dataset=kf.HuggingFaceDatasetInitializer("hf://org/data/data"),
                                   model=kf.HuggingFaceModelInitializer("hf://org/model")))
    job = sdk.client.wait_for_job_status(name, {"Complete", "Failed"}, timeout=600, polling_interval=1)
    assert job.status == "Complete", (job, list(sdk.client.get_job_logs(name, step="node-0")))
    assert steps(job) == {step: "Succeeded" for step in ("dataset-initializer", "model-initializer", "node-0")}, job
    said = "\n".join(sdk.client.get_job_logs(name, step="node-0")).splitlines()
    pod = sdk.container(name)
    assert said[:said.index("----")] == (pod["command"] + pod.get("args", []))[1:], (said, pod)
    assert {"dtype=bf16", "dtype=DataType.BF16"} & set(said), said  # the second: 0.1.0
    for word in ("batch_size=4", "epochs=1", "dataset.source=parquet", "dataset.split=train[:10%]",
                 "dataset.data_dir=/workspace/dataset/data", "dataset.column_map={'input': 'q', 'output': 'a'}",
                 *(["model.lora_rank=8"] if lora else [])):
        assert word in said, said
    assert {"dataset/data/train.parquet", "model/config.json", "model/model.safetensors"} <= set(said), said
    assert "model/old.bin" not in said and "dataset/README.md" not in said, said
    for step in ("dataset-initializer", "model-initializer"):
        assert list(sdk.client.get_job_logs(name, step=step)), step
    sdk.client.delete_job(name)


@check("initializers: a data set and a model from an S3 server", since=(0, 2))
def _(sdk):
    server = {"endpoint": os.environ["S3_ENDPOINT"], "access_key_id": "key", "secret_access_key": "secretsecret"}
    name = sdk.client.train(
        runtime=sdk.client.get_runtime("torchtune-llama3.2-1b"),
        trainer=kf.BuiltinTrainer(config=kf.TorchTuneConfig(num_nodes=1, resources_per_node={"cpu": 1})),
        initializer=kf.Initializer(dataset=kf.S3DatasetInitializer("s3://bucket/data", **server),
                                   model=kf.S3ModelInitializer("s3://bucket/model", **server)))
    job = sdk.client.wait_for_job_status(name, {"Complete", "Failed"}, timeout=600, polling_interval=1)
    said = "\n".join(sdk.client.get_job_logs(name, step="node-0")).splitlines()
    assert job.status == "Complete", (job, said)
    assert {"dataset/train.parquet", "model/config.json", "model/model.safetensors"} <= set(said), said
    assert "model/old.bin" not in said, said
    sdk.client.delete_job(name)


@check("MPI: the launcher's ranks run in the pods of both nodes", since=(0, 3))
def _(sdk):
    name = sdk.client.train(
        runtime="deepspeed-distributed", trainer=kf.CustomTrainerContainer(image="none", num_nodes=2), options=[
            options.TrainerCommand(["mpirun.openmpi", "sh", "-c"]),
            options.TrainerArgs(["echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname)"])])
    job = sdk.client.wait_for_job_status(name, {"Complete", "Failed"}, timeout=600, polling_interval=1)
    said = list(sdk.client.get_job_logs(name, step="node-0"))
    assert job.status == "Complete", (job, said)
    ranks = sorted(line.strip() for line in said if line.startswith("rank "))
    assert [line.split(" on ")[0] for line in ranks] == ["rank 0 of 2", "rank 1 of 2"], said
    assert {line.split(" on ")[1] for line in ranks} == {f"{name}-launcher-0-0", f"{name}-node-0-0"}, said
    assert steps(job)["node-0"] == "Succeeded", job
    sdk.client.delete_job(name)


def suspend(sdk, name, value):
    code, said, _ = sdk.admin.request("PATCH", f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/{name}",
                                      {"spec": {"suspend": value}}, "application/merge-patch+json")
    assert code == 200, said


def condition(sdk, name):
    return [(item["type"], item["status"], item["reason"]) for item in sdk.get("TrainJob", name)["status"].get("conditions", [])]


# Any condition keeps the SDK from saying Running, in a cluster as well: `state` has it.
@check("a job is suspended and resumed through the API: conditions are a cluster's, and it starts anew")
def _(sdk):
    go = os.path.join(os.environ["SCRATCH"], "go-sdk-resumed")
    name = sdk.client.train(runtime=runtime(sdk), trainer=kf.CustomTrainer(func=started, func_args={"path": go}))
    sdk.client.wait_for_job_status(name, {"Running"}, timeout=600, polling_interval=1)
    suspend(sdk, name, True)

    def state(conditions, word):
        assert condition(sdk, name) == conditions, condition(sdk, name)
        assert sdk.get("TrainJob", name)["status"]["state"] == word, sdk.get("TrainJob", name)["status"]
    wait(600, lambda: state([("Suspended", "True", "Suspended")], "Suspended"))
    wait(600, lambda: sized(sdk.of_job("Pod", name), 0))
    assert sdk.client.get_job(name).status == "Created"
    suspend(sdk, name, False)
    wait(600, lambda: state([("Suspended", "False", "Resumed")], "Running"))
    open(go, "w", encoding="utf-8").close()
    job = sdk.client.wait_for_job_status(name, timeout=600, polling_interval=1)
    os.unlink(go)
    assert job.status == "Complete" and steps(job) == {"node-0": "Succeeded"}, job
    assert condition(sdk, name) == [("Suspended", "False", "Resumed"), ("Complete", "True", "AllJobsCompleted")], condition(sdk, name)
    assert sdk.get("JobSet", name)["status"].get("restarts", 0) == 0, "a suspension is no restart"
    assert list(sdk.client.get_job_logs(name, step="node-0")) == ["started", "ended"]
    sdk.client.delete_job(name)


def started(path):
    import os
    import time
    print("started", flush=True)
    while not os.path.exists(path):
        time.sleep(0.1)
    print("ended", flush=True)


@check("a job that fails once is restarted: the count is its JobSet's, and the SDK sees the last pods")
def _(sdk):
    path = os.path.join(os.environ["SCRATCH"], f"tried-{sdk.release}")
    name = sdk.client.train(runtime=sdk.client.get_runtime("sdk-twice"), trainer=kf.CustomTrainer(
        func=fails_once, func_args={"path": path}, num_nodes=2))
    job = sdk.client.wait_for_job_status(name, timeout=600, polling_interval=1)
    assert job.status == "Complete" and steps(job) == {"node-0": "Succeeded", "node-1": "Succeeded"}, job
    assert sdk.get("JobSet", name)["status"]["restarts"] == 1, sdk.get("JobSet", name)["status"]
    sdk.client.delete_job(name)


def fails_once(path):
    import os
    import sys
    if os.environ["PET_NODE_RANK"] == "0" and not os.path.exists(path):
        open(path, "w").close()
        sys.exit(5)


@check("update_trainjob_status in a pod reports progress", since=(0, 5))
def _(sdk):
    name = sdk.client.train(runtime=runtime(sdk), trainer=kf.CustomTrainer(
        func=report, func_args={"path": sys.path}))
    job = sdk.client.wait_for_job_status(name, timeout=600, polling_interval=1)
    status = sdk.get("TrainJob", name)["status"]["trainerStatus"]
    assert job.status == "Complete" and status["progressPercentage"] == 40, status
    assert status["estimatedRemainingSeconds"] == 60, status
    assert status["metrics"] == [{"name": "loss", "value": "0.5"}], status


@check("a job that runs is deleted: nothing of it is left", since=(0, 5))
def _(sdk):
    name = sdk.client.train(runtime=runtime(sdk), trainer=kf.CustomTrainer(func=hang, num_nodes=2))
    sdk.client.wait_for_job_status(name, {"Running"}, timeout=600, polling_interval=1)
    assert name in [job.name for job in sdk.client.list_jobs()]
    assert sdk.client.get_job(name).status == "Running"
    sdk.client.delete_job(name)
    assert name not in [job.name for job in sdk.client.list_jobs()]
    wait(600, lambda: sized(sdk.of_job("Pod", name) + sdk.of_job("JobSet", name), 0))
    wait(600, lambda: no_folder(name))


if __name__ == "__main__":
    sys.exit(run(Sdk("default", sys.argv[1], sys.argv[1])) != 0)
