"""The KV cache of all layers: a slot for each sequence, all as long as the longest needs.

S slots, G key/value heads, T positions, W width of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .errors import LudusError


def round_up(number: int, step: int) -> int:
    return -(-number // step) * step


class SlotCache:
    def __init__(self, layers: int, groups: int, width: int, device: torch.device, dtype: torch.dtype, max_bytes: int):
        self.layers, self.groups, self.width, self.device, self.dtype = layers, groups, width, device, dtype
        self.max_bytes = max_bytes
        self.slots = self.length = 0
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def slots_at(self, length: int) -> int:
        """How many slots of a length the memory holds."""
        per_slot = 2 * self.layers * self.groups * length * self.width * self.dtype.itemsize
        return self.max_bytes // per_slot

    def too_small(self, length: int) -> LudusError:
        mib = self.max_bytes // max(1, self.slots_at(1)) * length / 2**20
        return LudusError(
            "cache-too-small",
            f"a sequence of {length} tokens, whose KV cache takes {mib:.1f} MiB",
            f"at most {self.max_bytes / 2**20:.1f} MiB",
            "Raise maxCacheBytes, or shorten the sequence.",
        )

    def resize(self, slots: int, length: int, kept: list[int]) -> None:
        """New memory; the slots in `kept` become slots 0, 1, …."""
        index = torch.tensor(kept, dtype=torch.long, device=self.device)
        shared = min(length, self.length)
        for each in (self.keys, self.values):
            for layer in range(self.layers):
                # one layer at a time: old and new memory of a single one exist together
                new = torch.zeros(
                    slots, self.groups, length, self.width, device=self.device, dtype=self.dtype
                )
                if kept:
                    new[: len(kept), :, :shared] = each[layer][index, :, :shared]
                if layer < len(each):
                    each[layer] = new
                else:
                    each.append(new)
        self.slots, self.length = slots, length

    def copy(self, sources: list[int], targets: list[int], length: int) -> None:
        """Copies the cached prefix of some slots to others."""
        source, target = torch.tensor([sources, targets], dtype=torch.long, device=self.device)
        for each in (self.keys, self.values):
            for tensor in each:
                tensor[target, :, :length] = tensor[source, :, :length]
