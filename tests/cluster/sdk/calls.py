"""calls.py NAMESPACE: every call of this release's TrainerClient, on a cluster without kubelets:
what a kubelet would report of pods is written here. Its user's rights: $SDK_KUBECONFIG; an
administrator's: $KUBECONFIG. TAP."""
import datetime
import logging
import os
import sys
import tempfile

from kubeflow import trainer as kf
from harness import Sdk, check, environment, refused, resolved, run, sized, wait

try:
    from kubeflow.trainer import options
except ImportError:  # 0.1
    options = None

BUILT_IN = {
    "torch-distributed": "torch", "torch-distributed-with-cache-jobs": "torch", "jax-distributed": "jax", "xgboost-distributed": "xgboost",
    "deepspeed-distributed": "deepspeed", "mlx-distributed": "mlx", "flux-distributed": "flux",
    "torchtune-llama3.2-1b": "torchtune", "torchtune-llama3.2-3b": "torchtune",
    "torchtune-qwen2.5-1.5b": "torchtune", "accelerate-distributed": "accelerate", "tensorflow-distributed": "tensorflow",
    "trl-distributed": "trl"}
IMAGE = "registry.example/train:1"
jobs = {}  # what a check leaves for those after it


def train(rate, text):
    print("training at", rate, "with", text, "$HOME")


def function(**more):
    return kf.CustomTrainer(func=train, func_args={"rate": 0.5, "text": 'a "b"'}, **more)


def runtime(sdk, name):
    """What train() wants: 0.1 and 0.2 take no name."""
    return sdk.client.get_runtime(name)


def started(sdk, name):
    """Its JobSet is there, so nothing of it was refused later."""
    return wait(30, lambda: sdk.get("JobSet", name))


# ---- runtimes ------------------------------------------------------------------------------------
@check("the control plane's version is found", since=(0, 4))
def _(sdk):
    said = []
    handler = logging.Handler()
    handler.emit = said.append
    logger = logging.getLogger("kubeflow.trainer.backends.kubernetes.backend")
    logger.addHandler(handler)
    sdk.client.backend.verify_backend()
    logger.removeHandler(handler)
    assert not said, said[0].getMessage()


@check("list_runtimes has the built-in ones, with frameworks")
def _(sdk):
    found = {item.name: item.trainer.framework for item in sdk.client.list_runtimes()}
    assert BUILT_IN.items() <= found.items(), found


@check("list_runtimes prefers the namespace's own", since=(0, 4))
def _(sdk):
    own = [item for item in sdk.client.list_runtimes() if item.name == "sdk-once"]
    assert [item.trainer.num_nodes for item in own] == [3], own
    assert sdk.client.get_runtime("sdk-once").trainer.num_nodes == 3


@check("get_runtime")
def _(sdk):
    found = runtime(sdk, "torch-distributed").trainer
    assert found.framework == "torch" and found.num_nodes == 1, found
    assert found.trainer_type == kf.TrainerType.CUSTOM_TRAINER, found
    assert found.command[:2] == ("bash", "-c") and "torchrun" in found.command[2], found.command
    assert runtime(sdk, "deepspeed-distributed").trainer.command[0] == "mpirun"
    tune = runtime(sdk, "torchtune-llama3.2-1b").trainer
    assert tune.trainer_type == kf.TrainerType.BUILTIN_TRAINER, tune
    assert (tune.device, tune.device_count) == ("gpu", "2"), tune


@check("get_runtime of one that there is not")
def _(sdk):
    refused(lambda: sdk.client.get_runtime("none"), "not found")


# ---- train ---------------------------------------------------------------------------------------
@check("train with nothing said is of torch-distributed")
def _(sdk):
    jobs["plain"] = sdk.client.train()
    started(sdk, jobs["plain"])
    ref = sdk.get("TrainJob", jobs["plain"])["spec"]["runtimeRef"]
    assert (ref["name"], ref["kind"]) == ("torch-distributed", "ClusterTrainingRuntime"), ref
    assert sdk.container(jobs["plain"])["image"].startswith("pytorch/pytorch:")


