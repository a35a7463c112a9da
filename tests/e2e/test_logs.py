"""Logs: every byte, in order, once; follow, tail, since, attempts, resume."""

import threading
import time

import grpc
import pytest

from daemon import ref, spec, submit, wait
from trainer.v1 import job_pb2, logs_pb2, service_pb2


def request(job, **kw):
    r = logs_pb2.LogsRequest(job=ref(job), **{k: v for k, v in kw.items() if k not in ("index", "tail_lines", "since")})
    if "index" in kw:
        r.index.value = kw["index"]
    if "tail_lines" in kw:
        r.tail_lines.value = kw["tail_lines"]
    if "since" in kw:
        r.since.FromNanoseconds(int(kw["since"] * 1e9))
    return r


def messages(stub, job, timeout=60, **kw):
    return list(stub.Logs(request(job, **kw), timeout=timeout))


def text(stub, job, **kw):
    return b"".join(m.chunk.data for m in messages(stub, job, **kw))


def code(call):
    with pytest.raises(grpc.RpcError) as e:
        call()
    return e.value.code()


BINARY = bytes(range(256)) * 700 + b"\xe2\x96\x88" * 20000 + b"\rprogress\r" * 100 + b"last line without end"


def test_L04_bytes_are_exact(stub, tmp_path):
    blob = tmp_path / "blob"
    blob.write_bytes(BINARY)
    job = submit(stub, spec(["cat", str(blob)])).job
    wait(stub, job)
    got = messages(stub, job)
    assert b"".join(m.chunk.data for m in got) == BINARY
    chunks = [m.chunk for m in got if m.WhichOneof("message") == "chunk"]
    assert max(len(c.data) for c in chunks) <= 64 * 1024
    offset = 0
    for c in chunks:
        assert c.offset == offset
        offset += len(c.data)


def test_a_line_of_three_megabytes(stub):
    job = submit(stub, spec("head -c 3145728 /dev/zero | tr '\\0' x; echo; echo end")).job
    wait(stub, job)
    assert text(stub, job) == b"x" * 3145728 + b"\nend\n"


def test_L02_follow_begins_before_the_process(make_daemon):
    d = make_daemon(config="local: {cpu: 1}\n")
    stub = d.stub()
    first = submit(stub, spec("sleep 1")).job
    second = submit(stub, spec("echo one; sleep 0.3; echo two")).job
    assert text(stub, second, follow=True) == b"one\ntwo\n"
    assert stub.Get(service_pb2.GetRequest(job=ref(first))).status.state == job_pb2.Job.SUCCEEDED


def test_follow_comes_as_it_is_written(stub, tmp_path):
    go = tmp_path / "go"
    job = submit(stub, spec(f"echo first; while [ ! -e {go} ]; do sleep 0.02; done; echo second")).job
    stream = stub.Logs(request(job, follow=True), timeout=30)
    seen = b""
    for m in stream:
        seen += m.chunk.data
        if seen == b"first\n":
            go.touch()
    assert seen == b"first\nsecond\n"


def test_ranks_are_merged_and_told_apart(stub):
    job = submit(stub, spec("for i in 1 2 3; do echo $RANK-$i; sleep 0.1; done", replicas=3)).job
    wait(stub, job)
    got = [m.chunk for m in messages(stub, job) if m.WhichOneof("message") == "chunk"]
    for rank in range(3):
        assert b"".join(c.data for c in got if c.rank == rank) == b"".join(b"%d-%d\n" % (rank, i) for i in (1, 2, 3))
    assert text(stub, job, role="worker", index=1) == b"1-1\n1-2\n1-3\n"
    assert {c.role for c in got} == {"worker"}


def test_tail_and_since(stub):
    job = submit(stub, spec("seq 1 1000; sleep 1.2; seq 2001 2003", replicas=1)).job
    wait(stub, job)
    assert text(stub, job, tail_lines=5) == b"999\n1000\n2001\n2002\n2003\n"
    assert text(stub, job, tail_lines=0) == b""
    end = stub.Get(service_pb2.GetRequest(job=ref(job))).status.end_time.ToNanoseconds() / 1e9
    assert text(stub, job, since=end - 0.6) == b"2001\n2002\n2003\n"


