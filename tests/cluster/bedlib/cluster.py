"""The cluster itself: keys, control plane, one real node with containerd, one made-up node with kwok."""

import base64
import contextlib
import glob
import json
import os
import pathlib
import shutil
import signal
import socket
import tempfile
import time

from bedlib import host, image, parts
from bedlib.host import INNER_ADDRESS, NODE_ADDRESS, RUN, call, running, say, start, wait_for

PKI, KUBECONFIGS = RUN / "pki", RUN / "kubeconfig"
ADMIN = KUBECONFIGS / "admin"
SOCKET = RUN / "containerd.sock"
NODE, FAKE_NODE = "node0", "fake0"
API_SERVICE = "10.96.0.1"  # the first address of the services, which is the API server's own
# In the order in which they end well: nobody is asked for what he cannot do any more.
STOP_ORDER = [["kubelet", "kwok", "kube-proxy", "coredns"], ["kube-controller-manager", "kube-scheduler"], ["kube-apiserver"], ["containerd", "etcd"]]

# Who calls the API server, and as what.
USERS = {
    "admin": "/O=system:masters/CN=admin",
    "kube-controller-manager": "/CN=system:kube-controller-manager",
    "kube-scheduler": "/CN=system:kube-scheduler",
    "kube-proxy": "/CN=system:kube-proxy",
    "kubelet": f"/O=system:nodes/CN=system:node:{NODE}",
    "kwok": "/O=system:masters/CN=kwok",
    "coredns": "/O=system:masters/CN=coredns",
    "kubelet-client": "/O=system:masters/CN=kubelet-client",
}


def write_json(path, value):
    """YAML's readers take JSON as well."""
    text = json.dumps(value, indent=1) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    # kube-proxy ends when its file is touched, and `up` may be called on what runs.
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def kubectl(*arguments, **kw):
    return call(parts.program("kubectl"), "--kubeconfig", ADMIN, *arguments, **kw)


def ok(*arguments):
    return kubectl(*arguments, check=False).returncode == 0


# ---- Keys -----------------------------------------------------------------------------------------------------------


def key_pair(name, subject, extensions):
    key, request, extra = PKI / f"{name}.key", PKI / f"{name}.csr", PKI / f"{name}.ext"
    extra.write_text("\n".join(extensions) + "\n")
    call("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-subj", subject, "-out", request)
    ca = ["-CA", PKI / "ca.crt", "-CAkey", PKI / "ca.key", "-CAcreateserial"]
    call("openssl", "x509", "-req", "-in", request, *ca, "-days", "90", "-extfile", extra, "-out", PKI / f"{name}.crt")
    request.unlink()
    extra.unlink()


def kubeconfig(user):
    def data(path):
        return base64.b64encode(path.read_bytes()).decode()

    write_json(
        KUBECONFIGS / user,
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "bed", "cluster": {"server": f"https://{INNER_ADDRESS}:6443", "certificate-authority-data": data(PKI / "ca.crt")}}],
            "users": [{"name": user, "user": {"client-certificate-data": data(PKI / f"{user}.crt"), "client-key-data": data(PKI / f"{user}.key")}}],
            "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": user}}],
            "current-context": "bed",
        },
    )


def keys_up():
    if (PKI / "complete").exists():
        return
    shutil.rmtree(PKI, ignore_errors=True)
    PKI.mkdir(parents=True, mode=0o700)
    call("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", PKI / "ca.key", "-subj", "/CN=bed", "-days", "90", "-out", PKI / "ca.crt")
    addresses = ["127.0.0.1", INNER_ADDRESS, NODE_ADDRESS, API_SERVICE]
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    alternative = "subjectAltName=" + ",".join([f"IP:{a}" for a in addresses] + [f"DNS:{n}" for n in names])
    key_pair("kube-apiserver", "/CN=kube-apiserver", [alternative])
    for user, subject in USERS.items():
        # The kubelet is called by the API server as well, with the same pair.
        server = [f"subjectAltName=IP:{NODE_ADDRESS},DNS:{NODE}", "extendedKeyUsage=clientAuth,serverAuth"]
        key_pair(user, subject, server if user == "kubelet" else ["extendedKeyUsage=clientAuth"])
        kubeconfig(user)
    call("openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", PKI / "accounts.key")
    call("openssl", "pkey", "-in", PKI / "accounts.key", "-pubout", "-out", PKI / "accounts.pub")
    (PKI / "complete").touch()


