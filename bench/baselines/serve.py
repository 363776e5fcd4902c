"""A baseline in a process of its own: PyTorch, transformers or TRL, computing one workload whenever it is asked to."""

import traceback
from importlib.metadata import version
from platform import python_version

import torch

from generate import serve_sample
from grpo_step import serve_grpo_step
from protocol import Protocol
from train import serve_train
from turns_step import serve_turns_step

serve_workload = {
    "train": serve_train,
    "sample": serve_sample,
    "grpo-step": serve_grpo_step,
    "turns-step": serve_turns_step,
}
versions = {"python": python_version()} | {name: version(name) for name in ("torch", "transformers", "trl")}


def main():
    protocol = Protocol()
    try:
        while True:
            request = protocol.next_request()
            torch.manual_seed(0)
            torch.set_num_threads(request["threads"])
            workload = request["workload"]
            serve_workload[workload["kind"]](workload, request["variant"], protocol, versions)
    except Exception as error:
        traceback.print_exc()
        protocol.fail(f"{type(error).__name__}: {error}")


main()
