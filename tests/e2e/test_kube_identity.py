"""Who the daemon is for the API server: what its requests carry, and what happens when that is refused."""

import base64
import json

import pytest

from daemon import submit
from fakeapi import FakeApi
from test_kube_fakeapi import healthy, spec
from test_rpc_traps import info_of, until

SECRET = "hush-hush"


@pytest.fixture
def api():
    fake = FakeApi()
    yield fake
    fake.stop()


@pytest.fixture
def daemon_as(api, make_daemon, tmp_path):
    """A daemon that is this user of a kubeconfig."""

    def make(user):
        path = api.kubeconfig(tmp_path / "kubeconfig")
        config = json.loads(path.read_text())
        config["users"][0]["user"] = user
        path.write_text(json.dumps(config))
        return make_daemon(config=f"kubernetes: {{kubeconfig: {path}}}\nlog_level: debug\n")

    return make


def headers(api, verb, path=""):
    with api.lock:
        return [r.headers for r in api.requests if r.verb == verb and path in r.path]


def authorizations(api, verb, path=""):
    return [h.get("Authorization") for h in headers(api, verb, path)]


def program(tmp_path, body):
    path = tmp_path / "plugin"
    path.write_text(f"#!/bin/sh\ncd {tmp_path}\necho run >> runs\n{body}\n")
    path.chmod(0o755)
    return {"exec": {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}}


def answer(status):
    return json.dumps({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status})


def runs(tmp_path):
    return (tmp_path / "runs").read_text().count("run")


@pytest.mark.parametrize(
    "user, header",
    [
        ({"token": SECRET}, f"Bearer {SECRET}"),
        ({"username": "me", "password": SECRET}, "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()),
        (None, None),
    ],
)
def test_every_request_carries_it(api, daemon_as, user, header):
    daemon = daemon_as(user)
    stub = daemon.stub()
    until(lambda: healthy(stub) and headers(api, "WATCH", "/pytorchjobs"), 20)
    submit(stub, spec("one"))
    with api.lock:
        assert {r.headers.get("Authorization") for r in api.requests} == {header}
        assert {"GET", "LIST", "WATCH", "POST"} <= {r.verb for r in api.requests}
    assert SECRET not in daemon.log()


def test_acting_as_somebody_else(api, daemon_as):
    stub = daemon_as({"token": "t", "act-as": "jane", "act-as-groups": ["team"], "act-as-user-extra": {"Reason": ["why"]}}).stub()
    until(lambda: healthy(stub) and headers(api, "WATCH"), 20)
    submit(stub, spec("one"))
    with api.lock:
        for r in api.requests:
            assert (r.headers["Impersonate-User"], r.headers["Impersonate-Group"], r.headers["Impersonate-Extra-reason"]) == ("jane", "team", "why")


def test_a_token_file_that_changes(api, daemon_as, tmp_path):
    token = tmp_path / "token"
    token.write_text("old\n")
    daemon = daemon_as({"tokenFile": "token"})
    stub = daemon.stub()
    until(lambda: healthy(stub), 20)
    token.write_text(f"{SECRET}\n")
    api.next("POST", "/pytorchjobs", status=401)
    submit(stub, spec("one"))  # the client sees nothing of it
    assert authorizations(api, "POST") == ["Bearer old", f"Bearer {SECRET}"]
    submit(stub, spec("two"))
    assert authorizations(api, "POST")[2:] == [f"Bearer {SECRET}"]
    assert SECRET not in daemon.log()


def test_a_watch_that_is_refused_starts_again_with_the_new_token(api, daemon_as, tmp_path):
    token = tmp_path / "token"
    token.write_text("old")
    api.next("WATCH", "/pytorchjobs", status=401)
    stub = daemon_as({"tokenFile": "token"}).stub()
    until(lambda: len(headers(api, "WATCH", "/pytorchjobs")) >= 2, 20)
    submit(stub, spec("one"))
    assert authorizations(api, "LIST", "/pytorchjobs") == ["Bearer old"]  # it was not the list that failed


def test_a_token_that_stays_refused_is_said(api, daemon_as, tmp_path):
    (tmp_path / "token").write_text(SECRET)
    daemon = daemon_as({"tokenFile": "token"})
    stub = daemon.stub()
    until(lambda: healthy(stub), 20)
    api.next("POST", "/pytorchjobs", status=401, times=2)
    with pytest.raises(Exception) as refused:
        submit(stub, spec("one"))
    assert "as the test asked" in refused.value.details() and SECRET not in refused.value.details()
    assert len(headers(api, "POST")) == 2
    submit(stub, spec("two"))


def test_a_token_file_that_is_not_there_yet(api, daemon_as, tmp_path):
    daemon = daemon_as({"tokenFile": "token"})
    stub = daemon.stub()

    def problem():
        return {b.name: b.message for b in info_of(stub).backends}["kubernetes"]

    until(lambda: f"cannot open {tmp_path}/token" in problem(), 20)
    assert not healthy(stub) and not api.requests
    (tmp_path / "token").write_text("t")
    until(lambda: healthy(stub), 60)


def test_a_program_is_run_once_and_again_when_refused(api, daemon_as, tmp_path):
    daemon = daemon_as(program(tmp_path, "sleep 0.2; echo '" + answer({"token": f"{SECRET}-"}) + "' | sed \"s/-\\\"/-$(wc -l < runs)\\\"/\""))
    stub = daemon.stub()
    until(lambda: healthy(stub) and headers(api, "WATCH"), 20)
    assert runs(tmp_path) == 1
    api.next("POST", "/pytorchjobs", status=401)
    submit(stub, spec("one"))
    assert authorizations(api, "POST") == [f"Bearer {SECRET}-1", f"Bearer {SECRET}-2"]
    submit(stub, spec("two"))
    assert runs(tmp_path) == 2
    assert SECRET not in daemon.log()


def test_a_program_that_fails_is_said(api, daemon_as, tmp_path):
    daemon = daemon_as(program(tmp_path, f"test -e good && echo '{answer({'token': 't'})}' && exit 0; echo {SECRET}; exit 7"))
    stub = daemon.stub()

    def problem():
        return {b.name: b.message for b in info_of(stub).backends}["kubernetes"]

    until(lambda: "/plugin failed with exit code 7" in problem(), 20)
    assert SECRET not in problem() and SECRET not in daemon.log() and not api.requests
    (tmp_path / "good").touch()
    until(lambda: healthy(stub), 60)
