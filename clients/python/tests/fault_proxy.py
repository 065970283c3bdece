#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A proxy between workers and the service that breaks their conversation.

The n-th request to each endpoint has a fault that follows from the seed, at a byte that follows
from it, too:

    cut_request     the service gets a part of the request, then both connections end
    cut_answer      the worker gets a part of the answer (or nothing), then both end
    swallow         the request is lost, and the connection stays open without a word
    stall_request   the service gets a part of the request, and both connections stay open
    half_open       the service gets the request, its answer is lost, the connections stay open
    stall_answer    the worker gets a part of the answer, and both connections stay open
    duplicate       the service gets the request twice, and the worker the second answer
    replay          as usual, and the service gets the request again, later than newer ones
    delay           the request waits, so that newer ones overtake it
    trickle         request and answer come in pieces

Usage: fault_proxy.py UPSTREAM_URL

Reads commands as lines of JSON, answers each with one, and ends with its input:
{"seed": 1, "rate": 0.3, "plan": [ENDPOINT, FAULT, BYTE]?} begins a proxy, {"url"};
{"quiet": URL} ends its faults; {"end": URL} ends it, {"lengths", "waits"}: of the messages of each
endpoint, and whether the planned fault has not happened.
"""

import json
import os
import random
import re
import select
import socket
import struct
import sys
import threading
import time
from typing import NamedTuple
from urllib.parse import urlsplit

FAULTS = ("cut_request", "cut_answer", "swallow", "stall_request", "half_open", "stall_answer",
          "duplicate", "replay", "delay", "trickle")
LONGEST = 60.0      # a connection that nobody ends


class Gone(Exception):
    """One of the two ends has closed its connection."""


class Plan(NamedTuple):
    """A fault of the first request to an endpoint, such as "POST /workers/poll", at that byte."""
    endpoint: str
    fault: str
    byte: int


class Dice(random.Random):
    """The details of a fault."""
    byte = None     # where a message is cut; None: anywhere

    def part_of(self, message):
        return message[:self.randrange(len(message)) if self.byte is None else self.byte]


class FaultProxy:
    def __init__(self, upstream, seed, rate=0.3, faults=FAULTS, slowest=0.3, plan=None):
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname, parts.port)
        self._seed, self._rate, self._faults, self._slowest = seed, rate, faults, slowest
        self._lock = threading.Lock()
        self._seen = {}
        self.counts = dict.fromkeys((*faults, "none"), 0)
        self.plan = plan        # None when it has happened
        self.lengths = {}       # endpoint -> of its longest request and answer
        self.is_on = True
        self._is_closed = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._is_closed = True
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _draw(self, request):
        """The fault of this request, and a generator for its details."""
        endpoint = endpoint_of(request)
        with self._lock:
            number = self._seen[endpoint] = self._seen.get(endpoint, 0) + 1
            rng = Dice(f"{self._seed} {endpoint} {number}")
            fault = "none"
            if self.plan is not None and self.plan.endpoint == endpoint:
                fault, rng.byte = self.plan.fault, self.plan.byte
                self.plan = None
            elif self.is_on and rng.random() < self._rate:
                fault = rng.choice(self._faults)
            self.counts[fault] += 1
        return fault, rng

    def _serve(self, client):
        service = None
        try:
            buffer = bytearray()
            while True:
                request = read_message(client, buffer)
                fault, rng = self._draw(request)
                if service is None:
                    service = self._connect()
                if getattr(self, f"_{fault}")(client, service, request, rng):
                    return
        except (Gone, OSError, ValueError):
            pass
        finally:
            for each in (client, service):
                if each is not None:
                    each.close()

    def _connect(self):
        service = socket.create_connection(self._upstream, timeout=5)
        service.settimeout(LONGEST)
        service.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return service

    # Each returns whether the connection is over.

    def _none(self, client, service, request, rng):
        service.sendall(request)
        answer = self._answer(client, service)
        with self._lock:
            before = self.lengths.get(endpoint_of(request), (0, 0))
            self.lengths[endpoint_of(request)] = (max(before[0], len(request)),
                                                  max(before[1], len(answer)))
        client.sendall(answer)

    def _cut_request(self, client, service, request, rng):
        service.sendall(rng.part_of(request))
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.02)
        self._end(rng, client, service)
        return True

    def _cut_answer(self, client, service, request, rng):
        service.sendall(request)
        answer = self._answer(client, service)
        client.sendall(rng.part_of(answer) if rng.byte is not None or rng.random() < 0.5 else
                       answer[:rng.choice((0, len(answer) - 1))])
        self._end(rng, client, service)
        return True

    def _swallow(self, client, service, request, rng):
        self._wait_for_end(client)
        return True

    def _stall_request(self, client, service, request, rng):
        service.sendall(rng.part_of(request))
        self._wait_for_end(client)
        time.sleep(rng.random() * self._slowest)
        return True

    def _stall_answer(self, client, service, request, rng):
        service.sendall(request)
        client.sendall(rng.part_of(self._answer(client, service)))
        self._wait_for_end(client)
        return True

    def _half_open(self, client, service, request, rng):
        service.sendall(request)
        # The service believes that somebody listens, for longer than the worker does.
        self._later(lambda: read_message(service, bytearray()), rng.random() * self._slowest)
        self._wait_for_end(client)
        time.sleep(rng.random() * self._slowest)
        return True

    def _duplicate(self, client, service, request, rng):
        other = self._connect()
        try:
            pair = [service, other]
            for each in pair:
                each.sendall(request)
                if rng.random() < 0.5:
                    time.sleep(rng.random() * 0.02)
            answers = [self._answer(client, each) for each in pair]
        finally:
            other.close()
        client.sendall(answers[rng.randrange(2)])

    def _replay(self, client, service, request, rng):
        service.sendall(request)
        client.sendall(self._answer(client, service))

        def again():
            with self._connect() as other:
                other.sendall(request)
                read_message(other, bytearray())
        self._later(again, rng.random() * self._slowest)

    def _delay(self, client, service, request, rng):
        time.sleep(rng.random() * self._slowest)
        self._none(client, service, request, rng)

    def _trickle(self, client, service, request, rng):
        send_in_pieces(service, request, rng)
        send_in_pieces(client, self._answer(client, service), rng)

    def _answer(self, client, service):
        """The answer of the service; Gone if the worker does not wait for it."""
        buffer = bytearray()
        while True:
            end = end_of_message(buffer)
            if end is not None:
                return bytes(buffer[:end])
            ready, _, _ = select.select([client, service], [], [], LONGEST)
            if not ready or client in ready:
                raise Gone
            receive(service, buffer)

    @staticmethod
    def _end(rng, *sockets):
        for each in sockets:
            if rng.random() < 0.5:     # a reset instead of an orderly end
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            each.close()

    @staticmethod
    def _wait_for_end(client):
        select.select([client], [], [], LONGEST)

    def _later(self, action, pause):
        def run():
            time.sleep(pause)
            try:
                action()
            except (Gone, OSError, ValueError):
                pass
        threading.Thread(target=run, daemon=True).start()


def endpoint_of(request):
    words = request[:request.index(b"\r\n")].decode("latin-1").split()
    return words[0] + " " + re.sub(r"/[0-9a-f]{32}[^/]*", "", words[1])


def receive(source, buffer):
    data = source.recv(65536)
    if not data:
        raise Gone
    buffer += data


def end_of_message(buffer):
    """Where the first request or answer in the buffer ends; None: more has to come."""
    head = buffer.find(b"\r\n\r\n")
    if head < 0:
        return None
    length = re.search(rb"\r\ncontent-length: *(\d+)", bytes(buffer[:head]).lower())
    end = head + 4 + (int(length[1]) if length else 0)
    return end if len(buffer) >= end else None


def read_message(source, buffer):
    while True:
        end = end_of_message(buffer)
        if end is not None:
            message = bytes(buffer[:end])
            del buffer[:end]
            return message
        receive(source, buffer)


def send_in_pieces(target, data, rng):
    at = 0
    while at < len(data):
        size = rng.choice((1, 2, 7, 50, 500, 5000))
        target.sendall(data[at:at + size])
        at += size
        if rng.random() < 0.2:
            time.sleep(rng.random() * 0.005)


def main():
    proxies = {}
    for line in sys.stdin:
        command, answer = json.loads(line), {}
        if "seed" in command:
            plan = Plan(*command["plan"]) if command.get("plan") else None
            proxy = FaultProxy(sys.argv[1], command["seed"], command["rate"], plan=plan)
            proxies[proxy.url] = proxy
            answer = {"url": proxy.url}
        elif "quiet" in command:
            proxies[command["quiet"]].is_on = False
        else:
            proxy = proxies.pop(command["end"])
            proxy.close()
            answer = {"lengths": proxy.lengths, "waits": proxy.plan is not None}
        print(json.dumps(answer), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
