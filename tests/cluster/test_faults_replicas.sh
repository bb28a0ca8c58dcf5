#!/bin/bash
# Two replicas of the controller: one leads, and ends.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
scene replicas
