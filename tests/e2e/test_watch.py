"""Watch: order, completeness, resume, heartbeats, slow readers."""

import collections
import threading
import time

import grpc
import pytest

from daemon import TERMINAL, ref, spec, submit, wait
from trainer.v1 import job_pb2, service_pb2, watch_pb2


def selector(**kw):
    return watch_pb2.JobSelector(**kw)


def collect(stub, request, timeout=30):
    return list(stub.Watch(request, timeout=timeout))


def kinds(messages):
    return [m.WhichOneof("message") for m in messages]


def transitions(messages):
    return [(m.transition.sequence, m.transition.uid, m.transition.job_sequence, m.transition.to) for m in messages if m.WhichOneof("message") == "transition"]


def test_snapshot_then_live(stub):
    done = submit(stub, spec("true", name="done")).job
    wait(stub, done)
    running = submit(stub, spec("sleep 0.5", name="running")).job
    messages = collect(stub, watch_pb2.WatchRequest(selector=selector(), until_terminal=True))
    assert kinds(messages)[:3] == ["snapshot", "snapshot", "snapshot_end"]
    assert [m.snapshot.name for m in messages[:2]] == ["done", "running"]
    end = messages[2].snapshot_end
    assert end.jobs == 2
    live = transitions(messages)
    assert all(s > end.sequence for s, *_ in live)
    assert live[-1][1] == running.uid and live[-1][3] == job_pb2.Job.SUCCEEDED
    assert all(u != done.uid for _, u, *_ in live)
    got = stub.Get(service_pb2.GetRequest(job=ref(running)))
    assert messages[-1].transition.status == got.status, "identical to what a Get says"


def test_until_terminal_waits_for_a_first_match(stub):
    request = watch_pb2.WatchRequest(selector=selector(label_selector="study=a"), until_terminal=True)
    got = []
    thread = threading.Thread(target=lambda: got.extend(collect(stub, request)))
    thread.start()
    time.sleep(0.3)
    assert thread.is_alive(), "no match yet is no end"
    submit(stub, spec("true", labels={"study": "b"}))
    submit(stub, spec("true", labels={"study": "a"}))
    submit(stub, spec("sleep 0.2", labels={"study": "a"}))
    thread.join(30)
    assert not thread.is_alive()
    ends = [t for t in transitions(got) if t[3] in TERMINAL]
    assert len(ends) == 2


def test_resume_at_every_message_gives_the_rest(stub):
    request = watch_pb2.WatchRequest(selector=selector(group="g"), until_terminal=True)
    for i in range(5):
        submit(stub, spec("true", group="g"))
        submit(stub, spec("true", group="other"))
    all_messages = collect(stub, watch_pb2.WatchRequest(selector=selector(group="g"), until_terminal=True))
    for job in stub.List(service_pb2.ListRequest()).jobs:
        wait(stub, job)
    first = next(iter(stub.Watch(watch_pb2.WatchRequest(selector=selector(group="g"), skip_snapshot=True), timeout=5)))
    assert first.WhichOneof("message") == "snapshot_end"
    whole = transitions(all_messages)
    for i, m in enumerate(all_messages):
        if m.WhichOneof("message") == "transition":
            rest = collect(stub, watch_pb2.WatchRequest(selector=selector(group="g"), resume_token=m.resume_token, until_terminal=True))
            assert transitions(rest) == [t for t in whole if t[0] > m.transition.sequence]


def test_resume_across_a_restart_sees_what_was_missed(daemon, stub):
    job = submit(stub, spec("sleep 1; exit 0")).job
    stream = stub.Watch(watch_pb2.WatchRequest(selector=selector(uids=[job.uid])))
    for m in stream:
        if m.WhichOneof("message") == "transition" and m.transition.to == job_pb2.Job.RUNNING or (
            m.WhichOneof("message") == "snapshot" and m.snapshot.status.state == job_pb2.Job.RUNNING
        ):
            break
    token, last = m.resume_token, (m.transition or m.snapshot.status).job_sequence or m.snapshot.status.job_sequence
    daemon.kill()
    time.sleep(1.5)
    daemon.start()
    messages = collect(daemon.stub(), watch_pb2.WatchRequest(selector=selector(uids=[job.uid]), resume_token=token, until_terminal=True))
    steps = [m.transition.job_sequence for m in messages if m.WhichOneof("message") == "transition"]
    assert steps == list(range(last + 1, last + 1 + len(steps))) and steps
    assert messages[-1].transition.to == job_pb2.Job.SUCCEEDED


def test_token_of_another_journal(make_daemon):
    a, b = make_daemon("a"), make_daemon("b")
    job = submit(a.stub(), spec("true")).job
    wait(a.stub(), job)
    token = collect(a.stub(), watch_pb2.WatchRequest(selector=selector(), until_terminal=True))[-1].resume_token
    with pytest.raises(grpc.RpcError) as e:
        collect(b.stub(), watch_pb2.WatchRequest(resume_token=token))
    assert e.value.code() == grpc.StatusCode.OUT_OF_RANGE
    stream = b.stub().Watch(watch_pb2.WatchRequest(resume_token=token, resync=True), timeout=10)
    first, second = next(stream), next(stream)
    assert (first.WhichOneof("message"), second.WhichOneof("message")) == ("resync", "snapshot_end")
    stream.cancel()


