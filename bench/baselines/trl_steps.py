"""TRL's GRPOTrainer, paused after every step until the next one is asked for."""

import time
from collections import defaultdict
from pathlib import Path

from model import load_model


def serve_steps(workload, variant, protocol, versions, *, rows, reward, tokenizer, finish, config, **more):
    """`finish(trainer, seconds)` tells after a step what `protocol.done` wants besides the seconds."""
    from datasets import Dataset  # here, as the other workloads need none of these
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    class StepByStep(TrainerCallback):
        def on_train_begin(self, args, state, control, **_):
            self.wait(control)

        def on_step_end(self, args, state, control, **_):
            seconds = time.perf_counter() - self.start
            protocol.done(seconds, **finish(trainer, seconds))
            self.wait(control)

        def wait(self, control):
            control.should_training_stop = not protocol.wait_for_run()
            self.start = time.perf_counter()

    rollouts = workload["tasksPerStep"] * workload["groupSize"]
    trainer = GRPOTrainer(
        model=load_model(workload["model"]),
        reward_funcs=reward,
        args=GRPOConfig(
            output_dir=str(Path(workload["model"]["folder"]) / "trl"),
            per_device_train_batch_size=rollouts,
            generation_batch_size=rollouts,
            num_generations=workload["groupSize"],
            learning_rate=workload["learningRate"],
            max_grad_norm=workload["maxGradientNorm"],
            lr_scheduler_type="constant",
            temperature=workload["temperature"],
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
            **config,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[StepByStep()],
        **more,
    )
    protocol.ready(versions)
    trainer.train()


class Stopwatch:
    """Seconds inside methods of an object since they were last read, what a watched method calls of the others left out."""

    def __init__(self, watched, stages):
        self._seconds = defaultdict(float)
        self._inner = [0.0]
        for method, stage in stages.items():
            setattr(watched, method, self._timed(getattr(watched, method), stage))

    def _timed(self, method, stage):
        def timed(*args, **kwargs):
            start = time.perf_counter()
            self._inner.append(0.0)
            try:
                return method(*args, **kwargs)
            finally:
                seconds = time.perf_counter() - start
                self._seconds[stage] += seconds - self._inner.pop()
                self._inner[-1] += seconds

        return timed

    def read(self):
        seconds, self._seconds = dict(self._seconds), defaultdict(float)
        return seconds
