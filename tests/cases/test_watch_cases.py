"""Cases W: what a stream of transitions promises."""

from cases import all_steps, get, states, until, watch
from daemon import ref, spec, state_name, submit, wait
from trainer.v1 import job_pb2, service_pb2, watch_pb2


def kinds(messages):
    return [m.WhichOneof("message") for m in messages]


def test_w04_running_is_told_before_the_end_and_the_end_once(desk):
    """However short a job is, its states come in order and its end comes once."""
    for _ in range(10):
        _, steps = all_steps(desk, spec("true"))
        names = states(steps)
        assert names[0] == "PENDING" and names[-2:] == ["RUNNING", "SUCCEEDED"]
        assert [s.job_sequence for s in steps] == list(range(1, len(steps) + 1))


def test_w05_a_restart_replays_nothing(make_daemon):
    """A client that comes back gets what changed after its token: no old transitions, and a deletion once."""
    d = make_daemon(config="local: {cpu: 64}\n")
    stub = d.stub()
    old = [submit(stub, spec("true", labels={"w": "5"})).job for _ in range(20)]
    for job in old:
        wait(stub, job)
    stream = stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(label_selector="w=5")), timeout=60)
    for message in stream:
        if message.WhichOneof("message") == "snapshot_end":
            break
    stream.cancel()
    stub.Delete(service_pb2.DeleteRequest(job=ref(old[0])), timeout=30)
    d.kill()
    d.start()
    stub = d.stub()
    fresh = submit(stub, spec("true", labels={"w": "5"})).job
    request = watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(label_selector="w=5"), resume_token=message.resume_token, until_terminal=True)
    messages = list(stub.Watch(request, timeout=60))
    assert [m.deleted.uid for m in messages if m.WhichOneof("message") == "deleted"] == [old[0].uid]
    moved = [m.transition for m in messages if m.WhichOneof("message") == "transition"]
    assert {t.uid for t in moved} == {fresh.uid} and moved[-1].to == job_pb2.Job.SUCCEEDED
    assert "snapshot" not in kinds(messages)
    whole = watch(stub, label_selector="w=5")
    assert kinds(whole) == ["snapshot"] * 20 + ["snapshot_end"], "a new client gets one picture of now"


def test_w11_an_idle_stream_that_is_cut_goes_on_without_a_gap(desk, tmp_path):
    """Each heartbeat carries a token; from it the stream goes on with exactly what followed."""
    go = tmp_path / "go"
    job = submit(desk, spec(f"while [ ! -e {go} ]; do sleep 0.05; done")).job
    until(lambda: state_name(get(desk, job)) == "RUNNING")
    request = watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(uids=[job.uid]), until_terminal=True)
    request.heartbeat_seconds.value = 1
    stream = desk.Watch(request, timeout=60)
    for message in stream:
        if message.WhichOneof("message") == "heartbeat":
            break
    stream.cancel()
    step = get(desk, job).job_sequence
    request.resume_token = message.resume_token
    go.touch()
    rest = [m.transition.job_sequence for m in desk.Watch(request, timeout=60) if m.WhichOneof("message") == "transition"]
    assert rest == list(range(step + 1, step + 1 + len(rest))) and rest
