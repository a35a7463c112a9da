"""The Kubernetes backend against an API server that does everything wrong once."""

import threading
import time

import grpc
import pytest

from daemon import ref, state_name, reason_name, submit, wait
from fakeapi import FakeApi
from test_rpc_traps import failed, info_of, reason, until
from trainer.v1 import job_pb2, logs_pb2, service_pb2, watch_pb2

JOBS = "pytorchjobs"


@pytest.fixture
def api():
    fake = FakeApi()
    yield fake
    fake.stop()


@pytest.fixture
def kube(api, make_daemon, tmp_path):
    """A daemon that has listed the cluster."""
    path = api.kubeconfig(tmp_path / "kubeconfig")
    daemon = make_daemon(config=f"kubernetes: {{kubeconfig: {path}}}\nlog_level: debug\n")
    until(lambda: healthy(daemon.stub()), 20)
    return daemon


def healthy(stub):
    return {b.name: b.healthy for b in info_of(stub).backends}["kubernetes"]


def spec(name="", workers=1, **kw):
    s = job_pb2.JobSpec(runtime="pytorch", backend="kubernetes", name=name, name_prefix="" if name else "job", **kw)
    s.roles.add(name="master", image="train:1").replicas.value = 1
    if workers:
        s.roles.add(name="worker", image="train:1").replicas.value = workers
    return s


def get(stub, job):
    return stub.Get(service_pb2.GetRequest(job=ref(job)), timeout=10).status


def becomes(stub, job, state, why=None, seconds=10):
    def there():
        s = get(stub, job)
        return state_name(s) == state and (why is None or reason_name(s) == why)

    try:
        until(there, seconds)
    except AssertionError:
        s = get(stub, job)
        raise AssertionError(f"{state} {why} expected, is {state_name(s)} {reason_name(s)}: {s.message}") from None
    return get(stub, job)


def cancel(stub, job):
    return stub.Cancel(service_pb2.CancelRequest(job=ref(job)), timeout=10)


class Transitions:
    """All transitions of one job, from its beginning."""

    def __init__(self, stub, job):
        self.states, self.tokens, self.snapshots = [], [], 0
        self.call = stub.Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(uids=[job.uid])))
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        until(lambda: self.snapshots)

    def run(self):
        try:
            for m in self.call:
                kind = m.WhichOneof("message")
                if kind == "snapshot":
                    self.states.append(state_name(m.snapshot.status))
                elif kind == "snapshot_end":
                    self.snapshots += 1
                elif kind == "transition":
                    self.states.append(state_name(m.transition.status))
        except grpc.RpcError:
            pass

    def distinct(self):
        return [s for i, s in enumerate(self.states) if i == 0 or s != self.states[i - 1]]


# ---- Submit ---------------------------------------------------------------------------------------------------------


def test_a_job_becomes_an_object_with_its_identity(api, kube):
    stub = kube.stub()
    answer = submit(stub, spec("one", workers=2, labels={"team": "a"}), request_id="r-1")
    (obj,) = api.all(JOBS)
    meta = obj["metadata"]
    assert meta["name"] == "one" and meta["namespace"] == "default"
    assert meta["labels"]["trainerd/job-uid"] == answer.job.uid
    assert meta["labels"]["app.kubernetes.io/managed-by"] == "trainerd"
    assert meta["labels"]["team"] == "a"
    assert meta["annotations"]["trainerd/request-id"] == "r-1"
    replicas = obj["spec"]["pytorchReplicaSpecs"]
    assert {k: v.get("replicas", 1) for k, v in replicas.items()} == {"Master": 1, "Worker": 2}
    for r in replicas.values():
        assert r["template"]["metadata"]["labels"]["trainerd/job-uid"] == answer.job.uid
    (post,) = [r for r in api.requests if r.verb == "POST"]
    assert post.query["fieldValidation"] == "Strict" and post.query["fieldManager"] == "trainerd"
    assert post.headers["Authorization"] == "Bearer secret-token"
    assert "secret-token" not in kube.log()


def test_P01_the_same_request_makes_one_object(api, kube):
    stub = kube.stub()
    calls = [stub.Submit.future(service_pb2.SubmitRequest(spec=spec("p01"), request_id="r"), timeout=20) for _ in range(50)]
    answers = [c.result() for c in calls]
    assert len({a.job.uid for a in answers}) == 1 and sum(not a.duplicate for a in answers) == 1
    assert len(api.all(JOBS)) == 1 and api.count("POST") == 1
    error = failed(submit, stub, spec("p01", workers=3), request_id="r")
    assert error.code() == grpc.StatusCode.ALREADY_EXISTS and reason(error) == "REQUEST_ID_REUSED"


