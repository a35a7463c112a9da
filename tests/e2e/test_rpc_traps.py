"""What breaks gRPC servers on C core, one test a trap: calls, streams, errors."""

import os
import subprocess
import sys
import threading
import time

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from daemon import ref, spec, submit, wait
from raw_http2 import ACK, DATA, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, RawClient, grpc_message
from trainer.v1 import job_pb2, logs_pb2, runtime_pb2, service_pb2, watch_pb2

SERVICE = "/trainer.v1.TrainerService/"


def failed(call, *args, **kw):
    with pytest.raises(grpc.RpcError) as info:
        call(*args, **kw)
    return info.value


def reason(error):
    status = rpc_status.from_call(error)  # raises unless code and message are the same in both places
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            assert info.domain == "trainerd"
            return info.reason
    return None


def info_of(stub):
    return stub.GetServerInfo(runtime_pb2.GetServerInfoRequest(), timeout=20)


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def open_files(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))


def rss_kib(daemon):
    for line in open(f"/proc/{daemon.pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1])


# ---- Methods ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/trainer.v1.TrainerService/Nope", "/no.such.Service/Do", "/x"])
def test_unknown_methods_are_answered(daemon, path):
    call = daemon.channel().unary_unary(path)
    for _ in range(60):  # more than there are slots
        error = failed(call, b"", timeout=10)
        assert error.code() == grpc.StatusCode.UNIMPLEMENTED
        assert "unknown method " + path in error.details()
        assert reason(error) == "UNKNOWN_METHOD"


@pytest.mark.parametrize("name", ["SubmitBatch", "ReportMetrics", "QueryMetrics"])
def test_methods_that_are_not_live_say_so(daemon, stub, name):
    error = failed(daemon.channel().unary_unary(SERVICE + name), b"", timeout=10)
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED
    assert reason(error) == "METHOD_NOT_LIVE" and name in error.details()
    live = {m.name: m.live for m in info_of(stub).methods}
    assert live[name] is False and live["Submit"] is True
    assert sorted(live) == sorted(m.name for m in service_pb2.DESCRIPTOR.services_by_name["TrainerService"].methods)


def test_many_calls_at_once_are_all_answered(daemon, stub):
    calls = [stub.GetServerInfo.future(runtime_pb2.GetServerInfoRequest(), timeout=60) for _ in range(1500)]
    assert all(c.result().version for c in calls)


def test_a_call_without_its_message(daemon, stub):
    client = RawClient(daemon.address)
    stream = client.headers(SERVICE + "Get", end=True)
    frame = client.read_until(lambda f: f[2] == stream and f[1] & END_STREAM)
    assert frame[0] == HEADERS and b"Get needs one request message" in frame[3]
    client.close()
    assert info_of(stub).version


def test_a_call_that_sends_no_message_and_goes(daemon, stub):
    before = open_files(daemon)
    for _ in range(20):
        client = RawClient(daemon.address)
        client.headers(SERVICE + "Watch")
        client.close()
    until(lambda: open_files(daemon) <= before + 2)
    assert info_of(stub).watchers == 0


def test_requests_too_large(daemon, stub):
    """The call fails, and its connection goes on with what else is on it."""
    channel = daemon.channel(options=[("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)])
    states = []
    watching = channel.unary_stream(SERVICE + "Watch")(watch_pb2.WatchRequest(skip_snapshot=True).SerializeToString())
    watching.initial_metadata()
    channel.subscribe(states.append)
    for _ in range(3):
        error = failed(channel.unary_unary(SERVICE + "Submit"), b"\n" * (5 << 20), timeout=20)
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert channel.unary_unary(SERVICE + "GetServerInfo")(b"", timeout=10)
    assert watching.is_active() and info_of(stub).watchers == 1
    assert set(states) <= {grpc.ChannelConnectivity.READY}
    watching.cancel()


def test_compressed_requests_are_never_inflated(daemon, stub):
    before = rss_kib(daemon)
    bomb = service_pb2.GetRequest(job=job_pb2.JobRef(uid="0" * (200 << 20)))  # 200 MiB, 200 KiB on the wire
    error = failed(stub.Get, bomb, timeout=60, compression=grpc.Compression.Gzip)
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED
    error = failed(stub.Get, service_pb2.GetRequest(job=job_pb2.JobRef(uid="0" * 5000)), timeout=20, compression=grpc.Compression.Gzip)
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED
    assert rss_kib(daemon) < before + 50 * 1024
    # A client that marks its message as compressed and does not say how.
    client = RawClient(daemon.address)
    stream = client.headers(SERVICE + "GetServerInfo")
    client.frame(DATA, END_STREAM, stream, grpc_message(b"\x1f\x8b", compressed=1))
    frame = client.read_until(lambda f: f[2] == stream and (f[1] & END_STREAM or f[0] == RST_STREAM))
    assert frame is not None
    client.close()
    assert info_of(stub).version


def test_headers_too_large(daemon, stub):
    """The call fails, perhaps with its connection; others do not notice."""
    info_of(stub)
    greedy = daemon.stub()
    error = failed(greedy.GetServerInfo, runtime_pb2.GetServerInfoRequest(), timeout=20, metadata=[("x", "y" * 40000)])
    assert error.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE)
    assert info_of(stub).version
    # Tokens with tracing headers of 12 KiB are fine.
    assert stub.GetServerInfo(runtime_pb2.GetServerInfoRequest(), timeout=20, metadata=[("x", "y" * 12000)]).version


# ---- Errors -------------------------------------------------------------------------------------------------------


def test_errors_carry_details_that_fit(daemon, stub):
    bad = spec("true")
    for i in range(300):
        bad.roles[0].env.add(name=f"Größe={i} " + "日本" * 30, value="x")
    error = failed(stub.Submit, service_pb2.SubmitRequest(spec=bad), timeout=20)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert reason(error) is not None
    trailers = sum(len(k) + len(v) * 4 // 3 + 32 for k, v in error.trailing_metadata())
    assert trailers < 8192
    fields = [v.field for d in rpc_status.from_call(error).details for v in violations(d)]
    assert len(fields) > 3 and all(f.startswith("roles[0].env[") for f in fields)


def violations(detail):
    bad = error_details_pb2.BadRequest()
    return bad.field_violations if detail.Unpack(bad) else []


def test_messages_with_any_character(daemon, stub):
    error = failed(stub.Get, service_pb2.GetRequest(job=job_pb2.JobRef(name="grün % %41 日本")), timeout=20)
    assert error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)
    assert reason(error)


# ---- Tokens -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metadata, code, why",
    [
        ([], grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REQUIRED"),
        ([("authorization", "Bearer wrong")], grpc.StatusCode.UNAUTHENTICATED, "WRONG_TOKEN"),
        ([("authorization", "TOKEN")], grpc.StatusCode.UNAUTHENTICATED, "WRONG_TOKEN"),
        ([("authorization", "Basic TOKEN")], grpc.StatusCode.UNAUTHENTICATED, "WRONG_TOKEN"),
        ([("authorization", "Bearer TOKENx")], grpc.StatusCode.UNAUTHENTICATED, "WRONG_TOKEN"),
        ([("authorization", "Bearer ")], grpc.StatusCode.UNAUTHENTICATED, "WRONG_TOKEN"),
        ([("authorization", "Bearer TOKEN")], None, None),
        ([("authorization", "bearer TOKEN")], None, None),
    ],
)
def test_tcp_needs_the_token(daemon, metadata, code, why):
    metadata = [(k, v.replace("TOKEN", daemon.token)) for k, v in metadata]
    call = daemon.channel(daemon.tcp).unary_unary(SERVICE + "GetServerInfo")
    if code is None:
        assert call(b"", timeout=10, metadata=metadata)
        return
    error = failed(call, b"", timeout=10, metadata=metadata)
    assert error.code() == code and reason(error) == why
    assert "send the bearer token of STATE_DIR/token in the authorization metadata" in error.details()
    assert daemon.token not in error.details()


def test_every_method_needs_the_token(daemon):
    channel = daemon.channel(daemon.tcp)
    names = [SERVICE + m.name for m in service_pb2.DESCRIPTOR.services_by_name["TrainerService"].methods]
    for path in [*names, "/grpc.health.v1.Health/List", "/nothing/Here"]:
        assert failed(channel.unary_unary(path), b"", timeout=10).code() == grpc.StatusCode.UNAUTHENTICATED
    stream = channel.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
    assert failed(list, stream(iter([b""]), timeout=10)).code() == grpc.StatusCode.UNAUTHENTICATED


def test_probes_need_no_token(daemon):
    stub = health_pb2_grpc.HealthStub(daemon.channel(daemon.tcp))
    request = health_pb2.HealthCheckRequest(service="trainer.v1.TrainerService")
    for metadata in [[], [("authorization", "Bearer wrong")]]:
        assert stub.Check(request, timeout=10, metadata=metadata).status == health_pb2.HealthCheckResponse.SERVING
        call = stub.Watch(request, timeout=20, metadata=metadata)
        assert next(call).status == health_pb2.HealthCheckResponse.SERVING
        call.cancel()


# ---- Streams ------------------------------------------------------------------------------------------------------


def watch_all(stub, **kw):
    return stub.Watch(watch_pb2.WatchRequest(**kw))


def test_a_burst_arrives_at_once(daemon, stub):
    """C core keeps a message with a write hint back together with the headers; the first may not have one."""
    job = submit(stub, spec("i=0; while [ $i -lt 2000 ]; do echo $i 0123456789012345678901234567890123456789; i=$((i+1)); done")).job
    wait(stub, job)
    begin = time.monotonic()
    data = b"".join(m.chunk.data for m in stub.Logs(logs_pb2.LogsRequest(job=ref(job)), timeout=30))
    assert data.count(b"\n") == 2000
    assert time.monotonic() - begin < 10


def test_headers_of_a_quiet_stream_come_at_once(daemon, stub):
    call = watch_all(stub, skip_snapshot=True)
    done = []
    thread = threading.Thread(target=lambda: done.append(call.initial_metadata()), daemon=True)
    thread.start()
    thread.join(10)
    assert done
    call.cancel()


def test_W09_cancel_and_deadline_are_seen(daemon, stub):
    for _ in range(100):
        call = watch_all(stub)
        next(iter(call))
        call.cancel()
    until(lambda: info_of(stub).watchers == 0)
    calls = [stub.Watch(watch_pb2.WatchRequest(skip_snapshot=True), timeout=0.3) for _ in range(50)]
    for call in calls:
        assert failed(list, call).code() == grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: info_of(stub).watchers == 0)


def test_calls_canceled_while_they_wait(daemon, stub):
    """The work goes on, the answer goes nowhere."""
    requests = [service_pb2.SubmitRequest(spec=spec("true"), request_id=f"c{i}") for i in range(200)]
    for i, request in enumerate(requests):
        call = stub.Submit.future(request, timeout=20) if i % 2 else stub.SubmitAndWatch(service_pb2.SubmitAndWatchRequest(submit=request), timeout=20)
        if i % 3:
            time.sleep(0.001 * (i % 5))
        call.cancel()
    for request in requests:
        submit(stub, request.spec, request_id=request.request_id)
    until(lambda: info_of(stub).watchers == 0)
    assert stub.List(service_pb2.ListRequest(), timeout=20).total == len(requests)


VANISH = """
import sys, grpc
call = grpc.insecure_channel(sys.argv[1]).unary_stream("/trainer.v1.TrainerService/Watch")(b"")
next(call)
print("up", flush=True)
next(call)
"""


def test_W09_clients_that_vanish(daemon, stub):
    info_of(stub)
    before = open_files(daemon)
    children = [subprocess.Popen([sys.executable, "-c", VANISH, daemon.address], stdout=subprocess.PIPE) for _ in range(6)]
    for child in children:
        assert child.stdout.readline() == b"up\n"
    assert info_of(stub).watchers == 6
    for child in children:
        child.kill()
        child.wait()
        child.stdout.close()
    until(lambda: info_of(stub).watchers == 0, 1 + 5)
    until(lambda: open_files(daemon) <= before)


def test_W09_two_hundred_connections_come_and_go(daemon, stub):
    info_of(stub)
    before = open_files(daemon)
    for _ in range(200):
        client = RawClient(daemon.address)
        client.call(SERVICE + "Watch", b"")
        client.read_until(lambda f: f[0] == DATA)
        client.close()
    until(lambda: info_of(stub).watchers == 0 and open_files(daemon) <= before)


def test_streams_opened_and_reset_at_once(daemon, stub):
    client = RawClient(daemon.address)
    for _ in range(2000):
        stream = client.call(SERVICE + "Watch", b"")
        client.frame(RST_STREAM, 0, stream, b"\0\0\0\x08")
    client.close()
    until(lambda: info_of(stub).watchers == 0, 30)


def until_ended(call, count):
    ended = set()
    for message in call:
        if message.WhichOneof("message") == "transition" and message.transition.to == job_pb2.Job.SUCCEEDED:
            ended.add(message.transition.uid)
            if len(ended) == count:
                break
    call.cancel()
    return ended


def test_W08_a_client_that_never_reads_disturbs_nobody(daemon, stub):
    client = RawClient(daemon.address, settings={4: 1000})  # a window of 1,000 bytes, never opened again
    client.call(SERVICE + "Watch", b"")
    client.read_until(lambda f: f[0] == DATA)
    slow_logs = RawClient(daemon.address, settings={4: 1000})
    big = submit(stub, spec("head -c 8000000 /dev/zero | tr '\\0' x | fold -w 1000")).job
    wait(stub, big)
    slow_logs.call(SERVICE + "Logs", logs_pb2.LogsRequest(job=ref(big)).SerializeToString())
    slow_logs.read_until(lambda f: f[0] == DATA)
    before = rss_kib(daemon)
    call = watch_all(stub, selector=watch_pb2.JobSelector(label_selector="w08=1"))
    next(call)
    jobs = {submit(stub, spec("true", labels={"w08": "1"})).job.uid for _ in range(40)}
    ended = set()
    reader = threading.Thread(target=lambda: ended.update(until_ended(call, len(jobs))))
    reader.start()
    reader.join(60)
    assert not reader.is_alive() and ended == jobs
    assert rss_kib(daemon) < before + 30 * 1024
    client.close()
    slow_logs.close()
    until(lambda: info_of(stub).watchers == 0)


# ---- Two daemons, and what a crash leaves ------------------------------------------------------------------------


def test_a_second_daemon_on_the_same_state_directory(make_daemon, tmp_path):
    first = make_daemon("shared")
    stub = first.stub()
    job = submit(stub, spec("true")).job
    second = make_daemon("shared", start=False)
    second.allowed_exits = {1}
    with pytest.raises(RuntimeError) as info:
        second.start()
    assert str(tmp_path / "shared") in str(info.value).split("ended with", 1)[1]
    assert second.process.wait(20) == 1
    assert first.process.poll() is None
    assert wait(stub, job).state == job_pb2.Job.SUCCEEDED
    assert info_of(first.stub()).version, "new clients still find the first"


def test_a_stale_socket_of_a_killed_daemon(make_daemon):
    daemon = make_daemon()
    path = daemon.state_dir / "trainerd.sock"
    job = submit(daemon.stub(), spec("sleep 600")).job
    daemon.kill()
    assert path.exists(), "nobody removed it"
    daemon.start()
    assert path.stat().st_mode & 0o777 == 0o600
    stub = daemon.stub()
    assert stub.Get(service_pb2.GetRequest(job=ref(job)), timeout=20).uid == job.uid
    stub.Cancel(service_pb2.CancelRequest(job=ref(job)), timeout=20)
    assert wait(stub, job).state == job_pb2.Job.CANCELED


# ---- Connections' manners -----------------------------------------------------------------------------------------


def test_server_settings(make_daemon):
    daemon = make_daemon(config="limits: {max_streams_per_connection: 7}\n")
    client = RawClient(daemon.address)
    settings = client.server_settings()
    assert settings["max_concurrent_streams"] == 7
    assert settings["max_header_list_size"] == 16384
    client.close()


def test_W10_pings(daemon, stub):
    """One every 10 s is fine, with and without calls; one a second is refused."""
    polite = [RawClient(daemon.address), RawClient(daemon.address)]
    polite[1].call(SERVICE + "Watch", watch_pb2.WatchRequest(skip_snapshot=True).SerializeToString())
    rude = RawClient(daemon.address)
    gone = None
    for _ in range(4):
        rude.frame(PING, 0, 0, b"rude....")
        time.sleep(0.2)
    gone = rude.read_until(lambda f: f[0] == GOAWAY)
    assert gone is not None and gone[0] == GOAWAY and b"too_many_pings" in gone[3]
    for _ in range(4):
        for client in polite:
            client.frame(PING, 0, 0, b"polite..")
            frame = client.read_until(lambda f: f[0] == GOAWAY or (f[0] == PING and f[1] & ACK))
            assert frame is not None and frame[0] == PING
        time.sleep(10.2)
    for client in [*polite, rude]:
        client.close()


# ---- Health and reflection ----------------------------------------------------------------------------------------


def test_health(daemon):
    stub = health_pb2_grpc.HealthStub(daemon.channel())
    for name in ["", "trainer.v1.TrainerService"]:
        assert stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10).status == health_pb2.HealthCheckResponse.SERVING
    error = failed(stub.Check, health_pb2.HealthCheckRequest(service="no.such"), timeout=10)
    assert error.code() == grpc.StatusCode.NOT_FOUND
    unknown = stub.Watch(health_pb2.HealthCheckRequest(service="no.such"))
    assert next(unknown).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    time.sleep(0.3)
    assert unknown.is_active(), "it stays open"
    unknown.cancel()
    known = stub.Watch(health_pb2.HealthCheckRequest(service="trainer.v1.TrainerService"))
    assert next(known).status == health_pb2.HealthCheckResponse.SERVING
    daemon.process.terminate()
    assert next(known).status == health_pb2.HealthCheckResponse.NOT_SERVING
    assert failed(next, known).code() == grpc.StatusCode.UNAVAILABLE
    assert daemon.process.wait(20) == 0


def test_reflection_answers_in_order(daemon):
    stub = reflection_pb2_grpc.ServerReflectionStub(daemon.channel())
    request = reflection_pb2.ServerReflectionRequest
    asked = [
        request(list_services=""),
        request(file_containing_symbol="trainer.v1.TrainerService"),
        request(file_containing_symbol="no.such.Symbol"),
        request(file_by_filename="trainer/v1/job.proto"),
        request(list_services=""),
    ]
    answers = list(stub.ServerReflectionInfo(iter(asked), timeout=20))
    assert [a.original_request for a in answers] == asked
    services = {s.name for s in answers[0].list_services_response.service}
    assert {"trainer.v1.TrainerService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"} <= services
    assert answers[1].file_descriptor_response.file_descriptor_proto
    assert answers[2].error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]
    assert answers[3].file_descriptor_response.file_descriptor_proto


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_lists_every_service(daemon, version):
    call = daemon.channel().stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")
    request = reflection_pb2.ServerReflectionRequest(list_services="*").SerializeToString()
    answers = [reflection_pb2.ServerReflectionResponse.FromString(a) for a in call(iter([request] * 3), timeout=20)]
    assert len(answers) == 3
    for answer in answers:
        assert sorted(s.name for s in answer.list_services_response.service) == [
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
            "trainer.v1.TrainerService",
        ]


def test_reflection_resolves_everything(daemon):
    from google.protobuf.descriptor_pool import DescriptorPool
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

    database = ProtoReflectionDescriptorDatabase(daemon.channel())
    pool = DescriptorPool(database)
    for service in database.get_services():
        for method in pool.FindServiceByName(service).methods:
            assert method.input_type.full_name and method.output_type.full_name
