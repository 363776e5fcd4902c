"""The other side of loss.parity.test.ts: TRL's own loss functions on given log-probabilities, and autograd's gradients.

    trl_loss.py < request.json > response.json

The trainers are made without their constructors, which want models and data sets; what `_compute_loss` reads is set by hand.
"""

import json
import os
import sys
from collections import defaultdict
from types import SimpleNamespace

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from trl import DPOTrainer, GRPOTrainer, KTOTrainer

accelerator = SimpleNamespace(
    num_processes=1,
    device=torch.device("cpu"),
    sync_gradients=True,
    gather=lambda x: x,
    gather_for_metrics=lambda x: x,
    reduce=lambda x, reduction: x,
)


def trainer(cls, **fields):
    made = object.__new__(cls)
    made.__dict__.update(
        accelerator=accelerator,
        model=SimpleNamespace(training=True),
        aux_loss_enabled=False,
        _metrics={"train": defaultdict(list)},
        _total_train_tokens=0,
        _tp_size=1,
        **fields,
    )
    return made


def grpo(case, rows):
    logprobs, mask = rows["logprobs"], rows["mask"]
    arguments = {"use_bias_correction_kl": False, "delta": case.get("delta"), "steps_per_generation": 1}
    made = trainer(
        GRPOTrainer,
        loss_type=case["loss_type"],
        importance_sampling_level=case.get("level", "token"),
        epsilon_low=case.get("epsilon_low", 0.2),
        epsilon_high=case.get("epsilon_high", 0.2),
        beta=case.get("beta", 0.0),
        args=SimpleNamespace(**arguments),
        max_completion_length=case.get("max_completion_length"),
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm="cap" in case,
        vllm_importance_sampling_correction=True,
        current_gradient_accumulation_steps=1,
        _entropy_bonus_enabled="entropy_coef" in case,
        entropy_coef=case.get("entropy_coef"),
        use_adaptive_entropy=False,
    )
    made._get_per_token_logps_and_entropies = lambda *_, **__: (logprobs, rows["entropies"], None)
    ids = torch.zeros_like(mask, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :1],
        "prompt_mask": ids[:, :1] + 1,
        "completion_ids": ids,
        "completion_mask": mask,
        "advantages": rows["advantages"],
        "old_per_token_logps": rows["old"],
        "ref_per_token_logps": rows["reference"],
        "num_items_in_batch": mask.sum(),
    }
    if "cap" in case:
        inputs["importance_sampling_ratio"] = torch.exp(rows["old"] - rows["behaviour"]).clamp(max=case["cap"])
    return made._compute_loss(made.model, inputs)


def model_outputs(logprobs, mask):
    """What a fused language-modelling head returns; labels outside the mask are ignored, and so 0."""
    shifted = logprobs[:, 1:] * mask[:, 1:]
    zeros = torch.zeros_like(shifted)
    return SimpleNamespace(log_probs=shifted, entropy=zeros, mean_logits=zeros, is_top1=zeros.bool())


def dpo(case, rows):
    """Rows are first those chosen, then those rejected, in the order of pairs."""
    logprobs, mask = rows["logprobs"], rows["mask"]
    made = trainer(
        DPOTrainer,
        beta=case["beta"],
        loss_types=[case["loss_type"]],
        loss_weights=[1.0],
        label_smoothing=0.0,
        ld_alpha=None,
        f_divergence_type="reverse_kl",
        precompute_ref_logps=True,
        use_weighting=False,
    )
    chosen, rejected = (rows["reference"] * mask).sum(1).chunk(2)
    inputs = {
        "input_ids": torch.zeros_like(mask, dtype=torch.long),
        "attention_mask": torch.ones_like(mask),
        "completion_mask": mask,
        "ref_chosen_logps": chosen,
        "ref_rejected_logps": rejected,
    }
    return made._compute_loss(lambda **_: model_outputs(logprobs, mask), inputs, False)


def kto(case, rows):
    logprobs, mask = rows["logprobs"], rows["mask"]
    made = trainer(
        KTOTrainer,
        beta=case["beta"],
        loss_type="kto",
        desirable_weight=case["desirable_weight"],
        undesirable_weight=case["undesirable_weight"],
        precompute_ref_logps=True,
        calculate_KL=True,
    )
    # the baseline is ours: of the rows themselves
    made._compute_kl_logps = lambda *_: (logprobs * mask).sum(1).detach()
    reference = (rows["reference"] * mask).sum(1)
    inputs = {
        "input_ids": torch.zeros_like(mask, dtype=torch.long),
        "attention_mask": torch.ones_like(mask),
        "completion_mask": mask,
        "label": torch.tensor(rows["chosen"]),
        "ref_logps": reference,
        "ref_KL_logps": reference,
    }
    return made._compute_loss(lambda **_: model_outputs(logprobs, mask), inputs, False)


def run(case, rows):
    tensors = {name: torch.tensor(array, dtype=torch.float64) for name, array in rows.items() if name != "chosen"}
    tensors |= {"mask": tensors["mask"].long(), "chosen": rows["chosen"]}
    for name in ("logprobs", "entropies"):
        tensors[name].requires_grad_()
    loss = {"grpo": grpo, "dpo": dpo, "kto": kto}[case["trainer"]](case, tensors)
    loss.backward()
    gradients = {name: tensors[name].grad for name in ("logprobs", "entropies")}
    return {"loss": loss.item(), **{name: None if grad is None else grad.tolist() for name, grad in gradients.items()}}


request = json.load(sys.stdin)
json.dump([run(case, request["rows"]) for case in request["cases"]], sys.stdout)
