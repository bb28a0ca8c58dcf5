#!/usr/bin/env bash
# Ranks of a supervised job of PyTorch are killed 20 times.
# before: tests/setup.sh stack
KILLS=20 exec "$(dirname "$0")/../local/test_stacks_supervise.sh"
