#!/bin/bash
# 10,000 TrainJobs at once.
# shellcheck source=tests/soak/lib.sh
. "$(dirname "$0")/lib.sh"
soak many
