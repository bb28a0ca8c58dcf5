#!/usr/bin/env python3
"""A command that would train wrongly gets one warning; those of documents, examples and upstream get none."""
import glob
import os
import re
import shlex
import subprocess
import tempfile

from examples import PROGRAM, ROOT
from pages import PAGES, blocks, read
from tap import check, finish

WARNING = "warning: spec.trainer.command: "
GOLDEN = f"{ROOT}/build/san/tests/golden/golden"
ACCELERATE = "from accelerate import Accelerator\nAccelerator()\n"

# What the Python SDK writes for train functions, by the framework of the runtime.
SDK = """
read -r -d '' SCRIPT << EOM

import torch.distributed as dist
dist.init_process_group()

EOM
printf "%%s" "$SCRIPT" > "x.py"
%s "x.py"
"""
RIGHT = [
    ("torch-distributed", ["bash", "-c", SDK % "torchrun"]),
    ("jax-distributed", ["bash", "-c", SDK % "python"]),
    ("deepspeed-distributed", ["mpirun", "--hostfile", "/etc/mpi/hostfile", "bash", "-c", SDK % "python"]),
    ("mlx-distributed", ["mpirun", "--hostfile", "/etc/mpi/hostfile", "-x", "PYTHONPATH", "python", "mnist.py"]),
    ("torch-distributed", ["torchrun", "/workspace/examples/mnist/mnist.py", "--epochs=1"]),
]


def warnings(*args, cwd=None):
    done = subprocess.run([PROGRAM, "submit", "--dry-run=client", *args], cwd=cwd, check=False,
                          capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if WARNING in line]


def of_pages():
    """(place, runtime, command) of each `submit` and `render` with a command."""
    for page in PAGES + ["kftrainer.1"]:
        text = read(page).replace("\\e\n", " ").replace("\\\n", " ")
        for line in re.findall(r"kftrainer (?:submit|runtime render) .*? -- .*", text):
            words = shlex.split(re.sub(r"[`#].*", "", line))
            at = words.index("--")
            runtime = [words[i + 1] for i in range(at) if words[i] == "--runtime"]
            launcher = [x for i in range(at) if words[i] == "--launcher" for x in words[i:i + 2]]
            if not any(word.endswith(".py") for word in words[:at]):
                yield page, (runtime or ["torch-distributed"])[0], launcher, words[at:]


def silent():
    found, n = [], 0
    for page, runtime, launcher, command in of_pages():
        n += 1
        found += [f"{page}: {w}" for w in warnings("--runtime", runtime, "--nodes", "2", *launcher, *command)]
    for page in PAGES:
        for kind, text in blocks(read(page)):
            for doc in re.findall(r"^apiVersion: trainer.*?(?=^END|\Z)", text, re.M | re.S):
                with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                    file.write(doc)
                    file.flush()
                    n += 1
                    found += [f"{page}: {w}" for w in warnings(file.name)]
    return found, n


def of_examples():
    files = glob.glob(f"{ROOT}/examples/*.yaml")
    return [f"{file}: {w}" for file in files for w in warnings(file)], len(files)


def of_golden():
    found, n = [], 0
    for case in sorted(glob.glob(f"{ROOT}/tests/golden/*/*/case.yaml")):
        with tempfile.TemporaryDirectory() as folder:
            if subprocess.run([GOLDEN, "--export", os.path.dirname(case), folder], check=False,
                              capture_output=True).returncode:
                continue
            n += 1
            # torchtune's cases of upstream train with the data set of torchtune's configuration
            found += [f"{case}: {w}" for w in warnings("-n", "golden-namespace", "--runtime-file", f"{folder}/runtimes.json",
                                                       f"{folder}/job.json")
                      if "tune run trains" not in w]
    return found, n


def of_sdk():
    return [f"{runtime} {command}: {w}" for runtime, command in RIGHT
            for w in warnings("--runtime", runtime, "--nodes", "2", "--name", "x", "--", *command)], len(RIGHT)


def report(name, result, least):
    found, n = result
    check(f"{name}: commands get no warning", found if n >= least else f"only {n} found")


def main():
    report("pages and manual", silent(), 10)
    report("examples", of_examples(), 5)
    report("golden cases", of_golden(), 60)
    report("the SDK", of_sdk(), 5)
    got = warnings("--runtime", "torch-distributed", "--nodes", "2", "--", "accelerate", "launch", "a.py")
    check("accelerate launch on two nodes: one line, with the right command",
          None if len(got) == 1 and "--launcher accelerate" in got[0] else got or "nothing")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("train.py", ACCELERATE), ("alone.py", "print(1)\n")):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        here = ["--workspace", ".", "--runtime", "torch-distributed", "--nodes", "2", "--name", "x", "--", "python3"]
        got = warnings(*here, "train.py", cwd=folder)
        check("python3 of a script in the workspace that joins others",
              None if len(got) == 1 and "torchrun SCRIPT" in got[0] else got or "nothing")
        check("python3 of one that does not", warnings(*here, "alone.py", cwd=folder))
        check("--launcher is right", warnings(*here[:-2], "--launcher", "accelerate", *here[-2:], "train.py",
                                              cwd=folder))
    finish()


main()
