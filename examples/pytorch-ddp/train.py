"""A small model, trained for real by several processes with DistributedDataParallel over gloo.

Every rank makes its own part of the data from a seed, so nothing is downloaded. Rank 0 prints the loss of each epoch.
The program fails unless the loss falls and all ranks end with the same parameters.
"""

import argparse
import gc
import hashlib
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FEATURES = 16


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=2048, help="per rank")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.05)
    return parser.parse_args()


def make_data(rank, samples):
    """Points and the value of a function that is the same for every rank."""
    shared = torch.Generator().manual_seed(1)
    weights = torch.randn(FEATURES, generator=shared)
    own = torch.Generator().manual_seed(1000 + rank)
    x = torch.randn(samples, FEATURES, generator=own)
    y = torch.tanh(x @ weights / FEATURES**0.5).unsqueeze(1)
    return x, y


def mean_over_ranks(value, world):
    total = torch.tensor([value])
    dist.all_reduce(total)
    return total.item() / world


def train(model, x, y, arguments, rank, world):
    """The mean loss of each epoch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.9)
    loss_of = nn.MSELoss()
    losses = []
    for epoch in range(1, arguments.epochs + 1):
        start = time.monotonic()
        total = 0.0
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        batches = order.split(arguments.batch)
        for batch in batches:
            optimizer.zero_grad()
            loss = loss_of(model(x[batch]), y[batch])
            loss.backward()  # the gradients are averaged over all ranks here
            optimizer.step()
            total += loss.item()
        losses.append(mean_over_ranks(total / len(batches), world))
        if rank == 0:
            print(f"epoch {epoch}/{arguments.epochs}  loss {losses[-1]:.4f}  {time.monotonic() - start:.1f}s", flush=True)
    return losses


def fingerprint(model):
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()[:16]


def main():
    arguments = parse_arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")  # MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE come from trainerd
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world}, pid {os.getpid()}, torch {torch.__version__}", flush=True)

    torch.manual_seed(rank)  # on purpose: DistributedDataParallel has to make the ranks equal
    model = DistributedDataParallel(nn.Sequential(nn.Linear(FEATURES, 32), nn.Tanh(), nn.Linear(32, 1)))
    losses = train(model, *make_data(rank, arguments.samples), arguments, rank, world)

    prints = [None] * world
    dist.all_gather_object(prints, fingerprint(model))
    # The model goes first. If it were the last to hold the process group, its destructor would wait for gloo's threads
    # with the interpreter's lock held, and one of them may wait for that lock.
    del model
    gc.collect()
    dist.destroy_process_group()

    if len(set(prints)) != 1:
        sys.exit(f"rank {rank}: the ranks have different parameters: {prints}")
    if not losses[-1] < losses[0] / 2:
        sys.exit(f"rank {rank}: the loss did not fall: {losses[0]:.4f} -> {losses[-1]:.4f}")
    if rank == 0:
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; {world} ranks agree on the parameters ({prints[0]})", flush=True)


if __name__ == "__main__":
    main()
