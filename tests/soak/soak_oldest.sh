#!/bin/bash
# What may depend on Kubernetes' version, with the oldest supported one (docs/support.md). `make check` has the newest.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
export KFT_KUBERNETES=oldest
tests/run.sh soak tests/cluster/test_{cluster,golden,apiserver,webhook,ends,gangs,queue,install,sdk}.sh tests/e2e/test_submit.sh
