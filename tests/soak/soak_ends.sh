#!/bin/bash
# tests/cluster/test_ends.sh with 1,000 jobs that end, and go, at once.
export FAULTS_JOBS=${FAULTS_JOBS:-1000} FAULTS_TTL=${FAULTS_TTL:-60}
exec tests/cluster/test_ends.sh
