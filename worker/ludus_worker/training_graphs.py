"""Forward and backward passes over small packs as CUDA graphs.

A pass over a few thousand tokens of a small model takes the device a fraction of the time that Python needs to launch its kernels. Here
the kernels of a pass are recorded once for each size and then replayed: packs are padded to a few sizes with a row that nothing is wanted of.
Where a pass cannot be recorded, the usual way is taken.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from . import attention_kernels
from .head import Derivatives, Head
from .packing import Pack, ramps
from .weight_set import WeightSet, value_head_name

log = logging.getLogger("ludus")

#: Larger passes keep the device busy without this: the smaller the model, the more tokens that takes.
most_parameters = 150_000_000
#: Of all sizes that are kept; each holds the activations of a pass.
most_kept_tokens = 24 << 13


def most_tokens(parameters: int) -> int:
    return min(1 << 16, max(1 << 13, 200_000_000_000 // max(1, parameters)))


def rounded(count: int, least: int, parts: int) -> int:
    """Up to the next of so many sizes between powers of two."""
    step = max(least, (1 << (count - 1).bit_length()) // (2 * parts))
    return -(-count // step) * step


@dataclass(frozen=True)
class Size:
    tokens: int
    states: int
    blocks: int
    temperature: float


class Recorded:
    """One size of pass over one set of weights."""

    def __init__(self, size: Size, weights: WeightSet, head: Head, device: torch.device):
        self.size, self.weights, self.head, self.device = size, weights, head, device
        #: Which forward pass its activations are of.
        self.ticket = 0
        count = 2 * size.tokens + 2 * size.states
        self.numbers_in = torch.zeros(count, dtype=torch.long, device=device)
        self.tokens, self.positions, self.states_at, self.targets = self.numbers_in.split(
            [size.tokens, size.tokens, size.states, size.states]
        )
        self.blocks = torch.full((size.blocks, 3), size.tokens, dtype=torch.int32, device=device)
        has_values = weights.value is not None
        self.d = torch.zeros(3 if has_values else 2, size.states, device=device)

    def record(self) -> None:
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(2):
                self._backward(*self._forward())
        torch.cuda.current_stream(self.device).wait_stream(side)
        torch.cuda.synchronize(self.device)
        self.forward_graph, self.backward_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.forward_graph, capture_error_mode="thread_local"):
            self.hidden, self.picked = self._forward()
            self.results = self._results(self.picked)
        with torch.cuda.graph(self.backward_graph, pool=self.forward_graph.pool(), capture_error_mode="thread_local"):
            self.gradients = self._backward(self.hidden, self.picked)
        # only their memory is needed from here on
        del self.hidden
        self.picked = self.picked.detach()

    def _forward(self) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            hidden = self.weights.model.hidden_states(self.tokens, self.positions, {"blocks": self.blocks})
            return hidden, hidden[self.states_at]

    def _results(self, picked: Tensor) -> Tensor:
        bare, model = picked.detach(), self.weights.model
        numbers = self.head.numbers(bare, model.head, self.targets, self.size.temperature)
        parts = [numbers.logprobs, numbers.entropies]
        if self.weights.value is not None:
            parts.append(bare.float() @ self.weights.value[0].detach())
        return torch.stack(parts)

    def _backward(self, hidden: Tensor, picked: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        model, weights, bare = self.weights.model, self.weights, picked.detach()
        d = Derivatives(logprobs=self.d[0], entropies=self.d[1])
        of_head = torch.zeros(model.head.shape, device=self.device)
        gradient = self.head.gradient(bare, model.head.detach(), self.targets, self.size.temperature, d, None, of_head)
        extra = {model.head_name: of_head}
        if weights.value is not None:
            gradient = gradient + (self.d[2][:, None] * weights.value.detach()).to(gradient.dtype)
            extra[value_head_name] = (self.d[2] @ bare.float())[None]
        names = [name for name in weights.parameters if name != value_head_name]
        found = torch.autograd.grad(picked, [weights.parameters[name] for name in names], gradient, allow_unused=True)
        of_body = {name: tensor for name, tensor in zip(names, found) if tensor is not None}
        return extra, of_body

    def replay_forward(self) -> None:
        self.forward_graph.replay()

    def replay_backward(self) -> None:
        self.backward_graph.replay()

    def forward(self, pack: Pack) -> Tensor:
        self._fill(pack)
        self.replay_forward()
        return self.results[:, : len(pack.where)]

    def _host(self, shape: torch.Size, dtype: torch.dtype) -> Tensor:
        # new each time: the copy before may still be on its way
        return torch.zeros(shape, dtype=dtype, pin_memory=self.device.type == "cuda")

    def _fill(self, pack: Pack) -> None:
        size = self.size
        host = self._host(self.numbers_in.shape, torch.long)
        flat = host.numpy()
        used, states = sum(pack.lengths), len(pack.where)
        rows = padded_lengths(pack.lengths, size.tokens)
        flat[:used] = pack.token_ids
        flat[size.tokens : 2 * size.tokens] = ramps(rows)
        flat[2 * size.tokens : 2 * size.tokens + states] = pack.state_places
        flat[2 * size.tokens + size.states :][:states] = pack.target_ids
        self.numbers_in.copy_(host, non_blocking=True)
        blocks = self._host(self.blocks.shape, torch.int32)
        found = attention_kernels.blocks_of(rows)
        blocks.numpy()[: len(found)] = found
        # blocks of no row: they begin where they end
        blocks.numpy()[len(found) :] = size.tokens
        self.blocks.copy_(blocks, non_blocking=True)

    def backward(self, derivatives: np.ndarray) -> None:
        """`derivatives`: as many rows as `d`, as many columns as states were wanted."""
        host = self._host(self.d.shape, torch.float32)
        host.numpy()[:, : derivatives.shape[1]] = derivatives
        self.d.copy_(host, non_blocking=True)
        self.replay_backward()
        self.weights.fold_copies(*self.gradients)


def padded_lengths(lengths: list[int], tokens: int) -> list[int]:
    """With rows of at most a block each, up to so many tokens."""
    missing = tokens - sum(lengths)
    block = attention_kernels.block_tokens
    return [*lengths, *([block] * (missing // block)), *([missing % block] if missing % block else [])]


class Graphs:
    kind = Recorded

    def __init__(self, head: Head, device: torch.device):
        self.head, self.device = head, device
        self.sizes: dict[tuple[str, Size], Recorded] = {}
        self.works = True
        self.tickets = 0

    def size_of(self, weights: WeightSet, pack: Pack, temperature: float) -> Size | None:
        """None where a pass is not to be recorded."""
        if not self.works or pack.candidates is not None or not weights.trainable or weights.adapter is not None:
            return None
        used, parameters = sum(pack.lengths), sum(master.numel() for master in weights.masters.values())
        if parameters > most_parameters or used > most_tokens(parameters):
            return None
        tokens = rounded(used, 256, 4)
        blocks = sum(-(-length // attention_kernels.block_tokens) for length in padded_lengths(pack.lengths, tokens))
        return Size(tokens, rounded(len(pack.where), 128, 2), rounded(blocks, 64, 1), temperature)

    def find(self, weights: WeightSet, pack: Pack, temperature: float) -> Recorded | None:
        size = self.size_of(weights, pack, temperature)
        if size is None:
            return None
        key = (weights.name, size)
        known = self.sizes.pop(key, None)
        if known is None or known.weights is not weights:
            known = self._record(size, weights)
            if known is None:
                return None
        self.sizes[key] = known  # the last used comes last
        while len(self.sizes) > 1 and sum(size.tokens for _, size in self.sizes) > most_kept_tokens:
            self.sizes.pop(next(iter(self.sizes)))
        self.tickets += 1
        known.ticket = self.tickets
        return known

    def _record(self, size: Size, weights: WeightSet) -> Recorded | None:
        recorded = self.kind(size, weights, self.head, self.device)
        try:
            recorded.record()
            return recorded
        except Exception as problem:  # whatever a kernel does that cannot be recorded
            log.warning("training without CUDA graphs (%s)", str(problem).split("\n")[0])
            self.works = False
            self.clear()
            return None

    def clear(self) -> None:
        """Frees their memory; passes whose activations were there are computed anew."""
        for each in self.sizes.values():
            each.ticket = 0
        self.sizes.clear()

    def forget(self, weights: WeightSet) -> None:
        self.sizes = {key: each for key, each in self.sizes.items() if each.weights is not weights}
