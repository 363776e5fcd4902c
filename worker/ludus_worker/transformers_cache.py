"""The KV cache of one sequence, and the cache of transformers that several are joined to.

Rows are padded on the left, so that all end at the same place: windows of sliding attention then cover the same tokens as alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class RowCache:
    #: Tokens that it has seen; a layer with a window keeps the keys of the last ones alone.
    length: int = 0
    #: Keys and values `[heads, kept, width]`; None for a layer that shares those of another.
    layers: list[tuple[Tensor, Tensor] | None] = field(default_factory=list)

    def cropped(self, length: int) -> RowCache:
        """The first tokens of it; nothing where a window has dropped what they need."""
        if length == self.length:
            return self
        if length == 0 or any(layer is not None and layer[0].shape[1] < self.length for layer in self.layers):
            return RowCache()
        return RowCache(length, [layer and (layer[0][:, :length], layer[1][:, :length]) for layer in self.layers])

    def copied(self) -> RowCache:
        """Memory of its own: a piece of a batch would keep the whole of it."""
        return RowCache(self.length, [layer and (layer[0].clone(), layer[1].clone()) for layer in self.layers])


def joined(config, rows: list[RowCache]):
    """A cache of transformers that holds these rows, as if they had been computed together with padding on the left."""
    from transformers import DynamicCache

    cache = DynamicCache(config=config)
    longest = max(row.length for row in rows)
    if longest == 0:
        return cache
    example = next(row for row in rows if row.length == longest)
    for index, layer in enumerate(cache.layers):
        if example.layers[index] is None:
            continue
        pairs = [row.layers[index] if row.length > 0 else None for row in rows]
        keys, values = (padded([pair and pair[which] for pair in pairs], example.layers[index][which]) for which in (0, 1))
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        if layer.is_sliding:
            layer.cumulative_length = longest
    return cache


def padded(parts: list[Tensor | None], example: Tensor) -> Tensor:
    kept = example.shape[1]
    empty = example[:, :0]
    pieces = [empty if part is None else part for part in parts]
    return torch.stack([F.pad(piece, (0, 0, kept - piece.shape[1], 0)) for piece in pieces])


def row_of(cache, index: int, length: int) -> RowCache:
    """A row of a joined cache; views of its memory."""
    if length == 0:
        return RowCache()

    def part(tensor: Tensor) -> Tensor:
        return tensor[index, :, max(0, tensor.shape[2] - length) :]

    filled = [layer.is_initialized and layer.keys.numel() > 0 for layer in cache.layers]
    return RowCache(length, [(part(layer.keys), part(layer.values)) if there else None for layer, there in zip(cache.layers, filled)])


def token_bytes(cache, rows: int, tokens: int) -> int:
    """Bytes that one token of one row takes, measured on a small cache."""
    layers = [layer for layer in cache.layers if layer.is_initialized]
    return sum(tensor.nbytes for layer in layers for tensor in (layer.keys, layer.values)) // (rows * tokens)
