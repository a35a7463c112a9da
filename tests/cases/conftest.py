"""One daemon for all tests of a file: a case that needs its own makes it with make_daemon."""

import pytest

from daemon import Daemon


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    d = Daemon(tmp_path_factory.mktemp("cases") / "state", config="local: {cpu: 64}\n").start()
    yield d
    d.finish()


@pytest.fixture(scope="module")
def desk(house):
    """A stub of it."""
    return house.stub()
