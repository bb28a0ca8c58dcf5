"""sdk_pods.py NAMESPACE: this release's TrainerClient with pods that run: logs, events, progress.
Its user's rights: $SDK_KUBECONFIG; an administrator's: $KUBECONFIG. $SDK_INDEX is where pods
install packages from. TAP."""
import contextlib
import datetime
import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster", "sdk"))
from harness import Sdk, check, refused, run, sized, wait  # noqa: E402 pylint: disable=wrong-import-position
from kubeflow import trainer as kf  # noqa: E402 pylint: disable=wrong-import-position,wrong-import-order

jobs = {}  # all are started at first


def add_up(start):
    import time
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    total = torch.tensor([start + dist.get_rank()])
    dist.all_reduce(total)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {total.item()}", flush=True)
    time.sleep(6)
    print("done", flush=True)


def fail():
    raise ValueError("no such column")


def second_try():
    import os
    import sys
    if not os.path.exists("/state/tried"):
        open("/state/tried", "w").close()
        print("first try", flush=True)
        sys.exit(3)
    print("second try", flush=True)


def report():
    import time
    from kubeflow.trainer import update_trainjob_status
    print("reported:", update_trainjob_status(40, 60, {"loss": 0.5}), flush=True)
    time.sleep(5.5)
    print("reported:", update_trainjob_status(100), flush=True)


def host():
    import socket
    print(socket.gethostname(), flush=True)


def start(sdk, name, function, runtime, **more):
    initializer = {"initializer": more.pop("initializer")} if "initializer" in more else {}
    jobs[name] = sdk.client.train(runtime=sdk.client.get_runtime(runtime), **initializer,
                                  trainer=kf.CustomTrainer(func=function, **more))


@check("jobs are taken")
def _(sdk):
    start(sdk, "sum", add_up, "sdk-torch", func_args={"start": 10}, num_nodes=2, env={"OMP_NUM_THREADS": "1"})
    start(sdk, "fails", fail, "sdk-torch", num_nodes=1)
    start(sdk, "again", second_try, "sdk-again")
    start(sdk, "steps", second_try, "sdk-steps", initializer=kf.Initializer(
        dataset=kf.HuggingFaceDatasetInitializer("hf://a/data", access_token="t0ken"),
        model=kf.HuggingFaceModelInitializer("hf://a/model")))
    start(sdk, "mpi-ssh", host, "sdk-mpi-ssh", num_nodes=2)
    start(sdk, "mpi-worker", host, "sdk-mpi-worker", num_nodes=2)
    if sdk.version >= (0, 5):
        start(sdk, "reports", report, "sdk-torch", packages_to_install=["kubeflow==" + sdk.release],
              pip_index_urls=[os.environ["SDK_INDEX"]], env={
                  "PIP_TRUSTED_HOST": sdk.admin.url.hostname, "PIP_ROOT_USER_ACTION": "ignore"})


@check("a job is Running when all its nodes are")
def _(sdk):
    found = sdk.client.wait_for_job_status(jobs["sum"], status={"Running"}, timeout=600, polling_interval=1)
    assert sorted(step.name for step in found.steps) == ["node-0", "node-1"], found
    assert {step.status for step in found.steps} <= {"Running", "Succeeded"}, found


@check("get_job_logs follows a node to its end")
def _(sdk):
    lines = list(sdk.client.get_job_logs(jobs["sum"], step="node-1", follow=True))
    assert any(line.endswith("of 2: 21") for line in lines) and lines[-1] == "done", lines


@check("the job is Complete")
def _(sdk):
    found = sdk.client.wait_for_job_status(jobs["sum"], timeout=600, polling_interval=1)
    assert {step.status for step in found.steps} == {"Succeeded"}, found


@check("get_job_logs of a node that has ended")
def _(sdk):
    lines = list(sdk.client.get_job_logs(jobs["sum"]))
    assert "rank 0 of 2: 21" in lines and lines[-1] == "done", lines


