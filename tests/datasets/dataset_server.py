"""A real HTTP server on this machine that answers as each test scripts it."""

import contextlib
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """How one request is answered; the default is as it should be."""

    status: int = 200
    body: bytes | None = None  # in place of the file
    cut: int | None = None  # bytes sent before the connection breaks
    stall: bool = False  # at the cut, keep the connection but send no more
    ranges: bool = True
    version: str | None = '"1"'  # the ETag
    length: int | None = None  # Content-Length, if not the true one
    piece: str | None = None  # Content-Range, if not the true one
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Site:
    """`files` and, for the first requests of a path, the answers in `script`; `requests` keeps (path, headers)."""

    files: dict[str, bytes] = field(default_factory=dict)
    script: dict[str, list[Answer]] = field(default_factory=dict)
    always: Answer = Answer()
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str) -> Answer:
        return self.script[path].pop(0) if self.script.get(path) else self.always

    def ranges(self) -> list[str | None]:
        return [headers.get("Range") for _, headers in self.requests]


@contextlib.contextmanager
def serving():
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            site.requests.append((self.path, dict(self.headers)))
            with contextlib.suppress(ConnectionError):
                _reply(self, site, site.answer(self.path))

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _reply(handler, site, answer):
    body = site.files.get(handler.path) if answer.body is None else answer.body
    if body is None or answer.status >= 300:
        handler.send_response(404 if body is None and answer.status == 200 else answer.status)
        return _finish(handler, answer.headers, b"")
    start = _start(handler.headers, answer)
    if start and start >= len(body):
        handler.send_response(416)
        return _finish(handler, (("Content-Range", f"bytes */{len(body)}"),), b"")
    handler.send_response(206 if start else 200)
    if start:
        handler.send_header("Content-Range", answer.piece or f"bytes {start}-{len(body) - 1}/{len(body)}")
    if answer.version:
        handler.send_header("ETag", answer.version)
    sent = body[start : answer.cut]
    _finish(handler, answer.headers, sent, len(body) - start if answer.length is None else answer.length)
    if answer.stall:
        site.over.wait(20)
    return None


def _start(headers, answer):
    """The byte asked for, if the server knows ranges and the asker means the version that it has."""
    wanted = re.fullmatch(r"bytes=(\d+)-", headers.get("Range", ""))
    same = headers.get("If-Range") in (None, answer.version)
    return int(wanted[1]) if wanted and answer.ranges and same else 0


def _finish(handler, headers, body, length=None):
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)
    handler.wfile.flush()
