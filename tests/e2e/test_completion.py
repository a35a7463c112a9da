"""The completion scripts in the shells that they are for: a verb, a flag, a value, a job's name, a file."""

import os
import pty
import shutil
import subprocess
import time

import pytest

from daemon import BIN, ROOT, spec, submit

# What is typed, and what the line is when one TAB has completed it.
TYPED = {
    "verb": ("trainctl susp", "trainctl suspend"),
    "flag": ("trainctl list --stat", "trainctl list --state"),
    "value": ("trainctl list --state SUCC", "trainctl list --state SUCCEEDED"),
    "runtime": ("trainctl run --runtime tensor", "trainctl run --runtime tensorflow"),
    "job": ("trainctl get compl", "trainctl get complete-me"),
    "file": ("trainctl submit -f some", "trainctl submit -f some-file.yaml"),
}


@pytest.fixture
def place(daemon, tmp_path):
    """A folder with trainctl on the PATH, one file, and a job on the server."""
    submit(daemon.stub(), spec("true", name="complete-me"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "trainctl").symlink_to(BIN / "trainctl")
    (tmp_path / "some-file.yaml").touch()
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRAINERD")}
    env.update(
        PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        HOME=str(tmp_path),
        ZDOTDIR=str(tmp_path),
        XDG_CONFIG_HOME=str(tmp_path / "config"),
        TERM="dumb",
        TRAINERD_ADDR=daemon.address,
        LSAN_OPTIONS=f"suppressions={ROOT / 'tools' / 'lsan.supp'}:print_suppressions=0",
    )
    return tmp_path, env


def need(shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")


def script(shell, env):
    return subprocess.run(["trainctl", "completion", shell], env=env, capture_output=True, text=True, check=True).stdout


# ---- zsh, at a terminal ---------------------------------------------------------------------------------------------------------

ZSHRC = """
fpath=($HOME/functions $fpath)
autoload -Uz compinit
compinit -D -u
%s
show() { print -r -- "$BUFFER" > $HOME/shown.new; mv $HOME/shown.new $HOME/shown; }
ready() { : > $HOME/ready; }
zle -N show
zle -N zle-line-init ready
bindkey '^X' show
"""


def appears(path, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert path.exists(), f"{path.name} does not appear"


@pytest.mark.parametrize("installed", ["autoloaded", "sourced"])
@pytest.mark.parametrize("what", TYPED)
def test_zsh(place, installed, what):
    need("zsh")
    folder, env = place
    (folder / "functions").mkdir()
    if installed == "autoloaded":
        (folder / "functions" / "_trainctl").write_text(script("zsh", env))
    (folder / ".zshrc").write_text(ZSHRC % ("source <(trainctl completion zsh)" if installed == "sourced" else ""))
    typed, completed = TYPED[what]
    terminal, inside = pty.openpty()
    # Not pty.fork(): the threads of this process's gRPC client do not survive a fork.
    shell = subprocess.Popen(["setsid", "-c", "zsh", "-i"], stdin=inside, stdout=inside, stderr=inside, cwd=folder, env=env)
    os.close(inside)
    try:
        appears(folder / "ready")
        os.write(terminal, typed.encode() + b"\t\x18")
        appears(folder / "shown")
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
    assert (folder / "shown").read_text().rstrip() == completed


# ---- fish, which completes a line without a terminal -------------------------------------------------------------------------------


@pytest.mark.parametrize("what", TYPED)
def test_fish(place, what):
    need("fish")
    folder, env = place
    (folder / "config" / "fish" / "completions").mkdir(parents=True)
    (folder / "config" / "fish" / "completions" / "trainctl.fish").write_text(script("fish", env))
    typed, completed = TYPED[what]
    done = subprocess.run(["fish", "-c", "complete -C $argv[1]", typed], env=env, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.split() == [completed.split()[-1]]


def test_fish_offers_files_only_where_nothing_else_is_meant(place):
    need("fish")
    folder, env = place
    command = "trainctl completion fish | source; complete -C 'trainctl list --state '; complete -C 'trainctl '"
    done = subprocess.run(["fish", "-c", command], env=env, cwd=folder, capture_output=True, text=True, timeout=120)
    words = done.stdout.split()
    assert {"RUNNING", "submit", "watch"} <= set(words) and "some-file.yaml" not in words
