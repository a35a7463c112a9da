#!/usr/bin/python3
"""A server that answers with what the path of the request says, faults included. For the tests of HTTP clients.

Usage: http_server.py [--tls DIR] [--client-ca] [--h2] [--unix PATH]. Prints its port when it listens, and serves until
its standard input ends. DIR holds server.pem and server.key, with --client-ca also ca.pem: the authority that the
client's certificate must be of. --h2 speaks HTTP/2 with those who offer it.

A path is a list of steps, "/step=argument;step=argument", arguments percent-encoded:
  sleep=MS                   before what follows
  status=N  header=K:V       of the answer, before its body
  body=TEXT  size=N          the body, with Content-Length; size: N times x
  gzip=N                     N times x, compressed if the client takes that
  chunk=TEXT                 a chunk, at once; the last one follows by itself. HTTP/1.1 only, like all below
  drip=N:SIZE:MS             N chunks of SIZE bytes, one every MS
  unmarked=TEXT              a body that ends with the connection
  raw=TEXT                   these bytes and nothing else
  reset=N                    first of all steps: N bytes of the answer go out, then the connection is reset
  cut=N                      the same with an orderly end
  early=reset|cut            before the rest of the request is read
  stall                      nothing more, the connection stays
  once                       first of all steps: what follows is for the first request of that path, then 200
  echo                       JSON: method, path, headers in order, body
  seen=PATH                  JSON: how many requests with that path came, whole or not
  refuse                     HTTP/2: the stream is refused the first time
  goaway                     HTTP/2: the connection ends without an answer
It is no proxy: CONNECT gets 403, and TLS without --tls gets 400.
Every answer has X-Connection: the number of its connection, counted from 1.
"""

import argparse
import gzip
import json
import os
import select
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

seen, lock = {}, threading.Lock()


class Over(Exception):
    """This connection is over."""


def steps_of(path):
    steps = []
    for step in path.lstrip("/").split("?")[0].split(";"):
        name, _, argument = step.partition("=")
        steps.append((name, urllib.parse.unquote_to_bytes(argument)))
    return steps


def count(path):
    with lock:
        seen[path] = seen.get(path, 0) + 1
        return seen[path]


def echo(method, path, headers, body):
    return json.dumps({"method": method, "path": path, "headers": headers, "body": body.decode("latin-1")}).encode()


def seen_answer(path):
    with lock:
        return str(seen.get(path, 0)).encode()


class Plain:
    """One HTTP/1.1 connection."""

    def __init__(self, sock, number):
        self.sock, self.number, self.buffer = sock, number, b""
        self.left = None  # bytes that may still go out, then `end`
        self.end = None

    def more(self):
        data = self.sock.recv(65536)
        if not data:
            raise Over
        self.buffer += data

    def read_head(self):
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        return method, path, [[k, v.strip()] for k, _, v in (line.partition(":") for line in lines)]

    def read_body(self, headers):
        length = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
        while len(self.buffer) < length:
            self.more()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return body

    def reset(self):
        plain = self.sock
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if isinstance(plain, ssl.SSLSocket):
            socket.socket(fileno=plain.detach()).close()
        else:
            plain.close()
        raise Over

    def send(self, data):
        if self.left is not None and len(data) >= self.left:
            self.sock.sendall(data[: self.left])
            if self.end == "reset":
                time.sleep(0.05)  # a reset throws away what the other side has not read yet
                self.reset()
            raise Over
        if self.left is not None:
            self.left -= len(data)
        self.sock.sendall(data)

    def head(self, status, headers, last):
        lines = [f"HTTP/1.1 {status} Whatever", f"X-Connection: {self.number}"] + [f"{k}: {v}" for k, v in headers]
        self.send("\r\n".join([*lines, last, "", ""] if last else [*lines, "", ""]).encode())

    def stall(self):
        while self.sock.recv(65536):
            pass
        raise Over

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def serve_one(self):
        if not self.buffer:
            self.more()
        if self.buffer[0] == 0x16:  # TLS
            self.sock.sendall(b"HTTP/1.1 400 Whatever\r\n\r\n")
            raise Over
        method, path, request_headers = self.read_head()
        if method == "CONNECT":
            self.sock.sendall(b"HTTP/1.1 403 Whatever\r\nContent-Length: 0\r\n\r\n")
            raise Over
        number, steps = count(path), steps_of(path)
        if steps[0][0] == "early":
            self.reset() if steps[0][1] == b"reset" else None
            raise Over
        body = self.read_body(request_headers)
        if steps[0][0] == "once":
            steps = steps[1:] if number == 1 else []
        if steps and steps[0][0] in ("reset", "cut"):
            self.end, self.left = steps[0][0], int(steps[0][1])
            if self.left == 0:
                self.send(b"")
        status, headers, chunked, answer = 200, [], False, b""
        for name, argument in steps:
            text = argument.decode("latin-1")
            if name == "sleep":
                time.sleep(int(text) / 1000)
            elif name == "status":
                status = int(text)
            elif name == "header":
                headers.append(text.split(":", 1))
            elif name == "body":
                answer = argument
            elif name == "size":
                answer = b"x" * int(text)
            elif name == "echo":
                answer = echo(method, path, request_headers, body)
            elif name == "seen":
                answer = seen_answer(text)
            elif name == "gzip":
                answer = b"x" * int(text)
                if any(k.lower() == "accept-encoding" and "gzip" in v for k, v in request_headers):
                    answer = gzip.compress(answer)
                    headers.append(("Content-Encoding", "gzip"))
            elif name in ("chunk", "drip"):
                n, size, ms = map(int, text.split(":")) if name == "drip" else (1, 0, 0)
                if not chunked:
                    self.head(status, headers, "Transfer-Encoding: chunked")
                    chunked = True
                for _ in range(n):
                    self.chunk(b"x" * size if name == "drip" else argument)
                    time.sleep(ms / 1000)
            elif name == "unmarked":
                self.head(status, headers, "Connection: close")
                self.send(argument)
                raise Over
            elif name == "raw":
                self.send(argument)
                raise Over
            elif name == "stall":
                self.stall()
        if chunked:
            self.send(b"0\r\n\r\n")
        else:
            self.head(status, headers, f"Content-Length: {len(answer)}")
            self.send(answer if method != "HEAD" else b"")

    def serve(self):
        while True:
            self.serve_one()


