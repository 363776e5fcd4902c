"""Batched sample requests on one stream: a message holds many requests, and replies that are ready together are one message.

One future or task per request would cost more than its share of a decode step, so whole batches go to the compute thread.
"""

from __future__ import annotations

import asyncio
import functools
import json
from array import array
from collections import deque
from collections.abc import Callable

import numpy as np

from .active_request import ActiveRequest, Request
from .errors import details_of
from .protocol import messages


def request_of(request) -> Request:
    return Request(
        tokens=np.frombuffer(request.tokens, "<i4").tolist(),
        max_tokens=request.max_tokens,
        seed=request.seed,
        temperature=request.temperature,
        top_p=request.top_p if request.HasField("top_p") else None,
        top_k=request.top_k if request.HasField("top_k") else None,
        stop_tokens=frozenset(request.stop_tokens),
        stop_strings=tuple(request.stop_strings),
        rollout=request.rollout,
        weights=request.weights or "policy",
        alternatives=request.alternatives,
    )


def reply_of(active: ActiveRequest):
    integers = {name: array("i", getattr(active, name)).tobytes() for name in ("tokens", "versions", "alternative_tokens")}
    numbers = {name: array("f", getattr(active, name)).tobytes() for name in ("logprobs", "cut_logprobs", "alternative_logprobs")}
    return messages.SampleReply(**integers, **numbers, stop=active.stop)


class SampleStream:
    """`post` runs a call on the compute thread, `engine` is called there, `elsewhere` gives the rank that serves a rollout, None for this one."""

    def __init__(self, post: Callable, engine: Callable, elsewhere: Callable):
        self.post, self.engine, self.elsewhere = post, engine, elsewhere
        self.loop = asyncio.get_running_loop()
        #: Touched by the compute thread alone.
        self.here: dict[int, ActiveRequest] = {}
        self.there: dict[int, asyncio.Task] = {}
        self.replies: deque = deque()
        self.woken = asyncio.Event()
        self.is_waking = False
        self.is_over = False

    def take(self, batch) -> None:
        own = []
        for one in batch.requests:
            call = self.elsewhere(one.request.rollout)
            if call is None:
                own.append(one)
            else:
                self.there[one.number] = asyncio.ensure_future(self._ask(call, one))
        if own:
            self.post(lambda: [self._start(one) for one in own])
        if batch.aborted:
            self._abort(batch.aborted)

    def _start(self, one) -> None:
        try:
            self.here[one.number] = self.engine().sample(request_of(one.request), functools.partial(self._finish, one.number))
        except Exception as error:
            self._finish(one.number, error)

    def _finish(self, number: int, result: ActiveRequest | Exception) -> None:
        self.here.pop(number, None)
        if isinstance(result, Exception):
            self._put(messages.NumberedReply(number=number, error_json=json.dumps(details_of("Sample", result))))
        else:
            self._put(messages.NumberedReply(number=number, reply=reply_of(result)))

    async def _ask(self, call: Callable, one) -> None:
        try:
            self._put(messages.NumberedReply(number=one.number, reply=await call("Sample", one.request)))
        except Exception as error:
            self._finish(one.number, error)
        finally:
            self.there.pop(one.number, None)

    def _abort(self, numbers) -> None:
        for number in numbers:
            if number in self.there:
                self.there[number].cancel()
        stopped = [*numbers]
        self.post(lambda: [self.engine().sampler.abort(self.here.pop(n)) for n in stopped if n in self.here])

    def _put(self, reply) -> None:
        # from either thread; the first reply of a message wakes the stream
        self.replies.append(reply)
        if not self.is_waking:
            self.is_waking = True
            self.loop.call_soon_threadsafe(self.woken.set)

    async def outgoing(self):
        """Replies that became ready since the last message, until the stream is closed."""
        while not self.is_over:
            await self.woken.wait()
            self.woken.clear()
            # cleared before replies are taken: later ones wake the stream again
            self.is_waking = False
            replies = [self.replies.popleft() for _ in range(len(self.replies))]
            if replies:
                yield messages.SampleBatchReply(replies=replies)

    def end(self) -> None:
        self.is_over = True
        self.woken.set()

    def close(self) -> None:
        for task in self.there.values():
            task.cancel()
        self.post(lambda: [self.engine().sampler.abort(active) for active in self.here.values()] if self.engine() else None)