@pytest.mark.parametrize("token", ["x", "AAAA", "A" * 200, "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAA"])
def test_bad_token(stub, token):
    with pytest.raises(grpc.RpcError) as e:
        collect(stub, watch_pb2.WatchRequest(resume_token=token))
    assert e.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_unknown_uid(stub):
    with pytest.raises(grpc.RpcError) as e:
        collect(stub, watch_pb2.WatchRequest(selector=selector(uids=["0" * 32])))
    assert e.value.code() == grpc.StatusCode.NOT_FOUND


def test_W11_heartbeats_busy_or_not(stub):
    request = watch_pb2.WatchRequest(selector=selector(label_selector="none=such"))
    request.heartbeat_seconds.value = 1
    stop = threading.Event()

    def noise():
        while not stop.is_set():
            submit(stub, spec("true"))

    thread = threading.Thread(target=noise)
    thread.start()
    beats = []
    try:
        for m in stub.Watch(request, timeout=20):
            if m.WhichOneof("message") == "heartbeat":
                beats.append((time.monotonic(), m.heartbeat.position))
                if len(beats) == 4:
                    break
    finally:
        stop.set()
        thread.join()
    assert all(b[0] - a[0] < 2.5 for a, b in zip(beats, beats[1:]))
    assert beats[-1][1] > beats[0][1], "a filtered stream advances too"


def test_states_filter(stub):
    request = watch_pb2.WatchRequest(selector=selector(states=[job_pb2.Job.SUCCEEDED, job_pb2.Job.FAILED]), until_terminal=True, skip_snapshot=True)
    got = []
    thread = threading.Thread(target=lambda: got.extend(collect(stub, request)))
    thread.start()
    time.sleep(0.2)
    a, b = submit(stub, spec("true")).job, submit(stub, spec("false")).job
    thread.join(30)
    assert {(t[1], t[3]) for t in transitions(got)} == {(a.uid, job_pb2.Job.SUCCEEDED), (b.uid, job_pb2.Job.FAILED)}


def test_many_watchers_see_the_same(daemon):
    stubs = [daemon.stub() for _ in range(4)]
    results = collections.defaultdict(list)

    def watch(i):
        results[i] = transitions(collect(stubs[i % 4], watch_pb2.WatchRequest(selector=selector(group="g"), until_terminal=True, skip_snapshot=True), 60))

    threads = [threading.Thread(target=watch, args=(i,)) for i in range(40)]
    for t in threads:
        t.start()
    time.sleep(1)
    s = spec("sleep 0.3", group="g")
    calls = [stubs[0].Submit.future(service_pb2.SubmitRequest(spec=s)) for _ in range(30)]
    uids = {c.result(timeout=60).job.uid for c in calls}
    for t in threads:
        t.join(60)
    assert all(results[i] == results[0] for i in range(40))
    assert {t[1] for t in results[0]} == uids
    per_job = collections.defaultdict(list)
    for _, uid, step, _ in results[0]:
        per_job[uid].append(step)
    assert all(s == list(range(1, len(s) + 1)) for s in per_job.values())


def test_W08_a_stuck_reader_stops_nobody(daemon):
    """It is behind by more than the feed holds when it reads again, and still gets everything, in order."""
    config = "local: {cpu: 64}\nlimits: {feed_events: 64}\n"
    daemon.stop()
    daemon.config = config
    daemon.start()
    slow_stub, stub = daemon.stub(), daemon.stub()
    slow = slow_stub.Watch(watch_pb2.WatchRequest(selector=selector(group="g"), skip_snapshot=True))
    next(slow)
    jobs = [submit(stub, spec("true", group="g")).job for _ in range(100)]
    for j in jobs:
        wait(stub, j)
    got = collections.defaultdict(list)
    ended = 0
    for m in slow:
        if m.WhichOneof("message") == "transition":
            got[m.transition.uid].append(m.transition.job_sequence)
            ended += m.transition.to in TERMINAL
            if ended == len(jobs):
                break
    slow.cancel()
    assert set(got) == {j.uid for j in jobs}
    assert all(s == list(range(1, len(s) + 1)) for s in got.values())


def test_K05_closing_a_watch_cancels_nothing(stub):
    job = submit(stub, spec("sleep 0.5")).job
    stream = stub.Watch(watch_pb2.WatchRequest(selector=selector(uids=[job.uid])))
    next(stream)
    stream.cancel()
    assert wait(stub, job).state == job_pb2.Job.SUCCEEDED


def test_W12_shutdown_ends_streams_with_a_token(daemon, stub):
    job = submit(stub, spec("sleep 1")).job
    streams = [stub.Watch(watch_pb2.WatchRequest(selector=selector(uids=[job.uid]))) for _ in range(20)]
    tokens = []
    for s in streams:
        for m in s:
            tokens.append(m.resume_token)
            if m.WhichOneof("message") == "snapshot_end":
                break
    begin = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - begin < 30
    for s in streams:
        with pytest.raises(grpc.RpcError) as e:
            for m in s:
                tokens.append(m.resume_token)
        assert e.value.code() == grpc.StatusCode.UNAVAILABLE
    daemon.start()
    rest = collect(daemon.stub(), watch_pb2.WatchRequest(selector=selector(uids=[job.uid]), resume_token=tokens[-1], until_terminal=True))
    assert rest[-1].transition.to == job_pb2.Job.SUCCEEDED
