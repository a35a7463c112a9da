"""Jobs from Submit to the end, through the real daemon, supervisor and journal."""

import time

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from daemon import TERMINAL, reason_name, ref, spec, state_name, submit, wait
from trainer.v1 import job_pb2, logs_pb2, runtime_pb2, service_pb2, watch_pb2


def details(error):
    """Status details of an RpcError by type."""
    status = rpc_status.from_call(error)
    found = {}
    for packed in status.details:
        for kind in (error_details_pb2.BadRequest, error_details_pb2.ErrorInfo, error_details_pb2.ResourceInfo):
            if packed.Is(kind.DESCRIPTOR):
                message = kind()
                packed.Unpack(message)
                found[kind.__name__] = message
    return found


def refused(call, *args, **kw):
    with pytest.raises(grpc.RpcError) as e:
        call(*args, **kw)
    return e.value


def fields(error):
    return {v.field: v.description for v in details(error)["BadRequest"].field_violations}


def read_logs(stub, job, **kw):
    return b"".join(m.chunk.data for m in stub.Logs(logs_pb2.LogsRequest(job=ref(job), **kw), timeout=30))


def test_success(stub):
    answer = submit(stub, spec("echo hello; exit 0", name="first"))
    assert answer.job.name == "first" and answer.job.namespace == "default" and not answer.duplicate
    assert len(answer.job.uid) == 32
    status = wait(stub, answer.job)
    assert (state_name(status), reason_name(status)) == ("SUCCEEDED", "COMPLETED")
    assert status.attempt == 1 and status.restarts == 0
    assert [(r.name, r.desired, r.succeeded, r.failed, r.running) for r in status.roles] == [("worker", 1, 1, 0, 0)]
    assert status.start_time.seconds > 0 and status.end_time.ToNanoseconds() >= status.start_time.ToNanoseconds()
    assert stub.Get(service_pb2.GetRequest(job=ref(answer.job))).status == status
    assert read_logs(stub, answer.job) == b"hello\n"


@pytest.mark.parametrize(
    "command,reason,code,signal,name",
    [
        ("exit 3", "NONZERO_EXIT", 3, 0, ""),
        ("kill -9 $$", "KILLED_BY_SIGNAL", 0, 9, "SIGKILL"),
        (["/nowhere/program"], "SPAWN_FAILED", 0, 0, ""),
        (["/etc/passwd"], "SPAWN_FAILED", 0, 0, ""),
    ],
)
def test_failure_says_why(stub, command, reason, code, signal, name):
    status = wait(stub, submit(stub, spec(command)).job)
    assert (state_name(status), reason_name(status)) == ("FAILED", reason)
    if reason != "SPAWN_FAILED":
        assert (status.exit.exit_code, status.exit.signal, status.exit.signal_name) == (code, signal, name)
    assert status.exit.role == "worker" and status.exit.index == 0
    if reason == "SPAWN_FAILED":
        assert command[0] in status.message


def test_first_failing_rank_is_named(stub):
    status = wait(stub, submit(stub, spec('if [ "$RANK" = 2 ]; then exit 7; fi; sleep 30', replicas=4)).job)
    assert state_name(status) == "FAILED"
    assert (status.exit.rank, status.exit.exit_code) == (2, 7)


def test_restart_until_success(stub, tmp_path):
    mark = tmp_path / "tries"
    s = spec(f"echo x >> {mark}; test $(wc -l < {mark}) -ge 3")
    s.roles[0].restart_policy = job_pb2.ON_FAILURE
    s.run_policy.backoff_limit.value = 5
    status = wait(stub, submit(stub, s).job)
    assert state_name(status) == "SUCCEEDED"
    assert (status.attempt, status.restarts) == (3, 2)
    assert mark.read_text() == "x\n" * 3


def test_backoff_limit(stub):
    s = spec("exit 1")
    s.roles[0].restart_policy = job_pb2.ON_FAILURE
    s.run_policy.backoff_limit.value = 1
    status = wait(stub, submit(stub, s).job)
    assert (state_name(status), reason_name(status)) == ("FAILED", "BACKOFF_LIMIT_EXCEEDED")
    assert status.restarts == 1 and status.exit.exit_code == 1


