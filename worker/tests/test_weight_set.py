import unittest

import numpy as np
import torch
from common import logprobs_of, make_engine, random_derivatives, random_rows, train_once

from ludus_worker.errors import LudusError
from ludus_worker.weight_set import StepOptions

tokens = [5, 9, 200, 17, 3, 3, 80]
matrix, norm = "model.layers.0.mlp.up_proj.weight", "model.norm.weight"


def accumulate(engine, rows=None, weights: str = "policy", scale: float = 1.0) -> None:
    rows = rows or random_rows(1, [7, 12, 3])
    derivatives = random_derivatives(2, rows)
    engine.forward(1, rows, weights, 1.0, 0, False)
    engine.backward(1, {"logprobs": derivatives["logprobs"] * np.float32(scale)})


class SnapshotTest(unittest.TestCase):
    def setUp(self):
        self.engine = make_engine()

    def test_a_snapshot_does_not_follow_the_policy(self):
        before = logprobs_of(self.engine, tokens)
        self.engine.snapshot("reference", "", False)
        train_once(self.engine)
        np.testing.assert_array_equal(logprobs_of(self.engine, tokens, "reference"), before)
        self.assertGreater(np.abs(logprobs_of(self.engine, tokens) - before).max(), 1e-3)
        self.assertEqual((self.engine.sets["reference"].version, self.engine.policy_version), (0, 1))

    def test_trainable_sets_have_gradients_and_optimizers_of_their_own(self):
        self.engine.snapshot("opponent", "", True)
        accumulate(self.engine, weights="opponent")
        self.assertIsNone(self.engine.sets["policy"].gradients)
        before = logprobs_of(self.engine, tokens)
        self.engine.step("opponent", StepOptions(1e-2))
        np.testing.assert_array_equal(logprobs_of(self.engine, tokens), before)
        self.assertEqual([self.engine.sets[name].steps for name in ("policy", "opponent")], [0, 1])

    def test_the_same_training_gives_the_same_weights_in_both(self):
        self.engine.snapshot("twin", "", True)
        for name in ("policy", "twin"):
            train_once(self.engine, name)
            train_once(self.engine, name)
        np.testing.assert_array_equal(logprobs_of(self.engine, tokens), logprobs_of(self.engine, tokens, "twin"))

    def test_a_snapshot_of_a_snapshot_and_a_name_taken_again(self):
        self.engine.snapshot("a", "", False)
        old = logprobs_of(self.engine, tokens, "a")
        train_once(self.engine)
        self.engine.snapshot("b", "a", False)
        np.testing.assert_array_equal(logprobs_of(self.engine, tokens, "b"), old)
        self.engine.snapshot("a", "", False)
        np.testing.assert_array_equal(logprobs_of(self.engine, tokens, "a"), logprobs_of(self.engine, tokens))
        self.assertEqual(set(self.engine.sets), {"policy", "a", "b"})

    def test_names_that_cannot_be(self):
        for name, source in (("policy", ""), ("a", "nobody")):
            with self.assertRaises(LudusError) as caught:
                self.engine.snapshot(name, source, False)
            self.assertEqual(caught.exception.code, "bad-snapshot")
        self.assertEqual(list(self.engine.sets), ["policy"])

    def test_released_weights_are_unknown_and_their_forward_passes_gone(self):
        self.engine.snapshot("opponent", "", True)
        rows = random_rows(1, [7])
        self.engine.forward(5, rows, "opponent", 1.0, 0, False)
        self.engine.release("opponent", "", [])
        self.engine.release("opponent", "", [])  # unknown names are no error
        with self.assertRaises(LudusError) as caught:
            self.engine.backward(5, random_derivatives(2, rows))
        self.assertEqual(caught.exception.code, "unknown-forward")
        with self.assertRaises(LudusError) as caught:
            logprobs_of(self.engine, tokens, "opponent")
        self.assertEqual(caught.exception.code, "unknown-weights")
        self.assertIn("policy", caught.exception.expected)


