"""Continuous batching. A row is a token sequence and the count of its tokens that the KV cache holds; missing ones are prefilled
next. Prompts, later turns, shared prefixes and rows whose weights have changed differ only in how many tokens are missing.

The device draws, counts and stops by itself. The host starts steps ahead of their results and takes the results of all slots at
once; it looks at single rows where they are placed and where they end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from . import slot_state
from .active_request import ActiveRequest
from .cache import SlotCache, round_up
from .decode_weights import DecodeWeights
from .decoder import Decoder
from .errors import weights_released
from .prefill_batch import PrefillBatch
from .rows import Row, Rows, common_prefix
from .slot_state import SlotState

#: Tokens of one prefill pass, and the smallest step in which the cache and the length that attention reads grow.
prefill_batch_tokens = {"cuda": 1 << 15, "cpu": 1 << 11}
length_step = 128
#: Decode steps between admissions on a GPU: a step that also prefills costs more, be it one row or fifty.
admit_every = 2
#: Steps that are started before the results of the first of them are read.
steps_ahead = 2


def slot_bucket(slots: int) -> int:
    """The number of slots of a decode step, rounded up: few sizes, so that few CUDA graphs are recorded."""
    return 1 << (slots - 1).bit_length() if slots <= 64 else round_up(slots, 64)


def length_bucket(length: int) -> int:
    return round_up(length, length_step if length <= 1024 else 512 if length <= 8192 else 4096)


@dataclass
class Result:
    """A step whose numbers are on their way to the host."""

    #: Of the step; what it says of a slot that was given to another row since is void.
    number: int
    slots: int
    #: As in `SlotState.result`.
    numbers: Tensor
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
        #: Results that may be on their way while the next step is started.
        self.ahead = steps_ahead if run_ahead else 0
        self.device = decoder.device
        self.state = SlotState(1, self.device)
        self.rows = Rows()
        self.waiting: deque[ActiveRequest] = deque()
        #: Rows with tokens to prefill, in the order they were placed.
        self.missing: list[Row] = []
        #: Slots that the device decodes, by their weights.
        self.live: dict[str, set[int]] = {}
        #: Slots whose ends only the host sees: stop strings, many stop tokens, draws from its own logits.
        self.watched: set[int] = set()
        #: Slot to copy from, slot to copy to, tokens: done before anything is computed.
        self.copies: list[tuple[int, int, int]] = []
        self.pending: deque[Result] = deque()
        self.owners: dict[str, int] = {}
        self.steps = self.clock = 0
        #: No live sequence is longer than this.
        self.reach = 0
        self._make_buffers()
        #: For tests and measurements.
        self.prefilled_tokens = 0

    def _make_buffers(self) -> None:
        """What was drawn in each slot since its row was placed, and the first step whose result is its own."""
        shape = max(1, self.cache.slots), max(1, self.cache.length)
        self.drawn, self.logprobs = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
        self.count, self.since = np.zeros(shape[0], np.int64), np.zeros(shape[0], np.int64)

    @property
    def has_work(self) -> bool:
        return bool(self.waiting or self.pending or self.missing or any(self.live.values()))

    @property
    def is_filling(self) -> bool:
        """Requests are waiting, and nothing is computed meanwhile."""
        return bool(self.waiting) and not self.pending and not any(self.live.values())

    def add(self, active: ActiveRequest) -> None:
        self.waiting.append(active)

    def abort(self, active: ActiveRequest) -> None:
        active.aborted = True
        if active in self.waiting:
            self.waiting.remove(active)
        row = next((row for row in self.rows if row.active is active), None)
        if row is not None:
            self._halt([row])
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
                self._halt([row])
                self.rows.free(row)
                if row.active is not None:
                    row.active.finish(error)
        for active in [active for active in self.waiting if active.request.weights == name]:
            self.waiting.remove(active)
            active.finish(error)
        self.live.pop(name, None)

    # -- one step

    def step(self) -> None:
        self.clock += 1
        if self.reach + self.ahead + 2 >= self.cache.length:
            self._grow()
        for name in self.live:
            self._compact(name)
        is_busy = any(self.live.values())
        if self.waiting and (self.ahead == 0 or not is_busy or self.clock % admit_every == 0):
            self._admit()
        mixed, ready = self._prefill()
        if not mixed:
            self._start(ready)
            ready = []
        names = sorted(name for name, slots in self.live.items() if slots)
        for name in names:
            self._decode(name, mixed.pop(name, None))
        for name, batch in mixed.items():
            # nothing of these weights is being decoded
            self.decoder.prefill(self.weights(name)[0], self.cache, batch)
        self._start(ready)
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
        if active.tokens:
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
                own.tokens, own.active, own.used = tokens, active, self.clock
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
        row = Row(slot, request.weights, tokens, cached, active, request.rollout, self.clock)
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
        self.state = SlotState(slots, self.device)
        self._make_buffers()
        self.decoder.reset(slots, length)

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

    def _start(self, rows: list[Row]) -> None:
        """From the next step on the device decodes these rows."""
        if not rows:
            return
        columns, temperatures = [], []
        for row in rows:
            active, length = row.active, len(row.tokens)
            request, ending = active.request, active.ending
            row.version = self.weights(row.weights)[1]
            self.live.setdefault(row.weights, set()).add(row.slot)
            left = min(request.max_tokens - len(active.tokens), self.context - length)
            if ending.is_watched:
                self.watched.add(row.slot)
                left = 1 << 40
            greedy = int(request.temperature == 0)
            place = int(row.tokens[-1]), length - 1, request.seed, greedy, self._owner(row.weights), left
            columns.append((row.slot, *place, *ending.stops))
            temperatures.append(request.temperature)
            self.reach = max(self.reach, length)
        table = np.array(columns, np.int64).T
        self.count[table[0]] = 0
        self.since[table[0]] = self.steps
        self.state.write(table[0], table[1:], np.array(temperatures, np.float64))

    def _owner(self, weights: str) -> int:
        return self.owners.setdefault(weights, len(self.owners) + 1)

    def _halt(self, rows: list[Row]) -> None:
        """The device stops decoding these rows; what it has drawn since the last result that was read is lost."""
        rows = [row for row in rows if row.slot in self.live.get(row.weights, ())]
        if not rows:
            return
        slots = np.array([row.slot for row in rows])
        for row in rows:
            self.live[row.weights].discard(row.slot)
        self.watched.difference_update(slots.tolist())
        self.since[slots] = self.steps
        columns = np.zeros((len(slot_state.fields), len(rows)), np.int64)
        # without kernels, a step writes to every slot: at a position that is not in use
        columns[1] = [row.cached for row in rows]
        self.state.write(slots, columns, np.ones(len(rows)))

    def _suspend(self, rows: list[Row]) -> None:
        """Takes rows out of decoding, with what was drawn; they are prefilled again where the cache no longer holds it."""
        live = [row for row in rows if row.slot in self.live.get(row.weights, ())]
        for row in live:
            self._collect(row)
        self._halt(live)
        self.missing += [row for row in rows if row.active is not None and row not in self.missing]

    def _collect(self, row: Row) -> None:
        """Moves what was drawn to the request and to the tokens of the row."""
        count = int(self.count[row.slot])
        if count == 0:
            return
        slot, active = row.slot, row.active
        drawn = self.drawn[slot, :count]
        row.tokens = np.concatenate((row.tokens, drawn))
        row.cached += count
        self.count[slot] = 0
        if slot not in self.watched:
            active.tokens += drawn.tolist()
            active.logprobs += self.logprobs[slot, :count].tolist()
            active.versions += [row.version] * count

    # -- decoding

    def _decode(self, name: str, prefill: PrefillBatch | None) -> None:
        live = self.live[name]
        slots = slot_bucket(max(live, default=0) + 1)
        if prefill is not None:
            # fewer sizes: there are as many graphs as pairs of them
            slots = next(size for size in (64, 256, 1024, 1 << 30) if size >= slots)
        slots = min(slots, self.cache.slots)
        weights, _ = self.weights(name)
        length = min(length_bucket(self.reach + 1), self.cache.length)
        logits = self.decoder.step(weights, self.cache, self.state, slots, length, self._owner(name), prefill)
        self.reach += 1
        result = self._fetch(slots)
        self.steps += 1
        self.pending.append(result)
        if self.watched:
            by_slot = self.rows.by_slot
            self._choose([by_slot[slot] for slot in live & self.watched if by_slot[slot].active.needs_logits], result, logits)
        while len(self.pending) > self.ahead:
            self._take(self.pending.popleft())

    def _grow(self) -> None:
        """Makes room for the next tokens of the longest row. Rows that are moved go on in the next step."""
        self.drain()
        active = self.rows.active
        length = lambda row: len(row.tokens) + int(self.count[row.slot])  # noqa: E731
        self.reach = max(map(length, active), default=0)
        if not active or self.reach + self.ahead + 2 < self.cache.length:
            return
        longest = max(active, key=length)
        if not self._ensure_length(self.reach + self.ahead + 2, longest.active):
            self._halt([longest])
            self.rows.free(longest)

    def _compact(self, name: str) -> None:
        """Moves the last few rows to lower slots: a step computes every slot below the highest."""
        live = self.live[name]
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
        self._start(rows)

    def _fetch(self, slots: int) -> Result:
        numbers = self.state.result
        if self.device.type != "cuda":
            return Result(self.steps, slots, numbers.clone(), None)
        # asynchronous, and before the next step overwrites it
        host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True).copy_(numbers, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record()
        return Result(self.steps, slots, host, arrived)

    def drain(self) -> None:
        """Waits for the running steps and takes their results."""
        while self.pending:
            self._take(self.pending.popleft())

    def _take(self, result: Result) -> None:
        if result.arrived is not None:
            result.arrived.synchronize()
        tokens, bits, said = result.numbers.numpy()[:, : result.slots]
        at = np.flatnonzero((said != slot_state.none) & (self.since[: result.slots] <= result.number))
        if len(at) == 0:
            return
        places = self.count[at]
        self.drawn[at, places] = tokens[at]
        self.logprobs[at, places] = bits.view(np.float32)[at]
        self.count[at] = places + 1
        if self.watched:
            self._watch([slot for slot in at.tolist() if slot in self.watched])
        for slot in at[said[at] == slot_state.ended].tolist():
            self._end(self.rows.by_slot[slot])

    def _watch(self, slots: list[int]) -> None:
        halted = []
        for slot in slots:
            row, last = self.rows.by_slot[slot], self.count[slot] - 1
            length = len(row.tokens) + last + 1
            token, logprob = int(self.drawn[slot, last]), float(self.logprobs[slot, last])
            if row.active.take(token, logprob, row.version, length, self.context):
                halted.append(row)
        for row in halted:
            self._collect(row)
        self._halt(halted)
        for row in halted:
            self._finish(row)

    def _end(self, row: Row) -> None:
        self.live[row.weights].discard(row.slot)
        self._collect(row)
        active = row.active
        if active.tokens[-1] in active.request.stop_tokens:
            active.stop = "stop-token"
        else:
            active.stop = "max-tokens" if len(active.tokens) >= active.request.max_tokens else "context-full"
        self._finish(row)

    def _finish(self, row: Row) -> None:
        active, row.active, row.used = row.active, None, self.clock
        if not row.rollout:
            self.rows.free(row)
        active.finish(active)

    def _choose(self, rows: list[Row], result: Result, logits: Tensor) -> None:
        """Replaces the device's draws of rows that are drawn here, from their logits, and tells the device."""
        if not rows:
            return
        while len(self.pending) > 1:
            self._take(self.pending.popleft())
        if result.arrived is not None:
            result.arrived.synchronize()
        tokens, bits, said = result.numbers.numpy()
        logprobs = bits.view(np.float32)
        rows = [row for row in rows if row.active is not None and said[row.slot] != slot_state.none]
        for row in rows:
            known = int(tokens[row.slot]), float(logprobs[row.slot])
            position = len(row.tokens) + int(self.count[row.slot])
            tokens[row.slot], logprobs[row.slot] = row.active.choose(logits[row.slot].cpu(), *known, position)
        self.drain()
        rows = [row for row in rows if row.active is not None]
        for row in rows:
            self._collect(row)
        self._start(rows)

    def fail(self, error: Exception) -> None:
        """Ends every request with an error, after a step that failed."""
        self.pending.clear()
        self.missing, self.copies = [], []
        requests = [*self.waiting, *(row.active for row in self.rows.active)]
        self.waiting.clear()
        self.live.clear()
        self.watched.clear()
        for row in self.rows:
            self.rows.free(row)
        # whatever the device still decodes has no owner any more
        self.state = SlotState(max(1, self.cache.slots), self.device)
        self.decoder.reset(self.cache.slots, self.cache.length)
        for active in requests:
            active.finish(error)
