"""Samples over one lasting call: requests come in crowds, and answers go out as they are there, all that are there at once.

One future or task for each request would cost more than its share of a step; so crowds go to the compute thread as they are.
"""

from __future__ import annotations

import asyncio
import functools
import json
from array import array
from collections import deque
from collections.abc import Callable

import numpy as np

from .answer import Answer, Request
from .errors import details_of
from .protocol import messages


def wanted(request) -> Request:
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


def reply_of(answer: Answer):
    integers = {name: array("i", getattr(answer, name)).tobytes() for name in ("tokens", "versions", "alternative_tokens")}
    numbers = {name: array("f", getattr(answer, name)).tobytes() for name in ("logprobs", "cut_logprobs", "alternative_logprobs")}
    return messages.SampleReply(**integers, **numbers, stop=answer.stop)


class SampleStream:
    """`post` hands a call to the compute thread, `engine` is asked there, `elsewhere` says who else answers a request if not we."""

    def __init__(self, post: Callable, engine: Callable, elsewhere: Callable):
        self.post, self.engine, self.elsewhere = post, engine, elsewhere
        self.loop = asyncio.get_running_loop()
        #: Touched by the compute thread alone.
        self.here: dict[int, Answer] = {}
        self.there: dict[int, asyncio.Task] = {}
        self.replies: deque = deque()
        self.woken = asyncio.Event()
        self.is_waking = False
        self.is_over = False

    def take(self, crowd) -> None:
        own = []
        for one in crowd.requests:
            call = self.elsewhere(one.request.rollout)
            if call is None:
                own.append(one)
            else:
                self.there[one.number] = asyncio.ensure_future(self._ask(call, one))
        if own:
            self.post(lambda: [self._start(one) for one in own])
        if crowd.aborted:
            self._abort(crowd.aborted)

    def _start(self, one) -> None:
        try:
            self.here[one.number] = self.engine().answer(wanted(one.request), functools.partial(self._finish, one.number))
        except Exception as error:
            self._finish(one.number, error)

    def _finish(self, number: int, result: Answer | Exception) -> None:
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
        # from either thread; the first of those that go out together wakes the call up
        self.replies.append(reply)
        if not self.is_waking:
            self.is_waking = True
            self.loop.call_soon_threadsafe(self.woken.set)

    async def outgoing(self):
        """What has come together since the last time, until the call is over."""
        while not self.is_over:
            await self.woken.wait()
            self.woken.clear()
            # before they are taken: what comes later wakes it up again
            self.is_waking = False
            replies = [self.replies.popleft() for _ in range(len(self.replies))]
            if replies:
                yield messages.SampleCrowdReply(replies=replies)

    def end(self) -> None:
        self.is_over = True
        self.woken.set()

    def close(self) -> None:
        for task in self.there.values():
            task.cancel()
        self.post(lambda: [self.engine().sampler.abort(answer) for answer in self.here.values()] if self.engine() else None)
