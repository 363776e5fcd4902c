"""Folders of small random models of other families, written by transformers.

    family_folders.py out name ...      the configurations of worker/tests/families.py
"""

import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

root = pathlib.Path(__file__).parents[2] / "worker"
sys.path[:0] = [str(root), str(root / "tests")]

from families import family_config  # noqa: E402

out, *names = sys.argv[1:]
for name in names:
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[name].from_dict(family_config(name)), dtype=torch.float32)
    model.save_pretrained(pathlib.Path(out) / name)
