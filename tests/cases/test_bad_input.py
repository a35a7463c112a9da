"""Bad input of every kind: a clear error in the right place, and nothing lost. Names carry the ids of the cases they hold."""

import os
import pathlib
import socket
import subprocess
import time

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from daemon import BIN, ROOT, Daemon, ref, spec, state_name, submit, wait
from trainer.v1 import logs_pb2, service_pb2

PATH = "/trainer.v1.TrainerService/"


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


def reason(error):
    """The reason of the ErrorInfo of an error."""
    for packed in rpc_status.from_call(error).details:
        if packed.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            packed.Unpack(info)
            return info.reason
    return None


def pytorch(**kw):
    s = spec("true", runtime="pytorch", role="master", **kw)
    s.roles.add(name="worker", command=["true"])
    return s


# ---- Specs --------------------------------------------------------------------------------------------------------------------


def named(**kw):
    return spec("true", **kw)


def with_role(change, **kw):
    s = spec("true", **kw)
    change(s.roles[0])
    return s


def resources(**kw):
    return lambda role: [setattr(role.resources, k, v) for k, v in kw.items()]


def env(*names):
    return lambda role: [role.env.add(name=n, value="do-not-show") for n in names]


SPECS = {
    "S02_starts_with_a_digit": (named(name="7b-finetune"), "name", "[a-z]"),
    "S02_dot": (named(name="llama-v0.1"), "name", "[a-z]"),
    "S02_underscore": (named(name="my_job"), "name", "[a-z]"),
    "S02_capital": (named(name="Train"), "name", "[a-z]"),
    "S02_ends_with_a_dash": (named(name="job-"), "name", "[a-z]"),
    "S02_not_ascii": (named(name="学習"), "name", "[a-z]"),
    "S01_too_long": (named(name="a" * 70), "name", "70"),
    "S12_path_in_the_name": (named(name="../x"), "name", "[a-z]"),
    "S12_path_in_the_namespace": (named(namespace="a/../b"), "namespace", "[a-z0-9]"),
    "S05_negative_replicas": (with_role(lambda r: setattr(r.replicas, "value", -1)), "roles[0].replicas", "-1"),
    "S05_no_replicas_at_all": (with_role(lambda r: setattr(r.replicas, "value", 0)), "roles", "at least one"),
    "S06_half_a_gpu": (with_role(lambda r: r.resources.extended.update({"nvidia.com/gpu": "0.5"})), 'roles[0].resources.extended["nvidia.com/gpu"]', "whole"),
    "S07_GiB": (with_role(resources(memory="6GiB")), "roles[0].resources.memory", "Gi"),
    "S07_mi": (with_role(resources(memory="1000mi")), "roles[0].resources.memory", "Mi"),
    "S07_milli_bytes": (with_role(resources(memory="512m")), "roles[0].resources.memory", "whole"),
    "S07_negative": (with_role(resources(memory="-1Gi")), "roles[0].resources.memory", "negative"),
    "S07_space": (with_role(resources(memory=" 1Gi")), "roles[0].resources.memory", "Gi"),
    "S08_env_name": (with_role(env("0123")), "roles[0].env[0].name", "0123"),
    "S08_env_name_with_equals": (with_role(env("A=B")), "roles[0].env[0].name", "A=B"),
    "S08_env_twice": (with_role(env("A", "B", "A")), "roles[0].env[2].name", "twice"),
    "S11_huge_argument": (with_role(lambda r: r.args.append("x" * 140000)), "roles[0].args[0]", "131071"),
    "S12_image": (with_role(lambda r: setattr(r, "image", "a b\n")), "roles[0].image", "white space"),
    "S13_shm_over_memory": (with_role(lambda r: (setattr(r, "shm_size", "32Gi"), setattr(r.resources, "memory", "16Gi"))), "roles[0].shm_size", "16Gi"),
    "S14_toleration": (with_role(lambda r: r.tolerations.add(key="k", operator="Exists", value="v")), "roles[0].tolerations[0].value", "Exists"),
    "S18_port_name": (with_role(lambda r: r.ports.add(port=80)), "roles[0].ports[0].name", "15"),
    "S19_deadline_zero": (lambda: None, None, None),
    "unknown_role": (spec("true", role="chef"), "roles[0].name", "worker"),
    "S04_second_master": (None, None, None),
    "S09_reserved_variable": (None, None, None),
    "relative_directory": (with_role(lambda r: setattr(r, "working_dir", "here")), "roles[0].working_dir", "absolute"),
    "label_value": (named(labels={"a": "b c"}), 'labels["a"]', "label value"),
    "group": (named(group="A_B"), "group", "[a-z0-9]"),
    "missing_program": (spec([]), "roles[0].command", "program"),
}


