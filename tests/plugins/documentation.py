"""docs/plugins.md, walked as it is written: every ```sh block runs, in order, in one shell.

usage: documentation.py PLUGIN-CHECK
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / "plugins.md").read_text(), re.M | re.S)
    if not blocks:
        sys.exit("docs/plugins.md has no commands")
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, HOME=home, TRAINERD_PLUGIN_CHECK=os.path.abspath(sys.argv[1]))
        done = subprocess.run(["sh", "-eux"], input="".join(blocks), cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE)
    print(done.stdout)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    if done.returncode != 0 or not re.fullmatch(r"[1-9]\d* passed, 0 failed, 0 skipped", last):
        sys.exit(f"the walk of docs/plugins.md ended with status {done.returncode}: {last}")


main()
