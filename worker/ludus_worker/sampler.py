"""Continuous batching. A row is a token sequence and the count of its tokens that the KV cache holds; missing ones are prefilled
next. Prompts, later turns, shared prefixes and rows whose weights have changed differ only in how many tokens are missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from .active_request import ActiveRequest
from .cache import SlotCache
from .decode_weights import DecodeWeights
from .decoder import Decoder
from .decoding import Decoding, length_bucket, slot_bucket
from .errors import weights_released
from .prefill_batch import PrefillBatch
from .rows import Row, Rows, common_prefix

#: Tokens of one prefill pass.
prefill_batch_tokens = {"cuda": 1 << 15, "cpu": 1 << 11}
#: Decode steps between admissions on a GPU: a step that also prefills costs more, be it one row or fifty.
admit_every = 2
#: Steps that are started before the results of the first of them are read.
steps_ahead = 3


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
        self.device = decoder.device
        self.rows = Rows()
        self.decoding = Decoding(decoder, cache, weights, context, self.rows, steps_ahead if run_ahead else 0)
        self.waiting: deque[ActiveRequest] = deque()
        #: Rows with tokens to prefill, in the order they were placed.
        self.missing: list[Row] = []
        #: Slot to copy from, slot to copy to, tokens: done before anything is computed.
        self.copies: list[tuple[int, int, int]] = []
        self.clock = 0
        #: For tests and measurements.
        self.prefilled_tokens = 0

    @property
    def has_work(self) -> bool:
        return bool(self.waiting or self.missing or self.decoding.pending) or self.decoding.is_busy

    @property
    def is_filling(self) -> bool:
        """Requests are waiting, and nothing is computed meanwhile."""
        return bool(self.waiting) and not self.decoding.pending and not self.decoding.is_busy

    def add(self, active: ActiveRequest) -> None:
        self.waiting.append(active)

    def abort(self, active: ActiveRequest) -> None:
        active.aborted = True
        if active in self.waiting:
            self.waiting.remove(active)
        row = next((row for row in self.rows if row.active is active), None)
        if row is not None:
            self.decoding.halt([row])
            self.rows.free(row)

    def release(self, rollout: str) -> None:
        for row in self.rows.of_rollout(rollout):
            if row.active is None:
                self.rows.free(row)

    def weights_changed(self, name: str) -> None:
        """The KV cache is stale: idle rows are freed, active ones are prefilled again."""
        self.drain()
        self._copy()
        for row in self.rows:
            if row.weights == name and row.active is None:
                self.rows.free(row)
            elif row.weights == name:
                self._suspend([row])
                row.cached = 0

    def weights_gone(self, name: str) -> None:
        self.drain()
        error = weights_released(name)
        for row in self.rows:
            if row.weights == name:
                self.decoding.halt([row])
                self.rows.free(row)
                if row.active is not None:
                    row.active.finish(error)
        for active in [active for active in self.waiting if active.request.weights == name]:
            self.waiting.remove(active)
            active.finish(error)

    # -- one step

    def step(self) -> None:
        self.clock += 1
        if self.decoding.reach + self.decoding.ahead + 2 >= self.cache.length:
            self._grow()
        for name in self.decoding.live:
            self._compact(name)
        is_due = self.decoding.ahead == 0 or not self.decoding.is_busy or self.clock % admit_every == 0
        if self.waiting and is_due:
            self._admit()
        mixed, ready = self._prefill()
        if not mixed:
            self.decoding.start(ready)
            ready = []
        names = sorted(name for name, slots in self.decoding.live.items() if slots)
        for name in names:
            self.decoding.step(name, mixed.pop(name, None))
        for name, batch in mixed.items():
            # nothing of these weights is being decoded
            self.decoder.prefill(self.weights(name)[0], self.cache, batch)
        self.decoding.start(ready)
        if not names:
            self.drain()

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
        """Copies shared prefixes that were found since the last call."""
        copies, self.copies = self.copies, []
        if copies:
            self.cache.copy(copies, kernel=self.decoder.is_triton)

    def _place(self, active: ActiveRequest) -> str:
        """ "placed"; "later" while another row is computing a prefix that this one can share; "full" until another request ends."""
        request = active.request
        tokens = np.asarray(request.tokens, np.int32)
        if len(active.tokens) > 0:
            tokens = np.concatenate([tokens, np.array(active.tokens, np.int32)])
        if self.weights(request.weights) is None:
            active.finish(weights_released(request.weights))
            return "placed"
        own = self.rows.own(request.weights, request.rollout)
        if own is not None:
            if not self._ensure_length(len(tokens) + 1, active):
                return "placed"
            if own.alive:
                own.cached = common_prefix(own.tokens, tokens, min(own.cached, len(tokens) - 1))
                if own.cached < own.indexed:
                    own.indexed = own.key = 0
                own.tokens, own.active, own.used = tokens, active, self.decoding.steps
                self.rows.index(own)
                self.missing.append(own)
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
        row = Row(slot, request.weights, tokens, cached, active, request.rollout, self.decoding.steps)
        self.rows.add(row)
        self.missing.append(row)
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
            self._suspend([row])
            self.rows.free(row)
            # the row that grows may itself be the newest: it too waits for the others
            if row.active is not None:
                self.waiting.append(row.active)
        self._resize(min(slots, max(16, self.cache.slots)), wanted)
        return True

    def _resize(self, slots: int, length: int) -> None:
        self.drain()
        self._copy()
        self._suspend(self.rows.active)
        kept = sorted(self.rows.by_slot)
        self.cache.resize(slots, length, kept)
        self.rows.move(kept)
        self.decoding.reset()

    # -- prefill

    def _prefill(self) -> tuple[dict[str, PrefillBatch], list[Row]]:
        """Prefills what is missing, but for small batches that a decode step can take along: those are returned by weights, with
        all rows that can be decoded then."""
        todo = [row for row in self.missing if row.alive and row.active is not None]
        self.missing = []
        mixed: dict[str, PrefillBatch] = {}
        for name in sorted({row.weights for row in todo}):
            rows = [row for row in todo if row.weights == name and not row.ready]
            passes = self._passes(rows)
            self.prefilled_tokens += sum(len(row.tokens) - 1 - row.cached for row in rows)
            for rows in passes:
                missing = [row.tokens[row.cached : -1] for row in rows]
                batch = PrefillBatch([row.slot for row in rows], missing, [row.cached for row in rows])
                if len(passes) == 1 and self.decoder.can_mix(batch):
                    mixed[name] = batch
                else:
                    self.decoder.prefill(self.weights(name)[0], self.cache, batch)
        for row in todo:
            row.cached = len(row.tokens) - 1
        return mixed, todo

    def _passes(self, rows: list[Row]) -> list[list[Row]]:
        """Rows that are prefilled together. Where they are padded: rows of about one length, which does not reach past the end of
        a slot; those without cached tokens need no mask."""
        budget = prefill_batch_tokens.get(self.device.type, 1 << 12)
        missing = lambda row: len(row.tokens) - 1 - row.cached  # noqa: E731
        passes: list[list[Row]] = []
        used = cached = 0
        if self.decoder.is_triton:
            for row in rows:
                used += missing(row)
                if not passes or used > budget:
                    passes.append([])
                    used = missing(row)
                passes[-1].append(row)
            return passes
        for row in sorted(rows, key=lambda row: (row.cached > 0, missing(row))):
            cached = max(cached, row.cached)
            used += 1
            is_like = bool(passes) and (passes[-1][0].cached > 0) == (row.cached > 0)
            if not is_like or used * missing(row) > budget or cached + missing(row) > self.cache.length:
                passes.append([])
                used, cached = 1, row.cached
            passes[-1].append(row)
        return passes

    # -- decoding

    def _grow(self) -> None:
        """Makes room for the next tokens of the longest row. Rows that are moved go on in the next step."""
        self.drain()
        active = self.rows.active
        self.decoding.reach = max(map(self.decoding.length, active), default=0)
        if not active or self.decoding.reach + self.decoding.ahead + 2 < self.cache.length:
            return
        longest = max(active, key=self.decoding.length)
        if not self._ensure_length(self.decoding.reach + self.decoding.ahead + 2, longest.active):
            self.decoding.halt([longest])
            self.rows.free(longest)

    def _compact(self, name: str) -> None:
        """Moves the last few rows to lower slots: a step computes every slot below the highest."""
        live = self.decoding.live[name]
        goal = slot_bucket(max(1, len(live)))
        if not live or 2 * goal > slot_bucket(max(live) + 1):
            return
        free = [slot for slot in range(min(goal, self.cache.slots)) if slot not in self.rows.by_slot]
        high = [slot for slot in live if slot >= goal]
        if not high or len(free) < len(high):
            return
        self.drain()
        rows = [self.rows.by_slot[slot] for slot in sorted(high) if slot in live]
        self._suspend(rows)
        self.missing = [row for row in self.missing if row not in rows]
        moves = [(row.slot, slot, row.cached) for row, slot in zip(rows, free)]
        if not moves:
            return
        self.cache.copy(moves, kernel=self.decoder.is_triton)
        for row, (_, slot, _) in zip(rows, moves):
            self.rows.relocate(row, slot)
        self.decoding.start(rows)

    def _suspend(self, rows: list[Row]) -> None:
        """Takes rows out of decoding, with what was drawn; they are prefilled again where the cache no longer holds it."""
        live = [row for row in rows if self.decoding.is_live(row)]
        for row in live:
            self.decoding.collect(row)
        self.decoding.halt(live)
        self.missing += [row for row in rows if row.active is not None and row not in self.missing]

    def drain(self) -> None:
        """Waits for the running steps and takes their results."""
        self.decoding.drain()

    def fail(self, error: Exception) -> None:
        """Ends every request with an error, after a step that failed."""
        self.missing, self.copies = [], []
        requests = [*self.waiting, *(row.active for row in self.rows.active)]
        self.waiting.clear()
        for row in self.rows:
            self.rows.free(row)
        self.decoding.reset()
        for active in requests:
            active.finish(error)
