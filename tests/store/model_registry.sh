#!/bin/sh
# tests/store/model_registry.sh: Kubeflow's model registry; prints where the program is.
exec "$(dirname "$0")/program.sh" model-registry github.com/kubeflow/model-registry
