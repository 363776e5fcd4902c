"""The rows that the device decodes: started, advanced in steps whose results come later, ended.

The host starts steps ahead of their results and takes the results of all slots at once; it looks at single rows where they
start and where they end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from . import slot_state
from .cache import SlotCache, round_up
from .decode_weights import DecodeWeights
from .decoder import Decoder
from .prefill_batch import PrefillBatch
from .rows import Row, Rows
from .slot_state import SlotState

#: The smallest step in which the cache and the length that attention reads grow.
length_step = 128


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


class Decoding:
    def __init__(
        self,
        decoder: Decoder,
        cache: SlotCache,
        weights: Callable[[str], tuple[DecodeWeights, int] | None],
        context: int,
        rows: Rows,
        ahead: int,
    ):
        self.decoder, self.cache, self.weights, self.context, self.rows = decoder, cache, weights, context, rows
        #: Results that may be on their way while the next step is started.
        self.ahead = ahead
        self.device = decoder.device
        #: Slots that the device decodes, by their weights.
        self.live: dict[str, set[int]] = {}
        #: Slots whose ends only the host sees: stop strings, many stop tokens, draws from its own logits.
        self.watched: set[int] = set()
        self.pending: deque[Result] = deque()
        self.owners: dict[str, int] = {}
        self.steps = 0
        #: No live sequence is longer than this.
        self.reach = 0
        self.reset()

    @property
    def is_busy(self) -> bool:
        return any(self.live.values())

    def is_live(self, row: Row) -> bool:
        return row.slot in self.live.get(row.weights, ())

    def length(self, row: Row) -> int:
        """With what was drawn and is known here."""
        return len(row.tokens) + int(self.count[row.slot])

    def reset(self) -> None:
        """After the cache was reallocated, or a step has failed: nothing is decoded."""
        self.pending.clear()
        self.live.clear()
        self.watched.clear()
        slots, length = max(1, self.cache.slots), max(1, self.cache.length)
        self.state = SlotState(slots, self.device)
        #: What was drawn in each slot since its row was started, and the first step whose result is its own.
        self.drawn, self.logprobs = np.zeros((slots, length), np.int32), np.zeros((slots, length), np.float32)
        self.count, self.since = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
        if self.cache.slots > 0:
            self.decoder.reset(slots, length)

    def start(self, rows: list[Row]) -> None:
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

    def halt(self, rows: list[Row]) -> None:
        """The device stops decoding these rows; what it has drawn since the last result that was read is lost."""
        rows = [row for row in rows if self.is_live(row)]
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

    def collect(self, row: Row) -> None:
        """Moves what was drawn to the request and to the tokens of the row."""
        count = int(self.count[row.slot])
        if count == 0:
            return
        slot = row.slot
        row.tokens = np.concatenate((row.tokens, self.drawn[slot, :count]))
        row.cached += count
        self.count[slot] = 0
        if slot not in self.watched:
            row.active.extend(row.tokens[-count:], self.logprobs[slot, :count].copy(), row.version)

    def step(self, name: str, prefill: PrefillBatch | None) -> None:
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
            self.collect(row)
        self.halt(halted)
        for row in halted:
            self._finish(row)

    def _end(self, row: Row) -> None:
        self.live[row.weights].discard(row.slot)
        self.collect(row)
        active = row.active
        if active.tokens[-1] in active.request.stop_tokens:
            active.stop = "stop-token"
        else:
            active.stop = "max-tokens" if len(active.tokens) >= active.request.max_tokens else "context-full"
        self._finish(row)

    def _finish(self, row: Row) -> None:
        active, row.active, row.used = row.active, None, self.steps
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
            self.collect(row)
        self.start(rows)
