#!/bin/bash
# Jobs of all releases of the SDK; tests/local/test_sdk.sh and tests/e2e/test_sdk.sh run those of two.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
export SDK_RELEASES="0.1.0 0.2.1 0.3.1 0.4.1 0.5.0"
tests/run.sh soak tests/local/test_sdk.sh tests/e2e/test_sdk.sh
