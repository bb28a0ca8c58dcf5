#!/bin/bash
# torchtune by the SDK with all that tests/local/test_torchtune.sh leaves out: LoRA.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
TORCHTUNE_ALL=1 exec tests/local/test_torchtune.sh
