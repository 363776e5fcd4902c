import math
import unittest

import torch
from common import make_engine

from ludus_worker.decode_math import draw
from ludus_worker.draws import initialise, normals, random_bits, uniform_at, uniforms

cpu = torch.device("cpu")


def draw_one(logits: torch.Tensor, seed: int, position: int = 3, inverse_temperature: float = 1.0, greedy: bool = False):
    token, logprob = draw(
        logits[None],
        torch.tensor([seed]),
        torch.tensor([position]),
        torch.tensor([inverse_temperature]),
        torch.tensor([greedy]),
    )
    return token.item(), logprob.item()


class UniformTest(unittest.TestCase):
    def test_numbers_are_in_range_and_have_53_bits(self):
        for seed in (0, 1, -1, 2**53 - 1, -(2**40)):
            for index in range(100):
                self.assertTrue(0 <= random_bits(seed, index) < 2**53)
        self.assertTrue(0 <= uniform_at(3, 4) < 1)

    def test_they_are_uniform_and_neighbours_are_independent(self):
        u = uniforms(torch.arange(400)[:, None], torch.arange(500)[None])
        self.assertAlmostEqual(u.mean().item(), 0.5, delta=0.003)
        self.assertAlmostEqual(u.var().item(), 1 / 12, delta=0.001)
        for shifted in (u.roll(1, 0), u.roll(1, 1)):
            correlation = ((u - 0.5) * (shifted - 0.5)).mean().item() * 12
            self.assertLess(abs(correlation), 0.01)


class NormalTest(unittest.TestCase):
    def test_any_part_of_the_stream_is_the_same_numbers(self):
        whole = normals(7, 0, 100, cpu)
        torch.testing.assert_close(torch.cat([normals(7, 0, 33, cpu), normals(7, 33, 67, cpu)]), whole, rtol=0, atol=0)
        self.assertFalse(torch.equal(normals(8, 0, 100, cpu), whole))

    def test_they_are_standard_normal(self):
        numbers = normals(1, 0, 200_000, cpu)
        self.assertAlmostEqual(numbers.mean().item(), 0, delta=0.01)
        self.assertAlmostEqual(numbers.std().item(), 1, delta=0.01)
        self.assertAlmostEqual((numbers.abs() > 1.96).double().mean().item(), 0.05, delta=0.003)


class InitialiseTest(unittest.TestCase):
    def test_matrices_are_drawn_in_order_and_the_rest_is_constant(self):
        parameters = [
            ("embed.weight", torch.empty(6, 4)),
            ("layers.0.input_layernorm.weight", torch.empty(4)),
            ("layers.0.q_proj.bias", torch.empty(4)),
            ("layers.0.q_proj.weight", torch.empty(4, 4)),
            ("value_head.weight", torch.empty(1, 4)),
        ]
        initialise(parameters, 0.02, 5)
        values = dict(parameters)
        drawn = (normals(5, 0, 40, cpu) * 0.02).float()
        self.assertTrue(torch.equal(values["embed.weight"].flatten(), drawn[:24]))
        # constants take nothing from the stream
        self.assertTrue(torch.equal(values["layers.0.q_proj.weight"].flatten(), drawn[24:]))
        self.assertTrue(torch.equal(values["layers.0.input_layernorm.weight"], torch.ones(4)))
        self.assertFalse(values["layers.0.q_proj.bias"].any() or values["value_head.weight"].any())

    def test_the_seed_alone_decides_the_weights_of_an_engine(self):
        one, same = make_engine(), make_engine()
        for name, master in one.sets["policy"].masters.items():
            self.assertTrue(torch.equal(master, same.sets["policy"].masters[name]), name)


class DrawTest(unittest.TestCase):
    def test_greedy_takes_the_most_probable_and_of_equals_the_first(self):
        logits = torch.zeros(300)
        logits[[17, 200]] = 5.0
        for seed in range(10):
            token, logprob = draw_one(logits, seed, greedy=True)
            self.assertEqual(token, 17)
            self.assertAlmostEqual(logprob, 5 - math.log(298 + 2 * math.exp(5)), places=4)

    def test_impossible_tokens_are_never_drawn(self):
        logits = torch.full((300,), float("-inf"))
        logits[[0, 130, 299]] = torch.tensor([0.0, 1.0, 0.5])
        tokens = {draw_one(logits, seed)[0] for seed in range(200)}
        self.assertEqual(tokens, {0, 130, 299})

    def test_frequencies_are_the_probabilities_at_the_temperature(self):
        torch.manual_seed(0)
        logits = torch.randn(200)
        count = 20_000
        many = logits.expand(count, -1)
        for inverse in (0.5, 1.0, 2.0):
            token, _ = draw(
                many, torch.arange(count), torch.full((count,), 9), torch.full((count,), inverse), torch.zeros(count, dtype=torch.bool)
            )
            expected = torch.softmax(logits * inverse, -1)
            # chi-squared with 199 degrees of freedom exceeds 280 with probability 1e-4
            observed = torch.bincount(token, minlength=200)
            self.assertLess(((observed - count * expected) ** 2 / (count * expected)).sum().item(), 280)

    def test_a_row_draws_the_same_alone_and_among_others(self):
        torch.manual_seed(0)
        logits = torch.randn(20, 500)
        seeds, positions = torch.arange(20) * 77, torch.arange(20)
        temperature, greedy = torch.rand(20) + 0.5, torch.zeros(20, dtype=torch.bool)
        together, _ = draw(logits, seeds, positions, temperature, greedy)
        alone = [draw_one(logits[i], i * 77, i, temperature[i].item())[0] for i in range(20)]
        self.assertEqual(together.tolist(), alone)

    def test_logits_of_any_size_give_finite_log_probabilities(self):
        for scale in (1e-4, 1.0, 1e4):
            logits = torch.linspace(-1, 1, 300) * scale
            _, logprob = draw_one(logits, 3)
            self.assertTrue(math.isfinite(logprob) and logprob <= 0)


if __name__ == "__main__":
    unittest.main()
