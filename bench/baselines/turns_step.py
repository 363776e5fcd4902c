"""Steps of TRL's GRPOTrainer with a tool, as its documentation has it: `tools`, and a response template that finds the calls."""

from trl_steps import Stopwatch, serve_steps

# TRL knows how to read the chat templates of published models; for any other, transformers' response parsing is told.
# These are the tags of Qwen 3, which the template in the folder uses too.
response_template = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": {"open": "<think>", "close_pattern": r"</think>\s*", "content": "text"},
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}

# methods of the trainer; what is in none of them is the update: forward, backward, optimizer
stages = {
    "_generate_single_turn": "sampling",
    "_generate": "tools, conversations, rewards",
    "_calculate_rewards": "tools, conversations, rewards",
    "_generate_and_score_completions": "credit",
}


def serve_turns_step(workload, variant, protocol, versions):
    from transformers import AutoTokenizer

    facts, turns = workload["facts"], workload["turns"]
    rollouts = workload["tasksPerStep"] * workload["groupSize"]
    counts = {"rollouts": rollouts}
    seen = 0
    stopwatch = None

    # a type of what is returned would be told in the prompt, which the other side does not
    def search(query: str):
        """
        Finds a fact.

        Args:
            query: A name and a relation.
        """
        return facts.get(query, "nothing")

    def score(completions, completion_ids, queries, **_):
        replies = [[message for message in each if message["role"] == "assistant"] for each in completions]
        counts["turns"] = sum(len(each) for each in replies)
        counts["calls"] = sum("tool_calls" in reply for each in replies for reply in each)
        counts["completions"] = sum(len(ids) for ids in completion_ids)
        return [search_score(right, asked(each)) for right, each in zip(queries, replies, strict=True)]

    def finish(trainer, seconds):
        nonlocal seen, stopwatch
        # the trainer counts prompts and sampled tokens; what the tool said is in completion_ids alone
        sampled = round(trainer._metrics["train"]["completions/mean_length"][-1] * rollouts)
        prompts = trainer.state.num_input_tokens_seen - seen - sampled
        seen = trainer.state.num_input_tokens_seen
        rows = prompts + counts.pop("completions")
        # from the second step on: there is no trainer before the first
        by_stage = {} if stopwatch is None else stopwatch.read()
        stopwatch = stopwatch or Stopwatch(trainer, stages)
        return {
            "tokens": sampled,
            "counts": counts | {"sampled": sampled, "trained": sampled, "rows": rows},
            "stages": by_stage | {"update": seconds - sum(by_stage.values())},
        }

    tokenizer = AutoTokenizer.from_pretrained(workload["model"]["folder"], padding_side="left")
    tokenizer.response_template = response_template
    tasks = [
        {"prompt": [{"role": "user", "content": task["question"]}], "queries": task["queries"]}
        for task in workload["tasks"]
    ]
    serve_steps(
        workload,
        variant,
        protocol,
        versions,
        rows=tasks * 1000,
        reward=score,
        tokenizer=tokenizer,
        finish=finish,
        tools=[search],
        config={
            # what the tool says counts too, and a turn may use what it may use on the other side
            "max_completion_length": workload["maxCompletionTokens"],
            "generation_kwargs": {"max_new_tokens": workload["turnTokens"]},
            # answers of the tool that are read: the last call is the end of the episode
            "max_tool_calling_iterations": turns - 1,
        },
    )


def asked(replies):
    calls = [call["function"] for reply in replies for call in reply.get("tool_calls", [])]
    return [str(call["arguments"].get("query", "")) for call in calls if isinstance(call.get("arguments"), dict)]


def search_score(right, queries):
    return sum(query in queries for query in right) + len(set("".join(queries))) / 100
