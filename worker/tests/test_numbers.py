"""What forward() returns and backward() takes besides log-probabilities: values, entropies, candidates, alternatives."""

import unittest

import numpy as np
import torch
from common import make_engine, random_derivatives, random_rows

from ludus_worker.errors import LudusError
from ludus_worker.packing import TokenBatch

lengths = [9, 20, 4]
temperature = 0.7


def batch(candidate_count: int = 0, mask: np.ndarray | None = None) -> TokenBatch:
    plain = random_rows(5, lengths)
    rng = np.random.default_rng(6)
    candidates = rng.integers(0, 300, plain.total * candidate_count) if candidate_count else None
    return TokenBatch(plain.lengths, plain.tokens, plain.mask if mask is None else mask, candidate_count, candidates)


def whole_logprobs(engine, rows: TokenBatch) -> torch.Tensor:
    """Log-probabilities of the whole vocabulary at every position, from plain autograd; position t predicts token t."""
    model = engine.sets["policy"].model.causal
    parts = []
    for start, end in zip(rows.bounds[:-1], rows.bounds[1:]):
        tokens = torch.from_numpy(rows.tokens[start:end])
        logits = model(tokens[None], lengths=[len(tokens)]).logits[0].float() / temperature
        parts.append(torch.cat([torch.zeros(1, 300), torch.log_softmax(logits[:-1], -1)]))
    return torch.cat(parts)


class ForwardTest(unittest.TestCase):
    def test_float32_is_not_tf32_whatever_the_process_was_started_with(self):
        before = torch.get_float32_matmul_precision()
        self.addCleanup(torch.set_float32_matmul_precision, before)
        torch.set_float32_matmul_precision("medium")
        make_engine()
        self.assertEqual(torch.get_float32_matmul_precision(), "highest")

    def test_all_numbers_are_those_of_whole_logits(self):
        engine = make_engine(value_head=True)
        engine.sets["policy"].value.data.normal_(generator=torch.Generator().manual_seed(0))
        rows = batch(candidate_count=3)
        out = engine.forward(1, rows, "policy", temperature, 4, False)
        with torch.no_grad():
            known = whole_logprobs(engine, rows)
        at = torch.from_numpy(np.flatnonzero(rows.wanted))
        picked = known[at]
        chosen = picked.gather(1, torch.from_numpy(rows.tokens)[at, None])[:, 0]
        np.testing.assert_allclose(out.logprobs[at], chosen, atol=1e-5)
        np.testing.assert_allclose(out.entropies[at], -(picked.exp() * picked).sum(-1), atol=1e-5)
        candidates = torch.from_numpy(rows.candidates.reshape(-1, 3))[at]
        np.testing.assert_allclose(out.candidates[at], picked.gather(1, candidates), atol=1e-5)
        best = picked.topk(4)
        np.testing.assert_array_equal(out.alternative_tokens[at], best.indices)
        np.testing.assert_allclose(out.alternative_logprobs[at], best.values, atol=1e-5)

    def test_what_is_masked_is_0_and_changes_nothing_else(self):
        engine = make_engine(value_head=True)
        mask = np.random.default_rng(1).integers(0, 2, sum(lengths)).astype(np.uint8)
        whole = engine.forward(1, batch(), "policy", 1.0, 0, False)
        some = engine.forward(2, batch(mask=mask), "policy", 1.0, 0, False)
        wanted = batch(mask=mask).wanted
        for name in ("logprobs", "entropies", "values"):
            got, known = getattr(some, name), getattr(whole, name)
            self.assertFalse(got[~wanted].any())
            np.testing.assert_allclose(got[wanted], known[wanted], atol=1e-6)

    def test_a_batch_that_wants_nothing_costs_nothing(self):
        engine = make_engine()
        engine.trainer._states = lambda *_: self.fail("computed")
        rows = batch(mask=np.zeros(sum(lengths), np.uint8))
        self.assertFalse(engine.forward(1, rows, "policy", 1.0, 0, False).logprobs.any())

    def test_the_temperature_divides_logits(self):
        engine = make_engine()
        cold, warm = (engine.forward(i, batch(), "policy", t, 0, False) for i, t in enumerate((0.25, 4.0)))
        wanted = batch().wanted
        self.assertLess(cold.entropies[wanted].mean(), warm.entropies[wanted].mean())
        self.assertAlmostEqual(warm.entropies[wanted].max(), np.log(300), delta=0.3)

    def test_tokens_out_of_range_are_named(self):
        engine = make_engine()
        for bad in (-1, 300):
            rows = TokenBatch(np.array([3]), np.array([1, bad, 2]), np.ones(3, np.uint8), 0, None)
            with self.assertRaises(LudusError) as caught:
                engine.forward(1, rows, "policy", 1.0, 0, False)
            self.assertIn(f"token {bad}", caught.exception.got)


