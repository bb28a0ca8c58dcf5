#!/usr/bin/env python3
"""mpirun of every implementation starts its ranks with mpi-launch, on nodes that run OpenSSH's sshd."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import rows
from pods import enter_network
from tap import finish, skip

if os.geteuid() != 0:
    skip("nodes in network namespaces", "needs root")
    finish()
enter_network()
rows.rows("ssh")
finish()