def test_cancel_reaches_children_of_children(daemon, stub):
    job = submit(stub, spec("trap '' TERM; (setsid sleep 300 &) ; sh -c 'trap \"\" TERM; sleep 301' & sleep 302; wait")).job
    end = time.monotonic() + 20
    while len(daemon.job_processes(job.uid)) < 4 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(daemon.job_processes(job.uid)) >= 4
    request = service_pb2.CancelRequest(job=ref(job), reason="enough")
    request.grace_seconds.value = 1
    answer = stub.Cancel(request)
    assert answer.status.state in {job_pb2.Job.CANCELING, job_pb2.Job.CANCELED}
    status = wait(stub, job)
    assert (state_name(status), reason_name(status), status.message) == ("CANCELED", "CANCELED_BY_USER", "enough")
    assert daemon.job_processes(job.uid) == []
    again = stub.Cancel(request)
    assert again.status == status, "cancel of a terminal job returns it unchanged"


def test_early_stopped_is_its_own_reason(stub):
    job = submit(stub, spec("sleep 300")).job
    stub.Cancel(service_pb2.CancelRequest(job=ref(job), early_stopped=True))
    status = wait(stub, job)
    assert (state_name(status), reason_name(status)) == ("CANCELED", "EARLY_STOPPED")


def test_active_deadline(stub):
    s = spec("sleep 300")
    s.run_policy.active_deadline.seconds = 1
    status = wait(stub, submit(stub, s).job)
    assert (state_name(status), reason_name(status)) == ("FAILED", "DEADLINE_EXCEEDED")


def test_ttl_removes_the_record_and_the_terminal_event_is_still_seen(stub):
    s = spec("true")
    s.run_policy.ttl_after_finished.seconds = 0
    job = submit(stub, s).job
    kinds = []
    for m in stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(namespace="default")), timeout=20):
        kinds.append(m.WhichOneof("message"))
        if kinds[-1] == "deleted":
            assert m.deleted.uid == job.uid
            break
    error = refused(stub.Get, service_pb2.GetRequest(job=ref(job)))
    assert error.code() == grpc.StatusCode.NOT_FOUND
    assert details(error)["ErrorInfo"].reason == "JOB_NOT_FOUND"


def test_suspend_and_resume(daemon, stub, tmp_path):
    mark = tmp_path / "starts"
    job = submit(stub, spec(f"echo x >> {mark}; sleep 300")).job
    while not mark.exists():
        time.sleep(0.02)
    answer = stub.Suspend(service_pb2.SuspendRequest(job=ref(job)), timeout=30)
    assert state_name(answer.status) == "SUSPENDED"
    assert daemon.job_processes(job.uid) == []
    answer = stub.Resume(service_pb2.ResumeRequest(job=ref(job)))
    assert state_name(answer.status) in {"PENDING", "STARTING", "RUNNING"}
    end = time.monotonic() + 20
    while mark.read_text() != "x\nx\n" and time.monotonic() < end:
        time.sleep(0.02)
    assert mark.read_text() == "x\nx\n"
    assert stub.Get(service_pb2.GetRequest(job=ref(job))).status.restarts == 0, "a resume is no restart"
    stub.Cancel(service_pb2.CancelRequest(job=ref(job)))
    assert state_name(wait(stub, job)) == "CANCELED"
    error = refused(stub.Resume, service_pb2.ResumeRequest(job=ref(job)))
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION


def test_submitted_suspended_waits_for_resume(stub):
    s = spec("true")
    s.run_policy.suspend = True
    job = submit(stub, s).job
    assert (state_name(job.status), reason_name(job.status)) == ("SUSPENDED", "SUBMITTED_SUSPENDED")
    time.sleep(0.3)
    assert state_name(stub.Get(service_pb2.GetRequest(job=ref(job))).status) == "SUSPENDED"
    stub.Resume(service_pb2.ResumeRequest(job=ref(job)))
    assert state_name(wait(stub, job)) == "SUCCEEDED"


