"""Tried out when a model is opened: transformers has hundreds of families, and one that computes something else in a batch, with a
cache or through its head alone would be trained on wrong numbers without a word."""

from __future__ import annotations

import torch
from torch import Tensor

from .errors import LudusError
from .families import described, unsupported
from .transformers_cache import joined, row_of, token_bytes
from .transformers_model import TransformersModel


@torch.no_grad()
def check_numbers(model: TransformersModel) -> int:
    """Refuses a model whose logits depend on how they are computed; returns the bytes that a token takes in the KV cache."""
    name = described(model.options.config)
    rows = _rows(model)
    try:
        expected = [model.causal(row[None], use_cache=False).logits[0] for row in rows]
        ways = {"in a padded batch": _side_by_side(model, rows), "with a KV cache": _with_cache(model, rows)}
        size = _bytes_of_token(model, rows[0])
    except (torch.OutOfMemoryError, LudusError):
        raise
    except Exception as problem:
        got = f"{name}, whose forward fails: {type(problem).__name__}: {problem}"
        raise unsupported(got, "a decoder that takes input_ids, a padding mask and a KV cache", "Choose another model.") from problem
    for way, found in ways.items():
        for ours, theirs in zip(found, expected):
            difference = _difference(ours, theirs)
            if not difference < (0.1 if model.options.dtype != torch.float32 else 1e-3):
                got = f"{name}, whose logits {way} differ by {difference:.2g} of their deviation from those of a row alone"
                raise unsupported(got, "the same logits up to rounding", "Choose another model: this one would be trained on wrong numbers.")
    return size


def _difference(ours: Tensor, theirs: Tensor) -> float:
    """The mean, not the largest: in bfloat16 a token that is routed to another expert may have very different logits."""
    ours, theirs = ours.float(), theirs[-len(ours) :].float()
    return ((ours - theirs).abs().mean() / theirs.std().clamp(min=1e-6)).item()


def _rows(model: TransformersModel) -> list[Tensor]:
    """Two of different lengths, the longer one beyond a short window."""
    vocabulary, device = model.config.vocab_size, model.options.device
    window = getattr(model.config, "sliding_window", None) or 0
    longest = min(model.context - 1, window + 8 if 0 < window <= 64 else 24)
    lengths = [max(2, longest), max(2, longest // 2)]
    return [(torch.arange(n, device=device) * 7919 + 13 * n) % vocabulary for n in lengths]


def _side_by_side(model: TransformersModel, rows: list[Tensor]) -> list[Tensor]:
    lengths = [len(row) for row in rows]
    states = model.hidden_states(torch.cat(rows), torch.empty(0), {"lengths": lengths})
    return [model.head(part) for part in states.split(lengths)]


def _with_cache(model: TransformersModel, rows: list[Tensor]) -> list[Tensor]:
    """The last logits, after a first part of each row has been cached alone and a second one next to the other row's."""
    parts = []
    for row in rows:
        cache = joined(model.config, [row_of(None, 0, 0)])
        first = row[None, :-1]
        places = torch.arange(first.shape[1], device=row.device)[None]
        model.extend(first, torch.ones_like(first), places, cache)
        parts.append(row_of(cache, 0, first.shape[1]))
    lengths = torch.tensor([[len(row)] for row in rows], device=rows[0].device)
    longest = int(lengths.max())
    mask = (torch.arange(longest, device=lengths.device) >= longest - lengths).long()
    last = torch.stack([row[-1:] for row in rows])
    return [logits[None] for logits in model.next_logits(last, mask, lengths - 1, joined(model.config, parts))]


def _bytes_of_token(model: TransformersModel, row: Tensor) -> int:
    cache = joined(model.config, [row_of(None, 0, 0)])
    first = row[None, :1]
    model.extend(first, torch.ones_like(first), torch.zeros_like(first), cache)
    return token_bytes(cache, 1, 1)
