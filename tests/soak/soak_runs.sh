#!/usr/bin/env bash
# Run directories: ranks of Hugging Face's Trainer, FSDP2 and Lightning are killed 10 times each.
# before: tests/setup.sh stack
STACKS='hf fsdp2 lightning' KILLS=10 exec "$(dirname "$0")/../local/test_stacks_runs.sh"
