"""That the bed is what it promises: real containers, a real operator with its webhook, and room for thousands of pods."""

import re

import pytest

from bedlib import parts
from kube import EXAMPLES, python_template


def condition(thing, kind):
    """The condition's status, and "" without one."""
    return next((c["status"] for c in thing.get("status", {}).get("conditions", []) if c["type"] == kind), "")


def pytorch_job(name, master, worker=None, workers=0):
    replicas = {"Master": {"replicas": 1, "restartPolicy": "Never", "template": master}}
    if workers:
        replicas["Worker"] = {"replicas": workers, "restartPolicy": "Never", "template": worker}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": {"pytorchReplicaSpecs": replicas}}


def test_the_node_is_ready_and_runs_the_pinned_version(kube):
    node = kube.get("node", "node0")
    assert condition(node, "Ready") == "True"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == parts.PARTS["kubernetes"].version
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://")


def test_a_container_ends_with_its_exit_code_and_its_log_is_kept(kube):
    pod = {"containers": [{"name": "main", "image": "localhost/trainerd/tools:1", "command": ["sh", "-c", "echo out; echo err >&2; exit 7"]}], "restartPolicy": "Never"}
    kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "seven"}, "spec": pod})
    ended = kube.until("end of the pod", lambda: next((p for p in kube.pods() if p["status"]["phase"] in ("Succeeded", "Failed")), None))
    assert ended["status"]["phase"] == "Failed"
    assert ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
    assert sorted(kube("logs", "seven").split()) == ["err", "out"]


ASK = """
import os, pathlib, ssl, urllib.request
print(urllib.request.urlopen("http://hello:80/text", timeout=5).read().decode())
account = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
request = urllib.request.Request("https://kubernetes.default/version", headers={"Authorization": "Bearer " + (account / "token").read_text()})
print(urllib.request.urlopen(request, timeout=5, context=ssl.create_default_context(cafile=account / "ca.crt")).status)
"""


def test_a_pod_reaches_a_service_by_its_short_name_and_the_api_server(kube):
    serve = "cd /tmp && echo hello > text && exec busybox httpd -f -p 8080"
    served = {"containers": [{"name": "main", "image": "localhost/trainerd/tools:1", "command": ["sh", "-c", serve]}]}
    service = {"selector": {"app": "hello"}, "ports": [{"port": 80, "targetPort": 8080}]}
    asking = python_template("main", ["/usr/bin/python3", "-c", ASK])["spec"]
    kube.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hello", "labels": {"app": "hello"}}, "spec": served},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hello"}, "spec": service},
        # Tried again until the service has its pod.
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asking"}, "spec": {**asking, "restartPolicy": "OnFailure"}},
    )
    kube.until("answers", lambda: kube.get("pod", "asking")["status"]["phase"] == "Succeeded", seconds=120)
    assert kube("logs", "asking").split() == ["hello", "200"]


def test_the_webhook_refuses_what_it_should(kube):
    template = python_template("pytorch", ["true"])
    kube.create(pytorch_job("fits", template), dry_run=True)
    with pytest.raises(AssertionError, match="validator.pytorchjob"):
        kube.create(pytorch_job("no-container-of-that-name", python_template("other", ["true"])), dry_run=True)


def test_pytorch_trains_in_three_pods(kube):
    program = EXAMPLES / "pytorch-ddp"
    template = python_template("pytorch", ["/usr/bin/python3", "-u", f"{program}/train.py", "--epochs", "3"], files=[program])
    kube.create(pytorch_job("ddp", template, template, workers=2))

    def finished():
        job = kube.get("pytorchjob", "ddp")
        return job if condition(job, "Succeeded") == "True" or condition(job, "Failed") == "True" else None

    job = kube.until("end of the job", finished, seconds=180)
    log = kube("logs", "ddp-master-0", "-c", "pytorch")
    assert condition(job, "Succeeded") == "True", log + kube.describe()
    assert "rank 0 of 3" in log and "3 ranks agree on the parameters" in log
    losses = [float(x) for x in re.findall(r"^epoch \d/3  loss ([\d.]+)", log, re.M)]
    assert len(losses) == 3 and losses[-1] < losses[0]
    for worker in (0, 1):
        assert f"rank {worker + 1} of 3" in kube("logs", f"ddp-worker-{worker}", "-c", "pytorch")


def test_the_made_up_node_carries_two_hundred_pods(kube):
    count = 200
    spec = {
        "nodeSelector": {"type": "kwok"},
        "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
        "containers": [{"name": "main", "image": "none", "command": ["none"]}],
        "terminationGracePeriodSeconds": 0,
    }
    kube.create(*({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": spec} for i in range(count)))
    kube.until("pods running", lambda: sum(p["status"]["phase"] == "Running" for p in kube.pods()) == count, seconds=120)
    assert {p["spec"]["nodeName"] for p in kube.pods()} == {"fake0"}
