"""A small proxy on the loopback interface that shows a service below a path of its own, as company proxies do."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOR_ONE_CONNECTION = ("connection", "content-length", "host", "keep-alive", "transfer-encoding")


@contextmanager
def behind(service: str, prefix: str) -> Iterator[str]:
    """Pass on what is asked below `prefix`, and nothing else. Yields the address of the proxy."""

    class Passing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on()

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the server looks for these names

        def log_message(self, *said: object) -> None:
            """Say nothing."""

        def _pass_on(self) -> None:
            if not self.path.startswith(f"{prefix}/"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            # A proxy of this kind rewrites where a page says it comes from, because the service knows its own address only.
            asked = {
                name: service if name.lower() == "origin" else value
                for name, value in self.headers.items()
                if name.lower() not in _FOR_ONE_CONNECTION
            }
            with httpx.stream(
                self.command,
                service + self.path.removeprefix(prefix),
                headers=asked,
                content=body,
                timeout=None,
                trust_env=False,
            ) as answer:
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    if name not in _FOR_ONE_CONNECTION:
                        self.send_header(name, value)
                self.end_headers()
                try:
                    for piece in answer.iter_raw():
                        self.wfile.write(piece)
                        self.wfile.flush()
                except (BrokenPipeError, ConnectionResetError, httpx.HTTPError):
                    return  # one of the two has gone

    server = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
