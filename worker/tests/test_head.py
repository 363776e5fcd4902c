import importlib.util
import os
import subprocess
import sys
import unittest

import torch

from ludus_worker import head
from ludus_worker.draws import uniform_at, uniforms
from ludus_worker.decode_math import draw
from ludus_worker.head import Derivatives, Head


class HeadTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.states = torch.randn(11, 8, requires_grad=True)
        self.weight = torch.randn(40, 8, requires_grad=True)
        self.targets = torch.randint(0, 40, (11,))
        self.candidates = torch.randint(0, 40, (11, 3))
        self.before = head.chunk_numbers["cpu"]
        head.chunk_numbers["cpu"] = 160  # four states to a chunk

    def tearDown(self):
        head.chunk_numbers["cpu"] = self.before

    def test_numbers_and_gradients_are_those_of_autograd_over_whole_logits(self):
        d = Derivatives(torch.randn(11), torch.randn(11), None, torch.randn(11, 3))
        logprobs = torch.log_softmax(self.states @ self.weight.T / 0.7, -1)
        chosen = logprobs.gather(1, self.targets[:, None])[:, 0]
        entropies = -(logprobs.exp() * logprobs).sum(-1)
        picked = logprobs.gather(1, self.candidates)
        (chosen @ d.logprobs + entropies @ d.entropies + (picked * d.candidates).sum()).backward()

        states, weight = self.states.detach(), self.weight.detach()
        numbers = Head().numbers(states, weight, self.targets, 0.7, self.candidates, 5)
        torch.testing.assert_close(numbers.logprobs, chosen.detach())
        torch.testing.assert_close(numbers.entropies, entropies.detach())
        torch.testing.assert_close(numbers.candidates, picked.detach())
        torch.testing.assert_close(numbers.alternative_logprobs, logprobs.detach().topk(5).values)
        gradient = torch.zeros_like(weight)
        got = Head().gradient(states, weight, self.targets, 0.7, d, self.candidates, gradient)
        torch.testing.assert_close(got, self.states.grad)
        torch.testing.assert_close(gradient, self.weight.grad)


program = """
import torch
from ludus_worker import head, head_kernels
from ludus_worker.head import Derivatives, Head
cpu = torch.device("cpu")
assert head_kernels.error(cpu, torch.float32) < 1e-5
assert head_kernels.error(cpu, torch.bfloat16) < 1e-2
head.fused_chunk_numbers = 64 * 333
make = torch.Generator().manual_seed(0)
states, weight = torch.randn(150, 8, generator=make), torch.randn(333, 8, generator=make)
targets = torch.randint(0, 333, (150,), generator=make)
d_logprobs, d_entropies = torch.randn(150, generator=make), torch.randn(150, generator=make)
plain, fused = Head(), Head(fused=True)
for name in ("logprobs", "entropies"):
    got, expected = (getattr(way.numbers(states, weight, targets, 0.7), name) for way in (fused, plain))
    torch.testing.assert_close(got, expected)
for d in (Derivatives(d_logprobs), Derivatives(d_logprobs, d_entropies)):
    gradients = [torch.ones_like(weight), torch.ones_like(weight)]
    got, expected = (way.gradient(states, weight, targets, 0.7, d, None, g) for way, g in zip((fused, plain), gradients))
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-4)
print("agree")
"""


class FusedHeadTest(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("triton"), "pip install triton")
    def test_kernels_give_the_numbers_and_gradients_of_pytorch(self):
        env = {**os.environ, "TRITON_INTERPRET": "1"}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "agree", done.stderr)


class DrawTest(unittest.TestCase):
    def test_uniform_numbers_are_those_of_the_typescript_side(self):
        # uniformAt(seed, index) of src/random.ts
        golden = {
            (0, 0): 0.5281736897347218,
            (1, 2): 0.9451334144621168,
            (26, 5): 0.6006240998684742,
            (-7, 3): 0.8828744067534211,
            (1099511627781, 34359738369): 0.9928990606150833,
            (9007199254740991, 17): 0.4386809918792711,
        }
        for (seed, index), expected in golden.items():
            self.assertEqual(uniform_at(seed, index), expected)
            self.assertEqual(uniforms(torch.tensor(seed), torch.tensor(index)).item(), expected)

    def test_draws_by_blocks_are_those_of_the_whole_running_sum(self):
        torch.manual_seed(1)
        for vocabulary in (5, 128, 300, 1187):
            logits = torch.randn(64, vocabulary) * 3
            seeds, positions = torch.arange(64), torch.full((64,), 9)
            temperature = torch.rand(64) + 0.5
            greedy = torch.arange(64) % 7 == 0
            token, logprob = draw(logits, seeds, positions, temperature, greedy)
            logprobs = torch.log_softmax(logits * temperature[:, None], -1)
            running = logprobs.double().exp().cumsum(-1)
            goal = uniforms(seeds, positions)[:, None] * running[:, -1:]
            expected = torch.where(greedy, logits.argmax(-1), (running <= goal).sum(-1))
            self.assertEqual(token.tolist(), expected.tolist())
            torch.testing.assert_close(logprob, logprobs.gather(1, token[:, None])[:, 0])


if __name__ == "__main__":
    unittest.main()
