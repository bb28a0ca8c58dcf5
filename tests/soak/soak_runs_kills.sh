#!/usr/bin/env bash
# Run directories: supervisors are killed 50 times while they send checkpoints.
# before: tests/setup.sh store
KILLS=50 exec "$(dirname "$0")/../store/test_runs.py"
