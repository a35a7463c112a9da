"""tools/check-layers says nothing about our tree, and one sentence about each way of breaking the rules."""

import pathlib
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RIGHT = {
    "src/base/mem.h": "#include <stddef.h>\nvoid *mem_alloc(size_t size);\n",
    "src/base/internal.h": "struct base_inner;\n",
    "src/base/mem.c": '#include "base/mem.h"\n\n#include "base/internal.h"\n#include <stdlib.h>\n',
    "src/loop/loop.h": '#include "base/mem.h"\nstruct loop;\n',
    "src/loop/loop.c": "#include <ev.h>\n#include <pthread.h>\n",
    "src/json/json.h": "struct json;\n",
    "src/job/spec.h": '#include "json/json.h"\n',
    "src/api/api.c": '#include "trainer/v1/job.pb-c.h"\n#include <protobuf-c/protobuf-c.h>\n',
    "src/main/main.c": '#include "api/api.h"\n#include "job/spec.h"\n',
    "src/api/api.h": "struct api;\n",
    "plugins/one/one.c": '#include "trainer_plugin.h"\n#include <string.h>\n',
}


def tree(folder, **changes):
    files = {**RIGHT, **changes}
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    if not (folder / "plugins/trainer_plugin.h").exists():
        shutil.copy(ROOT / "plugins/trainer_plugin.h", folder / "plugins/trainer_plugin.h")
    return folder


def check(folder):
    run = subprocess.run([ROOT / "tools/check-layers", folder], capture_output=True, text=True)
    assert run.stderr == ""
    return run.returncode, run.stdout.splitlines()


def test_our_tree_keeps_the_rules_and_checking_is_quick():
    begin = time.monotonic()
    assert check(ROOT) == (0, [])
    assert time.monotonic() - begin < 20


def test_right_tree(tmp_path):
    assert check(tree(tmp_path)) == (0, [])


@pytest.mark.parametrize(
    "path, text, sentence",
    [
        ("src/base/up.c", '#include "loop/loop.h"\n', ":1: base/ is below loop/ and must not see it"),
        ("src/job/up.c", '\n#include "api/api.h"\n', ":2: job/ is below api/ and must not see it"),
        ("src/json/side.c", '#include "loop/loop.h"\n', ":1: json/ and loop/ are of one level and never see each other"),
        ("src/cli/side.c", '#include "main/main.h"\n', ":1: cli/ and main/ are of one level and never see each other"),
        ("src/loop/private.c", '#include "base/internal.h"\n', ":1: base/internal.h is private to base/"),
        ("src/base/near.c", '#include "mem.h"\n', ':1: "mem.h" is not written from src/, as in "base/str.h"'),
        ("src/job/near.c", '#include "../json/json.h"\n', ':1: "../json/json.h" is not written from src/, as in "base/str.h"'),
        ("src/loop/angle.c", "#include <base/mem.h>\n", ':1: <base/mem.h> is a header of ours: write "base/mem.h"'),
        ("src/job/ev.c", "#  include <ev.h>\n", ":1: job/ includes ev.h; the door to it is loop/"),
        ("src/flow/y.c", "#include <yajl/yajl_gen.h>\n", ":1: flow/ includes yajl/yajl_gen.h; the door to it is json/"),
        ("src/flow/y.c", "#include <yaml.h>\n", ":1: flow/ includes yaml.h; the door to it is json/"),
        ("src/kube/c.c", "#include <curl/curl.h>\n", ":1: kube/ includes curl/curl.h; the door to it is http/"),
        ("src/flow/s.c", "#include <sqlite3.h>\n", ":1: flow/ includes sqlite3.h; the door to it is store/"),
        ("src/main/d.c", "#include <dlfcn.h>\n", ":1: main/ includes dlfcn.h; the door to it is plugin/"),
        ("src/flow/t.c", "#include <pthread.h>\n", ":1: flow/ includes pthread.h; the door to it is loop/ and store/ and cli/"),
        ("src/flow/p.c", "#include <spawn.h>\n", ":1: flow/ includes spawn.h; the door to it is loop/ and local/ and plugin/ and cli/"),
        ("src/rpc/g.c", '#include "trainer/v1/job.pb-c.h"\n', ":1: rpc/ includes trainer/v1/job.pb-c.h; the door to it is api/"),
        ("src/rpc/g.c", "#include <protobuf-c/protobuf-c.h>\n", ":1: rpc/ includes protobuf-c/protobuf-c.h; the door to it is api/"),
        ("src/cli/g.c", "#include <grpc/grpc.h>\n", ":1: cli/ includes grpc/grpc.h; the door to it is rpc/"),
        ("src/rpc/w.c", "#include <microhttpd.h>\n", ":1: rpc/ includes microhttpd.h; the door to it is web/"),
        ("src/flow/a.c", '#include "trainer_plugin.h"\n', ":1: flow/ includes trainer_plugin.h; the door to it is plugin/"),
        ("src/cellar/x.c", "\n", ":1: cellar is not a room that tools/check-layers knows"),
        ("plugins/one/two.c", '#include "base/mem.h"\n', ":1: a plugin includes only trainer_plugin.h of ours"),
        ("src/job/alone.h", "size_t job_count(void);\n", ":1: does not compile alone: unknown type name 'size_t'"),
    ],
)
def test_each_wrong_tree_gives_one_sentence(tmp_path, path, text, sentence):
    status, lines = check(tree(tmp_path, **{path: text}))
    assert status == 1
    assert [line.replace("‘", "'").replace("’", "'") for line in lines] == [path + sentence]


@pytest.mark.parametrize("text", ["struct x { int class; };\n", "int y[] = {};\n", "static int *z = (void *)0;\n"])
def test_plugin_header_must_be_clean_c99_and_cpp(tmp_path, text):
    tree(tmp_path)
    with open(tmp_path / "plugins/trainer_plugin.h", "a") as f:
        f.write(text)
    status, lines = check(tmp_path)
    assert status == 1
    assert lines and all("plugins/trainer_plugin.h:" in line for line in lines)
