"""What the bed is made of: one table of pinned Go modules, and how they become programs.

Every part is built in a small module of its own, so that no part's choice of versions touches another's. Sources and
compiled packages are kept by Go's own caches; the programs land in CACHE/bin/PART-VERSION/.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass, field

from bedlib.host import CACHE, BedError, say

GO_AT_LEAST = (1, 26)
KUBERNETES = "1.36.3"


@dataclass(frozen=True)
class Part:
    module: str
    version: str
    programs: dict  # name -> package, or "." for the part's own source
    ldflags: str = "-s -w"
    source: str = ""  # a main.go of ours
    default: bool = True  # built and started without being asked for
    # Modules that the part's own go.mod takes from its source tree, and that are published under version 0.
    staging: bool = False
    seconds: int = field(default=60, compare=False)  # what a cold build takes on two cores


# The stock program carries every cloud's DNS; this one has what a cluster needs, and is built in half the time.
COREDNS = """package main

import (
\t"github.com/coredns/coredns/coremain"
\t_ "github.com/coredns/coredns/plugin/bind"
\t_ "github.com/coredns/coredns/plugin/errors"
\t_ "github.com/coredns/coredns/plugin/kubernetes"
\t_ "github.com/coredns/coredns/plugin/template"
)

func main() { coremain.Run() }
"""

KUBERNETES_PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"]
VERSION_PACKAGE = "k8s.io/component-base/version"

PARTS = {
    "kubernetes": Part(
        "k8s.io/kubernetes",
        "v" + KUBERNETES,
        {name: "k8s.io/kubernetes/cmd/" + name for name in KUBERNETES_PROGRAMS},
        # A program without a version calls itself v0.0.0, and clients take its features from that.
        ldflags=f"-s -w -X {VERSION_PACKAGE}.gitVersion=v{KUBERNETES} -X {VERSION_PACKAGE}.gitMajor=1 -X {VERSION_PACKAGE}.gitMinor=36",
        staging=True,
        seconds=480,
    ),
    "etcd": Part("go.etcd.io/etcd/server/v3", "v3.6.13", {"etcd": "go.etcd.io/etcd/server/v3"}),
    "coredns": Part("github.com/coredns/coredns", "v1.12.4", {"coredns": "."}, source=COREDNS, seconds=200),
    "kwok": Part("sigs.k8s.io/kwok", "v0.8.0", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, seconds=150),
    "training-operator": Part(
        "github.com/kubeflow/training-operator",
        "v1.9.4",
        {"training-operator": "github.com/kubeflow/training-operator/cmd/training-operator.v1"},
        seconds=180,
    ),
    "jobset": Part("sigs.k8s.io/jobset", "v0.12.0", {"jobset": "sigs.k8s.io/jobset"}, default=False, seconds=120),
    "trainer": Part(
        "github.com/kubeflow/trainer/v2",
        "v2.3.0",
        {"trainer": "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"},
        default=False,
        seconds=150,
    ),
    "mpi-operator": Part(
        "github.com/kubeflow/mpi-operator", "v0.8.0", {"mpi-operator": "github.com/kubeflow/mpi-operator/cmd/mpi-operator"}, default=False, seconds=120
    ),
}
NEEDS = {"trainer": ["jobset"]}


def wanted(extra=()):
    """The names of the parts to build: the default ones, and the ones asked for with what they need."""
    names = [name for name, part in PARTS.items() if part.default]
    for name in extra:
        names += [n for n in [*NEEDS.get(name, []), name] if n not in names]
    return names


def folder(name):
    return CACHE / "bin" / f"{name}-{PARTS[name].version}"


def program(name):
    part = next(p for p, v in PARTS.items() if name in v.programs)
    return folder(part) / name


def built(name):
    return all((folder(name) / p).exists() for p in PARTS[name].programs)


def go_problem():
    """Why Go cannot build the parts; None when it can."""
    if not shutil.which("go"):
        return "go is not installed"
    text = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, cwd="/").stdout.strip()
    found = re.match(r"go(\d+)\.(\d+)", text)
    if not found or tuple(map(int, found.groups())) < GO_AT_LEAST:
        return f"go is {text or 'of an unknown version'}, {GO_AT_LEAST[0]}.{GO_AT_LEAST[1]} or newer is needed"
    return None


def environment():
    # -mod=mod lets go complete the sums of what it fetches; the versions are those that the pinned module asks for.
    return dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=mod", GOWORK="off", GO111MODULE="on")


def go(*arguments, cwd):
    r = subprocess.run(["go", *arguments], cwd=cwd, env=environment(), capture_output=True, text=True, timeout=900)
    if r.returncode != 0:
        raise BedError(f"go {' '.join(arguments)}: {r.stderr.strip()[-2000:]}")
    return r.stdout


def module_info(name):
    """What go says of the part's module, which it fetches when it is not there: Dir, GoMod, ..."""
    part = PARTS[name]
    return json.loads(go("mod", "download", "-json", f"{part.module}@{part.version}", cwd="/"))


