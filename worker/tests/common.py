from __future__ import annotations

import numpy as np

from ludus_worker.active_request import ActiveRequest, Request
from ludus_worker.engine import Engine, EngineOptions
from ludus_worker.packing import TokenBatch

config = {
    "model_type": "qwen2",
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 96,
    "tie_word_embeddings": True,
    "initializer_range": 0.15,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}


def make_engine(**options) -> Engine:
    raw = config | options.pop("config", {})
    return Engine(EngineOptions(**({"config": raw, "seed": 3, "device": "cpu", "threads": 1} | options)))


def random_rows(seed: int, lengths: list[int], vocabulary: int = 300) -> TokenBatch:
    rng = np.random.default_rng(seed)
    total = sum(lengths)
    return TokenBatch(np.array(lengths), rng.integers(0, vocabulary, total), np.ones(total, np.uint8), 0, None)


def random_derivatives(seed: int, rows: TokenBatch) -> dict:
    rng = np.random.default_rng(seed)
    logprobs = rng.normal(size=rows.total).astype(np.float32)
    return {"logprobs": np.where(rows.wanted, logprobs, 0).astype(np.float32)}


def listed(result: ActiveRequest | Exception) -> ActiveRequest | Exception:
    """With lists in place of arrays, which tests compare and join."""
    if isinstance(result, ActiveRequest):
        result.tokens, result.logprobs, result.versions = map(list, (result.tokens, result.logprobs, result.versions))
    return result


def sample_all(engine: Engine, requests: list[Request]) -> list[ActiveRequest | Exception]:
    results: dict[int, ActiveRequest | Exception] = {}
    for i, request in enumerate(requests):
        engine.sample(request, lambda result, i=i: results.__setitem__(i, listed(result)))
    while engine.sampler.has_work:
        engine.sampler.step()
    return [results[i] for i in range(len(requests))]


def logprobs_of(engine: Engine, tokens: list[int], weights: str = "policy", temperature: float = 1.0) -> np.ndarray:
    rows = TokenBatch(np.array([len(tokens)]), np.array(tokens), np.ones(len(tokens), np.uint8), 0, None)
    out = engine.forward(-1, rows, weights, temperature, 0, False).logprobs
    engine.release("", "", [-1])
    return out


def train_once(engine: Engine, weights: str = "policy", rows: TokenBatch | None = None, **options) -> tuple[float, bool, bool]:
    from ludus_worker.weight_set import StepOptions

    rows = rows or random_rows(1, [7, 12, 3])
    engine.forward(1, rows, weights, 1.0, 0, False)
    engine.backward(1, random_derivatives(2, rows))
    return engine.step(weights, StepOptions(**({"learning_rate": 1e-2} | options)))
