"""transformers' generate: the default cache, the static one, or the static one with a compiled forward pass."""

import time

import torch

from model import load_model


def serve_sample(workload, variant, protocol, versions):
    model = load_model(workload["model"]).eval()
    model.generation_config.pad_token_id = model.generation_config.pad_token_id or 0
    prompts = torch.tensor(workload["prompts_B_T"])
    # min_new_tokens keeps rows from ending early: all give the same number of tokens
    options = {
        "attention_mask": torch.ones_like(prompts),
        "do_sample": True,
        "temperature": 1.0,
        "top_k": 0,
        "min_new_tokens": workload["newTokens"],
        "max_new_tokens": workload["newTokens"],
    }
    if variant != "default":
        options["cache_implementation"] = "static"
    if variant == "static-cache-compiled":
        model.forward = torch.compile(model.forward, fullgraph=True)
    protocol.ready(versions)
    while protocol.wait_for_run():
        start = time.perf_counter()
        output = model.generate(prompts, **options)
        seconds = time.perf_counter() - start
        protocol.done(seconds, output.numel() - prompts.numel())
