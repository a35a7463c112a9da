"""Cases P: many submissions, the same submission again, and whoever made them gone."""

import concurrent.futures

import grpc
import pytest

from cases import refused, watch
from daemon import ref, spec, state_name, submit, wait
from trainer.v1 import job_pb2, service_pb2, watch_pb2


def waiting(**kw):
    """A job that is only kept, so that hundreds of them cost nothing."""
    s = spec("true", **kw)
    s.run_policy.suspend = True
    return s


def every(stub, selector="", **kw):
    """All pages of a List."""
    jobs, token = [], ""
    while True:
        page = stub.List(service_pb2.ListRequest(selector=watch_pb2.JobSelector(label_selector=selector), page_token=token, **kw), timeout=60)
        jobs += page.jobs
        token = page.next_page_token
        if not token:
            return jobs


def test_p01_the_same_submission_after_a_restart(make_daemon):
    """The key is kept with the job: after a crash it still finds it, and another spec is still refused."""
    d = make_daemon(config="local: {cpu: 64}\n")
    first = submit(d.stub(), spec("true"), "key")
    d.kill()
    d.start()
    again = submit(d.stub(), spec("true"), "key")
    assert again.duplicate and again.job.uid == first.job.uid
    error = refused(submit, d.stub(), spec("false"), "key")
    assert error.code() == grpc.StatusCode.ALREADY_EXISTS and first.job.name in error.details()


def test_p02_a_driver_that_forgot_the_id(desk):
    """It submits again under the key of its step and gets the job as it is now."""
    s = spec("exit 6", name_prefix="step")
    job = submit(desk, s, "run-1/step-7").job
    wait(desk, job)
    again = submit(desk, s, "run-1/step-7")
    assert (again.job.uid, again.job.name, again.duplicate) == (job.uid, job.name, True)
    assert again.job.status.state == job_pb2.Job.FAILED and again.job.status.exit.exit_code == 6


def test_p03_a_thousand_at_once(house):
    """From many connections each is answered, each answer is one job, and one watch sees them all."""
    stubs = [house.stub() for _ in range(20)]

    def one(i):
        return submit(stubs[i % len(stubs)], waiting(labels={"burst": "p03"}), f"p03-{i}", timeout=120).job.uid

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        uids = list(pool.map(one, range(1000)))
    assert len(set(uids)) == 1000
    assert {j.uid for j in every(stubs[0], "burst=p03", page_size=1000)} == set(uids)
    seen = set()
    stream = stubs[0].Watch(watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(label_selector="burst=p03")), timeout=60)
    for message in stream:
        if message.WhichOneof("message") == "snapshot_end":
            assert message.snapshot_end.jobs == 1000
            break
        seen.add(message.snapshot.uid)
    stream.cancel()
    assert seen == set(uids)
    assert submit(stubs[0], spec("true"), timeout=10).job.uid


def test_p04_everything_is_found_again_after_a_crash(make_daemon):
    """All jobs of an experiment are listed with their keys, and one that runs was not touched."""
    d = make_daemon(config="local: {cpu: 64}\n")
    stub = d.stub()
    runs = submit(stub, spec("sleep 2; exit 3", labels={"study": "e"}), "trial-runs").job
    calls = [stub.Submit.future(service_pb2.SubmitRequest(spec=waiting(labels={"study": "e"}), request_id=f"trial-{i}")) for i in range(300)]
    wanted = {c.result(timeout=120).job.uid: f"trial-{i}" for i, c in enumerate(calls)}
    wanted[runs.uid] = "trial-runs"
    submit(stub, waiting(labels={"study": "other"}))
    d.kill()
    d.start()
    stub = d.stub()
    assert {j.uid: j.request_id for j in every(stub, "study=e")} == wanted
    status = wait(stub, runs)
    assert (state_name(status), status.exit.exit_code, status.attempt) == ("FAILED", 3, 1)


def test_p05_a_list_fits_the_messages_of_a_default_client(house):
    """However large the specs are, a page is smaller than what a client takes, and all pages give all jobs."""
    stub = house.stub()
    s = waiting(labels={"big": "p05"})
    s.roles[0].env.add(name="BIG", value="x" * 100000)
    calls = [stub.Submit.future(service_pb2.SubmitRequest(spec=s)) for _ in range(60)]
    uids = {c.result(timeout=120).job.uid for c in calls}
    page = stub.List(service_pb2.ListRequest(selector=watch_pb2.JobSelector(label_selector="big=p05"), page_size=1000, full=True), timeout=60)
    assert page.ByteSize() < 4 << 20 and page.next_page_token and page.total == 60
    assert {j.uid for j in every(stub, "big=p05", page_size=1000, full=True)} == uids
    plain = stub.List(service_pb2.ListRequest(selector=watch_pb2.JobSelector(label_selector="big=p05"), page_size=1000), timeout=60)
    assert len(plain.jobs) == 60 and not any(j.HasField("spec") for j in plain.jobs)


def test_p06_a_name_given_again_is_another_job(desk):
    """What happened to the first under that name is no part of the second's story."""
    old = submit(desk, spec("trap '' TERM; sleep 300", name="trial-7")).job
    desk.Delete(service_pb2.DeleteRequest(job=ref(old), force=True), timeout=60)
    new = submit(desk, spec("true", name="trial-7")).job
    messages = watch(desk, name_contains="trial-7")
    assert {m.snapshot.uid or m.transition.uid for m in messages if m.WhichOneof("message") in ("snapshot", "transition")} == {new.uid}
    assert state_name(wait(desk, new)) == "SUCCEEDED"


def test_p07_a_bad_member_spoils_no_other(desk):
    """Each call of a burst has its own answer, the bad ones with the code of what is wrong with them."""
    calls = []
    for i in range(100):
        s = waiting(name="Bad_Name") if i in (17, 63) else waiting()
        calls.append(desk.Submit.future(service_pb2.SubmitRequest(spec=s, request_id=f"p07-{i}"), timeout=60))
    for i, call in enumerate(calls):
        if i in (17, 63):
            with pytest.raises(grpc.RpcError) as e:
                call.result()
            assert e.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        else:
            assert call.result().job.uid
