#!/bin/bash
# The controller is killed 20 times while 200 TrainJobs are created, suspended, resumed and deleted.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
scene kill
