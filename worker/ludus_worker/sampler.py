"""Continuous batching. Every row is a token list and a count of the tokens its cache holds; whatever is missing is computed
next. Prompts, later turns, shared beginnings and rows whose weights have changed differ only in how much is missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .answer import Answer
from .cache import SlotCache, round_up
from .decode_weights import DecodeWeights
from .decoder import Decoder, SlotState
from .errors import unknown_weights
from .rows import Row, Rows, common_prefix

#: Padded tokens of prompts computed at once, and the smallest steps in which the cache and its reading grow.
prompt_tokens = {"cuda": 1 << 15, "cpu": 1 << 11}
length_step = 128
#: Steps between admissions on a GPU: each stops the steps that run ahead and computes prompts, whether of one row or of fifty.
admit_every = 4


def slot_bucket(slots: int) -> int:
    """Steps are computed for so many slots: few sizes, so that few graphs are recorded."""
    return 1 << (slots - 1).bit_length() if slots <= 64 else round_up(slots, 64)


def length_bucket(length: int) -> int:
    return round_up(length, length_step if length <= 1024 else 512 if length <= 8192 else 4096)


@dataclass
class Result:
    """A step whose numbers are on their way to the host."""

    #: Row, answer and slot as they were: a row may since have ended and begun its next turn.
    rows: list[tuple[Row, Answer, int]]
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
        #: The next step starts before the results of the last one have been looked at.
        self.run_ahead = run_ahead
        self.device = decoder.device
        self.state = SlotState(1, self.device)
        self.rows = Rows()
        self.waiting: deque[Answer] = deque()
        #: Slot to copy from, slot to copy to, tokens: done before anything is computed.
        self.copies: list[tuple[int, int, int]] = []
        self.pending: Result | None = None
        self.changed = True
        self.clock = 0
        #: Tokens that prompts, and steps, have computed; for tests and measurements.
        self.computed_prompt_tokens = 0

    @property
    def has_work(self) -> bool:
        return bool(self.waiting) or self.pending is not None or any(row.answer for row in self.rows.by_slot.values())

    @property
    def is_filling(self) -> bool:
        """More requests are waiting than are under way."""
        return len(self.waiting) > sum(1 for row in self.rows.by_slot.values() if row.answer)

    def add(self, answer: Answer) -> None:
        self.waiting.append(answer)

    def abort(self, answer: Answer) -> None:
        answer.aborted = True
        if answer in self.waiting:
            self.waiting.remove(answer)
        for row in self.rows.active:
            if row.answer is answer:
                self.rows.free(row)

    def release(self, rollout: str) -> None:
        for row in self.rows:
            if row.rollout == rollout and row.answer is None:
                self.rows.free(row)

    def weights_changed(self, name: str) -> None:
        """What the cache holds is worthless now: idle rows go, active ones are computed again."""
        self.drain()
        for row in self.rows:
            if row.weights == name and row.answer is None:
                self.rows.free(row)
            elif row.weights == name:
                row.cached = 0
        self.changed = True

    def weights_gone(self, name: str) -> None:
        self.drain()
        error = unknown_weights(name, [])
        for row in self.rows:
            if row.weights == name:
                self.rows.free(row)
                if row.answer is not None:
                    row.answer.finish(error)
        for answer in [answer for answer in self.waiting if answer.request.weights == name]:
            self.waiting.remove(answer)
            answer.finish(error)

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
        later: list[Answer] = []
        while self.waiting:
            answer = self.waiting.popleft()
            outcome = self._place(answer)
            if outcome == "full":
                self.waiting.appendleft(answer)
                break
            if outcome == "later":
                later.append(answer)
        self.waiting.extendleft(reversed(later))
        self._copy()

    def _copy(self) -> None:
        """What was shared since the last time, in one go for each length."""
        copies, self.copies = self.copies, []
        for length in {length for _, _, length in copies}:
            sources, targets = zip(*[(source, target) for source, target, n in copies if n == length])
            self.cache.copy(list(sources), list(targets), length)

    def _place(self, answer: Answer) -> str:
        """ "placed"; "later" when another row is just computing what this one could share; "full" until something ends."""
        request = answer.request
        tokens = request.tokens + answer.tokens
        if self.weights(request.weights) is None:
            answer.finish(unknown_weights(request.weights, []))
            return "placed"
        own = self.rows.own(request.weights, request.rollout)
        if own is not None:
            if not self._fits(len(tokens) + 1, answer):
                return "placed"
            if own.alive:
                own.cached = common_prefix(own.tokens, tokens, min(own.cached, len(tokens) - 1))
                own.tokens, own.answer, own.used = tokens, answer, self.clock
                self.rows.index(own)
                self.changed = True
                return "placed"
        shared = self.rows.longest_share(request.weights, tokens)
        if shared is not None and not shared[2]:
            return "later"
        if not self._fits(len(tokens) + 1, answer):
            return "placed"
        slot = self._slot(None if shared is None else shared[0])
        if slot is None:
            return "full"
        cached = 0
        if shared is not None and shared[0].alive:
            source, cached = shared[0], shared[1]
            # what is still to be copied to the source is where that is copied from
            origin = next((origin for origin, target, _ in self.copies if target == source.slot), source.slot)
            self.copies.append((origin, slot, cached))
        self.rows.add(Row(slot, request.weights, tokens, cached, answer, request.rollout, self.clock))
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
        idle = self.rows.longest_idle(spared)
        if idle is None:
            return None
        # its slot may be one that is still to be copied from
        self._copy()
        self.rows.free(idle)
        return self.rows.free_slot(self.cache.slots)

    def _fits(self, length: int, answer: Answer) -> bool:
        """Makes slots long enough; rows give way where the memory then holds fewer. Fails the answer if not even one fits."""
        if length < self.cache.length:
            return True
        wanted = length_bucket(max(length + 1, min(2 * self.cache.length, length_bucket(self.context + 2))))
        if self.cache.slots_at(wanted) < max(1, len(self.rows.by_slot)):
            wanted = length_bucket(length + 1)
        slots = min(self.cache.slots_at(wanted), self.max_rows)
        if slots < 1:
            answer.finish(self.cache.too_small(length))
            return False
        self.drain()
        self._copy()
        while len(self.rows.by_slot) > slots:
            row = self.rows.longest_idle() or self.rows.active[-1]
            self.rows.free(row)
            if row.answer is not None and row.answer is not answer:
                self.waiting.append(row.answer)
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
        # rows of one length together; what starts from nothing needs no mask
        todo.sort(key=lambda row: (row.weights, row.cached > 0, len(row.tokens) - row.cached))
        budget = prompt_tokens.get(self.device.type, 1 << 12)
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
        self.computed_prompt_tokens += sum(map(len, missing))
        for row in batch:
            row.cached = len(row.tokens) - 1

    # -- decoding

    def _decode(self, name: str, alone: bool) -> None:
        rows = [row for row in self.rows.active if row.ready and row.weights == name]
        longest = max(rows, key=lambda row: len(row.tokens))
        if not self._fits(len(longest.tokens) + 2, longest.answer):
            self.rows.free(longest)
        self._compact(rows)
        if self.changed or not alone:
            self.drain()
        rows = [row for row in rows if row.alive and row.answer is not None]
        if not rows:
            return
        if self.changed or not alone:
            self._upload(rows)
            self.changed = not alone
        weights, version = self.weights(name)
        slots = min(slot_bucket(max(row.slot for row in rows) + 1), self.cache.slots)
        length = min(length_bucket(max(len(row.tokens) for row in rows) + 1), self.cache.length)
        tokens, logprobs, logits = self.decoder.step(weights, self.cache, self.state, slots, length)
        if any(row.answer.needs_logits for row in rows):
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
        """When few are left, and far up, they move down: a step computes every slot below the highest."""
        goal = slot_bucket(len(rows))
        high = [row for row in rows if row.slot >= goal]
        free = [slot for slot in range(min(goal, self.cache.slots)) if slot not in self.rows.by_slot]
        if not high or 2 * goal > slot_bucket(max(row.slot for row in high) + 1) or len(free) < len(high):
            return
        self.drain()
        for row, slot in zip([row for row in high if row.alive and row.answer is not None], free):
            self.cache.copy([row.slot], [slot], row.cached)
            self.rows.relocate(row, slot)
        self.changed = True

    def _upload(self, rows: list[Row]) -> None:
        state = self.state
        state.host.zero_()
        for row in self.rows.by_slot.values():
            state.host[1, row.slot] = row.cached
        for row in rows:
            request = row.answer.request
            greedy = request.temperature == 0
            state.host[:, row.slot] = torch.tensor([row.tokens[-1], row.cached, request.seed, int(greedy), 1])
            state.host_temperature[row.slot] = 1.0 if greedy else 1.0 / request.temperature
        state.upload()

    def _fetch(self, rows: list[Row], tokens: Tensor, logprobs: Tensor, version: int) -> Result:
        taken = [(row, row.answer, row.slot) for row in rows]
        if self.device.type != "cuda":
            return Result(taken, version, tokens, logprobs, None)
        # asynchronous, and before the next step overwrites them
        host = [torch.empty(t.shape, dtype=t.dtype, pin_memory=True).copy_(t, non_blocking=True) for t in (tokens, logprobs)]
        arrived = torch.cuda.Event()
        arrived.record()
        return Result(taken, version, host[0], host[1], arrived)

    def drain(self) -> None:
        """Waits for the step under way and takes its results."""
        result, self.pending = self.pending, None
        if result is not None:
            self._take(result)

    def _take(self, result: Result) -> None:
        if result.arrived is not None:
            result.arrived.synchronize()
        tokens, logprobs = result.tokens.tolist(), result.logprobs.tolist()
        for row, answer, slot in result.rows:
            # else it was aborted, or ended one step ago
            if row.alive and row.answer is answer:
                self._append(row, tokens[slot], logprobs[slot], result.version)

    def _take_with_logits(self, rows: list[Row], tokens: Tensor, logprobs: Tensor, logits: Tensor, version: int) -> None:
        drawn, known = tokens.tolist(), logprobs.tolist()
        for row in rows:
            if not row.alive or row.answer is None:
                continue
            token, logprob = drawn[row.slot], known[row.slot]
            if row.answer.needs_logits:
                token, logprob = row.answer.choose(logits[row.slot].cpu(), token, logprob, len(row.tokens))
                self.changed = True
            self._append(row, token, logprob, version)

    def _append(self, row: Row, token: int, logprob: float, version: int) -> None:
        answer = row.answer
        row.tokens.append(token)
        row.cached += 1
        row.used = self.clock
        if not answer.take(token, logprob, version, len(row.tokens), self.context):
            return
        row.answer = None
        if not row.rollout:
            self.rows.free(row)
        answer.finish(answer)

    def fail(self, error: Exception) -> None:
        """Ends every request with an error, after a step that went wrong."""
        self.pending = None
        answers = [*self.waiting, *(row.answer for row in self.rows.active)]
        self.waiting.clear()
        for row in self.rows:
            self.rows.free(row)
        for answer in answers:
            answer.finish(error)