class Multiplexed:
    """One HTTP/2 connection: a thread a stream, so that a slow answer holds up none of the others."""

    def __init__(self, sock, number):
        import h2.config
        import h2.connection

        self.sock, self.number = sock, number
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.changed = threading.Condition(threading.RLock())
        self.streams, self.over = {}, False
        sock.setblocking(False)

    def flush(self):
        data = self.h2.data_to_send()
        while data:
            try:
                data = data[self.sock.send(data) :]
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                time.sleep(0.001)

    def send_body(self, stream, data):
        with self.changed:
            while data:
                while not self.over and self.h2.local_flow_control_window(stream) == 0:
                    self.changed.wait(5)
                if self.over:
                    return
                n = min(len(data), self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
                self.h2.send_data(stream, data[:n])
                data = data[n:]
                self.flush()
            self.h2.end_stream(stream)
            self.flush()

    def answer(self, stream, headers, body):
        fields = dict(headers)
        path = fields[":path"]
        number, status, extra, answer = count(path), 200, [], b""
        for name, argument in steps_of(path):
            text = argument.decode("latin-1")
            if name == "sleep":
                time.sleep(int(text) / 1000)
            elif name == "status":
                status = int(text)
            elif name == "header":
                extra.append(tuple(text.lower().split(":", 1)))
            elif name == "body":
                answer = argument
            elif name == "size":
                answer = b"x" * int(text)
            elif name == "echo":
                answer = echo(fields[":method"], path, headers, body)
            elif name == "seen":
                answer = seen_answer(text)
            elif name == "stall":
                return
            elif name == "refuse" and number == 1:
                with self.changed:
                    self.h2.reset_stream(stream, 7)
                    self.flush()
                return
            elif name == "goaway":
                with self.changed:
                    self.over = True
                    self.h2.close_connection()
                    self.flush()
                    self.sock.shutdown(socket.SHUT_RDWR)
                return
        with self.changed:
            if self.over:
                return
            self.h2.send_headers(stream, [(":status", str(status)), ("x-connection", str(self.number)), *extra])
            self.flush()
        self.send_body(stream, answer)

    def guarded(self, *args):
        import h2.exceptions

        try:
            self.answer(*args)
        except (h2.exceptions.ProtocolError, OSError):
            pass  # the client has gone on

    def event(self, event):
        import h2.events as e

        if isinstance(event, e.RequestReceived):
            self.streams[event.stream_id] = [event.headers, b""]
        elif isinstance(event, e.DataReceived):
            self.streams[event.stream_id][1] += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, e.StreamEnded):
            args = (event.stream_id, *self.streams.pop(event.stream_id))
            threading.Thread(target=self.guarded, args=args, daemon=True).start()

    def serve(self):
        with self.changed:
            self.h2.initiate_connection()
            self.flush()
        while not self.over:
            select.select([self.sock], [], [], 1)
            with self.changed:
                try:
                    data = self.sock.recv(65536)
                except (ssl.SSLWantReadError, BlockingIOError):
                    continue
                if not data:
                    self.over = True
                else:
                    for event in self.h2.receive_data(data):
                        self.event(event)
                    self.flush()
                self.changed.notify_all()


def handshake(sock, context):
    sock = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
    try:
        sock.do_handshake()
    except ssl.SSLError:
        # What the client has sent meanwhile must be read, or a reset overtakes the alert that says why.
        plain = socket.socket(fileno=sock.detach())
        plain.shutdown(socket.SHUT_WR)
        plain.settimeout(2)
        while plain.recv(65536):
            pass
        plain.close()
        raise Over from None
    return sock


def serve(sock, number, context):
    try:
        if context is not None:
            sock = handshake(sock, context)
        multiplexed = context is not None and sock.selected_alpn_protocol() == "h2"
        (Multiplexed if multiplexed else Plain)(sock, number).serve()
    except (Over, OSError, ValueError):
        pass
    finally:
        sock.close()


def tls(args):
    if args.tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(args.tls, "server.pem"), os.path.join(args.tls, "server.key"))
    context.set_alpn_protocols(["h2", "http/1.1"] if args.h2 else ["http/1.1"])
    if args.client_ca:
        context.load_verify_locations(os.path.join(args.tls, "ca.pem"))
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def accept(listener, context):
    number = 0
    while True:
        sock, _ = listener.accept()
        if listener.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number += 1
        threading.Thread(target=serve, args=(sock, number, context), daemon=True).start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tls")
    parser.add_argument("--client-ca", action="store_true")
    parser.add_argument("--h2", action="store_true")
    parser.add_argument("--unix")
    args = parser.parse_args()
    listener = socket.socket(socket.AF_UNIX if args.unix else socket.AF_INET)
    listener.bind(args.unix or ("127.0.0.1", 0))
    listener.listen(128)
    threading.Thread(target=accept, args=(listener, tls(args)), daemon=True).start()
    print(0 if args.unix else listener.getsockname()[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
