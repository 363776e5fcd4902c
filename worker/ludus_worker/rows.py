"""The sequences in the KV cache: slots, prefix sharing, eviction."""

from __future__ import annotations

from dataclasses import dataclass, field

from .active_request import ActiveRequest

#: Prefixes are looked up in blocks of this many tokens.
prefix_block = 16


@dataclass(eq=False)
class Row:
    slot: int
    weights: str
    tokens: list[int]
    #: Tokens that the KV cache holds.
    cached: int
    #: Absent between two turns of the rollout.
    active: ActiveRequest | None
    rollout: str
    used: int
    alive: bool = True

    @property
    def ready(self) -> bool:
        """Prefilled: all tokens but the last are cached."""
        return self.active is not None and self.cached == len(self.tokens) - 1


def prefix_keys(weights: str, tokens: list[int]) -> list[tuple[int, int]]:
    """Length and key of every prefix of whole blocks, longest first."""
    keys: list[tuple[int, int]] = []
    key = hash(weights)
    for end in range(prefix_block, len(tokens), prefix_block):
        key = hash((key, tuple(tokens[end - prefix_block : end])))
        keys.append((end, key))
    return keys[::-1]


def common_prefix(a: list[int], b: list[int], limit: int) -> int:
    limit = min(len(a), len(b), limit)
    if a[:limit] == b[:limit]:
        return limit
    return next(i for i in range(limit) if a[i] != b[i])


@dataclass
class Rows:
    by_slot: dict[int, Row] = field(default_factory=dict)
    _by_prefix: dict[int, Row] = field(default_factory=dict)
    _by_rollout: dict[tuple[str, str], Row] = field(default_factory=dict)

    def __iter__(self):
        return iter(list(self.by_slot.values()))

    @property
    def active(self) -> list[Row]:
        return [row for row in self.by_slot.values() if row.active is not None]

    def own(self, weights: str, rollout: str) -> Row | None:
        row = self._by_rollout.get((weights, rollout)) if rollout else None
        return row if row is not None and row.alive and row.active is None else None

    def add(self, row: Row) -> None:
        self.by_slot[row.slot] = row
        if row.rollout:
            self._by_rollout[row.weights, row.rollout] = row
        self.index(row)

    def index(self, row: Row) -> None:
        if len(self._by_prefix) > 100_000:
            self._by_prefix = {key: known for key, known in self._by_prefix.items() if known.alive}
        for _, key in prefix_keys(row.weights, row.tokens):
            self._by_prefix[key] = row

    def longest_prefix(self, weights: str, tokens: list[int]) -> tuple[Row, int, bool] | None:
        """A row with a common prefix, its length, and whether it is cached already or still being computed."""
        for end, key in prefix_keys(weights, tokens):
            row = self._by_prefix.get(key)
            if row is None or not row.alive or row.weights != weights or row.tokens[:end] != tokens[:end]:
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
        if self._by_rollout.get((row.weights, row.rollout)) is row:
            del self._by_rollout[row.weights, row.rollout]

    def free_slot(self, slots: int) -> int | None:
        """The lowest, so that a step computes as few slots as possible."""
        if len(self.by_slot) >= slots:
            return None
        return next(slot for slot in range(slots) if slot not in self.by_slot)

    def least_recently_used(self, spared: Row | None = None) -> Row | None:
        idle = [row for row in self.by_slot.values() if row.active is None and row is not spared]
        return min(idle, key=lambda row: row.used, default=None)

    def relocate(self, row: Row, slot: int) -> None:
        del self.by_slot[row.slot]
        row.slot = slot
        self.by_slot[slot] = row

    def move(self, slots: list[int]) -> None:
        """Slot `slots[i]` has become slot i."""
        moved = {old: new for new, old in enumerate(slots)}
        self.by_slot = {moved[slot]: row for slot, row in self.by_slot.items()}
        for slot, row in self.by_slot.items():
            row.slot = slot
