"""Load on a daemon that is built with the thread sanitizer: submitters, watchers, log followers, cancels, lists, a restart."""

import threading
import time

import grpc
import pytest

from daemon import TERMINAL, ref, spec
from trainer.v1 import logs_pb2, service_pb2, watch_pb2

SECONDS = 25
RETRY = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}


@pytest.mark.timeout(300)
def test_load(make_daemon):
    d = make_daemon(config="local: {cpu: 16}\nlisten: none\nlimits: {feed_events: 256}\n")
    stub = d.stub(options=[("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1)])
    stop = threading.Event()
    problems, submitted = [], []

    def guarded(body):
        def run():
            while not stop.is_set():
                try:
                    body()
                except grpc.RpcError as e:
                    if e.code() not in RETRY | {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION}:
                        problems.append(e)
                        return
                    time.sleep(0.02)

        return threading.Thread(target=run, daemon=True)

    def submit():
        job = stub.Submit(service_pb2.SubmitRequest(spec=spec("echo a; sleep 0.05; echo b", group="load")), timeout=20).job
        submitted.append(job)
        if len(submitted) % 7 == 0:
            stub.Cancel(service_pb2.CancelRequest(job=ref(job)), timeout=20)
        if len(submitted) % 11 == 0:
            stub.Delete(service_pb2.DeleteRequest(job=ref(submitted[-5]), force=True), timeout=60)

    def watch():
        for _ in zip(range(50), stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(group="load")), timeout=10)):
            pass

    def logs():
        if submitted:
            for _ in stub.Logs(logs_pb2.LogsRequest(job=ref(submitted[-1]), follow=True), timeout=10):
                pass
        time.sleep(0.01)

    def look():
        stub.List(service_pb2.ListRequest(page_size=20), timeout=20)
        time.sleep(0.05)

    threads = [guarded(body) for body in [submit] * 3 + [watch] * 8 + [logs] * 4 + [look]]
    for t in threads:
        t.start()
    time.sleep(SECONDS / 2)
    d.restart()
    time.sleep(SECONDS / 2)
    stop.set()
    for t in threads:
        t.join(60)
    assert problems == []
    end = time.monotonic() + 90
    while time.monotonic() < end:
        jobs = stub.List(service_pb2.ListRequest(page_size=1000), timeout=60, wait_for_ready=True).jobs
        if all(j.status.state in TERMINAL for j in jobs):
            break
        time.sleep(0.2)
    assert all(j.status.state in TERMINAL for j in jobs)
    assert len(submitted) > 20