def test_resumed_and_queued_when_the_daemon_restarts(make_daemon, tmp_path):
    """It had an attempt, which was suspended; it waits for its next one, and must not be taken for lost or suspended."""
    mark = tmp_path / "starts"
    d = make_daemon(config="local: {cpu: 1}\n")
    stub = d.stub()
    job = submit(stub, spec(f"echo x >> {mark}; test $(wc -l < {mark}) -ge 2 || sleep 300")).job
    while not mark.exists():
        time.sleep(0.02)
    stub.Suspend(service_pb2.SuspendRequest(job=ref(job)), timeout=30)
    blocker = submit(stub, spec("sleep 300")).job
    while state_name(stub.Get(service_pb2.GetRequest(job=ref(blocker))).status) != "RUNNING":
        time.sleep(0.02)
    assert state_name(stub.Resume(service_pb2.ResumeRequest(job=ref(job))).status) == "PENDING"
    d.kill()
    d.start()
    stub = d.stub()
    assert state_name(stub.Get(service_pb2.GetRequest(job=ref(job))).status) == "PENDING"
    stub.Cancel(service_pb2.CancelRequest(job=ref(blocker)))
    status = wait(stub, job)
    assert (state_name(status), status.attempt, status.restarts) == ("SUCCEEDED", 2, 0)
    assert mark.read_text() == "x\nx\n"


def test_delete(stub):
    job = submit(stub, spec("sleep 300", name="doomed")).job
    error = refused(stub.Delete, service_pb2.DeleteRequest(job=ref(job)))
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION and details(error)["ErrorInfo"].reason == "JOB_ACTIVE"
    assert stub.Delete(service_pb2.DeleteRequest(job=ref(job), force=True), timeout=30).uid == job.uid
    assert refused(stub.Get, service_pb2.GetRequest(job=ref(job))).code() == grpc.StatusCode.NOT_FOUND
    assert submit(stub, spec("true", name="doomed")).job.uid != job.uid, "the name is free again and is another job"


def test_name_is_taken_while_the_record_exists(stub):
    job = submit(stub, spec("true", name="one")).job
    error = refused(submit, stub, spec("true", name="one"))
    assert error.code() == grpc.StatusCode.ALREADY_EXISTS
    assert details(error)["ResourceInfo"].resource_name == job.uid


def test_queue_says_what_it_waits_for(make_daemon):
    d = make_daemon(config="local: {cpu: 1}\n")
    stub = d.stub()
    first = submit(stub, spec("sleep 300")).job
    second = submit(stub, spec("true")).job
    end = time.monotonic() + 10
    status = second.status
    while reason_name(status) != "QUEUED" and time.monotonic() < end:
        time.sleep(0.05)
        status = stub.Get(service_pb2.GetRequest(job=ref(second))).status
    assert (state_name(status), reason_name(status)) == ("PENDING", "QUEUED")
    assert "CPU" in status.message
    stub.Cancel(service_pb2.CancelRequest(job=ref(first)))
    assert state_name(wait(stub, second)) == "SUCCEEDED"


def test_gpus_are_told_apart(make_daemon):
    d = make_daemon(config="local: {cpu: 16, gpu: 3}\n")
    stub = d.stub()
    s = spec('echo "[$CUDA_VISIBLE_DEVICES]"', replicas=3)
    s.roles[0].resources.gpu = 1
    job = submit(stub, s).job
    assert state_name(wait(stub, job)) == "SUCCEEDED"
    assert sorted(read_logs(stub, job).split()) == [b"[0]", b"[1]", b"[2]"]
    s.roles[0].resources.gpu = 2
    error = refused(submit, stub, s)
    assert error.code() in {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION}, "6 GPUs can never be had here"


def test_environment_is_clean(make_daemon):
    d = make_daemon(env={"SECRET_OF_THE_DAEMON": "hunter2"})
    stub = d.stub()
    s = spec(["env", "-0"])
    s.roles[0].env.add(name="MINE", value="  1e-05 = yes\n")
    job = submit(stub, s).job
    wait(stub, job)
    env = dict(v.split("=", 1) for v in read_logs(stub, job).decode().split("\0") if v)
    assert env["MINE"] == "  1e-05 = yes\n"
    assert env["TRAINERD_JOB_UID"] == job.uid and env["RANK"] == "0" and env["WORLD_SIZE"] == "1"
    assert not any("hunter2" in v for v in env.values())
    assert "ASAN_OPTIONS" not in env
    fds = submit(stub, spec(["ls", "/proc/self/fd"])).job
    wait(stub, fds)
    assert read_logs(stub, fds).split() == [b"0", b"1", b"2", b"3"], "0, 1, 2 and the directory that ls itself opens"