def special(case):
    if case == "S19_deadline_zero":
        s = spec("true")
        s.run_policy.active_deadline.seconds = 0
        s.run_policy.active_deadline.nanos = 0
        s.run_policy.start_deadline.seconds = -5
        return s, "run_policy.start_deadline", "from 1"
    if case == "S04_second_master":
        s = pytorch()
        s.roles[0].replicas.value = 2
        return s, "roles[0].replicas", "1"
    s = pytorch()
    s.roles[1].env.add(name="MASTER_PORT", value="do-not-show")
    return s, "roles[1].env[0].name", "MASTER_PORT"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    d = Daemon(tmp_path_factory.mktemp("cases") / "state", config="local: {cpu: 64}\n").start()
    yield d
    d.finish()


@pytest.mark.parametrize("case", SPECS)
def test_spec(shared, case):
    s, field, piece = SPECS[case]
    if field is None:
        s, field, piece = special(case)
    error = refused(submit, shared.stub(), s)
    found = violations(error)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert field in found and piece in found[field], found
    assert "do-not-show" not in error.details() + str(found)


def test_what_the_local_backend_ignores_is_said(shared):
    s = spec("true")
    s.roles[0].image = "registry/train:1"
    s.roles[0].node_selector["zone"] = "a"
    s.run_policy.queue = "team"
    got = shared.stub().Submit(service_pb2.SubmitRequest(spec=s, validate_only=True)).warnings
    assert list(got) == [
        "run_policy.queue has no effect on the local backend",
        "image of role worker has no effect on the local backend",
        "node_selector of role worker has no effect on the local backend",
    ]


def test_S04_case_of_a_role_is_forgiven_and_canonical(shared):
    s = pytorch()
    s.roles[0].name, s.roles[1].name = "MASTER", "Worker"
    json = shared.stub().Render(service_pb2.RenderRequest(spec=s)).rendered[0].json
    assert '"role":"master"' in json and '"role":"worker"' in json


def test_S10_arguments_arrive_byte_for_byte(shared):
    stub = shared.stub()
    args = ["--title=あ", '--json={"a": "b\\n"}', "it's \"quoted\"", "line\r\n\ttab\n", "", "$(hostname)", "`id`", "; rm -rf x"]
    job = submit(stub, spec(["python3", "-c", "import sys; print([a.encode().hex() for a in sys.argv[1:]])", *args])).job
    assert state_name(wait(stub, job)) == "SUCCEEDED"
    text = b"".join(m.chunk.data for m in stub.Logs(logs_pb2.LogsRequest(job=ref(job))))
    assert text.decode().strip() == str([a.encode().hex() for a in args])


def test_S08_values_keep_their_bytes(shared):
    s = spec("true")
    for i, value in enumerate(["1e-05", "0123", "yes", "null", "", "  x "]):
        s.roles[0].env.add(name=f"V{i}", value=value)
    stub = shared.stub()
    job = submit(stub, s).job
    got = stub.Get(service_pb2.GetRequest(job=ref(job), full=True)).spec.roles[0].env
    assert [e.value for e in got] == ["1e-05", "0123", "yes", "null", "", "  x "]


