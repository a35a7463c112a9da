"""Cases L: what a process wrote, and what is said when there is nothing."""

import grpc

from cases import logs, refused
from daemon import ref, spec, submit, wait
from trainer.v1 import job_pb2, logs_pb2, service_pb2


def read(stub, job, **kw):
    return list(stub.Logs(logs_pb2.LogsRequest(job=ref(job), **kw), timeout=60))


def test_l01_a_container_that_is_not_there(desk):
    """A process of this machine has no containers: one that is named is refused, none means the process."""
    job = submit(desk, spec("echo main")).job
    wait(desk, job)
    assert refused(read, desk, job, container="istio-proxy").code() == grpc.StatusCode.INVALID_ARGUMENT
    assert logs(desk, job) == b"main\n"


def test_l02_follow_of_an_index_that_is_not_there(desk):
    """An index beyond the replicas is refused at once, not waited for."""
    job = submit(desk, spec("sleep 300")).job
    request = logs_pb2.LogsRequest(job=ref(job), role="worker", follow=True)
    request.index.value = 1
    assert refused(lambda: list(desk.Logs(request, timeout=20))).code() == grpc.StatusCode.INVALID_ARGUMENT
    desk.Delete(service_pb2.DeleteRequest(job=ref(job), force=True), timeout=60)


def test_l03_why_it_crashed_is_in_the_attempt_before(desk, tmp_path):
    """While the newest attempt has written nothing, the one before it still tells."""
    mark = tmp_path / "tries"
    s = spec(f"echo x >> {mark}; n=$(wc -l < {mark}); if [ $n = 1 ]; then echo why; exit 5; fi")
    s.roles[0].restart_policy = job_pb2.ON_FAILURE
    job = submit(desk, s).job
    wait(desk, job)
    assert logs(desk, job) == b""
    previous = read(desk, job, previous=True)
    assert b"".join(m.chunk.data for m in previous) == b"why\n"
    assert {m.chunk.attempt for m in previous if m.WhichOneof("message") == "chunk"} == {1}


def test_l04_no_bytes_break_a_stream(desk):
    """Half characters, NULs and lines without an end come as they were written, in bounded messages."""
    script = r"printf 'a\377\000\342\226'; sleep 0.2; printf '\210\r50%%\r100%%'; head -c 200000 /dev/zero"
    job = submit(desk, spec(script)).job
    followed = read(desk, job, follow=True)
    expected = b"a\xff\x00\xe2\x96\x88\r50%\r100%" + bytes(200000)
    assert b"".join(m.chunk.data for m in followed) == expected == logs(desk, job)
    assert max(len(m.chunk.data) for m in followed) <= 65536
    assert wait(desk, job).state == job_pb2.Job.SUCCEEDED


def test_l05_a_follow_ends_with_the_job_that_is_deleted(desk):
    """What was written is delivered, and the stream ends instead of hanging."""
    job = submit(desk, spec("echo last; sleep 300")).job
    stream = desk.Logs(logs_pb2.LogsRequest(job=ref(job), follow=True), timeout=60)
    text = b""
    for message in stream:
        text += message.chunk.data
        if text == b"last\n":
            break
    desk.Delete(service_pb2.DeleteRequest(job=ref(job), force=True), timeout=60)
    try:
        for message in stream:
            text += message.chunk.data
    except grpc.RpcError as e:
        assert e.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.ABORTED), e
    assert text == b"last\n"
    assert refused(read, desk, job).code() == grpc.StatusCode.NOT_FOUND
