#!/bin/bash
# The unmodified Kubeflow SDK against `controller --local`, with real torch.
# shellcheck disable=SC1091,SC2154 # server.sh
. "$(dirname "$0")/server.sh"
sdk=$(tests/cluster/sdk.sh 2>"$scratch/sdk") || {
	check "the SDK is installed" eval 'cat "$scratch/sdk"; false'
	finish
}
up
for release in ${SDK_RELEASES:-0.1.0 0.2.1 0.3.1 0.4.1 0.5.0}; do
	SCRATCH=$scratch PYTHONDONTWRITEBYTECODE=1 "$sdk/$release/bin/python" tests/local/sdk_runs.py "$KUBECONFIG" ||
		failures=$((failures + 1))
	rm -f "$scratch/go-sdk"
done
check "the server is still the same process" kill -0 "$server"
finish
