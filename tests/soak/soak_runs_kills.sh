#!/usr/bin/env bash
# Run directories: supervisors are killed 50 times while they send checkpoints to S3, to a folder, and to a hub, with broken connections.
# before: tests/setup.sh store
KILLS=50 exec "$(dirname "$0")/../store/test_runs.py"
