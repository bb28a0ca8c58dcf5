"""sdk_runs.py KUBECONFIG: jobs of the unmodified Kubeflow SDK on this machine's API, with real
torch: two nodes, logs that are followed, a failing rank, initializers, events, delete. TAP."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster", "sdk"))
from harness import Sdk, check, run, sized, wait  # noqa: E402
from kubeflow import trainer as kf  # noqa: E402


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


@check("two nodes of two processes: Running, logs are followed, sums are right, Complete, deleted")
def _(sdk):
    go = os.path.join(os.environ["SCRATCH"], "go-sdk")
    name = sdk.client.train(runtime=runtime(sdk), trainer=kf.CustomTrainer(
        func=train, func_args={"path": go}, num_nodes=2, resources_per_node={"cpu": 2}))
    sdk.client.wait_for_job_status(name, {"Running"}, timeout=600, polling_interval=1)
    lines = []
    for line in sdk.client.get_job_logs(name, step="node-0", follow=True):
        lines.append(line)
        if "sum 10.0" in line:
            open(go, "w").close()
    log = "\n".join(lines)  # two processes of a node may share a line
    assert log.count("of 4: sum 10.0") == log.count("the end") == 2, lines
    job = sdk.client.wait_for_job_status(name, timeout=600, polling_interval=1)
    assert job.status == "Complete" and steps(job) == {"node-0": "Succeeded", "node-1": "Succeeded"}, job
    assert job.num_nodes == 2, job
    log = "\n".join(sdk.client.get_job_logs(name, step="node-1"))
    assert log.count("of 4: sum 10.0") == 2, log
    if sdk.version >= (0, 3):
        kinds = {event.involved_object_kind for event in sdk.client.get_job_events(name)}
        assert {"TrainJob", "JobSet", "Pod"} <= kinds, kinds
    assert name in [job.name for job in sdk.client.list_jobs()]
    sdk.client.delete_job(name)
    assert name not in [job.name for job in sdk.client.list_jobs()]


@check("a failing rank: Failed, and its text")
def _(sdk):
    name = sdk.client.train(runtime=runtime(sdk), trainer=kf.CustomTrainer(func=fail, num_nodes=2))
    job = sdk.client.wait_for_job_status(name, {"Failed"}, timeout=600, polling_interval=1)
    assert job.status == "Failed" and steps(job)["node-1"] == "Failed", job
    log = "\n".join(sdk.client.get_job_logs(name, step="node-1"))
    assert "about to fail" in log, log


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
    folder = os.path.join(os.environ["XDG_STATE_HOME"], "kftrainer", "jobs", "default", name)
    wait(600, lambda: sized([{"metadata": {"name": folder}}] * os.path.exists(folder), 0))


if __name__ == "__main__":
    sys.exit(run(Sdk("default", sys.argv[1], sys.argv[1])) != 0)
