#!/bin/bash
# The controller starts where many TrainJobs are: a new one does not wait for them.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
scene start
