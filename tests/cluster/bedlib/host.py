"""What the bed takes from the machine, and gives back: processes, a network namespace, cgroups, mounts.

Everything is under one folder: programs and logs stay there, RUN is the running cluster and is gone after `down`.
"""

import contextlib
import fcntl
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import time


def cache_folder():
    own = os.environ.get("TRAINERD_CACHE")
    if own:
        return pathlib.Path(own).absolute() / "bed"
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache").absolute() / "trainerd" / "bed"


CACHE = cache_folder()
RUN, LOG = CACHE / "run", CACHE / "log"
NETNS, PIDS = RUN / "netns", RUN / "pid"
CGROUP = "trainerd-bed"

# The machine and the namespace are joined by one cable, so that a kubeconfig is good on both sides of it.
OUTER_LINK, OUTER_ADDRESS = "trbed0", "169.254.77.1"
INNER_LINK, INNER_ADDRESS = "trbed1", "169.254.77.2"
BRIDGE, NODE_ADDRESS, POD_NET, SERVICE_NET = "pods0", "10.244.0.1", "10.244.0.0/24", "10.96.0.0/16"

PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "ip": "iproute2",
    "nft": "nftables",
    "conntrack": "conntrack",
    "openssl": "openssl",
    "/usr/share/doc/busybox-static": "busybox-static",
    "/bin/dash": "dash",
    "nsenter": "util-linux",
    "ldd": "libc-bin",
}
TRIAL = f"ip link add {BRIDGE} type bridge && ip link add name veth-a type veth peer name veth-b && nft add table inet t"


class BedError(Exception):
    """Ends the command with this text."""


def say(text):
    print(f"bed: {text}", file=sys.stderr, flush=True)


def call(*command, seconds=120, check=True, **kw):
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=seconds, stdin=None if "input" in kw else subprocess.DEVNULL, **kw)
    if check and r.returncode != 0:
        raise BedError(f"{' '.join(map(str, command[:6]))}: {(r.stderr or r.stdout).strip()[-2000:]}")
    return r


@contextlib.contextmanager
def alone():
    """One build, up or down at a time."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another bed command is at work: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def missing():
    """What this machine lacks to run the bed, a sentence each."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return [f"Linux on x86_64 or aarch64 (this is {sys.platform} on {platform.machine()})"]
    lacks = []
    if os.geteuid() != 0:
        lacks.append("root")
    packages = sorted({p for name, p in PACKAGES.items() if not (os.path.exists(name) if name[0] == "/" else shutil.which(name))})
    if packages:
        lacks.append("Debian packages: apt-get install --no-install-recommends " + " ".join(packages))
    if lacks:
        return lacks
    trial = call("unshare", "--net", "--mount", "sh", "-c", TRIAL, check=False)
    if trial.returncode != 0:
        lacks.append("network namespaces with bridges, veth pairs and nftables: " + " ".join(trial.stderr.split()))
    if not cgroup_hierarchies():
        lacks.append("mounted cgroups")
    lacks += [f"a writable {h}" for h in cgroup_hierarchies() if not os.access(h, os.W_OK)]
    return lacks


# ---- Processes ------------------------------------------------------------------------------------------------------


