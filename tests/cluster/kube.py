"""kubectl in the words of the tests."""

import json
import pathlib
import subprocess
import time

from bedlib import cluster, parts

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


class Kube:
    """kubectl as administrator, in one namespace."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.kubeconfig = cluster.ADMIN

    def __call__(self, *arguments, input=None, seconds=60):
        """What kubectl printed; an AssertionError with what it complained about."""
        command = [parts.program("kubectl"), "--kubeconfig", self.kubeconfig, "-n", self.namespace, *arguments]
        r = subprocess.run(list(map(str, command)), input=input, capture_output=True, text=True, timeout=seconds)
        assert r.returncode == 0, f"kubectl {' '.join(map(str, arguments))}: {r.stderr.strip()}"
        return r.stdout

    def create(self, *objects, dry_run=False):
        items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self("create", "-f", "-", *(["--dry-run=server"] if dry_run else []), input=json.dumps(items))

    def get(self, *arguments):
        return json.loads(self("get", *arguments, "-o", "json"))

    def pods(self, selector=""):
        return self.get("pods", *(["-l", selector] if selector else []))["items"]

    def until(self, what, probe, seconds=60):
        """The first true answer of probe()."""
        end = time.monotonic() + seconds
        while True:
            if answer := probe():
                return answer
            assert time.monotonic() < end, f"{what}: not within {seconds} s; in the namespace:\n{self.describe()}"
            time.sleep(0.3)

    def describe(self):
        return self("get", "all") + self("get", "events", "--sort-by=.lastTimestamp")[-3000:]


def python_template(name, command, files=(), **container):
    """A pod that runs the machine's own Python with what is installed for it, and reads the folders in `files`."""
    # folders of the machine, read only, under the same name in the pod
    folders = ["/usr", "/etc/alternatives", *map(str, files)]
    volumes = [{"name": f"host{i}", "hostPath": {"path": folder, "type": "Directory"}} for i, folder in enumerate(folders)]
    mounts = [{"name": f"host{i}", "mountPath": folder, "readOnly": True} for i, folder in enumerate(folders)]
    run = {"name": name, "image": "localhost/trainerd/python:1", "command": list(command), "volumeMounts": mounts, **container}
    return {"spec": {"containers": [run], "volumes": volumes}}
