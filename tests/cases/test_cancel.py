"""Cases K: the end of a job by another's will."""

import time

import grpc

from cases import becomes, cancel, get, logs, refused, until
from daemon import ref, spec, state_name, submit, wait
from trainer.v1 import job_pb2, service_pb2, service_pb2_grpc


def test_k01_cancel_ends_the_job_and_nothing_comes_back(house, desk):
    """A job that starts again whatever happens is over with its Cancel."""
    s = spec("sleep 300", replicas=2)
    s.roles[0].restart_policy = job_pb2.ALWAYS
    job = submit(desk, s).job
    becomes(desk, job, "RUNNING")
    assert cancel(desk, job).status.state in (job_pb2.Job.CANCELING, job_pb2.Job.CANCELED)
    assert state_name(wait(desk, job)) == "CANCELED"
    for _ in range(10):
        assert house.job_processes(job.uid) == []
        time.sleep(0.1)


def test_k02_delete_leaves_nothing(house, desk):
    """Processes, logs and the folder of the job go with it."""
    job = submit(desk, spec("echo text; sleep 300", replicas=3)).job
    becomes(desk, job, "RUNNING")
    assert list(house.state_dir.rglob(f"*{job.uid}*"))
    desk.Delete(service_pb2.DeleteRequest(job=ref(job), force=True), timeout=60)
    until(lambda: house.job_processes(job.uid) == [])
    until(lambda: not list(house.state_dir.rglob(f"*{job.uid}*")))


def test_k03_the_others_do_not_survive_a_failed_job(house, desk):
    """When one process fails its job, the rest is stopped, and what it wrote stays to be read."""
    job = submit(desk, spec('echo $RANK; if [ "$RANK" = 1 ]; then sleep 0.5; exit 3; fi; exec sleep 300', replicas=3)).job
    assert state_name(wait(desk, job)) == "FAILED"
    until(lambda: house.job_processes(job.uid) == [])
    assert sorted(logs(desk, job).split()) == [b"0", b"1", b"2"]


def test_k04_cancel_keeps_the_record(desk):
    """State, reason and logs of a canceled job are there to be asked for."""
    job = submit(desk, spec("echo before; sleep 300")).job
    until(lambda: logs(desk, job) == b"before\n" if get(desk, job).state == job_pb2.Job.RUNNING else False)
    cancel(desk, job, reason="not needed")
    wait(desk, job)
    status = get(desk, job)
    assert (state_name(status), status.message) == ("CANCELED", "not needed")
    assert logs(desk, job) == b"before\n"


def test_k05_a_job_is_canceled_from_any_connection(house, desk):
    """The one who submitted may be gone: the job runs on and obeys another."""
    channel = house.channel()
    job = submit(service_pb2_grpc.TrainerServiceStub(channel), spec("sleep 300")).job
    channel.close()
    becomes(desk, job, "RUNNING")
    cancel(house.stub(), job)
    assert state_name(wait(desk, job)) == "CANCELED"


def test_k06_delete_again_is_told_and_the_name_is_free(desk):
    """A Delete of what is deleted says NOT_FOUND, and the name can be given again at once."""
    job = submit(desk, spec("sleep 300", name="twice")).job
    request = service_pb2.DeleteRequest(job=ref(job), force=True)
    desk.Delete(request, timeout=60)
    assert refused(desk.Delete, request).code() == grpc.StatusCode.NOT_FOUND
    again = submit(desk, spec("true", name="twice")).job
    assert again.uid != job.uid and state_name(wait(desk, again)) == "SUCCEEDED"


def test_k07_a_queued_job_that_is_canceled_never_starts(make_daemon, tmp_path):
    """Room that comes free later starts nothing; a second Cancel changes nothing."""
    mark = tmp_path / "ran"
    d = make_daemon(config="local: {cpu: 1}\n")
    stub = d.stub()
    blocker = submit(stub, spec("sleep 300")).job
    becomes(stub, blocker, "RUNNING")
    queued = submit(stub, spec(f"touch {mark}")).job
    cancel(stub, queued)
    ended = wait(stub, queued)
    assert state_name(ended) == "CANCELED" and ended.attempt == 0
    cancel(stub, blocker)
    wait(stub, blocker)
    assert state_name(wait(stub, submit(stub, spec("true")).job)) == "SUCCEEDED", "the room is used by the next"
    assert not mark.exists() and cancel(stub, queued).status == ended
    done = submit(stub, spec("true")).job
    end = wait(stub, done)
    assert cancel(stub, done).status == end, "a job that succeeded stays so"