# ---- Control plane --------------------------------------------------------------------------------------------------


def flags(**values):
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


def etcd():
    peers = "http://127.0.0.1:2380"
    clients = "http://127.0.0.1:2379"
    start(
        "etcd",
        parts.program("etcd"),
        # Its data is thrown away with the cluster: no write waits for the disk.
        "--unsafe-no-fsync",
        *flags(data_dir=RUN / "etcd", quota_backend_bytes=8 << 30, log_level="warn", initial_cluster=f"default={peers}"),
        *flags(listen_client_urls=clients, advertise_client_urls=clients, listen_peer_urls=peers, initial_advertise_peer_urls=peers),
    )


def apiserver():
    start(
        "kube-apiserver",
        parts.program("kube-apiserver"),
        *flags(etcd_servers="http://127.0.0.1:2379", secure_port=6443, bind_address="0.0.0.0", advertise_address=NODE_ADDRESS),
        *flags(tls_cert_file=PKI / "kube-apiserver.crt", tls_private_key_file=PKI / "kube-apiserver.key", client_ca_file=PKI / "ca.crt"),
        *flags(service_account_issuer="https://kubernetes.default.svc.cluster.local", service_account_key_file=PKI / "accounts.pub"),
        *flags(service_account_signing_key_file=PKI / "accounts.key", service_cluster_ip_range=host.SERVICE_NET),
        *flags(authorization_mode="Node,RBAC", enable_admission_plugins="NodeRestriction", allow_privileged="true"),
        *flags(kubelet_client_certificate=PKI / "kubelet-client.crt", kubelet_client_key=PKI / "kubelet-client.key"),
        *flags(kubelet_certificate_authority=PKI / "ca.crt", kubelet_preferred_address_types="InternalIP"),
    )


def control_up():
    etcd()
    apiserver()
    wait_for("API server", lambda: ok("get", "--raw", "/readyz"), needs=["etcd", "kube-apiserver"])
    for name, more in {
        "kube-controller-manager": {
            "root_ca_file": PKI / "ca.crt",
            "service_account_private_key_file": PKI / "accounts.key",
            "use_service_account_credentials": "true",
        },
        "kube-scheduler": {},
    }.items():
        start(name, parts.program(name), *flags(kubeconfig=KUBECONFIGS / name, leader_elect="false", bind_address="127.0.0.1", **more))
    wait_for("default service account", lambda: ok("-n", "default", "get", "serviceaccount", "default"), needs=["kube-controller-manager"])


# ---- The real node --------------------------------------------------------------------------------------------------


