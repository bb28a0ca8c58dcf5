#!/usr/bin/env bash
# preflight of two clean nodes 50 times: none of its checks fails; then each fault once.
CLEAN_RUNS=${CLEAN_RUNS:-50} exec "$(dirname "$0")/../gpu/test_nodes.py"
