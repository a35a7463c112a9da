"""grpcurl, which knows the service from its reflection alone: it lists, describes and calls everything."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from daemon import Daemon
from trainer.v1 import service_pb2

VERSION = "v1.9.3"
SERVICE = "trainer.v1.TrainerService"
METHODS = {m.name: m for m in service_pb2.DESCRIPTOR.services_by_name["TrainerService"].methods}
# The first run compiles it.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def program():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "trainerd"
    made = cache / f"grpcurl-{VERSION}" / "grpcurl"
    if not made.exists():
        if not shutil.which("go"):
            pytest.skip("grpcurl is compiled by go, which is not installed")
        subprocess.run(["go", "install", f"github.com/fullstorydev/grpcurl/cmd/grpcurl@{VERSION}"], env=dict(os.environ, GOBIN=str(made.parent)), check=True)
    return made


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    d = Daemon(tmp_path_factory.mktemp("grpcurl") / "state", config="local: {cpu: 64}\n").start()
    yield d
    d.finish()


@pytest.fixture(params=["unix", "tcp"])
def grpcurl(request, program, daemon):
    """grpcurl("list", data={...}): what it wrote; status is the gRPC code that grpcurl exits with, plus 64."""
    flags = ["-plaintext", "-max-time", "60"]
    if request.param == "tcp":
        flags += ["-H", f"authorization: Bearer {daemon.token}"]
        address = daemon.tcp
    else:
        address = f"unix://{daemon.state_dir}/trainerd.sock"

    def call(*words, data=None, status=0):
        body = ["-d", json.dumps(data)] if data is not None else []
        done = subprocess.run([program, *flags, *body, address, *words], capture_output=True, text=True, timeout=90)
        assert done.returncode == (status + 64 if status else 0), f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if not status else done.stderr

    return call


def documents(text):
    """The JSON documents that follow each other in a text."""
    found, decoder = [], json.JSONDecoder()
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def test_lists_services_and_methods(grpcurl):
    assert grpcurl("list").split() == [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        SERVICE,
    ]
    assert set(grpcurl("list", SERVICE).split()) == {f"{SERVICE}.{name}" for name in METHODS}


def test_describes_every_method_and_its_messages(grpcurl):
    text = grpcurl("describe", SERVICE)
    for name, method in METHODS.items():
        stream = "stream " if method.server_streaming else ""
        assert f"rpc {name} ( .{method.input_type.full_name} ) returns ( {stream}.{method.output_type.full_name} )" in text
    spec = grpcurl("describe", "trainer.v1.JobSpec")
    assert "repeated .trainer.v1.Role roles = 9;" in spec and ".google.protobuf.Struct params = 14;" in spec
    assert "SUCCEEDED = 7;" in grpcurl("describe", "trainer.v1.Job.State")


def test_calls_everything(grpcurl):
    """Every method is called once at least: a job is taken through its life, and what is not live says so."""
    called = set()

    def call(name, data, status=0):
        called.add(name)
        text = grpcurl(f"{SERVICE}/{name}", data=data, status=status)
        return text if status else documents(text)

    def spec(*command):
        return {"runtime": "process", "roles": [{"name": "worker", "command": list(command)}]}

    assert documents(grpcurl("grpc.health.v1.Health/Check", data={})) == [{"status": "SERVING"}]
    (info,) = call("GetServerInfo", {})
    live = {m["name"]: m.get("live", False) for m in info["methods"]}
    (runtimes,) = call("ListRuntimes", {})
    assert "pytorch" in {r["name"] for r in runtimes["runtimes"]}
    (runtime,) = call("GetRuntime", {"name": "pytorch"})
    assert [r["name"] for r in runtime["roles"]] == ["master", "worker"]
    (rendered,) = call("Render", {"spec": spec("true")})
    assert rendered["rendered"][0]["target"] == "local"

    (answer,) = call("Submit", {"spec": spec("sleep", "300")})
    job = {"job": {"uid": answer["job"]["uid"]}}
    (got,) = call("Get", job)
    assert got["name"] == answer["job"]["name"]
    (listed,) = call("List", {"selector": {"uids": [got["uid"]]}})
    assert [j["uid"] for j in listed["jobs"]] == [got["uid"]]
    (suspended,) = call("Suspend", job)
    assert suspended["status"]["state"] == "SUSPENDED"
    call("Resume", job)
    call("Cancel", {**job, "graceSeconds": 0})
    *_, last = call("Watch", {"selector": {"uids": [got["uid"]]}, "untilTerminal": True})
    state = last["transition"]["to"] if "transition" in last else call("Get", job)[0]["status"]["state"]
    assert state == "CANCELED"
    (deleted,) = call("Delete", job)
    assert deleted["uid"] == got["uid"]
    assert "NotFound" in call("Get", job, status=5)

    messages = call("SubmitAndWatch", {"submit": {"spec": spec("echo", "hello")}})
    uid = messages[0]["submitted"]["job"]["uid"]
    assert messages[-1]["transition"]["to"] == "SUCCEEDED"
    chunks = call("Logs", {"job": {"uid": uid}})
    assert [c["chunk"]["data"] for c in chunks if "chunk" in c] == ["aGVsbG8K"]

    for name in set(METHODS) - called:
        if live[name]:
            # No more than that it is understood: an empty request is refused for what it lacks, or answered.
            answer = call(name, {}, status=3)
            assert "InvalidArgument" in answer
        else:
            assert "Unimplemented" in call(name, {}, status=12)
    assert called == set(METHODS)


def test_the_token_is_needed_over_tcp(program, daemon):
    command = [program, "-plaintext", "-max-time", "60", daemon.tcp, f"{SERVICE}/GetServerInfo"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode != 0 and "Unauthenticated" in done.stderr, done
    assert done.stdout == "" and daemon.token not in done.stderr
