"""From states to log-probabilities, entropies and values, and back, in float32 and in chunks: full logits never exist.

n states, D width, V vocabulary, K candidates of a state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from . import head_kernels

#: Numbers of one chunk of logits.
chunk_numbers = {"cuda": 1 << 29, "cpu": 1 << 22}
#: With kernels that write derivatives over the logits a chunk is in memory once, not twice.
fused_chunk_numbers = 1 << 30


@dataclass
class Numbers:
    logprobs: Tensor
    entropies: Tensor
    candidates: Tensor | None = None
    alternative_tokens: Tensor | None = None
    alternative_logprobs: Tensor | None = None


@dataclass
class Derivatives:
    """dLoss/d… for each state; what is absent is 0."""

    logprobs: Tensor | None = None
    entropies: Tensor | None = None
    values: Tensor | None = None
    candidates: Tensor | None = None


def _stats(states: Tensor, weight: Tensor, targets: Tensor, inverse_temperature: float):
    logits = (states @ weight.T).float() * inverse_temperature
    total = torch.logsumexp(logits, -1)
    entropies = total - (torch.softmax(logits, -1) * logits).sum(-1)
    return logits.gather(-1, targets[:, None])[:, 0] - total, entropies, logits, total


def _log_probs(states: Tensor, weight: Tensor, targets: Tensor, inverse_temperature: float):
    logprobs, entropies, _, _ = _stats(states, weight, targets, inverse_temperature)
    return logprobs, entropies


def _logit_derivatives(
    states: Tensor,
    weight: Tensor,
    targets: Tensor,
    inverse_temperature: float,
    d_logprobs: Tensor,
    d_entropies: Tensor | None,
    candidates: Tensor | None,
    d_candidates: Tensor | None,
) -> Tensor:
    logprobs = torch.log_softmax((states @ weight.T).float() * inverse_temperature, -1)
    probabilities = logprobs.exp()
    total = d_logprobs if d_candidates is None else d_logprobs + d_candidates.sum(-1)
    out = -probabilities * total[:, None]
    if d_entropies is not None:
        # dH/dlogit_j = -p_j (log p_j + H)
        entropies = -(probabilities * logprobs).sum(-1, keepdim=True)
        out = out - d_entropies[:, None] * probabilities * (logprobs + entropies)
    # a comparison joins the other operations in one kernel when compiled; a scatter would not
    is_target = torch.arange(weight.shape[0], device=weight.device) == targets[:, None]
    out = out + torch.where(is_target, d_logprobs[:, None], 0.0)
    if d_candidates is not None:
        out = out.scatter_add(-1, candidates, d_candidates)
    return (out * inverse_temperature).to(states.dtype)


@dataclass
class Head:
    """The functions of this file, compiled or not; `fused` with the kernels of `head_kernels` where there are no candidates."""

    compile: bool = False
    fused: bool = False
    log_probs: callable = field(init=False)
    logit_derivatives: callable = field(init=False)

    def __post_init__(self) -> None:
        wrap = torch.compile if self.compile else (lambda function: function)
        self.log_probs, self.logit_derivatives = wrap(_log_probs), wrap(_logit_derivatives)

    def chunks(self, states: Tensor, weight: Tensor) -> list[slice]:
        size = max(1, chunk_numbers.get(states.device.type, 1 << 24) // weight.shape[0])
        return [slice(start, start + size) for start in range(0, states.shape[0], size)]

    def _logits_by_chunk(self, states: Tensor, weight: Tensor):
        """Chunks of about equal size and their logits, which are only there until the next chunk."""
        count = states.shape[0]
        chunks = max(1, -(-count * weight.shape[0] // fused_chunk_numbers))
        size = -(-count // chunks)
        size = min(count, -(-size // 64) * 64)
        logits = torch.empty(size, weight.shape[0], device=states.device, dtype=states.dtype)
        for start in range(0, count, size):
            part = states[start : start + size]
            yield slice(start, start + size), torch.mm(part, weight.T, out=logits[: part.shape[0]])

    @torch.no_grad()
    def numbers(
        self,
        states: Tensor,
        weight: Tensor,
        targets: Tensor,
        temperature: float,
        candidates: Tensor | None = None,
        alternatives: int = 0,
    ) -> Numbers:
        if self.fused and candidates is None and alternatives == 0:
            parts = [
                head_kernels.numbers(logits, targets[chunk], 1 / temperature)
                for chunk, logits in self._logits_by_chunk(states, weight)
            ]
            return Numbers(*(torch.cat(tensors) for tensors in zip(*parts)))
        parts: list[list[Tensor]] = []
        for chunk in self.chunks(states, weight):
            if candidates is None and alternatives == 0:
                parts.append([*self.log_probs(states[chunk], weight, targets[chunk], 1 / temperature)])
                continue
            logprobs, entropies, logits, total = _stats(states[chunk], weight, targets[chunk], 1 / temperature)
            part = [logprobs, entropies]
            if candidates is not None:
                part.append(logits.gather(-1, candidates[chunk]) - total[:, None])
            if alternatives > 0:
                top = logits.topk(alternatives, -1)
                part += [top.indices.int(), top.values - total[:, None]]
            parts.append(part)
        joined = [torch.cat(tensors) for tensors in zip(*parts)]
        numbers = Numbers(*joined[:2])
        if candidates is not None:
            numbers.candidates = joined[2]
        if alternatives > 0:
            numbers.alternative_tokens, numbers.alternative_logprobs = joined[-2:]
        return numbers

    @torch.no_grad()
    def gradient(
        self,
        states: Tensor,
        weight: Tensor,
        targets: Tensor,
        temperature: float,
        derivatives: Derivatives,
        candidates: Tensor | None,
        weight_gradient: Tensor | None,
    ) -> Tensor:
        """The gradient of the states; that of the weight is added to `weight_gradient`."""
        out = torch.empty_like(states)
        d = derivatives
        if self.fused and d.candidates is None:
            for chunk, logits in self._logits_by_chunk(states, weight):
                entropies = None if d.entropies is None else d.entropies[chunk]
                head_kernels.derivatives_in_place(logits, targets[chunk], 1 / temperature, d.logprobs[chunk], entropies)
                torch.mm(logits, weight, out=out[chunk])
                if weight_gradient is not None:
                    head_kernels.add_product(weight_gradient, logits.T, states[chunk])
            return out
        for chunk in self.chunks(states, weight):
            part = [None if x is None else x[chunk] for x in (d.logprobs, d.entropies, candidates, d.candidates)]
            d_logits = self.logit_derivatives(states[chunk], weight, targets[chunk], 1 / temperature, *part)
            torch.mm(d_logits, weight, out=out[chunk])
            if weight_gradient is not None:
                head_kernels.add_product(weight_gradient, d_logits.T, states[chunk])
        return out
