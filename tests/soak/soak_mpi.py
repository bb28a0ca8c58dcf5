#!/usr/bin/env python3
"""MPI jobs of 72 hosts: more than Open MPI's and Intel MPI's mpirun start themselves."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/mpi"), os.path.join(ROOT, "tests")]
sys.dont_write_bytecode = True
import jobs
import rows
from pods import enter_network
from tap import finish, skip

# How many the launcher starts itself (MPICH: all of them), and variables for ranks that wait.
FAN_OUT = {
    "openmpi4": (64, {"OMPI_MCA_mpi_yield_when_idle": "1"}),
    "openmpi5": (64, {"OMPI_MCA_mpi_yield_when_idle": "1"}),
    "mpich4": (72, {}),
    "mpich5": (72, {}),
    "intel": (16, {}),
}

if os.geteuid() != 0:
    skip("nodes in network namespaces", "needs root")
    finish()
enter_network()
for i in jobs.implementations():
    for transport in ("worker", "ssh"):
        fan_out, env = FAN_OUT[i.name]
        rows.tree(i, transport, hosts=72, fan_out=fan_out, slots=1, env=env)
finish()
