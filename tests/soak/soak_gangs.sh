#!/bin/bash
# Two gangs where one fits, 20 times with each scheduler.
KFT_GANG_ROUNDS=${KFT_GANG_ROUNDS:-20} exec tests/cluster/test_gangs.sh
