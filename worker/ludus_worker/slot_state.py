"""What the device knows of each slot: enough to draw tokens and to notice the end of a sequence without the host.

B slots taking part, S slots.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

#: Stop tokens of a slot that the device compares. A request with more is watched by the host.
stop_count = 4
fields = ("token", "position", "seed", "greedy", "owner", "left", *(f"stop{i}" for i in range(stop_count)))
#: In the last row of a result: no token was drawn, one was, and it is the last of its sequence.
none, drawn, ended = 0, 1, 2

if triton is not None:

    @triton.jit
    def _advance(
        state, result, tokens, logprobs, owner, slots, all_slots, stops: tl.constexpr, block: tl.constexpr,
    ):  # fmt: skip
        slot = tl.program_id(0) * block + tl.arange(0, block)
        is_slot = slot < slots
        at = state + slot
        is_live = is_slot & (tl.load(at + 4 * all_slots, mask=is_slot, other=0) == owner)
        token = tl.load(tokens + slot, mask=is_slot, other=0)
        position = tl.load(at + all_slots, mask=is_slot, other=0) + 1
        left = tl.load(at + 5 * all_slots, mask=is_slot, other=0) - 1
        is_end = left <= 0
        for i in tl.static_range(stops):
            is_end = is_end | (tl.load(at + (6 + i) * all_slots, mask=is_slot, other=-1) == token)
        tl.store(at, token, mask=is_live)
        tl.store(at + all_slots, position, mask=is_live)
        tl.store(at + 5 * all_slots, left, mask=is_live)
        tl.store(at + 4 * all_slots, tl.zeros_like(token), mask=is_live & is_end)
        logprob = tl.load(logprobs + slot, mask=is_slot, other=0.0)
        tl.store(result + slot, token.to(tl.int32), mask=is_slot)
        tl.store(result + all_slots + slot, logprob.to(tl.int32, bitcast=True), mask=is_slot)
        tl.store(result + 2 * all_slots + slot, tl.where(is_live, tl.where(is_end, 2, 1), 0), mask=is_slot)


class SlotState:
    """A step advances tokens and positions, counts down what is left, and clears the owner of a sequence that ends."""

    def __init__(self, slots: int, device: torch.device):
        self.slots, self.device = slots, device
        self.numbers = torch.zeros(len(fields), slots, dtype=torch.long, device=device)
        self.inverse_temperature = torch.ones(slots, device=device)
        #: Tokens, the bits of their log-probabilities, and `none`, `drawn` or `ended`.
        self.result = torch.zeros(3, slots, dtype=torch.int32, device=device)
        self.tokens, self.positions, self.seeds, self.greedy, self.owners, self.left = self.numbers[:6]
        self.stops = self.numbers[6:]

    def write(self, slots: np.ndarray, numbers: np.ndarray, temperatures: np.ndarray) -> None:
        """`numbers` [fields, n] of some slots; in the order of the device's work, and nothing is waited for."""
        inverse = 1.0 / np.where(temperatures == 0, 1.0, temperatures)
        packed = torch.from_numpy(np.concatenate([slots[None], numbers, inverse.view(np.int64)[None]]))
        on_device = upload(packed, self.device)
        index = on_device[0]
        self.numbers.index_copy_(1, index, on_device[1:-1])
        self.inverse_temperature.index_copy_(0, index, on_device[-1].view(torch.float64).float())

    def advance(self, slots: int, owner: int, token: Tensor, logprob: Tensor, kernel: bool) -> None:
        """Takes the tokens drawn for the slots of an owner."""
        if kernel:
            grid = (triton.cdiv(slots, 128),)
            _advance[grid](
                self.numbers, self.result, token, logprob, owner, slots, self.slots, stops=stop_count, block=128, num_warps=4
            )
            return
        part = self.numbers[:, :slots]
        is_live = part[4] == owner
        left = part[5] - 1
        is_end = (left <= 0) | (part[6:] == token).any(0)
        self.result[0, :slots] = token.int()
        self.result[1, :slots] = logprob.float().view(torch.int32)
        self.result[2, :slots] = is_live.int() + (is_live & is_end).int()
        part[0] = torch.where(is_live, token, part[0])
        part[1] = part[1] + is_live
        part[5] = torch.where(is_live, left, part[5])
        part[4] = torch.where(is_live & is_end, 0, part[4])


def upload(host: Tensor, device: torch.device) -> Tensor:
    """To the device without waiting; the pinned copy lives until it has been read."""
    if device.type != "cuda":
        return host.to(device)
    return host.pin_memory().to(device, non_blocking=True)
