#!/bin/bash
# The controller is killed 8 times while 40 TrainJobs are created, suspended, resumed and deleted.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
scene kill
