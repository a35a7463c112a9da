"""Operators, each as its own project installs it: its manifests from its module, its program in a local image."""

import json
import shutil
from dataclasses import dataclass, field

from bedlib import cluster, image, parts
from bedlib.cluster import kubectl, ok, write_json
from bedlib.host import LOG, RUN, wait_for


@dataclass(frozen=True)
class Operator:
    manifests: str  # folder in the module
    overlay: str  # the kustomization below it that is applied
    image: str  # what the manifests call the image
    deployment: tuple  # namespace, name
    entrypoint: str = "/manager"
    arguments: list = field(default_factory=list)
    # Lines in kustomizations that would fetch what comes from a module here.
    without: tuple = ()
    # A kustomization applied once the deployment answers.
    afterwards: str = ""


TOOLS = image.full_name("tools")
OPERATORS = {
    "training-operator": Operator(
        "manifests",
        "overlays/standalone",
        "ghcr.io/kubeflow/training-v1/training-operator",
        ("kubeflow", "training-operator"),
        # Its client's own limits are made for clusters where a job a minute is much.
        arguments=[f"--pytorch-init-container-image={TOOLS}", "--kube-api-qps=200", "--kube-api-burst=400", "--controller-threads=8"],
    ),
    "jobset": Operator("config", "default", "us-central1-docker.pkg.dev/k8s-staging-images/jobset/jobset", ("jobset-system", "jobset-controller-manager")),
    "trainer": Operator(
        "manifests",
        "overlays/manager",
        "ghcr.io/kubeflow/trainer/trainer-controller-manager",
        ("kubeflow-system", "kubeflow-trainer-controller-manager"),
        without=("third-party/jobset",),
        afterwards="overlays/runtimes",
    ),
    "mpi-operator": Operator("manifests", "overlays/standalone", "mpioperator/mpi-operator", ("mpi-operator", "mpi-operator"), entrypoint="/opt/mpi-operator"),
}



def copy_manifests(name, where):
    operator = OPERATORS[name]
    source = parts.source_folder(name) / operator.manifests
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(source, where, copy_function=shutil.copyfile)
    for path in [where, *where.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in where.rglob("kustomization.yaml"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not any(w in line for w in operator.without)))


def apply(folder, log):
    r = kubectl("apply", "--server-side", "--force-conflicts", "-k", folder)
    (LOG / log).write_text(r.stdout + r.stderr)


def install(name):
    operator, where, done = OPERATORS[name], RUN / "manifests", RUN / "installed" / name
    if done.exists():
        return
    copy_manifests(name, where / name)
    local = f"{image.PREFIX}{name}"
    entry = operator.entrypoint

    def fill(root):
        image.program_root(root / entry.strip("/").rpartition("/")[0], parts.program(name), entry.rsplit("/", 1)[-1])

    cluster.image_load(f"{local}:{parts.PARTS[name].version}", fill, entrypoint=[entry], user="65532")
    container = "/spec/template/spec/containers/0"
    patch = [{"op": "add", "path": container + "/imagePullPolicy", "value": "IfNotPresent"}]
    if operator.arguments:
        patch.append({"op": "add", "path": container + "/args", "value": operator.arguments})
    write_json(
        where / f"{name}-here" / "kustomization.yaml",
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [f"../{name}/{operator.overlay}"],
            "images": [{"name": operator.image, "newName": local, "newTag": parts.PARTS[name].version}],
            "patches": [{"target": {"kind": "Deployment"}, "patch": json.dumps(patch)}],
        },
    )
    apply(where / f"{name}-here", f"apply-{name}.log")
    done.parent.mkdir(exist_ok=True)
    done.touch()


def wait_available(name):
    namespace, deployment = OPERATORS[name].deployment
    wait_for(f"{name} to be available", lambda: ok("-n", namespace, "wait", "--for=condition=Available", f"deployment/{deployment}", "--timeout=1s"), needs=["kubelet"])
    if OPERATORS[name].afterwards:
        apply(RUN / "manifests" / name / OPERATORS[name].afterwards, f"apply-{name}-afterwards.log")


def probe_job():
    template = {"spec": {"containers": [{"name": "pytorch", "image": TOOLS, "command": ["true"]}]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "Never", "template": template}}},
    }


def webhook_answers():
    """A job that is only tried: accepted means that the webhook was asked, because without its answer it is refused."""
    return kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(probe_job()), check=False).returncode == 0


def up(extra):
    names = [name for name in parts.wanted(extra) if name in OPERATORS]
    if "mpi-operator" in names:
        names.remove("training-operator")  # both bring MPIJob, under one name
    for name in names:
        install(name)
    for name in names:
        wait_available(name)
    if "training-operator" in names:
        wait_for("webhook of the training operator", webhook_answers, needs=["kubelet", "kube-apiserver", "kube-proxy"])
