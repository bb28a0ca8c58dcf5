#!/bin/bash
# All unit tests as programs for 64-bit Arm, under qemu-user, but those that start jobs (docs/install.md).
exec make --no-print-directory cross ALL=1