@check("train with a function, packages, resources, environment")
def _(sdk):
    name = jobs["function"] = sdk.client.train(runtime=runtime(sdk, "torch-distributed"), trainer=function(
        num_nodes=2, packages_to_install=["six"], env={"MODE": "fast"},
        resources_per_node={"cpu": 2, "memory": "1Gi", "gpu": 1}))
    started(sdk, name)
    pod = sdk.container(name)
    assert pod["resources"]["limits"] == pod["resources"]["requests"], pod["resources"]
    assert pod["resources"]["limits"] == {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"}, pod["resources"]
    env = environment(pod)
    assert (env["MODE"], env["PET_NNODES"], env["PET_MASTER_ADDR"]) == ("fast", "2", f"{name}-node-0-0.{name}"), env
    assert pod["command"][:2] == ["bash", "-c"], pod["command"]
    assert "train(**{'rate': 0.5, 'text': 'a \"b\"'})" in pod["command"][2], pod["command"][2]
    assert "six" in pod["command"][2] and pod["command"][2].rstrip().endswith('torchrun "calls.py"')


@check("train with a function under MPI, JAX and XGBoost")
def _(sdk):
    for name in ("deepspeed-distributed", "jax-distributed", "xgboost-distributed"):
        job = sdk.client.train(runtime=runtime(sdk, name), trainer=function(num_nodes=2))
        started(sdk, job)
        launcher = "launcher" if name.startswith("deepspeed") else "node"
        command = sdk.template(job, launcher)["spec"]["containers"][0]["command"]
        assert any("train(**" in word for word in command), command
        sdk.client.delete_job(job)


@check("train with an image", since=(0, 3))
def _(sdk):
    name = sdk.client.train(runtime="torch-distributed", trainer=kf.CustomTrainerContainer(
        image=IMAGE, num_nodes=2, env={"A": "b"}, resources_per_node={"cpu": "500m"}), options=[
            options.TrainerCommand(["python", "/train.py"]), options.TrainerArgs(["--epochs", "3"])])
    started(sdk, name)
    pod = sdk.container(name)
    assert (pod["image"], pod["command"], pod["args"]) == (IMAGE, ["python", "/train.py"], ["--epochs", "3"]), pod
    assert pod["resources"]["limits"] == {"cpu": "500m"} and environment(pod)["A"] == "b", pod
    sdk.client.delete_job(name)


def tune(**more):
    return kf.BuiltinTrainer(config=kf.TorchTuneConfig(
        dtype=kf.DataType.BF16, batch_size=4, epochs=1, num_nodes=1, resources_per_node={"gpu": 2, "cpu": 4},
        dataset_preprocess_config=kf.TorchTuneInstructDataset(
            source=kf.DataFormat.PARQUET, split="train[:10%]", column_map={"input": "q", "output": "a"}),
        **more))


@check("train with torchtune and initializers from a hub")
def _(sdk):
    lora = {} if sdk.version == (0, 1) else {"peft_config": kf.LoraConfig(lora_rank=8)}
    name = jobs["tune"] = sdk.client.train(
        runtime=runtime(sdk, "torchtune-llama3.2-1b"), trainer=tune(**lora), initializer=kf.Initializer(
            dataset=kf.HuggingFaceDatasetInitializer("hf://tatsu-lab/alpaca/data", access_token="t0ken"),
            model=kf.HuggingFaceModelInitializer("hf://meta-llama/Llama-3.2-1B-Instruct")))
    started(sdk, name)
    node, data = sdk.container(name), sdk.container(name, "dataset-initializer")
    assert node["command"][:2] == ["tune", "run"], node["command"]
    words = node["command"] + node["args"]
    lora = [] if sdk.version == (0, 1) else ["model.lora_rank=8"]
    for word in (*lora, "batch_size=4", "epochs=1", "dataset.source=parquet", "dataset.data_dir=/workspace/dataset/data",
                 "dataset.column_map={'input': 'q', 'output': 'a'}"):
        assert word in words, words
    assert node["resources"]["limits"] == {"nvidia.com/gpu": "2", "cpu": "4"}, node["resources"]
    assert environment(data)["STORAGE_URI"] == "hf://tatsu-lab/alpaca/data", data
    assert environment(data)["ACCESS_TOKEN"] == "t0ken", data
    model = environment(sdk.container(name, "model-initializer"))
    assert model["STORAGE_URI"] == "hf://meta-llama/Llama-3.2-1B-Instruct", model


@check("unsupported torchtune settings are refused", since=(0, 2))
def _(sdk):
    qlora = kf.LoraConfig(lora_rank=8, quantize_base=True)
    tune_1b = runtime(sdk, "torchtune-llama3.2-1b")
    refused(lambda: sdk.client.train(runtime=tune_1b, trainer=tune(peft_config=qlora)),
            "spec.trainer.resourcesPerNode", "QLoRA")


@check("train with initializers from S3", since=(0, 2))
def _(sdk):
    name = sdk.client.train(
        runtime=runtime(sdk, "torchtune-llama3.2-1b"), trainer=tune(), initializer=kf.Initializer(
            dataset=kf.S3DatasetInitializer("s3://bucket/data", endpoint="https://s3.example", access_key_id="id",
                                            secret_access_key="key", region="r"),
            model=kf.S3ModelInitializer("s3://bucket/model", role_arn="arn:aws:iam::1:role/r")))
    started(sdk, name)
    env = environment(sdk.container(name, "dataset-initializer"))
    assert (env["ENDPOINT"], env["ACCESS_KEY_ID"], env["SECRET_ACCESS_KEY"], env["REGION"]) == (
        "https://s3.example", "id", "key", "r"), env
    assert environment(sdk.container(name, "model-initializer"))["ROLE_ARN"] == "arn:aws:iam::1:role/r"
    sdk.client.delete_job(name)


# Upstream's v2.3 refuses the runtime that it ships for this; the other one is ours.
@check("train with the data cache", since=(0, 2))
def _(sdk):
    for which in ("torch-distributed-with-cache", "torch-distributed-with-cache-jobs"):
        name = sdk.client.train(
            runtime=runtime(sdk, which), trainer=function(), initializer=kf.Initializer(
                dataset=kf.DataCacheInitializer("cache://schema/table", metadata_loc="s3://b/metadata.json",
                                                num_data_nodes=2, head_cpu="1", worker_mem="2Gi")))
        started(sdk, name)
        env = environment(sdk.container(name, "dataset-initializer"))
        assert (env["STORAGE_URI"], env["CLUSTER_SIZE"], env["HEAD_CPU"], env["WORKER_MEM"]) == (
            "cache://schema/table", "3", "1", "2Gi"), env
        sdk.client.delete_job(name)
    assert env["CACHE_WORKERS"] == ",".join(f"{name}-dataset-initializer-0-{i}.{name}:50051" for i in (1, 2)), env


@check("train with a name, labels and annotations", since=(0, 2))
def _(sdk):
    name = sdk.client.train(runtime=runtime(sdk, "torch-distributed"), trainer=function(), options=[
        options.Name("mine"), options.Labels({"team": "a"}), options.Annotations({"why": "b"})])
    assert name == "mine", name
    meta = sdk.get("TrainJob", name)["metadata"]
    assert meta["labels"]["team"] == "a" and meta["annotations"]["why"] == "b", meta
    refused(lambda: sdk.client.train(runtime=runtime(sdk, "torch-distributed"), options=[options.Name("mine")]),
            "already exists")
    sdk.client.delete_job(name)


@check("train with a runtime patch", since=(0, 4))
def _(sdk):
    pod = options.PodTemplatePatch(metadata={"labels": {"team": "a"}}, spec=options.PodSpecPatch(
        service_account_name="trainer", node_selector={"pool": "gpu"},
        tolerations=[{"key": "gpu", "operator": "Exists"}], volumes=[{"name": "v", "emptyDir": {}}],
        containers=[options.ContainerPatch(name="node", volume_mounts=[{"name": "v", "mountPath": "/v"}],
                                           security_context={"runAsUser": 1000})]))
    name = sdk.client.train(runtime="torch-distributed", trainer=function(), options=[patch(pod)])
    started(sdk, name)
    template = sdk.template(name)
    spec = template["spec"]
    assert template["metadata"]["labels"]["team"] == "a", template
    assert spec["nodeSelector"] == {"pool": "gpu"} and spec["serviceAccountName"] == "trainer", spec
    assert spec["tolerations"][0]["key"] == "gpu" and "v" in [item["name"] for item in spec["volumes"]], spec
    assert spec["containers"][0]["securityContext"] == {"runAsUser": 1000}, spec
    assert {"name": "v", "mountPath": "/v"} in spec["containers"][0]["volumeMounts"], spec
    sdk.client.delete_job(name)


def patch(pod, job="node"):
    return options.RuntimePatch(training_runtime_spec=options.TrainingRuntimeSpecPatch(
        template=options.JobSetTemplatePatch(spec=options.JobSetSpecPatch(replicated_jobs=[
            options.ReplicatedJobPatch(name=job, template=options.JobTemplatePatch(
                spec=options.JobSpecPatch(template=pod)))]))))


@check("a patch of what the runtime does not have is refused, with its place", since=(0, 4))
def _(sdk):
    pod = options.PodTemplatePatch(spec=options.PodSpecPatch(node_selector={"pool": "gpu"}))
    refused(lambda: sdk.client.train(runtime="torch-distributed", options=[patch(pod, "worker")]),
            "spec.runtimePatches", "worker")
    pod.spec.containers = [options.ContainerPatch(name="node", env=[{"name": "A", "value": "b"}])]
    refused(lambda: sdk.client.train(runtime="torch-distributed", options=[patch(pod)]),
            "spec.runtimePatches", "env of container", "spec.trainer")


# Trainer 2.1's, gone since 2.2: an API server leaves such fields out and warns, which the
# SDK's client does not show.
@check("overrides of Trainer 2.1 do no harm", since=(0, 2), until=(0, 3))
def _(sdk):
    name = sdk.client.train(runtime=runtime(sdk, "torch-distributed"), trainer=function(), options=[
        options.PodTemplateOverrides(options.PodTemplateOverride(
            target_jobs=["node"], spec=options.PodSpecOverride(node_selector={"pool": "gpu"}))),
        options.SpecLabels({"a": "b"}), options.SpecAnnotations({"a": "b"})])
    started(sdk, name)
    spec = sdk.get("TrainJob", name)["spec"]
    assert not {"podTemplateOverrides", "labels", "annotations", "runtimePatches"} & set(spec), spec
    sdk.client.delete_job(name)


@check("a deadline", since=(0, 5))
def _(sdk):
    name = sdk.client.train(trainer=function(), options=[options.ActiveDeadlineSeconds(1)])
    refused(lambda: sdk.client.wait_for_job_status(name, timeout=300, polling_interval=1), "is Failed")
    assert sdk.get("TrainJob", name)["status"]["conditions"][-1]["reason"] == "DeadlineExceeded"
    sdk.client.delete_job(name)


@check("a refusal says where and why")
def _(sdk):
    refused(lambda: sdk.client.train(runtime=runtime(sdk, "torch-distributed"), trainer=function(
        env={"PET_NNODES": "3"})), "spec.trainer.env", "PET_NNODES")


# ---- what becomes of it --------------------------------------------------------------------------
@check("list_jobs, all and of a runtime")
def _(sdk):
    found = {item.name: item for item in sdk.client.list_jobs()}
    assert set(jobs.values()) <= set(found), (jobs, list(found))
    of_tune = sdk.client.list_jobs(runtime=runtime(sdk, "torchtune-llama3.2-1b"))
    assert [item.name for item in of_tune] == [jobs["tune"]], of_tune
    assert of_tune[0].runtime.trainer.framework == "torchtune" and of_tune[0].num_nodes == 1


@check("get_job has the steps and their devices")
def _(sdk):
    sdk.pods(jobs["function"], 2)
    found = sdk.client.get_job(jobs["function"])
    assert (found.name, found.num_nodes, found.status) == (jobs["function"], 2, "Created"), found
    assert sorted(step.name for step in found.steps) == ["node-0", "node-1"], found.steps
    assert {(step.device, step.device_count, step.status) for step in found.steps} == {("gpu", "1", "Pending")}
    tune_steps = [step.name for step in sdk.client.get_job(jobs["tune"]).steps]
    assert sorted(tune_steps) == ["dataset-initializer", "model-initializer"], tune_steps


@check("get_job of one that there is not")
def _(sdk):
    refused(lambda: sdk.client.get_job("none"), "not found")


@check("get_job_logs of pods that do not run has none")
def _(sdk):
    assert not list(sdk.client.get_job_logs(jobs["function"]))
    assert not list(sdk.client.get_job_logs(jobs["function"], follow=True))


@check("wait_for_job_status: it is Running when all nodes are")
def _(sdk):
    pods = sdk.pods(jobs["function"], 2)
    sdk.report(pods[0], phase="Running")
    assert sdk.client.get_job(jobs["function"]).status == "Created"
    sdk.report(pods[1], phase="Running")
    found = sdk.client.wait_for_job_status(jobs["function"], status={"Running"}, timeout=300, polling_interval=1)
    assert found.status == "Running", found


@check("wait_for_job_status: it is Complete, and callbacks are called")
def _(sdk):
    for pod in sdk.pods(jobs["function"], 2):
        sdk.report(pod, phase="Succeeded")
    seen = []
    more = {"callbacks": [lambda job: seen.append(job.status)]} if sdk.version >= (0, 3) else {}
    found = sdk.client.wait_for_job_status(jobs["function"], timeout=300, polling_interval=1, **more)
    assert found.status == "Complete" and (not more or seen[-1] == "Complete"), (found, seen)
    status = sdk.get("TrainJob", jobs["function"])["status"]
    assert [item["type"] for item in status["conditions"]] == ["Complete"], status


@check("wait_for_job_status: a job that fails")
def _(sdk):
    name = jobs["fails"] = sdk.client.train(runtime=runtime(sdk, "sdk-once"), trainer=function(num_nodes=2))
    pods = sdk.pods(name, 2)
    sdk.report(pods[1], phase="Failed", containerStatuses=[{
        "name": "node", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
        "state": {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2026-01-01T00:00:01Z"}}}])
    refused(lambda: sdk.client.wait_for_job_status(name, timeout=300, polling_interval=1), "is Failed")
    assert sdk.client.wait_for_job_status(name, status={"Failed"}, timeout=300, polling_interval=1).name == name


# Only events with a firstTimestamp are shown, and none of Jobs; so all that matters is told
# on the TrainJob, with one.
@check("get_job_events has what happened to it", since=(0, 3))
def _(sdk):
    def all_events():
        found = sdk.client.get_job_events(jobs["fails"])
        mine = [item for item in found if item.involved_object_kind == "TrainJob"]
        assert {"JobSetCreated", "Failed"} <= {item.reason for item in mine}, found
        return found, mine
    found, mine = wait(30, all_events)
    assert all(isinstance(item.event_time, datetime.datetime) for item in found), found
    assert found == sorted(found, key=lambda item: item.event_time)
    failed = next(item for item in mine if item.reason == "Failed")
    assert failed.involved_object_name == jobs["fails"] and "exit code 3" in failed.message, failed
    assert any(item.reason == "Unschedulable" and "nodes are available" in item.message
               for item in sdk.client.get_job_events(jobs["plain"]))


# As it is called in a pod: where to report to, whom to trust and who it is are the pod's.
@check("update_trainjob_status reports progress", since=(0, 5))
def _(sdk):
    (pod,) = sdk.pods(jobs["plain"], 1)
    with tempfile.TemporaryDirectory() as folder:
        trust, token = os.path.join(folder, "ca.crt"), os.path.join(folder, "token")
        with open(trust, "w", encoding="utf-8") as file:
            file.write(sdk.get("ConfigMap", jobs["plain"] + "-tls-config")["data"]["ca.crt"])
        with open(token, "w", encoding="utf-8") as file:
            file.write(sdk.token(pod))
        env = environment(pod["spec"]["containers"][0])
        os.environ.update(KUBEFLOW_TRAINER_SERVER_URL=env["KUBEFLOW_TRAINER_SERVER_URL"],
                          KUBEFLOW_TRAINER_SERVER_CA_CERT=trust, KUBEFLOW_TRAINER_SERVER_TOKEN=token)
        with resolved(env["KUBEFLOW_TRAINER_SERVER_URL"], sdk.admin.url.hostname):
            assert kf.update_trainjob_status(40, 60, {"loss": 0.5, "step": 7})
            assert not kf.update_trainjob_status(41), "it should report every 5 seconds at most"
    status = sdk.get("TrainJob", jobs["plain"])["status"]["trainerStatus"]
    assert (status["progressPercentage"], status["estimatedRemainingSeconds"]) == (40, 60), status
    assert status["metrics"] == [{"name": "loss", "value": "0.5"}, {"name": "step", "value": "7"}], status


# Any condition keeps the SDK from saying Running, and a resumed job has one: `state` has it.
@check("a job that was suspended runs on; the state says what the SDK cannot")
def _(sdk):
    name = jobs["plain"]
    for suspend in (True, False):
        sdk.admin.request("PATCH", f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{sdk.namespace}/trainjobs/{name}",
                          {"spec": {"suspend": suspend}}, "application/merge-patch+json")
        if suspend:
            wait(30, lambda: sized(sdk.of_job("Pod", name), 0))
            assert sdk.client.get_job(name).status == "Created"
    (pod,) = sdk.pods(name, 1)
    sdk.report(pod, phase="Running", conditions=[{"type": "Ready", "status": "True"}])

    def runs():
        assert sdk.get("TrainJob", name)["status"]["state"] == "Running"
    wait(30, runs)
    assert [step.status for step in sdk.client.get_job(name).steps] == ["Running"]


@check("delete_job takes all that is its own")
def _(sdk):
    for name in jobs.values():
        sdk.client.delete_job(name)
        for kind in ("TrainJob", "JobSet", "Job", "Pod", "ConfigMap", "Service"):
            wait(60, lambda kind=kind, name=name: sized(sdk.of_job(kind, name), 0))
    refused(lambda: sdk.client.delete_job(jobs["plain"]), "not found")


if __name__ == "__main__":
    sys.exit(run(Sdk(sys.argv[1], os.environ["SDK_KUBECONFIG"], os.environ["KUBECONFIG"])) > 0)
