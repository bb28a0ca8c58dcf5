#!/bin/bash
# tests/bench/nodes.sh: figures of supervised jobs in pods on two real nodes.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
venv=$(tests/setup.sh venv stack)
e2e_up
k apply -f - >/dev/null <<END
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: stack, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template: {spec: {failurePolicy: {maxRestarts: 1}, replicatedJobs: [{name: node, template: {
    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
    spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 2,
      volumes: [{name: stack, hostPath: {path: "/opt/cache/${venv##*/}", type: Directory}}],
      containers: [{name: node, image: $image, volumeMounts: [{name: stack, mountPath: "$venv", readOnly: true}],
        env: [{name: PATH, value: "$venv/bin:/usr/bin:/bin"}, {name: OMP_NUM_THREADS, value: '1'},
          {name: ATTEMPT, valueFrom: {fieldRef: {fieldPath: "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"}}}]}]}}}}}]}}
END
in_cluster env "STACK=$venv" tests/bench/nodes_bench.py "$kftrainer" "$ns"
