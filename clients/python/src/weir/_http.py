# SPDX-License-Identifier: MIT
"""HTTP/1.1 over blocking sockets, for threads: every connect, write and read has a time limit.

A `Transport` keeps idle connections and gives each request one of them, so any number of threads
may use it at the same time. A kept connection that the server has closed meanwhile costs one more
try on a new one; nothing else is repeated here, because only the caller knows what may be.
"""

from __future__ import annotations

import base64
import collections
import json
import select
import socket
import ssl
import time
from typing import Any, Deque, Dict, List, Optional, Tuple
from urllib.parse import unquote, urlsplit

from .errors import ServiceError, Unavailable

MAX_HEAD = 64 * 1024
MAX_IDLE = 16
MAX_BODY = 1024 * 1024 * 1024
VERSION = "0.1.0"


class Response:
    __slots__ = ("status", "headers", "body")

    def __init__(self, status: int, headers: Dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise Unavailable(f"the answer is no JSON: {error}") from None

    def error(self) -> ServiceError:
        """The problem that the service describes (RFC 9457), or the bare status."""
        detail, member = "", None
        try:
            problem = json.loads(self.body)
            detail = str(problem.get("detail") or problem.get("title") or "")
            member = problem.get("member")
        except (ValueError, AttributeError):
            pass
        return ServiceError(self.status, detail or "no detail", member)


class Address:
    """Where the service is, and what each request to it begins with."""

    def __init__(self, url: str, token: Optional[str]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url is {url!r}, expected http://HOST[:PORT] or https://HOST[:PORT]")
        if parts.query or parts.fragment:
            raise ValueError(f"url is {url!r}: it may have a path, but no query and no fragment")
        self.is_tls = parts.scheme == "https"
        self.host = parts.hostname
        self.port = parts.port or (443 if self.is_tls else 80)
        self.prefix = parts.path.rstrip("/")
        shown = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.is_tls else 80
        authority = shown if self.port == default else f"{shown}:{self.port}"
        self.url = f"{parts.scheme}://{authority}{self.prefix}"
        fields = f"Host: {authority}\r\nUser-Agent: weir-python/{VERSION}\r\n"
        if token is not None:
            if not token or any(not 33 <= ord(each) <= 126 for each in token):
                raise ValueError("the token is empty or has characters that no header can have")
            fields += f"Authorization: Bearer {token}\r\n"
        elif parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            fields += f"Authorization: Basic {base64.b64encode(user.encode()).decode()}\r\n"
        self.fields = fields

    def request(self, method: str, path: str, body: Optional[bytes],
                headers: Optional[Dict[str, str]]) -> bytes:
        head = f"{method} {self.prefix}{path} HTTP/1.1\r\n{self.fields}"
        for name, value in (headers or {}).items():
            head += f"{name}: {value}\r\n"
        if body is None:
            return (head + ("\r\n" if method == "GET" else "Content-Length: 0\r\n\r\n")).encode()
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


def parse_head(head: bytes) -> Tuple[int, Dict[str, str]]:
    """Status and header fields; names in lower case."""
    lines = head.decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise Unavailable("the answer is not HTTP/1.1")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return int(rest[:3]), headers


def body_length(headers: Dict[str, str]) -> int:
    text = headers.get("content-length", "0")
    if not text.isdigit() or int(text) > MAX_BODY:
        raise Unavailable(f"the answer has an invalid Content-Length: {text[:40]}")
    return int(text)


class Connection:
    """One connection. After an exception it is closed and of no more use."""

    def __init__(self, address: Address, timeout: float, tls: Optional[ssl.SSLContext]) -> None:
        self._address = address
        self._buffer = bytearray()
        self.is_open = False
        self.has_answered = False  # a byte of the last request's answer was read
        self.was_aborted = False
        self.was_closed = False    # the last request failed, and not by its time limit
        try:
            plain = socket.create_connection((address.host, address.port), timeout=timeout)
        except OSError as error:
            raise Unavailable(f"cannot connect to {address.url}: {error}") from None
        try:
            self._prepare(plain)
            self._socket: socket.socket = plain
            if tls is not None:
                self._socket = tls.wrap_socket(plain, server_hostname=address.host)
        except (OSError, ValueError) as error:
            plain.close()
            raise Unavailable(f"cannot connect to {address.url}: {error}") from None
        self.is_open = True

    @staticmethod
    def _prepare(plain: socket.socket) -> None:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # Probes find a peer that went away without a word, where the system can set their times.
        for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
            option = getattr(socket, name, None)
            if option is not None:
                plain.setsockopt(socket.IPPROTO_TCP, option, value)

    def is_stale(self) -> bool:
        """Between requests nothing may arrive: the server has closed it, or breaks the protocol."""
        try:
            poll = select.poll()
            poll.register(self._socket, select.POLLIN | select.POLLHUP | select.POLLERR)
            return bool(poll.poll(0))
        except (OSError, ValueError):
            return True

    def abort(self) -> None:
        """Ends the request that another thread is in."""
        self.was_aborted = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        self.is_open = False
        try:
            self._socket.close()
        except OSError:
            pass

    def request(self, data: bytes, timeout: float) -> Response:
        deadline = time.monotonic() + timeout
        self.has_answered = False
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(data)
            response = self._read_response(deadline)
        except (OSError, ValueError) as error:
            self.close()
            self.was_closed = not isinstance(error, socket.timeout) and not self.was_aborted
            what = "no answer in time" if isinstance(error, socket.timeout) else str(error)
            raise Unavailable(f"{self._address.url}: {what or type(error).__name__}") from None
        except BaseException:
            self.close()
            raise
        if response.headers.get("connection", "").lower() == "close":
            self.close()
        return response

    def _receive(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout()
        self._socket.settimeout(left)
        data = self._socket.recv(262144)
        if not data:
            raise OSError("the connection was closed before the answer was complete")
        self.has_answered = True
        self._buffer += data

    def _read_response(self, deadline: float) -> Response:
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            while end < 0:
                if len(self._buffer) > MAX_HEAD:
                    raise OSError("the header of the answer is too long")
                self._receive(deadline)
                end = self._buffer.find(b"\r\n\r\n")
            status, headers = parse_head(bytes(self._buffer[:end]))
            del self._buffer[:end + 4]
            if status >= 200:
                break
        if status in (204, 304):
            body = b""
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            body = self._read_chunks(deadline)
        else:
            body = self._read_exactly(body_length(headers), deadline)
        return Response(status, headers, body)

    def _read_exactly(self, count: int, deadline: float) -> bytes:
        while len(self._buffer) < count:
            self._receive(deadline)
        body = bytes(self._buffer[:count])
        del self._buffer[:count]
        return body

    def _read_line(self, deadline: float) -> bytes:
        while b"\r\n" not in self._buffer:
            if len(self._buffer) > MAX_HEAD:
                raise OSError("a line of the answer is too long")
            self._receive(deadline)
        line, _, rest = bytes(self._buffer).partition(b"\r\n")
        self._buffer = bytearray(rest)
        return line

    def _read_chunks(self, deadline: float) -> bytes:
        parts: List[bytes] = []
        total = 0
        while True:
            size = int(self._read_line(deadline).split(b";")[0], 16)
            total += size
            if size < 0 or total > MAX_BODY:
                raise OSError("the answer is too long")
            if size == 0:
                while self._read_line(deadline):
                    pass  # trailers
                return b"".join(parts)
            parts.append(self._read_exactly(size, deadline))
            if self._read_line(deadline):
                raise OSError("a chunk of the answer does not end where it should")


class Transport:
    """Requests to one service, from any thread."""

    def __init__(self, url: str, token: Optional[str] = None, *, connect_timeout: float = 5.0,
                 tls: Optional[ssl.SSLContext] = None) -> None:
        self.address = Address(url, token)
        self._connect_timeout = connect_timeout
        self._tls = (tls or ssl.create_default_context()) if self.address.is_tls else None
        self._idle: Deque[Connection] = collections.deque()
        self._is_closed = False

    def request(self, method: str, path: str, body: Optional[bytes] = None, *,
                timeout: float = 10.0, headers: Optional[Dict[str, str]] = None,
                used: Optional[List[Connection]] = None) -> Response:
        """The response, whatever its status; raises Unavailable if none came in time. `used` gets
        the connection, so that other threads can abort it."""
        data = self.address.request(method, path, body, headers)
        connection = self._reuse()
        if connection is not None:
            try:
                if used is not None:
                    used[:] = [connection]
                return self._on(connection, data, timeout)
            except Unavailable:
                # Closed by the server while it was idle, most likely.
                if connection.has_answered or not connection.was_closed:
                    raise
        connection = Connection(self.address, min(self._connect_timeout, timeout), self._tls)
        if used is not None:
            used[:] = [connection]
        return self._on(connection, data, timeout)

    def _reuse(self) -> Optional[Connection]:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if not connection.is_stale():
                return connection
            connection.close()

    def _on(self, connection: Connection, data: bytes, timeout: float) -> Response:
        response = connection.request(data, timeout)
        if connection.is_open:
            if len(self._idle) < MAX_IDLE and not self._is_closed:
                self._idle.append(connection)
            else:
                connection.close()
        return response

    def open(self) -> None:
        """After a close()."""
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                break