def test_validate_only_asks_the_cluster_and_makes_nothing(api, kube):
    stub = kube.stub()
    answer = submit(stub, spec("dry"), validate_only=True)
    assert not answer.job.uid and not api.all(JOBS)
    (post,) = [r for r in api.requests if r.verb == "POST"]
    assert post.query["dryRun"] == "All"
    api.next("POST", JOBS, status=422, message="spec is odd", reason="Invalid")
    error = failed(submit, stub, spec("dry"), validate_only=True)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "spec is odd" in error.details()


REFUSALS = [
    (400, None, "strict decoding error", grpc.StatusCode.INVALID_ARGUMENT, "KUBE_BAD_REQUEST"),
    (401, None, "Unauthorized", grpc.StatusCode.UNAUTHENTICATED, "KUBE_UNAUTHORIZED"),
    (403, None, "not allowed", grpc.StatusCode.PERMISSION_DENIED, "KUBE_FORBIDDEN"),
    (403, None, 'admission webhook "v" denied the request: name', grpc.StatusCode.INVALID_ARGUMENT, "KUBE_WEBHOOK_DENIED"),
    (404, None, "no such resource", grpc.StatusCode.NOT_FOUND, "KUBE_NOT_FOUND"),
    (409, "Conflict", "changed", grpc.StatusCode.ABORTED, "KUBE_CONFLICT"),
    (413, "RequestEntityTooLarge", "too large", grpc.StatusCode.INVALID_ARGUMENT, "KUBE_TOO_LARGE"),
    (422, None, "invalid", grpc.StatusCode.INVALID_ARGUMENT, "KUBE_INVALID"),
]


@pytest.mark.parametrize("code, word, message, answer, why", REFUSALS, ids=[f"{r[0]}-{r[4]}" for r in REFUSALS])
def test_what_the_cluster_refuses_is_refused_and_leaves_nothing(api, kube, code, word, message, answer, why):
    stub = kube.stub()
    api.next("POST", JOBS, status=code, message=message, reason=word, times=3)
    error = failed(submit, stub, spec("no"))
    assert error.code() == answer and reason(error) == why and message in error.details()
    assert not api.all(JOBS)
    assert not stub.List(service_pb2.ListRequest(), timeout=10).jobs
    for fault in api.faults:
        fault.left = 0
    submit(stub, spec("no"))  # the name is free
    assert len(api.all(JOBS)) == 1


