"""Sequence packing: the rows of a batch are concatenated into packs without padding, with the bounds of each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from .errors import LudusError


@dataclass
class TokenBatch:
    """A batch as it was sent: everything flat, row b from bounds[b] to bounds[b + 1]."""

    lengths: np.ndarray
    tokens: np.ndarray
    mask: np.ndarray
    candidate_count: int
    candidates: np.ndarray | None

    def __post_init__(self) -> None:
        self._check()
        self.bounds = np.concatenate([[0], np.cumsum(self.lengths)])
        self.wanted = self.mask != 0
        self.wanted[self.bounds[:-1]] = False  # nothing precedes the first token

    def _check(self) -> None:
        """The TypeScript side checks rows too; this is for other clients, and before anything is indexed."""
        if self.lengths.size == 0 or self.lengths.min() < 1:
            raise LudusError("length-mismatch", f"rows of lengths {self.lengths.tolist()}", "rows of at least one token")
        total = int(self.lengths.sum())
        sizes = {"tokens": (self.tokens, 1), "mask": (self.mask, 1), "candidates": (self.candidates, self.candidate_count)}
        for name, (array, width) in sizes.items():
            if array is not None and array.size != total * width:
                raise LudusError("length-mismatch", f"{name} of length {array.size}", f"{total * width}, as the rows say")

    @property
    def total(self) -> int:
        return int(self.bounds[-1])

    def computed_lengths(self, among: np.ndarray) -> np.ndarray:
        """Tokens of each row that are read: the last wanted one is only predicted. 0 where nothing is wanted."""
        wanted = np.flatnonzero(among)
        last = self.bounds[:-1].copy()
        # of several that are written to one place, the last stays
        last[np.searchsorted(self.bounds, wanted, side="right") - 1] = wanted
        return last - self.bounds[:-1]


def ramps(lengths: np.ndarray | list[int]) -> np.ndarray:
    """0, 1, 2, ... for each of the lengths, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)


@dataclass
class Pack:
    """What one pass of the model computes: as it is here, and, once asked for, on the device."""

    rows: list[int]
    lengths: list[int]
    token_ids: np.ndarray
    #: Which states predict wanted tokens, which tokens those are, and where they lie in the batch.
    state_places: np.ndarray
    target_ids: np.ndarray
    where: np.ndarray
    candidate_ids: np.ndarray | None
    device: torch.device

    def _upload(self, array: np.ndarray) -> Tensor:
        return upload(array, self.device, torch.long)

    @cached_property
    def tokens(self) -> Tensor:
        return self._upload(self.token_ids)

    @cached_property
    def positions(self) -> Tensor:
        return self._upload(ramps(self.lengths))

    @cached_property
    def states(self) -> Tensor:
        return self._upload(self.state_places)

    @cached_property
    def targets(self) -> Tensor:
        return self._upload(self.target_ids)

    @cached_property
    def candidates(self) -> Tensor | None:
        return None if self.candidate_ids is None else self._upload(self.candidate_ids)


def default_budget(config, head_width: int, number_bytes: int, *, free: int, is_checkpointed: bool) -> int:
    """Tokens of a pack on a GPU with so many bytes free for training; more where what a pass keeps is sure to fit."""
    heads = config.num_attention_heads + 2 * config.num_key_value_heads
    # an upper estimate: inputs of norms, products and attention, and both sides of the gate
    of_layer = 10 * config.hidden_size + 4 * config.intermediate_size + 2 * heads * head_width
    kept = config.num_hidden_layers * config.hidden_size + of_layer if is_checkpointed else config.num_hidden_layers * of_layer
    large, usual = 1 << 15, 1 << 14
    return large if large * kept * number_bytes < 0.7 * free else usual


def plan(lengths: dict[int, int], budget: int, padded: bool = False) -> list[list[int]]:
    """Rows, longest first, in packs of at most `budget` tokens; a longer row is a pack of its own. Depends on lengths alone, never on timing.

    With `padded`, every row takes as many tokens as the longest of its pack.
    """
    packs: list[list[int]] = []
    used = budget
    for row in sorted(lengths, key=lambda row: (-lengths[row], row)):
        cost = lengths[packs[-1][0]] if padded and packs else lengths[row]
        if used + cost > budget:
            packs.append([])
            used, cost = 0, lengths[row]
        packs[-1].append(row)
        used += cost
    return packs


def upload(array: np.ndarray, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Without waiting for what the device is still computing."""
    tensor = torch.from_numpy(np.ascontiguousarray(array)).to(dtype=dtype)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def make_pack(batch: TokenBatch, rows: list[int], among: np.ndarray, device: torch.device) -> Pack:
    lengths = batch.computed_lengths(among)[rows]
    read = np.repeat(batch.bounds[:-1][rows], lengths) + ramps(lengths)
    states = np.flatnonzero(among[read + 1])
    where = read[states] + 1
    count = batch.candidate_count
    return Pack(
        rows=rows,
        lengths=lengths.tolist(),
        token_ids=batch.tokens[read],
        state_places=states,
        target_ids=batch.tokens[where],
        where=where,
        candidate_ids=batch.candidates.reshape(-1, count)[where] if count > 0 else None,
        device=device,
    )
