"""trainctl as people and scripts use it: exit statuses, outputs, and a terminal where states update in place."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
import yaml

from daemon import BIN, ROOT

TRAINCTL = BIN / "trainctl"
UID = re.compile(r"^[0-9a-f]{32}$")
CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def environment(daemon=None, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRAINERD") and k != "NO_COLOR"}
    env["ASAN_OPTIONS"] = "detect_leaks=1:exitcode=99"
    env["LSAN_OPTIONS"] = f"suppressions={ROOT / 'tools' / 'lsan.supp'}:print_suppressions=0"
    env["TERM"] = "xterm-256color"
    if daemon is not None:
        env["TRAINERD_ADDR"] = daemon.address
    env.update(more)
    return env


@pytest.fixture
def ctl(daemon, tmp_path):
    """ctl("list", "-o", "json", status=0): runs it, checks the exit status, gives what it wrote."""

    def call(*args, status=0, stdin="", **more):
        done = subprocess.run(
            [str(TRAINCTL), *map(str, args)], input=stdin, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=environment(daemon, **more)
        )
        assert "Sanitizer" not in done.stderr, done.stderr
        if status is not None:
            assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return call


class Terminal:
    """trainctl on a pseudo-terminal of its own."""

    def __init__(self, *args, env, cwd=None, columns=100, rows=20):
        self.text = b""
        self.fd, inside = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        # Not pty.fork(): the threads of this process's gRPC client do not survive a fork.
        command = ["setsid", "-c", str(TRAINCTL), *args]
        self.process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, cwd=cwd or "/", env=env)
        os.close(inside)

    def read(self, seconds=0.2):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                break
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # the other side is closed
                return False
            if not data:
                return False
            self.text += data
        return True

    def expect(self, pattern, seconds=30):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.plain()):
            assert time.monotonic() < end, f"no {pattern!r} in:\n{self.plain()}"
            if not self.read():
                assert re.search(pattern, self.plain()), f"ended without {pattern!r}:\n{self.plain()}"
        return self

    def send(self, text):
        os.write(self.fd, text.encode())

    def plain(self):
        return CONTROL.sub("", self.text.decode(errors="replace"))

    def wait(self, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            if self.process.poll() is not None:
                self.read(0.2)
                os.close(self.fd)
                return self.process.returncode
        self.process.kill()
        raise AssertionError("does not end:\n" + self.plain())


@pytest.fixture
def terminal(daemon, tmp_path):
    return lambda *args: Terminal(*args, env=environment(daemon), cwd=tmp_path)


def jobs(ctl, *args):
    return json.loads(ctl("list", "-o", "json", *args).stdout)["jobs"]


def until(check, seconds=30):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "does not become true"
        time.sleep(0.05)


def started(ctl, *args):
    """A job that runs until it is told otherwise; its name."""
    name = ctl("run", "--detach", *args, "--", "sh", "-c", "echo up; exec sleep 300").stdout.strip()
    until(lambda: json.loads(ctl("get", name, "-o", "json").stdout)["status"]["state"] == "RUNNING")
    return name


# ---- run -----------------------------------------------------------------------------------------------------------------------


def test_run_shows_logs_on_stdout_and_states_on_stderr(ctl):
    done = ctl("run", "--name", "hello", "--", "echo", "hello there")
    assert re.fullmatch(r"\w+-0 \| hello there\n", done.stdout)
    assert "submitted hello" in done.stderr
    assert re.search(r"^\d\d:\d\d:\d\d RUNNING", done.stderr, re.M)
    assert re.search(r"^SUCCEEDED hello after ", done.stderr, re.M)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "script, status",
    [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)],
)
def test_run_ends_with_the_status_of_the_job(ctl, script, status):
    done = ctl("run", "--", "sh", "-c", script, status=status)
    if status:
        assert re.search(r"^FAILED .* after ", done.stderr, re.M)
        assert "trainctl logs" in done.stderr


def test_run_of_a_program_that_is_not_there(ctl):
    done = ctl("run", "--", "/no/such/program", status=None)
    assert done.returncode != 0
    assert "/no/such/program" in done.stderr


def test_run_several_workers_each_with_its_name(ctl):
    done = ctl("run", "--workers", "3", "--cpu", "100m", "--", "sh", "-c", "echo I am here")
    assert sorted(done.stdout.splitlines()) == [f"{done.stdout.split('-')[0]}-{i} | I am here" for i in range(3)]


def test_run_pytorch_gives_one_master_and_the_workers(ctl):
    done = ctl("run", "--runtime", "pytorch", "--workers", "2", "--cpu", "100m", "--", "sh", "-c", "echo $RANK/$WORLD_SIZE")
    assert sorted(done.stdout.split("\n")[:-1]) == ["master-0 | 0/3", "worker-0 | 1/3", "worker-1 | 2/3"]


def test_run_passes_directory_environment_and_arguments(ctl, tmp_path):
    done = ctl("run", "-e", "ONE=1 and more", "-e", "TWO", "--", "sh", "-c", 'pwd; echo "$ONE|$TWO|$THREE|$1"', "x", "a  b", TWO="2", THREE="3")
    lines = [line.split(" | ", 1)[1] for line in done.stdout.splitlines()]
    assert lines == [str(tmp_path), "1 and more|2||a  b"]


def test_run_detach_prints_the_name_alone(ctl):
    done = ctl("run", "--detach", "--name", "apart", "--", "true")
    assert done.stdout == "apart\n"
    ctl("watch", "apart", "--until-terminal")


def test_run_dry_run_is_a_job_file_that_submit_takes(ctl, tmp_path):
    text = ctl("run", "--dry-run", "--name", "later", "--label", "a=b", "--timeout", "1m30s", "--", "sh", "-c", "exit 5").stdout
    spec = yaml.safe_load(text)
    assert spec["name"] == "later" and spec["labels"] == {"a": "b"}
    assert spec["roles"][0]["command"][1:] == ["-c", "exit 5"]
    (tmp_path / "later.yaml").write_text(text)
    assert jobs(ctl) == []
    ctl("submit", "-f", "later.yaml", "--follow", status=5)


def test_run_with_the_same_request_id_runs_once(ctl, tmp_path):
    run = ["run", "--request-id", "once", "--", "sh", "-c", f"echo x >> {tmp_path}/count"]
    ctl(*run)
    ctl(*run)
    assert (tmp_path / "count").read_text() == "x\n"
    assert len(jobs(ctl)) == 1


def test_run_json_is_one_message_a_line(ctl):
    done = ctl("run", "-o", "json", "--", "echo", "hi")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert "submitted" in messages[0]
    states = [m["transition"]["status"]["state"] for m in messages if "transition" in m]
    assert states[-1] == "SUCCEEDED"


def test_run_is_canceled_from_outside(ctl, daemon):
    process = subprocess.Popen([TRAINCTL, "run", "--name", "stopped", "--", "sleep", "300"], env=environment(daemon), stderr=subprocess.PIPE, text=True)
    until(lambda: ctl("get", "stopped", "-o", "json", status=None).stdout.find('"RUNNING"') > 0)
    ctl("cancel", "stopped", "--grace", "1")
    assert process.wait(30) == 130
    assert "CANCELED stopped" in process.stderr.read()


def test_run_survives_a_restart_of_the_server(ctl, daemon, tmp_path):
    script = f"echo before; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; echo after; exit 7"
    process = subprocess.Popen(
        [TRAINCTL, "run", "--name", "long", "--", "sh", "-c", script], env=environment(daemon), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(lambda: ctl("get", "long", "-o", "json", status=None).stdout.find('"RUNNING"') > 0)
    daemon.kill()
    daemon.start()
    (tmp_path / "go").touch()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 7, err
    assert [line.split(" | ")[1] for line in out.splitlines()] == ["before", "after"]
    assert "the connection broke" in err and "connected again" in err


def test_run_starts_a_server_when_there_is_none(tmp_path):
    env = environment(TRAINERD_STATE_DIR=str(tmp_path / "own"), ASAN_OPTIONS="detect_leaks=0")
    done = subprocess.run([TRAINCTL, "run", "--", "echo", "hi"], env=env, capture_output=True, text=True, timeout=120)
    pid = re.search(r"started trainerd \(pid (\d+), log (.*)\)", done.stderr)
    try:
        assert done.returncode == 0, done.stderr
        assert pid and done.stdout.endswith("| hi\n")
        assert os.getsid(int(pid[1])) == int(pid[1]), "has a session of its own"
        again = subprocess.run([TRAINCTL, "run", "--", "echo", "hi"], env=env, capture_output=True, text=True, timeout=120)
        assert again.returncode == 0 and "started trainerd" not in again.stderr
    finally:
        if pid:
            os.kill(int(pid[1]), signal.SIGTERM)


def test_run_does_not_start_a_server_in_place_of_a_named_one(tmp_path):
    done = subprocess.run([TRAINCTL, "--server", f"unix:{tmp_path}/none.sock", "run", "--", "true"], env=environment(), capture_output=True, text=True)
    assert done.returncode == 3
    assert "none.sock" in done.stderr


# ---- On a terminal --------------------------------------------------------------------------------------------------------------


def test_states_update_in_place(terminal):
    t = terminal("run", "--name", "shown", "--", "sh", "-c", "sleep 1.5; echo output; sleep 1")
    t.expect(r"shown +\d.* RUNNING").expect(r"\| output").expect("SUCCEEDED")
    assert t.wait() == 0
    text = t.text.decode()
    assert "\x1b[1A\x1b[J" in text, "the line is written anew, not below"
    assert "\x1b[32mSUCCEEDED\x1b[0m" in text
    assert re.search(r"\x1b\[3\dm\w+-0 \|\x1b\[0m output", text)


def test_lines_never_pass_the_width_of_the_terminal(daemon, tmp_path):
    t = Terminal("run", "--name", "narrow", "--", "sleep", "1", env=environment(daemon), cwd=tmp_path, columns=30)
    t.expect("SUCCEEDED")
    assert t.wait() == 0
    shown = [line for line in re.split(r"[\r\n]+", t.plain()) if line.startswith("narrow")]
    assert shown and max(map(len, shown)) <= 30


@pytest.mark.parametrize("term, no_color", [("dumb", ""), ("xterm", "1")])
def test_no_colours(daemon, tmp_path, term, no_color):
    t = Terminal("run", "--", "echo", "hi", env=environment(daemon, TERM=term, NO_COLOR=no_color), cwd=tmp_path)
    t.expect("SUCCEEDED")
    assert t.wait() == 0
    assert not re.search(rb"\x1b\[[0-9;]*m", t.text)


def test_interrupt_asks_and_d_detaches(terminal, ctl):
    t = terminal("run", "--name", "kept", "--", "sleep", "300")
    t.expect("RUNNING").send("\x03")
    t.expect(r"detach \(d\), cancel the job \(c\), go on \(Enter\)\?").send("d")
    assert t.wait() == 4
    assert "kept goes on" in t.plain()
    assert jobs(ctl)[0]["status"]["state"] == "RUNNING"


def test_interrupt_asks_and_c_cancels(terminal, ctl):
    t = terminal("run", "--name", "ended", "--", "sleep", "300")
    t.expect("RUNNING").send("\x03")
    t.expect("cancel the job").send("c")
    assert t.wait() == 130
    assert jobs(ctl)[0]["status"]["state"] == "CANCELED"


def test_interrupt_asks_and_enter_goes_on(terminal, tmp_path):
    t = terminal("run", "--", "sh", "-c", f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; echo last words")
    t.expect("RUNNING").send("\x03")
    t.expect("cancel the job").send("\r")
    (tmp_path / "go").touch()
    t.expect("last words").expect("SUCCEEDED")
    assert t.wait() == 0


def test_second_interrupt_detaches(terminal, ctl):
    t = terminal("run", "--name", "twice", "--", "sleep", "300")
    t.expect("RUNNING").send("\x03")
    t.expect("cancel the job").send("\x03")
    assert t.wait() == 4
    assert jobs(ctl)[0]["status"]["state"] == "RUNNING"


def test_interrupt_without_a_terminal_detaches(ctl, daemon):
    process = subprocess.Popen(
        [TRAINCTL, "run", "--name", "script", "--", "sleep", "300"], env=environment(daemon), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    until(lambda: ctl("get", "script", "-o", "json", status=None).stdout.find('"RUNNING"') > 0)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 4
    assert "script goes on" in process.stderr.read()
    assert jobs(ctl)[0]["status"]["state"] == "RUNNING"


def test_watch_on_a_terminal_is_a_table(terminal, ctl):
    name = started(ctl)
    t = terminal("watch", "--until-terminal")
    t.expect("NAME +STATE").expect(rf"{name} +RUNNING")
    ctl("cancel", name, "--grace", "1")
    t.expect("CANCELED")
    assert t.wait() == 130


# ---- submit --------------------------------------------------------------------------------------------------------------------

GOOD = "name: {name}\nruntime: process\nroles:\n  - name: worker\n    command: [{command}]\n"


def test_submit_several_documents(ctl, tmp_path):
    (tmp_path / "two.yaml").write_text(GOOD.format(name="one", command="'true'") + "---\n" + GOOD.format(name="two", command="'true'"))
    assert ctl("submit", "-f", "two.yaml").stdout == "one submitted\ntwo submitted\n"
    assert ctl("list", "-o", "name").stdout == "two\none\n"


def test_submit_from_stdin_and_json(ctl):
    spec = {"name": "json", "runtime": "process", "roles": [{"name": "worker", "command": ["true"]}]}
    assert ctl("submit", "-f", "-", "-o", "name", stdin=json.dumps(spec)).stdout == "json\n"


def test_submit_errors_name_the_line(ctl, tmp_path):
    (tmp_path / "bad.yaml").write_text("runtime: process\nroles:\n  - name: worker\n    command: ['true']\n    replicas: -3\n")
    done = ctl("submit", "-f", "bad.yaml", status=1)
    assert re.search(r"^  bad.yaml:5: roles\[0\].replicas: ", done.stderr, re.M)


def test_submit_unknown_field(ctl, tmp_path):
    (tmp_path / "bad.yaml").write_text("runtime: process\nroles:\n  - name: worker\n    comand: ['true']\n")
    done = ctl("submit", "-f", "bad.yaml", status=1)
    assert "bad.yaml:4" in done.stderr and "comand" in done.stderr and "command" in done.stderr


def test_one_bad_document_does_not_keep_the_others(ctl):
    text = GOOD.format(name="Bad_Name", command="'true'") + "---\n" + GOOD.format(name="good", command="'true'")
    done = ctl("submit", "-f", "-", stdin=text, status=1)
    assert done.stdout == "good submitted\n" and "stdin:1" in done.stderr


def test_submit_of_no_yaml(ctl):
    done = ctl("submit", "-f", "-", stdin="a: [1\n", status=1)
    assert "line" in done.stderr


def test_dry_run_creates_nothing(ctl):
    done = ctl("submit", "-f", "-", "--dry-run", stdin=GOOD.format(name="x", command="'true'"))
    assert "valid" in done.stdout
    assert jobs(ctl) == []


def test_submit_request_id(ctl):
    text = GOOD.format(name="key", command="'true'")
    assert ctl("submit", "-f", "-", "--request-id", "k", stdin=text).stdout == "key submitted\n"
    assert ctl("submit", "-f", "-", "--request-id", "k", stdin=text).stdout == "key was submitted before\n"
    done = ctl("submit", "-f", "-", "--request-id", "k", stdin=text.replace("'true'", "'false'"), status=1)
    assert "key" in done.stderr


def test_relative_working_dir_counts_from_the_file(ctl, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "job.yaml").write_text(GOOD.format(name="dir", command="pwd") + "    working_dir: .\n")
    done = ctl("submit", "-f", "sub/job.yaml", "--follow")
    assert done.stdout.endswith(f"| {tmp_path}/sub\n")


# ---- Reading -------------------------------------------------------------------------------------------------------------------


def test_get_describes(ctl):
    ctl("run", "--name", "told", "-l", "k=v", "--", "sh", "-c", "exit 3", status=3)
    text = ctl("get", "told").stdout
    for line in [r"Name +told", r"State +FAILED", r"Labels +k=v", r"Exit +\w+-0 exited with code 3", r"Ended +\d{4}-.* ago\)", r"next: trainctl logs"]:
        assert re.search(rf"^{line}", text, re.M), (line, text)
    job = json.loads(ctl("get", "told", "-o", "json").stdout)
    assert UID.match(job["uid"]) and job["spec"]["roles"][0]["command"][1:] == ["-c", "exit 3"]
    assert yaml.safe_load(ctl("get", job["uid"], "-o", "yaml").stdout)["name"] == "told"


def test_get_of_nothing(ctl):
    assert "nothing-there" in ctl("get", "nothing-there", status=1).stderr


def test_list_filters(ctl):
    for name, label in [("a1", "s=a"), ("a2", "s=a"), ("b1", "s=b")]:
        ctl("run", "--name", name, "-l", label, "--", "true")
    ctl("run", "-n", "other", "--name", "c1", "--", "false", status=1)
    assert ctl("list", "-l", "s=a", "-o", "name").stdout == "a2\na1\n"
    assert ctl("list", "--state", "FAILED", "-A", "-o", "name").stdout == "c1\n"
    assert ctl("list", "--limit", "1", "-o", "name").stdout == "b1\n"
    rows = ctl("list", "-A").stdout.splitlines()
    assert rows[0].split() == ["NAMESPACE", "NAME", "RUNTIME", "STATE", "REASON", "AGE", "DURATION"]
    assert rows[1].split()[:4] == ["other", "c1", "process", "FAILED"] and len(rows) == 5


def test_list_pages_through_everything(ctl, stub):
    from daemon import spec, submit

    for i in range(1100):
        s = spec(["true"], name=f"n{i}")
        s.run_policy.suspend = True
        submit(stub, s)
    names = ctl("list", "-o", "name").stdout.split()
    assert len(names) == 1100 and len(set(names)) == 1100
    assert len(jobs(ctl)) == 1100
    assert len(yaml.load(ctl("list", "-o", "yaml").stdout, Loader=yaml.CSafeLoader)["jobs"]) == 1100


def test_empty_lists(ctl):
    assert jobs(ctl) == []
    assert yaml.safe_load(ctl("list", "-o", "yaml").stdout) == {"jobs": []}
    assert "no jobs" in ctl("list").stderr


def test_logs_are_the_bytes(ctl, daemon):
    data = bytes(range(256)) * 40 + b"no newline at the end"
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 40 + b'no newline at the end')"
    ctl("run", "--name", "raw", "-o", "name", "--", sys.executable, "-c", code)
    out = subprocess.run([TRAINCTL, "logs", "raw"], env=environment(daemon), capture_output=True, check=True).stdout
    assert out == data


def test_logs_selection(ctl):
    ctl("run", "--name", "sel", "--workers", "2", "--cpu", "100m", "--", "sh", "-c", "seq 5")
    role = jobs(ctl)[0]["status"]["roles"][0]["name"]
    assert ctl("logs", "sel", "--role", role, "--index", "1", "--tail", "2").stdout == "4\n5\n"
    assert ctl("logs", "sel", "--role", role, "--index", "0", "--prefix", "--tail", "1").stdout == f"{role}-0 | 5\n"
    assert len(ctl("logs", "sel").stdout.split()) == 10
    assert ctl("logs", "sel", "--since", "1h").stdout.count("\n") == 10
    assert ctl("logs", "sel", "--previous", status=1).stderr


def test_logs_follow_to_the_end(ctl, daemon, tmp_path):
    name = ctl("run", "--detach", "--", "sh", "-c", f"echo a; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; echo b").stdout.strip()
    process = subprocess.Popen([TRAINCTL, "logs", "-f", name], env=environment(daemon), stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "a\n"
    (tmp_path / "go").touch()
    assert process.communicate(timeout=30)[0] == "b\n"
    assert process.returncode == 0


def test_watch_until_terminal_follows_the_jobs(ctl):
    good = ctl("run", "--detach", "--", "true").stdout.strip()
    bad = ctl("run", "--detach", "--", "sh", "-c", "sleep 0.5; exit 9").stdout.strip()
    assert re.search(rf"{good} SUCCEEDED", ctl("watch", good, "--until-terminal").stdout)
    assert re.search(rf"{bad} FAILED", ctl("watch", good, bad, "--until-terminal", status=9).stdout)


def test_watch_json(ctl):
    name = ctl("run", "--detach", "--", "true").stdout.strip()
    lines = [json.loads(line) for line in ctl("watch", name, "--until-terminal", "-o", "json").stdout.splitlines()]
    assert "snapshot" in lines[0] and all("resume_token" in line for line in lines)


def test_runtimes_and_info(ctl):
    assert re.search(r"^pytorch +yes", ctl("runtimes").stdout, re.M)
    one = ctl("runtimes", "pytorch").stdout
    assert re.search(r"^master ", one, re.M) and re.search(r"^local ", one, re.M) and "WORLD_SIZE" in one
    assert "pytorch" in ctl("runtimes", "pytorhc", status=1).stderr
    info = ctl("info").stdout
    assert re.search(r"^local +local +yes", info, re.M) and "Journal      healthy" in info
    assert json.loads(ctl("info", "-o", "json").stdout)["version"]


def test_render_shows_the_processes(ctl):
    done = ctl("render", "-f", "-", "--target", "local", stdin=GOOD.format(name="plan", command="'true'"))
    assert "# local" in done.stdout
    assert yaml.safe_load(done.stdout)
    assert json.loads(ctl("render", "-f", "-", "--target", "local", "-o", "json", stdin=GOOD.format(name="plan", command="'true'")).stdout)


# ---- Changing ------------------------------------------------------------------------------------------------------------------


def test_cancel_suspend_resume_delete(ctl):
    name = started(ctl, "--name", "changed")
    assert "changed" in ctl("suspend", name).stdout
    until(lambda: jobs(ctl)[0]["status"]["state"] == "SUSPENDED")
    ctl("resume", name)
    until(lambda: jobs(ctl)[0]["status"]["state"] == "RUNNING")
    assert "force" in ctl("delete", name, status=1).stderr
    ctl("cancel", name, "--grace", "0", "--reason", "enough")
    ctl("watch", name, "--until-terminal", status=130)
    assert ctl("cancel", name).stdout.startswith("changed CANCELED")
    assert ctl("delete", name).stdout == "changed deleted\n"
    assert jobs(ctl) == []


def test_change_by_label(ctl):
    for i in range(3):
        started(ctl, "--name", f"l{i}", "-l", "group=x", "--cpu", "100m")
    started(ctl, "--name", "stays", "--cpu", "100m")
    assert len(ctl("cancel", "-l", "group=x", "--grace", "0").stdout.splitlines()) == 3
    ctl("watch", "l0", "l1", "l2", "--until-terminal", status=130)
    assert jobs(ctl, "--state", "RUNNING")[0]["name"] == "stays"
    ctl("cancel", "stays", "-l", "group=x", status=2)
    ctl("cancel", status=2)


def test_a_job_that_is_not_there_does_not_keep_others_from_being_changed(ctl):
    name = started(ctl)
    done = ctl("cancel", "missing", name, "--grace", "0", status=1)
    assert "missing" in done.stderr and name in done.stdout


# ---- Use -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, says",
    [
        (["runn"], "did you mean run?"),
        (["run", "--worker", "2", "--", "x"], "did you mean --workers?"),
        (["list", "--limit", "many"], "whole number"),
        (["list", "-o", "xml"], "table|wide|json|yaml|name"),
        (["logs"], "missing"),
        (["logs", "a", "b"], '"b" is too much'),
        (["logs", "a", "--since", "ever"], "duration"),
        (["submit"], "-f FILE"),
        (["run"], "missing"),
        (["list", "--limit"], "needs a value"),
        (["list", "--all-namespaces=yes"], "takes no value"),
        (["run", "--replicas", "wroker=2", "--", "x"], "did you mean worker?"),
        (["run", "--env", "NOT_SET_ANYWHERE", "--", "x"], "is not set here"),
        ([], None),
    ],
)
def test_wrong_use(ctl, args, says):
    done = ctl(*args, status=2)
    assert says is None or says in done.stderr


def test_help_and_version():
    env = environment()
    overview = subprocess.run([TRAINCTL, "help"], env=env, capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  (\w+) +\S", overview.split("commands:")[1].split("global flags:")[0], re.M)
    assert {"run", "submit", "get", "list", "watch", "logs", "cancel", "delete", "suspend", "resume", "render", "runtimes", "info"} <= set(verbs)
    for verb in verbs:
        text = subprocess.run([TRAINCTL, verb, "--help"], env=env, capture_output=True, text=True, check=True).stdout
        assert f"usage: trainctl {verb}" in text
        assert text == subprocess.run([TRAINCTL, "help", verb], env=env, capture_output=True, text=True, check=True).stdout
        assert verb in (ROOT / "docs" / "trainctl.md").read_text()
    assert re.fullmatch(r"trainctl \d+\.\d+\.\d+\n", subprocess.run([TRAINCTL, "version"], env=env, capture_output=True, text=True, check=True).stdout)


def test_no_server(tmp_path):
    env = environment(TRAINERD_STATE_DIR=str(tmp_path))
    done = subprocess.run([TRAINCTL, "list"], env=env, capture_output=True, text=True)
    assert done.returncode == 3 and str(tmp_path) in done.stderr
    done = subprocess.run([TRAINCTL, "--server", "127.0.0.1:1", "list"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3


def test_tcp_needs_the_token_and_finds_it(ctl, daemon, tmp_path):
    assert ctl("--server", daemon.tcp, "list", status=1, TRAINERD_STATE_DIR=str(tmp_path)).stderr.count("--token-file") == 1
    ctl("--server", daemon.tcp, "list", TRAINERD_STATE_DIR=str(daemon.state_dir))
    ctl("--server", daemon.tcp, "--token-file", daemon.state_dir / "token", "list", TRAINERD_STATE_DIR=str(tmp_path))


def test_texts_from_the_server_cannot_steer_a_terminal(ctl, terminal):
    """Whatever a job is called or says in its error, no control character but our own reaches the terminal."""
    ctl("submit", "-f", "-", stdin='name: x\nruntime: process\nannotations: {a: "\\e]0;evil\\a\\u009b31m"}\nroles: [{name: worker, command: ["true"]}]\n')
    t = terminal("get", "x")
    t.expect("Annotations")
    assert t.wait() == 0
    assert b"\x1b]" not in t.text and b"\x07" not in t.text and b"\xc2\x9b" not in t.text


def test_completion(ctl, daemon):
    for shell in ["bash", "zsh", "fish"]:
        assert "__complete" in ctl("completion", shell).stdout
    ctl("run", "--name", "complete-me", "--", "true")
    assert ctl("__complete", "--", "ge").stdout == "get\n"
    assert ctl("__complete", "--", "get", "comp").stdout == "complete-me\n"
    assert ctl("__complete", "--", "list", "--st").stdout == "--state\n"
    assert "RUNNING" in ctl("__complete", "--", "list", "--state", "").stdout.split()
    assert "pytorch" in ctl("__complete", "--", "run", "--runtime", "").stdout.split()
    assert ctl("__complete", "--", "run", "--", "pyth").stdout == ""
    script = 'source <("$0" completion bash); COMP_WORDS=("$0" cancel comp); COMP_CWORD=2; _trainctl; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, str(TRAINCTL)], env=environment(daemon), capture_output=True, text=True, check=True)
    assert done.stdout == "complete-me\n"


def test_output_that_cannot_be_written_is_a_failure(ctl, daemon):
    with open("/dev/full", "w") as full:
        done = subprocess.run([TRAINCTL, "runtimes"], env=environment(daemon), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "cannot be written" in done.stderr


def test_the_example_of_the_readme(ctl):
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
        pytest.skip("python3-torch is not installed")
    done = ctl("submit", "-f", ROOT / "examples" / "pytorch-ddp" / "job.yaml", "--follow")
    assert re.search(r"^SUCCEEDED pytorch-ddp-\w{8} after", done.stderr, re.M)
    assert re.search(r"^master-0 \| epoch 5/5  loss 0\.0", done.stdout, re.M)
    assert "3 ranks agree" in done.stdout
