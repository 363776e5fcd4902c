"""The Triton kernels of decoding on random shapes: compiled where there is a GPU, else by Triton's interpreter on the CPU."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import torch

cases = 48


@unittest.skipUnless(importlib.util.find_spec("triton"), "pip install triton")
class Kernels(unittest.TestCase):
    results: dict

    @classmethod
    def setUpClass(cls):
        # a process of its own: the interpreter is chosen when kernels are first imported
        device = "cuda" if torch.cuda.is_available() else "cpu"
        env = {**os.environ, "TRITON_INTERPRET": "0" if device == "cuda" else "1"}
        script = Path(__file__).with_name("kernel_cases.py")
        done = subprocess.run([sys.executable, script, device, str(cases)], env=env, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.results = json.loads(done.stdout)
        # int() of an array of one number, which Triton's interpreter did in `range(position)` before it used squeeze()
        if any("only 0-dimensional arrays" in line for line in cls.results["attend"]["failed"]):
            raise unittest.SkipTest("this Triton's interpreter does not run with this NumPy; update Triton")

    def check(self, name: str):
        result = self.results[name]
        self.assertGreaterEqual(result["ran"], 40, "\n".join(result["refused"]))
        self.assertEqual(result["failed"], [], "\n".join(result["failed"][:5]))

    def test_attend(self):
        self.check("attend")

    def test_prefill(self):
        self.check("prefill")

    def test_copy(self):
        self.check("copy")

    def test_advance(self):
        self.check("advance")

    def test_draw(self):
        self.check("draw")

    def test_norm(self):
        self.check("norm")

    def test_add_norm(self):
        self.check("add_norm")

    def test_gated(self):
        self.check("gated")
