#!/bin/bash
# get, wait, suspend, resume, events and delete as tests/cluster/test_verbs.sh has them, unchanged, against
# `controller --local`. left_out names the checks that are not for this machine.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
KFT_ON_THIS_MACHINE=1 exec tests/cluster/test_verbs.sh