@check("get_job_events of the job and its pods", since=(0, 3))
def _(sdk):
    def all_events():
        found = sdk.client.get_job_events(jobs["sum"])
        told = [item.reason for item in found if item.involved_object_kind == "TrainJob"]
        assert told == ["JobSetCreated", "Completed"], found
        assert {"Created", "Started"} <= {item.reason for item in found if item.involved_object_kind == "Pod"}, found
        assert all(isinstance(item.event_time, datetime.datetime) for item in found), found
    wait(30, all_events)


@check("a failed job says so, and its logs can be read")
def _(sdk):
    refused(lambda: sdk.client.wait_for_job_status(jobs["fails"], timeout=600, polling_interval=1), "is Failed")
    lines = list(sdk.client.get_job_logs(jobs["fails"]))
    assert any("no such column" in line for line in lines), lines


@check("... and its events say why", since=(0, 3))
def _(sdk):
    def told():
        found = sdk.client.get_job_events(jobs["fails"])
        assert any(item.involved_object_kind == "TrainJob" and item.reason == "Failed"
                   and "node-0 (node rank 0): container node: exit code 1" in item.message for item in found), found
    wait(30, told)


@check("a rank that is started again is the same step, with the last try's log")
def _(sdk):
    found = sdk.client.wait_for_job_status(jobs["again"], timeout=600, polling_interval=1)
    assert [(step.name, step.status) for step in found.steps] == [("node-0", "Succeeded")], found
    assert list(sdk.client.get_job_logs(jobs["again"])) == ["second try"]


@check("mpirun starts a rank on each node, by sshd and by mpi-worker")
def _(sdk):
    for name in ("mpi-ssh", "mpi-worker"):
        sdk.client.wait_for_job_status(jobs[name], timeout=600, polling_interval=1)
        lines = sorted(sdk.client.get_job_logs(jobs[name]))
        assert lines == [f"{jobs[name]}-launcher-0-0", f"{jobs[name]}-node-0-0"], (name, lines)


@check("initializers are steps, with logs of their own")
def _(sdk):
    found = sdk.client.wait_for_job_status(jobs["steps"], timeout=600, polling_interval=1)
    assert sorted(step.name for step in found.steps) == ["dataset-initializer", "model-initializer", "node-0"], found
    assert list(sdk.client.get_job_logs(jobs["steps"], step="dataset-initializer")) == ["hf://a/data t0ken"]
    assert list(sdk.client.get_job_logs(jobs["steps"], step="model-initializer")) == ["hf://a/model"]


@check("update_trainjob_status in a pod that installed the SDK", since=(0, 5))
def _(sdk):
    sdk.client.wait_for_job_status(jobs["reports"], timeout=600, polling_interval=1)
    lines = list(sdk.client.get_job_logs(jobs["reports"]))
    assert lines[-2:] == ["reported: True", "reported: True"], lines
    status = sdk.get("TrainJob", jobs["reports"])["status"]["trainerStatus"]
    assert status["progressPercentage"] == 100 and "metrics" not in status, status


@check("get_runtime_packages")
def _(sdk):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        sdk.client.get_runtime_packages(sdk.client.get_runtime("sdk-plain"))
    assert text.getvalue().startswith("Python: 3.") and "torch " in text.getvalue(), text.getvalue()


@check("list_jobs has all of them, and no other")
def _(sdk):
    found = {item.name: item.status for item in sdk.client.list_jobs()}
    fine = {name: "Failed" if name == jobs["fails"] else "Complete" for name in jobs.values()}
    assert found == fine, (found, fine)


@check("delete_job removes all that it owns, pods too")
def _(sdk):
    for name in jobs.values():
        sdk.client.delete_job(name)
    for name in jobs.values():
        for kind in ("TrainJob", "JobSet", "Job", "Pod", "ConfigMap", "Service"):
            wait(60, lambda kind=kind, name=name: sized(sdk.of_job(kind, name), 0))
    assert not sdk.client.list_jobs()


if __name__ == "__main__":
    sys.exit(run(Sdk(sys.argv[1], os.environ["SDK_KUBECONFIG"], os.environ["KUBECONFIG"])) > 0)
