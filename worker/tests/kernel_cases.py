"""Random shapes for the Triton kernels of decoding, each compared with the same arithmetic in float64.

    python kernel_cases.py cuda 48            # compiled, on a GPU
    TRITON_INTERPRET=1 python kernel_cases.py cpu 48

Prints a JSON object: per kernel how many cases ran, and a line for each that failed or did not fit the chip, with its shape.
"""

from __future__ import annotations

import json
import os
import random
import sys
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ludus_worker import decode_attention, decode_draw, decode_kernels, decode_math, slot_state
from ludus_worker.cache import SlotCache
from ludus_worker.draws import uniforms
from ludus_worker.prefill_batch import PrefillBatch, PrefillInput
from ludus_worker.slot_state import SlotState

#: Rounding to the type, of numbers around 1: what a few operations may add up to.
tolerances = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
#: Triton's interpreter keeps bfloat16 as integers: it converts to float32 and back, and computes nothing in it.
arithmetic = (torch.float32, torch.float16) if os.environ.get("TRITON_INTERPRET") == "1" else tuple(tolerances)
anything = tuple(tolerances)


@dataclass
class Case:
    """Draws sizes and numbers; the sizes that were drawn name the case."""

    device: str
    seed: int
    dtypes: tuple[torch.dtype, ...]

    def __post_init__(self):
        self.rng = random.Random(self.seed)
        self.sizes: dict[str, object] = {"seed": self.seed}
        self.generator = torch.Generator(self.device).manual_seed(self.seed)
        self.dtype: torch.dtype = self.choose("dtype", self.dtypes)

    def choose(self, name: str, options):
        self.sizes[name] = self.rng.choice(options)
        return self.sizes[name]

    def integer(self, name: str, low: int, high: int) -> int:
        return self.choose(name, range(low, high + 1))

    def note(self, name: str, value) -> None:
        self.sizes[name] = value

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, device=self.device, generator=self.generator).to(self.dtype)

    def tensor(self, values) -> Tensor:
        return torch.tensor(values, device=self.device)

    def check(self, what: str, got: Tensor, expected: Tensor, tolerance: float | None = None) -> None:
        tolerance = tolerances[self.dtype] if tolerance is None else tolerance
        if got.shape != expected.shape:
            raise AssertionError(f"{what} has shape {tuple(got.shape)} instead of {tuple(expected.shape)}")
        off = (got.double() - expected.double()).abs() / expected.double().abs().clamp(min=1)
        worst = off.max().item()
        # not a number is not less either
        if not worst <= tolerance:
            place = [int(i) for i in torch.unravel_index(off.nan_to_num(float("inf")).argmax(), off.shape)]
            raise AssertionError(f"{what} is off by {worst:.3g} at {place}, allowed {tolerance:.3g}")


def heads(case: Case) -> tuple[int, int, int]:
    groups, repeats = case.integer("groups", 1, 4), case.integer("repeats", 1, 8)
    return groups * repeats, groups, case.choose("width", (16, 32, 64, 128))


