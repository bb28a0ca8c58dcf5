#!/bin/bash
# JAX and XGBoost, from PyPI in a venv of the tests' own, under `submit --local`.
. "$(dirname "$0")/lib.sh"
venv=$(tests/setup.sh venv)
export PATH=$venv/bin:$PATH

run "$kftrainer" submit --local examples/jax-line.yaml
ok "JAX, 2 processes: exits 0" exits 0
ok "JAX: both processes are up" printed 'process 1 of 2, 2 devices in all'
ok "JAX: they agree" printed 'processes agree: yes'

run "$kftrainer" submit --local examples/xgboost-trees.yaml
ok "XGBoost, 2 workers: exits 0" exits 0
ok "XGBoost: both workers are up" printed 'worker 1 of 2'
ok "XGBoost: one model, its error falls" printed 'error 0\.[0-9]+ -> 0\.[0-9]+, model'
finish