PASSING = {
    "429": dict(status=429, retry_after=1),
    "500": dict(status=500),
    "503": dict(status=503),
    "504-not-done": dict(status=504),
    "reset-before-the-answer": dict(reset_at=0),
    "reset-in-the-head": dict(reset_at=20),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_what_passes_is_tried_again(api, kube, fault):
    api.next("POST", JOBS, **fault)
    answer = submit(kube.stub(), spec("again"))
    (obj,) = api.all(JOBS)
    assert obj["metadata"]["labels"]["trainerd/job-uid"] == answer.job.uid


DOUBTFUL = {f"reset-at-{n}": dict(done=True, reset_at=n) for n in (0, 1, 17, 60, 120, 400)} | {
    "headers-only": dict(done=True, close_after_headers=True),
    "garbage": dict(done=True, garbage=b"\x00\xff no json"),
}


@pytest.mark.parametrize("fault", DOUBTFUL.values(), ids=DOUBTFUL.keys())
def test_an_answer_that_is_lost_neither_doubles_nor_fails_the_job(api, kube, fault):
    api.next("POST", JOBS, **fault)
    answer = submit(kube.stub(), spec("doubt"))
    (obj,) = api.all(JOBS)
    assert obj["metadata"]["labels"]["trainerd/job-uid"] == answer.job.uid


def test_a_name_that_another_object_has_is_told(api, kube):
    api.put(JOBS, {"metadata": {"name": "taken", "namespace": "default"}, "spec": {}})
    error = failed(submit, kube.stub(), spec("taken"))
    assert error.code() == grpc.StatusCode.ALREADY_EXISTS and reason(error) == "NAME_TAKEN"
    assert len(api.all(JOBS)) == 1


def test_a_server_that_is_away_is_said_so(api, kube):
    stub = kube.stub()
    api.next("POST", JOBS, status=503, times=100)
    error = failed(submit, stub, spec("away"), timeout=60)
    assert error.code() == grpc.StatusCode.UNAVAILABLE and reason(error) == "KUBE_UNAVAILABLE"


def test_a_token_that_is_refused_is_read_again(api, make_daemon, tmp_path):
    token = tmp_path / "token"
    token.write_text("old\n")
    path = api.kubeconfig(tmp_path / "kubeconfig")
    path.write_text(path.read_text().replace('"token": "secret-token"', f'"tokenFile": "{token}"'))
    daemon = make_daemon(config=f"kubernetes: {{kubeconfig: {path}}}\n")
    stub = daemon.stub()
    until(lambda: healthy(stub), 20)
    token.write_text("new\n")
    api.next("POST", JOBS, status=401)
    submit(stub, spec("again"))
    assert [r.headers["Authorization"] for r in api.requests if r.verb == "POST"] == ["Bearer old", "Bearer new"]


# ---- State ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def running(api, kube):
    """A job with its object, as (stub, job, object)."""
    stub = kube.stub()
    job = submit(stub, spec("j", workers=2)).job
    (obj,) = api.all(JOBS)
    return stub, job, obj


def test_the_way_of_a_job(api, running):
    stub, job, obj = running
    seen = Transitions(stub, job)
    api.conditions(JOBS, "default", "j", "Created")
    for role, index in (("master", 0), ("worker", 0), ("worker", 1)):
        api.pod(obj, role, index, "Pending")
    becomes(stub, job, "STARTING", "STARTED")
    for role, index in (("master", 0), ("worker", 0), ("worker", 1)):
        api.pod(obj, role, index)
    api.conditions(JOBS, "default", "j", "Created", "Running")
    s = becomes(stub, job, "RUNNING", "ALL_RUNNING")
    assert {r.name: (r.desired, r.running) for r in s.roles} == {"master": (1, 1), "worker": (2, 2)}
    api.conditions(JOBS, "default", "j", "Created", "Running!", "Succeeded")
    assert state_name(wait(stub, job)) == "SUCCEEDED"
    until(lambda: seen.distinct()[-1:] == ["SUCCEEDED"])
    assert seen.distinct() == ["PENDING", "STARTING", "RUNNING", "SUCCEEDED"]


WAITS = {
    "unschedulable": ({"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes: no GPU"}]}, "UNSCHEDULABLE", "0/3 nodes: no GPU"),
    "T01-image": ({"containerStatuses": [{"name": "pytorch", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no train:1"}}}]}, "IMAGE_PULL", "no train:1"),
    "config": ({"containerStatuses": [{"name": "pytorch", "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no secret s"}}}]}, "CREATE_FAILED", "no secret s"),
    "S21-init": ({"initContainerStatuses": [{"name": "fetch", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}]}, "CRASH_LOOP", "init container fetch"),
}  # fmt: skip


@pytest.mark.parametrize("pod, why, text", WAITS.values(), ids=WAITS.keys())
def test_why_it_does_not_run(api, running, pod, why, text):
    stub, job, obj = running
    api.conditions(JOBS, "default", "j", "Created")
    api.pod(obj, "worker", 1, "Pending", **pod)
    s = becomes(stub, job, "PENDING", why, 5)
    assert text in s.message and "j-worker-1" in s.message
    for role, index in (("master", 0), ("worker", 0), ("worker", 1)):
        api.pod(obj, role, index)
    api.conditions(JOBS, "default", "j", "Created", "Running")
    becomes(stub, job, "RUNNING", "ALL_RUNNING")


def warning(obj, why, message, count=1):
    return {
        "metadata": {"name": f"{why}.1", "namespace": "default"}, "type": "Warning", "reason": why, "message": message, "count": count,
        "involvedObject": {"kind": "PyTorchJob", "name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]},
    }  # fmt: skip


def test_T03_children_that_cannot_be_made_and_then_can(api, running):
    stub, job, obj = running
    seen = Transitions(stub, job)
    api.conditions(JOBS, "default", "j", "Created")
    for count in range(1, 6):
        api.put("events", warning(obj, "FailedCreatePod", 'pods "j-master-0" is forbidden: exceeded quota: small', count))
    s = becomes(stub, job, "PENDING", "QUOTA_EXCEEDED", 5)
    assert "exceeded quota: small" in s.message
    time.sleep(0.3)
    assert len(seen.states) <= 3  # the same again is not told again
    for role, index in (("master", 0), ("worker", 0), ("worker", 1)):
        api.pod(obj, role, index)
    api.conditions(JOBS, "default", "j", "Created", "Running")
    becomes(stub, job, "RUNNING", "ALL_RUNNING")


def test_S22_an_operator_that_refuses_by_event_only(api, running):
    stub, job, obj = running
    api.put("events", warning(obj, "MPIJobFailedValidation", "launcher is missing"))
    s = becomes(stub, job, "FAILED", "VALIDATION_FAILED")
    assert "launcher is missing" in s.message


def test_T05_only_the_set_of_conditions_counts(api, running):
    stub, job, _ = running
    seen = Transitions(stub, job)
    api.conditions(JOBS, "default", "j", "Created", "Running")
    becomes(stub, job, "RUNNING")
    api.conditions(JOBS, "default", "j", "Restarting", "Created")
    becomes(stub, job, "RESTARTING")
    api.conditions(JOBS, "default", "j", "Running", "Created")
    becomes(stub, job, "RUNNING")
    assert seen.distinct() == ["PENDING", "RUNNING", "RESTARTING", "RUNNING"]


def test_T11_a_status_that_makes_no_sense_changes_nothing(api, running):
    stub, job, _ = running
    api.conditions(JOBS, "default", "j", "Created", "Running")
    becomes(stub, job, "RUNNING")
    for odd in ("text", 7, [7, None, {"status": "True"}], {"type": "Failed"}):
        api.change(JOBS, "default", "j", status={"conditions": odd, "replicaStatuses": None})
    api.change(JOBS, "default", "j", status={"conditions": [{"type": "Preempted", "status": "True"}, {"type": "Failed", "status": "Unknown"}, {"type": "Running", "status": "True"}]})  # fmt: skip
    time.sleep(0.3)
    assert state_name(get(stub, job)) in ("RUNNING", "PENDING")
    assert state_name(get(stub, job)) != "FAILED"
    api.conditions(JOBS, "default", "j", "Succeeded")
    becomes(stub, job, "SUCCEEDED")


def test_a_failure_says_which_container_and_how(api, running):
    stub, job, obj = running
    api.conditions(JOBS, "default", "j", "Created", "Running")
    ended = {"exitCode": 3, "reason": "Error", "finishedAt": "2026-01-02T03:04:05Z"}
    api.pod(obj, "worker", 1, "Failed", containerStatuses=[{"name": "pytorch", "state": {"terminated": ended}}])
    time.sleep(0.1)
    api.conditions(JOBS, "default", "j", "Created", "Running!", "Failed")
    s = becomes(stub, job, "FAILED", "NONZERO_EXIT")
    assert (s.exit.role, s.exit.index, s.exit.exit_code, s.exit.node) == ("worker", 1, 3, "node-1")


def test_a_failure_that_is_told_before_its_reason(api, running):
    stub, job, obj = running
    api.conditions(JOBS, "default", "j", "Created", "Running!", "Failed")
    time.sleep(0.3)
    assert state_name(get(stub, job)) == "PENDING"
    ended = {"exitCode": 5, "reason": "Error", "finishedAt": "2026-01-02T03:04:05Z"}
    api.pod(obj, "master", 0, "Failed", containerStatuses=[{"name": "pytorch", "state": {"terminated": ended}}])
    assert becomes(stub, job, "FAILED", "NONZERO_EXIT").exit.exit_code == 5


def test_a_failure_without_a_reason_is_told_all_the_same(api, running):
    stub, job, _ = running
    api.conditions(JOBS, "default", "j", "Created", "Running!", "Failed")
    assert becomes(stub, job, "FAILED", "BACKEND_ERROR").message == "job is Failed"


def test_a_terminal_state_never_leaves(api, running):
    stub, job, _ = running
    api.conditions(JOBS, "default", "j", "Succeeded")
    becomes(stub, job, "SUCCEEDED")
    api.conditions(JOBS, "default", "j", "Running")
    api.conditions(JOBS, "default", "j", "Failed")
    api.remove(JOBS, "default", "j")
    time.sleep(0.3)
    assert state_name(get(stub, job)) == "SUCCEEDED"


def test_an_object_that_others_delete_is_told(api, running):
    stub, job, _ = running
    api.conditions(JOBS, "default", "j", "Created", "Running")
    becomes(stub, job, "RUNNING")
    api.remove(JOBS, "default", "j")
    becomes(stub, job, "CANCELED", "DELETED_EXTERNALLY")


# ---- Watch ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["answer", "event"])
def test_W01_gone_in_both_forms_lists_again_and_tells_what_was_missed_once(api, running, form):
    stub, job, _ = running
    seen = Transitions(stub, job)
    lists = api.count("LIST", JOBS)
    if form == "event":
        api.next("WATCH", JOBS, error_event=410)
    with api.lock:  # the watch ends, and while nobody looks the job ends too
        api.compact()
        api.lock.notify_all()
        obj = [o for (p, _, _), o in api.objects.items() if p == JOBS][0]
    obj.setdefault("status", {})["conditions"] = [{"type": "Succeeded", "status": "True"}]
    api.version += 1
    obj["metadata"]["resourceVersion"] = str(api.version)
    api.compact()
    becomes(stub, job, "SUCCEEDED", seconds=20)
    assert seen.distinct().count("SUCCEEDED") == 1
    assert api.count("LIST", JOBS) > lists


def test_W01_an_object_that_went_in_the_gap_is_told(api, running):
    stub, job, _ = running
    api.conditions(JOBS, "default", "j", "Created", "Running")
    becomes(stub, job, "RUNNING")
    with api.lock:
        api.objects.pop((JOBS, "default", "j"))
        api.version += 1
        api.compact()
        api.lock.notify_all()
    becomes(stub, job, "CANCELED", "DELETED_EXTERNALLY", 20)


def test_W02_W03_the_watch_goes_on_from_the_right_version(api, running):
    stub, job, _ = running
    api.next("WATCH", JOBS, error_event=500, message="broken", times=2)
    api.compact()
    api.conditions(JOBS, "default", "j", "Running")
    becomes(stub, job, "RUNNING", seconds=20)
    for r in api.requests:
        if r.verb == "WATCH":
            assert r.query["resourceVersion"].isdigit(), r
            assert int(r.query["timeoutSeconds"]) >= 200 and r.query["allowWatchBookmarks"] == "true"


def test_W07_a_version_that_the_server_has_not_reached(api, running):
    stub, job, _ = running
    api.next("WATCH", JOBS, status=504, message="Too large resource version: 750, current: 1", reason="Timeout")
    api.compact()
    api.conditions(JOBS, "default", "j", "Running")
    becomes(stub, job, "RUNNING", seconds=20)


def test_garbage_in_the_stream_lists_again(api, running):
    stub, job, _ = running
    api.next("WATCH", JOBS, garbage=b'{"type":"ADDED","object":}\n')
    api.compact()
    api.conditions(JOBS, "default", "j", "Running")
    becomes(stub, job, "RUNNING", seconds=20)


def test_an_event_of_megabytes_comes_through(api, running):
    stub, job, _ = running
    api.change(JOBS, "default", "j", metadata={"annotations": {"large": "x" * 3_000_000}})
    api.conditions(JOBS, "default", "j", "Running")
    becomes(stub, job, "RUNNING", seconds=20)


def test_health_follows_the_cluster(api, kube):
    stub = kube.stub()
    api.next("WATCH", JOBS, status=503, times=3)
    api.compact()
    until(lambda: not healthy(stub), 20)
    until(lambda: healthy(stub), 60)


# ---- Restart ------------------------------------------------------------------------------------------------------------


def test_W05_a_restart_tells_what_changed_meanwhile_once(api, kube):
    stub = kube.stub()
    jobs = {n: submit(stub, spec(n)).job for n in ("ends", "goes", "stays")}
    for name in jobs:
        api.conditions(JOBS, "default", name, "Created", "Running")
    for job in jobs.values():
        becomes(stub, job, "RUNNING")
    kube.kill()
    api.conditions(JOBS, "default", "ends", "Created", "Running!", "Succeeded")
    api.remove(JOBS, "default", "goes")
    kube.start()
    stub = kube.stub()
    becomes(stub, jobs["ends"], "SUCCEEDED")
    becomes(stub, jobs["goes"], "CANCELED", "DELETED_EXTERNALLY")
    becomes(stub, jobs["stays"], "RUNNING")


# ---- Cancel, suspend, delete --------------------------------------------------------------------------------------------


def test_K04_cancel_suspends_the_object_and_keeps_the_record(api, running):
    stub, job, obj = running
    api.pod(obj, "master", 0)
    api.conditions(JOBS, "default", "j", "Created", "Running")
    until(lambda: any(r.running for r in get(stub, job).roles))
    assert state_name(cancel(stub, job).status) == "CANCELING"
    until(lambda: api.count("PATCH"))
    (patch,) = [r for r in api.requests if r.verb == "PATCH"]
    assert patch.headers["Content-Type"] == "application/merge-patch+json"
    assert api.all(JOBS)[0]["spec"]["runPolicy"]["suspend"] is True
    api.conditions(JOBS, "default", "j", "Created", "Suspended")
    time.sleep(0.2)
    assert state_name(get(stub, job)) == "CANCELING"  # a pod is still there
    api.remove("pods", "default", "j-master-0")
    becomes(stub, job, "CANCELED", "CANCELED_BY_USER")
    assert api.all(JOBS)


def test_a_cancel_that_the_cluster_does_not_hear_at_first(api, running):
    stub, job, _ = running
    api.next("PATCH", JOBS, status=503, times=2)
    api.next("PATCH", JOBS, reset_at=0)
    cancel(stub, job)
    until(lambda: api.all(JOBS)[0]["spec"].get("runPolicy", {}).get("suspend"), 20)
    api.conditions(JOBS, "default", "j", "Suspended")
    becomes(stub, job, "CANCELED", "CANCELED_BY_USER")


def test_suspend_and_resume(api, running):
    stub, job, _ = running
    api.conditions(JOBS, "default", "j", "Created", "Running")
    becomes(stub, job, "RUNNING")
    call = stub.Suspend.future(service_pb2.SuspendRequest(job=ref(job)), timeout=10)
    until(lambda: api.all(JOBS)[0]["spec"].get("runPolicy", {}).get("suspend"))
    api.conditions(JOBS, "default", "j", "Created", "Suspended")
    assert state_name(call.result().status) == "SUSPENDED"
    stub.Resume(service_pb2.ResumeRequest(job=ref(job)), timeout=10)
    until(lambda: api.all(JOBS)[0]["spec"]["runPolicy"]["suspend"] is False)
    time.sleep(0.3)
    assert state_name(get(stub, job)) == "PENDING"  # the operator has not taken Suspended back yet
    api.conditions(JOBS, "default", "j", "Created", "Running")
    becomes(stub, job, "RUNNING")


def test_K02_delete_names_the_propagation_and_the_uid(api, running):
    stub, job, obj = running
    api.conditions(JOBS, "default", "j", "Succeeded")
    becomes(stub, job, "SUCCEEDED")
    stub.Delete(service_pb2.DeleteRequest(job=ref(job)), timeout=10)
    until(lambda: not api.all(JOBS))
    (request,) = [r for r in api.requests if r.verb == "DELETE"]
    body = __import__("json").loads(request.body)
    assert body["propagationPolicy"] == "Background" and body["preconditions"]["uid"] == obj["metadata"]["uid"]


# ---- Logs -----------------------------------------------------------------------------------------------------------------


def stamped(*lines, at=0):
    return b"".join(b"2026-01-02T03:04:%02d.%09dZ " % ((at + i) // 1000, (at + i) % 1000 + 1) + line for i, line in enumerate(lines))


def read(stub, job, timeout=20, **kw):
    request = logs_pb2.LogsRequest(job=ref(job), **kw)
    return b"".join(m.chunk.data for m in stub.Logs(request, timeout=timeout) if m.WhichOneof("message") == "chunk")


def test_L04_bytes_come_as_they_are(api, running):
    stub, job, obj = running
    odd = bytes(range(1, 10)) + b"\xff\xfe\xe2\x96\r50%\r100%"
    text = [odd + b"\n", b"x" * 1_000_000 + b"\n", b"\n", b"last without end"]
    api.pod(obj, "master", 0)
    api.logs["j-master-0"] = stamped(*text)
    api.next("GET", "/log", step=777)
    time.sleep(0.2)
    assert read(stub, job, role="master") == b"".join(text)


def test_L02_follow_waits_for_the_pod(api, running):
    stub, job, obj = running
    got = []
    thread = threading.Thread(target=lambda: got.append(read(stub, job, follow=True, role="master")))
    thread.start()
    time.sleep(0.3)
    api.pod(obj, "master", 0, "Pending")
    time.sleep(0.2)
    api.logs["j-master-0"] = stamped(b"one\n", b"two\n")
    api.pod(obj, "master", 0)
    time.sleep(0.5)
    api.pod(obj, "master", 0, "Succeeded")
    api.conditions(JOBS, "default", "j", "Succeeded")
    thread.join(20)
    assert got == [b"one\ntwo\n"]


def test_a_log_stream_that_is_cut_goes_on_where_it_was(api, running):
    stub, job, obj = running
    lines = [b"line %d\n" % i for i in range(500)]
    api.logs["j-master-0"] = stamped(*lines)
    for at in (100, 3_333, 10_007):
        api.next("GET", "/log", cut_at=at, reset_after=True)
    api.pod(obj, "master", 0)
    got = []
    thread = threading.Thread(target=lambda: got.append(read(stub, job, follow=True, role="master", timeout=40)))
    thread.start()
    until(lambda: api.count("GET", "/log") >= 4, 30)
    api.pod(obj, "master", 0, "Succeeded")
    api.conditions(JOBS, "default", "j", "Succeeded")
    thread.join(30)
    assert got[0].splitlines() == b"".join(lines).splitlines()


def test_a_crash_between_the_clusters_yes_and_the_journal_loses_nothing(api, kube):
    stub = kube.stub()
    api.next("POST", JOBS, done=True, stall=True)
    call = stub.Submit.future(service_pb2.SubmitRequest(spec=spec("half", labels={"a": "b"}), request_id="r"), timeout=30)
    until(lambda: api.all(JOBS))
    kube.kill()
    assert call.exception() is not None
    kube.start()
    stub = kube.stub()
    until(lambda: stub.List(service_pb2.ListRequest(), timeout=10).jobs, 20)
    again = submit(stub, spec("half", labels={"a": "b"}), request_id="r")
    assert again.duplicate and again.job.uid == api.all(JOBS)[0]["metadata"]["labels"]["trainerd/job-uid"]
    assert len(api.all(JOBS)) == 1
    api.conditions(JOBS, "default", "half", "Created", "Running")
    becomes(stub, again.job, "RUNNING")


def test_what_is_told_of_a_deleted_job_makes_no_new_one(api, running):
    stub, job, _ = running
    api.conditions(JOBS, "default", "j", "Succeeded")
    becomes(stub, job, "SUCCEEDED")
    api.next("DELETE", JOBS, status=503, times=2)
    stub.Delete(service_pb2.DeleteRequest(job=ref(job)), timeout=10)
    api.conditions(JOBS, "default", "j", "Succeeded", "Odd")
    time.sleep(0.3)
    assert not stub.List(service_pb2.ListRequest(), timeout=10).jobs
    until(lambda: not api.all(JOBS), 20)
    assert not stub.List(service_pb2.ListRequest(), timeout=10).jobs


def said(api, name, kind, about, uid, second, reason, **more):
    """An event of the cluster about an object, so many seconds after the first that was said."""
    api.said_from = getattr(api, "said_from", time.time())
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(api.said_from + second))
    api.put("events", {"metadata": {"name": name, "namespace": "default"}, "reason": reason, "type": "Normal", "count": 1,
                       "involvedObject": {"kind": kind, "name": about, "namespace": "default", "uid": uid},
                       "message": f"{reason} of {about}", "firstTimestamp": stamp, "lastTimestamp": stamp,
                       "source": {"component": "scheduler"}, **more})


def events_of(stub, job, limit=0):
    return list(stub.Events(logs_pb2.EventsRequest(job=ref(job), limit=limit), timeout=20).events)


def test_events_of_a_job_and_of_nothing_else(kube, api):
    stub = kube.stub()
    job = submit(stub, spec(name="train")).job
    other = submit(stub, spec(name="train-2")).job
    own = {o["metadata"]["name"]: o["metadata"]["uid"] for o in api.all(JOBS)}
    said(api, "c", "Pod", "train-worker-0", "gone-1", 3, "Killing", count=7, type="Warning")
    said(api, "a", "PyTorchJob", "train", own["train"], 1, "Created")
    said(api, "b", "Pod", "train-master-0", "gone-2", 2, "Scheduled")
    said(api, "d", "Pod", "train-2-master-0", "gone-3", 4, "Scheduled")  # of train-2
    said(api, "e", "PyTorchJob", "train-2", own["train-2"], 5, "Created")
    said(api, "f", "Pod", "train-master-0", "gone-4", -3600, "Old")  # of an earlier job of that name
    said(api, "g", "Node", "train-worker-0", "node", 6, "Rebooted")
    events = events_of(stub, job)
    assert [(e.reason, e.object) for e in events] == [
        ("Created", "PyTorchJob/train"), ("Scheduled", "Pod/train-master-0"), ("Killing", "Pod/train-worker-0")]
    last = events[-1]
    assert (last.type, last.count, last.source, last.message) == ("Warning", 7, "scheduler", "Killing of train-worker-0")
    assert last.last_time.seconds > events[0].last_time.seconds
    assert [e.reason for e in events_of(stub, other)] == ["Scheduled", "Created"]


def test_events_in_pages_and_the_newest_of_them(kube, api):
    stub = kube.stub()
    job = submit(stub, spec(name="many")).job
    uid = api.all(JOBS)[0]["metadata"]["uid"]
    for i in range(600):
        said(api, f"e{i:04}", "PyTorchJob", "many", uid, (i * 7) % 600, f"R{(i * 7) % 600}")
    lists = api.count("LIST", "events")
    assert [e.reason for e in events_of(stub, job, 3)] == ["R597", "R598", "R599"]
    assert api.count("LIST", "events") - lists == 3
    assert len(events_of(stub, job)) == 100
    assert len(events_of(stub, job, 1000)) == 600


def test_events_that_cannot_be_had(kube, api):
    stub = kube.stub()
    job = submit(stub, spec(name="quiet")).job
    assert events_of(stub, job) == []
    api.next("LIST", "events", status=403)
    assert failed(stub.Events, logs_pb2.EventsRequest(job=ref(job))).code() == grpc.StatusCode.PERMISSION_DENIED
    for limit in (-1, 1001):
        error = failed(stub.Events, logs_pb2.EventsRequest(job=ref(job), limit=limit))
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "limit" in error.details()


def scale(stub, job, replicas, role=""):
    return stub.Scale(service_pb2.ScaleRequest(job=ref(job), replicas=replicas, role=role), timeout=30)


def refused_scale(stub, job, *args):
    with pytest.raises(grpc.RpcError) as e:
        scale(stub, job, *args)
    return e.value


def desired(stub, job):
    return {r.name: r.desired for r in get(stub, job).roles}


def elastic(name, workers=2):
    return spec(name=name, workers=workers, elastic=job_pb2.ElasticPolicy(min=2, max=10, max_restarts={"value": 5}))


def test_E01_E02_scale_within_the_bounds(kube, api):
    stub = kube.stub()
    job = submit(stub, elastic("grow", 3)).job
    before = api.all(JOBS)[0]["spec"]
    assert before["elasticPolicy"] == {"minReplicas": 2, "maxReplicas": 10, "rdzvBackend": "c10d", "maxRestarts": 5}
    for replicas in (10, 2, 2):
        assert scale(stub, job, replicas).uid == job.uid
        after = api.all(JOBS)[0]["spec"]
        assert after["pytorchReplicaSpecs"]["Worker"].pop("replicas") == replicas
        want = {**before, "pytorchReplicaSpecs": {**before["pytorchReplicaSpecs"], "Worker": after["pytorchReplicaSpecs"]["Worker"]}}
        assert after == want  # and nothing else has changed
        until(lambda: desired(stub, job) == {"master": 1, "worker": replicas})
    for replicas, bound in ((1, "elastic.min (2)"), (11, "elastic.max (10)"), (0, "from 1 to 10000"), (-1, "from 1")):
        error = refused_scale(stub, job, replicas)
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and bound in error.details(), error.details()
    error = refused_scale(stub, job, 3, "master")
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "only worker" in error.details()
    kube.restart()
    until(lambda: healthy(kube.stub()), 20)
    until(lambda: desired(kube.stub(), job) == {"master": 1, "worker": 2})


def test_E01_what_cannot_be_scaled(kube, api):
    stub = kube.stub()
    alone = submit(stub, spec(name="alone", workers=0)).job
    error = refused_scale(stub, alone, 2)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "no role worker" in error.details()
    fixed = submit(stub, spec(name="fixed", workers=2)).job
    error = refused_scale(stub, fixed, 4)
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION and reason(error) == "NOT_ELASTIC"
    local = job_pb2.JobSpec(runtime="process", backend="local", name="here")
    local.roles.add(name="worker", command=["sleep", "30"])
    error = refused_scale(stub, submit(stub, local).job, 2)
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION and reason(error) == "NOT_SCALABLE"
    stub.Cancel(service_pb2.CancelRequest(job=ref(fixed)), timeout=10)
    error = refused_scale(stub, fixed, 4)
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION and reason(error) == "JOB_OVER"


def test_S01_scaling_makes_longer_names(kube):
    stub = kube.stub()
    job = submit(stub, elastic("a" * 54, 10)).job
    assert scale(stub, job, 9).name == job.name
    long = elastic("b" * 54, 10)
    long.elastic.max = 100
    job = submit(stub, long).job
    error = refused_scale(stub, job, 11)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "54 characters" in error.details()


def test_scaling_that_the_cluster_refuses_or_delays(kube, api):
    stub = kube.stub()
    job = submit(stub, elastic("hard")).job
    api.next("PATCH", JOBS, times=2, status=409)
    assert scale(stub, job, 4).uid == job.uid
    assert api.all(JOBS)[0]["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 4
    api.next("PATCH", JOBS, status=403)
    assert refused_scale(stub, job, 5).code() == grpc.StatusCode.PERMISSION_DENIED
    assert api.all(JOBS)[0]["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 4


def test_elastic_bounds_are_checked(kube):
    stub = kube.stub()
    for policy, workers, said in (
        ({"min": 2}, 2, "min and max"),
        ({"min": 2, "max": 3}, 0, "needs the role worker"),
        ({"min": 2, "max": 3}, 4, "from elastic.min to elastic.max"),
    ):
        bad = spec(name="bad", workers=workers, elastic=job_pb2.ElasticPolicy(**policy))
        error = failed(stub.Submit, service_pb2.SubmitRequest(spec=bad))
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and said in error.details(), error.details()
