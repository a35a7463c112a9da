"""The accept loop and the end: caps, descriptors running out, strangers, sockets left behind, shutdown."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import threading
import time

import grpc
import pytest

from daemon import spec, submit
from raw_http2 import PREFACE, RawClient
from test_rpc_traps import SERVICE, failed, info_of, open_files, reason, until, watch_all
from trainer.v1 import runtime_pb2, watch_pb2


def connect(daemon, tcp=False):
    if tcp:
        host, port = daemon.tcp.rsplit(":", 1)
        return socket.create_connection((host, int(port)))
    s = socket.socket(socket.AF_UNIX)
    s.connect(daemon.address[5:])
    return s


def is_closed(s, seconds=2):
    s.settimeout(seconds)
    try:
        while True:
            if not s.recv(65536):
                return True
    except socket.timeout:
        return False
    except ConnectionError:
        return True


def is_served(daemon, seconds=15):
    """By a new connection."""
    with grpc.insecure_channel(daemon.address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = channel.unary_unary(SERVICE + "GetServerInfo")
        return bool(call(b"", timeout=seconds, wait_for_ready=True))


# ---- Running out --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("greet", [False, True])
def test_out_of_descriptors_and_back(make_daemon, tcp, greet):
    """C core's own listener never accepts again after one EMFILE."""
    daemon = make_daemon(rlimit_nofile=64)
    for _ in range(3):
        flood = []
        for _ in range(120):
            with contextlib.suppress(OSError):
                s = connect(daemon, tcp)
                flood.append(s)
                if greet:
                    s.sendall(PREFACE + b"\0\0\0\4\0\0\0\0\0")
        time.sleep(0.5)
        assert daemon.process.poll() is None
        for s in flood:
            s.close()
        assert is_served(daemon)
    assert "refusing connections" in daemon.log()


def test_established_streams_live_through_a_flood(make_daemon):
    daemon = make_daemon(rlimit_nofile=64)
    stub = daemon.stub()
    call = watch_all(stub, skip_snapshot=True, heartbeat_seconds={"value": 1})
    flood = [connect(daemon) for _ in range(150)]
    for _ in range(2):
        while next(call).WhichOneof("message") != "heartbeat":
            pass
    for s in flood:
        s.close()
    call.cancel()
    assert is_served(daemon)


def test_connection_cap(make_daemon):
    daemon = make_daemon(config="limits: {max_connections: 5}\n")
    clients = [RawClient(daemon.address) for _ in range(3)] + [RawClient(daemon.tcp) for _ in range(2)]
    for client in clients:
        client.server_settings()
    for tcp in (False, True):
        extra = connect(daemon, tcp)
        assert is_closed(extra), "the sixth is closed at once"
        extra.close()
    for i, client in enumerate(clients):
        client.close()
        until(lambda: not is_closed(connect(daemon), 0.3), 5)
        assert is_served(daemon), f"room again after {i + 1}"


def test_silent_connections_do_not_hold_their_place(make_daemon):
    daemon = make_daemon(config="limits: {max_connections: 5}\n")
    silent = [connect(daemon) for _ in range(5)]
    assert is_closed(connect(daemon))
    begin = time.monotonic()
    assert all(is_closed(s, 15) for s in silent)
    assert 8 < time.monotonic() - begin < 15
    assert is_served(daemon)


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("words", [b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 100, b"PRI * HTTP/1.0\r\n\r\n"])
def test_other_protocols_are_closed(daemon, tcp, words):
    s = connect(daemon, tcp)
    s.sendall(words)
    assert is_closed(s)
    assert is_served(daemon)


@pytest.mark.parametrize("frames", [b"\xff" * 200, b"\0\0\0\4\0\0\0\0\0" + b"\xff\xff\xff\1\4\0\0\0\1" + b"x" * 100])
def test_broken_frames_end_their_connection_only(daemon, frames):
    s = connect(daemon)
    s.sendall(PREFACE + frames)
    is_closed(s)
    s.close()
    assert is_served(daemon)


def test_connections_are_counted_down(daemon, stub):
    info_of(stub)
    before = open_files(daemon)
    for round in range(5):
        many = [RawClient(daemon.tcp if i % 2 else daemon.address) for i in range(100)]
        for client in many:
            client.server_settings()
        assert open_files(daemon) >= before + 200, "one for the library, one to see it close"
        for client in many:
            client.close()
        until(lambda: open_files(daemon) <= before)


# ---- Sockets ------------------------------------------------------------------------------------------------------


def test_the_socket_is_private_and_removed(make_daemon):
    daemon = make_daemon()
    path = daemon.state_dir / "trainerd.sock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    daemon.stop()
    assert not path.exists()


def test_a_stale_socket_is_replaced(make_daemon):
    daemon = make_daemon()
    daemon.kill()
    path = daemon.state_dir / "trainerd.sock"
    assert path.exists()
    daemon.start()
    assert is_served(daemon)


def start_fails(daemon, *flags):
    daemon.allowed_exits = {1}
    with pytest.raises(RuntimeError) as info:
        daemon.start(*flags)
    return str(info.value)


def test_addresses_in_use(make_daemon):
    first = make_daemon("first")
    second = make_daemon("second", start=False)
    assert "in use by another server" in start_fails(second, "--socket", str(first.state_dir / "trainerd.sock"))
    assert "in use by another server" in start_fails(second, "--listen", first.tcp)
    assert is_served(first), "the first is not disturbed"
    assert (first.state_dir / "trainerd.sock").exists()


