"""Where the time of sampling goes on a GPU: seconds and kernels of decode steps and prefill, with Triton kernels and with PyTorch's.

    python bench/gpu/decode_step.py

256 sequences of a model of Qwen2.5-0.5B's shape with random weights.
"""

import pathlib
import sys
import time

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "worker"))

from ludus_worker.active_request import Request  # noqa: E402
from ludus_worker.engine import Engine, EngineOptions  # noqa: E402
from ludus_worker.decoding import length_bucket, slot_bucket  # noqa: E402
from ludus_worker.prefill_batch import PrefillBatch  # noqa: E402

config = {
    "model_type": "qwen2", "vocab_size": 151936, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 1e6,
    "initializer_range": 0.02, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
    "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True,
    "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
}  # fmt: skip
sequences, prompt, new, length = 256, 128, 256, 384


def sample(engine: Engine, round_: int) -> float:
    prompts = np.random.default_rng(round_).integers(10, 151926, (sequences, prompt))
    torch.cuda.synchronize()
    start = time.perf_counter()
    for i, tokens in enumerate(prompts):
        engine.sample(Request(tokens.tolist(), new, seed=1000 * round_ + i), lambda _: None)
    while engine.sampler.has_work:
        engine.sampler.step()
    torch.cuda.synchronize()
    return time.perf_counter() - start


for attention in ("triton", "sdpa"):
    engine = Engine(EngineOptions(config=config, device="cuda", max_rows=512, attention=attention))
    seconds = [sample(engine, i) for i in range(5)][2:]
    print(f"{attention}: {sequences * new / sorted(seconds)[1]:.0f} tokens/s in one process", flush=True)
    sampler = engine.sampler
    weights, _ = sampler.weights("policy")
    slots = min(slot_bucket(sequences), sampler.cache.slots)

    def step() -> None:
        state = sampler.decoding.state
        state.positions[:], state.owners[:], state.left[:] = length - 2, 1, 1 << 40
        sampler.decoder.step(weights, sampler.cache, state, slots, min(length_bucket(length), sampler.cache.length))

    def prompts() -> None:
        rows = list(np.random.default_rng(0).integers(10, 151926, (sequences, prompt - 1)))
        sampler.decoder.prefill(weights, sampler.cache, PrefillBatch(list(range(sequences)), rows, [0] * sequences))

    for name, work, times in (("a step", step, 50), (f"{sequences} prompts", prompts, 4)):
        for _ in range(3):
            work()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(times):
            work()
        torch.cuda.synchronize()
        print(f"{attention}: {(time.perf_counter() - start) / times * 1e3:.2f} ms for {name}", flush=True)
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            for _ in range(4):
                work()
            torch.cuda.synchronize()
        for event in sorted(seen.key_averages(), key=lambda event: -event.device_time_total)[:14]:
            print(f"   {event.device_time_total / 4000:.3f} ms, {event.count // 4} times: {event.key[:100]}")
    del engine, sampler, weights
    torch.cuda.empty_cache()
