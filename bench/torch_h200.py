"""Measures the PyTorch engine on one GPU against transformers; needs Python alone.

    python bench/torch_h200.py                      # 0.5B: sampling, training, a whole step; the last line is JSON
    python bench/torch_h200.py --model 7b --lora    # training with adapters: tokens/s, memory, share of the card's bf16 rate
    python bench/torch_h200.py --only sample --attention matmul

Sampling: 256 prompts of 128 tokens, 256 new tokens each, against `generate` with the same model. Training: rows of 512 tokens
packed, forward, backward and AdamW, against an eager loop over transformers' own model and loss. Weights are random; both sides
have the same shapes. Every figure is the median of the rounds after warm-up.
"""

from __future__ import annotations

import argparse
import gc
import json
import pathlib
import statistics
import sys
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "worker"))

from ludus_worker.answer import Request  # noqa: E402
from ludus_worker.engine import Engine, EngineOptions  # noqa: E402
from ludus_worker.model import Lora  # noqa: E402
from ludus_worker.packing import Rows  # noqa: E402
from ludus_worker.weight_set import StepOptions  # noqa: E402

shared = {
    "model_type": "qwen2",
    "vocab_size": 151936,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "initializer_range": 0.02,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
sizes = {
    "tiny": (64, 128, 2, 4, 2, True, 1000),
    "0.5b": (896, 4864, 24, 14, 2, True, 151936),
    "7b": (3584, 18944, 28, 28, 4, False, 152064),
}


def config_of(name: str) -> dict:
    width, feed, layers, heads, groups, tied, vocabulary = sizes[name]
    return shared | {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "intermediate_size": feed,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "tie_word_embeddings": tied,
    }


def say(*words) -> None:
    print(*words, file=sys.stderr, flush=True)


class Meter:
    """Times with the device drained on both sides, and the most memory that was taken meanwhile."""

    def __init__(self, device: torch.device, rounds: int, warmup: int):
        self.device, self.rounds, self.warmup = device, rounds, warmup

    def sync(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def seconds(self, run, label: str) -> float:
        times = []
        for i in range(self.warmup + self.rounds):
            if i == self.warmup and self.device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            self.sync()
            start = time.perf_counter()
            run(i)
            self.sync()
            times.append(time.perf_counter() - start)
        say(f"{label}: {['%.3f' % t for t in times]} s, {self.peak_gib():.1f} GiB")
        return statistics.median(times[self.warmup :])

    def peak_gib(self) -> float:
        return torch.cuda.max_memory_allocated() / 2**30 if self.device.type == "cuda" else 0.0


def free() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def transformers_model(config: dict, device: torch.device, dtype: torch.dtype):
    from transformers import AutoModelForCausalLM, Qwen2Config

    raw = {key: value for key, value in config.items() if key != "model_type"}
    with torch.device(device):
        return AutoModelForCausalLM.from_config(Qwen2Config(**raw), attn_implementation="sdpa", dtype=dtype)


def make_engine(options, config: dict, **more) -> Engine:
    compile = None if options.compile == "auto" else options.compile == "on"
    made = EngineOptions(
        config=config, device=options.device, dtype=options.dtype, compile=compile, attention=options.attention,
        micro_batch_tokens=options.pack_tokens, max_rows=max(512, options.sequences), **more,
    )  # fmt: skip
    return Engine(made)


# -- sampling


def prompts_of(options, config: dict, round_: int) -> np.ndarray:
    rng = np.random.default_rng(round_)
    return rng.integers(10, config["vocab_size"] - 10, (options.sequences, options.prompt))


def sample_all(engine: Engine, prompts: np.ndarray, new: int, seed: int) -> int:
    done = []
    for i, tokens in enumerate(prompts):
        engine.answer(Request(tokens.tolist(), new, seed=seed + i), done.append)
    while engine.sampler.has_work:
        engine.sampler.step()
    failed = [answer for answer in done if isinstance(answer, Exception)]
    if failed:
        raise failed[0]
    return sum(len(answer.tokens) for answer in done)


def measure_sampling(options, meter: Meter, config: dict, out: dict) -> None:
    engine = make_engine(options, config)
    total = options.sequences * options.new

    def ours(i: int) -> None:
        assert sample_all(engine, prompts_of(options, config, i), options.new, 1000 * i) == total

    seconds = meter.seconds(ours, "sample, engine")
    out["sample_tokens_per_s"] = total / seconds
    out["sample_gib"] = meter.peak_gib()
    if engine.device.type == "cuda":
        out["decode_step_ms"] = decode_step_ms(engine, options)
    out["sample_mismatch_max"], out["sample_mismatch_mean"] = mismatch(engine, options, config)
    del engine
    free()

    model = transformers_model(config, meter.device, getattr(torch, out["dtype"])).eval()

    def theirs(i: int) -> None:
        ids = torch.from_numpy(prompts_of(options, config, i)).to(meter.device)
        with torch.no_grad():
            made = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0, top_p=1.0,
                max_new_tokens=options.new, min_new_tokens=options.new, pad_token_id=0,
            )  # fmt: skip
        assert made.shape[1] == options.prompt + options.new

    slow = Meter(meter.device, max(1, meter.rounds // 2), 1)
    out["generate_tokens_per_s"] = total / slow.seconds(theirs, "sample, generate")
    out["sample_vs_generate"] = out["sample_tokens_per_s"] / out["generate_tokens_per_s"]
    del model
    free()


def decode_step_ms(engine: Engine, options) -> float:
    """One recorded step over all slots, without any work on the host."""
    from ludus_worker.sampler import length_bucket, slot_bucket

    sampler = engine.sampler
    weights, _ = sampler.weights("policy")
    slots = min(slot_bucket(options.sequences), sampler.cache.slots)
    length = min(length_bucket(options.prompt + options.new // 2), sampler.cache.length)

    def step() -> None:
        sampler.decoder.step(weights, sampler.cache, sampler.state, slots, length)

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(50):
        step()
    torch.cuda.synchronize()
    sampler.changed = True
    return (time.perf_counter() - start) / 50 * 1e3


def mismatch(engine: Engine, options, config: dict) -> tuple[float, float]:
    """Sampled log-probabilities against those of the forward pass."""
    prompts = prompts_of(options, config, 99)[:8]
    done: dict[int, object] = {}
    for i, tokens in enumerate(prompts):
        engine.answer(Request(tokens.tolist(), options.new, seed=i), lambda answer, i=i: done.__setitem__(i, answer))
    while engine.sampler.has_work:
        engine.sampler.step()
    tokens = np.concatenate([[*prompts[i], *done[i].tokens] for i in range(len(prompts))])
    lengths = np.full(len(prompts), options.prompt + options.new)
    rows = Rows(lengths, tokens, np.ones(len(tokens), np.uint8), 0, None)
    known = engine.forward(1, rows, "policy", 1.0, 0, False).logprobs.reshape(len(prompts), -1)[:, options.prompt :]
    engine.release("", "", [1])
    difference = np.abs(known - np.array([done[i].logprobs for i in range(len(prompts))]))
    return float(difference.max()), float(difference.mean())


# -- training


def rows_of(options, config: dict, round_: int) -> tuple[Rows, dict]:
    rng = np.random.default_rng(round_)
    total = options.rows * options.length
    tokens = rng.integers(0, config["vocab_size"], total)
    rows = Rows(np.full(options.rows, options.length), tokens, np.ones(total, np.uint8), 0, None)
    derivatives = np.where(rows.wanted, -1.0 / total, 0).astype(np.float32)
    return rows, {"logprobs": derivatives}


def train_step(engine: Engine, rows: Rows, derivatives: dict, id: int, deferred: bool) -> None:
    engine.forward(id, rows, "policy", 1.0, 0, deferred)
    engine.backward(id, derivatives)
    engine.step("policy", StepOptions(learning_rate=1e-6, max_gradient_norm=1.0))


def measure_training(options, meter: Meter, config: dict, out: dict) -> None:
    lora = Lora(rank=16, alpha=32.0) if options.lora else None
    engine = make_engine(options, config, lora=lora, checkpoint_activations=options.checkpoint)
    total = options.rows * options.length
    # "known": the log-probabilities come from sampling, as in every first update; "whole": forward(), then backward()
    for label, deferred in (("known", True), ("whole", False)):

        def ours(i: int) -> None:
            train_step(engine, *rows_of(options, config, i), i, deferred)

        seconds = meter.seconds(ours, f"train, engine, {label}")
        out[f"train_{label}_tokens_per_s"] = total / seconds
        out[f"train_{label}_gib"] = meter.peak_gib()
        parameters = sum(p.numel() for n, p in engine.sets["policy"].model.causal.named_parameters() if "lora_" not in n)
        # frozen weights need no gradient of their own
        out[f"train_{label}_tflops"] = (4 if options.lora else 6) * parameters * total / seconds / 1e12
    out["parameters"] = parameters
    out["pack_tokens"] = engine.trainer.budget
    out["flash"] = engine.trainer.flash
    del engine
    free()
    if not options.lora:
        measure_eager(options, meter, config, out)


def measure_eager(options, meter: Meter, config: dict, out: dict) -> None:
    """The plain loop: transformers' model in bfloat16, its logits, log-probabilities of the tokens, fused AdamW."""
    model = transformers_model(config, meter.device, getattr(torch, out["dtype"])).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=meter.device.type == "cuda" or None)
    total = options.rows * options.length
    best = 0.0
    for size in (32, 16, 8):
        if size > options.rows:
            continue

        def theirs(i: int) -> None:
            rows, _ = rows_of(options, config, i)
            tokens = torch.from_numpy(rows.tokens.reshape(options.rows, -1)).to(meter.device)
            for part in tokens.split(size):
                logits = model(part, use_cache=False).logits[:, :-1].float()
                logprobs = torch.log_softmax(logits, -1).gather(-1, part[:, 1:, None])
                (-logprobs.sum() / total).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        try:
            rate = total / meter.seconds(theirs, f"train, eager, {size} rows at once")
        except torch.OutOfMemoryError:
            say(f"train, eager, {size} rows at once: out of memory")
            optimizer.zero_grad(set_to_none=True)
            free()
            continue
        if rate > best:
            best, out["eager_gib"], out["eager_rows"] = rate, meter.peak_gib(), size
    out["eager_tokens_per_s"] = best
    out["train_vs_eager"] = out["train_known_tokens_per_s"] / best
    out["train_whole_vs_eager"] = out["train_whole_tokens_per_s"] / best
    del model, optimizer
    free()


# -- a whole step, and what the card can do


def measure_step(options, meter: Meter, config: dict, out: dict) -> None:
    """Groups of eight sampled from shared prompts, trained on at once: the engine's part of a GRPO step, by stage."""
    engine = make_engine(options, config)
    split: dict[str, list[float]] = {"sample": [], "update": []}

    def step(i: int) -> None:
        prompts = np.repeat(prompts_of(options, config, i)[:: max(1, 8)], 8, 0)[: options.sequences]
        done: dict[int, object] = {}
        start = time.perf_counter()
        for n, tokens in enumerate(prompts):
            request = Request(tokens.tolist(), options.new, seed=1000 * i + n)
            engine.answer(request, lambda answer, n=n: done.__setitem__(n, answer))
        while engine.sampler.has_work:
            engine.sampler.step()
        meter.sync()
        middle = time.perf_counter()
        tokens = np.concatenate([[*prompts[n], *done[n].tokens] for n in range(len(prompts))])
        length = options.prompt + options.new
        rows = Rows(np.full(len(prompts), length), tokens, np.ones(len(tokens), np.uint8), 0, None)
        mask = (np.arange(len(tokens)) % length) >= options.prompt
        advantages = np.repeat(np.random.default_rng(i).normal(size=len(prompts)), length)
        derivatives = {"logprobs": np.where(mask, -advantages / mask.sum(), 0).astype(np.float32)}
        train_step(engine, rows, derivatives, i, True)
        meter.sync()
        split["sample"].append(middle - start)
        split["update"].append(time.perf_counter() - middle)

    out["step_s"] = meter.seconds(step, "whole step")
    for stage, times in split.items():
        out[f"step_{stage}_s"] = statistics.median(times[meter.warmup :])
    out["step_gib"] = meter.peak_gib()
    del engine
    free()


def matmul_tflops(meter: Meter, dtype: torch.dtype) -> float:
    n = 8192 if meter.device.type == "cuda" else 512
    a, b = (torch.randn(n, n, device=meter.device, dtype=dtype) for _ in range(2))
    for _ in range(5):
        a @ b
    meter.sync()
    start = time.perf_counter()
    for _ in range(20):
        a @ b
    meter.sync()
    return 20 * 2 * n**3 / (time.perf_counter() - start) / 1e12


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=sizes, default="0.5b")
    parser.add_argument("--only", choices=["sample", "train", "step"])
    parser.add_argument("--lora", action="store_true", help="train adapters; measures training alone")
    parser.add_argument("--checkpoint", action="store_true", help="activation checkpointing")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="")
    parser.add_argument("--compile", choices=["auto", "on", "off"], default="auto")
    parser.add_argument("--attention", choices=["sdpa", "matmul"], default="sdpa", help="of a decoding step")
    parser.add_argument("--pack-tokens", type=int, default=0)
    parser.add_argument("--sequences", type=int, default=256)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--new", type=int, default=256)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    options = parse()
    config = config_of(options.model)
    device = torch.device(options.device)
    dtype = options.dtype or ("bfloat16" if device.type == "cuda" else "float32")
    meter = Meter(device, options.rounds, options.warmup)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    out: dict = {"device": name, "torch": torch.__version__, "model": options.model, "lora": options.lora, "dtype": dtype}
    out["matmul_tflops"] = matmul_tflops(meter, getattr(torch, dtype))
    wanted = [options.only] if options.only else ["train"] if options.lora else ["sample", "train", "step"]
    measures = {"sample": measure_sampling, "train": measure_training, "step": measure_step}
    for stage in wanted:
        try:
            measures[stage](options, meter, config, out)
        except Exception as error:  # what was measured is reported all the same
            out[f"{stage}_error"] = f"{type(error).__name__}: {str(error)[:500]}"
            say(f"{stage} failed: {error!r}")
            free()
    if "train_known_tflops" in out:
        out["train_share_of_matmul"] = out["train_known_tflops"] / out["matmul_tflops"]
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in out.items()}))


main()
