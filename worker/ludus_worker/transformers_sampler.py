"""Sampling through transformers' forward: the interface of sampler.py's Sampler, for families that the own decoder does not compute.

Requests are batched as they come. Later turns of a rollout go on from its cache; equal prompts are prefilled once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from .active_request import ActiveRequest
from .decode_math import draw
from .errors import LudusError, weights_released
from .rows import common_prefix
from .transformers_cache import RowCache, joined, row_of
from .weight_set import WeightSet

#: Padded tokens of one prefill pass.
prefill_batch_tokens = {"cuda": 1 << 14, "cpu": 1 << 11}
#: Requests are admitted while so much of the cache is in use: rows that grow need some too.
admitted_share = 0.9


@dataclass(eq=False)
class Row:
    weights: str
    tokens: list[int]
    rollout: str
    #: Absent between two turns of the rollout.
    active: ActiveRequest | None = None
    #: Of the first tokens; while the row is decoded, its batch has it.
    cache: RowCache = field(default_factory=RowCache)
    used: int = 0

    @property
    def missing(self) -> int:
        """Tokens to prefill; the last one is read by the step that predicts the next."""
        return len(self.tokens) - 1 - self.cache.length


class Batch:
    """Rows of the same weights that are decoded together."""

    def __init__(self, rows: list[Row], config):
        #: None where a row has ended; the next step makes another batch.
        self.rows: list[Row | None] = list(rows)
        self.cache = joined(config, [row.cache for row in rows])

    def give_back(self) -> None:
        """Puts the cache of every row into the row."""
        for index, row in enumerate(self.rows):
            if row is not None:
                row.cache = row_of(self.cache, index, len(row.tokens) - 1)


class TransformersSampler:
    def __init__(
        self,
        weights: Callable[[str], WeightSet | None],
        device: torch.device,
        context: int,
        max_rows: int,
        max_cache_bytes: int,
        token_bytes: int,
    ):
        self.weights, self.device, self.context, self.max_rows = weights, device, context, max_rows
        self.max_bytes, self.token_bytes = max_cache_bytes, token_bytes
        self.waiting: deque[ActiveRequest] = deque()
        self.rows: list[Row] = []
        self.idle: dict[tuple[str, str], Row] = {}
        self.batches: dict[str, Batch] = {}
        self.clock = 0
        #: For tests and measurements.
        self.prefilled_tokens = 0

    @property
    def has_work(self) -> bool:
        return bool(self.waiting) or bool(self.rows)

    @property
    def is_filling(self) -> bool:
        """More requests are waiting than are active."""
        return len(self.waiting) > len(self.rows)

    def add(self, active: ActiveRequest) -> None:
        self.waiting.append(active)

    def abort(self, active: ActiveRequest) -> None:
        active.aborted = True
        if active in self.waiting:
            self.waiting.remove(active)
        for row in [row for row in self.rows if row.active is active]:
            self._leave(row)

    def release(self, rollout: str) -> None:
        self.idle = {key: row for key, row in self.idle.items() if row.rollout != rollout}

    def weights_changed(self, name: str) -> None:
        """The KV cache is stale: idle rows are freed, active ones are prefilled again."""
        self.idle = {key: row for key, row in self.idle.items() if row.weights != name}
        self.batches.pop(name, None)
        for row in self.rows:
            if row.weights == name:
                row.cache = RowCache()

    def weights_gone(self, name: str) -> None:
        self.weights_changed(name)
        error = weights_released(name)
        ended = [row.active for row in self.rows if row.weights == name]
        ended += [active for active in self.waiting if active.request.weights == name]
        self.rows = [row for row in self.rows if row.weights != name]
        self.waiting = deque(active for active in self.waiting if active.request.weights != name)
        for active in ended:
            active.finish(error)

    def drain(self) -> None:
        """Nothing runs ahead."""

    def fail(self, error: Exception) -> None:
        """Ends every request with an error, after a step that failed."""
        requests = [*self.waiting, *(row.active for row in self.rows)]
        self.waiting.clear()
        self.rows, self.idle, self.batches = [], {}, {}
        for active in requests:
            active.finish(error)

    # -- one step

    def step(self) -> None:
        self.clock += 1
        self._admit()
        self._shrink()
        self._prefill()
        for name in sorted({row.weights for row in self.rows}):
            self._decode(name)

    def _admit(self) -> None:
        while self.waiting and len(self.rows) < self.max_rows:
            active = self.waiting[0]
            request = active.request
            if self.weights(request.weights) is None:
                self.waiting.popleft()
                active.finish(weights_released(request.weights))
                continue
            tokens = np.asarray(request.tokens).tolist() + active.tokens
            row = self._row(active, tokens)
            share = admitted_share if self.rows else 1.0
            while self.idle and self._bytes([*self.rows, row]) > share * self.max_bytes:
                del self.idle[min(self.idle, key=lambda key: self.idle[key].used)]
            if self.rows and self._bytes([*self.rows, row]) > share * self.max_bytes:
                if row.cache.length > 0:
                    row.active = None
                    self.idle[row.weights, row.rollout] = row
                return
            self.waiting.popleft()
            self.rows.append(row)

    def _row(self, active: ActiveRequest, tokens: list[int]) -> Row:
        request = active.request
        row = self.idle.pop((request.weights, request.rollout), None) if request.rollout else None
        row = row or Row(request.weights, [], request.rollout)
        kept = common_prefix(np.array(row.tokens), np.array(tokens), min(row.cache.length, len(tokens) - 1))
        row.cache, row.tokens, row.active, row.used = row.cache.cropped(kept), tokens, active, self.clock
        return row

    def _bytes(self, rows: list[Row]) -> int:
        """Of the caches with padding, after the next step."""
        tokens = sum(row.cache.length for row in self.idle.values())
        for name in {row.weights for row in rows}:
            lengths = [len(row.tokens) for row in rows if row.weights == name]
            tokens += len(lengths) * max(lengths)
        return tokens * self.token_bytes

    def _shrink(self) -> None:
        """Frees idle rows, then sends the newest back to wait, while rows have outgrown the memory; one that is alone fails."""
        while self._bytes(self.rows) > self.max_bytes:
            if self.idle:
                del self.idle[min(self.idle, key=lambda key: self.idle[key].used)]
                continue
            row = self.rows[-1]
            is_last = len(self.rows) == 1
            self._leave(row)
            if is_last:
                row.active.finish(self._too_small(len(row.tokens)))
            else:
                self.waiting.appendleft(row.active)

    def _too_small(self, length: int) -> LudusError:
        return LudusError(
            "cache-too-small",
            f"a sequence of {length} tokens, whose KV cache takes {length * self.token_bytes / 2**20:.1f} MiB",
            f"at most {self.max_bytes / 2**20:.1f} MiB",
            "Raise maxCacheBytes, or shorten the sequence.",
        )

    def _leave(self, row: Row) -> None:
        self._unbatch(row.weights)
        self.rows.remove(row)
        row.cache = RowCache()

    def _unbatch(self, name: str) -> None:
        batch = self.batches.pop(name, None)
        if batch is not None:
            batch.give_back()

    # -- prefill

    def _prefill(self) -> None:
        budget = prefill_batch_tokens.get(self.device.type, 1 << 12)
        while True:
            batched = {id(row) for batch in self.batches.values() for row in batch.rows}
            equal: dict[tuple, list[Row]] = {}
            for row in self.rows:
                if id(row) not in batched and row.missing > 0:
                    equal.setdefault((row.weights, row.cache.length, tuple(row.tokens[:-1])), []).append(row)
            if not equal:
                return
            groups = sorted(equal.values(), key=lambda rows: (rows[0].weights, rows[0].cache.length > 0, rows[0].missing))
            taken = [groups[0]]
            first = groups[0][0]
            for rows in groups[1:]:
                other = rows[0]
                # rows of other lengths are padded where nothing is cached; between a cache and new tokens there is no padding
                fits = other.missing * (len(taken) + 1) <= budget
                alike = other.weights == first.weights and (other.cache.length > 0) == (first.cache.length > 0)
                if not alike or not fits or (first.cache.length > 0 and other.missing != first.missing):
                    break
                taken.append(rows)
            self._prefill_groups(taken, budget)

    def _prefill_groups(self, groups: list[list[Row]], budget: int) -> None:
        """One row of each group; the others of it are the same."""
        rows = [group[0] for group in groups]
        weights = self.weights(rows[0].weights)
        lengths = [row.cache.length for row in rows]
        parts = [row.tokens[row.cache.length : -1][:budget] for row in rows]
        width, past = max(map(len, parts)), max(lengths)
        cache = joined(weights.model.config, [row.cache for row in rows])
        starts, counts = self._on_device([[lengths[i], len(part)] for i, part in enumerate(parts)]).unbind(1)
        tokens = self._on_device([[0] * (width - len(part)) + part for part in parts])
        places = torch.arange(past + width, device=self.device)
        mask = places >= (past + width - starts - counts)[:, None]
        positions = (torch.arange(width, device=self.device) - width + (starts + counts)[:, None]).clamp(min=0)
        weights.activate()
        weights.model.extend(tokens, mask.long(), positions, cache)
        self.prefilled_tokens += sum(map(len, parts))
        for index, group in enumerate(groups):
            done = row_of(cache, index, lengths[index] + len(parts[index])).copied()
            for row in group:
                row.cache = done

    def _on_device(self, numbers: list) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.long, device=self.device)

    # -- decoding

    def _batch(self, name: str, weights: WeightSet) -> Batch:
        rows = [row for row in self.rows if row.weights == name]
        known = self.batches.get(name)
        if known is None or known.rows != rows:
            self._unbatch(name)
            known = self.batches[name] = Batch(rows, weights.model.config)
            for row in rows:
                row.cache = RowCache()
        return known

    def _decode(self, name: str) -> None:
        weights = self.weights(name)
        batch = self._batch(name, weights)
        requests = [row.active.request for row in batch.rows]
        numbers = [[row.tokens[-1], len(row.tokens), r.seed, int(r.temperature == 0)] for row, r in zip(batch.rows, requests)]
        last, lengths, seeds, greedy = self._on_device(numbers).unbind(1)
        longest = max(len(row.tokens) for row in batch.rows)
        mask = torch.arange(longest, device=self.device) >= longest - lengths[:, None]
        weights.activate()
        logits = weights.model.next_logits(last[:, None], mask.long(), lengths[:, None] - 1, batch.cache)
        inverse = torch.tensor([1 / (r.temperature or 1) for r in requests], device=self.device)
        drawn, logprobs = (found.tolist() for found in draw(logits, seeds, lengths, inverse, greedy != 0))
        for index, row in enumerate(batch.rows):
            token, logprob = drawn[index], logprobs[index]
            if row.active.needs_logits:
                token, logprob = row.active.choose(logits[index].cpu(), token, logprob, len(row.tokens))
            row.tokens.append(token)
            if row.active.take(token, logprob, weights.version, len(row.tokens), self.context):
                self._end(batch, index)

    def _end(self, batch: Batch, index: int) -> None:
        row = batch.rows[index]
        batch.rows[index] = None
        self.rows.remove(row)
        active, row.active = row.active, None
        if row.rollout:
            row.cache = row_of(batch.cache, index, len(row.tokens) - 1).copied()
            row.used = self.clock
            self.idle[row.weights, row.rollout] = row
        active.finish(active)
