"""What TensorFlow does with TF_CONFIG before it trains, without TensorFlow: its wheel is 270 MB and its installation
more than a gigabyte, and all that a job service has to get right is this variable.

Every task of the cluster listens on its own address in TF_CONFIG and connects to all others; an evaluator, which is no
part of the cluster, connects only. Workers and the chief compute parts of a sum, parameter servers keep the total of
what they are sent. The program fails unless everyone gets the right sum.
"""

import json
import os
import socket
import sys
import threading
import time

TIMEOUT = 60


def check(what, ok):
    if not ok:
        print(f"wrong: {what}", file=sys.stderr)
        os._exit(1)


def number_of(kind, index):
    """What a task adds: another power of a hundred for each role, so that no mix-up gives the right sum."""
    return (index + 1) * 100 ** ["chief", "master", "ps", "worker"].index(kind)


def serve(listener, value, expected, done):
    """Answers everyone who asks with this task's number."""
    for _ in range(expected):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(f"{value}\n".encode())
    done.set()


def ask(address):
    host, port = address.rsplit(":", 1)
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=5) as connection:
                return int(connection.makefile().readline())
        except (OSError, ValueError):  # not there yet
            check(f"{address} does not answer", time.monotonic() < deadline)
            time.sleep(0.05)


def main():
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, kind, index = config["cluster"], config["task"]["type"], config["task"]["index"]
    evaluators = int(os.environ.get("EVALUATORS", "0"))
    tasks = [(k, i, address) for k, addresses in cluster.items() for i, address in enumerate(addresses)]
    check("an address is there twice", len({address for _, _, address in tasks}) == len(tasks))
    done = threading.Event()
    if kind == "evaluator":
        check("the evaluator is in the cluster", "evaluator" not in cluster)
        done.set()
    else:
        host, port = cluster[kind][index].rsplit(":", 1)
        listener = socket.create_server((host, int(port)))
        threading.Thread(target=serve, args=(listener, number_of(kind, index), len(tasks) + evaluators, done), daemon=True).start()
    total = sum(ask(address) for _, _, address in tasks)
    expected = sum(number_of(k, i) for k, i, _ in tasks)
    print(f"{kind} {index} of {len(tasks)} tasks: the sum is {total}, expected {expected}", flush=True)
    check("the sum", total == expected)
    check("not everyone has asked", done.wait(TIMEOUT))


if __name__ == "__main__":
    main()
