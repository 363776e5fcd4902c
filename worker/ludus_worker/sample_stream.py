"""Batched sample requests on one stream: a message holds many requests, and replies that are ready together are one message.

Both are arrays: a message object, future or task per request would cost more than its share of a decode step, so whole batches go
to the compute thread.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
from array import array
from collections import deque
from collections.abc import Callable
from itertools import accumulate

import numpy as np

from .active_request import ActiveRequest, Request
from .errors import details_of
from .protocol import messages

log = logging.getLogger("ludus")
#: As bytes of a reply.
stop_numbers = {"stop-token": 0, "stop-string": 1, "max-tokens": 2, "context-full": 3}


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
    integers = {name: np.asarray(getattr(active, name), "<i4").tobytes() for name in ("tokens", "versions", "alternative_tokens")}
    numbers = {name: np.asarray(getattr(active, name), "<f4").tobytes() for name in ("logprobs", "cut_logprobs", "alternative_logprobs")}
    return messages.SampleReply(**integers, **numbers, stop=active.stop)


def requests_of(group) -> list[tuple[int, Request]]:
    """The numbered requests of a group; their tokens are views of one array."""
    options = group.options
    shared = {
        "temperature": options.temperature,
        "top_p": options.top_p if options.HasField("top_p") else None,
        "top_k": options.top_k if options.HasField("top_k") else None,
        "stop_tokens": frozenset(options.stop_tokens),
        "stop_strings": tuple(options.stop_strings),
        "weights": options.weights or "policy",
        "alternatives": options.alternatives,
    }
    numbers, lengths, tokens, most = (np.frombuffer(x, "<i4") for x in (group.numbers, group.lengths, group.tokens, group.max_tokens))
    ends = accumulate(lengths.tolist())
    seeds = np.frombuffer(group.seeds, "<f8").astype(np.int64)
    each = zip(numbers.tolist(), lengths.tolist(), ends, most.tolist(), seeds.tolist(), group.rollouts, strict=True)
    return [
        (number, Request(tokens[end - length : end], limit, seed, rollout=rollout, **shared))
        for number, length, end, limit, seed, rollout in each
    ]


def message_of(request: Request):
    return messages.SampleRequest(
        tokens=np.asarray(request.tokens, "<i4").tobytes(),
        max_tokens=request.max_tokens,
        seed=request.seed,
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
        stop_tokens=request.stop_tokens,
        stop_strings=request.stop_strings,
        rollout=request.rollout,
        weights=request.weights,
        alternatives=request.alternatives,
    )


def batch_of(replies: list):
    """Replies as one message. An element is the number of a request with the request, or a message."""
    plain = [reply for reply in replies if isinstance(reply, tuple)]
    done = [active for _, active in plain]
    return messages.SampleBatchReply(
        numbers=array("i", [number for number, _ in plain]).tobytes(),
        lengths=array("i", [len(active.tokens) for active in done]).tobytes(),
        stops=bytes([stop_numbers[active.stop] for active in done]),
        others=[reply for reply in replies if not isinstance(reply, tuple)],
        tokens=joined([active.tokens for active in done], "<i4"),
        logprobs=joined([active.logprobs for active in done], "<f4"),
        versions=joined([active.versions for active in done], "<i4"),
    )


def joined(rows: list, dtype: str) -> bytes:
    return np.concatenate(rows, dtype=dtype, casting="same_kind").tobytes() if rows else b""


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
        own: list[list[tuple[int, Request]]] = []
        for group in batch.groups:
            own.append([])
            for number, request in requests_of(group):
                call = self.elsewhere(request.rollout)
                if call is None:
                    own[-1].append((number, request))
                else:
                    self.there[number] = asyncio.ensure_future(self._ask(call, number, request))
        released = []
        for rollout in batch.released:
            call = self.elsewhere(rollout)
            if call is None:
                released.append(rollout)
            else:
                asyncio.ensure_future(self._release(call, rollout))
        if own or released:
            self.post(lambda: self._start(own, released))
        if batch.aborted:
            self._abort(np.frombuffer(batch.aborted, "<i4").tolist())

    def _start(self, own: list[list[tuple[int, Request]]], released: list[str]) -> None:
        engine = self.engine()
        for rollout in released:
            engine.sampler.release(rollout)
        for requests in own:
            # all tokens of a group at once; where one is wrong, its own request says so
            is_checked = bool(requests) and engine.can_read(np.concatenate([request.tokens for _, request in requests]))
            for number, request in requests:
                try:
                    self.here[number] = engine.sample(request, functools.partial(self._finish, number), is_checked)
                except Exception as error:
                    self._finish(number, error)

    def _finish(self, number: int, result: ActiveRequest | Exception) -> None:
        self.here.pop(number, None)
        if isinstance(result, Exception):
            self.replies.append(messages.NumberedReply(number=number, error_json=json.dumps(details_of("Sample", result))))
        elif result.needs_logits:
            self.replies.append(messages.NumberedReply(number=number, reply=reply_of(result)))
        else:
            self.replies.append((number, result))

    async def _ask(self, call: Callable, number: int, request: Request) -> None:
        try:
            self.replies.append(messages.NumberedReply(number=number, reply=await call("Sample", message_of(request))))
        except Exception as error:
            self._finish(number, error)
        finally:
            self.there.pop(number, None)
            self.woken.set()

    async def _release(self, call: Callable, rollout: str) -> None:
        try:
            await call("Release", messages.ReleaseRequest(rollout=rollout))
        except Exception as error:  # nobody waits for it, and idle slots are given to others anyway
            log.debug("a rollout was not released: %s", error)

    def _abort(self, numbers: list[int]) -> None:
        for number in numbers:
            if number in self.there:
                self.there[number].cancel()
        self.post(lambda: [self.engine().sampler.abort(self.here.pop(n)) for n in numbers if n in self.here])

    def flush(self) -> None:
        """On the compute thread, after each of its calls and steps. Waking the stream for every reply would hand over the interpreter
        in the middle of a step."""
        if self.replies and not self.is_waking:
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
                yield batch_of(replies)

    def end(self) -> None:
        self.is_over = True
        self.woken.set()

    def close(self) -> None:
        for task in self.there.values():
            task.cancel()
        self.post(lambda: [self.engine().sampler.abort(active) for active in self.here.values()] if self.engine() else None)
