#!/bin/bash
# Two gangs where one fits, 20 times with each scheduler.
export KFT_GANG_ROUNDS=${KFT_GANG_ROUNDS:-20}
tests/cluster/test_gangs.sh && exec tests/cluster/test_workload.sh