# ---- Bytes ----------------------------------------------------------------------------------------------------------------------


def raw(d, method, data):
    call = d.channel().unary_unary(PATH + method, request_serializer=lambda b: b, response_deserializer=lambda b: b)
    return call(data, timeout=30)


def framed(number, data):
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


@pytest.mark.parametrize(
    "data,field,piece",
    [
        (framed(2, b"a\0b"), "request_id", "NUL"),
        (framed(2, b"\xff\xfe"), "request_id", "UTF-8"),
        (framed(1, framed(1, b"a\0b")), "name", "NUL"),
        (framed(1, framed(9, framed(1, b"\xc3"))), "roles[0].name", "UTF-8"),
        (b"\x0a\x7f", "request", "well-formed"),
        (b"\x9a\x06\x01x", None, "unknown field"),
        (framed(1, bytes([1 << 3 | 0, 5])), "name", "wire type"),
    ],
)
def test_hostile_bytes(shared, data, field, piece):
    error = refused(raw, shared, "Submit", data)
    found = violations(error)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert any((field is None or f == field) and piece in d for f, d in found.items()), found


def test_a_message_over_the_limit_and_the_connection_lives(shared):
    stub = shared.stub()
    s = spec(["echo"] + ["x" * 100000] * 55)
    assert refused(submit, stub, s).code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert submit(stub, spec("true")).job.uid


def test_a_hundred_thousand_variables(shared):
    s = spec("true")
    for i in range(100000):
        s.roles[0].env.add(name=f"V{i}")
    error = refused(submit, shared.stub(), s)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "4096" in violations(error)["roles[0].env"]


def test_deep_parameters(shared):
    s = spec("true")
    at = s.params
    for _ in range(25):  # three messages a level
        at = at.fields["x"].struct_value
    at.fields["end"].number_value = 1
    error = refused(submit, shared.stub(), s)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "64" in error.details()


def test_a_working_directory_that_is_gone(shared, tmp_path):
    stub = shared.stub()
    s = spec("true")
    s.roles[0].working_dir = str(tmp_path / "gone")
    status = wait(stub, submit(stub, s).job)
    assert state_name(status) == "FAILED" and str(tmp_path / "gone") in status.message


# ---- The daemon's surroundings -----------------------------------------------------------------------------------------------------


def start_fails(d, *more):
    with pytest.raises(RuntimeError) as e:
        d.start(*more)
    return str(e.value)


def test_second_daemon_on_the_same_directory(make_daemon):
    first = make_daemon()
    second = Daemon(first.state_dir)
    assert "another trainerd is running" in start_fails(second)
    assert submit(first.stub(), spec("true")).job.uid


def test_port_in_use(make_daemon):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        d = make_daemon(start=False)
        assert f"127.0.0.1:{port}" in start_fails(d, "--listen", f"127.0.0.1:{port}")
    d.process = None


