"""trainerd outside the cluster, with an administrator's kubeconfig: what a user asks of a job is true on the real thing."""

import re
import time

import grpc
import pytest

from daemon import reason_name, ref, state_name, submit, wait
from kube import EXAMPLES, python_template
from trainer.v1 import job_pb2, logs_pb2, runtime_pb2, service_pb2, watch_pb2

TOOLS = "localhost/trainerd/tools:1"


def until(what, probe, seconds=60):
    end = time.monotonic() + seconds
    while not (answer := probe()):
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.1)
    return answer


@pytest.fixture
def trainer(kube, make_daemon):
    daemon = make_daemon(config=f"kubernetes: {{kubeconfig: {kube.kubeconfig}}}\nlog_level: debug\n")
    return Trainer(daemon, kube)


class Trainer:
    """A daemon, and the namespace of the test."""

    def __init__(self, daemon, kube):
        self.daemon, self.kube = daemon, kube
        self.connect()

    def connect(self):
        self.stub = self.daemon.stub()
        until("the cluster is listed", self.healthy)

    def healthy(self):
        info = self.stub.GetServerInfo(runtime_pb2.GetServerInfoRequest(), timeout=20)
        return {b.name: b.healthy for b in info.backends}["kubernetes"]

    def submit(self, name, command, workers=0, role=None, **kw):
        s = job_pb2.JobSpec(name=name, namespace=self.kube.namespace, runtime="pytorch", backend="kubernetes", **kw)
        for kind, replicas in (("master", 1), ("worker", workers)):
            if replicas:
                r = s.roles.add(name=kind, image=TOOLS, command=["sh", "-c", command], restart_policy=job_pb2.NEVER)
                r.replicas.value = replicas
                if role:
                    role(r)
        return submit(self.stub, s).job

    def status(self, job):
        return self.stub.Get(service_pb2.GetRequest(job=ref(job)), timeout=20).status

    def becomes(self, job, state, reason=None, seconds=60):
        def there():
            s = self.status(job)
            return s if state_name(s) == state and (reason is None or reason_name(s) == reason) else None

        try:
            return until(state, there, seconds)
        except AssertionError as e:
            s = self.status(job)
            raise AssertionError(f"{e}; is {state_name(s)} {reason_name(s)}: {s.message}\n{self.kube.describe()}") from None

    def logs(self, job, **kw):
        messages = self.stub.Logs(logs_pb2.LogsRequest(job=ref(job), **kw), timeout=60)
        return b"".join(m.chunk.data for m in messages if m.WhichOneof("message") == "chunk").decode()

    def objects(self):
        return self.kube.get("pytorchjobs")["items"]


def test_pytorch_trains_and_its_states_and_logs_are_told(trainer):
    program = EXAMPLES / "pytorch-ddp"

    def on_this_machine(role):
        template = python_template("pytorch", ["/usr/bin/python3", "-u", f"{program}/train.py", "--epochs", "3"], files=[program])
        container = template["spec"]["containers"][0]
        role.image = container["image"]
        role.command[:] = container["command"]
        for v in template["spec"]["volumes"]:
            role.volumes.add(name=v["name"], host_path=v["hostPath"]["path"])
        for m in container["volumeMounts"]:
            role.volume_mounts.add(name=m["name"], mount_path=m["mountPath"], read_only=True)

    keep = job_pb2.RunPolicy(clean_pods=job_pb2.NONE)  # a worker may still be on its way out when the master has ended
    job = trainer.submit("ddp", "", workers=2, role=on_this_machine, run_policy=keep)
    request = watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(uids=[job.uid]), until_terminal=True)
    states = [state_name(m.transition.status) for m in trainer.stub.Watch(request, timeout=180) if m.WhichOneof("message") == "transition"]
    log = trainer.logs(job, role="master")
    assert states[-1] == "SUCCEEDED", log
    assert "RUNNING" in states and states.index("RUNNING") < states.index("SUCCEEDED")
    losses = [float(x) for x in re.findall(r"^epoch \d/3  loss ([\d.]+)", log, re.M)]
    assert len(losses) == 3 and losses[-1] < losses[0] and "3 ranks agree on the parameters" in log
    assert "rank 2 of 3" in trainer.logs(job, role="worker", index={"value": 1})
    s = trainer.status(job)
    assert s.start_time.seconds and s.end_time.seconds >= s.start_time.seconds


def test_a_failure_says_who_and_how(trainer):
    job = trainer.submit("fails", "echo out of luck; exit 7")
    s = wait(trainer.stub, job, 90)
    assert (state_name(s), reason_name(s)) == ("FAILED", "NONZERO_EXIT")
    assert (s.exit.role, s.exit.index, s.exit.exit_code, s.exit.node) == ("master", 0, 7, "node0")
    assert trainer.logs(job) == "out of luck\n"


def test_what_the_webhook_refuses_is_the_answer(trainer):
    with pytest.raises(grpc.RpcError) as error:
        trainer.submit("no-image", "true", role=lambda r: setattr(r, "image", ""))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT and "image" in error.value.details()

    def other_container(r):
        r.pod_overlay.update({"spec": {"containers": [{"name": "pytorch", "$patch": "delete"}, {"name": "other", "image": TOOLS}]}})

    with pytest.raises(grpc.RpcError) as error:
        trainer.submit("no-container", "true", role=other_container)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT and "admission webhook" in error.value.details()
    assert not trainer.objects()


