"""What the runtimes render, and what the real API server and the operator's webhooks say of it."""

import json
import pathlib

import pytest

RENDERS = sorted((pathlib.Path(__file__).parents[1] / "golden" / "renders").glob("*.json"))


@pytest.mark.parametrize("path", RENDERS, ids=[p.stem for p in RENDERS])
def test_every_golden_render_is_accepted_as_it_is(kube, path):
    thing = json.loads(path.read_text())
    thing["metadata"]["namespace"] = kube.namespace
    kube.create(thing, dry_run=True)
