"""Forward and backward passes over packs. A forward pass keeps its autograd graph while memory allows; otherwise backward recomputes it."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from . import attention
from .distributed import Group
from .errors import LudusError
from .head import Derivatives, Head
from .packing import Pack, TokenBatch, make_pack, plan, upload
from .training_graphs import Graphs, Recorded
from .weight_set import WeightSet, value_head_name

log = logging.getLogger("ludus")

#: Tokens whose graphs are kept on devices that do not report free memory.
kept_tokens_elsewhere = 1 << 16


@dataclass
class KeptPass:
    pack: Pack
    #: With its autograd graph; or the recorded pass, whose activations are this pass's as long as it has this ticket.
    states: Tensor | None
    recorded: Recorded | None = None
    ticket: int = 0

    @property
    def is_there(self) -> bool:
        return self.recorded is None or self.recorded.ticket == self.ticket


@dataclass
class ForwardRecord:
    rows: TokenBatch
    weights: WeightSet
    temperature: float
    passes: list[KeptPass] = field(default_factory=list)


class Trainer:
    def __init__(
        self,
        group: Group,
        device: torch.device,
        budget: int,
        head: Head,
        ways: tuple[str, str],
        padded: bool = False,
        records_passes: bool = False,
    ):
        self.group, self.device, self.budget, self.head = group, device, budget, head
        #: What `attention.choose` found.
        self.ways = ways
        #: Rows are padded to the longest of a pass, not packed.
        self.padded = padded
        self.records: dict[int, ForwardRecord] = {}
        can_record = device.type == "cuda" and ways[0] == "triton" and group.size == 1 and records_passes
        self.graphs = Graphs(head, device) if can_record else None

    # -- forward

    def forward(self, id: int, rows: TokenBatch, weights: WeightSet, temperature: float, alternatives: int, deferred: bool):
        """Flat numbers of the batch, 0 where nothing is wanted; with several processes, only those of this one's rows."""
        record = ForwardRecord(rows, weights, temperature)
        out = _Out(rows, alternatives, weights.value is not None)
        if not deferred:
            self._each_pack(rows, rows.wanted, lambda pack: self._forward_pack(record, pack, alternatives, out))
        self.records[id] = record
        return out

    def _forward_pack(self, record: ForwardRecord, pack: Pack | None, alternatives: int, out: _Out) -> None:
        weights = record.weights
        keep = pack is not None and weights.trainable and self.group.size == 1 and self._has_room(pack)
        if keep and self.graphs is not None and alternatives == 0:
            recorded = self.graphs.find(weights, pack, record.temperature)
            if recorded is not None:
                out.put_rows(pack.where, recorded.forward(pack))
                record.passes.append(KeptPass(pack, None, recorded, recorded.ticket))
                return
        with torch.set_grad_enabled(keep):
            states = self._states(weights, pack)
        if pack is None:
            return
        bare = states.detach()
        head = weights.model.head
        numbers = self.head.numbers(bare, head, pack.targets, record.temperature, pack.candidates, alternatives)
        values = None if weights.value is None else bare.float() @ weights.value[0].detach()
        out.put(pack.where, numbers, values)
        if keep:
            record.passes.append(KeptPass(pack, states))

    def _states(self, weights: WeightSet, pack: Pack | None) -> Tensor:
        """The states that predict what is wanted. A rank without rows still takes part in gathering layers."""
        weights.activate()
        if pack is None:
            tokens = positions = torch.zeros(1, dtype=torch.long, device=self.device)
            lengths = [1]
        else:
            tokens, positions, lengths = pack.tokens, pack.positions, pack.lengths
        how = attention.describe(self.ways[max(lengths) > attention.long_row], lengths, self.device)
        hidden = weights.model.hidden_states(tokens, positions, how)
        return hidden if pack is None else hidden[pack.states]

    # -- backward

    def backward(self, id: int, derivatives: dict[str, np.ndarray | None]) -> None:
        record = self.records.get(id)
        if record is None:
            raise LudusError(
                "unknown-forward",
                f"forward {id}",
                "a result of this engine's forward() that has not been used for a backward pass",
                "Each forward pass serves one backward pass; call forward() again.",
            )
        record.weights.check_trainable()
        rows = record.rows
        _check_derivatives(rows, derivatives)
        del self.records[id]
        wanted = rows.wanted & _touched(rows, derivatives)
        if not wanted.any():
            return
        done: set[int] = set()
        while record.passes:
            kept = record.passes[0]
            if not kept.is_there:
                record.passes.pop(0)
                continue
            if wanted[kept.pack.where].any() and not self._try(lambda: self._from_kept(record, kept, derivatives)):
                break  # no memory: what is left is computed anew, in smaller packs
            done.update(kept.pack.rows)
            record.passes.pop(0)
            del kept
        record.passes.clear()
        todo = wanted.copy()
        for row in done:
            todo[rows.bounds[row] : rows.bounds[row + 1]] = False
        self._each_pack(rows, todo, lambda pack: self._backward_pack(record, pack, derivatives))

    def _from_kept(self, record: ForwardRecord, kept: KeptPass, derivatives: dict) -> None:
        if kept.recorded is not None:
            _backward_recorded(kept.recorded, kept.pack, derivatives)
            return
        record.weights.activate()
        self._apply(record, kept.pack, kept.states, derivatives)

    def _backward_pack(self, record: ForwardRecord, pack: Pack | None, derivatives: dict) -> None:
        if pack is not None and self.graphs is not None and self._has_room(pack):
            recorded = self.graphs.find(record.weights, pack, record.temperature)
            if recorded is not None:
                recorded.forward(pack)
                _backward_recorded(recorded, pack, derivatives)
                return
        with torch.enable_grad():
            states = self._states(record.weights, pack)
        if pack is None:
            states.backward(torch.zeros_like(states))
            record.weights.fold({})
        else:
            self._apply(record, pack, states, derivatives)

    def _apply(self, record: ForwardRecord, pack: Pack, states: Tensor, derivatives: dict) -> None:
        """Derivatives through the head, which is ours, then through the body, which is autograd's."""
        weights, model = record.weights, record.weights.model
        weights.drop_partial()

        def at_pack(name: str, width: int = 1) -> Tensor | None:
            flat = derivatives.get(name)
            if flat is None:
                return None
            picked = flat.reshape(-1, width)[pack.where] if width > 1 else flat[pack.where]
            return upload(picked, self.device)

        d_candidates = at_pack("candidates", record.rows.candidate_count) if pack.candidates is not None else None
        if d_candidates is not None:
            d_candidates = d_candidates.view(pack.candidates.shape)
        d_logprobs = at_pack("logprobs")
        d = Derivatives(
            logprobs=torch.zeros(len(pack.where), device=self.device) if d_logprobs is None else d_logprobs,
            entropies=at_pack("entropies"),
            values=at_pack("values"),
            candidates=d_candidates,
        )
        head = model.head
        extra: dict[str, Tensor] = {}
        bare = states.detach()
        # the head is frozen under adapters
        if head.requires_grad:
            extra[model.head_name] = torch.zeros(head.shape, device=self.device)
        gradient = self.head.gradient(
            bare, head.detach(), pack.targets, record.temperature, d, pack.candidates, extra.get(model.head_name)
        )
        if d.values is not None and weights.value is not None:
            gradient += (d.values[:, None] * weights.value.detach()).to(gradient.dtype)
            extra[value_head_name] = (d.values @ bare.float())[None]
        states.backward(gradient)
        weights.fold(extra)

    # -- memory

    def _each_pack(self, rows: TokenBatch, among: np.ndarray, compute: Callable[[Pack | None], None]) -> None:
        lengths = {row: length for row, length in enumerate(rows.computed_lengths(among).tolist()) if length > 0}
        pending = plan(lengths, self.budget, self.padded)
        if self.group.size > 1:
            # all ranks make the same number of passes: gathering a layer is a collective
            rounds = -(-len(pending) // self.group.size)
            mine = pending[self.group.rank :: self.group.size]
            for i in range(rounds):
                compute(make_pack(rows, mine[i], among, self.device) if i < len(mine) else None)
            return
        while pending:
            pack = pending[0]
            if self._try(lambda: compute(make_pack(rows, pack, among, self.device))):
                pending.pop(0)
                continue
            dropped = self.drop_graphs()
            tokens = sum(lengths[row] for row in pack)
            if len(pack) == 1 and not dropped:
                raise LudusError(
                    "out-of-memory",
                    f"a row of {tokens} tokens that does not fit the memory of {self.device}",
                    "rows that fit one by one",
                    "Use checkpointActivations, LoRA, shorter rows, a smaller maxCacheBytes or more devices.",
                )
            if len(pack) > 1:
                self.budget = max(1, min(self.budget, tokens) // 2)
            log.warning("out of memory: packs now hold at most %d tokens", self.budget)
            pending = plan({row: lengths[row] for rows_of in pending for row in rows_of}, self.budget, self.padded)

    def _try(self, compute: Callable[[], None]) -> bool:
        """False when memory ran out; nothing of a failed pass has been added to a gradient."""
        try:
            compute()
            return True
        except torch.OutOfMemoryError:
            pass
        if self.graphs is not None:
            self.graphs.clear()
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return False

    def _has_room(self, pack: Pack) -> bool:
        if self.device.type == "cuda":
            free, total = torch.cuda.mem_get_info(self.device)
            unused = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
            return free + unused > 0.35 * total
        kept = sum(len(k.pack.tokens) for record in self.records.values() for k in record.passes)
        return kept + len(pack.tokens) <= kept_tokens_elsewhere

    def drop_graphs(self, weights: WeightSet | None = None) -> bool:
        """Drops autograd graphs, of given weights or all; their rows stay, so that backward can recompute them."""
        dropped = 0
        for record in self.records.values():
            if weights is None or record.weights is weights:
                dropped += len(record.passes)
                record.passes.clear()
        if dropped > 0 and weights is None:
            log.warning("released %d forward passes that no backward has used; backward will compute them anew", dropped)
        return dropped > 0

    def release(self, ids: Iterable[int]) -> None:
        forgotten = [id for id in ids if self.records.pop(id, None) is not None]
        if forgotten:
            log.debug("released %d forward passes", len(forgotten))

    def forget(self, weights: WeightSet) -> None:
        if self.graphs is not None:
            self.graphs.forget(weights)
        self.records = {id: record for id, record in self.records.items() if record.weights is not weights}


def _backward_recorded(recorded: Recorded, pack: Pack, derivatives: dict[str, np.ndarray | None]) -> None:
    parts = [derivatives.get(name) for name in ("logprobs", "entropies", "values")[: len(recorded.d)]]
    nothing = np.zeros(len(pack.where), np.float32)
    recorded.backward(np.stack([nothing if flat is None else flat[pack.where] for flat in parts]))


def _check_derivatives(rows: TokenBatch, derivatives: dict[str, np.ndarray | None]) -> None:
    for name, flat in derivatives.items():
        expected = rows.total * (rows.candidate_count if name == "candidates" else 1)
        if flat is not None and flat.size != expected:
            raise LudusError("length-mismatch", f"derivatives of {name} of length {flat.size}", f"{expected}, as in the forward pass")


def _touched(rows: TokenBatch, derivatives: dict[str, np.ndarray | None]) -> np.ndarray:
    """Where any derivative is not 0."""
    touched = np.zeros(rows.total, dtype=bool)
    for name, flat in derivatives.items():
        if flat is None:
            continue
        touched |= (flat.reshape(rows.total, -1) != 0).any(1) if name == "candidates" else flat != 0
    return touched


class _Out:
    def __init__(self, rows: TokenBatch, alternatives: int, has_values: bool):
        n = rows.total
        self.logprobs = np.zeros(n, np.float32)
        self.entropies = np.zeros(n, np.float32)
        self.values = np.zeros(n, np.float32) if has_values else None
        self.candidates = np.zeros((n, rows.candidate_count), np.float32) if rows.candidate_count else None
        self.alternative_tokens = np.zeros((n, alternatives), np.int32) if alternatives else None
        self.alternative_logprobs = np.zeros((n, alternatives), np.float32) if alternatives else None

    def put(self, where: np.ndarray, numbers, values: Tensor | None) -> None:
        for name in ("logprobs", "entropies", "candidates", "alternative_tokens", "alternative_logprobs"):
            target = getattr(self, name)
            if target is not None:
                target[where] = getattr(numbers, name).cpu().numpy()
        if values is not None:
            self.values[where] = values.cpu().numpy()

    def put_rows(self, where: np.ndarray, rows: Tensor) -> None:
        """Log-probabilities, entropies and, where there are any, values, in one copy."""
        for target, row in zip((self.logprobs, self.entropies, self.values), rows.cpu().numpy()):
            target[where] = row


