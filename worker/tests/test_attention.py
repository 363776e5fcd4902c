"""Ways to compute attention over packed rows, against attention row by row; kernels in Triton's interpreter."""

import importlib.util
import os
import subprocess
import sys
import unittest

import torch

from ludus_worker import attention_cudnn, attention_kernels

kernels = """
import torch
from ludus_worker.attention import attend, describe, error
cpu = torch.device("cpu")
for heads, groups, width, lengths in ((4, 2, 16, [5, 131, 1]), (2, 2, 32, [128, 64])):
    assert error("triton", cpu, torch.float32, width, heads, groups, lengths) < 1e-5
# traced whole, with what autograd keeps
q, k, v = (torch.randn(9, n, 16, requires_grad=True) for n in (2, 1, 1))
how = describe("triton", [5, 4], cpu)
traced = torch.compile(lambda q, k, v: attend(q * 2, k, v, **how), backend="aot_eager", fullgraph=True)
expected = torch.autograd.grad(attend(q * 2, k, v, **how).square().sum(), (q, k, v))
for got, known in zip(torch.autograd.grad(traced(q, k, v).square().sum(), (q, k, v)), expected):
    torch.testing.assert_close(got, known)
print("agree")
"""

training = """
import torch
from common import make_engine, random_derivatives, random_rows
rows = random_rows(5, [9, 20, 4])
gradients = []
for way in ("rows", "triton"):
    # heads are 16 wide
    engine = make_engine(config={"hidden_size": 64})
    engine.trainer.ways = (way, way)
    engine.forward(1, rows, "policy", 0.8, 0, False)
    engine.backward(1, random_derivatives(2, rows))
    gradients.append(engine.sets["policy"].gradients)
for name, expected in gradients[0].items():
    assert (gradients[1][name] - expected).norm() / expected.norm().clamp(min=1e-12) < 1e-4, name
print("agree")
"""


@unittest.skipUnless(importlib.util.find_spec("triton"), "pip install triton")
class KernelsTest(unittest.TestCase):
    def agree(self, program: str) -> None:
        env = {**os.environ, "TRITON_INTERPRET": "1"}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "agree", done.stderr)

    def test_outputs_and_gradients_are_those_of_attention_row_by_row(self):
        self.agree(kernels)

    def test_gradients_of_a_model_are_the_same(self):
        self.agree(training)


class PlanTest(unittest.TestCase):
    def test_blocks_cover_every_row(self):
        blocks = attention_kernels.blocks_of([300, 1, 128])
        self.assertEqual(blocks.tolist(), [[0, 300, 0], [0, 300, 128], [0, 300, 256], [300, 301, 300], [301, 429, 301]])

    def test_padding_has_few_shapes_and_is_refused_where_it_wastes(self):
        padding = attention_cudnn.padding_of([511] * 60 + [500])
        self.assertEqual((padding.rows, padding.length), (64, 512))
        self.assertEqual(padding.places[:2].tolist() + padding.places[-1:].tolist(), [0, 1, 60 * 512 + 499])
        self.assertIsNone(attention_cudnn.padding_of([512] * 8 + [8] * 8))
        self.assertIsNone(attention_cudnn.padding_of([512]))

    def test_what_is_padded_and_packed_again_is_the_same(self):
        padding = attention_cudnn.padding_of([60, 64, 64, 63, 64, 64, 64, 58])
        places = torch.from_numpy(padding.places)
        tokens = torch.randn(len(places), 3, 4)
        padded = attention_cudnn._padded(tokens, places, padding.rows, padding.length)
        self.assertEqual(padded.shape, (8, 3, 64, 4))
        torch.testing.assert_close(padded[0, :, 60:], torch.zeros(3, 4, 4))
        torch.testing.assert_close(attention_cudnn._packed(padded, places), tokens)


if __name__ == "__main__":
    unittest.main()
