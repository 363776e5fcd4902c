"""The KV cache of all layers: a slot for each sequence, all as long as the longest needs.

S slots, G key/value heads, T positions, W width of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor

from . import decode_attention
from .errors import LudusError
from .slot_state import upload


def round_up(number: int, step: int) -> int:
    return -(-number // step) * step


class SlotCache:
    def __init__(self, layers: int, groups: int, width: int, device: torch.device, dtype: torch.dtype, max_bytes: int):
        self.layers, self.groups, self.width, self.device, self.dtype = layers, groups, width, device, dtype
        self.max_bytes = max_bytes
        self.slots = self.length = 0
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        #: The addresses of all of them, for a kernel.
        self.places = torch.empty(0)

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
        addresses = [tensor.data_ptr() for tensor in (*self.keys, *self.values)]
        self.places = torch.tensor(addresses, dtype=torch.long, device=self.device)

    def copy(self, copies: list[tuple[int, int, int]], kernel: bool = False) -> None:
        """Slot to copy from, slot to copy to, tokens. No slot is both copied from and copied to."""
        index = upload(torch.tensor(copies, dtype=torch.long), self.device)
        if kernel:
            decode_attention.copy_slots(self.places, index, (self.groups, self.length, self.width), self.dtype)
            return
        for length in {length for _, _, length in copies}:
            source, target, _ = index[index[:, 2] == length].T
            for tensor in (*self.keys, *self.values):
                tensor[target, :, :length] = tensor[source, :, :length]
