"""Steps of TRL's GRPOTrainer on completions of one turn."""

from trl_steps import serve_steps


def serve_grpo_step(workload, variant, protocol, versions):
    from transformers import AutoTokenizer

    completion_tokens = 0

    def distinct_characters(completions, completion_ids, **_):
        nonlocal completion_tokens
        completion_tokens = sum(len(ids) for ids in completion_ids)
        return [float(len(set(completion))) for completion in completions]

    serve_steps(
        workload | {"tasksPerStep": len(workload["prompts"])},
        variant,
        protocol,
        versions,
        rows=[{"prompt": prompt} for prompt in workload["prompts"]] * 1000,
        reward=distinct_characters,
        tokenizer=AutoTokenizer.from_pretrained(workload["model"]["folder"], padding_side="left"),
        finish=lambda trainer, seconds: {"tokens": completion_tokens},
        config={"max_completion_length": workload["maxTokens"]},
    )