def rotations(case: Case, length: int, width: int) -> tuple[Tensor, Tensor]:
    angles = case.normal(length, width // 2).float().repeat(1, 2)
    return angles.cos().to(case.dtype), angles.sin().to(case.dtype)


def norms(case: Case, width: int) -> tuple[Tensor | None, Tensor | None]:
    return (case.normal(width), case.normal(width)) if case.choose("normed", (False, True)) else (None, None)


def wide(*tensors: Tensor | None) -> list[Tensor | None]:
    return [None if tensor is None else tensor.double() for tensor in tensors]


def attend(case: Case) -> None:
    shape = count, groups, width = heads(case)
    length, slots = case.integer("length", 1, 150), case.integer("slots", 1, 4)
    ends = [0, length - 1, (length - 1) // 2]
    places = [case.rng.choice([*ends, case.rng.randrange(length)]) for _ in range(slots)]
    case.note("positions", places)
    cos, sin = rotations(case, length, width)
    query_norm, key_norm = norms(case, width)
    joint = case.normal(slots, (count + 2 * groups) * width)
    # one slot of the cache takes no part
    keys, values = case.normal(slots + 1, groups, length, width), case.normal(slots + 1, groups, length, width)
    known_keys, known_values = keys.double(), values.double()

    absent = case.rng.choice([None, *range(slots)])
    case.note("of another owner", absent)
    owners = case.tensor([2 if slot == absent else 1 for slot in range(slots)])
    out = torch.zeros(slots, count * width, device=case.device, dtype=case.dtype)
    got = decode_attention.attend(
        joint, keys, values, case.tensor(places), cos, sin, query_norm, key_norm, 1e-6, owners=owners, owner=1, out=out
    )

    turns = cos[places].double()[:, None], sin[places].double()[:, None]
    q, k, v = decode_math.query_key_value(joint.double(), *turns, *wide(query_norm, key_norm), shape, 1e-6)
    # queries and keys are multiplied as they are kept, rounded
    q, k = q.to(case.dtype).double(), k.to(case.dtype).double()
    expected = torch.zeros(slots, count, width, device=case.device, dtype=torch.float64)
    for slot, place in enumerate(places):
        if slot == absent:
            continue
        known_keys[slot, :, place], known_values[slot, :, place] = k[slot], v[slot]
        for head in range(count):
            group = head // (count // groups)
            scores = known_keys[slot, group, : place + 1] @ q[slot, head] * width**-0.5
            expected[slot, head] = scores.softmax(0) @ known_values[slot, group, : place + 1]
    case.check("what is attended to", got, expected.flatten(1))
    case.check("the cache of keys", keys, known_keys)
    case.check("the cache of values", values, known_values, 0)


def prefill(case: Case) -> None:
    """Rows of different lengths one after the other, with leftover tokens and tiles at the end: written, then attended to."""
    shape = count, groups, width = heads(case)
    rows, length = case.integer("rows", 1, 3), case.integer("length", 1, 150)
    slots = case.rng.sample(range(rows + 2), rows)
    lengths = [case.rng.randint(1, length) for _ in range(rows)]
    starts = [case.rng.choice([0, length - n, case.rng.randint(0, length - n)]) for n in lengths]
    for name, values in (("slots", slots), ("lengths", lengths), ("starts", starts)):
        case.note(name, values)
    cos, sin = rotations(case, length, width)
    query_norm, key_norm = norms(case, width)
    batch = PrefillBatch(slots, [np.zeros(n, np.int32) for n in lengths], starts)
    flat = batch.flat(decode_attention.tile_tokens(count, groups))
    size, tiles = len(flat.tokens) + case.integer("leftover", 0, 9), len(flat.tiles) + case.integer("empty tiles", 0, 3)
    given = PrefillInput.of(flat.on_device(torch.device(case.device), size, tiles), size, tiles)
    joint = case.normal(size, (count + 2 * groups) * width)
    keys, values = case.normal(rows + 2, groups, length, width), case.normal(rows + 2, groups, length, width)
    known_keys, known_values = keys.double(), values.double()

    queries = decode_attention.spread(joint, keys, values, given.slots, given.positions, cos, sin, query_norm, key_norm, 1e-6)
    got = torch.zeros(size, count * width, device=case.device, dtype=case.dtype)
    decode_attention.attend_tiles(queries, keys, values, given.tiles, got)

    first = 0
    for slot, n, start in zip(slots, lengths, starts):
        part, place = slice(first, first + n), slice(start, start + n)
        first += n
        turns = cos[place].double()[:, None], sin[place].double()[:, None]
        q, k, v = decode_math.query_key_value(joint[part].double(), *turns, *wide(query_norm, key_norm), shape, 1e-6)
        known_keys[slot, :, place], known_values[slot, :, place] = k.transpose(0, 1), v.transpose(0, 1)
        case.check(f"queries of slot {slot}", queries[part], q)
        past = keys[slot, :, : start + n].double().repeat_interleave(count // groups, 0)
        scores = queries[part].double().transpose(0, 1) @ past.transpose(1, 2) * width**-0.5
        hidden = torch.ones(n, start + n, device=case.device, dtype=torch.bool).triu(start + 1)
        seen = values[slot, :, : start + n].double().repeat_interleave(count // groups, 0)
        expected = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ seen
        case.check(f"what slot {slot} attends to", got[part], expected.transpose(0, 1).flatten(1))
    case.check("the cache of keys", keys, known_keys)
    case.check("the cache of values", values, known_values, 0)
    if first < size:
        case.check("what no tile covers", got[first:], torch.zeros_like(got[first:]), 0)


def copy(case: Case) -> None:
    layers, slots, groups = case.integer("layers", 1, 3), case.integer("slots", 2, 6), case.integer("groups", 1, 4)
    width, length = case.choose("width", (16, 64, 128)), case.integer("length", 1, 90)
    cache = SlotCache(layers, groups, width, torch.device(case.device), case.dtype, 1 << 30)
    cache.resize(slots, length, [])
    for tensor in (*cache.keys, *cache.values):
        tensor.copy_(case.normal(*tensor.shape))
    sources = case.rng.sample(range(slots), case.integer("sources", 1, slots - 1))
    targets = [slot for slot in range(slots) if slot not in sources]
    copies = [(case.rng.choice(sources), target, case.rng.randint(0, length)) for target in targets]
    case.note("copies", copies)
    known = [tensor.clone() for tensor in (*cache.keys, *cache.values)]

    cache.copy(copies, kernel=True)

    for tensor, expected in zip((*cache.keys, *cache.values), known):
        for source, target, n in copies:
            expected[target, :, :n] = expected[source, :, :n]
        case.check("the cache", tensor, expected, 0)


def advance(case: Case) -> None:
    slots = case.integer("slots", 1, 400)
    taking_part = case.integer("taking part", 1, slots)
    states = [SlotState(slots, torch.device(case.device)) for _ in range(2)]
    rng = np.random.default_rng(case.seed)
    numbers = rng.integers(0, 3, (len(slot_state.fields), slots))
    token = case.tensor(rng.integers(0, 3, taking_part))
    logprob = case.normal(taking_part).float()
    for kernel, state in enumerate(states):
        state.write(np.arange(slots), numbers, np.ones(slots))
        state.advance(taking_part, 1, token, logprob, kernel=bool(kernel))
    case.check("the state", states[1].numbers, states[0].numbers, 0)
    case.check("the result", states[1].result, states[0].result, 0)


def draw(case: Case) -> None:
    edges = (1, 2, 3, 127, 128, 129, 4095, 4096, 4097, 8193)
    vocabulary = case.choose("vocabulary", (*edges, *(2 * case.rng.randrange(3000) + 1 for _ in edges)))
    rows = case.integer("rows", 1, 5)
    logits = case.choose("sharpness", (1, 3, 10)) * case.normal(rows, vocabulary)
    seeds = [case.rng.randrange(1 << 53) for _ in range(rows)]
    before = [case.rng.choice((0, 1, case.rng.randrange(1 << 20))) for _ in range(rows)]
    inverse = [case.rng.choice((1.0, case.rng.uniform(0.3, 3))) for _ in range(rows)]
    greedy = [case.rng.choice((0, 0, 1)) for _ in range(rows)]
    for name, values in (("seeds", seeds), ("positions", before), ("inverse temperatures", inverse), ("greedy", greedy)):
        case.note(name, values)
    temperatures = case.tensor(inverse).float()

    tokens, logprobs = decode_draw.draw(logits, case.tensor(seeds), case.tensor(before), temperatures, case.tensor(greedy))

    scaled = logits.double() * temperatures.double()[:, None]
    known = scaled.log_softmax(-1)
    running = known.exp().cumsum(-1)
    goals = uniforms(case.tensor(seeds), case.tensor(before) + 1)
    for row, token in enumerate(tokens.tolist()):
        if not 0 <= token < vocabulary:
            raise AssertionError(f"row {row} drew {token}")
        if greedy[row]:
            case.check(f"the logit of the token of row {row}", scaled[row, token][None], scaled[row].max()[None], 1e-6)
        else:
            low, high, goal = running[row, token] - known[row, token].exp(), running[row, token], goals[row]
            if not low - 1e-5 <= goal <= high + 1e-5:
                raise AssertionError(f"row {row} drew {token}, whose share is {low:.6f} to {high:.6f}, with {goal:.6f}")
    case.check("log-probabilities", logprobs, known.gather(1, tokens[:, None])[:, 0], 1e-4)


def between(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    width = case.choose("width", (1, 2, 3, 31, 32, 33, 127, 128, 129, 1025, case.rng.randrange(1, 600)))
    outer = case.choose("outer", ((1,), (5,), (2, 3), (3, 1)))
    return case.normal(*outer, width), case.normal(*outer, width), case.normal(width)


def norm(case: Case) -> None:
    x, _, weight = between(case)
    case.check("the norm", decode_kernels.norm(x, weight, 1e-6), decode_math.norm(x.float(), weight.float(), 1e-6))


def add_norm(case: Case) -> None:
    x, more, weight = between(case)
    total, normed = decode_kernels.add_norm(x, more, weight, 1e-6)
    # what is normed is the sum after rounding
    case.check("the sum", total, x + more, 0)
    case.check("the norm of the sum", normed, decode_math.norm((x + more).float(), weight.float(), 1e-6))


def gated(case: Case) -> None:
    x, more, _ = between(case)
    joint = torch.cat([x, more], -1)
    case.check("the gate", decode_kernels.gated(joint), decode_math.gated(joint.double()))


kernels = {
    "attend": (attend, arithmetic),
    "prefill": (prefill, arithmetic),
    "copy": (copy, anything),
    "advance": (advance, (torch.float32,)),
    "draw": (draw, anything),
    "norm": (norm, arithmetic),
    "add_norm": (add_norm, arithmetic),
    "gated": (gated, arithmetic),
}


def run(device: str, count: int) -> dict[str, dict]:
    results = {}
    for name, (check, dtypes) in kernels.items():
        failed, refused = [], []
        for seed in range(count):
            case = Case(device, seed, dtypes)
            try:
                check(case)
            except Exception as problem:
                sizes = ", ".join(f"{key} {value}" for key, value in case.sizes.items())
                kind = type(problem).__name__
                # too large for the chip: the worker then decodes without kernels
                (refused if kind == "OutOfResources" else failed).append(f"{name}, {sizes}: {kind}: {problem}")
        results[name] = {"ran": count - len(refused), "failed": failed, "refused": refused}
    return results


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]))))
