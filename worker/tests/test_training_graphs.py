import unittest

import numpy as np
import torch
from common import make_engine, random_derivatives, random_rows

from ludus_worker.engine import StepOptions
from ludus_worker.packing import TokenBatch
from ludus_worker.training_graphs import Graphs, Recorded, most_tokens, padded_lengths, rounded

on_gpu = unittest.skipUnless(torch.cuda.is_available(), "needs a CUDA GPU")


class SizesTest(unittest.TestCase):
    def test_sizes_are_few_and_never_smaller(self):
        for parts in (1, 2, 4):
            sizes = {rounded(count, 64, parts) for count in range(1, 4097)}
            self.assertTrue(all(rounded(count, 64, parts) >= count for count in range(1, 4097)))
            self.assertLessEqual(len(sizes), parts * 6 + 1)

    def test_padding_is_rows_of_a_block_at_most(self):
        self.assertEqual(padded_lengths([100, 28], 512), [100, 28, 128, 128, 128])
        self.assertEqual(padded_lengths([100], 256), [100, 128, 28])
        self.assertEqual(padded_lengths([256], 256), [256])

    def test_small_models_are_recorded_with_more_tokens(self):
        self.assertEqual([most_tokens(count) for count in (300_000, 5_000_000, 25_000_000, 100_000_000)], [65536, 40000, 8192, 8192])


class Repeated(Recorded):
    """Computes each time what a GPU would replay: everything but the recording can be tested without one."""

    def record(self):
        pass

    def replay_forward(self):
        hidden_states = self.weights.model.hidden_states

        def by_rows(tokens, positions, how):
            starts = np.unique(how["blocks"][:, :2].numpy(), axis=0)
            return hidden_states(tokens, positions, {"lengths": [int(end - start) for start, end in starts if end > start]})

        self.weights.model.hidden_states = by_rows
        self.hidden, self.picked = self._forward()
        del self.weights.model.hidden_states
        self.results = self._results(self.picked)

    def replay_backward(self):
        self.gradients = self._backward(self.hidden, self.picked)


class PaddedPassesTest(unittest.TestCase):
    """Padding to sizes, filling, derivatives and sums."""

    def engines(self, **options):
        padded, plain = (make_engine(**options) for _ in range(2))
        padded.trainer.graphs = Graphs(padded.trainer.head, padded.device)
        padded.trainer.graphs.kind = Repeated
        return padded, plain

    def test_random_batches(self):
        rng = np.random.default_rng(0)
        for value_head in (False, True):
            padded, plain = self.engines(value_head=value_head)
            for case in range(40):
                lengths = rng.integers(1, 90, rng.integers(1, 30))
                total = int(lengths.sum())
                mask = (rng.random(total) < rng.choice([0.05, 0.5, 1])).astype(np.uint8)
                rows = TokenBatch(lengths, rng.integers(0, 300, total), mask, 0, None)
                names = ["logprobs", *(["values"] if value_head else []), *(["entropies"] if case % 3 == 0 else [])]
                derivatives = {name: np.where(rng.random(total) < 0.7, rng.normal(size=total), 0) * rows.wanted for name in names}
                derivatives = {name: flat.astype(np.float32) for name, flat in derivatives.items()}
                # deferred: the forward pass is part of the backward pass
                deferred = case % 5 == 4
                outs = [engine.forward(case, rows, "policy", 0.9, 0, deferred) for engine in (padded, plain)]
                for name in ("logprobs", "entropies", *(["values"] if value_head else [])):
                    np.testing.assert_allclose(*(getattr(out, name) for out in outs), atol=1e-4, err_msg=f"{case} {name}")
                for engine in (padded, plain):
                    engine.backward(case, derivatives)
                if case % 4 == 3:
                    sets = [engine.sets["policy"] for engine in (padded, plain)]
                    if sets[1].gradients is None:
                        continue
                    for name, theirs in sets[1].gradients.items():
                        difference = (sets[0].gradients[name] - theirs).norm() / theirs.norm().clamp(min=1e-6)
                        self.assertLess(difference.item(), 1e-3, f"{case} {name}")
                    for each in sets:
                        each.step(StepOptions(1e-3))
            self.assertGreater(len(padded.trainer.graphs.sizes), 5)

    def test_activations_that_were_overwritten_are_computed_anew(self):
        padded, plain = self.engines()
        rows = random_rows(1, [40, 30, 20])
        for engine in (padded, plain):
            for id in (1, 2):
                engine.forward(id, rows, "policy", 1.0, 0, False)
            for id in (1, 2):
                engine.backward(id, random_derivatives(id, rows))
        ours, theirs = (engine.sets["policy"].gradients for engine in (padded, plain))
        for name in theirs:
            self.assertLess(((ours[name] - theirs[name]).norm() / theirs[name].norm()).item(), 1e-4, name)


