"""Gradient boosting by several XGBoost processes, each with its own part of the data.

Rank 0 starts the tracker beside its own work; all ranks, rank 0 too, join it. The program fails unless the sum over the
ranks is right, the error falls, the model is as good on data nobody trained on, and all ranks end with the same model.
"""

import hashlib
import os
import sys
import threading

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker

FEATURES, ROWS, ROUNDS = 8, 4000, 20


def start_tracker(world):
    tracker = RabitTracker(n_workers=world, host_ip=os.environ["DMLC_TRACKER_URI"], port=int(os.environ["DMLC_TRACKER_PORT"]), sortby="task")
    tracker.start()
    threading.Thread(target=tracker.wait_for, daemon=True).start()


def make_data(seed):
    x = np.random.default_rng(seed).uniform(-1, 1, (ROWS, FEATURES))
    return x, np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2]


def check(what, ok):
    if not ok:
        print(f"wrong: {what}", file=sys.stderr)
        sys.exit(1)


def train(rank, world):
    total = collective.allreduce(np.array([rank + 1.0]), collective.Op.SUM)[0]
    check(f"the sum over the ranks is {total}", total == world * (world + 1) / 2)
    errors = {}
    x, y = make_data(rank)
    booster = xgb.train(
        {"objective": "reg:squarederror", "max_depth": 5, "eta": 0.3, "nthread": 1},
        data := xgb.DMatrix(x, y),
        num_boost_round=ROUNDS,
        evals=[(data, "train")],
        evals_result=errors,
        verbose_eval=False,
    )
    rmse = errors["train"]["rmse"]  # over all ranks' rows
    x, y = make_data(10_000)
    unseen = float(np.sqrt(np.mean((booster.predict(xgb.DMatrix(x)) - y) ** 2)))
    digest = hashlib.sha256(bytes(booster.save_raw("json"))).hexdigest()
    print(f"rank {rank} of {world}: rmse {rmse[0]:.4f} -> {rmse[-1]:.4f}, {unseen:.4f} on unseen rows, model {digest[:12]}", flush=True)
    check("the error does not fall", rmse[-1] < rmse[0] / 3)
    check("the model is no good on unseen rows", unseen < 0.2)
    check("the ranks have different models", collective.broadcast(digest, 0) == digest)


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if rank == 0:
        start_tracker(world)
    with collective.CommunicatorContext(
        dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
        dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]),
        dmlc_task_id=os.environ["DMLC_TASK_ID"],
        dmlc_timeout=60,
        dmlc_retry=20,  # the tracker may be slower to start than the workers
    ):
        check("the group has another size", collective.get_world_size() == world)
        train(collective.get_rank(), world)


if __name__ == "__main__":
    main()
