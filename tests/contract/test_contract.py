"""The contract is locked, and the lock sees every way of breaking it."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOCK = ROOT / "tests" / "contract" / "trainer.v1.lock"


def lock(*arguments):
    r = subprocess.run([sys.executable, ROOT / "tools" / "proto-lock", *map(str, arguments)], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


def test_proto_keeps_every_promise():
    status, text = lock()
    assert status == 0, text


@pytest.fixture
def changed(tmp_path):
    """Runs the lock over the contract with one text replaced."""

    def run(file, old, new):
        shutil.copytree(ROOT / "proto" / "trainer", tmp_path / "trainer")
        path = tmp_path / "trainer" / "v1" / file
        text = path.read_text()
        assert re.search(old, text), f"{file} has no {old}: the test is out of date"
        path.write_text(re.sub(old, new, text, count=1))
        shutil.copy(LOCK, tmp_path / "lock")
        return lock("--proto", tmp_path, "--lock", tmp_path / "lock")

    return run


BREAKS = {
    "a field is renumbered": ("job.proto", r"string shm_size = 11;", "string shm_size = 99;", "field trainer.v1.Role 11 is gone"),
    "a field is renamed": ("job.proto", r"string shm_size = 11;", "string shm_bytes = 11;", "field trainer.v1.Role 11 has changed"),
    "a field is retyped": ("job.proto", r"string shm_size = 11;", "bytes shm_size = 11;", "field trainer.v1.Role 11 has changed"),
    "a field becomes many": ("job.proto", r"string shm_size = 11;", "repeated string shm_size = 11;", "field trainer.v1.Role 11 has changed"),
    "a field goes": ("job.proto", r"string shm_size = 11;", "", "field trainer.v1.Role 11 is gone"),
    "a value of an enum is renamed": ("job.proto", r"NODE_LOST = 31;", "NODE_GONE = 31;", "value trainer.v1.JobStatus.Reason 31 has changed"),
    "a value of an enum goes": ("job.proto", r"NODE_LOST = 31;", "", "value trainer.v1.JobStatus.Reason 31 is gone"),
    "a method becomes a stream": ("service.proto", r"rpc List\(ListRequest\) returns \(ListResponse\)", "rpc List(ListRequest) returns (stream ListResponse)", "method trainer.v1.TrainerService List has changed"),
    "a method is renamed": ("service.proto", r"rpc List\(", "rpc ListJobs(", "method trainer.v1.TrainerService List is gone"),
    "a method takes something else": ("service.proto", r"rpc List\(ListRequest\)", "rpc List(GetRequest)", "method trainer.v1.TrainerService List has changed"),
}  # fmt: skip


@pytest.mark.parametrize("file, old, new, says", BREAKS.values(), ids=BREAKS.keys())
def test_what_breaks_a_client_is_said(changed, file, old, new, says):
    status, text = changed(file, old, new)
    assert status == 1 and says in text, text


def test_a_field_may_go_when_its_number_is_reserved(changed):
    status, text = changed("job.proto", r"string shm_size = 11;", 'reserved 11; reserved "shm_size";')
    assert "gone" not in text and "changed" not in text, text


def test_what_is_new_has_to_be_written_down(changed):
    status, text = changed("job.proto", r"string shm_size = 11;", "string shm_size = 11; string brand_new = 999;")
    assert status == 1 and text.startswith("1 promises are not written down yet"), text
