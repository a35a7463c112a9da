"""A sum over all processes, computed by JAX: each holds its own part of one array that is spread over all of them.

The program fails unless every process sees the whole group and gets the right sum and the right gradient.
"""

import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROWS = 1000  # of each process


def check(what, ok):
    if not ok:
        print(f"wrong: {what}", file=sys.stderr)
        sys.exit(1)


def main():
    rank, world = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # The coordinator's address JAX reads by itself, from JAX_COORDINATOR_ADDRESS.
    jax.distributed.initialize(num_processes=world, process_id=rank)
    check(f"{jax.process_count()} processes", jax.process_count() == world)
    check(f"{jax.device_count()} devices", jax.device_count() == world * jax.local_device_count())

    mesh = Mesh(np.array(jax.devices()), ("all",))
    spread = NamedSharding(mesh, PartitionSpec("all"))
    own = np.arange(rank * ROWS, (rank + 1) * ROWS, dtype=np.float32) / ROWS
    x = jax.make_array_from_process_local_data(spread, own)

    rows = world * ROWS
    total = float(jax.jit(jnp.sum)(x))
    expected = (rows - 1) * rows / 2 / ROWS
    # d/dw of mean((w x)^2) at w = 1 is 2 mean(x^2).
    gradient = float(jax.jit(jax.grad(lambda w, v: jnp.mean((w * v) ** 2)))(1.0, x))
    wanted = 2 * float(np.mean((np.arange(rows) / ROWS) ** 2))
    print(f"process {rank} of {world}: sum {total:.3f} (expected {expected:.3f}), gradient {gradient:.5f} (expected {wanted:.5f})", flush=True)
    check("the sum", abs(total - expected) < 1e-3 * expected)
    check("the gradient", abs(gradient - wanted) < 1e-3 * wanted)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
