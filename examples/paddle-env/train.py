"""What paddle.distributed.init_parallel_env does with PADDLE_* before it trains, without Paddle: trainers meet at their
endpoints and average a gradient, step by step.

Trainer 0 keeps the account: the others send it their gradient and get the mean back. The program fails unless all
trainers fit the same line, and the right one.
"""

import os
import random
import socket
import sys
import time

STEPS, RATE, ROWS, TIMEOUT = 200, 0.3, 200, 60
SLOPE, OFFSET = 2.0, -1.0


def check(what, ok):
    if not ok:
        print(f"wrong: {what}", file=sys.stderr)
        sys.exit(1)


class Group:
    """A connection from every other trainer to trainer 0."""

    def __init__(self, rank, endpoints):
        self.files = []
        host, port = endpoints[0].rsplit(":", 1)
        if rank == 0:
            server = socket.create_server((host, int(port)))
            server.settimeout(TIMEOUT)
            for _ in endpoints[1:]:
                self.files.append(server.accept()[0].makefile("rw"))
        else:
            self.files.append(self.connect(host, int(port)).makefile("rw"))
        self.rank = rank

    @staticmethod
    def connect(host, port):
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return socket.create_connection((host, port), timeout=TIMEOUT)
            except OSError:
                check(f"{host}:{port} does not answer", time.monotonic() < deadline)
                time.sleep(0.05)

    def send(self, file, values):
        print(*map(repr, values), file=file, flush=True)

    def receive(self, file):
        return [float(v) for v in file.readline().split()]

    def mean(self, values):
        if self.rank != 0:
            self.send(self.files[0], values)
            return self.receive(self.files[0])
        parts = [values] + [self.receive(f) for f in self.files]
        result = [sum(column) / len(parts) for column in zip(*parts)]
        for f in self.files:
            self.send(f, result)
        return result


def main():
    rank, world = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
    endpoints = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")
    check("the number of endpoints", len(set(endpoints)) == world == int(os.environ["PADDLE_NNODES"]))
    check("its own endpoint", endpoints[rank] == os.environ["PADDLE_CURRENT_ENDPOINT"])
    check("the job's id and master", os.environ["PADDLE_JOB_ID"] and ":" in os.environ["PADDLE_MASTER"])
    group = Group(rank, endpoints)
    check("not all ranks are here", group.mean([float(rank)]) == [(world - 1) / 2])

    own = random.Random(rank)
    data = [(x, SLOPE * x + OFFSET) for x in (own.uniform(-1, 1) for _ in range(ROWS))]
    a = b = 0.0
    for _ in range(STEPS):
        gradient = [sum(2 * (a * x + b - y) * x for x, y in data) / ROWS, sum(2 * (a * x + b - y) for x, y in data) / ROWS]
        ga, gb = group.mean(gradient)
        a, b = a - RATE * ga, b - RATE * gb
    print(f"trainer {rank} of {world}: y = {a:.6f} x + {b:.6f}", flush=True)
    check("the line", abs(a - SLOPE) < 1e-6 and abs(b - OFFSET) < 1e-6)
    mean = group.mean([a, b])
    check("the trainers differ", abs(mean[0] - a) < 1e-12 and abs(mean[1] - b) < 1e-12)


if __name__ == "__main__":
    main()
