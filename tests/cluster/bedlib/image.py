"""Container images without an image builder: a folder becomes an OCI archive of one layer that containerd imports."""

import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import tarfile

from bedlib.host import BedError

PREFIX = "localhost/trainerd/"
KIND = "application/vnd.oci.image."
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MOUNT_POINTS = {"dev": 0o755, "etc": 0o755, "proc": 0o755, "sys": 0o755, "tmp": 0o1777, "var": 0o755}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def normal(info):
    """The same folder gives the same image, whoever made it and whenever."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    return info


def layer(root):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, mode in MOUNT_POINTS.items():
            if not (root / name).is_dir():
                info = tarfile.TarInfo(name)
                info.type, info.mode = tarfile.DIRTYPE, mode
                tar.addfile(info)
        for path in sorted(root.iterdir()):
            tar.add(path, arcname=path.name, filter=normal)
    return out.getvalue()


def write(archive, name, root, entrypoint=(), user=""):
    """An archive of the folder `root` under the full name `name`."""
    data = layer(root)
    config = {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Entrypoint": list(entrypoint), "User": user, "Env": ["PATH=" + PATH], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [digest(data)]},
    }
    blobs = {}

    def blob(content, kind):
        blobs[digest(content)] = content
        return {"mediaType": KIND + kind, "digest": digest(content), "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": KIND + "manifest.v1+json",
        "config": blob(json.dumps(config).encode(), "config.v1+json"),
        "layers": [blob(data, "layer.v1.tar")],
    }
    entry = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    entry["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rsplit(":", 1)[-1]}
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()}
    files.update({"blobs/sha256/" + d.removeprefix("sha256:"): content for d, content in blobs.items()})
    with tarfile.open(archive, "w") as tar:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def full_name(name):
    """`name` or `name:tag` of the user as containerd knows it."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._/-]*(:[A-Za-z0-9._-]+)?", name):
        raise BedError(f"{name}: not the name of an image")
    name = name if "/" in name else PREFIX + name
    return name if ":" in name else name + ":1"


# ---- Roots of the images that the bed itself needs ------------------------------------------------------------------

APPLETS = "cat cut date echo env false grep head kill ls mkdir rm seq sleep tail test touch true wc".split()

# busybox's nslookup does not read the search list, but short names is what an operator's init container asks for.
NSLOOKUP = """#!/bin/sh
for domain in $(grep '^search' /etc/resolv.conf | cut -d ' ' -f 2-) ''; do
    busybox nslookup "$1${domain:+.$domain}" && exit 0
done
exit 1
"""


def libraries(path):
    """The shared libraries, loader included, that a program is linked with."""
    text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", text)


def tools_root(root):
    """A shell and the few programs that init containers call."""
    bin_ = root / "bin"
    bin_.mkdir(parents=True)
    shutil.copy("/bin/busybox", bin_ / "busybox")
    for name in APPLETS:
        (bin_ / name).symlink_to("busybox")
    # Not busybox's own shell: that would call its own nslookup whatever is in the path.
    dash = os.path.realpath("/bin/dash")
    shutil.copy(dash, bin_ / "sh")
    for library in libraries(dash):
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(library), target)
    (bin_ / "nslookup").write_text(NSLOOKUP)
    (bin_ / "nslookup").chmod(0o755)


def python_root(root):
    """Nothing but the ways into the host's /usr, which the pod mounts together with /etc/alternatives."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to("usr/" + name)
    (root / "usr").mkdir()
    (root / "etc" / "alternatives").mkdir(parents=True)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n")
    (root / "etc" / "nsswitch.conf").write_text("hosts: files dns\n")
    (root / "root").mkdir(mode=0o700)


def program_root(root, program, name):
    root.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, root / name)
    (root / name).chmod(0o755)
