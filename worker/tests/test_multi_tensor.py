"""Kernels over many tensors, run by Triton's interpreter on the CPU: a GPU is not needed, only the package."""

import importlib.util
import os
import subprocess
import sys
import unittest

arithmetic = """
import torch
from ludus_worker import multi_tensor
assert multi_tensor.error(torch.device("cpu")) < 1e-6
# float32 sums of blocks: a large tensor, and one number that dwarfs the others
make = torch.Generator().manual_seed(1)
for tensors in ([torch.randn(300_001, generator=make)], [torch.full((100_000,), 1e-3), torch.tensor([3e4])]):
    got, expected = (way.square_sum(tensors).item() for way in (multi_tensor.Kernels(), multi_tensor.Plain()))
    assert abs(got / expected - 1) < 1e-6, (got, expected)
assert not torch.isfinite(multi_tensor.Kernels().square_sum([torch.tensor([1.0, float("inf")]), torch.ones(3)]))
assert torch.isnan(multi_tensor.Kernels().square_sum([torch.ones(3).bfloat16(), torch.tensor([float("nan")])]))
print("agree")
"""

steps = """
import torch
from common import make_engine, random_rows, train_once
from ludus_worker import multi_tensor
rows = random_rows(5, [9, 20, 4, 15, 31])
# one step in bfloat16: the interpreter cuts weights off where PyTorch rounds them, and a second would begin elsewhere
for dtype, count in (("float32", 2), ("bfloat16", 1)):
    reports, weights = [], []
    for works in (False, True):
        multi_tensor.kernels_work = lambda device: works
        # several packs: gradients are summed
        engine = make_engine(dtype=dtype, micro_batch_tokens=32, value_head=True)
        policy = engine.sets["policy"]
        assert policy.fused == works
        options = {"weight_decay": 0.1, "max_gradient_norm": 0.5}
        reports.append([train_once(engine, rows=rows, learning_rate=1e-3, **options) for _ in range(count)])
        weights.append(policy)
    for (norm, *flags), (known, *expected) in zip(*reports):
        assert abs(norm / known - 1) < 1e-5 and flags == expected == [True, True], reports
    for name, master in weights[0].masters.items():
        other = weights[1].masters[name]
        assert (master - other).abs().max() < 1e-5, name
        parameter = weights[1].parameters[name].data
        assert (parameter.float() - other).abs().max() <= (0 if parameter.dtype == torch.float32 else 0.01) * other.abs().max(), name
print("agree")
"""


@unittest.skipUnless(importlib.util.find_spec("triton"), "pip install triton")
class MultiTensorTest(unittest.TestCase):
    def agree(self, program: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True
        )
        self.assertEqual(done.stdout.strip(), "agree", done.stderr)

    def test_sums_squares_and_steps_are_those_of_pytorch(self):
        self.agree(arithmetic)

    def test_training_with_the_kernels_is_training_without(self):
        self.agree(steps)


if __name__ == "__main__":
    unittest.main()
