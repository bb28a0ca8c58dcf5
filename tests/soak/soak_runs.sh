#!/usr/bin/env bash
# Run directories: ranks of Hugging Face's Trainer, FSDP2 and Lightning are killed 10 times each, and supervisors 50 times while
# they send checkpoints.
# before: tests/setup.sh stack && tests/setup.sh store
cd "$(dirname "$0")/.." || exit
TAP_PREFIX='supervisors: ' KILLS=50 store/test_runs.py | sed '/^1\.\./d'
STACKS='hf fsdp2 lightning' KILLS=10 exec local/test_stacks_runs.sh