@on_gpu
class RecordedPassesTest(unittest.TestCase):
    def engines(self, **options):
        recorded, plain = (make_engine(device="cuda", dtype="bfloat16", config={"hidden_size": 64}, **options) for _ in range(2))
        plain.trainer.graphs = None
        return recorded, plain

    def rows(self, seed, count=20):
        lengths = np.random.default_rng(seed).integers(2, 60, count).tolist()
        return random_rows(seed, lengths)

    def assert_same_gradients(self, a, b, tolerance=2e-2):
        ours, theirs = a.sets["policy"].gradients, b.sets["policy"].gradients
        self.assertEqual(set(ours), set(theirs))
        for name in theirs:
            difference = (ours[name].float() - theirs[name].float()).norm() / theirs[name].float().norm().clamp(min=1e-9)
            self.assertLess(difference.item(), tolerance, name)

    def test_numbers_and_gradients_are_those_of_passes_that_are_not_recorded(self):
        for value_head in (False, True):
            recorded, plain = self.engines(value_head=value_head)
            for seed in range(6):
                rows = self.rows(seed)
                derivatives = random_derivatives(seed, rows)
                if value_head:
                    derivatives["values"] = random_derivatives(seed + 100, rows)["logprobs"]
                outs = [engine.forward(seed, rows, "policy", 0.9, 0, False) for engine in (recorded, plain)]
                for name in ("logprobs", "entropies", *(["values"] if value_head else [])):
                    np.testing.assert_allclose(*(getattr(out, name) for out in outs), atol=2e-2)
                for engine in (recorded, plain):
                    engine.backward(seed, derivatives)
                self.assert_same_gradients(recorded, plain)
                # gradients of several passes add up until a step
                if seed % 2 == 1:
                    norms = [engine.step("policy", StepOptions(1e-3, max_gradient_norm=1.0))[0] for engine in (recorded, plain)]
                    self.assertAlmostEqual(norms[0] / norms[1], 1, delta=2e-2)
            self.assertTrue(recorded.trainer.graphs.works)
            self.assertGreater(len(recorded.trainer.graphs.sizes), 0)

    def test_deferred_passes_are_recorded(self):
        recorded, plain = self.engines()
        for seed in range(3):
            rows = self.rows(seed)
            for engine in (recorded, plain):
                engine.forward(seed, rows, "policy", 1.0, 0, True)
                engine.backward(seed, random_derivatives(seed, rows))
            self.assert_same_gradients(recorded, plain)
        self.assertGreater(len(recorded.trainer.graphs.sizes), 0)

    def test_a_pass_whose_activations_were_overwritten_is_computed_anew(self):
        recorded, plain = self.engines()
        first, second = self.rows(1), self.rows(1)
        for engine in (recorded, plain):
            engine.forward(1, first, "policy", 1.0, 0, False)
            engine.forward(2, second, "policy", 1.0, 0, False)
            engine.backward(1, random_derivatives(3, first))
            engine.backward(2, random_derivatives(4, second))
        self.assert_same_gradients(recorded, plain)

    def test_what_is_too_large_is_not_recorded(self):
        recorded, _ = self.engines()
        recorded.trainer.budget = 1 << 20
        rows = random_rows(0, [60] * 1200)
        recorded.forward(1, rows, "policy", 1.0, 0, False)
        self.assertEqual(len(recorded.trainer.graphs.sizes), 0)

    def test_nothing_is_lost_where_recording_fails(self):
        recorded, plain = self.engines()
        recorded.trainer.graphs._record = lambda *_: None
        rows = self.rows(5)
        for engine in (recorded, plain):
            engine.forward(1, rows, "policy", 1.0, 0, False)
            engine.backward(1, random_derivatives(3, rows))
        self.assert_same_gradients(recorded, plain, 1e-6)


if __name__ == "__main__":
    unittest.main()