def test_attempts_and_previous(stub, tmp_path):
    mark = tmp_path / "n"
    s = spec(f"echo x >> {mark}; n=$(wc -l < {mark}); echo attempt $n; test $n -ge 3")
    s.roles[0].restart_policy = job_pb2.ON_FAILURE
    s.run_policy.backoff_limit.value = 5
    job = submit(stub, s).job
    followed = messages(stub, job, follow=True)
    wait(stub, job)
    assert b"".join(m.chunk.data for m in followed) == b"attempt 1\nattempt 2\nattempt 3\n"
    assert [m.attempt.attempt for m in followed if m.WhichOneof("message") == "attempt"] == [1, 2, 3]
    assert text(stub, job) == b"attempt 3\n"
    assert text(stub, job, previous=True) == b"attempt 2\n"
    assert text(stub, job, attempt=1) == b"attempt 1\n"


def test_no_previous_attempt(stub):
    job = submit(stub, spec("true")).job
    wait(stub, job)
    assert code(lambda: messages(stub, job, previous=True)) == grpc.StatusCode.FAILED_PRECONDITION


def test_resume_at_every_message(stub):
    job = submit(stub, spec("for i in $(seq 1 40); do echo $RANK line $i; sleep 0.01; done", replicas=2)).job
    wait(stub, job)
    whole = messages(stub, job)
    expected = {r: b"".join(m.chunk.data for m in whole if m.chunk.rank == r) for r in (0, 1)}
    for i, m in enumerate(whole):
        rest = messages(stub, job, resume_token=m.resume_token)
        for r in (0, 1):
            head = b"".join(k.chunk.data for k in whole[: i + 1] if k.chunk.rank == r)
            tail = b"".join(k.chunk.data for k in rest if k.chunk.rank == r)
            assert head + tail == expected[r]


def test_resume_across_a_restart_of_the_daemon(daemon, stub):
    job = submit(stub, spec("for i in $(seq 1 60); do echo line $i; sleep 0.05; done")).job
    got, token = b"", ""
    for m in stub.Logs(request(job, follow=True)):
        got, token = got + m.chunk.data, m.resume_token
        if got.count(b"\n") >= 10:
            break
    daemon.kill()
    time.sleep(0.5)
    daemon.start()
    got += text(daemon.stub(), job, follow=True, resume_token=token)
    assert got == b"".join(b"line %d\n" % i for i in range(1, 61))


def test_limit_bytes(stub):
    job = submit(stub, spec("seq 1 100000")).job
    wait(stub, job)
    assert len(text(stub, job, limit_bytes=1000)) == 1000


def test_cap_makes_a_gap_not_a_lie(make_daemon):
    d = make_daemon(config="local: {cpu: 4, log_size: 256Ki}\n")
    stub = d.stub()
    job = submit(stub, spec("seq 1 400000")).job
    wait(stub, job)
    got = messages(stub, job)
    gaps = [m.gap for m in got if m.WhichOneof("message") == "gap"]
    assert len(gaps) == 1 and gaps[0].from_offset == 0
    data = b"".join(m.chunk.data for m in got)
    whole = b"".join(b"%d\n" % i for i in range(1, 400001))
    assert whole.endswith(data) and len(data) + gaps[0].to_offset == len(whole)
    assert len(data) <= 256 * 1024


@pytest.mark.parametrize(
    "kw,expected",
    [
        ({"role": "nobody"}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"role": "worker", "index": 7}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"resume_token": "no token"}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"attempt": 9}, grpc.StatusCode.NOT_FOUND),
        ({"tail_lines": -1}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
def test_bad_requests(stub, kw, expected):
    job = submit(stub, spec("true")).job
    wait(stub, job)
    assert code(lambda: messages(stub, job, **kw)) == expected


def test_L05_logs_of_a_deleted_job(stub):
    job = submit(stub, spec("echo x")).job
    wait(stub, job)
    stub.Delete(service_pb2.DeleteRequest(job=ref(job)))
    assert code(lambda: messages(stub, job)) == grpc.StatusCode.NOT_FOUND


def test_logs_of_a_canceled_job_stay(stub):
    job = submit(stub, spec("echo before; sleep 100")).job
    stream = stub.Logs(request(job, follow=True), timeout=30)
    got = []
    thread = threading.Thread(target=lambda: got.extend(m.chunk.data for m in stream))
    thread.start()
    while not got:
        time.sleep(0.02)
    stub.Cancel(service_pb2.CancelRequest(job=ref(job)))
    wait(stub, job)
    thread.join(20)
    assert not thread.is_alive(), "a follow ends with the job"
    assert b"".join(got) == b"before\n" == text(stub, job)
