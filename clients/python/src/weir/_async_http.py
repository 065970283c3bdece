# SPDX-License-Identifier: MIT
"""HTTP/1.1 over asyncio's streams, for the client; the rules are those of _http."""

from __future__ import annotations

import asyncio
import ssl
from typing import Dict, List, Optional, Tuple

from ._http import MAX_BODY, MAX_HEAD, Address, Response, body_length, parse_head
from .errors import Unavailable

Streams = Tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncTransport:
    """Requests to one service, from one loop."""

    def __init__(self, url: str, token: Optional[str] = None, *, connect_timeout: float = 5.0,
                 tls: Optional[ssl.SSLContext] = None) -> None:
        self.address = Address(url, token)
        self._connect_timeout = connect_timeout
        self._tls = (tls or ssl.create_default_context()) if self.address.is_tls else None
        self._idle: List[Streams] = []

    async def request(self, method: str, path: str, body: Optional[bytes] = None, *,
                      timeout: float = 10.0, headers: Optional[Dict[str, str]] = None) -> Response:
        data = self.address.request(method, path, body, headers)
        while self._idle:
            streams = self._idle.pop()
            if streams[0].at_eof() or streams[1].is_closing():
                streams[1].close()
                continue
            try:
                return await self._on(streams, data, timeout)
            except asyncio.TimeoutError:
                raise Unavailable(f"{self.address.url}: no answer in time") from None
            except Unavailable:
                break  # closed by the server while it was idle, most likely
        try:
            connecting = asyncio.open_connection(self.address.host, self.address.port,
                                                 ssl=self._tls, limit=MAX_HEAD)
            streams = await asyncio.wait_for(connecting, min(self._connect_timeout, timeout))
        except asyncio.TimeoutError:
            raise Unavailable(f"cannot connect to {self.address.url} in time") from None
        except OSError as error:
            raise Unavailable(f"cannot connect to {self.address.url}: {error}") from None
        try:
            return await self._on(streams, data, timeout)
        except asyncio.TimeoutError:
            raise Unavailable(f"{self.address.url}: no answer in time") from None

    async def _on(self, streams: Streams, data: bytes, timeout: float) -> Response:
        reader, writer = streams
        try:
            response = await asyncio.wait_for(self._converse(reader, writer, data), timeout)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            if isinstance(error, asyncio.TimeoutError):  # an OSError since Python 3.11
                writer.close()
                raise
            writer.close()
            raise Unavailable(f"{self.address.url}: {error}") from None
        except BaseException:
            writer.close()  # cancelled in the middle of an answer
            raise
        if response.headers.get("connection", "").lower() == "close":
            writer.close()
        else:
            self._idle.append(streams)
        return response

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                        data: bytes) -> Response:
        writer.write(data)
        await writer.drain()
        while True:
            status, headers = parse_head((await reader.readuntil(b"\r\n\r\n"))[:-4])
            if status >= 200:
                break
        if status in (204, 304):
            return Response(status, headers, b"")
        if "chunked" not in headers.get("transfer-encoding", "").lower():
            return Response(status, headers, await reader.readexactly(body_length(headers)))
        parts: List[bytes] = []
        total = 0
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            total += size
            if size < 0 or total > MAX_BODY:
                raise ValueError("the answer is too long")
            if size == 0:
                while await reader.readuntil(b"\r\n") != b"\r\n":
                    pass
                return Response(status, headers, b"".join(parts))
            parts.append(await reader.readexactly(size))
            if await reader.readexactly(2) != b"\r\n":
                raise ValueError("a chunk of the answer does not end where it should")

    def close(self) -> None:
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()