def test_why_it_waits_for_a_gpu_that_is_not_there(trainer):
    job = trainer.submit("gpu", "true", role=lambda r: setattr(r.resources, "gpu", 8))
    s = trainer.becomes(job, "PENDING", "UNSCHEDULABLE", 20)
    assert "Insufficient nvidia.com/gpu" in s.message and "gpu-master-0" in s.message
    events = trainer.stub.Events(logs_pb2.EventsRequest(job=ref(job)), timeout=20).events
    said = {(e.reason, e.object): e for e in events}
    assert said["SuccessfulCreatePod", "PyTorchJob/gpu"].type == "Normal"
    failed = said["FailedScheduling", "Pod/gpu-master-0"]
    assert failed.type == "Warning" and "Insufficient nvidia.com/gpu" in failed.message and failed.count >= 1


def test_T01_an_image_that_is_not_there(trainer):
    job = trainer.submit("image", "true", role=lambda r: setattr(r, "image", "localhost/trainerd/nothing:1"))
    s = trainer.becomes(job, "PENDING", "IMAGE_PULL", 60)
    assert "localhost/trainerd/nothing:1" in s.message


def test_T03_a_quota_that_is_too_small_and_then_is_not(trainer):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}}
    trainer.kube.create(quota)
    job = trainer.submit("quota", "true")
    s = trainer.becomes(job, "PENDING", "QUOTA_EXCEEDED", 30)
    assert "exceeded quota: small" in s.message
    trainer.kube("delete", "resourcequota", "small")
    assert state_name(wait(trainer.stub, job, 120)) == "SUCCEEDED"


def test_K01_K02_cancel_and_delete_leave_nothing(trainer):
    job = trainer.submit("long", "trap 'exit 0' TERM; sleep 1000 & wait", workers=2)
    trainer.becomes(job, "RUNNING", "ALL_RUNNING", 90)
    trainer.stub.Cancel(service_pb2.CancelRequest(job=ref(job)), timeout=20)
    trainer.becomes(job, "CANCELED", "CANCELED_BY_USER", 90)
    assert not trainer.kube.pods()
    assert len(trainer.objects()) == 1  # the record stays
    trainer.stub.Delete(service_pb2.DeleteRequest(job=ref(job)), timeout=20)
    until("the object is gone", lambda: not trainer.objects())
    leftovers = trainer.kube.get("pods,services,configmaps,roles,rolebindings,jobs")["items"]
    assert [o["metadata"]["name"] for o in leftovers if o["metadata"]["name"] != "kube-root-ca.crt"] == []


def test_L05_logs_of_pods_that_are_gone(trainer):
    job = trainer.submit("tidy", "echo here", run_policy=job_pb2.RunPolicy(clean_pods=job_pb2.ALL))
    wait(trainer.stub, job, 90)
    until("its pods are gone", lambda: not trainer.kube.pods())
    for follow in (False, True):
        with pytest.raises(grpc.RpcError) as error:
            until("NOT_FOUND", lambda: trainer.logs(job, follow=follow) and False, 10)
        assert error.value.code() == grpc.StatusCode.NOT_FOUND and "clean_pods" in error.value.details()


def test_suspend_and_resume(trainer):
    job = trainer.submit("pause", "trap 'exit 0' TERM; sleep 1000 & wait")
    trainer.becomes(job, "RUNNING", "ALL_RUNNING", 90)
    trainer.stub.Suspend(service_pb2.SuspendRequest(job=ref(job)), timeout=60)
    trainer.becomes(job, "SUSPENDED")
    until("its pods are gone", lambda: not trainer.kube.pods())
    trainer.stub.Resume(service_pb2.ResumeRequest(job=ref(job)), timeout=20)
    trainer.becomes(job, "RUNNING", "ALL_RUNNING", 90)


def test_an_object_that_kubectl_deletes(trainer):
    job = trainer.submit("gone", "sleep 1000")
    trainer.becomes(job, "RUNNING", None, 90)
    trainer.kube("delete", "pytorchjob", "gone", "--wait=false")
    trainer.becomes(job, "CANCELED", "DELETED_EXTERNALLY", 60)


@pytest.mark.parametrize("phase", ["at once", "running", "while it is away"])
def test_kill_9_of_trainerd(trainer, phase):
    job = trainer.submit("survives", "sleep 4; echo done")
    if phase != "at once":
        trainer.becomes(job, "RUNNING", None, 90)
    trainer.daemon.kill()
    if phase == "while it is away":
        time.sleep(8)
    trainer.daemon.start()
    trainer.connect()
    s = wait(trainer.stub, job, 120)
    assert (state_name(s), reason_name(s)) == ("SUCCEEDED", "COMPLETED")
    assert len(trainer.objects()) == 1 and trainer.logs(job) == "done\n"


def test_follow_from_before_the_pod_exists_to_the_end(trainer):
    job = trainer.submit("follow", "for i in 1 2 3 4 5; do echo line $i; sleep 0.3; done")
    assert trainer.logs(job, follow=True) == "".join(f"line {i}\n" for i in range(1, 6))


def test_E02_an_elastic_job_grows_and_shrinks(trainer):
    job = trainer.submit("elastic", "sleep 120", workers=1, elastic=job_pb2.ElasticPolicy(min=1, max=3))
    trainer.becomes(job, "RUNNING", "ALL_RUNNING")
    for replicas in (3, 1):
        trainer.stub.Scale(service_pb2.ScaleRequest(job=ref(job), replicas=replicas), timeout=30)

        def counts():
            s = trainer.status(job)
            return state_name(s) == "RUNNING" and {r.name: (r.desired, r.running) for r in s.roles}["worker"] == (replicas, replicas)

        until(f"{replicas} workers", counts, 90)
    with pytest.raises(grpc.RpcError) as e:
        trainer.stub.Scale(service_pb2.ScaleRequest(job=ref(job), replicas=4), timeout=30)
    assert e.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    trainer.stub.Cancel(service_pb2.CancelRequest(job=ref(job)), timeout=20)
    trainer.becomes(job, "CANCELED")
