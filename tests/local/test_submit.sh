#!/bin/bash
# `submit` to an API server, as tests/cluster/test_submit.sh has it, unchanged, against `controller --local`.
# left_out names the checks that are not for this machine.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
KFT_ON_THIS_MACHINE=1 exec tests/cluster/test_submit.sh