def start_time(pid):
    """When the kernel started that process, in ticks; None when it is not alive. Tells a pid from one used again."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def running(name):
    """The pid of a part that we started; None when it is not running."""
    try:
        pid, ticks = map(int, (PIDS / name).read_text().split())
    except (OSError, ValueError):
        return None
    return pid if start_time(pid) == ticks else None


def start(name, *command):
    """Starts a part in the bed's network namespace, unless it runs already."""
    if running(name):
        return
    PIDS.mkdir(parents=True, exist_ok=True)
    LOG.mkdir(parents=True, exist_ok=True)
    with open(LOG / f"{name}.log", "wb") as log:
        # Not `ip netns exec`: that mounts another /sys, in which the kubelet would not find its cgroups.
        p = subprocess.Popen(["nsenter", f"--net={NETNS}", "--", *map(str, command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/")
    (PIDS / name).write_text(f"{p.pid} {start_time(p.pid) or 0}\n")


def log_tail(name, lines=15):
    path = LOG / f"{name}.log"
    text = path.read_text(errors="replace").splitlines()[-lines:] if path.exists() else []
    return "\n".join(text)


def stop(names, seconds):
    """Asks the parts to end, all at once, and ends those that do not."""
    pids = {name: pid for name in names if (pid := running(name))}
    for pid in pids.values():
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + seconds
    while any(running(name) for name in pids) and time.monotonic() < end:
        time.sleep(0.05)
    for name in pids:
        if pid := running(name):
            os.kill(pid, signal.SIGKILL)
    while any(running(name) for name in pids):
        time.sleep(0.05)
    for name in names:
        (PIDS / name).unlink(missing_ok=True)


def wait_for(what, probe, needs=(), seconds=300):
    """Until probe() is true; not longer than the parts that it needs are alive."""
    end = time.monotonic() + seconds
    while not probe():
        for name in needs:
            if not running(name):
                raise BedError(f"{what}: {name} has ended. The end of {LOG / (name + '.log')}:\n{log_tail(name)}")
        if time.monotonic() > end:
            raise BedError(f"{what}: not there after {seconds} s; logs are in {LOG}")
        time.sleep(0.25)


# ---- Network --------------------------------------------------------------------------------------------------------


def inside(*command, **kw):
    return call("nsenter", f"--net={NETNS}", "--", *command, **kw)


def network_is_up():
    return os.path.ismount(NETNS)


def network_up():
    if network_is_up():
        return
    if os.path.exists(f"/sys/class/net/{OUTER_LINK}"):
        raise BedError(f"there is a network link {OUTER_LINK} already: another bed is up (one with another cache folder?)")
    RUN.mkdir(parents=True, exist_ok=True)
    NETNS.touch()
    call("unshare", f"--net={NETNS}", "true")
    steps = [
        "link set lo up",
        f"link add {BRIDGE} type bridge",
        f"addr add {NODE_ADDRESS}/24 dev {BRIDGE}",
        f"link set {BRIDGE} up",
        # Services have no address of their own anywhere; this makes packets to them leave, and kube-proxy catch them.
        f"route add {SERVICE_NET} dev {BRIDGE}",
        f"link add {INNER_LINK} type veth peer name {OUTER_LINK} netns {os.getpid()}",
        f"addr add {INNER_ADDRESS}/30 dev {INNER_LINK}",
        f"link set {INNER_LINK} up",
    ]
    for step in steps:
        inside("ip", *step.split())
    inside("sysctl", "-qw", "net.ipv4.ip_forward=1")
    call("ip", "addr", "add", f"{OUTER_ADDRESS}/30", "dev", OUTER_LINK)
    call("ip", "link", "set", OUTER_LINK, "up")


# ---- Cgroups --------------------------------------------------------------------------------------------------------


def cgroup_hierarchies():
    with open("/proc/self/mounts") as mounts:
        return [pathlib.Path(m.split()[1]) for m in mounts if m.split()[2] in ("cgroup", "cgroup2")]


def cgroup_up():
    """The group under which the kubelet makes those of the pods: apart from any other kubelet's."""
    for hierarchy in cgroup_hierarchies():
        (hierarchy / CGROUP).mkdir(exist_ok=True)


def cgroup_pids():
    pids = set()
    for hierarchy in cgroup_hierarchies():
        # Groups go while we look; os.walk does not mind.
        for folder, _, _ in os.walk(hierarchy / CGROUP):
            with contextlib.suppress(OSError):
                pids.update(map(int, pathlib.Path(folder, "cgroup.procs").read_text().split()))
    return pids


def cgroup_kill(seconds=20):
    """Ends what runs in pods."""
    end = time.monotonic() + seconds
    while (pids := cgroup_pids()) and time.monotonic() < end:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def cgroup_down(seconds=10):
    end = time.monotonic() + seconds
    for hierarchy in cgroup_hierarchies():
        top = hierarchy / CGROUP
        while top.is_dir():
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
            if top.is_dir():
                if time.monotonic() > end:
                    raise BedError(f"{top} is still in use")
                time.sleep(0.1)


# ---- Mounts ---------------------------------------------------------------------------------------------------------


def mounts_below(folder):
    """Deepest first."""
    with open("/proc/self/mounts") as mounts:
        points = [m.split()[1].encode().decode("unicode_escape") for m in mounts]
    return sorted((p for p in points if p.startswith(f"{folder}/")), reverse=True)


def unmount_below(folder):
    for point in mounts_below(folder):
        if call("umount", point, check=False).returncode != 0:
            call("umount", "--lazy", point, check=False)


def remove_run():
    unmount_below(RUN)
    # A pod's volume may be a mount of the machine's own files: nothing is removed as long as one is there.
    if left := mounts_below(RUN):
        raise BedError(f"cannot unmount {left[0]}; nothing is removed")
    if RUN.exists():
        shutil.rmtree(RUN)


def can_overlay():
    """Whether the cache's file system can carry overlay mounts; not so when it is an overlay itself."""
    trial = RUN / "overlay-trial"
    for name in ("lower", "upper", "work", "merged"):
        (trial / name).mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={trial}/lower,upperdir={trial}/upper,workdir={trial}/work"
    ok = call("mount", "-t", "overlay", "overlay", "-o", options, trial / "merged", check=False).returncode == 0
    if ok:
        call("umount", trial / "merged")
    shutil.rmtree(trial)
    return ok
