"""Cases T: what is said of a job while it goes its way."""

import os
import time

from cases import all_steps, becomes, cancel, get, logs, states, until, watch
from daemon import TERMINAL, reason_name, spec, state_name, submit, wait
from trainer.v1 import job_pb2


def test_t02_a_state_is_never_empty(desk):
    """From the answer to Submit on, a job has a state and a reason."""
    job, steps = all_steps(desk, spec("true"))
    assert all(s.state and s.reason for s in [job.status, *steps])


def test_t04_what_still_runs_at_the_end_is_stopped(house, desk):
    """The master decides; the workers that sleep on are gone when the job is."""
    s = spec("sleep 0.3", runtime="pytorch", role="master")
    s.roles.add(name="worker", command=["sleep", "300"]).replicas.value = 3
    job = submit(desk, s).job
    assert state_name(wait(desk, job)) == "SUCCEEDED"
    until(lambda: house.job_processes(job.uid) == [])


def test_t05_restarting_and_running_take_turns(desk, tmp_path):
    """A second attempt is seen as RESTARTING and RUNNING again, and counted once."""
    mark = tmp_path / "tries"
    s = spec(f"echo x >> {mark}; sleep 0.3; test $(wc -l < {mark}) -ge 2")
    s.roles[0].restart_policy = job_pb2.ON_FAILURE
    _, steps = all_steps(desk, s)
    seen = [n for n in states(steps) if n in ("RUNNING", "RESTARTING", "SUCCEEDED")]
    assert seen == ["RUNNING", "RESTARTING", "RUNNING", "SUCCEEDED"]
    assert steps[-1].restarts == 1


def test_t06_a_crash_loop_ends_and_says_how_it_crashed(desk):
    """Without a limit of its own a job is not tried for ever, and the last exit code is told."""
    s = spec("exit 9")
    s.roles[0].restart_policy = job_pb2.ON_FAILURE
    _, steps = all_steps(desk, s)
    assert (state_name(steps[-1]), reason_name(steps[-1])) == ("FAILED", "BACKOFF_LIMIT_EXCEEDED")
    assert steps[-1].restarts == 3 and steps[-1].exit.exit_code == 9
    assert len(steps) < 30, "a message for each change, not for each look"


def test_t09_what_has_passed_is_not_waited_for(desk):
    """Waiting for the end of a job that has ended is over at once, with the end that it had."""
    job = submit(desk, spec("exit 4")).job
    wait(desk, job)
    begin = time.monotonic()
    messages = watch(desk, uids=[job.uid])
    assert time.monotonic() - begin < 20
    assert messages[0].snapshot.status.state == job_pb2.Job.FAILED and messages[0].snapshot.status.exit.exit_code == 4
    assert [m.WhichOneof("message") for m in messages] == ["snapshot", "snapshot_end"]


def test_t10_a_worker_that_is_done_leaves_the_state_alone(desk, tmp_path):
    """The job is what its master is: a worker that has ended makes it neither SUCCEEDED nor FAILED."""
    done, go = tmp_path / "done", tmp_path / "go"
    s = spec(f"while [ ! -e {go} ]; do sleep 0.05; done", runtime="pytorch", role="master")
    s.roles.add(name="worker", command=["touch", str(done)])
    job = submit(desk, s).job
    until(done.exists)
    becomes(desk, job, "RUNNING")
    time.sleep(0.5)
    status = get(desk, job)
    assert state_name(status) == "RUNNING" and {r.name: r.desired for r in status.roles} == {"master": 1, "worker": 1}
    go.touch()
    assert {r.name: (r.running, r.succeeded) for r in wait(desk, job).roles} == {"master": (0, 1), "worker": (0, 1)}


def test_t01_what_never_started_is_not_running(make_daemon):
    """A job that waits for room says so, is never RUNNING, and ends at its start deadline."""
    d = make_daemon(config="local: {cpu: 1}\n")
    stub = d.stub()
    blocker = submit(stub, spec("sleep 300")).job
    becomes(stub, blocker, "RUNNING")
    s = spec("true")
    s.run_policy.start_deadline.seconds = 1
    _, steps = all_steps(stub, s)
    assert states(steps) == ["PENDING", "FAILED"]
    assert reason_name(steps[-1]) == "START_DEADLINE_EXCEEDED" and "QUEUED" in [reason_name(x) for x in steps]
    cancel(stub, blocker)


def test_t03_a_job_recovers_by_itself_when_there_is_room(make_daemon):
    """The reason of waiting is told once, not at every try, and the job runs when its turn comes."""
    d = make_daemon(config="local: {cpu: 1}\n")
    stub = d.stub()
    blocker = submit(stub, spec("sleep 1")).job
    _, steps = all_steps(stub, spec("echo ran"))
    assert [reason_name(s) for s in steps].count("QUEUED") == 1
    assert states(steps)[-1] == "SUCCEEDED" and state_name(wait(stub, blocker)) == "SUCCEEDED"


def test_t08_processes_that_go_with_their_keeper_are_told(make_daemon):
    """A job whose supervisor is killed ends by itself, with a reason, and can still be deleted."""
    d = make_daemon(config="local: {cpu: 4}\n")
    stub = d.stub()
    job = submit(stub, spec("echo here; sleep 300")).job
    becomes(stub, job, "RUNNING")
    for pid in d.supervisors():
        os.kill(pid, 9)
    status = wait(stub, job)
    assert (state_name(status), reason_name(status)) == ("FAILED", "LOST")
    until(lambda: d.job_processes(job.uid) == [])
    assert state_name(wait(stub, submit(stub, spec("true")).job)) == "SUCCEEDED", "the next job has a new keeper"
    assert logs(stub, job) in (b"here\n", b"")
