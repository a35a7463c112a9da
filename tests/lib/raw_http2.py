"""HTTP/2 frames by hand, for clients that no library would be: silent, greedy, broken."""

import contextlib
import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
SETTING_NAMES = {1: "header_table_size", 3: "max_concurrent_streams", 4: "initial_window_size", 5: "max_frame_size", 6: "max_header_list_size"}


def integer(value, prefix_bits):
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes([value])
    out = [limit]
    value -= limit
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def text(value):
    raw = value.encode() if isinstance(value, str) else value
    return integer(len(raw), 7) + raw


def hpack(headers):
    """Literals without indexing: the simplest legal encoding."""
    return b"".join(b"\0" + text(name) + text(value) for name, value in headers)


def grpc_message(data, compressed=0):
    return struct.pack(">BI", compressed, len(data)) + data


class RawClient:
    def __init__(self, address, settings=None, greet=True):
        if address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address[5:])
        else:
            host, port = address.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)))
        self.buffer = b""
        self.streams = 0
        if greet:
            self.socket.sendall(PREFACE)
            self.frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", k, v) for k, v in (settings or {}).items()))

    def close(self):
        self.socket.close()

    def frame(self, kind, flags, stream, payload=b""):
        self.socket.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)

    def headers(self, path, more=(), end=False, basic=None):
        self.streams += 1
        stream = 2 * self.streams - 1
        basic = basic or [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"), ("te", "trailers"), ("content-type", "application/grpc")]
        self.frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, hpack([*basic, *more]))
        return stream

    def call(self, path, data, more=()):
        stream = self.headers(path, more)
        self.frame(DATA, END_STREAM, stream, grpc_message(data))
        return stream

    def read(self, timeout=5):
        """One frame as (kind, flags, stream, payload); None at the end of the connection."""
        self.socket.settimeout(timeout)
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            try:
                got = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not got:
                return None
            self.buffer += got
        n = int.from_bytes(self.buffer[:3], "big")
        kind, flags = self.buffer[3], self.buffer[4]
        stream = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
        payload = self.buffer[9 : 9 + n]
        self.buffer = self.buffer[9 + n :]
        if kind in (SETTINGS, PING) and not flags & ACK:
            with contextlib.suppress(ConnectionError):  # it may be closing
                self.frame(kind, ACK, 0, payload if kind == PING else b"")
        return kind, flags, stream, payload

    def read_until(self, wanted, seconds=10):
        """Frames up to the first for which wanted(frame) holds, which is returned; None when the connection ends."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            frame = self.read(max(0.01, end - time.monotonic()))
            if frame is None or wanted(frame):
                return frame
        raise TimeoutError("the frame does not come")

    def server_settings(self):
        payload = self.read_until(lambda f: f[0] == SETTINGS and not f[1] & ACK)[3]
        pairs = [struct.unpack(">HI", payload[i : i + 6]) for i in range(0, len(payload), 6)]
        return {SETTING_NAMES.get(k, k): v for k, v in pairs}
