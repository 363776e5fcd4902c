"""The tokens of one prefill as the kernels take them: one after the other, with the slot and position of each, and in tiles.

N tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .slot_state import upload

#: Sizes of a prefill that becomes part of a recorded decode step, in tokens; a larger one is a pass of its own.
sizes = (128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)


@dataclass
class PrefillBatch:
    """Tokens `rows[i]` from position `starts[i]` on, for slot `slots[i]`."""

    slots: list[int]
    rows: list[np.ndarray]
    starts: list[int]
    _flat: FlatPrefill | None = None

    def flat(self, tile_tokens: int) -> FlatPrefill:
        if self._flat is None:
            self._flat = FlatPrefill.of(self, tile_tokens)
        return self._flat


@dataclass
class FlatPrefill:
    tokens: np.ndarray
    slots: np.ndarray
    positions: np.ndarray
    #: `[slot, first token, tokens, position of the first]`.
    tiles: np.ndarray

    @staticmethod
    def of(batch: PrefillBatch, tile_tokens: int) -> FlatPrefill:
        lengths = np.array([len(row) for row in batch.rows])
        firsts = np.cumsum(lengths) - lengths
        slot, start = np.array(batch.slots), np.array(batch.starts)
        inside = np.arange(lengths.sum()) - np.repeat(firsts, lengths)
        counts = -(-lengths // tile_tokens)
        row = np.repeat(np.arange(len(lengths)), counts)
        offset = (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)) * tile_tokens
        tiles = np.stack([slot[row], firsts[row] + offset, np.minimum(tile_tokens, lengths[row] - offset), start[row] + offset])
        return FlatPrefill(
            tokens=np.concatenate(batch.rows),
            slots=np.repeat(slot, lengths),
            positions=np.repeat(start, lengths) + inside,
            tiles=tiles.T,
        )

    @property
    def size(self) -> int | None:
        """The smallest of `sizes` that holds it, with a tile for every four tokens; None if it is larger than all."""
        needed = max(len(self.tokens), 4 * len(self.tiles))
        return next((size for size in sizes if size >= needed), None)

    def on_device(self, device: torch.device, size: int, tiles: int) -> Tensor:
        """Everything in one array: tokens, slots and positions of `size` each, then the tiles. What is left over has slot -1."""
        packed = np.full(3 * size + 4 * tiles, -1, np.int32)
        for i, part in enumerate((self.tokens, self.slots, self.positions)):
            packed[i * size : i * size + len(part)] = part
        packed[3 * size : 3 * size + self.tiles.size] = self.tiles.ravel()
        packed[len(self.tokens) : size] = 0
        return upload(torch.from_numpy(packed), device)


@dataclass
class PrefillInput:
    """A flat prefill on the device."""

    tokens: Tensor
    slots: Tensor
    positions: Tensor
    tiles: Tensor

    @staticmethod
    def of(packed: Tensor, size: int, tiles: int) -> PrefillInput:
        tokens, slots, positions = packed[: 3 * size].view(3, size)
        return PrefillInput(tokens, slots, positions, packed[3 * size : 3 * size + 4 * tiles].view(tiles, 4))
