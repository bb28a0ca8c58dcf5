#!/bin/bash
# Jobs with initializers on this machine: what they download is there when the nodes start.
. "$(dirname "$0")/../store/lib.sh"
head -c 3000000 /dev/urandom >"$web/data.bin"
echo '{"layers": 2}' >"$web/config.json"
echo no >"$web/model.bin"
echo yes >"$web/model.safetensors"
printf 'config.json\nmodel.bin\nmodel.safetensors\n' >"$web/model.urls"
serve url --root "$web"
break_it

# a runtime with upstream's two images, and a job of it whose node looks at the files
job_of() { # DATASET-URI MODEL-URI
	cat <<END
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: with-data
spec:
  mlPolicy:
    numNodes: 1
    torch: {}
  template:
    spec:
      replicatedJobs:
END
	for step in dataset model; do
		cat <<END
      - name: $step-initializer
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: $step-initializer
          spec:
            template:
              spec:
                containers:
                - name: $step-initializer
                  image: ghcr.io/kubeflow/trainer/$step-initializer:latest
                  volumeMounts:
                  - {name: initializer, mountPath: /workspace}
                volumes:
                - name: initializer
                  persistentVolumeClaim: {claimName: data}
END
	done
	cat <<END
      - name: node
        dependsOn:
        - {name: dataset-initializer, status: Complete}
        - {name: model-initializer, status: Complete}
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: none
                  command: [sh, -c, 'cksum </workspace/dataset/data.bin; ls /workspace/model']
                  volumeMounts:
                  - {name: initializer, mountPath: /workspace}
                volumes:
                - name: initializer
                  persistentVolumeClaim: {claimName: data}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: loads
spec:
  runtimeRef: {kind: TrainingRuntime, name: with-data}
  initializer:
    dataset: {storageUri: "$1"}
    model: {storageUri: "$2"}
END
}

# the volume comes from the runtime's claim template, as in the built-in torchtune runtimes
claims() {
	job_of "$url/data.bin" "$url/model.urls" | python3 -c '
import sys, yaml
runtime, job = yaml.safe_load_all(sys.stdin)
spec = runtime["spec"]["template"]["spec"]
for rjob in spec["replicatedJobs"]:
    del rjob["template"]["spec"]["template"]["spec"]["volumes"]
spec["volumeClaimPolicies"] = [{"templates": [{"metadata": {"name": "initializer"}, "spec": {
    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}]
print(yaml.safe_dump_all([runtime, job]))' >"$scratch/job.yaml"
	run submit --local "$scratch/job.yaml"
	[ "$status" = 0 ] && grep -q "$(cksum <"$web/data.bin")" "$scratch/out" || dump
}
downloads() {
	job_of "$1" "$2" >"$scratch/job.yaml"
	run submit --local "$scratch/job.yaml"
	[ "$status" = 0 ] && grep -q "$(cksum <"$web/data.bin")" "$scratch/out" &&
		grep -q 'node-0.*config.json' "$scratch/out" && ! grep -q 'node-0.*model\.bin' "$scratch/out" || dump
}
check "over http: files are there when the node starts, the model's ignored ones not" \
	downloads "$url/data.bin" "$url/model.urls"
check "from a folder of this machine" downloads "file://$web/data.bin" "file://$web/config.json"
check "in a volume of the runtime's claim template" claims
fails() {
	job_of "$url/nothere" "$url/model.urls" >"$scratch/job.yaml"
	run submit --local "$scratch/job.yaml"
	[ "$status" = 1 ] && cat "$scratch/out" "$scratch/err" | grep -q 'nothere: HTTP 404' || dump
}
check "one that fails fails the job, and says why" fails
finish