def containerd():
    snapshotter = "overlayfs" if host.can_overlay() else "native"
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    config = RUN / "containerd.toml"
    config.write_text(
        f"""version = 2
root = "{RUN}/containerd"
state = "{RUN}/containerd-state"

[grpc]
address = "{SOCKET}"

[ttrpc]
address = "{SOCKET}.ttrpc"

[plugins."io.containerd.internal.v1.opt"]
path = "{RUN}/opt"

[{cri}]
sandbox_image = "{image.PREFIX}pause:1"
netns_mounts_under_state_dir = true
# Where the right to lower that score is missing, no sandbox would start.
restrict_oom_score_adj = true

[{cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{RUN}/cni"

[{cri}.containerd]
snapshotter = "{snapshotter}"

[{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[{cri}.containerd.runtimes.runc.options]
Root = "{RUN}/runc"
SystemdCgroup = false
"""
    )
    bridge = {
        "type": "bridge",
        "bridge": host.BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "dataDir": f"{RUN}/cni-addresses", "ranges": [[{"subnet": host.POD_NET}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    write_json(RUN / "cni" / "10-bed.conflist", {"cniVersion": "0.4.0", "name": host.CGROUP, "plugins": [bridge, {"type": "loopback"}]})
    start("containerd", "containerd", "--config", config)
    wait_for("containerd", lambda: call("ctr", "-a", SOCKET, "version", check=False).returncode == 0, needs=["containerd"])


def image_load(name, fill, **kw):
    """Imports an image whose root folder fill(folder) makes."""
    with tempfile.TemporaryDirectory(prefix="image-", dir=RUN) as folder:
        root, archive = pathlib.Path(folder) / "root", pathlib.Path(folder) / "image.tar"
        root.mkdir()
        fill(root)
        image.write(archive, name, root, **kw)
        call("ctr", "-a", SOCKET, "-n", "k8s.io", "images", "import", archive)


def images_up():
    have = call("ctr", "-a", SOCKET, "-n", "k8s.io", "images", "list", "-q").stdout.split()
    forever = ["/bin/sleep", "2147483647"]
    for name, fill, entry in [("pause", image.tools_root, forever), ("tools", image.tools_root, ["/bin/sh"]), ("python", image.python_root, ["/usr/bin/python3"])]:
        full = image.full_name(name)
        if full not in have:
            image_load(full, fill, entrypoint=entry)


def kubelet():
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": str(PKI / "ca.crt")}},
        "authorization": {"mode": "AlwaysAllow"},
        "tlsCertFile": str(PKI / "kubelet.crt"),
        "tlsPrivateKeyFile": str(PKI / "kubelet.key"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": "/" + host.CGROUP,
        "failCgroupV1": False,
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "clusterDomain": "cluster.local",
        "clusterDNS": [NODE_ADDRESS],
        "resolvConf": "/dev/null",
        # The operator fills the secret that holds its certificate, and sees it in its volume at the next round.
        "syncFrequency": "10s",
        "podLogsDir": str(RUN / "pod-logs"),
        "serializeImagePulls": False,
        "maxPods": 240,
        "eventRecordQPS": 0,
        # The disk of a developer's machine is nearly full more often than not, and the images are ours.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%"},
        "imageGCHighThresholdPercent": 100,
    }
    start(
        "kubelet",
        parts.program("kubelet"),
        *flags(config=write_json(RUN / "kubelet.json", config), kubeconfig=KUBECONFIGS / "kubelet", hostname_override=NODE),
        *flags(node_ip=NODE_ADDRESS, root_dir=RUN / "kubelet", cert_dir=RUN / "kubelet-certificates"),
    )


def proxy():
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": "127.0.0.1",
        "clientConnection": {"kubeconfig": str(KUBECONFIGS / "kube-proxy")},
        "clusterCIDR": host.POD_NET,
        "mode": "nftables",
        # All pods are on one bridge: without this the answer would go around the translation of the question.
        "nftables": {"masqueradeAll": True},
        "conntrack": {"maxPerCore": 0, "min": 0},
        "hostnameOverride": NODE,
    }
    start("kube-proxy", parts.program("kube-proxy"), *flags(config=write_json(RUN / "kube-proxy.json", config)))


def coredns():
    corefile = RUN / "Corefile"
    corefile.write_text(
        f"""cluster.local:53 {{
    bind {NODE_ADDRESS}
    errors
    kubernetes cluster.local {{
        kubeconfig {KUBECONFIGS}/coredns
        ttl 1
    }}
}}
.:53 {{
    bind {NODE_ADDRESS}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""
    )
    start("coredns", parts.program("coredns"), "-conf", corefile)


def node_up():
    host.cgroup_up()
    containerd()
    images_up()
    kubelet()
    proxy()
    coredns()
    wait_for("node", lambda: ok("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=1s"), needs=["containerd", "kubelet", "kube-proxy", "coredns"])


# ---- The node that is not there -------------------------------------------------------------------------------------


STAGES = ["node/fast/node-initialize", "node/heartbeat-with-lease/node-heartbeat-with-lease", "pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete"]


def stages():
    """How made-up nodes and pods come and go: kwok's own, from its module. They end no pod but a Job's."""
    config = RUN / "kwok.yaml"
    if not config.exists():
        source = parts.source_folder("kwok") / "kustomize" / "stage"
        config.write_text("---\n".join((source / f"{name}.yaml").read_text() for name in STAGES))
    return config


def fake_node_up():
    mark = {"kwok.x-k8s.io/node": "fake"}
    size = {"cpu": "100000", "memory": "100Ti", "pods": "20000"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": FAKE_NODE, "annotations": mark, "labels": {"kubernetes.io/hostname": FAKE_NODE, "type": "kwok"}},
        # Only pods that ask for it come here: a real job is not to be played.
        "spec": {"taints": [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]},
        "status": {"allocatable": size, "capacity": size},
    }
    start(
        "kwok",
        parts.program("kwok"),
        *flags(config=stages(), kubeconfig=KUBECONFIGS / "kwok", cidr="10.245.0.1/16", manage_all_nodes="false", node_lease_duration_seconds=40),
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
    )
    if not ok("get", "node", FAKE_NODE):
        kubectl("create", "-f", "-", input=json.dumps(node))
    wait_for("made-up node", lambda: ok("wait", "--for=condition=Ready", f"node/{FAKE_NODE}", "--timeout=1s"), needs=["kwok"])


# ---- The end --------------------------------------------------------------------------------------------------------


def shims():
    """containerd's helpers, one a pod, which outlive it: those with our own socket in their arguments."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = pathlib.Path(path).read_bytes().split(b"\0")
            if b"containerd-shim" in arguments[0] and str(SOCKET).encode() in arguments:
                found.append(int(path.split("/")[2]))
    return found


def containers_down():
    host.cgroup_kill()
    if running("containerd"):
        ctr = ["ctr", "-a", SOCKET, "-n", "k8s.io", "tasks"]
        tasks = call(*ctr, "list", "-q", check=False).stdout.split()
        if tasks:
            # Deleting the task lets the shim take away what it made outside our folder.
            call(*ctr, "delete", "--force", *tasks, check=False)
    for pid in shims():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# Folders that containerd, CNI and the kubelet make in places of their own choice, deepest first.
FOREIGN_FOLDERS = ["/run/containerd/s", "/run/containerd", "/var/lib/cni/results", "/var/lib/cni", "/var/log/containers", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet"]
DEVICE_PLUGINS = "/var/lib/kubelet/device-plugins/kubelet.sock"


def leftovers_down():
    """What was written about our pods outside of our folder; other clusters on the machine keep theirs."""
    for name in glob.glob("/var/lib/cni/results/*"):
        if f"{RUN}/" in pathlib.Path(name).read_text(errors="replace"):
            os.unlink(name)
    for link in glob.glob("/var/log/containers/*.log"):
        if os.path.islink(link) and os.readlink(link).startswith(f"{RUN}/"):
            os.unlink(link)
    with contextlib.suppress(FileNotFoundError), socket.socket(socket.AF_UNIX) as plugins:
        try:
            plugins.connect(DEVICE_PLUGINS)
        except ConnectionRefusedError:  # nobody listens: not another kubelet's
            os.unlink(DEVICE_PLUGINS)
    for folder in FOREIGN_FOLDERS:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def down():
    began = time.monotonic()
    first, *others = STOP_ORDER
    host.stop(first, seconds=5)
    containers_down()
    for names in others:
        host.stop(names, seconds=5)
    host.cgroup_kill()
    host.cgroup_down()
    leftovers_down()
    host.remove_run()
    end = time.monotonic() + 10
    while os.path.exists(f"/sys/class/net/{host.OUTER_LINK}") and time.monotonic() < end:
        time.sleep(0.05)  # the kernel takes a namespace apart at its leisure
    say(f"down after {time.monotonic() - began:.0f} s; programs and logs stay in {host.CACHE}")


def is_up():
    return (RUN / "up").exists() and all(running(name) for names in STOP_ORDER for name in names)