def test_idempotency(daemon, stub):
    s = spec("true")
    first = submit(stub, s, "key-1")
    second = submit(stub, s, "key-1")
    assert (first.duplicate, second.duplicate) == (False, True) and first.job.uid == second.job.uid
    error = refused(submit, stub, spec("false"), "key-1")
    assert error.code() == grpc.StatusCode.ALREADY_EXISTS and details(error)["ErrorInfo"].reason == "REQUEST_ID_REUSED"
    s.namespace = "other"
    assert submit(stub, s, "key-1").job.uid != first.job.uid, "keys of namespaces are independent"
    wait(stub, first.job)
    daemon.kill()
    daemon.start()
    s.namespace = ""
    third = submit(daemon.stub(), s, "key-1")
    assert third.duplicate and third.job.uid == first.job.uid


def test_P01_fifty_duplicates_at_once(stub):
    s = spec("true", name_prefix="dup")
    calls = [stub.Submit.future(service_pb2.SubmitRequest(spec=s, request_id="same")) for _ in range(50)]
    answers = [c.result(timeout=30) for c in calls]
    assert len({a.job.uid for a in answers}) == 1
    assert sorted(a.duplicate for a in answers) == [False] + [True] * 49


def test_validate_only_creates_nothing(stub):
    answer = submit(stub, spec("true", name="check"), validate_only=True)
    assert answer.job.uid == "" and answer.job.name == "check"
    assert stub.List(service_pb2.ListRequest()).total == 0
    error = refused(submit, stub, spec([], name="Check"), validate_only=True)
    assert "name" in fields(error)


def test_bad_input_names_every_field(stub):
    s = spec("true", name="Bad_Name", runtime="process")
    s.roles[0].env.add(name="A", value="secret-1")
    s.roles[0].env.add(name="A", value="secret-2")
    s.roles[0].resources.memory = "6GiB"
    s.roles[0].replicas.value = -1
    error = refused(submit, stub, s)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert {"name", "roles[0].env[1].name", "roles[0].resources.memory", "roles[0].replicas"} <= set(fields(error))
    assert "secret" not in error.details() and "secret" not in str(fields(error))


@pytest.mark.parametrize("wrong,nearest", [("pytorh", "pytorch"), ("Process", "process"), ("tensorflw", "tensorflow")])
def test_unknown_runtime_names_the_nearest(stub, wrong, nearest):
    error = refused(submit, stub, spec("true", runtime=wrong))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert f'"{nearest}"' in fields(error)["runtime"]


def test_unknown_role_lists_the_right_ones(stub):
    error = refused(submit, stub, spec("true", runtime="pytorch", role="ps"))
    assert "master" in fields(error)["roles[0].name"] and "worker" in fields(error)["roles[0].name"]


def test_list_pages_are_stable(stub):
    uids = [submit(stub, spec("true", name_prefix="page", labels={"n": str(i % 2)})).job.uid for i in range(25)]
    page = stub.List(service_pb2.ListRequest(page_size=10))
    assert page.total == 25 and [j.uid for j in page.jobs] == uids[:14:-1]
    submit(stub, spec("true", name_prefix="late"))
    rest, token = [], page.next_page_token
    while token:
        page = stub.List(service_pb2.ListRequest(page_size=10, page_token=token))
        rest += [j.uid for j in page.jobs]
        token = page.next_page_token
    assert rest == uids[14::-1], "what came later is not on later pages, and nothing is missing"
    even = stub.List(service_pb2.ListRequest(selector=watch_pb2.JobSelector(label_selector="n in (0)")))
    assert {j.uid for j in even.jobs} == set(uids[::2])
    error = refused(stub.List, service_pb2.ListRequest(page_token=token or "x", page_size=10))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    error = refused(stub.List, service_pb2.ListRequest(selector=watch_pb2.JobSelector(label_selector="a in (")))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_full_view_after_a_restart(daemon, stub):
    s = spec("true", name="full", annotations={"note": "x"})
    job = submit(stub, s).job
    wait(stub, job)
    daemon.restart()
    got = daemon.stub().Get(service_pb2.GetRequest(job=ref(job), full=True))
    assert got.spec.roles[0].command == s.roles[0].command and got.annotations["note"] == "x"
    assert got.spec.roles[0].replicas.value == 1
    assert not daemon.stub().Get(service_pb2.GetRequest(job=ref(job))).HasField("spec")


