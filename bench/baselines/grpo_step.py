"""TRL's GRPOTrainer, paused after every step until the next one is asked for."""

import time
from pathlib import Path

from model import load_model


def serve_grpo_step(workload, variant, protocol, versions):
    from datasets import Dataset  # here, as the other workloads need none of these
    from transformers import AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    completion_tokens = 0

    def distinct_characters(completions, completion_ids, **_):
        nonlocal completion_tokens
        completion_tokens = sum(len(ids) for ids in completion_ids)
        return [float(len(set(completion))) for completion in completions]

    class StepByStep(TrainerCallback):
        def on_train_begin(self, args, state, control, **_):
            self.wait(control)

        def on_step_end(self, args, state, control, **_):
            protocol.done(time.perf_counter() - self.start, completion_tokens)
            self.wait(control)

        def wait(self, control):
            control.should_training_stop = not protocol.wait_for_run()
            self.start = time.perf_counter()

    prompts, group_size = workload["prompts"], workload["groupSize"]
    folder = workload["model"]["folder"]
    trainer = GRPOTrainer(
        model=load_model(workload["model"]),
        reward_funcs=distinct_characters,
        args=GRPOConfig(
            output_dir=str(Path(folder) / "trl"),
            per_device_train_batch_size=len(prompts) * group_size,
            generation_batch_size=len(prompts) * group_size,
            num_generations=group_size,
            max_completion_length=workload["maxTokens"],
            learning_rate=workload["learningRate"],
            max_grad_norm=workload["maxGradientNorm"],
            lr_scheduler_type="constant",
            temperature=1.0,
            beta=0.0,
            max_steps=1000,
            shuffle_dataset=False,
            cache_implementation="static" if variant == "static-cache" else None,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"prompt": prompts * 1000}),
        processing_class=AutoTokenizer.from_pretrained(folder, padding_side="left"),
        callbacks=[StepByStep()],
    )
    protocol.ready(versions)
    trainer.train()
