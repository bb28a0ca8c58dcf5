#!/usr/bin/env python3
"""Local jobs divide the GPUs that were discovered: by UUID, MIG instances too, none twice."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from standin import NVML, PATIENCE, PROGRAMS, SCRATCH, environ, has, is_, libraries, mig, uuid
from tap import check, finish

RUNTIME = os.path.join(SCRATCH, "runtime.yaml")
with open(RUNTIME, "w", encoding="ascii") as f:
    f.write("""apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: once}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            backoffLimit: 0
            template: {spec: {restartPolicy: Never, containers: [{name: node, image: none}]}}
""")
SHOW = 'echo "devices=$CUDA_VISIBLE_DEVICES procs=$PET_NPROC_PER_NODE"'


def command(name, gpus, nodes, script):
    return [PROGRAMS[0], "submit", "--local", "-q", "--runtime-file", RUNTIME, "--runtime", "once", "--name", name,
            "--nodes", str(nodes), *(["--gpu", str(gpus)] if gpus else []), "--", "sh", "-c", script]


def submit(name, gpus, standin, nodes=1, script=SHOW, **more):
    r = subprocess.run(command(name, gpus, nodes, script), env=environ(standin, **more), capture_output=True,
                       text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, cwd=SCRATCH)
    return r.returncode, r.stdout, r.stderr


def devices(out):
    return [d for line in out.splitlines() for d in line.split("devices=")[1].split()[0].split(",") if d]


def two_jobs():
    """Both wait inside until the other has its devices, too."""
    script = SHOW + """; : >"$OLDPWD_/$TAG.$PET_NODE_RANK"; while [ "$(ls "$OLDPWD_" | wc -l)" -lt 4 ]; do sleep .05; done"""
    meet = os.path.join(SCRATCH, "meet")
    os.mkdir(meet)
    jobs = [subprocess.Popen(command(f"split{i}", 1, 2, script), env=environ("devices=4", OLDPWD_=meet, TAG=str(i)),
                             stdout=subprocess.PIPE, text=True, cwd=SCRATCH) for i in range(2)]
    got = [devices(job.communicate(timeout=PATIENCE)[0]) for job in jobs]
    is_("two jobs end", [job.returncode for job in jobs], [0, 0])
    is_("... and share no device of the four", sorted(got[0] + got[1]), [uuid(i) for i in range(4)])


code, out, err = submit("all", 4, "devices=4")
is_("a node has all of them, by UUID", (code, devices(out)), (0, [uuid(i) for i in range(4)]))
has("... and starts a process for each", out, "procs=4")
is_("MIG instances are devices of their own", devices(submit("mig", 3, "devices=2 mig=1:2")[1]),
    [uuid(0), mig(1, 0), mig(1, 1)])
is_("CUDA_VISIBLE_DEVICES picks among them",
    devices(submit("pick", 2, "devices=4", CUDA_VISIBLE_DEVICES="3," + uuid(1))[1]), [uuid(3), uuid(1)])
code, out, err = submit("stranger", 1, "devices=2", CUDA_VISIBLE_DEVICES="GPU-99999999")
is_("a UUID that is none's: refused", (code, out), (2, ""))
has("... with it", err, "GPU-99999999")
is_("a device that is broken is left out", devices(submit("left", 1, "devices=2 ecc=0:2")[1]), [uuid(1)])
code, out, err = submit("broken", 1, "devices=1 failed=0")
check("the only one is broken: refused", None if code == 2 and not out else (code, out))
has("... with what discovery says of it", err, uuid(0), "could not be remapped", "this machine has 0")
code, out, err = submit("hidden", 0, "devices=2 hang=nvmlInit_v2")
is_("a job without GPUs asks no driver, and sees none", (code, out), (0, "[node-0] devices= procs=1\n"))
code, out, err = submit("absent", 2, "devices=2", lib=libraries(NVML))
is_("without NVML the device files count", (code, devices(out)), (0, ["0", "1"]))
has("... and it says why", err, "cannot load " + NVML)
two_jobs()
shutil.rmtree(SCRATCH, ignore_errors=True)
finish()