class BackwardTest(unittest.TestCase):
    def gradients(self, rows: TokenBatch, derivatives: dict, **options) -> dict[str, torch.Tensor]:
        engine = make_engine(value_head=True, **options)
        engine.sets["policy"].value.data.fill_(0.1)
        engine.forward(1, rows, "policy", temperature, 0, options.get("deferred", False))
        engine.backward(1, derivatives)
        return engine.sets["policy"].gradients

    def test_derivatives_of_entropies_values_and_candidates_are_those_of_autograd(self):
        rows = batch(candidate_count=2)
        rng = np.random.default_rng(3)
        make = lambda *shape: rng.normal(size=shape).astype(np.float32)  # noqa: E731
        wanted = rows.wanted
        d = {"entropies": make(rows.total) * wanted, "values": make(rows.total) * wanted, "candidates": make(rows.total, 2)}
        d["candidates"] = (d["candidates"] * wanted[:, None]).ravel()
        got = self.gradients(rows, d)

        engine = make_engine(value_head=True)
        engine.sets["policy"].value.data.fill_(0.1)
        model, value = engine.sets["policy"].model, engine.sets["policy"].value
        known = whole_logprobs(engine, rows)
        entropies = -(known.exp() * known).sum(-1)
        picked = known.gather(1, torch.from_numpy(rows.candidates.reshape(-1, 2)))
        hidden = []
        for start, end in zip(rows.bounds[:-1], rows.bounds[1:]):
            tokens = torch.from_numpy(rows.tokens[start:end])
            states = model.inner(tokens[None], lengths=[len(tokens)], use_cache=False).last_hidden_state[0]
            hidden.append(torch.cat([torch.zeros(1, states.shape[1]), states[:-1]]))
        values = torch.cat(hidden) @ value[0]
        loss = entropies @ torch.from_numpy(d["entropies"]) + values @ torch.from_numpy(d["values"])
        (loss + (picked * torch.from_numpy(d["candidates"]).view(-1, 2)).sum()).backward()
        for name, gradient in got.items():
            expected = engine.sets["policy"].parameters[name].grad
            difference = (gradient - expected).norm() / expected.norm()
            self.assertLess(difference.item(), 1e-4, name)

    def test_a_deferred_forward_pass_computes_nothing_until_backward(self):
        rows = batch()
        d = random_derivatives(2, rows)
        engine = make_engine()
        states = engine.trainer._states
        engine.trainer._states = lambda *_: self.fail("computed")
        self.assertFalse(engine.forward(1, rows, "policy", temperature, 0, True).logprobs.any())
        engine.trainer._states = states
        engine.backward(1, d)
        plain = make_engine()
        plain.forward(1, rows, "policy", temperature, 0, False)
        plain.backward(1, d)
        for name, gradient in plain.sets["policy"].gradients.items():
            torch.testing.assert_close(engine.sets["policy"].gradients[name], gradient, msg=name)

    def test_derivatives_of_0_leave_no_gradient(self):
        rows = batch()
        engine = make_engine()
        engine.forward(1, rows, "policy", 1.0, 0, False)
        engine.backward(1, {"logprobs": np.zeros(rows.total, np.float32)})
        self.assertIsNone(engine.sets["policy"].gradients)

    def test_rows_without_a_derivative_change_no_gradient(self):
        rows = batch()
        d = random_derivatives(2, rows)["logprobs"]
        d[rows.bounds[1] :] = 0
        alone = TokenBatch(rows.lengths[:1], rows.tokens[: lengths[0]], rows.mask[: lengths[0]], 0, None)
        some = self.gradients(rows, {"logprobs": d})
        for name, gradient in self.gradients(alone, {"logprobs": d[: lengths[0]]}).items():
            torch.testing.assert_close(some[name], gradient, atol=1e-6, rtol=1e-4, msg=name)

    def test_a_forward_pass_serves_one_backward_pass(self):
        rows = batch()
        engine = make_engine()
        engine.forward(1, rows, "policy", 1.0, 0, False)
        engine.backward(1, random_derivatives(2, rows))
        engine.forward(2, rows, "policy", 1.0, 0, False)
        engine.release("", "", [2, 99])
        for id in (1, 2):
            with self.assertRaises(LudusError) as caught:
                engine.backward(id, random_derivatives(2, rows))
            self.assertEqual(caught.exception.code, "unknown-forward")


if __name__ == "__main__":
    unittest.main()
