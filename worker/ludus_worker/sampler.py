"""Continuous batching. A row is a token sequence and the count of its tokens that the KV cache holds; missing ones are prefilled
next. Prompts, later turns, shared prefixes and rows whose weights have changed differ only in how many tokens are missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .active_request import ActiveRequest
from .cache import SlotCache, round_up
from .decode_weights import DecodeWeights
from .decoder import Decoder, SlotState
from .errors import weights_released
from .rows import Row, Rows, common_prefix

#: Padded tokens of one prefill batch, and the smallest step in which the cache and the length that attention reads grow.
prefill_batch_tokens = {"cuda": 1 << 15, "cpu": 1 << 11}
length_step = 128
#: Decode steps between admissions on a GPU: each admission waits for the steps that run ahead and prefills, be it one row or fifty.
admit_every = 4


def slot_bucket(slots: int) -> int:
    """The number of slots of a decode step, rounded up: few sizes, so that few CUDA graphs are recorded."""
    return 1 << (slots - 1).bit_length() if slots <= 64 else round_up(slots, 64)


def length_bucket(length: int) -> int:
    return round_up(length, length_step if length <= 1024 else 512 if length <= 8192 else 4096)


@dataclass
class Result:
    """A step whose numbers are on their way to the host."""

    #: Row, request and slot at the time of the step: the row may have ended since and started its next turn.
    rows: list[tuple[Row, ActiveRequest, int]]
    version: int
    tokens: Tensor
    logprobs: Tensor
    arrived: torch.cuda.Event | None


class Sampler:
    def __init__(
        self,
        decoder: Decoder,
        cache: SlotCache,
        weights: Callable[[str], tuple[DecodeWeights, int] | None],
        context: int,
        max_rows: int,
        run_ahead: bool,
    ):
        self.decoder, self.cache, self.weights, self.context, self.max_rows = decoder, cache, weights, context, max_rows
        #: The next step starts before the results of the last one have been read.
        self.run_ahead = run_ahead
        self.device = decoder.device
        self.state = SlotState(1, self.device)
        self.rows = Rows()
        self.waiting: deque[ActiveRequest] = deque()
        #: Slot to copy from, slot to copy to, tokens: done before anything is computed.
        self.copies: list[tuple[int, int, int]] = []
        self.pending: Result | None = None
        self.changed = True
        self.clock = 0
        #: For tests and measurements.
        self.prefilled_tokens = 0

    @property
    def has_work(self) -> bool:
        return bool(self.waiting) or self.pending is not None or any(row.active for row in self.rows.by_slot.values())

    @property
    def is_filling(self) -> bool:
        """More requests are waiting than are active."""
        return len(self.waiting) > sum(1 for row in self.rows.by_slot.values() if row.active)

    def add(self, active: ActiveRequest) -> None:
        self.waiting.append(active)

    def abort(self, active: ActiveRequest) -> None:
        active.aborted = True
        if active in self.waiting:
            self.waiting.remove(active)
        for row in self.rows.active:
            if row.active is active:
                self.rows.free(row)

    def release(self, rollout: str) -> None:
        for row in self.rows:
            if row.rollout == rollout and row.active is None:
                self.rows.free(row)

    def weights_changed(self, name: str) -> None:
        """The KV cache is stale: idle rows are freed, active ones are prefilled again."""
        self.drain()
        for row in self.rows:
            if row.weights == name and row.active is None:
                self.rows.free(row)
            elif row.weights == name:
                row.cached = 0
        self.changed = True

    def weights_gone(self, name: str) -> None:
        self.drain()
        error = weights_released(name)
        for row in self.rows:
            if row.weights == name:
                self.rows.free(row)
                if row.active is not None:
                    row.active.finish(error)
        for active in [active for active in self.waiting if active.request.weights == name]:
            self.waiting.remove(active)
            active.finish(error)

    # -- one step

    def step(self) -> None:
        self.clock += 1
        is_due = not self.run_ahead or self.clock % admit_every == 0 or not self.rows.active
        if self.waiting and is_due:
            self._admit()
        self._prefill()
        names = {row.weights for row in self.rows.by_slot.values() if row.ready}
        if not names:
            self.drain()
        for name in sorted(names):
            self._decode(name, alone=len(names) == 1)

    def _admit(self) -> None:
        later: list[ActiveRequest] = []
        while self.waiting:
            active = self.waiting.popleft()
            outcome = self._place(active)
            if outcome == "full":
                self.waiting.appendleft(active)
                break
            if outcome == "later":
                later.append(active)
        self.waiting.extendleft(reversed(later))
        self._copy()

    def _copy(self) -> None:
        """Copies shared prefixes that were found since the last call, those of one length together."""
        copies, self.copies = self.copies, []
        for length in {length for _, _, length in copies}:
            sources, targets = zip(*[(source, target) for source, target, n in copies if n == length])
            self.cache.copy(list(sources), list(targets), length)

    def _place(self, active: ActiveRequest) -> str:
        """ "placed"; "later" while another row is computing a prefix that this one can share; "full" until another request ends."""
        request = active.request
        tokens = request.tokens + active.tokens
        if self.weights(request.weights) is None:
            active.finish(weights_released(request.weights))
            return "placed"
        own = self.rows.own(request.weights, request.rollout)
        if own is not None:
            if not self._ensure_length(len(tokens) + 1, active):
                return "placed"
            if own.alive:
                own.cached = common_prefix(own.tokens, tokens, min(own.cached, len(tokens) - 1))
                own.tokens, own.active, own.used = tokens, active, self.clock
                self.rows.index(own)
                self.changed = True
                return "placed"
        shared = self.rows.longest_prefix(request.weights, tokens)
        if shared is not None and not shared[2]:
            return "later"
        if not self._ensure_length(len(tokens) + 1, active):
            return "placed"
        slot = self._slot(None if shared is None else shared[0])
        if slot is None:
            return "full"
        cached = 0
        if shared is not None and shared[0].alive:
            source, cached = shared[0], shared[1]
            # a source that is itself still to be copied: take its origin
            origin = next((origin for origin, target, _ in self.copies if target == source.slot), source.slot)
            self.copies.append((origin, slot, cached))
        self.rows.add(Row(slot, request.weights, tokens, cached, active, request.rollout, self.clock))
        self.changed = True
        return "placed"

    def _slot(self, spared: Row | None) -> int | None:
        slot = self.rows.free_slot(self.cache.slots)
        if slot is not None:
            return slot
        most = min(self.max_rows, self.cache.slots_at(self.cache.length))
        if self.cache.slots < most:
            self._resize(min(most, max(16, 2 * self.cache.slots)), self.cache.length)
            return self.rows.free_slot(self.cache.slots)
        idle = self.rows.least_recently_used(spared)
        if idle is None:
            return None
        # its slot may be the source of a copy that is not done yet
        self._copy()
        self.rows.free(idle)
        return self.rows.free_slot(self.cache.slots)

    def _ensure_length(self, length: int, active: ActiveRequest) -> bool:
        """Grows slots to a length. Where memory then holds fewer of them, idle rows are evicted, then the newest are preempted.
        Fails the request if not even one slot fits."""
        if length < self.cache.length:
            return True
        wanted = length_bucket(max(length + 1, min(2 * self.cache.length, length_bucket(self.context + 2))))
        if self.cache.slots_at(wanted) < max(1, len(self.rows.by_slot)):
            wanted = length_bucket(length + 1)
        slots = min(self.cache.slots_at(wanted), self.max_rows)
        if slots < 1:
            active.finish(self.cache.too_small(length))
            return False
        self.drain()
        self._copy()
        while len(self.rows.by_slot) > slots:
            row = self.rows.least_recently_used() or self.rows.active[-1]
            self.rows.free(row)
            # the row that grows may itself be the newest: it too waits for the others
            if row.active is not None:
                self.waiting.append(row.active)
        self._resize(min(slots, max(16, self.cache.slots)), wanted)
        return True

    def _resize(self, slots: int, length: int) -> None:
        self.drain()
        self._copy()
        kept = sorted(self.rows.by_slot)
        self.cache.resize(slots, length, kept)
        self.rows.move(kept)
        self.state = SlotState(slots, self.device)
        self.decoder.reset(length)
        self.changed = True

    def _prefill(self) -> None:
        todo = [row for row in self.rows.active if row.cached < len(row.tokens) - 1]
        if not todo:
            return
        self.changed = True
        # rows of one length together; those without cached tokens need no mask
        todo.sort(key=lambda row: (row.weights, row.cached > 0, len(row.tokens) - row.cached))
        budget = prefill_batch_tokens.get(self.device.type, 1 << 12)
        while todo:
            first = todo[0]
            batch: list[Row] = []
            while todo and todo[0].weights == first.weights and (todo[0].cached > 0) == (first.cached > 0):
                missing = len(todo[0].tokens) - 1 - todo[0].cached
                if batch and (len(batch) + 1) * missing > budget:
                    break
                batch.append(todo.pop(0))
            self._prefill_batch(batch)

    def _prefill_batch(self, batch: list[Row]) -> None:
        missing = [row.tokens[row.cached : -1] for row in batch]
        # padding must not reach past the end of a slot
        reach = max(row.cached for row in batch) + max(map(len, missing))
        if reach > self.cache.length:
            for row in batch:
                self._prefill_rows([row], [row.tokens[row.cached : -1]])
            return
        self._prefill_rows(batch, missing)

    def _prefill_rows(self, batch: list[Row], missing: list[list[int]]) -> None:
        found = self.weights(batch[0].weights)
        starts = [row.cached for row in batch]
        self.decoder.prefill(found[0], self.cache, [row.slot for row in batch], missing, starts)
        self.prefilled_tokens += sum(map(len, missing))
        for row in batch:
            row.cached = len(row.tokens) - 1

    # -- decoding

    def _decode(self, name: str, alone: bool) -> None:
        rows = [row for row in self.rows.active if row.ready and row.weights == name]
        longest = max(rows, key=lambda row: len(row.tokens))
        if not self._ensure_length(len(longest.tokens) + 2, longest.active):
            self.rows.free(longest)
        self._compact(rows)
        if self.changed or not alone:
            self.drain()
        rows = [row for row in rows if row.alive and row.active is not None]
        if not rows:
            return
        if self.changed or not alone:
            self._upload(rows)
            self.changed = not alone
        weights, version = self.weights(name)
        slots = min(slot_bucket(max(row.slot for row in rows) + 1), self.cache.slots)
        length = min(length_bucket(max(len(row.tokens) for row in rows) + 1), self.cache.length)
        tokens, logprobs, logits = self.decoder.step(weights, self.cache, self.state, slots, length)
        if any(row.active.needs_logits for row in rows):
            self.drain()
            self._take_with_logits(rows, tokens, logprobs, logits, version)
            return
        result = self._fetch(rows, tokens, logprobs, version)
        previous, self.pending = self.pending, result
        if previous is not None:
            self._take(previous)
        if not (self.run_ahead and alone):
            self.drain()

    def _compact(self, rows: list[Row]) -> None:
        """Moves the last few rows to lower slots: a step computes every slot below the highest."""
        goal = slot_bucket(len(rows))
        high = [row for row in rows if row.slot >= goal]
        free = [slot for slot in range(min(goal, self.cache.slots)) if slot not in self.rows.by_slot]
        if not high or 2 * goal > slot_bucket(max(row.slot for row in high) + 1) or len(free) < len(high):
            return
        self.drain()
        for row, slot in zip([row for row in high if row.alive and row.active is not None], free):
            self.cache.copy([row.slot], [slot], row.cached)
            self.rows.relocate(row, slot)
        self.changed = True

    def _upload(self, rows: list[Row]) -> None:
        state = self.state
        state.host.zero_()
        for row in self.rows.by_slot.values():
            state.host[1, row.slot] = row.cached
        for row in rows:
            request = row.active.request
            greedy = request.temperature == 0
            state.host[:, row.slot] = torch.tensor([row.tokens[-1], row.cached, request.seed, int(greedy), 1])
            state.host_temperature[row.slot] = 1.0 if greedy else 1.0 / request.temperature
        state.upload()

    def _fetch(self, rows: list[Row], tokens: Tensor, logprobs: Tensor, version: int) -> Result:
        taken = [(row, row.active, row.slot) for row in rows]
        if self.device.type != "cuda":
            return Result(taken, version, tokens, logprobs, None)
        # asynchronous, and before the next step overwrites them
        host = [torch.empty(t.shape, dtype=t.dtype, pin_memory=True).copy_(t, non_blocking=True) for t in (tokens, logprobs)]
        arrived = torch.cuda.Event()
        arrived.record()
        return Result(taken, version, host[0], host[1], arrived)

    def drain(self) -> None:
        """Waits for the running step and takes its results."""
        result, self.pending = self.pending, None
        if result is not None:
            self._take(result)

    def _take(self, result: Result) -> None:
        if result.arrived is not None:
            result.arrived.synchronize()
        tokens, logprobs = result.tokens.tolist(), result.logprobs.tolist()
        for row, active, slot in result.rows:
            # otherwise it was aborted, or ended one step ago
            if row.alive and row.active is active:
                self._append(row, tokens[slot], logprobs[slot], result.version)

    def _take_with_logits(self, rows: list[Row], tokens: Tensor, logprobs: Tensor, logits: Tensor, version: int) -> None:
        drawn, known = tokens.tolist(), logprobs.tolist()
        for row in rows:
            if not row.alive or row.active is None:
                continue
            token, logprob = drawn[row.slot], known[row.slot]
            if row.active.needs_logits:
                token, logprob = row.active.choose(logits[row.slot].cpu(), token, logprob, len(row.tokens))
                self.changed = True
            self._append(row, token, logprob, version)

    def _append(self, row: Row, token: int, logprob: float, version: int) -> None:
        active = row.active
        row.tokens.append(token)
        row.cached += 1
        row.used = self.clock
        if not active.take(token, logprob, version, len(row.tokens), self.context):
            return
        row.active = None
        if not row.rollout:
            self.rows.free(row)
        active.finish(active)

    def fail(self, error: Exception) -> None:
        """Ends every request with an error, after a step that failed."""
        self.pending = None
        requests = [*self.waiting, *(row.active for row in self.rows.active)]
        self.waiting.clear()
        for row in self.rows:
            self.rows.free(row)
        for active in requests:
            active.finish(error)


