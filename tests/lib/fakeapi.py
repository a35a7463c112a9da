"""An API server that plays what a real one does not do on demand.

It keeps objects, lists, watches and changes them like the real one, as far as our client looks. What it is to do wrong is
said in one line each, and is used up by the requests that it fits:

    api.next("POST", "/pytorchjobs", status=503, retry_after=1)             answers so instead of doing it
    api.next("POST", "/pytorchjobs", done=True, reset_at=0)                 does it, then resets instead of answering
    api.next("WATCH", "/pods", error_event=410, times=2)                    an ERROR event in the stream, twice
    api.next("LIST", "/pytorchjobs", stall=True)                            headers never come
    api.next("WATCH", "/pytorchjobs", garbage=b"}{\\n")                      bytes that are no event
    api.next("GET", "/log", slow=0.01)                                      one byte at a time

The verbs are GET, LIST, WATCH, POST, PATCH, DELETE; the path is a part of the request's path. `api.requests` has all of them.
"""

import copy
import http.server
import itertools
import json
import re
import socket
import struct
import threading
import time
import urllib.parse
import uuid

KINDS = {
    "kubeflow.org/v1": {
        "pytorchjobs": "PyTorchJob",
        "tfjobs": "TFJob",
        "xgboostjobs": "XGBoostJob",
        "mpijobs": "MPIJob",
        "jaxjobs": "JAXJob",
        "paddlejobs": "PaddleJob",
    },
    "v1": {"pods": "Pod", "events": "Event"},
}
REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip


def status(code, message="as the test asked", reason=None, **details):
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason or REASONS.get(code, "Unknown"), "message": message, "details": details,
    }  # fmt: skip


class Fault:
    def __init__(self, verb, path, times=1, **what):
        self.verb, self.path, self.left, self.what = verb, path, times, what

    def fits(self, verb, path):
        return self.left > 0 and self.verb == verb and self.path in path


class Request:
    def __init__(self, verb, path, query, headers, body):
        self.verb, self.path, self.query, self.headers, self.body = verb, path, query, headers, body
        self.time = time.monotonic()

    def __repr__(self):
        return f"{self.verb} {self.path} {self.query}"


def matches(selector, labels):
    for term in filter(None, (selector or "").split(",")):
        key, equal, value = term.partition("=")
        if key not in labels or (equal and labels[key] != value):
            return False
    return True


def merge(into, patch):
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