def test_what_is_no_socket_stays(make_daemon, tmp_path):
    file = tmp_path / "precious"
    file.write_text("data")
    daemon = make_daemon(start=False)
    assert "is no socket" in start_fails(daemon, "--socket", str(file))
    assert file.read_text() == "data"


def test_bad_addresses(make_daemon):
    daemon = make_daemon(start=False)
    assert "HOST:PORT" in start_fails(daemon, "--listen", "7070")
    assert "longer than" in start_fails(daemon, "--socket", "/tmp/" + "x" * 200)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_another_user_is_refused(daemon):
    path = daemon.state_dir / "trainerd.sock"
    code = f"""
import os, socket
s = socket.socket(socket.AF_UNIX)
os.chdir({str(daemon.state_dir)!r})
os.setgid(65534)
os.setuid(65534)
s.connect("trainerd.sock")
s.settimeout(5)
s.send(b"PRI * HTTP/2.0")
print(s.recv(10))
"""
    os.chmod(path, 0o777)
    os.chmod(daemon.state_dir, 0o755)
    run = subprocess.run(["python3", "-c", code], capture_output=True, text=True, timeout=20)
    assert run.stdout.strip() == "b''" or "BrokenPipe" in run.stderr or "ConnectionReset" in run.stderr, run
    assert "for its owner only" in daemon.log()
    assert is_served(daemon)


# ---- The end ------------------------------------------------------------------------------------------------------


def test_W12_shutdown_with_open_watches(make_daemon):
    daemon = make_daemon()
    stubs = [daemon.stub() for _ in range(4)]
    calls = [watch_all(stubs[i % 4]) for i in range(100)]
    tokens = [next(call).resume_token for call in calls]
    submits = [stubs[0].Submit.future(submit_request(i), timeout=20) for i in range(3)]
    submits[0].result()  # at least one was answered, and must be there afterwards
    begin = time.monotonic()
    daemon.process.terminate()
    codes = [end_of(call) for call in calls]
    assert all(c.code() == grpc.StatusCode.UNAVAILABLE and reason(c) == "SHUTTING_DOWN" for c in codes)
    assert "resume from your last token" in codes[0].details()
    for future in submits:
        assert future.exception() is None or future.exception().code() == grpc.StatusCode.UNAVAILABLE
    assert daemon.process.wait(20) == 0
    assert time.monotonic() - begin < 10
    answered = [f.result().job.uid for f in submits if f.exception() is None]
    daemon.start()
    stub = daemon.stub()
    token = max(tokens, key=len)
    seen = set()
    for message in stub.Watch(watch_pb2.WatchRequest(resume_token=token), timeout=10):
        kind = message.WhichOneof("message")
        if kind in ("snapshot", "transition"):
            seen.add(getattr(message, kind).uid)
        if set(answered) <= seen:
            break
    assert set(answered) <= seen


def submit_request(i):
    from trainer.v1 import service_pb2

    return service_pb2.SubmitRequest(spec=spec("true"), request_id=f"r{i}")


def end_of(call):
    with pytest.raises(grpc.RpcError) as info:
        for _ in call:
            pass
    return info.value


def test_shutdown_does_not_wait_for_ever(make_daemon):
    daemon = make_daemon(config="shutdown_grace: 2\n")
    dead = [RawClient(daemon.address, settings={4: 0}) for _ in range(3)]  # they can be told nothing
    dead[0].call(SERVICE + "Watch", b"")
    dead[1].headers(SERVICE + "Watch")
    silent = connect(daemon)
    time.sleep(0.3)
    begin = time.monotonic()
    assert daemon.stop(20) == 0
    assert 1.5 < time.monotonic() - begin < 10, "the grace time, no more"
    for client in dead:
        client.close()
    silent.close()


def test_shutdown_refuses_what_is_new(make_daemon):
    daemon = make_daemon()
    stub = daemon.stub()
    info_of(stub)
    held = RawClient(daemon.address, settings={4: 0})
    held.call(SERVICE + "Watch", b"")  # cannot be told anything, so the server waits for it
    until(lambda: info_of(stub).watchers == 1)
    daemon.process.terminate()
    until(lambda: not (daemon.state_dir / "trainerd.sock").exists())
    for _ in range(100):
        error = failed(stub.GetServerInfo, runtime_pb2.GetServerInfoRequest(), timeout=5)
        assert error.code() == grpc.StatusCode.UNAVAILABLE and reason(error) == "SHUTTING_DOWN"
    held.close()
    assert daemon.process.wait(20) == 0


def test_shutdown_under_load(make_daemon):
    daemon = make_daemon()
    stop = threading.Event()
    wrong = []

    def hammer():
        stub = daemon.stub()
        while not stop.is_set():
            try:
                info_of(stub)
            except grpc.RpcError as e:
                if e.code() != grpc.StatusCode.UNAVAILABLE:
                    wrong.append(e)
                return

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for t in threads:
        t.start()
    submit(daemon.stub(), spec("true"))
    time.sleep(0.5)
    status = daemon.stop(30)
    stop.set()
    for t in threads:
        t.join(20)
    assert status == 0 and not wrong, wrong


def test_more_signals_while_it_ends_change_nothing(make_daemon):
    daemon = make_daemon()
    end = time.monotonic() + 60
    while daemon.process.poll() is None and time.monotonic() < end:
        daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.returncode == 0
