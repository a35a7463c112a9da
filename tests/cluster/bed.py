#!/usr/bin/env python3
"""A real Kubernetes of one node on this machine, with the Kubeflow Training Operator, for the tests in this folder.

It lives in a network namespace and a folder of its own (~/.cache/trainerd/bed, or $TRAINERD_CACHE/bed) and is gone
after `down`, but for its programs and logs. Needs Linux, root, Go and some Debian packages: `check` says what is missing.
"""

import argparse
import os
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bedlib import cluster, host, image, operators, parts  # noqa: E402
from bedlib.host import BedError, say  # noqa: E402


def must_be_up():
    if not cluster.is_up():
        raise BedError("the bed is not up: tests/cluster/bed.py up")


def check(_):
    lacks = host.missing()
    if any(not parts.built(name) for name in parts.wanted()) and (problem := parts.go_problem()):
        lacks.append(problem)
    for line in lacks:
        print(line)
    return 1 if lacks else 0


def build(options):
    with host.alone():
        parts.build(options.extra, options.seconds)
    say(f"all parts are built, in {host.CACHE / 'bin'}")


def up(options):
    if lacks := host.missing():
        raise BedError("missing on this machine:\n  " + "\n  ".join(lacks))
    began = time.monotonic()
    with host.alone():
        parts.build(options.extra, options.seconds)
        steps = {
            "network": host.network_up,
            "keys": cluster.keys_up,
            "control plane": cluster.control_up,
            "node": cluster.node_up,
            "made-up node": cluster.fake_node_up,
            "operators": lambda: operators.up(options.extra),
        }
        for name, step in steps.items():
            start = time.monotonic()
            step()
            say(f"{name}: ready ({time.monotonic() - start:.0f} s)")
        (host.RUN / "up").touch()
    say(f"up after {time.monotonic() - began:.0f} s; kubeconfig {cluster.ADMIN}")


def down(_):
    if os.geteuid() != 0:
        raise BedError("needs root")
    with host.alone():
        cluster.down()


def status(_):
    names = [name for names in cluster.STOP_ORDER for name in names]
    for name in reversed(names):
        pid = host.running(name)
        print(f"{name:24} {'pid ' + str(pid) if pid else 'not running'}")
    print(f"{'the bed':24} {'up' if cluster.is_up() else 'not up'}")
    print(f"{'kubeconfig':24} {cluster.ADMIN}\n{'network namespace':24} {host.NETNS}\n{'logs':24} {host.LOG}")
    return 0 if cluster.is_up() else 1


def kubeconfig(options):
    must_be_up()
    print(cluster.ADMIN if options.path else cluster.ADMIN.read_text(), end="\n" if options.path else "")


def kubectl(options):
    must_be_up()
    program = parts.program("kubectl")
    os.execv(program, [str(program), "--kubeconfig", str(cluster.ADMIN), *options.arguments])


def shell(options):
    must_be_up()
    environment = dict(os.environ, KUBECONFIG=str(cluster.ADMIN), PATH=f"{parts.folder('kubernetes')}:{os.environ['PATH']}")
    command = options.arguments or [os.environ.get("SHELL", "/bin/sh")]
    os.execvpe("nsenter", ["nsenter", f"--net={host.NETNS}", "--", *command], environment)


def make_image(options):
    must_be_up()
    name = image.full_name(options.name)
    if options.python == bool(options.folder):
        raise BedError("either a folder or --python")
    fill = image.python_root if options.python else lambda root: shutil.copytree(options.folder, root, symlinks=True, dirs_exist_ok=True)
    entry = options.entrypoint or (["/usr/bin/python3"] if options.python else [])
    cluster.image_load(name, fill, entrypoint=entry, user=options.user)
    print(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(function, help, name=None):
        p = verbs.add_parser(name or function.__name__, help=help, description=help)
        p.set_defaults(function=function)
        return p

    verb(check, "print what is missing on this machine, a line each")
    for p in (verb(build, "build all programs"), verb(up, "build what is not built, and start the cluster; what runs is left alone")):
        optional = [name for name in parts.PARTS if not parts.PARTS[name].default]
        p.add_argument("--with", dest="extra", action="append", default=[], choices=optional, help="one more operator; mpi-operator is there instead of the training operator")
        p.add_argument("--seconds", type=int, default=3600, help="the most that building may take (3600)")
    verb(down, "end everything and forget the cluster")
    verb(status, "what runs, and where its files are")
    verb(kubeconfig, "print the administrator's kubeconfig, good on this machine and in the namespace").add_argument("--path", action="store_true", help="where it is, instead")
    verb(kubectl, "kubectl as administrator")
    verb(shell, "a shell, or a command, in the network namespace")
    p = verb(make_image, "put an image into the node", name="image")
    p.add_argument("name", help="NAME or NAME:TAG; becomes localhost/trainerd/NAME:1")
    p.add_argument("folder", nargs="?", help="its root")
    p.add_argument("--python", action="store_true", help="a root for pods that mount the machine's /usr and /etc/alternatives")
    p.add_argument("--entrypoint", nargs="+")
    p.add_argument("--user", default="")
    # argparse would take the first of kubectl's own options for one of ours.
    mine, arguments = sys.argv[1:], []
    if mine[:1] in (["kubectl"], ["shell"]):
        mine, arguments = mine[:1], mine[2:] if mine[1:2] == ["--"] else mine[1:]
    options = parser.parse_args(mine)
    options.arguments = arguments
    try:
        return options.function(options) or 0
    except BedError as e:
        print(f"bed: {e}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
