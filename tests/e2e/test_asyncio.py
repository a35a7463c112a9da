"""An asyncio client with the generated stubs: everything that the blocking one does, from one thread."""

import asyncio
import time

import grpc
import pytest

from daemon import TERMINAL, ref, spec
from trainer.v1 import job_pb2, logs_pb2, runtime_pb2, service_pb2, service_pb2_grpc, watch_pb2

WATCHERS = 200


def run(steps, seconds=120):
    """Runs steps to the end; a test that hangs fails in its own name."""
    return asyncio.run(asyncio.wait_for(steps, seconds))


def connect(address):
    return grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])


def kind(message):
    return message.WhichOneof("message")


def submit(stub, s, **kw):
    return stub.Submit(service_pb2.SubmitRequest(spec=s, **kw), timeout=60)


def follow(stub, **kw):
    return stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(**kw), until_terminal=True))


async def next_of(stream, wanted):
    """The next message of that kind."""
    async for message in stream:
        if kind(message) == wanted:
            return message
    raise AssertionError(f"the stream ended before a {wanted}")


async def steps_of(stream):
    return [(m.transition.uid, m.transition.job_sequence, m.transition.to) async for m in stream if kind(m) == "transition"]


async def end_of(stub, job):
    async for _ in follow(stub, uids=[job.uid]):
        pass
    return (await stub.Get(service_pb2.GetRequest(job=ref(job)))).status


async def failure(call):
    """The error with which a unary call or a stream ends."""
    with pytest.raises(grpc.aio.AioRpcError) as e:
        if hasattr(call, "__aiter__"):
            async for _ in call:
                pass
        else:
            await call
    return e.value


def test_submit_and_its_end(daemon):
    async def steps():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            job = (await submit(stub, spec("exit 3", name="first"))).job
            status = await end_of(stub, job)
            assert (status.state, status.exit.exit_code) == (job_pb2.Job.FAILED, 3)

    run(steps())


def test_watch_while_submitting(daemon):
    """Jobs submitted at once appear on the open stream, each with its steps in order."""

    async def steps():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            stream = stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(group="burst")))
            assert (await next_of(stream, "snapshot_end")).snapshot_end.jobs == 0
            answers = asyncio.gather(*[submit(stub, spec("true", group="burst")) for _ in range(20)])
            seen, ended = {}, set()
            while len(ended) < 20:
                t = (await next_of(stream, "transition")).transition
                seen.setdefault(t.uid, []).append(t.job_sequence)
                if t.to in TERMINAL:
                    assert t.to == job_pb2.Job.SUCCEEDED
                    ended.add(t.uid)
            stream.cancel()
            assert {a.job.uid for a in await answers} == ended == set(seen)
            assert all(s == list(range(1, len(s) + 1)) for s in seen.values())

    run(steps())


def test_submit_and_watch_in_one_call(daemon):
    async def steps():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            request = service_pb2.SubmitAndWatchRequest(submit=service_pb2.SubmitRequest(spec=spec("true")))
            messages = [m async for m in stub.SubmitAndWatch(request)]
            assert kind(messages[0]) == "submitted"
            assert messages[-1].transition.to == job_pb2.Job.SUCCEEDED

    run(steps())


def test_a_canceled_stream_ends_alone(daemon):
    """Neither the job nor the other stream of the same connection feels it."""

    async def steps():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            job = (await submit(stub, spec("sleep 1"))).job
            gone, stays = follow(stub, uids=[job.uid]), follow(stub, uids=[job.uid])
            await next_of(gone, "snapshot_end")
            await next_of(stays, "snapshot_end")
            assert gone.cancel()
            with pytest.raises(asyncio.CancelledError):
                async for _ in gone:
                    pass
            assert await gone.code() == grpc.StatusCode.CANCELLED
            assert (await steps_of(stays))[-1][2] == job_pb2.Job.SUCCEEDED

    run(steps())


def test_a_canceled_task_cancels_its_stream(daemon):
    async def steps():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            job = (await submit(stub, spec("sleep 300"))).job
            began = asyncio.Event()

            async def watch():
                async for m in follow(stub, uids=[job.uid]):
                    if kind(m) == "snapshot_end":
                        began.set()

            task = asyncio.create_task(watch())
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            answer = await stub.Cancel(service_pb2.CancelRequest(job=ref(job)))
            assert answer.status.state in (job_pb2.Job.CANCELING, job_pb2.Job.CANCELED)
            assert (await end_of(stub, job)).state == job_pb2.Job.CANCELED

    run(steps())