@pytest.mark.parametrize("damage", ["head", "cut"])
def test_corrupt_journal(make_daemon, damage):
    d = make_daemon()
    wait(d.stub(), submit(d.stub(), spec("true")).job)
    assert d.stop() == 0
    journal = d.state_dir / "journal.db"
    content = journal.read_bytes()
    journal.write_bytes(b"not a journal at all" + content[20:] if damage == "head" else content[: len(content) // 2])
    text = start_fails(d)
    assert "journal" in text and ("damaged" in text or "another program" in text)
    d.process = None
    journal.write_bytes(content)
    d.start()
    assert d.stub().List(service_pb2.ListRequest()).total == 1, "nothing is lost by a start that failed"


@pytest.mark.parametrize(
    "config,pieces",
    [
        ("limits: {max_jobs: many}\n", ["line 1", "limits.max_jobs", "whole number"]),
        ("local:\n  cpus: 4\n", ["line 2", "local.cpus", "local.cpu"]),
        ("local: [\n", ["line"]),
        ("log_level: loud\n", ["log_level", "loud"]),
    ],
)
def test_unreadable_config(make_daemon, config, pieces):
    d = make_daemon(start=False, config=config)
    text = start_fails(d)
    assert all(p in text for p in pieces), text
    d.process = None


def test_full_disk_refuses_new_work_and_loses_nothing(make_daemon, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    d = Daemon(disk / "state").start()
    try:
        stub = d.stub()
        kept = submit(stub, spec("true", name="kept")).job
        wait(stub, kept)
        ballast = disk / "ballast"
        with open(ballast, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 4096)
            except OSError:
                pass
        errors = []
        for _ in range(200):
            try:
                submit(stub, spec("true"))
            except grpc.RpcError as e:
                errors.append(e)
                if len(errors) == 3:
                    break
        assert len(errors) == 3, "the first that did not fit, and those that are not even tried"
        for e in errors:
            assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, e
            assert reason(e) == "JOURNAL_FULL", e
            assert "no space left" in e.details() and str(disk) in e.details(), e
        assert stub.Get(service_pb2.GetRequest(job=ref(kept))).name == "kept", "reading goes on"
        ballast.unlink()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                job = submit(stub, spec("true")).job
                break
            except grpc.RpcError:
                time.sleep(0.3)
        assert state_name(wait(stub, job)) == "SUCCEEDED", "and new work when there is room again"
    finally:
        try:
            d.finish()
        finally:
            time.sleep(0.5)
            subprocess.run(["umount", "-l", disk])


CRASHER = """
#include "trainer_plugin.h"
static int32_t validate(const struct trainer_host *h, struct trainer_self *s, const struct trainer_value *v, struct trainer_errors *e) {
    (void)h; (void)s; (void)v; (void)e;
    __builtin_trap();
}
static int32_t plan(const struct trainer_host *h, struct trainer_self *s, const struct trainer_value *v, struct trainer_writer *w, struct trainer_errors *e) {
    (void)h; (void)s; (void)v; (void)w; (void)e;
    return 0;
}
static const struct trainer_role roles[] = {{"worker", "the only role", 1, 1, 0, TRAINER_RESTART_NEVER}, {0}};
static const struct trainer_target targets[] = {{"local", "processes", ""}, {0}};
static const struct trainer_functions functions = {.validate = validate, .plan_local = plan};
static const struct trainer_plugin plugin = {TRAINER_PLUGIN_HEAD, .name = "crasher", .version = "1", .capabilities = TRAINER_CAP_LOCAL,
    .description = "crashes", .roles = roles, .targets = targets, .functions = &functions};
TRAINER_EXPORT const struct trainer_plugin *trainer_plugin_describe(void) { return &plugin; }
"""


def test_a_plugin_that_crashes_in_validate(make_daemon, tmp_path):
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    source = tmp_path / "crasher.c"
    source.write_text(CRASHER)
    subprocess.run(["gcc", "-shared", "-fPIC", "-I", ROOT / "plugins", "-o", plugins / "crasher.so", source], check=True)
    subprocess.run(["cp", pathlib.Path(BIN).parent / "plugins" / "process.so", plugins], check=True)
    (plugins / "crasher.so").chmod(0o755)
    d = make_daemon(config=f"plugin_dir: {plugins}\nplugins: {{crasher: {{isolate: true}}}}\n")
    stub = d.stub()
    error = refused(submit, stub, spec("true", runtime="crasher"))
    assert error.code() == grpc.StatusCode.INTERNAL and "crasher" in error.details()
    assert state_name(wait(stub, submit(stub, spec("true")).job)) == "SUCCEEDED", "the others go on"
    assert refused(submit, stub, spec("true", runtime="crasher")).code() == grpc.StatusCode.INTERNAL, "and it is asked again, in a new process"
