"""Sequence packing: the rows of a batch are concatenated into packs without padding, with the bounds of each row."""

from __future__ import annotations

from dataclasses import dataclass

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

    def wanted_in(self, row: int, among: np.ndarray) -> np.ndarray:
        """Flat positions of a row that are wanted, of those that `among` allows."""
        start, end = self.bounds[row], self.bounds[row + 1]
        return start + np.flatnonzero(among[start:end])


@dataclass
class Pack:
    """What one pass of the model computes."""

    rows: list[int]
    tokens: Tensor
    positions: Tensor
    lengths: list[int]
    #: Which states predict wanted tokens, which tokens those are, and where they lie in the batch.
    states: Tensor
    targets: Tensor
    where: np.ndarray
    candidates: Tensor | None


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


def computed_length(batch: TokenBatch, row: int, among: np.ndarray) -> int:
    """Tokens that are read: the last wanted one is only predicted. 0 where nothing is wanted."""
    wanted = batch.wanted_in(row, among)
    return 0 if wanted.size == 0 else int(wanted[-1] - batch.bounds[row])


def upload(array: np.ndarray, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Without waiting for what the device is still computing."""
    tensor = torch.from_numpy(np.ascontiguousarray(array)).to(dtype=dtype)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def make_pack(batch: TokenBatch, rows: list[int], among: np.ndarray, device: torch.device) -> Pack:
    lengths = [computed_length(batch, row, among) for row in rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    where = [batch.wanted_in(row, among) for row in rows]
    states = [w - batch.bounds[row] - 1 + offset for w, row, offset in zip(where, rows, offsets)]
    tokens = [batch.tokens[batch.bounds[row] : batch.bounds[row] + length] for row, length in zip(rows, lengths)]
    flat = np.concatenate(where)

    count = batch.candidate_count
    candidates = None
    if count > 0:
        candidates = upload(batch.candidates.reshape(-1, count)[flat], device, torch.long)
    return Pack(
        rows=rows,
        tokens=upload(np.concatenate(tokens), device, torch.long),
        positions=upload(np.concatenate([np.arange(length) for length in lengths]), device, torch.long),
        lengths=lengths,
        states=upload(np.concatenate(states), device, torch.long),
        targets=upload(batch.tokens[flat], device, torch.long),
        where=flat,
        candidates=candidates,
    )
