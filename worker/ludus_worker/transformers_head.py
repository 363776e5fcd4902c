"""From states to log-probabilities and entropies, and back, where a family's head is more than one product: autograd through the head itself.

n states, D width, V vocabulary, K candidates of a state. In float32 and in chunks, as in head.py: full logits never exist.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .head import Derivatives, Head, Numbers
from .transformers_model import FamilyHead


def _numbers(head: FamilyHead, states: Tensor, targets: Tensor, temperature: float, candidates: Tensor | None):
    """Log-probabilities of targets, entropies, log-probabilities of candidates and of all tokens."""
    logprobs = torch.log_softmax(head(states).float() / temperature, -1)
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    of_candidates = None if candidates is None else logprobs.gather(-1, candidates)
    return logprobs.gather(-1, targets[:, None])[:, 0], entropies, of_candidates, logprobs


class AutogradHead(Head):
    def chunks(self, states: Tensor, weight: FamilyHead) -> list[slice]:
        # autograd keeps several tensors of a chunk's size
        return super().chunks(states, torch.empty(4 * weight.vocabulary, 0))

    @torch.no_grad()
    def numbers(self, states, weight, targets, temperature, candidates=None, alternatives=0) -> Numbers:
        parts: list[list[Tensor | None]] = []
        for chunk in self.chunks(states, weight):
            wanted = None if candidates is None else candidates[chunk]
            found, entropies, of_candidates, logprobs = _numbers(weight, states[chunk], targets[chunk], temperature, wanted)
            part = [found, entropies, of_candidates, None, None]
            if alternatives > 0:
                top = logprobs.topk(alternatives, -1)
                part[3:] = [top.indices.int(), top.values]
            parts.append(part)
        return Numbers(*(None if tensors[0] is None else torch.cat(tensors) for tensors in zip(*parts)))

    def gradient(self, states, weight, targets, temperature, derivatives: Derivatives, candidates, weight_gradient) -> Tensor:
        """The gradient of the states; those of the head's parameters are added to their `.grad`."""
        out = torch.empty_like(states)
        d = derivatives
        for chunk in self.chunks(states, weight):
            with torch.enable_grad():
                leaf = states[chunk].detach().requires_grad_()
                wanted = None if candidates is None else candidates[chunk]
                found = _numbers(weight, leaf, targets[chunk], temperature, wanted)
            given = (d.logprobs, d.entropies, d.candidates)
            pairs = [(number, each[chunk]) for number, each in zip(found, given) if number is not None and each is not None]
            torch.autograd.backward([number for number, _ in pairs], [each for _, each in pairs])
            out[chunk] = leaf.grad
        return out
