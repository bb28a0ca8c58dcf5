#!/bin/bash
# JAX and XGBoost, from PyPI in a venv of the tests' own, under `submit --local`.
. "$(dirname "$0")/lib.sh"
venv=$(tests/setup.sh venv)
export PATH=$venv/bin:$PATH

run "$kftrainer" submit --local examples/jax-line.yaml
ok "JAX, 2 processes: exits 0" exits 0
ok "JAX: both processes are up" printed 'process 1 of 2, 2 devices in all'
ok "JAX: they agree" printed 'processes agree: yes'

# gRPC would connect by the proxy, which does not answer, and wait.
export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 no_proxy=example.com
run timeout 120 "$kftrainer" submit --local examples/jax-line.yaml
ok "JAX, where the caller has a proxy: exits 0" exits 0
ok "JAX, where the caller has a proxy: they agree" printed 'processes agree: yes'
unset http_proxy https_proxy no_proxy

run "$kftrainer" submit --local examples/xgboost-trees.yaml
ok "XGBoost, 2 workers: exits 0" exits 0
ok "XGBoost: both workers are up" printed 'worker 1 of 2'
ok "XGBoost: one model, its error falls" printed 'error 0\.[0-9]+ -> 0\.[0-9]+, model'
finish
