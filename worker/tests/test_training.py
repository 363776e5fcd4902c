import unittest
from unittest import mock

import numpy as np
import torch
from common import make_engine, random_derivatives, random_rows, train_once

from ludus_worker.errors import LudusError


def gradient_of(engine, rows):
    engine.forward(1, rows, "policy", 0.8, 0, False)
    engine.backward(1, random_derivatives(2, rows))
    gradients, engine.sets["policy"].gradients = engine.sets["policy"].gradients, None
    return gradients


def assert_same(test, a, b, tolerance):
    for name in a:
        difference = (a[name] - b[name]).norm() / a[name].norm().clamp(min=1e-12)
        test.assertLess(difference.item(), tolerance, name)


class TrainingTest(unittest.TestCase):
    def setUp(self):
        self.rows = random_rows(5, [9, 20, 4, 15, 31])

    def test_gradients_are_those_of_plain_autograd(self):
        engine = make_engine()
        got = gradient_of(engine, self.rows)
        model = engine.sets["policy"].model.causal
        derivatives = torch.from_numpy(random_derivatives(2, self.rows)["logprobs"])
        for b, start in enumerate(self.rows.bounds[:-1]):
            tokens = torch.from_numpy(self.rows.tokens[start : self.rows.bounds[b + 1]])
            logits = model(tokens[None], lengths=[len(tokens)]).logits[0, :-1].float() / 0.8
            chosen = torch.log_softmax(logits, -1).gather(1, tokens[1:, None])[:, 0]
            (chosen @ derivatives[start + 1 : start + len(tokens)]).backward()
        expected = {name: p.grad for name, p in model.named_parameters()}
        assert_same(self, expected, got, 1e-5)

    def test_micro_batches_checkpointing_and_recomputation_change_nothing(self):
        whole = gradient_of(make_engine(), self.rows)
        assert_same(self, whole, gradient_of(make_engine(micro_batch_tokens=16), self.rows), 1e-5)
        assert_same(self, whole, gradient_of(make_engine(checkpoint_activations=True), self.rows), 1e-6)
        with mock.patch("ludus_worker.training.kept_tokens_elsewhere", 0):
            assert_same(self, whole, gradient_of(make_engine(), self.rows), 1e-6)

    def test_out_of_memory_halves_the_budget_and_the_gradient_is_the_same(self):
        expected = gradient_of(make_engine(), self.rows)
        engine = make_engine()
        states, apply = engine.trainer._states, engine.trainer._apply

        def scarce(weights, pack):
            if len(pack.tokens) > 40:
                raise torch.OutOfMemoryError("no more")
            return states(weights, pack)

        failures = iter([True, False, True])

        def failing(record, pack, hidden, derivatives):
            if next(failures, False):
                hidden.sum().backward()  # half a backward pass before memory runs out
                raise torch.OutOfMemoryError("no more")
            apply(record, pack, hidden, derivatives)

        engine.trainer._states, engine.trainer._apply = scarce, failing
        with self.assertLogs("ludus", "WARNING") as logs:
            got = gradient_of(engine, self.rows)
        self.assertIn("out of memory: packs now hold at most", logs.output[0])
        assert_same(self, expected, got, 1e-5)

    def test_a_row_that_never_fits_is_an_error_and_the_engine_goes_on(self):
        engine = make_engine()
        states = engine.trainer._states

        def scarce(weights, pack):
            if len(pack.tokens) > 18:
                raise torch.OutOfMemoryError("no more")
            return states(weights, pack)

        engine.trainer._states = scarce
        with self.assertRaises(LudusError) as caught, self.assertLogs("ludus", "WARNING"):
            engine.forward(1, self.rows, "policy", 1.0, 0, False)
        self.assertEqual(caught.exception.code, "out-of-memory")
        engine.forward(2, random_rows(1, [5, 6]), "policy", 1.0, 0, False)

    def test_a_forward_pass_survives_a_step_by_being_computed_anew(self):
        engine = make_engine()
        engine.forward(7, self.rows, "policy", 1.0, 0, False)
        self.assertGreater(len(engine.trainer.records[7].passes), 0)
        train_once(engine)
        self.assertEqual(len(engine.trainer.records[7].passes), 0)
        engine.backward(7, random_derivatives(2, self.rows))
        self.assertIsNotNone(engine.sets["policy"].gradients)

    def test_frozen_weights_keep_no_graph(self):
        engine = make_engine()
        engine.snapshot("reference", "", False)
        engine.forward(1, self.rows, "reference", 1.0, 0, False)
        self.assertEqual(engine.trainer.records[1].passes, [])
        with self.assertRaises(LudusError) as caught:
            engine.backward(1, random_derivatives(2, self.rows))
        self.assertEqual(caught.exception.code, "frozen-weights")

    def test_bfloat16_computes_beside_float32_weights(self):
        engine = make_engine(dtype="bfloat16")
        policy = engine.sets["policy"]
        before = {name: master.clone() for name, master in policy.masters.items()}
        for _ in range(4):
            train_once(engine, rows=self.rows, learning_rate=1e-5)
        name = "model.layers.0.mlp.up_proj.weight"
        moved = (policy.masters[name] - before[name]).abs()
        # steps this small would be lost in bfloat16
        self.assertGreater((moved > 0).float().mean().item(), 0.9)
        self.assertEqual(policy.parameters[name].dtype, torch.bfloat16)
        self.assertTrue(torch.equal(policy.parameters[name].data, policy.masters[name].bfloat16()))


class DrawnWeightsTest(unittest.TestCase):
    def test_all_wanted_positions_get_numbers(self):
        engine = make_engine(value_head=True)
        rows = random_rows(3, [5, 2])
        out = engine.forward(1, rows, "policy", 1.0, 2, False)
        self.assertTrue(np.all((out.logprobs != 0) == rows.wanted))
        self.assertEqual(out.alternative_tokens.shape, (7, 2))


if __name__ == "__main__":
    unittest.main()