class StepTest(unittest.TestCase):
    def test_steps_are_those_of_adamw_with_decay_on_matrices_alone(self):
        engine = make_engine()
        policy = engine.sets["policy"]
        copies = {name: master.clone().requires_grad_() for name, master in policy.masters.items()}
        decayed = [copy for copy in copies.values() if copy.dim() > 1]
        others = [copy for copy in copies.values() if copy.dim() <= 1]
        options = {"lr": 3e-3, "betas": (0.8, 0.95), "eps": 1e-6}
        reference = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.2}, {"params": others, "weight_decay": 0.0}], **options
        )
        for seed in range(3):
            accumulate(engine, random_rows(seed, [9, 5]))
            for name, gradient in policy.gradients.items():
                copies[name].grad = gradient.clone()
            engine.step("policy", StepOptions(3e-3, weight_decay=0.2, beta1=0.8, beta2=0.95, epsilon=1e-6))
            reference.step()
        for name, master in policy.masters.items():
            torch.testing.assert_close(master, copies[name].detach(), msg=name)

    def test_gradients_accumulate_until_a_step(self):
        engine, double = make_engine(), make_engine()
        accumulate(engine)
        accumulate(engine)
        accumulate(double, scale=2.0)
        for name, gradient in double.sets["policy"].gradients.items():
            torch.testing.assert_close(engine.sets["policy"].gradients[name], gradient, atol=1e-5, rtol=1e-5)
        engine.step("policy", StepOptions(1e-3))
        self.assertIsNone(engine.sets["policy"].gradients)

    def test_the_norm_is_of_all_gradients_before_clipping(self):
        engine = make_engine()
        accumulate(engine)
        gradients = torch.cat([gradient.flatten() for gradient in engine.sets["policy"].gradients.values()])
        norm_before = gradients.double().norm().item()
        reported, applied, clipped = engine.step("policy", StepOptions(1e-3, max_gradient_norm=norm_before / 2))
        self.assertAlmostEqual(reported, norm_before, places=4)
        self.assertEqual((applied, clipped), (True, True))
        # the first moment is (1 - beta1) of the clipped gradient
        moments = torch.cat([moment.flatten() for moment in engine.sets["policy"].moments("exp_avg").values()])
        self.assertAlmostEqual(moments.norm().item(), 0.1 * norm_before / 2, places=4)

    def test_a_limit_that_is_not_reached_changes_nothing(self):
        free, limited = make_engine(), make_engine()
        for engine, limit in ((free, None), (limited, 1e9)):
            accumulate(engine)
            self.assertFalse(engine.step("policy", StepOptions(1e-3, max_gradient_norm=limit))[2])
        np.testing.assert_array_equal(logprobs_of(free, tokens), logprobs_of(limited, tokens))

    def test_a_gradient_that_is_not_finite_is_dropped(self):
        engine = make_engine()
        before = logprobs_of(engine, tokens)
        for value in (float("nan"), float("inf")):
            accumulate(engine)
            engine.sets["policy"].gradients[norm][0] = value
            reported, applied, clipped = engine.step("policy", StepOptions(1e-2))
            self.assertFalse(np.isfinite(reported))
            self.assertEqual((applied, clipped), (False, False))
        np.testing.assert_array_equal(logprobs_of(engine, tokens), before)
        self.assertEqual((engine.policy_version, engine.sets["policy"].steps), (0, 0))
        # nothing of it is left for the next step
        self.assertEqual(train_once(engine), train_once(make_engine()))

    def test_steps_without_a_gradient_or_on_frozen_weights_are_refused(self):
        engine = make_engine()
        engine.snapshot("reference", "", False)
        for name, code in (("policy", "no-gradient"), ("reference", "frozen-weights"), ("nobody", "unknown-weights")):
            with self.assertRaises(LudusError) as caught:
                engine.step(name, StepOptions(1e-3))
            self.assertEqual(caught.exception.code, code)

    def test_parameters_without_a_gradient_still_decay(self):
        engine = make_engine(value_head=True)
        policy = engine.sets["policy"]
        policy.masters["value_head.weight"].fill_(1)
        accumulate(engine)
        engine.step("policy", StepOptions(0.1, weight_decay=0.5))
        # no derivative of values: the value head is only decayed
        torch.testing.assert_close(policy.masters["value_head.weight"], torch.full((1, 32), 0.95))

    def test_fused_projections_stay_views_of_one_tensor(self):
        engine = make_engine()
        layer = engine.sets["policy"].model.inner.layers[0]
        query, key = layer.self_attn.q_proj.weight, layer.self_attn.k_proj.weight
        train_once(engine)
        end = query.data_ptr() + query.numel() * query.element_size()
        self.assertEqual(end, key.data_ptr())


if __name__ == "__main__":
    unittest.main()
