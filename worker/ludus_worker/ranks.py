"""The other processes of torchrun, as the first one sees them: it serves, and forwards what all ranks must do in the same order.

Each process runs the same service on loopback or its host's address. Samples go to one of them, everything else to all;
numbers of a forward pass come back from each for the rows it computed, 0 elsewhere, and are added.
"""

from __future__ import annotations

import asyncio
import logging
import os

import grpc
import numpy as np

from .errors import LudusError
from .protocol import messages, methods, service

log = logging.getLogger("ludus")
unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Ranks:
    def __init__(self, rank: int, token: str):
        self.is_first, self.token = rank == 0, token
        self.others: list = []
        self.session = ""
        self.requests = 0
        self.lock = asyncio.Lock()

    def connect(self, addresses: list[str]) -> None:
        self.others = [self._caller(address) for address in addresses]

    def _caller(self, address: str):
        channel = grpc.aio.insecure_channel(address, options=unlimited)

        def method(name: str):
            request, reply = methods[name]
            path = f"/{service.full_name}/{name}"
            return channel.unary_unary(path, request_serializer=request.SerializeToString, response_deserializer=reply.FromString)

        stubs = {name: method(name) for name in methods}

        async def call(name: str, request):
            metadata = (("ludus-token", self.token), ("ludus-session", self.session))
            return await stubs[name](request, metadata=metadata)

        return call

    def for_sample(self, rollout: str):
        """The rank that serves a request, None for this one: all turns of a rollout go to the rank with its KV cache."""
        if not self.others:
            return None
        self.requests += 1
        at = (sum(rollout.encode()) if rollout else self.requests) % (len(self.others) + 1)
        return None if at == 0 else self.others[at - 1]

    async def on_all(self, name: str, request, here):
        if not self.others:
            return await here(request)
        async with self.lock:
            calls = [asyncio.ensure_future(call(name, request)) for call in self.others]
            mine = asyncio.ensure_future(here(request))
            done, _ = await asyncio.wait([*calls, mine], return_when=asyncio.FIRST_EXCEPTION)
            failed = next((task.exception() for task in done if task.exception() is not None), None)
            if failed is not None:
                await self._all_failed([*calls, mine], name)
                raise mine.exception() or failed
            if name == "Open":
                self.session = request.session
            replies = [mine.result(), *(task.result() for task in calls)]
            return _summed(replies) if name == "Forward" else replies[0]

    async def _all_failed(self, tasks: list, name: str) -> None:
        """What one rank refuses, all refuse. If others go on they would wait for it forever, so the worker stops."""
        done, pending = await asyncio.wait(tasks, timeout=10)
        if pending or any(task.exception() is None for task in done):
            log.critical("%s failed in one process and not in another; the worker stops", name)
            os._exit(70)
        if not isinstance(tasks[-1].exception(), LudusError):
            log.critical("%s failed: %s", name, tasks[-1].exception())


def _summed(replies: list):
    out = messages.ForwardReply()
    for field in out.DESCRIPTOR.fields:
        dtype = "<i4" if field.name == "alternative_tokens" else "<f4"
        arrays = [np.frombuffer(getattr(reply, field.name), dtype) for reply in replies]
        setattr(out, field.name, sum(arrays[1:], arrays[0]).astype(dtype).tobytes())
    return out
