#!/bin/bash
# The webhooks' certificate ends, and is replaced while they answer.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
scene certificate