class FakeApi:
    def __init__(self):
        self.lock = threading.Condition()
        self.objects = {}  # (plural, namespace, name) -> object
        self.events = []  # (version, plural, type, object)
        self.logs = {}  # pod -> bytes, or a list of chunks with pauses
        self.oldest = 0  # versions up to it are compacted
        self.version = 100
        self.faults = []
        self.requests = []
        self.served = copy.deepcopy(KINDS)
        self.stopping = False
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Handler(self, *a), bind_and_activate=True)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        with self.lock:
            self.stopping = True
            self.lock.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def kubeconfig(self, path, token="secret-token"):
        path.write_text(
            json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "fake",
                "clusters": [{"name": "fake", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
                "users": [{"name": "me", "user": {"token": token}}],
                "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "me"}}],
            })  # fmt: skip
        )
        return path

    # ---- what tests say ---------------------------------------------------------------------------------------------

    def next(self, verb, path, times=1, **what):
        with self.lock:
            self.faults.append(fault := Fault(verb, path, times, **what))
        return fault

    def count(self, verb, path=""):
        with self.lock:
            return sum(r.verb == verb and path in r.path for r in self.requests)

    def put(self, plural, obj):
        """Creates or replaces, and tells the watchers."""
        with self.lock:
            meta = obj["metadata"]
            key = (plural, meta.setdefault("namespace", "default"), meta["name"])
            old = self.objects.get(key)
            meta.setdefault("uid", old["metadata"]["uid"] if old else str(uuid.uuid4()))
            self.version += 1
            meta["resourceVersion"] = str(self.version)
            self.objects[key] = obj = copy.deepcopy(obj)
            self.events.append((self.version, plural, "MODIFIED" if old else "ADDED", obj))
            self.lock.notify_all()
            return copy.deepcopy(obj)

    def change(self, plural, namespace, name, **patch):
        with self.lock:
            obj = copy.deepcopy(self.objects[(plural, namespace, name)])
        merge(obj, patch)
        return self.put(plural, obj)

    def remove(self, plural, namespace, name):
        with self.lock:
            obj = self.objects.pop((plural, namespace, name), None)
            if obj is not None:
                self.version += 1
                obj = copy.deepcopy(obj)
                obj["metadata"]["resourceVersion"] = str(self.version)
                self.events.append((self.version, plural, "DELETED", obj))
                self.lock.notify_all()

    def all(self, plural):
        with self.lock:
            return [copy.deepcopy(o) for (p, _, _), o in self.objects.items() if p == plural]

    def conditions(self, plural, namespace, name, *true, **more):
        """Sets the conditions of a Kubeflow job: those named are True, in this order."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        rows = [
            {"type": t.rstrip("!"), "status": "False" if t.endswith("!") else "True", "reason": "Job" + t.rstrip("!"),
             "message": f"job is {t}", "lastTransitionTime": now} for t in true
        ]  # fmt: skip
        return self.change(plural, namespace, name, status={"conditions": rows, **more})

    def pod(self, job, role, index, phase="Running", **status_more):
        """A pod as the operator makes it of the job's template."""
        uid = job["metadata"]["labels"]["trainerd/job-uid"]
        name = f"{job['metadata']['name']}-{role}-{index}"
        return self.put("pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": job["metadata"]["namespace"],
                "labels": {"trainerd/job-uid": uid, "training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": str(index)},
            },
            "spec": {"nodeName": "node-1", "containers": [{"name": "pytorch"}]},
            "status": {"phase": phase, **status_more},
        })  # fmt: skip

    def compact(self):
        """Forgets all events: whoever watches from before is told that it is gone."""
        with self.lock:
            self.version += 1
            self.oldest = self.version
            self.events = []
            self.lock.notify_all()

    def take_fault(self, verb, path):
        with self.lock:
            for fault in self.faults:
                if fault.fits(verb, path):
                    fault.left -= 1
                    return fault.what
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, api, *args):
        self.api = api
        super().__init__(*args)

    def log_message(self, *_):
        pass

    # ---- answers ------------------------------------------------------------------------------------------------------

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def answer(self, code, body, fault=None, content="application/json"):
        fault = fault or {}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        data = fault.get("garbage", data)
        head = f"HTTP/1.1 {code} X\r\nContent-Type: {content}\r\nContent-Length: {len(data)}\r\n"
        if "retry_after" in fault:
            head += f"Retry-After: {fault['retry_after']}\r\n"
        raw = head.encode() + b"\r\n" + data
        if fault.get("stall"):
            self.wait_for_stop()
            return
        if "reset_at" in fault:
            self.wfile.write(raw[: fault["reset_at"]])
            self.wfile.flush()
            time.sleep(0.05)
            self.reset()
            return
        if "slow" in fault:
            for byte in raw:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(fault["slow"])
            return
        if fault.get("close_after_headers"):
            self.wfile.write(head.encode() + b"\r\n")
            self.close_connection = True
            return
        self.wfile.write(raw)

    def wait_for_stop(self):
        with self.api.lock:
            while not self.api.stopping:
                self.api.lock.wait(1)
        self.close_connection = True

    # ---- requests -----------------------------------------------------------------------------------------------------

    def handle_any(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        m = re.fullmatch(r"/(?:api|apis/([^/]+))/(v[^/]+)(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?(?:/(log))?", url.path)
        verb = self.command
        if verb == "GET" and m and not m[5]:
            verb = "WATCH" if query.get("watch") else "LIST"
        with self.api.lock:
            self.api.requests.append(Request(verb, url.path, query, dict(self.headers), body))
        fault = self.api.take_fault(verb, url.path)
        if fault and "status" in fault:
            self.answer(fault["status"], status(fault["status"], fault.get("message", "as the test asked"), fault.get("reason")), fault)
            return
        if fault and not fault.get("done") and verb != "WATCH" and ("reset_at" in fault or "stall" in fault) and verb in ("POST", "PATCH", "DELETE"):
            self.answer(200, {}, fault)
            return
        group = re.fullmatch(r"/apis?/(.+?)/?", url.path)
        if not m and group and self.command == "GET" and group[1] in self.api.served:
            self.answer(200, self.resources(group[1]), fault)
        elif not m or m[4] not in self.api.served.get(f"{m[1]}/{m[2]}" if m[1] else m[2], {}):
            self.answer(404, status(404, "the server could not find the requested resource"), fault)
        elif verb == "WATCH":
            self.watch(m[4], m[3], query, fault or {})
        elif m[6]:
            self.log(m[3], m[5], query, fault or {})
        else:
            getattr(self, "on_" + verb.lower())(m[4], m[3], m[5], query, body, fault)

    do_GET = do_POST = do_PATCH = do_DELETE = handle_any

    def resources(self, group):
        rows = [{"name": p, "kind": k, "namespaced": True, "verbs": ["get", "list", "watch"]} for p, k in self.api.served[group].items()]
        return {"kind": "APIResourceList", "groupVersion": group, "resources": rows + [{"name": "x/status", "kind": "PyTorchJob"}]}

    def on_list(self, plural, namespace, _, query, _body, fault):
        with self.api.lock:
            items = [
                o for (p, ns, _n), o in self.api.objects.items()
                if p == plural and namespace in (None, ns) and matches(query.get("labelSelector"), o["metadata"].get("labels", {}))
            ]  # fmt: skip
            begin = int(query.get("continue") or 0)
            size = int(query.get("limit") or 0) if query.get("resourceVersion") != "0" else 0
            page = items[begin : begin + size] if size else items[begin:]
            more = str(begin + size) if size and begin + size < len(items) else ""
            body = {"kind": "List", "metadata": {"resourceVersion": str(self.api.version), "continue": more}, "items": page}
            data = json.dumps(body).encode()
        self.answer(200, data, fault)

    def on_get(self, plural, namespace, name, _query, _body, fault):
        with self.api.lock:
            obj = self.api.objects.get((plural, namespace, name))
        self.answer(200 if obj else 404, obj or status(404, f'{plural} "{name}" not found'), fault)

    def on_post(self, plural, namespace, _, query, body, fault):
        obj = json.loads(body)
        name = obj["metadata"]["name"]
        with self.api.lock:
            exists = (plural, namespace, name) in self.api.objects
        if exists:
            self.answer(409, status(409, f'{plural} "{name}" already exists', "AlreadyExists"), fault)
            return
        obj["metadata"]["namespace"] = namespace
        if query.get("dryRun") != "All":
            obj = self.api.put(plural, obj)
        self.answer(201, obj, fault)

    def on_patch(self, plural, namespace, name, _query, body, fault):
        patch = json.loads(body)
        with self.api.lock:
            obj = copy.deepcopy(self.api.objects.get((plural, namespace, name)))
        if obj is None:
            self.answer(404, status(404, f'{plural} "{name}" not found'), fault)
        elif patch.get("metadata", {}).get("uid", obj["metadata"]["uid"]) != obj["metadata"]["uid"]:
            self.answer(409, status(409, "the UID in the precondition does not match"), fault)
        else:
            merge(obj, patch)
            self.answer(200, self.api.put(plural, obj), fault)

    def on_delete(self, plural, namespace, name, _query, _body, fault):
        with self.api.lock:
            exists = (plural, namespace, name) in self.api.objects
        self.api.remove(plural, namespace, name)
        self.answer(200 if exists else 404, status(200 if exists else 404, "deleted" if exists else "not found"), fault)

    # ---- streams ------------------------------------------------------------------------------------------------------

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def begin_stream(self, content):
        self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {content}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        self.wfile.flush()

    def event(self, kind, obj):
        self.chunk(json.dumps({"type": kind, "object": obj}).encode() + b"\n")

    def watch(self, plural, namespace, query, fault):
        since = int(query.get("resourceVersion") or 0)
        end = time.monotonic() + int(query.get("timeoutSeconds") or 1800)
        with self.api.lock:
            gone = since < self.api.oldest
        if gone:
            self.answer(410, status(410, f"too old resource version: {since}"))
            return
        self.begin_stream("application/json")
        if "error_event" in fault:
            self.event("ERROR", status(fault["error_event"], fault.get("message", "too old resource version")))
        elif "garbage" in fault:
            self.chunk(fault["garbage"])
        elif fault.get("stall"):
            self.wait_for_stop()
            return
        elif "reset_at" in fault:
            self.reset()
            return
        else:
            self.serve_watch(plural, namespace, query, since, end)
        self.chunk(b"")
        self.close_connection = True

    def serve_watch(self, plural, namespace, query, since, end):
        sent = since
        while time.monotonic() < end:
            with self.api.lock:
                fresh = [e for e in self.api.events if e[0] > sent]
                if not fresh:
                    if self.api.stopping or self.api.oldest > sent:
                        return
                    self.api.lock.wait(0.2)
            for version, p, kind, obj in fresh:
                sent = version
                labels = obj["metadata"].get("labels", {})
                if p == plural and namespace in (None, obj["metadata"]["namespace"]) and matches(query.get("labelSelector"), labels):
                    self.event(kind, obj)

    def log(self, namespace, pod, query, fault):
        with self.api.lock:
            data = self.api.logs.get(pod)
            obj = self.api.objects.get(("pods", namespace, pod))
        if obj is None:
            self.answer(404, status(404, f'pods "{pod}" not found'))
            return
        if obj["status"]["phase"] == "Pending":
            self.answer(400, status(400, f'container "pytorch" in pod "{pod}" is waiting to start: ContainerCreating'))
            return
        lines = (data or b"").splitlines(keepends=True)
        if "sinceTime" in query:
            lines = [x for x in lines if x.split(b" ", 1)[0] >= query["sinceTime"].rstrip("Z").encode()]
        if "tailLines" in query:
            lines = lines[len(lines) - int(query["tailLines"]) :] if int(query["tailLines"]) else []
        self.begin_stream("text/plain")
        text = b"".join(lines)
        if "cut_at" in fault:
            text = text[: fault["cut_at"]]
        for at in itertools.count(0, fault.get("step", 65536)):
            part = text[at : at + fault.get("step", 65536)]
            if not part:
                break
            self.chunk(part)
        if fault.get("reset_after"):
            self.reset()
            return
        self.chunk(b"")
        self.close_connection = True
