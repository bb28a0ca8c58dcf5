"""Fit a line with gradients averaged over the JAX processes of a TrainJob.

The JAX policy sets JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and
JAX_PROCESS_ID. Exits with an error if the results of the processes differ.
"""
import os
import sys

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    os.environ["JAX_COORDINATOR_ADDRESS"],
    int(os.environ["JAX_NUM_PROCESSES"]),
    int(os.environ["JAX_PROCESS_ID"]),
)
rank, world = jax.process_index(), jax.process_count()
print(f"process {rank} of {world}, {jax.device_count()} devices in all", flush=True)

x = jnp.linspace(-1.0, 1.0, 64)[rank::world]
y = 3.0 * x - 2.0


@jax.jit
def loss_and_grad(w):
    return jax.value_and_grad(lambda v: jnp.mean((v[0] * x + v[1] - y) ** 2))(w)


w = jnp.zeros(2)
losses = []
for step in range(60):
    loss, grad = loss_and_grad(w)
    everywhere = multihost_utils.process_allgather(jnp.append(grad, loss))
    mean = everywhere.mean(axis=0)
    w = w - 0.4 * mean[:2]
    losses.append(float(mean[2]))

weights = multihost_utils.process_allgather(w)
agree = bool((weights == weights[0]).all())
if rank == 0:
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.6f}")
    print(f"y = {w[0]:.3f} x + {w[1]:.3f}; processes agree: {'yes' if agree else 'NO'}", flush=True)
jax.distributed.shutdown()
if not agree or losses[-1] > 0.01 * losses[0]:
    sys.exit(f"process {rank}: wanted agreement and a falling loss")
