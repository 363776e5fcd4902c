"""The rollouts of `npm run bench -- gpu-turns` through transformers on the same GPU, all of a batch beside each other, turn by turn.

    python bench/gpu/turn_baselines.py --config '{"hidden_size": ...}' --cells '[{"rollouts": 64, "fresh": [12, 12], "observation": [12, 12]}]'

`generate` keeps its KV cache from one turn to the next; that needs rows of equal lengths, so where lengths vary it gets the
whole history, padded on the left. `recompute` gives it the whole history in every turn. Weights are random; the last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np
import torch

turns, prompt = 4, 64


def say(*words) -> None:
    print(*words, file=sys.stderr, flush=True)


def sync() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class Rollouts:
    """Lengths and tokens of a cell's rollouts."""

    def __init__(self, cell: dict, vocabulary: int, seed: int):
        rng = np.random.default_rng(seed)
        between = lambda pair: rng.integers(pair[0], pair[1] + 1, (cell["rollouts"], turns))  # noqa: E731
        self.fresh, self.seen = between(cell["fresh"]), between(cell["observation"])
        self.prompts = rng.integers(0, vocabulary, (cell["rollouts"], prompt))
        self.observations = rng.integers(0, vocabulary, (cell["rollouts"], turns, int(self.seen.max())))
        self.are_equal = len(set(self.fresh.ravel().tolist())) == 1 and len(set(self.seen.ravel().tolist())) == 1

    @property
    def tokens(self) -> int:
        return int(self.fresh.sum())


def options(most: int) -> dict:
    return {"do_sample": True, "top_k": 0, "top_p": 1.0, "max_new_tokens": most, "min_new_tokens": most, "pad_token_id": 0}


def with_cache(model, rollouts: Rollouts, device: torch.device) -> None:
    ids = torch.from_numpy(rollouts.prompts).to(device)
    cache = None
    for turn in range(turns):
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), past_key_values=cache, return_dict_in_generate=True,
            **options(int(rollouts.fresh[0, turn])),
        )  # fmt: skip
        cache = out.past_key_values
        seen = torch.from_numpy(rollouts.observations[:, turn, : rollouts.seen[0, turn]]).to(device)
        ids = torch.cat([out.sequences, seen], 1)


def from_history(model, rollouts: Rollouts, device: torch.device) -> None:
    histories = [row.tolist() for row in rollouts.prompts]
    for turn in range(turns):
        longest = max(map(len, histories))
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in histories], device=device)
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in histories], device=device)
        # a row that needs fewer tokens than the longest one waits for it, as with a stop token
        made = model.generate(ids, attention_mask=mask, **options(int(rollouts.fresh[:, turn].max())))[:, longest:].tolist()
        for i, row in enumerate(histories):
            row += made[i][: rollouts.fresh[i, turn]]
            row += rollouts.observations[i, turn, : rollouts.seen[i, turn]].tolist()


@torch.no_grad()
def warm_up(model, cell: dict, vocabulary: int, device: torch.device) -> None:
    """A few tokens of as many rollouts."""
    ids = torch.randint(0, vocabulary, (cell["rollouts"], prompt), device=device)
    model.generate(ids, attention_mask=torch.ones_like(ids), **options(8))


def rate(name: str, play, model, cell: dict, vocabulary: int, device: torch.device, rounds: int) -> float:
    warm_up(model, cell, vocabulary, device)
    seconds = []
    for i in range(rounds):
        rollouts = Rollouts(cell, vocabulary, i)
        sync()
        start = time.perf_counter()
        with torch.no_grad():
            play(model, rollouts, device)
        sync()
        seconds.append(time.perf_counter() - start)
    rates = sorted(Rollouts(cell, vocabulary, i).tokens / seconds[i] for i in range(rounds))
    best = rates[len(rates) // 2]
    say(f"{name}, {cell['rollouts']} rollouts, {cell['fresh']} new: {best:.0f} tokens/s")
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--cells", required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    import transformers
    from transformers import AutoModelForCausalLM, Qwen2Config

    device = torch.device(arguments.device)
    config = {key: value for key, value in json.loads(arguments.config).items() if key != "model_type"}
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(Qwen2Config(**config), attn_implementation="sdpa", dtype=dtype).eval()
    rates = []
    for cell in json.loads(arguments.cells):
        measure = lambda name, play: rate(name, play, model, cell, config["vocab_size"], device, arguments.rounds)  # noqa: B023, E731
        found = {"recompute": measure("recompute", from_history)}
        # without equal lengths, generate cannot go on with its cache
        found["generate"] = measure("generate", with_cache) if Rollouts(cell, 10, 0).are_equal else found["recompute"]
        rates.append(found)
        if device.type == "cuda":
            torch.cuda.empty_cache()
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    print(json.dumps({"device": name, "torch": torch.__version__, "transformers": transformers.__version__, "rates": rates}))


main()
