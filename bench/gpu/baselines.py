"""What the PyTorch engine is measured against on a GPU: transformers' own `generate` and an eager training loop over its model.

    python bench/gpu/baselines.py --sequences 256 --prompt 128 --new 256 --rows 64 --length 512

`npm run bench -- gpu` starts it; the last line is JSON. Weights are random. Every figure is the median of the rounds after
warm-up.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time

import torch

def say(*words) -> None:
    print(*words, file=sys.stderr, flush=True)


class Meter:
    """Times with the device drained on both sides, and the most memory that was taken meanwhile."""

    def __init__(self, device: torch.device, dtype: torch.dtype, rounds: int, warmup: int):
        self.device, self.dtype, self.rounds, self.warmup = device, dtype, rounds, warmup

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


def measure_generate(options, meter: Meter, config: dict, out: dict) -> None:
    """With the cache it takes by default, and with the static one, which it compiles for."""
    model = transformers_model(config, meter.device, meter.dtype).eval()
    total = options.sequences * options.new

    def generate(i: int, **more) -> None:
        shape = (options.sequences, options.prompt)
        ids = torch.randint(10, config["vocab_size"] - 10, shape, generator=torch.Generator().manual_seed(i)).to(meter.device)
        with torch.no_grad():
            made = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0, top_p=1.0,
                max_new_tokens=options.new, min_new_tokens=options.new, pad_token_id=0, **more,
            )  # fmt: skip
        assert made.shape[1] == options.prompt + options.new

    out["generate_tokens_per_s"] = total / meter.seconds(generate, "generate")
    try:
        static = lambda i: generate(i, cache_implementation="static")  # noqa: E731
        out["generate_static_tokens_per_s"] = total / meter.seconds(static, "generate, static cache")
    except Exception as error:  # its compilation is not ours to mend
        say(f"generate, static cache, failed: {str(error)[:300]}")
    del model
    free()


def measure_eager(options, meter: Meter, config: dict, out: dict, sizes=(32, 16, 8)) -> None:
    """The plain loop: transformers' model, its logits, log-probabilities of the tokens, fused AdamW; the best of some sizes."""
    model = transformers_model(config, meter.device, meter.dtype).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=meter.device.type == "cuda" or None)
    total = options.rows * options.length
    best = 0.0
    for size in sorted({min(size, options.rows) for size in sizes}, reverse=True):

        def loop(i: int) -> None:
            shape = (options.rows, options.length)
            tokens = torch.randint(0, config["vocab_size"], shape, generator=torch.Generator().manual_seed(i)).to(meter.device)
            for part in tokens.split(size):
                logits = model(part, use_cache=False).logits[:, :-1].float()
                logprobs = torch.log_softmax(logits, -1).gather(-1, part[:, 1:, None])
                (-logprobs.sum() / total).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        try:
            rate = total / meter.seconds(loop, f"train, eager, {size} rows at once")
        except torch.OutOfMemoryError:
            say(f"train, eager, {size} rows at once: out of memory")
            optimizer.zero_grad(set_to_none=True)
            free()
            continue
        if rate > best:
            best, out["eager_gib"], out["eager_rows"] = rate, meter.peak_gib(), size
    out["eager_tokens_per_s"] = best
    del model, optimizer
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
    parser.add_argument("--config", required=True, help="a Hugging Face config as JSON")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, value in {"sequences": 256, "prompt": 128, "new": 256, "rows": 64, "length": 512, "rounds": 5, "warmup": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def main() -> None:
    options = parse()
    device = torch.device(options.device)
    meter = Meter(device, torch.bfloat16 if device.type == "cuda" else torch.float32, options.rounds, options.warmup)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    import transformers

    out: dict = {"device": name, "torch": torch.__version__, "transformers": transformers.__version__}
    out["matmul_tflops"] = matmul_tflops(meter, meter.dtype)
    config = json.loads(options.config)
    if options.sequences:
        measure_generate(options, meter, config, out)
    if options.rows:
        measure_eager(options, meter, config, out)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
