"""kill -9 of trainerd at random points under load: nothing answered is lost, nothing runs twice, no transition is
repeated or missing. A client's ledger is compared with the journal and with what really ran."""

import collections
import os
import random
import sqlite3
import threading
import time

import grpc
import pytest

from daemon import TERMINAL, spec
from trainer.v1 import job_pb2, runtime_pb2, service_pb2, watch_pb2

ROUNDS = int(os.environ.get("TRAINERD_CRASH_ROUNDS", "50"))
SUBMITTERS = 3
# About as many jobs are submitted as 16 slots can run meanwhile; on a fast machine the queue would else outlast the test.
PAUSE_MAX = 0.08
RETRY = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}


class Submitter(threading.Thread):
    """Submits one job after the other; a call that was not answered is sent again with the same request_id."""

    def __init__(self, load, number):
        super().__init__(daemon=True)
        self.load, self.number = load, number
        self.ledger = {}  # request_id -> uid, written only when the server has answered
        self.unanswered = None
        self.canceled = set()
        self.random = random.Random(load.seed * 100 + number)
        self.problem = None

    def job(self, request_id):
        # Leaves one line for each time that it is really run, then perhaps lives a little.
        nap = self.random.choice(["0", "0", "0.05", "0.3", "1.2"])
        return spec(f"echo {request_id} >> {self.load.ran}; sleep {nap}", name_prefix="crash", labels={"load": "crash"})

    def run(self):
        n = 0
        while not self.load.stop.is_set():
            request_id = f"s{self.number}-{n}"
            s = self.job(request_id)
            n += 1
            while True:
                try:
                    answer = self.load.stub.Submit(service_pb2.SubmitRequest(spec=s, request_id=request_id), timeout=5, wait_for_ready=True)
                    break
                except grpc.RpcError as e:
                    if e.code() not in RETRY:
                        self.problem = e
                        return
                    if self.load.stop.is_set():
                        self.unanswered = request_id  # may or may not be there: both are right
                        return
                    time.sleep(0.02)
            self.ledger[request_id] = answer.job.uid
            if self.random.random() < 0.1:
                self.cancel(answer.job.uid)
            time.sleep(self.random.uniform(0, PAUSE_MAX))

    def cancel(self, uid):
        self.canceled.add(uid)  # also when no answer comes: it may have been heard
        try:
            self.load.stub.Cancel(service_pb2.CancelRequest(job=job_pb2.JobRef(uid=uid)), timeout=5)
        except grpc.RpcError as e:
            if e.code() not in RETRY:
                self.problem = e


class Watcher(threading.Thread):
    """Watches everything and comes back with its last token after each crash."""

    def __init__(self, load):
        super().__init__(daemon=True)
        self.load = load
        self.token = ""
        self.seen = []  # (sequence, uid, job_sequence, from, to)
        self.problem = None

    def run(self):
        while not self.load.watch_stop.is_set():
            request = watch_pb2.WatchRequest(resume_token=self.token, skip_snapshot=True)
            try:
                for m in self.load.stub.Watch(request, wait_for_ready=True):
                    if m.WhichOneof("message") == "transition":
                        t = m.transition
                        self.seen.append((t.sequence, t.uid, t.job_sequence, t.to))
                    self.token = m.resume_token
                    if self.load.watch_stop.is_set():
                        return
            except grpc.RpcError as e:
                if e.code() not in RETRY:
                    self.problem = e
                    return
                time.sleep(0.02)


class Load:
    def __init__(self, daemon, tmp_path, seed):
        self.daemon, self.seed = daemon, seed
        self.ran = tmp_path / "ran"
        self.ran.touch()
        self.stop, self.watch_stop = threading.Event(), threading.Event()
        # Reconnects at once: the point is what the server does, not how long a client backs off.
        options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1)]
        self.stub = daemon.stub(options=options)
        self.submitters = [Submitter(self, i) for i in range(SUBMITTERS)]
        self.watcher = Watcher(self)


def all_jobs(stub):
    jobs, token = [], ""
    while True:
        page = stub.List(service_pb2.ListRequest(page_size=500, page_token=token), timeout=60, wait_for_ready=True)
        jobs += page.jobs
        token = page.next_page_token
        if not token:
            return jobs


def wait_until_over(stub, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        jobs = all_jobs(stub)
        if all(j.status.state in TERMINAL for j in jobs):
            return jobs
        time.sleep(0.2)
    pytest.fail("jobs do not end: " + str([j.name for j in jobs if j.status.state not in TERMINAL][:10]))


def wait_for_sequence(load, newest, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and (not load.watcher.seen or load.watcher.seen[-1][0] < newest):
        time.sleep(0.05)


@pytest.mark.timeout(1500)
def test_kill_at_random_points(make_daemon, tmp_path):
    seed = int(os.environ.get("TRAINERD_CRASH_SEED", random.randrange(1 << 30)))
    print("seed", seed)
    chance = random.Random(seed)
    d = make_daemon(config="local: {cpu: 16}\nlisten: none\n")
    load = Load(d, tmp_path, seed)
    for thread in [load.watcher, *load.submitters]:
        thread.start()
    for _ in range(ROUNDS):
        time.sleep(chance.uniform(0.02, 0.35))
        d.kill()
        d.start()
    load.stop.set()
    for s in load.submitters:
        s.join(30)
        assert s.problem is None, s.problem
    jobs = wait_until_over(load.stub)
    newest = load.stub.GetServerInfo(runtime_pb2.GetServerInfoRequest(), wait_for_ready=True).newest_sequence
    wait_for_sequence(load, newest)
    load.watch_stop.set()
    assert load.watcher.problem is None, load.watcher.problem

    # Nothing answered is lost, nothing is there twice.
    by_request = collections.defaultdict(list)
    for j in jobs:
        by_request[j.request_id].append(j)
    ledger = {k: v for s in load.submitters for k, v in s.ledger.items()}
    unanswered = {s.unanswered for s in load.submitters if s.unanswered}
    assert len(ledger) > ROUNDS, "the load was no load"
    assert [k for k, v in by_request.items() if len(v) != 1] == []
    assert {k: by_request[k][0].uid for k in ledger if k in by_request} == ledger
    assert set(by_request) - set(ledger) <= unanswered

    # What really ran: exactly once, or not at all for a job that was canceled before it started.
    ran = collections.Counter(load.ran.read_text().split())
    canceled = {u for s in load.submitters for u in s.canceled}
    for request_id, (job,) in by_request.items():
        if job.status.state == job_pb2.Job.SUCCEEDED:
            assert ran[request_id] == 1, (request_id, ran[request_id])
        else:
            assert job.status.state == job_pb2.Job.CANCELED and job.uid in canceled, (request_id, job.status)
            assert ran[request_id] <= 1
    assert set(ran) <= set(by_request)

    # The watcher's record: in order, no repeats, no gaps within a job, and the same as the journal.
    seen = load.watcher.seen
    assert [s[0] for s in seen] == sorted({s[0] for s in seen})
    steps = collections.defaultdict(list)
    for _, uid, step, _ in seen:
        steps[uid].append(step)
    assert [u for u, s in steps.items() if s != list(range(1, len(s) + 1))] == []
    assert set(steps) == {j.uid for j in jobs}
    d.stop()
    with sqlite3.connect(f"file:{d.state_dir}/journal.db?mode=ro", uri=True) as db:
        journal = db.execute("select sequence, uid, job_sequence, state from transitions order by sequence").fetchall()
    assert seen == journal
    print(f"{ROUNDS} rounds, {len(jobs)} jobs, {len(seen)} transitions, {len(canceled)} cancels")
