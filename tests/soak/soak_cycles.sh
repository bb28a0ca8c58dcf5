#!/bin/bash
# 10,000 TrainJobs of all kinds come and go: memory stays what it was.
# shellcheck source=tests/soak/lib.sh
. "$(dirname "$0")/lib.sh"
soak cycles