def test_render_is_pure_and_needs_no_backend(stub):
    s = spec(["python3", "train.py"], replicas=2, runtime="pytorch", name="r")
    s.roles.add(name="Master", command=["python3", "train.py"])
    request = service_pb2.RenderRequest(spec=s)
    first, second = stub.Render(request), stub.Render(request)
    assert first == second and first.rendered[0].target == "local" and first.rendered[0].chosen
    assert '"MASTER_PORT"' in first.rendered[0].json
    assert stub.List(service_pb2.ListRequest()).total == 0


def test_what_is_not_live_says_so(stub):
    info = stub.GetServerInfo(runtime_pb2.GetServerInfoRequest())
    live = {m.name: m.live for m in info.methods}
    assert not live["SubmitBatch"] and live["Submit"]
    for name, is_live in live.items():
        if not is_live:
            request = {"SubmitBatch": service_pb2.SubmitBatchRequest,
                       "ReportMetrics": logs_pb2.ReportMetricsRequest, "QueryMetrics": logs_pb2.QueryMetricsRequest}[name]
            error = refused(getattr(stub, name), request())
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED
            assert details(error)["ErrorInfo"].domain == "trainerd"


def test_runtimes(stub):
    runtimes = {r.name: r for r in stub.ListRuntimes(runtime_pb2.ListRuntimesRequest()).runtimes}
    assert {"process", "pytorch", "tensorflow", "xgboost", "mpi", "jax", "paddle"} <= set(runtimes)
    assert all(r.available and r.plugin.abi == "1.1" for r in runtimes.values())
    one = stub.GetRuntime(runtime_pb2.GetRuntimeRequest(name="pytorch"))
    assert one == runtimes["pytorch"] and [r.name for r in one.roles] == ["master", "worker"]
    assert refused(stub.GetRuntime, runtime_pb2.GetRuntimeRequest(name="nope")).code() == grpc.StatusCode.NOT_FOUND


def test_what_a_target_cannot_do_is_refused_not_ignored(stub):
    s = spec("true")
    s.depends_on.add(job="other")
    assert "depends_on" in fields(refused(submit, stub, s))
    error = refused(submit, stub, job_pb2.JobSpec(manifest="kind: PyTorchJob"))
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION


def test_jobs_outlive_the_daemon(daemon, stub, tmp_path):
    go = tmp_path / "go"
    long = submit(stub, spec(f"while [ ! -e {go} ]; do sleep 0.05; done; echo end; exit 5")).job
    short = submit(stub, spec("sleep 0.7; echo short")).job
    while state_name(stub.Get(service_pb2.GetRequest(job=ref(short))).status) != "RUNNING":
        time.sleep(0.02)
    pids = daemon.job_processes(long.uid)
    daemon.kill()
    time.sleep(1.2)
    daemon.start()
    stub = daemon.stub()
    assert state_name(wait(stub, short)) == "SUCCEEDED", "it ended while nobody looked"
    assert set(pids) & set(daemon.job_processes(long.uid)), "adopted, not started again"
    go.touch()
    status = wait(stub, long)
    assert (state_name(status), status.exit.exit_code, status.attempt) == ("FAILED", 5, 1)
    assert read_logs(stub, long) == b"end\n" and read_logs(stub, short) == b"short\n"


def test_orderly_stop_leaves_jobs_running(daemon, stub):
    job = submit(stub, spec("sleep 1; exit 4")).job
    while state_name(stub.Get(service_pb2.GetRequest(job=ref(job))).status) != "RUNNING":
        time.sleep(0.02)
    assert daemon.stop() == 0
    daemon.start()
    assert wait(daemon.stub(), job).exit.exit_code == 4


def test_submit_and_watch(stub):
    request = service_pb2.SubmitAndWatchRequest(submit=service_pb2.SubmitRequest(spec=spec("exit 2")))
    messages = list(stub.SubmitAndWatch(request, timeout=30))
    assert messages[0].WhichOneof("message") == "submitted"
    uid = messages[0].submitted.job.uid
    states = [m.transition.to for m in messages if m.WhichOneof("message") == "transition"]
    assert states[-1] == job_pb2.Job.FAILED and all(m.transition.uid in ("", uid) for m in messages)
    assert all(m.resume_token for m in messages)
    assert TERMINAL & set(states) == {job_pb2.Job.FAILED}