def source_folder(name):
    return pathlib.Path(module_info(name)["Dir"])


def write_module(name, where):
    part = PARTS[name]
    where.mkdir(parents=True, exist_ok=True)
    lines = [f"module trainerd.test/bed/{name}", f"go {GO_AT_LEAST[0]}.{GO_AT_LEAST[1]}", f"require {part.module} {part.version}"]
    if part.staging:
        own = json.loads(go("mod", "edit", "-json", module_info(name)["GoMod"], cwd="/"))
        published = "v0." + part.version.removeprefix("v1.")
        lines += [f"replace {r['Old']['Path']} => {r['Old']['Path']} {published}" for r in own["Replace"] if r["New"]["Path"].startswith("./")]
    (where / "go.mod").write_text("\n".join(lines) + "\n")
    (where / "go.sum").unlink(missing_ok=True)
    if part.source:
        (where / "main.go").write_text(part.source)


def build_part(name, end):
    """Compiles one part, with a line now and then that tells how far it is."""
    part, start = PARTS[name], time.monotonic()
    where, log_path, out = CACHE / "mod" / name, CACHE / "log" / f"build-{name}.log", folder(name)
    say(f"{name} {part.version}: building (about {part.seconds} s when nothing is cached); log in {log_path}")
    write_module(name, where)
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    log_path.parent.mkdir(parents=True, exist_ok=True)
    command = ["go", "build", "-v", "-trimpath", "-ldflags", part.ldflags, "-o", str(partial) + "/", *part.programs.values()]
    counts = {"fetched": 0, "compiled": 0}
    with open(log_path, "w") as log:
        p = subprocess.Popen(command, cwd=where, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        def follow():
            for line in p.stderr:
                log.write(line)
                counts["fetched" if line.startswith("go: ") else "compiled"] += 1

        follower = threading.Thread(target=follow)
        follower.start()
        try:
            while True:
                try:
                    status = p.wait(timeout=max(0.1, min(20, end - time.monotonic())))
                    break
                except subprocess.TimeoutExpired:
                    if time.monotonic() >= end:
                        raise BedError(f"{name}: not built within the time given; what is compiled so far is kept, so the next try is shorter")
                    say(f"{name}: {time.monotonic() - start:.0f} s, {counts['fetched']} modules fetched, {counts['compiled']} packages compiled")
        finally:
            if p.poll() is None:
                p.terminate()
                p.wait()
            follower.join()
    if status != 0:
        raise BedError(f"{name}: go build failed\n" + log_path.read_text()[-3000:])
    # go names a program after its package's folder, which is not always the name that we know it by.
    for ours, package in part.programs.items():
        theirs = name if package == "." else re.sub(r"/v\d+$", "", package).rsplit("/", 1)[-1]
        if not (partial / ours).exists():
            (partial / theirs).rename(partial / ours)
    for old in set(out.parent.glob(f"{name}-v*")) - {partial}:
        shutil.rmtree(old)
    partial.rename(out)
    say(f"{name}: built in {time.monotonic() - start:.0f} s")


def build(extra=(), seconds=3600):
    problem = go_problem()
    missing = [name for name in wanted(extra) if not built(name)]
    if not missing:
        return
    if problem:
        raise BedError(problem)
    end = time.monotonic() + seconds
    for name in missing:
        build_part(name, end)
