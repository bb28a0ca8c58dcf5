#!/bin/bash
# Jobs of all releases of the SDK; tests/local/test_sdk.sh runs those of two.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
SDK_RELEASES="0.1.0 0.2.1 0.3.1 0.4.1 0.5.0" exec tests/local/test_sdk.sh
