"""Where the time of an update goes on a GPU: each way to compute a part of it beside the one before, in one process.

    python bench/gpu/update_step.py              # tokens/s of every variant, and of eager transformers
    python bench/gpu/update_step.py --profile    # and the kernels of the first variant and the fastest
    python bench/gpu/update_step.py --sweep      # only sizes of the Triton kernels, without a model

64 rows of 512 tokens, a model of Qwen2.5-0.5B's shape with random weights, forward left to the backward pass as after
sampling. Rounds of all variants alternate; a figure is the median of five after two to warm up.
"""

import argparse
import itertools
import pathlib
import statistics
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch._dynamo
from torch.profiler import ProfilerActivity, profile

import baselines

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "worker"))

from ludus_worker import attention, attention_kernels, head_kernels, multi_tensor  # noqa: E402
from ludus_worker.engine import Engine, EngineOptions  # noqa: E402
from ludus_worker.packing import TokenBatch  # noqa: E402
from ludus_worker.weight_set import StepOptions  # noqa: E402

shared = {
    "model_type": "qwen2", "rms_norm_eps": 1e-6, "rope_theta": 1e6, "initializer_range": 0.02, "tie_word_embeddings": True,
    "max_position_embeddings": 4096, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
}  # fmt: skip
half = shared | {
    "vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
    "num_attention_heads": 14, "num_key_value_heads": 2,
}  # fmt: skip
#: Only shows that the program runs.
small = shared | {
    "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    name: str
    pack: int = 1 << 14
    step: bool = False
    head: bool = False
    way: str = "flash"


variants = [
    Variant("before"),
    Variant("packs of 32768", 1 << 15),
    Variant("and kernels over all tensors", 1 << 15, True),
    Variant("and kernels of the head", 1 << 15, True, True),
    Variant("and Triton attention", 1 << 15, True, True, "triton"),
    Variant("or cuDNN attention", 1 << 15, True, True, "cudnn"),
    Variant("all, with packs of 16384", 1 << 14, True, True, "triton"),
]


class Bench:
    def __init__(self, options):
        self.is_cuda = options.device == "cuda"
        self.rows, self.length = options.rows, options.length
        config = half if self.is_cuda else small
        self.engine = Engine(EngineOptions(config=config, device=options.device, max_rows=8, max_cache_bytes=1 << 28))
        self.policy, self.trainer = self.engine.sets["policy"], self.engine.trainer
        self.vocabulary = config["vocab_size"]
        total = self.rows * self.length
        self.derivatives = {"logprobs": np.full(total, -1 / total, np.float32)}
        self.derivatives["logprobs"][:: self.length] = 0

    def usable(self, variant: Variant) -> bool:
        model = self.policy.model
        heads = (model.config.num_attention_heads, model.config.num_key_value_heads)
        device, dtype = self.engine.device, self.engine.dtype
        works = {
            "the kernels over all tensors": not variant.step or multi_tensor.kernels_work(device),
            "the kernels of the head": not variant.head or head_kernels.kernels_work(device, dtype),
            f"{variant.way} attention": attention.works(variant.way, device, dtype, model.head_width, *heads),
        }
        for what in [what for what, is_well in works.items() if not is_well]:
            print(f"{variant.name}: left out, {what} do not work here", flush=True)
        return all(works.values())

    def use(self, variant: Variant) -> None:
        self.trainer.budget, self.trainer.ways = variant.pack, (variant.way, variant.way)
        self.trainer.head.fused, self.policy.fused = variant.head, variant.step

    def batch(self, round_: int) -> TokenBatch:
        total = self.rows * self.length
        tokens = np.random.default_rng(round_).integers(0, self.vocabulary, total)
        return TokenBatch(np.full(self.rows, self.length), tokens, np.ones(total, np.uint8), 0, None)

    def sync(self) -> None:
        if self.is_cuda:
            torch.cuda.synchronize()

    def gradients(self, variant: Variant) -> dict[str, torch.Tensor]:
        self.use(variant)
        self.engine.forward(0, self.batch(0), "policy", 1.0, 0, True)
        self.engine.backward(0, self.derivatives)
        found, self.policy.gradients = self.policy.gradients, None
        return found

    def update(self, variant: Variant, round_: int) -> float:
        self.use(variant)
        rows = self.batch(round_)
        self.sync()
        start = time.perf_counter()
        self.engine.forward(0, rows, "policy", 1.0, 0, True)
        self.engine.backward(0, self.derivatives)
        self.engine.step("policy", StepOptions(1e-6, max_gradient_norm=1.0))
        self.sync()
        return time.perf_counter() - start


def difference(a: dict, b: dict) -> tuple[float, str]:
    """The largest relative difference of a tensor, and its name."""

    def of(name: str) -> float:
        return ((a[name].float() - b[name].float()).norm() / b[name].float().norm().clamp(min=1e-20)).item()

    return max((of(name), name) for name in b)


def measure(options) -> None:
    bench = Bench(options)
    usable = [variant for variant in variants if bench.usable(variant)] or [Variant("rows", way="rows")]
    expected = bench.gradients(usable[0])
    for variant in usable[1:]:
        off, name = difference(bench.gradients(variant), expected)
        print(f"{variant.name}: gradients differ from those of {usable[0].name!r} by {off:.2e} at most, in {name}", flush=True)
    del expected
    seconds: dict[Variant, list[float]] = {variant: [] for variant in usable}
    for round_, variant in itertools.product(range(options.warmup + options.rounds), usable):
        seconds[variant].append(bench.update(variant, round_))
    total = bench.rows * bench.length
    medians = {variant: statistics.median(times[options.warmup :]) for variant, times in seconds.items()}
    eager = eager_rate(options) if options.eager else None
    for variant, median in medians.items():
        ratio = "" if eager is None else f", {total / median / eager:.2f} x eager"
        print(f"{variant.name}: {median * 1e3:.1f} ms, {total / median:.0f} tokens/s{ratio}", flush=True)
    if options.profile:
        for variant in (usable[0], min(medians, key=medians.get)):
            show_kernels(bench, variant)


def eager_rate(options) -> float:
    device = torch.device(options.device)
    meter = baselines.Meter(device, torch.bfloat16 if options.device == "cuda" else torch.float32, options.rounds, options.warmup)
    out: dict = {}
    baselines.measure_eager(options, meter, half if options.device == "cuda" else small, out, sizes=(32,))
    print(f"eager transformers, 32 rows at once: {out['eager_tokens_per_s']:.0f} tokens/s", flush=True)
    return out["eager_tokens_per_s"]


def show_kernels(bench: Bench, variant: Variant) -> None:
    times = 3
    with profile(activities=[ProfilerActivity.CUDA if bench.is_cuda else ProfilerActivity.CPU]) as seen:
        for round_ in range(times):
            bench.update(variant, round_)
    events = sorted(seen.key_averages(), key=lambda event: -event.device_time_total)
    total = sum(event.device_time_total for event in events) / 1000 / times
    print(f"{variant.name}: {total:.1f} ms of kernels in an update")
    for event in events[:40]:
        print(f"   {event.device_time_total / 1000 / times:.2f} ms, {event.count // times} times: {event.key[:110]}")


def seconds_of(work, times: int = 20) -> float:
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / times


def sweep() -> None:
    """Attention of one layer and the head of one chunk, for sizes of their kernels."""
    device, dtype = torch.device("cuda"), torch.bfloat16
    rng = np.random.default_rng(0)
    for lengths in ([511] * 64, rng.integers(32, 1024, 62).tolist()):
        q, k, v = (torch.randn(sum(lengths), n, 64, device=device, dtype=dtype, requires_grad=True) for n in (14, 2, 2))
        d_out = torch.randn_like(q)

        def time_way(way: str) -> str:
            how = attention.describe(way, lengths, device)
            out = attention.attend(q, k, v, **how)
            forward = seconds_of(lambda: attention.attend(q.detach(), k.detach(), v.detach(), **how))
            backward = seconds_of(lambda: torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True))
            return f"{forward * 1e3:.3f} ms forward, {backward * 1e3:.3f} ms backward"

        print(f"rows of {min(lengths)} to {max(lengths)} tokens, {sum(lengths)} in all")
        for way in ("flash", "cudnn"):
            print(f"   {way}: {time_way(way)}", flush=True)
        for other, warps, stages in itertools.product((64, 128), (4, 8), (2, 3)):
            tiles = attention_kernels.Tiles(other, warps, stages)
            attention_kernels.forward_tiles = attention_kernels.query_tiles = attention_kernels.key_tiles = tiles
            try:
                print(f"   triton {other} {warps} {stages}: {time_way('triton')}, {kernels_of(lambda: time_way('triton'))}", flush=True)
            except Exception as problem:  # too much shared memory, say
                print(f"   triton {other} {warps} {stages}: {str(problem)[:80]}", flush=True)
    logits = torch.randn(6592, 151936, device=device, dtype=dtype)
    targets = torch.randint(0, 151936, (6592,), device=device)
    d_logprobs = torch.full((6592,), -1e-5, device=device)
    for block, warps in itertools.product((4096, 8192, 16384), (8, 16, 32)):
        head_kernels.block_columns, head_kernels.warps = block, warps
        one = seconds_of(lambda: head_kernels.numbers(logits, targets, 1.0))
        two = seconds_of(lambda: head_kernels.derivatives_in_place(logits, targets, 1.0, d_logprobs, None))
        gigabytes = logits.numel() * 2 / 1e9
        print(f"   head {block} {warps}: numbers {gigabytes / one:.0f} GB/s, derivatives {2 * gigabytes / two:.0f} GB/s read and written")


def kernels_of(work) -> str:
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        work()
    parts = {event.key: event.device_time_total / event.count for event in seen.key_averages() if event.key.startswith("_")}
    return ", ".join(f"{name} {microseconds:.0f} us" for name, microseconds in parts.items())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", action="store_true", help="print the kernels of the first variant and the fastest")
    parser.add_argument("--sweep", action="store_true", help="try sizes of the Triton kernels, without a model")
    parser.add_argument("--no-eager", dest="eager", action="store_false", help="leave eager transformers out")
    parser.add_argument("--device", default="cuda", help='"cpu" only shows that the program runs, with a small model')
    for name, value in {"rows": 64, "length": 512, "rounds": 5, "warmup": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def main() -> None:
    # every way to compute attention is compiled by itself
    torch._dynamo.config.cache_size_limit = 64
    options = parse()
    if options.sweep:
        sweep()
    else:
        measure(options)


if __name__ == "__main__":
    main()
