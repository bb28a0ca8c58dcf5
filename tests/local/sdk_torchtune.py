"""sdk_torchtune.py KUBECONFIG full|lora ARGUMENT...: a BuiltinTrainer of the unmodified Kubeflow SDK on this machine's API.

Model and data set are the hub's; the arguments are added to those of the SDK, whose TorchTuneConfig has no field for a
model's shape. Prints the job's name and how it ended, then the log of its node.
"""
import sys

from kubeflow import trainer as kf
from kubeflow.trainer.backends.kubernetes import utils

_, config, method, *more = sys.argv
client = kf.TrainerClient(kf.KubernetesBackendConfig(config_file=config, namespace="default"))
initializer = kf.Initializer(dataset=kf.HuggingFaceDatasetInitializer("hf://tatsu-lab/alpaca/data"),
                             model=kf.HuggingFaceModelInitializer("hf://meta-llama/Llama-3.2-1B-Instruct", access_token="hf_token"))
tune = kf.TorchTuneConfig(
    dtype=kf.DataType.FP32, batch_size=2, epochs=1, num_nodes=1, resources_per_node={"cpu": 1},
    dataset_preprocess_config=kf.TorchTuneInstructDataset(source=kf.DataFormat.PARQUET),
    **({"peft_config": kf.LoraConfig(lora_rank=8)} if method == "lora" else {}))


def add(job, *_):
    args = utils.get_args_using_torchtune_config(tune, initializer) + more
    job.setdefault("spec", {}).setdefault("trainer", {})["args"] = args


name = client.train(runtime="torchtune-llama3.2-1b", initializer=initializer, trainer=kf.BuiltinTrainer(config=tune), options=[add])
job = client.wait_for_job_status(name, {"Complete", "Failed"}, timeout=1200, polling_interval=1)
print(name, job.status)
print(*client.get_job_logs(name, step="node-0"), sep="\n")
