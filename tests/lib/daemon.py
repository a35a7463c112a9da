"""A real trainerd for the tests: started, killed, restarted, and looked into."""

import contextlib
import glob
import os
import pathlib
import signal
import subprocess
import sys
import time

import grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "gen" / "python"))

from trainer.v1 import job_pb2, service_pb2, service_pb2_grpc, watch_pb2  # noqa: E402

BIN = pathlib.Path(os.environ.get("TRAINERD_BIN", ROOT / "build" / "dev" / "bin")).resolve()
# A sanitized daemon is slow to start; nothing here waits longer than it has to.
START_SECONDS = 60


class Daemon:
    """One state directory and the daemon that serves it."""

    def __init__(self, state_dir, config="", env=None, rlimit_nofile=None):
        self.state_dir = pathlib.Path(state_dir)
        self.state_dir.mkdir(parents=True, exist_ok=True)
        self.bin = BIN
        self.config = config
        self.env = env or {}
        self.rlimit_nofile = rlimit_nofile
        self.process = None
        self.log_path = self.state_dir.parent / (self.state_dir.name + ".log")
        self.sanitizer = str(self.state_dir.parent / (self.state_dir.name + ".sanitizer"))
        self.allowed_exits = {0}
        self._channels = []

    # ---- life -------------------------------------------------------------------------------------------------

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("TRAINERD")}
        # The supervisor is started by the daemon and inherits this: its reports are collected as well.
        env["ASAN_OPTIONS"] = f"detect_leaks=1:log_path={self.sanitizer}:exitcode=99"
        env["UBSAN_OPTIONS"] = f"print_stacktrace=1:log_path={self.sanitizer}"
        env["LSAN_OPTIONS"] = f"suppressions={ROOT / 'tools' / 'lsan.supp'}:print_suppressions=0"
        env["TSAN_OPTIONS"] = f"ignore_noninstrumented_modules=1:log_path={self.sanitizer}:exitcode=99"
        env.update(self.env)
        return env

    def command(self, *more):
        config = self.state_dir.parent / (self.state_dir.name + ".yaml")
        config.write_text(self.config)
        return [str(BIN / "trainerd"), "--state-dir", str(self.state_dir), "--config", str(config), *more]

    def start(self, *more):
        log = open(self.log_path, "ab")
        before = self.log_path.stat().st_size
        # Nothing of ours runs between fork and exec: the threads of a gRPC client do not survive that.
        limits = ["prlimit", f"--nofile={self.rlimit_nofile}:{self.rlimit_nofile}"] if self.rlimit_nofile else []
        self.process = subprocess.Popen(
            limits + self.command(*more), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment()
        )
        log.close()
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with open(self.log_path, "rb") as f:
                f.seek(before)
                if b" ready: " in f.read():
                    return self
            if self.process.poll() is not None:
                raise RuntimeError(f"trainerd ended with {self.process.returncode}:\n{self.log()}")
            time.sleep(0.01)
        raise RuntimeError("trainerd does not become ready:\n" + self.log())

    def kill(self):
        """As a crash would: nothing is flushed, nobody is told."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=60):
        """Orderly; returns the exit status."""
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else 0
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def restart(self, *more):
        self.stop()
        return self.start(*more)

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    @property
    def pid(self):
        return self.process.pid

    # ---- its surroundings -------------------------------------------------------------------------------------------

    def supervisors(self):
        """Pids of the supervisors of this state directory."""
        pids = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                args = open(path, "rb").read().split(b"\0")
                if args[0].endswith(b"trainerd-supervisor") and str(self.state_dir).encode() in args:
                    pids.append(int(path.split("/")[2]))
        return pids

    def job_processes(self, uid=None):
        """Pids of all processes that carry a job's mark in their environment."""
        mark = b"TRAINERD_JOB_UID=" + (uid.encode() if uid else b"")
        pids = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if any(v.startswith(mark) for v in open(path, "rb").read().split(b"\0")):
                    pids.append(int(path.split("/")[2]))
        return pids

    def reports(self):
        return {p: open(p, errors="replace").read() for p in glob.glob(self.sanitizer + ".*")}

    def finish(self):
        """Ends everything, and fails on a bad exit or a sanitizer's report."""
        for channel in self._channels:
            channel.close()
        status = self.stop()
        for pid in self.supervisors():
            # Leftover jobs end with it: it is told to go, and takes its processes along.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        reports = self.reports()
        assert not reports, "sanitizer report:\n" + "\n".join(reports.values())
        assert status in self.allowed_exits or status == -signal.SIGKILL, f"exit status {status}:\n{self.log()[-4000:]}"

    # ---- ways in --------------------------------------------------------------------------------------------------------

    @property
    def address(self):
        return f"unix:{self.state_dir}/trainerd.sock"

    @property
    def tcp(self):
        return "127.0.0.1:" + (self.state_dir / "port").read_text().strip()

    @property
    def token(self):
        return (self.state_dir / "token").read_text().strip()

    def channel(self, address=None, options=()):
        channel = grpc.insecure_channel(address or self.address, options=list(options) or [("grpc.use_local_subchannel_pool", 1)])
        self._channels.append(channel)
        return channel

    def stub(self, **kw):
        return service_pb2_grpc.TrainerServiceStub(self.channel(**kw))


# ---- Words for tests --------------------------------------------------------------------------------------------------------

TERMINAL = {job_pb2.Job.SUCCEEDED, job_pb2.Job.FAILED, job_pb2.Job.CANCELED}


def spec(command, replicas=1, runtime="process", role="worker", **kw):
    """A JobSpec with one role; command is a list, or text for sh -c."""
    args = list(command) if not isinstance(command, str) else ["sh", "-c", command]
    s = job_pb2.JobSpec(runtime=runtime, **kw)
    r = s.roles.add(name=role, command=args)
    r.replicas.value = replicas
    return s


def submit(stub, s, request_id="", timeout=30, **kw):
    return stub.Submit(service_pb2.SubmitRequest(spec=s, request_id=request_id, **kw), timeout=timeout)


def ref(job):
    return job_pb2.JobRef(uid=job.uid)


def wait(stub, job, timeout=60):
    """The job's terminal status, by Watch."""
    request = watch_pb2.WatchRequest(selector=watch_pb2.JobSelector(uids=[job.uid]), until_terminal=True)
    last = None
    for message in stub.Watch(request, timeout=timeout):
        kind = message.WhichOneof("message")
        if kind == "snapshot":
            last = message.snapshot.status
        elif kind == "transition":
            last = message.transition.status
    assert last is not None and last.state in TERMINAL, last
    return last


def state_name(status):
    return job_pb2.Job.State.Name(status.state)


def reason_name(status):
    return job_pb2.JobStatus.Reason.Name(status.reason)
