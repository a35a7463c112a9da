"""Fixtures of the end-to-end tests: every one is a real daemon with a state directory of its own."""

import pytest

from daemon import Daemon


@pytest.fixture
def make_daemon(tmp_path):
    made = []

    def make(name="state", start=True, **kw):
        d = Daemon(tmp_path / name, **kw)
        made.append(d)
        return d.start() if start else d

    yield make
    problems = []
    for d in made:
        try:
            d.finish()
        except AssertionError as e:
            problems.append(str(e))
    assert not problems, "\n".join(problems)


@pytest.fixture
def daemon(make_daemon):
    # Wide enough for tests that run several processes at once on a small machine.
    return make_daemon(config="local: {cpu: 64}\n")


@pytest.fixture
def stub(daemon):
    return daemon.stub()
