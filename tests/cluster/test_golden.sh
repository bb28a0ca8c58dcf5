#!/bin/bash
# What upstream's controller stored, ours stores: tests/golden/upstream against a real API server.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
install_flags="--upstream-images --strict-rbac" # the recordings have the images
cluster_up
check "the controller starts" controller_up
pid=$(controller_pid 2>/dev/null)
# What the cases leave ends with the cluster: to delete 68 namespaces costs more than to compare what is in them.
keep=--keep
[ -z "${KFT_CLUSTER:-}" ] || keep=
in_cluster tests/cluster/golden.py $keep
check "it is still the same process" test -e "/proc/$pid"
finish
