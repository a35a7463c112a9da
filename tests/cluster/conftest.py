"""The cluster that the tests in this folder run on. They find it up, or are left out: tools/test cluster starts it."""

import uuid

import pytest

from bedlib import cluster
from kube import Kube


@pytest.fixture(scope="session")
def bed():
    if not cluster.is_up():
        pytest.skip("the bed is not up: tests/cluster/bed.py up")
    return cluster


@pytest.fixture
def kube(bed):
    """A namespace of the test's own, gone with everything in it afterwards."""
    kube = Kube(f"test-{uuid.uuid4().hex[:8]}")
    kube("create", "namespace", kube.namespace)
    yield kube
    kube("delete", "namespace", kube.namespace, "--wait=false")
