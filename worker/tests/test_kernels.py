"""The Triton kernels of decoding, run by Triton's interpreter on the CPU: a GPU is not needed, only the package."""

import importlib.util
import os
import subprocess
import sys
import unittest

program = """
import torch
from ludus_worker.decode_check import advance_error, attention_error, between_error, copy_error, draw_error
cpu, exact = torch.device("cpu"), torch.float32
for shape in ((4, 2, 16), (6, 2, 32), (3, 3, 64)):
    assert attention_error(cpu, exact, shape) < 1e-5, shape
assert draw_error(cpu, exact) < 1e-5
assert between_error(cpu, exact) < 1e-5
assert copy_error(cpu, exact) == 0
assert advance_error(cpu) == 0
print("agree")
"""


class Kernels(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("triton"), "pip install triton")
    def test_agree_with_pytorch(self):
        env = {**os.environ, "TRITON_INTERPRET": "1"}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "agree", done.stderr)
