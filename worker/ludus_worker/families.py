"""Which code computes a model: ours ("own": packing, kernels, continuous batching) or transformers' own forward ("transformers")."""

from __future__ import annotations

import json
import logging

from .errors import LudusError
from .model_file import check_sizes

log = logging.getLogger("ludus")
own_families = ("llama", "qwen2", "qwen3")
own, transformers = "own", "transformers"

#: Layers whose KV cache is keys and values of past tokens, all of them or those of a window.
layer_types = ("full_attention", "sliding_attention")


def implementation_of(raw: dict) -> str:
    """ "own" for the shapes that the own decoder computes, "transformers" for every other."""
    rope = raw.get("rope_scaling") or raw.get("rope_parameters")
    rope = rope if isinstance(rope, dict) else {}
    kinds = raw.get("layer_types") if isinstance(raw.get("layer_types"), list) else None
    is_own = (
        raw.get("model_type") in own_families
        and raw.get("hidden_act") in (None, "silu")
        and not raw.get("use_sliding_window")
        and (kinds is None or kinds == ["full_attention"] * len(kinds))
        and rope.get("partial_rotary_factor", raw.get("partial_rotary_factor")) in (None, 1)
    )
    return own if is_own else transformers


def unsupported(got: str, expected: str, hint: str) -> LudusError:
    return LudusError("unsupported-model", got[:500], expected, hint)


def described(raw: dict) -> str:
    names = raw.get("architectures")
    name = names[0] if isinstance(names, list) and names else "a model"
    return f"{name} of model_type {json.dumps(raw.get('model_type'))}"[:200]


def check_family(raw: dict) -> None:
    """Refuses what transformers cannot compute as a causal language model, before memory is taken."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as causal

    kind = raw.get("model_type")
    wanted = "a causal language model that the installed transformers knows"
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        hint = "Update transformers if a later version has it. Code that comes with a model is never run."
        raise unsupported(described(raw), wanted, hint)
    if raw.get("is_encoder_decoder") or kind not in causal:
        hint = "Encoder-decoder, encoder-only, vision and speech models are not trained here: choose a decoder of text."
        raise unsupported(described(raw), wanted, hint)
    classes = causal[kind] if isinstance(causal[kind], (list, tuple)) else [causal[kind]]
    architectures = raw.get("architectures") or list(classes)
    if not isinstance(architectures, list) or not any(name in classes for name in architectures):
        hint = "A classifier or a masked language model has no next token to sample."
        raise unsupported(f"architectures = {json.dumps(architectures)}", " or ".join(classes), hint)
    if raw.get("quantization_config") is not None:
        got = f"quantization_config = {json.dumps(raw['quantization_config'])}"
        raise unsupported(got, "none", "Take the checkpoint it was quantized from.")
    check_named_sizes(raw, getattr(CONFIG_MAPPING[kind], "attribute_map", {}))
    config = parsed(raw)
    check_parsed(raw, config)
    if dropouts(config):
        log.warning("%s of config.json: ignored, Ludus trains without dropout", ", ".join(dropouts(config)))


def dropouts(config) -> list[str]:
    """Rates of dropout above 0, but for those of classifiers."""
    others = ("classifier", "summary")
    names = [name for name in vars(config) if ("dropout" in name or "pdrop" in name) and not name.startswith(others)]
    return [name for name in names if isinstance(getattr(config, name), float) and getattr(config, name) > 0]


def check_named_sizes(raw: dict, aliases: dict[str, str]) -> None:
    """Families name their sizes differently: `n_embd` is GPT-2's hidden_size."""
    named = {name: raw[alias] for name, alias in aliases.items() if raw.get(alias) is not None}
    check_sizes({**raw, **named}, required=())


def parsed(raw: dict):
    """The configuration as transformers reads it. Its own checks are errors of the folder, not of the worker."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    try:
        return CONFIG_MAPPING[raw["model_type"]].from_dict(dict(raw))
    except Exception as problem:
        text = str(problem).strip().split("\n")[-1][:300]
        raise LudusError("bad-model-config", f"{described(raw)}: {text}", "a config.json that transformers reads") from problem


def check_parsed(raw: dict, config) -> None:
    if config.is_encoder_decoder:
        hint = "Encoder-decoder models are not trained here: choose a decoder of text."
        raise unsupported(described(raw), "a causal language model", hint)
    if config.get_text_config(decoder=True) is not config:
        hint = "Save its language model alone with transformers, and open that folder."
        raise unsupported(f"{described(raw)}, of text and other inputs", "a model of text alone", hint)
    kinds = sorted({kind for kind in getattr(config, "layer_types", None) or []} - set(layer_types))
    if kinds:
        hint = "Recurrent, chunked and other layers have no KV cache that rows can share a batch with: choose another model."
        raise unsupported(f"layer_types {', '.join(map(str, kinds))} in {described(raw)}", " or ".join(layer_types), hint)
    context_of(raw, config)


def context_of(raw: dict, config) -> int:
    """The longest sequence. Longrope changes its frequencies for the whole batch beyond its original context: that is the end of it."""
    names = ("max_position_embeddings", "max_seq_len", "seq_length")
    found = next((getattr(config, name) for name in names if getattr(config, name, None)), None)
    if not isinstance(found, int) or found <= 0:
        hint = 'Add "max_position_embeddings" to config.json: the longest sequence that is sampled or trained.'
        raise LudusError("bad-model-config", f"{described(raw)} without max_position_embeddings", "a whole number above 0", hint)
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") == "longrope":
        original = rope.get("original_max_position_embeddings") or getattr(config, "original_max_position_embeddings", None)
        return min(found, original or found)
    return found


#: What may differ between two folders of one model.
not_of_the_model = ("token_id", "dropout", "pdrop", "dtype", "initializer", "version", "name_or_path", "architectures", "use_cache")


def family_differences(found: dict, wanted: dict) -> list[str]:
    theirs, ours = parsed(found).to_dict(), parsed(wanted).to_dict()
    names = sorted({*theirs, *ours})
    return [
        name
        for name in names
        if theirs.get(name) != ours.get(name) and not any(part in name for part in not_of_the_model)
    ]
