"""Listening: an address taken before anything is made, and no end of headers."""

from __future__ import annotations

import socket
import sys

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lastswitch.errors import ServiceError

#: Bytes of a request's first line and headers.
MOST_HEAD = 64_000
_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/problem+json\r\nconnection: close\r\n\r\n"
    b'{"type": "urn:lastswitch:problem:headers", "title": "Too many headers", "status": 431, '
    b'"detail": "address and headers have at most 64,000 bytes."}'
)


class Protocol(HttpToolsProtocol):
    """HTTP whose headers end: whoever sends more and more of them is cut off."""

    _head, _reads_head = 0, True

    def on_message_begin(self) -> None:
        """Begin to count."""
        self._head, self._reads_head = 0, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Count no more: a body is counted at the gate."""
        self._reads_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take in what came, unless it is too much of a head."""
        super().data_received(data)
        if not self._reads_head or self.transport.is_closing():
            return
        self._head += len(data)
        if self._head > MOST_HEAD:
            self.transport.write(_REFUSAL)
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that has the address, or say that somebody else has it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(4096)
    except OSError as error:
        found.close()
        raise ServiceError(
            f"{host}:{port} cannot be listened on ({error.strerror}); is it taken? Choose another "
            "--port."
        ) from error
    found.set_inheritable(True)
    return found
