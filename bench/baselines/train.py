"""Forward and backward pass of per-token log-probabilities with given derivatives, no optimizer."""

import time

import torch

from model import load_model


def weighted_logprobs(model, inputs, targets, derivatives):
    """A loss whose derivative by each log-probability is the given one."""
    logits = model(inputs, use_cache=False).logits
    logprobs = torch.log_softmax(logits, dim=-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (logprobs * derivatives).sum()


def gradient_norm(model):
    return torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]).item()


def serve_train(workload, variant, protocol, versions):
    model = load_model(workload["model"]).train()
    tokens = torch.tensor(workload["tokens_B_T"])
    derivatives = torch.tensor(workload["derivatives_B_T"])[:, 1:].contiguous()
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    loss = torch.compile(weighted_logprobs) if variant == "compiled" else weighted_logprobs
    protocol.ready(versions)
    while protocol.wait_for_run():
        model.zero_grad(set_to_none=True)
        start = time.perf_counter()
        loss(model, inputs, targets, derivatives).backward()
        seconds = time.perf_counter() - start
        protocol.done(seconds, inputs.numel(), check=gradient_norm(model))
