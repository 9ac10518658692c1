"""A small HTTP server on loopback whose pages a test decides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Page = Callable[[str], tuple[int, bytes]]


@contextmanager
def serving(page: Page) -> Generator[str]:
    """The server's URL; `page` maps a path to a status and a body."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = page(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - silence
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
