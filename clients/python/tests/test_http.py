# SPDX-License-Identifier: MIT
"""The HTTP client: answers in any pieces, cut at every byte, and invalid ones."""

import asyncio
import socket
import threading
import time
import unittest

from support import eventually  # noqa: F401

import weir
from weir._async_http import AsyncTransport
from weir._http import Address, Transport

ANSWERS = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello": (200, b"hello"),
    b"HTTP/1.1 204 No Content\r\n\r\n": (204, b""),
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok": (200, b"ok"),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n":
        (200, b"abcde"),
}


class Peer:
    """Answers each connection with the next of the scripts: [(pause, bytes)...], then closes."""

    def __init__(self, *scripts):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests = []
        threading.Thread(target=self._serve, args=(list(scripts),), daemon=True).start()

    def _serve(self, scripts):
        for script in scripts:
            connection, _ = self._listener.accept()
            with connection:
                self.requests.append(connection.recv(65536))
                for pause, data in script:
                    time.sleep(pause)
                    try:
                        connection.sendall(data)
                    except OSError:
                        break
        self._listener.close()


async def ask_async(url, **more):
    transport = AsyncTransport(url)
    try:
        return await transport.request("POST", "/x", b"{}", **more)
    finally:
        transport.close()


class Http(unittest.TestCase):
    def ask(self, peer, **more):
        transport = Transport(peer.url)
        try:
            return transport.request("POST", "/x", b"{}", **more)
        finally:
            transport.close()

    def test_answers_in_pieces(self):
        for answer, expected in ANSWERS.items():
            for at in range(1, len(answer), 3):
                script = [(0, answer[:at]), (0.0005, answer[at:])]
                peer = Peer(script, script)
                response = self.ask(peer)
                self.assertEqual((response.status, response.body), expected)
                response = asyncio.run(ask_async(peer.url))
                self.assertEqual((response.status, response.body), expected)

    def test_cut_at_every_byte(self):
        for answer in ANSWERS:
            for at in range(len(answer)):
                peer = Peer([(0, answer[:at])], [(0, answer[:at])])
                with self.assertRaises(weir.Unavailable):
                    self.ask(peer)
                with self.assertRaises(weir.Unavailable):
                    asyncio.run(ask_async(peer.url))

    def test_invalid_answers(self):
        for answer in (b"SMTP ready\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\r\n\r\n",
                       b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                       b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n",
                       b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                       b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
                       b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
                       b"x" * 70000):
            peer = Peer([(0, answer)], [(0, answer)])
            with self.assertRaises(weir.Unavailable):
                self.ask(peer)
            with self.assertRaises(weir.Unavailable):
                asyncio.run(ask_async(peer.url))

    def test_time_limit_holds_for_the_whole_answer(self):
        slowly = [(0.05, bytes([byte])) for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"]
        began = time.monotonic()
        with self.assertRaisesRegex(weir.Unavailable, "no answer in time"):
            self.ask(Peer(slowly), timeout=0.3)
        with self.assertRaisesRegex(weir.Unavailable, "no answer in time"):
            asyncio.run(ask_async(Peer(slowly).url, timeout=0.3))
        self.assertLess(time.monotonic() - began, 1.5)

    def test_nobody_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        with self.assertRaisesRegex(weir.Unavailable, "cannot connect"):
            Transport(f"http://127.0.0.1:{port}").request("GET", "/")

    def test_kept_connection_that_was_closed(self):
        good = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
        peer = Peer([(0, good)], [(0, good)])
        transport = Transport(peer.url)
        for _ in range(2):
            self.assertEqual(transport.request("GET", "/").status, 200)
            time.sleep(0.01)
        transport.close()

    def test_addresses(self):
        address = Address("https://user:p%40ss@[::1]:8443/weir/", None)
        self.assertEqual((address.host, address.port, address.prefix), ("::1", 8443, "/weir"))
        request = address.request("GET", "/tasks", None, None).decode()
        self.assertIn("GET /weir/tasks HTTP/1.1\r\nHost: [::1]:8443\r\n", request)
        self.assertIn("Authorization: Basic dXNlcjpwQHNz", request)
        token = Address("http://h", "abc").request("POST", "/x", b"{}", None)
        self.assertIn(b"Authorization: Bearer abc\r\n", token)
        for wrong in ("ftp://h", "h:80", "http://", "http://h/?q=1"):
            with self.assertRaises(ValueError):
                Address(wrong, None)


if __name__ == "__main__":
    unittest.main()
