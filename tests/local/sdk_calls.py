"""sdk_calls.py KUBECONFIG: tests/cluster/sdk/calls.py, every call of a release, on this machine's API, less
what LEFT_OUT names. TAP."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster", "sdk"))
from harness import Sdk, run  # noqa: E402
import calls  # noqa: E402, F401  # its checks

REPORTED = "it reports in place of a kubelet; pods run here, and sdk_runs.py has the same with them"
LEFT_OUT = {
    "train with the data cache": "its Service is of a kind that this API does not serve",
    "get_job has the steps and their devices": "this machine may have no GPU; sdk_runs.py has steps",
    "wait_for_job_status: it is Running when all nodes are": REPORTED,
    "wait_for_job_status: it is Complete, and callbacks are called": REPORTED,
    "wait_for_job_status: a job that fails": REPORTED,
    "get_job_events has what happened to it": REPORTED,
    "update_trainjob_status reports progress": REPORTED,
    "a job that was suspended runs on; the state says what the SDK cannot": REPORTED,
}

if __name__ == "__main__":
    sys.exit(run(Sdk("default", sys.argv[1], sys.argv[1]), LEFT_OUT) != 0)
