"""Small random configurations of families that transformers computes."""

from __future__ import annotations

from ludus_worker.active_request import Request
from ludus_worker.engine import Engine, EngineOptions

tiny = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 96,
    "initializer_range": 0.15,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
#: Windows are shorter than the rows of the tests, caps and scales are felt.
configs = {
    "gemma2": {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8, "final_logit_softcapping": 2.0, "attn_logit_softcapping": 3.0},
    "gemma3_text": {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]},
    "mistral": {"sliding_window": 8},
    "phi3": {},
    "smollm3": {"no_rope_layers": [1, 0]},
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen3_moe": {"head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "norm_topk_prob": True},
    "deepseek_v3": {
        "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "n_group": 2,
        "topk_group": 1, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "v_head_dim": 8, "qk_nope_head_dim": 8,
        "first_k_dense_replace": 1,
    },
    "gpt_oss": {"head_dim": 8, "num_local_experts": 4, "sliding_window": 8},
    "olmo2": {},
    "granite": {"logits_scaling": 4.0, "residual_multiplier": 0.5},
    "cohere": {"logit_scale": 0.25},
    "gpt_neox": {},
    "phi": {},
    "falcon": {"alibi": True, "new_decoder_architecture": False},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 96, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0},
    # of a family that has an own path, with what that path does not compute
    "qwen2": {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1},
}  # fmt: skip


def family_config(name: str, **changes) -> dict:
    return {"model_type": name, **tiny, **configs[name], **changes}


def family_engine(name: str, config: dict | None = None, **options) -> Engine:
    raw = None if "folder" in options else family_config(name, **(config or {}))
    return Engine(EngineOptions(config=raw, seed=3, device="cpu", threads=1, **options))


prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 2], [1, 2, 3]]
requests = [Request(prompt, 20, seed=seed, temperature=0.9) for seed, prompt in enumerate(prompts)]
