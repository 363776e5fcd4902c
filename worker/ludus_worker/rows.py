"""The sequences in the KV cache: slots, prefix sharing, eviction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .active_request import ActiveRequest

#: Prefixes are looked up in blocks of this many tokens.
prefix_block = 16
#: Known prefixes, of which those of rows that are gone are dropped.
most_prefixes = 100_000


@dataclass(eq=False)
class Row:
    slot: int
    weights: str
    #: Known to the host, int32; while it is decoded, without what was drawn since it was placed.
    tokens: np.ndarray
    #: Of these, how many the KV cache holds.
    cached: int
    #: Absent between two turns of the rollout.
    active: ActiveRequest | None
    rollout: str
    used: int
    alive: bool = True
    #: Of the weights that draw its tokens.
    version: int = 0
    #: Indexed so far: tokens in whole blocks, and the key of that prefix.
    indexed: int = 0
    key: int = 0

    @property
    def ready(self) -> bool:
        """Prefilled: all tokens but the last are cached."""
        return self.active is not None and self.cached == len(self.tokens) - 1


def prefix_keys(weights: str, tokens: np.ndarray, start: int = 0, key: int = 0) -> list[tuple[int, int]]:
    """Length and key of every prefix of whole blocks, shortest first; beyond `start`, whose key is given."""
    data, step = np.ascontiguousarray(tokens[start:], np.int32).tobytes(), 4 * prefix_block
    key = key if start > 0 else hash(weights)
    keys: list[tuple[int, int]] = []
    for end in range(prefix_block, len(tokens) - start, prefix_block):
        key = hash((key, data[4 * end - step : 4 * end]))
        keys.append((start + end, key))
    return keys


def common_prefix(a: np.ndarray, b: np.ndarray, limit: int) -> int:
    limit = min(len(a), len(b), limit)
    # bytes are compared ten times faster than numbers, and a later turn goes on where the last one ended
    if a[:limit].tobytes() == b[:limit].tobytes():
        return limit
    return int((a[:limit] == b[:limit]).argmin())


@dataclass
class Rows:
    by_slot: dict[int, Row] = field(default_factory=dict)
    _by_prefix: dict[int, Row] = field(default_factory=dict)
    #: By rollout, then by weights.
    _by_rollout: dict[str, dict[str, Row]] = field(default_factory=dict)
    #: Every slot below it is taken.
    _lowest: int = 0
    _most_prefixes: int = most_prefixes

    def __iter__(self):
        return iter(list(self.by_slot.values()))

    @property
    def active(self) -> list[Row]:
        return [row for row in self.by_slot.values() if row.active is not None]

    def own(self, weights: str, rollout: str) -> Row | None:
        row = self._by_rollout.get(rollout, {}).get(weights)
        return row if row is not None and row.alive and row.active is None else None

    def of_rollout(self, rollout: str) -> list[Row]:
        return list(self._by_rollout.get(rollout, {}).values())

    def add(self, row: Row) -> None:
        self.by_slot[row.slot] = row
        if row.rollout:
            self._by_rollout.setdefault(row.rollout, {})[row.weights] = row
        self.index(row)

    def index(self, row: Row) -> None:
        """Makes the prefixes of a row known; those that are known already are not computed again."""
        if len(self._by_prefix) > self._most_prefixes:
            self._by_prefix = {key: known for key, known in self._by_prefix.items() if known.alive}
            # rows that live may have more: then the next time is when as many again have come
            self._most_prefixes = max(most_prefixes, 2 * len(self._by_prefix))
        for end, key in prefix_keys(row.weights, row.tokens, row.indexed, row.key):
            self._by_prefix[key] = row
            row.indexed, row.key = end, key

    def longest_prefix(self, weights: str, tokens: np.ndarray) -> tuple[Row, int, bool] | None:
        """A row with a common prefix, its length, and whether it is cached already or still being computed."""
        for end, key in reversed(prefix_keys(weights, tokens)):
            row = self._by_prefix.get(key)
            if row is None or not row.alive or row.weights != weights or not np.array_equal(row.tokens[:end], tokens[:end]):
                continue
            if row.cached >= end:
                return row, common_prefix(row.tokens, tokens, min(row.cached, len(tokens) - 1)), True
            if row.active is not None:
                return row, end, False
        return None

    def free(self, row: Row) -> None:
        row.alive = False
        if self.by_slot.get(row.slot) is row:
            del self.by_slot[row.slot]
            self._lowest = min(self._lowest, row.slot)
        known = self._by_rollout.get(row.rollout, {})
        if known.get(row.weights) is row:
            del known[row.weights]
            if not known:
                del self._by_rollout[row.rollout]

    def free_slot(self, slots: int) -> int | None:
        """The lowest, so that a step computes as few slots as possible."""
        if len(self.by_slot) >= slots:
            return None
        while self._lowest in self.by_slot:
            self._lowest += 1
        return self._lowest

    def least_recently_used(self, spared: Row | None = None) -> Row | None:
        idle = [row for row in self.by_slot.values() if row.active is None and row is not spared]
        return min(idle, key=lambda row: row.used, default=None)

    def relocate(self, row: Row, slot: int) -> None:
        del self.by_slot[row.slot]
        self._lowest = min(self._lowest, row.slot)
        row.slot = slot
        self.by_slot[slot] = row

    def move(self, slots: list[int]) -> None:
        """Slot `slots[i]` has become slot i."""
        self._lowest = 0
        moved = {old: new for new, old in enumerate(slots)}
        self.by_slot = {moved[slot]: row for slot, row in self.by_slot.items()}
        for slot, row in self.by_slot.items():
            row.slot = slot
