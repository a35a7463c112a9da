"""Every example, as its job file says, run by a real daemon to its end. They exchange data between their ranks and check it."""

import hashlib
import os
import pathlib
import subprocess

import pytest

from daemon import BIN, ROOT

pytestmark = pytest.mark.timeout(900)

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "trainerd"


@pytest.fixture(scope="session")
def python_bin():
    """A Python with the frameworks that Debian does not have; it sees Debian's packages too (torch)."""
    wanted = pathlib.Path(__file__).with_name("requirements.txt").read_bytes()
    path = CACHE / ("examples-" + hashlib.sha256(wanted).hexdigest()[:16])
    if not (path / "complete").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", "--system-site-packages", path], check=True)
        subprocess.run([path / "bin" / "pip", "install", "-q", "-r", pathlib.Path(__file__).with_name("requirements.txt")], check=True)
        (path / "complete").touch()
    return path / "bin"


@pytest.fixture
def run_example(make_daemon, python_bin):
    d = make_daemon(config="local: {cpu: 64}\n", env={"PATH": f"{python_bin}:/usr/bin:/bin"})

    def run(name, *more, file="job.yaml"):
        command = [str(BIN / "trainctl"), "--server", d.address, "submit", "--follow", "-f", str(ROOT / "examples" / name / file), *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    return run


def succeeds(result):
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert "SUCCEEDED" in result.stderr


def test_pytorch_ddp(run_example):
    result = run_example("pytorch-ddp")
    succeeds(result)
    assert "loss" in result.stdout


def test_xgboost_distributed(run_example):
    succeeds(run_example("xgboost-distributed"))


def test_mpi_sum_of_four_ranks(run_example):
    folder = ROOT / "examples" / "mpi-sum"
    subprocess.run(["mpicc", "-O2", "-o", "sum", "sum.c", "-lm"], cwd=folder, check=True)
    try:
        succeeds(run_example("mpi-sum"))
    finally:
        (folder / "sum").unlink()


def test_jax_sum_of_two_processes(run_example):
    succeeds(run_example("jax-sum"))


def test_tensorflow_config(run_example):
    """TF_CONFIG is read and its tasks really connect; TensorFlow's own wheel is too large for what it would add here."""
    succeeds(run_example("tensorflow-config"))


def test_paddle_environment(run_example):
    succeeds(run_example("paddle-env"))
