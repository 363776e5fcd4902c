"""The model of a workload, in float32: from the folder that Ludus saved, or random from a config."""

from transformers import AutoConfig, AutoModelForCausalLM


def load_model(model):
    if "folder" in model:
        return AutoModelForCausalLM.from_pretrained(model["folder"], dtype="float32")
    fields = dict(model["config"])
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(fields.pop("model_type"), **fields))
