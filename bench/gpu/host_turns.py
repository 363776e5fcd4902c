"""What the worker's Python costs in a turn, without a GPU: the sampler and its messages with a decoder that computes nothing.

    python bench/gpu/host_turns.py [--rollouts 512] [--rounds 16]

Every rollout has a prompt of 64 tokens and four turns of 12 new tokens, with 12 observed between them. The baseline, in the same
run and in turns: the same with Python's garbage collector as it starts. The last line of output is one JSON object, with processor time in
microseconds a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import pathlib
import sys
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "worker"))

from ludus_worker import cache, engine as engines  # noqa: E402
from ludus_worker.decoder import Decoder  # noqa: E402
from ludus_worker.protocol import messages  # noqa: E402
from ludus_worker.sample_stream import SampleStream, batch_of  # noqa: E402
from ludus_worker.service import unscanned  # noqa: E402

warmup = 2
prompt, turns, fresh, observed, vocabulary = 64, 4, 12, 12, 259
config = {
    "model_type": "llama", "vocab_size": vocabulary, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
    "tie_word_embeddings": True, "rope_theta": 10000.0, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
}  # fmt: skip


class FreeDecoder(Decoder):
    """Takes what the kernels take, and draws a token that follows from its position."""

    def __init__(self, model, **options):
        super().__init__(model, **(options | {"attention": "sdpa", "compile": False, "graphs": False}))
        self.is_triton = True

    def step(self, weights, slot_cache, state, slots, length, owner=1, prefill=None):
        if prefill is not None:
            size = prefill.flat(self.tile_tokens).size
            prefill.flat(self.tile_tokens).on_device(self.device, size, size // 4)
        token = (state.positions[:slots] * 7 + 3) % vocabulary
        state.advance(slots, owner, token, torch.full((slots,), -0.5), kernel=False)
        return self.logits[:slots]

    def prefill(self, weights, slot_cache, batch):
        flat = batch.flat(self.tile_tokens)
        flat.on_device(self.device, len(flat.tokens), len(flat.tiles))


def free_resize(self, slots: int, length: int, kept: list[int]) -> None:
    self.slots, self.length = slots, length


def batch_message(rows: list[tuple[int, np.ndarray]], round_: int, released: list[str]) -> bytes:
    batch = messages.SampleBatch(released=released)
    if rows:
        group = batch.groups.add()
        group.options.temperature, group.options.weights = 1.0, "policy"
        group.numbers = np.array([number for number, _ in rows], "<i4").tobytes()
        group.lengths = np.array([len(tokens) for _, tokens in rows], "<i4").tobytes()
        group.tokens = np.concatenate([tokens for _, tokens in rows]).tobytes()
        group.max_tokens = np.full(len(rows), fresh, "<i4").tobytes()
        group.seeds = np.array([number for number, _ in rows], "<f8").tobytes()
        group.rollouts.extend(f"{round_}-{number}" for number, _ in rows)
    return batch.SerializeToString()


def play(engine, stream: SampleStream, calls: list, rollouts: int, round_: int) -> float:
    """Nanoseconds of this thread for all turns, from the bytes of a request to those of a reply."""
    rng = np.random.default_rng(round_)
    draw = lambda count: rng.integers(0, vocabulary, count).astype(np.int32)  # noqa: E731
    histories = [draw(prompt) for _ in range(rollouts)]
    taken, asked, released, spent = [0] * rollouts, list(enumerate(histories)), [], 0
    while any(count < turns for count in taken):
        data = batch_message(asked, round_, released)
        asked, released, replies = [], [], b""
        start = time.thread_time_ns()
        stream.take(messages.SampleBatch.FromString(data))
        while calls:
            calls.pop(0)()
        while not stream.replies:
            engine.sampler.step()
        replies = batch_of([stream.replies.popleft() for _ in range(len(stream.replies))]).SerializeToString()
        spent += time.thread_time_ns() - start
        reply = messages.SampleBatchReply.FromString(replies)
        numbers, lengths, tokens = (np.frombuffer(part, "<i4") for part in (reply.numbers, reply.lengths, reply.tokens))
        for number, said in zip(numbers.tolist(), np.split(tokens, np.cumsum(lengths)[:-1])):
            taken[number] += 1
            if taken[number] == turns:
                released.append(f"{round_}-{number}")
                continue
            histories[number] = np.concatenate([histories[number], said, draw(observed)])
            asked.append((number, histories[number]))
    stream.take(messages.SampleBatch.FromString(batch_message([], round_, released)))
    while calls:
        calls.pop(0)()
    return spent


async def main() -> None:
    parser = argparse.ArgumentParser(description="Processor time of the worker's Python for a turn.")
    parser.add_argument("--rollouts", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=16)
    options = parser.parse_args()
    torch.set_num_threads(1)
    engines.Decoder, cache.SlotCache.resize = FreeDecoder, free_resize
    cache.SlotCache.copy = lambda *_, **__: None
    usual = gc.get_threshold()
    engine = engines.Engine(engines.EngineOptions(config=config, device="cpu", max_rows=options.rollouts, run_ahead=True))
    calls: list = []
    stream = SampleStream(calls.append, lambda: engine, lambda _: None)
    spent: dict[str, list[float]] = {"worker": [], "usual": []}
    # in blocks: a full collection comes after many rounds
    for block, name in enumerate(("usual", "worker", "usual", "worker")):
        with unscanned():
            pass
        if name == "usual":
            gc.unfreeze()
            gc.set_threshold(*usual)
        for i in range(options.rounds):
            nanoseconds = play(engine, stream, calls, options.rollouts, block * options.rounds + i)
            if block > 0 or i >= warmup:
                spent[name].append(nanoseconds / 1000 / (options.rollouts * turns))
    mean = {name: float(np.mean(values)) for name, values in spent.items()}
    out = {"us_per_turn": mean["worker"], "best_us_per_turn": min(spent["worker"]), "us_per_turn_usual_collector": mean["usual"]}
    print(json.dumps({name: round(value, 2) for name, value in out.items()} | {"ratio": round(mean["usual"] / mean["worker"], 2)}))


asyncio.run(main())