def test_two_hundred_watches_see_the_same(daemon):
    async def steps():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            streams = [stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(group="g"), until_terminal=True)) for _ in range(WATCHERS)]
            await asyncio.gather(*[next_of(s, "snapshot_end") for s in streams])
            readers = asyncio.gather(*[steps_of(s) for s in streams])
            job = (await submit(stub, spec("sleep 0.2", group="g"))).job
            results = await readers
            assert [s for _, s, _ in results[0]] == list(range(1, len(results[0]) + 1))
            assert {u for u, _, _ in results[0]} == {job.uid} and results[0][-1][2] == job_pb2.Job.SUCCEEDED
            assert all(r == results[0] for r in results)

    run(steps(), 240)


def test_a_token_goes_on_after_a_restart(daemon, tmp_path):
    """The stream that ends with the daemon leaves a token, with which the next one tells the rest once."""
    go = tmp_path / "go"

    async def before():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            job = (await submit(stub, spec(f"while [ ! -e {go} ]; do sleep 0.05; done"))).job
            while (await stub.Get(service_pb2.GetRequest(job=ref(job)))).status.state != job_pb2.Job.RUNNING:
                await asyncio.sleep(0.02)
            stream = follow(stub, uids=[job.uid])
            step = (await next_of(stream, "snapshot")).snapshot.status.job_sequence
            token = (await next_of(stream, "snapshot_end")).resume_token
            loop = asyncio.get_running_loop()
            stopping = loop.run_in_executor(None, daemon.stop)
            error = await failure(stream)
            assert error.code() == grpc.StatusCode.UNAVAILABLE
            assert await stopping == 0
            return job, token, step

    async def after(job, token, step):
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            request = watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(uids=[job.uid]), resume_token=token, until_terminal=True)
            go.touch()
            rest = await steps_of(stub.Watch(request))
            assert [s for _, s, _ in rest] == list(range(step + 1, step + 1 + len(rest))) and rest
            assert rest[-1][2] == job_pb2.Job.SUCCEEDED

    left = run(before())
    daemon.start()
    run(after(*left))


def test_logs_are_followed(daemon, tmp_path):
    go = tmp_path / "go"

    async def steps():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            job = (await submit(stub, spec(f"echo one; while [ ! -e {go} ]; do sleep 0.02; done; printf 'two\\377'"))).job
            text = b""
            async for m in stub.Logs(logs_pb2.LogsRequest(job=ref(job), follow=True)):
                text += m.chunk.data
                if text == b"one\n":
                    go.touch()
            assert text == b"one\ntwo\xff"

    run(steps())


def test_a_deadline_ends_the_stream_and_not_the_job(daemon):
    async def steps():
        async with connect(daemon.address) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            job = (await submit(stub, spec("sleep 300"))).job
            begin = time.monotonic()
            stream = stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(uids=[job.uid])), timeout=1)
            assert (await failure(stream)).code() == grpc.StatusCode.DEADLINE_EXCEEDED
            assert time.monotonic() - begin >= 0.9
            status = (await stub.Get(service_pb2.GetRequest(job=ref(job)))).status
            assert status.state not in TERMINAL
            await stub.Delete(service_pb2.DeleteRequest(job=ref(job), force=True), timeout=60)

    run(steps())


def test_the_token_over_tcp(daemon):
    """As metadata of a call; without it and with another one the call is refused."""

    async def steps():
        async with connect(daemon.tcp) as channel:
            stub = service_pb2_grpc.TrainerServiceStub(channel)
            request = runtime_pb2.GetServerInfoRequest()
            assert (await failure(stub.GetServerInfo(request))).code() == grpc.StatusCode.UNAUTHENTICATED
            wrong = [("authorization", "Bearer " + "0" * len(daemon.token))]
            error = await failure(stub.Watch(watch_pb2.WatchRequest(), metadata=wrong))
            assert error.code() == grpc.StatusCode.UNAUTHENTICATED and daemon.token not in error.details()
            right = [("authorization", "Bearer " + daemon.token)]
            assert (await stub.GetServerInfo(request, metadata=right)).version
            job = (await stub.Submit(service_pb2.SubmitRequest(spec=spec("true")), metadata=right)).job
            stream = stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(uids=[job.uid]), until_terminal=True), metadata=right)
            async for _ in stream:
                pass
            assert await stream.code() == grpc.StatusCode.OK

    run(steps())
