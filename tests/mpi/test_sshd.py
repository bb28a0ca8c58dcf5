#!/usr/bin/env python3
"""mpirun of every implementation starts its ranks with mpi-launch, on nodes that run OpenSSH's sshd."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import rows
from jobs import Job, implementations
from pods import enter_network
from tap import finish, skip

if os.geteuid() != 0:
    skip("nodes in network namespaces", "needs root")
    finish()
enter_network()
rows.rows("ssh")
for i in implementations():
    rows.check_openssh(i)
    if not os.environ.get("SHORT"):
        rows.check_hang(i)
jobs = [[Job(i, transport) for i in implementations()] for transport in ("ssh", "openssh")]
rows.late(*jobs)
for job in sum(jobs, []):
    job.end()
finish()
