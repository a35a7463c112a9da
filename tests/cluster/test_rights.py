"""The rights in deploy/ are enough, and each of them is needed."""

import copy
import pathlib

import grpc
import pytest
import yaml

from test_trainerd import Trainer, until
from daemon import reason_name, ref, state_name, wait
from trainer.v1 import runtime_pb2, service_pb2

RBAC = pathlib.Path(__file__).parents[2] / "deploy" / "kubernetes-rbac.yaml"


def without(rules, resource, verb):
    rules = copy.deepcopy(rules)
    for rule in rules:
        if resource in rule["resources"]:
            rule["verbs"].remove(verb)
    return [r for r in rules if r["verbs"]]


@pytest.fixture
def account(kube, tmp_path, make_daemon):
    """Makes a daemon that is a service account with these rules."""
    account, role, binding = yaml.safe_load_all(RBAC.read_text())

    def make(change=lambda rules: rules):
        name = kube.namespace
        account["metadata"] = {"name": "trainerd", "namespace": kube.namespace}
        role["metadata"] = binding["metadata"] = {"name": name}
        binding["roleRef"]["name"] = name
        binding["subjects"][0]["namespace"] = kube.namespace
        kube.create(account, {**role, "rules": change(role["rules"])}, binding)
        config = yaml.safe_load(pathlib.Path(kube.kubeconfig).read_text())
        config["users"][0]["user"] = {"token": kube("create", "token", "trainerd").strip()}
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return make_daemon(config=f"kubernetes: {{kubeconfig: {path}}}\nlog_level: debug\n")

    yield make
    for kind in ("clusterrolebinding", "clusterrole"):
        kube("delete", kind, kube.namespace, "--ignore-not-found")


def test_the_rights_are_enough(account, kube):
    trainer = Trainer(account(), kube)
    job = trainer.submit("enough", "echo here; sleep 1")
    s = wait(trainer.stub, job, 90)
    assert (state_name(s), reason_name(s)) == ("SUCCEEDED", "COMPLETED")
    assert trainer.logs(job) == "here\n"
    trainer.stub.Delete(service_pb2.DeleteRequest(job=ref(job)), timeout=20)
    until("the object is gone", lambda: not trainer.objects())
    again = trainer.submit("again", "sleep 1000")
    trainer.becomes(again, "RUNNING", None, 90)
    trainer.stub.Cancel(service_pb2.CancelRequest(job=ref(again)), timeout=20)
    trainer.becomes(again, "CANCELED", None, 90)


@pytest.mark.parametrize("resource, verb", [("pytorchjobs", "list"), ("pytorchjobs", "watch"), ("pods", "list"), ("pods", "watch")])
def test_without_a_right_to_look_the_backend_says_so(account, kube, resource, verb):
    daemon = account(lambda rules: without(rules, resource, verb))
    stub = daemon.stub()

    def problem():
        info = stub.GetServerInfo(runtime_pb2.GetServerInfoRequest(), timeout=20)
        text = {b.name: b.message for b in info.backends}["kubernetes"]
        return text if "forbidden" in text else None

    assert "cannot " + verb in until("the backend is unwell", problem, 30)


def test_without_a_right_to_create_submit_is_refused(account, kube):
    trainer = Trainer(account(lambda rules: without(rules, "pytorchjobs", "create")), kube)
    with pytest.raises(grpc.RpcError) as error:
        trainer.submit("no", "true")
    assert error.value.code() == grpc.StatusCode.PERMISSION_DENIED and "cannot create" in error.value.details()


def test_without_a_right_to_logs_there_are_none(account, kube):
    trainer = Trainer(account(lambda rules: without(rules, "pods/log", "get")), kube)
    job = trainer.submit("quiet", "echo here; sleep 5")
    trainer.becomes(job, "RUNNING", None, 90)
    with pytest.raises(grpc.RpcError) as error:
        trainer.logs(job)
    assert error.value.code() == grpc.StatusCode.PERMISSION_DENIED and "pods/log" in error.value.details()
