"""A sample request in progress, with the tokens drawn so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from .draws import uniform_at
from .errors import LudusError
from .slot_state import stop_count


@dataclass
class Request:
    #: A list, or an array of int32.
    tokens: list[int] | np.ndarray
    max_tokens: int
    seed: int
    temperature: float = 1.0
    top_p: float | None = None
    top_k: int | None = None
    stop_tokens: frozenset[int] = frozenset()
    stop_strings: tuple[str, ...] = ()
    rollout: str = ""
    weights: str = "policy"
    alternatives: int = 0


@dataclass(frozen=True)
class Ending:
    """What follows from the options of a request alone, and so is worked out once for all requests with the same ones."""

    cuts: bool
    #: The draw on the device is not enough: the host needs the logits.
    needs_logits: bool
    #: The device does not see its end.
    is_watched: bool
    needles: tuple[bytes, ...]
    #: As many as the device compares; none for a request that the host watches.
    stops: tuple[int, ...]


@lru_cache(maxsize=256)
def ending(stop_tokens: frozenset[int], stop_strings: tuple[str, ...], top_p, top_k, alternatives: int) -> Ending:
    cuts = (top_p or 1) < 1 or top_k is not None
    needs_logits = cuts or alternatives > 0
    is_watched = needs_logits or bool(stop_strings) or len(stop_tokens) > stop_count
    stops = () if is_watched else tuple(sorted(stop_tokens))
    needles = tuple(text.encode() for text in stop_strings)
    return Ending(cuts, needs_logits, is_watched, needles, stops + (-1,) * (stop_count - len(stops)))


# compared by identity: two requests may ask for the same
@dataclass(eq=False, slots=True)
class ActiveRequest:
    request: Request
    #: Called once, with the finished request itself or with an error; not when it is aborted.
    finish: Callable[[ActiveRequest | Exception], None]
    token_bytes: Callable[[int], bytes] | None = None
    #: What was drawn: lists of a request that the host watches token by token, else arrays.
    tokens: list[int] | np.ndarray = field(default_factory=list)
    logprobs: list[float] | np.ndarray = field(default_factory=list)
    versions: list[int] | np.ndarray = field(default_factory=list)
    cut_logprobs: list[float] = field(default_factory=list)
    alternative_tokens: list[int] = field(default_factory=list)
    alternative_logprobs: list[float] = field(default_factory=list)
    stop: str | None = None
    aborted: bool = False
    ending: Ending = field(init=False)
    _tail: bytes = field(init=False, default=b"")

    def __post_init__(self) -> None:
        if self.request.stop_strings and self.token_bytes is None:
            raise LudusError(
                "no-tokenizer",
                "stop strings",
                "an engine with a tokenizer",
                "Pass `tokenizer` when the engine is made, or stop at tokens.",
            )
        request = self.request
        self.ending = ending(request.stop_tokens, request.stop_strings, request.top_p, request.top_k, request.alternatives)

    @property
    def needs_logits(self) -> bool:
        return self.ending.needs_logits

    @property
    def is_watched(self) -> bool:
        return self.ending.is_watched

    def extend(self, tokens: np.ndarray, logprobs: np.ndarray, version: int) -> None:
        """Adds what the device has drawn since it was last looked at; the arrays are kept."""
        versions = np.full(len(tokens), version, np.int32)
        if len(self.tokens) > 0:
            tokens, logprobs = np.concatenate((self.tokens, tokens)), np.concatenate((self.logprobs, logprobs))
            versions = np.concatenate((self.versions, versions))
        self.tokens, self.logprobs, self.versions = tokens, logprobs, versions

    def take(self, token: int, logprob: float, version: int, length: int, context: int) -> bool:
        """Adds the token that makes the sequence `length` long; true when sampling stops at it."""
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.versions.append(version)
        self.stop = self._stop_at(token, length, context)
        return self.stop is not None

    def _stop_at(self, token: int, length: int, context: int) -> str | None:
        if token in self.request.stop_tokens:
            return "stop-token"
        needles = self.ending.needles
        if needles:
            text = self._tail + self.token_bytes(token)
            keep = max(map(len, needles)) - 1
            self._tail = text[max(0, len(text) - keep) :] if keep else b""
            if any(needle in text for needle in needles):
                return "stop-string"
        if len(self.tokens) >= self.request.max_tokens:
            return "max-tokens"
        return "context-full" if length >= context else None

    def choose(self, logits: Tensor, token: int, logprob: float, position: int) -> tuple[int, float]:
        """The token and log-probability of a row with top-k, top-p or alternatives, from its logits `[V]` instead of the device's draw."""
        request = self.request
        scaled = logits.float() / (request.temperature or 1)
        logprobs = torch.log_softmax(scaled, -1)
        # stable: ties go to the lower id, as on every engine
        order = torch.sort(logprobs, descending=True, stable=True)
        if request.alternatives > 0:
            self.alternative_tokens += order.indices[: request.alternatives].tolist()
            self.alternative_logprobs += order.values[: request.alternatives].tolist()
        if not self.ending.cuts:
            return token, logprob
        if request.temperature == 0:
            self.cut_logprobs.append(0.0)
            return token, logprob
        likely = order.values[: request.top_k or logits.shape[0]].double().exp()
        running = likely.cumsum(0)
        kept = int(((running - likely) < (request.top_p or 1)).sum())
        running = running[:kept]
        goal = uniform_at(request.seed, position) * running[-1]
        pick = min(int((running <= goal).sum()), max(0, int((likely[:kept] > 0).sum()) - 1))
        logprob = order.values[pick].item()
        self.cut_logprobs.append(logprob - running[-1].log().item())
        return int(order.indices[pick]), logprob
