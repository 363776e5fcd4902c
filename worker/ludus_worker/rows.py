"""The sequences in the cache: who gets a slot, who shares what another has computed, who gives way."""

from __future__ import annotations

from dataclasses import dataclass, field

from .answer import Answer

#: Beginnings are looked up in steps of so many tokens.
share_step = 16


@dataclass(eq=False)
class Row:
    slot: int
    weights: str
    tokens: list[int]
    #: Tokens whose keys and values the cache holds.
    cached: int
    #: Absent while the rollout is elsewhere, between two turns.
    answer: Answer | None
    rollout: str
    used: int
    alive: bool = True

    @property
    def ready(self) -> bool:
        """All but the last token is computed."""
        return self.answer is not None and self.cached == len(self.tokens) - 1


def beginnings(weights: str, tokens: list[int]) -> list[tuple[int, int]]:
    """Length and key of every beginning of whole steps, longest first."""
    keys: list[tuple[int, int]] = []
    key = hash(weights)
    for end in range(share_step, len(tokens), share_step):
        key = hash((key, tuple(tokens[end - share_step : end])))
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
    _by_beginning: dict[int, Row] = field(default_factory=dict)
    _by_rollout: dict[tuple[str, str], Row] = field(default_factory=dict)

    def __iter__(self):
        return iter(list(self.by_slot.values()))

    @property
    def active(self) -> list[Row]:
        return [row for row in self.by_slot.values() if row.answer is not None]

    def own(self, weights: str, rollout: str) -> Row | None:
        row = self._by_rollout.get((weights, rollout)) if rollout else None
        return row if row is not None and row.alive and row.answer is None else None

    def add(self, row: Row) -> None:
        self.by_slot[row.slot] = row
        if row.rollout:
            self._by_rollout[row.weights, row.rollout] = row
        self.index(row)

    def index(self, row: Row) -> None:
        if len(self._by_beginning) > 100_000:
            self._by_beginning = {key: known for key, known in self._by_beginning.items() if known.alive}
        for _, key in beginnings(row.weights, row.tokens):
            self._by_beginning[key] = row

    def longest_share(self, weights: str, tokens: list[int]) -> tuple[Row, int, bool] | None:
        """A row with a common beginning, its length, and whether it is there already or only being computed."""
        for end, key in beginnings(weights, tokens):
            row = self._by_beginning.get(key)
            if row is None or not row.alive or row.weights != weights or row.tokens[:end] != tokens[:end]:
                continue
            if row.cached >= end:
                return row, common_prefix(row.tokens, tokens, min(row.cached, len(tokens) - 1)), True
            if row.answer is not None:
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

    def longest_idle(self, spared: Row | None = None) -> Row | None:
        idle = [row for row in self.by_slot.values() if row.answer is None and row is not spared]
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
