"""What the tests of cases share: refusals, renders for a cluster, waiting for a condition."""

import json
import time

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from daemon import TERMINAL, ref, spec, state_name
from trainer.v1 import logs_pb2, service_pb2, watch_pb2

CLUSTER = "kubeflow.org/v1"
# Runtime -> the role that it cannot do without, and the name that its operator expects of the main container.
MAIN = {
    "pytorch": ("master", "pytorch"),
    "tensorflow": ("worker", "tensorflow"),
    "xgboost": ("master", "xgboost"),
    "mpi": ("launcher", "mpi"),
    "jax": ("worker", "jax"),
    "paddle": ("worker", "paddle"),
}


def refused(call, *args, **kw):
    with pytest.raises(grpc.RpcError) as e:
        call(*args, **kw)
    return e.value


def violations(error):
    """Field -> description of the BadRequest of an error."""
    for packed in rpc_status.from_call(error).details:
        if packed.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            bad = error_details_pb2.BadRequest()
            packed.Unpack(bad)
            return {v.field: v.description for v in bad.field_violations}
    return {}


def image_spec(runtime="pytorch", **kw):
    """A spec that both a cluster and this machine can run."""
    s = spec(["true"], runtime=runtime, role=MAIN[runtime][0], name="job", **kw)
    s.roles[0].image = "registry/train:1"
    return s


def rendered(stub, s, target=CLUSTER):
    """The object that the spec becomes on a cluster."""
    (one,) = stub.Render(service_pb2.RenderRequest(spec=s, target=target), timeout=30).rendered
    assert not one.error, one.error
    return json.loads(one.json)


def replicas(thing):
    """Role -> replica spec of a rendered object."""
    (found,) = [v for k, v in thing["spec"].items() if k.endswith("ReplicaSpecs")]
    return found


def pod(thing, role):
    return replicas(thing)[role]["template"]["spec"]


def get(stub, job):
    return stub.Get(service_pb2.GetRequest(job=ref(job)), timeout=30).status


def until(what, seconds=60):
    """Asks again until it is true; gives what it said."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := what():
            return answer
        time.sleep(0.03)
    raise AssertionError("it did not become true in time")


def becomes(stub, job, state):
    def there():
        status = get(stub, job)
        assert status.state not in TERMINAL or state_name(status) == state, status
        return status if state_name(status) == state else None

    return until(there)


def cancel(stub, job, grace=0, **kw):
    request = service_pb2.CancelRequest(job=ref(job), **kw)
    request.grace_seconds.value = grace
    return stub.Cancel(request, timeout=30)


def watch(stub, timeout=60, **kw):
    """Every message of a Watch until what is selected is terminal."""
    request = watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(**kw), until_terminal=True)
    return list(stub.Watch(request, timeout=timeout))


def all_steps(stub, s, timeout=60):
    """Submits and gives (job, the statuses of all its transitions, the first with it)."""
    request = service_pb2.SubmitAndWatchRequest(submit=service_pb2.SubmitRequest(spec=s))
    messages = list(stub.SubmitAndWatch(request, timeout=timeout))
    job = messages[0].submitted.job
    first = [m.snapshot.status for m in messages if m.WhichOneof("message") == "snapshot"] or [job.status]
    return job, first + [m.transition.status for m in messages if m.WhichOneof("message") == "transition"]


def states(steps):
    """Names of the states, each change once."""
    names = [state_name(s) for s in steps]
    return [n for i, n in enumerate(names) if i == 0 or n != names[i - 1]]


def logs(stub, job, **kw):
    return b"".join(m.chunk.data for m in stub.Logs(logs_pb2.LogsRequest(job=ref(job), **kw), timeout=60))


