"""What happens to requests when slots or memory run out, and when requests or weights go away."""

import unittest

import numpy as np
from common import config, listed, logprobs_of, make_engine, sample_all, train_once

from ludus_worker.active_request import Request
from ludus_worker.errors import LudusError

#: Bytes of KV cache of one token in the model of common.py, float32.
token_bytes = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * 8 * 4
long_context = {"max_position_embeddings": 600}


def prompt(seed: int, length: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, 300, length).tolist()


def run(engine, limit: int = 3000) -> None:
    """Steps until nothing is left to do; fails where requests never end."""
    for _ in range(limit):
        if not engine.sampler.has_work:
            return
        engine.sampler.step()
    raise AssertionError(f"the sampler still has work after {limit} steps")


class Preemption(unittest.TestCase):
    def sample(self, requests: list[Request], **options) -> list:
        results = {}
        engine = make_engine(config=long_context, **options)
        for i, request in enumerate(requests):
            engine.sample(request, lambda result, i=i: results.__setitem__(i, listed(result)))
        run(engine)
        self.assertEqual(sorted(results), list(range(len(requests))), "requests that never finished")
        return [results[i].tokens for i in range(len(requests))]

    def test_a_row_that_outgrows_memory_preempts_the_newest_and_changes_no_token(self):
        # two slots of 128 positions fit, but only one of 256: one of both rows has to wait for the other
        for lengths in ((100, 20), (20, 100), (100, 100)):
            requests = [Request(prompt(i, length), 40, seed=i) for i, length in enumerate(lengths)]
            expected = self.sample(requests)
            for ahead in (False, True):
                with self.subTest(lengths=lengths, run_ahead=ahead):
                    got = self.sample(requests, max_cache_bytes=256 * token_bytes + 8, run_ahead=ahead)
                    self.assertEqual(got, expected)

    def test_many_rows_of_many_lengths_all_finish_with_little_memory(self):
        requests = [Request(prompt(i, 5 + 30 * i), 50, seed=i) for i in range(7)]
        expected = self.sample(requests)
        self.assertEqual(self.sample(requests, max_cache_bytes=300 * token_bytes), expected)

    def test_requests_beyond_the_slots_wait_for_one(self):
        requests = [Request(prompt(i, 6), 5 + i, seed=i) for i in range(9)]
        self.assertEqual(self.sample(requests, max_rows=2), self.sample(requests))


class Eviction(unittest.TestCase):
    def test_idle_rollouts_are_evicted_before_requests_wait(self):
        engine = make_engine(max_rows=2)
        for name in ("a", "b"):
            sample_all(engine, [Request(prompt(1, 20), 3, seed=1, rollout=name)])
        self.assertEqual(len(engine.sampler.rows.by_slot), 2)
        [other] = sample_all(engine, [Request(prompt(2, 9), 3, seed=2)])
        self.assertEqual(len(other.tokens), 3)
        self.assertEqual([row.rollout for row in engine.sampler.rows], ["b"])

    def test_an_evicted_rollout_goes_on_with_the_same_tokens(self):
        first, observation = prompt(1, 30), prompt(3, 4)

        def two_turns(engine, evict: bool) -> list[int]:
            [one] = sample_all(engine, [Request(first, 5, seed=1, rollout="a")])
            if evict:
                sample_all(engine, [Request(prompt(2, 9), 3, seed=2, rollout="b")])
            turn = first + one.tokens + observation
            return sample_all(engine, [Request(turn, 8, seed=2, rollout="a")])[0].tokens

        self.assertEqual(two_turns(make_engine(max_rows=1), True), two_turns(make_engine(), False))

    def test_a_later_turn_prefills_only_what_is_new(self):
        engine = make_engine()
        first = prompt(1, 40)
        [one] = sample_all(engine, [Request(first, 5, seed=1, rollout="a")])
        before = engine.sampler.prefilled_tokens
        sample_all(engine, [Request(first + one.tokens + [7, 8, 9], 3, seed=2, rollout="a")])
        # the token drawn last, and the observation but for its last token
        self.assertEqual(engine.sampler.prefilled_tokens - before, 3)

    def test_a_turn_that_changes_history_prefills_from_the_change_on(self):
        engine = make_engine()
        first = prompt(1, 40)
        sample_all(engine, [Request(first, 5, seed=1, rollout="a")])
        changed = [*first[:30], 1, 2, 3]
        before = engine.sampler.prefilled_tokens
        [sample] = sample_all(engine, [Request(changed, 6, seed=3, rollout="a")])
        self.assertEqual(engine.sampler.prefilled_tokens - before, 2)
        np.testing.assert_allclose(logprobs_of(engine, changed + sample.tokens)[33:], sample.logprobs, atol=1e-5)

    def test_released_rollouts_free_their_slot_and_active_ones_stay(self):
        engine = make_engine()
        sample_all(engine, [Request(prompt(1, 9), 3, seed=1, rollout="a")])
        done = []
        engine.sample(Request(prompt(2, 9), 20, seed=1, rollout="b"), done.append)
        engine.sampler.step()
        for name in ("a", "b", "never seen"):
            engine.release("", name, [])
        self.assertEqual([row.rollout for row in engine.sampler.rows], ["b"])
        run(engine)
        self.assertEqual(len(done[0].tokens), 20)


class GoingAway(unittest.TestCase):
    def start(self, engine, **options):
        done = []
        active = engine.sample(Request(prompt(1, 9), 20, seed=1, **options), done.append)
        return active, done

    def test_an_aborted_request_that_waits_is_never_started(self):
        engine = make_engine(max_rows=1)
        _, first = self.start(engine)
        waiting, second = self.start(engine)
        engine.sampler.step()
        engine.sampler.abort(waiting)
        run(engine)
        self.assertEqual((len(first), second), (1, []))

    def test_aborting_one_of_two_equal_requests_leaves_the_other(self):
        engine = make_engine()
        done = []
        actives = [engine.sample(Request(prompt(1, 9), 5, seed=1), done.append) for _ in range(2)]
        engine.sampler.abort(actives[1])
        run(engine)
        self.assertEqual(done, [actives[0]])

    def test_aborting_what_has_ended_does_nothing(self):
        engine = make_engine()
        active, done = self.start(engine, rollout="a")
        run(engine)
        engine.sampler.abort(active)
        self.assertEqual(len(engine.sampler.rows.by_slot), 1)

    def test_an_abort_while_a_step_runs_ahead_takes_nothing_more(self):
        engine = make_engine(run_ahead=True)
        active, done = self.start(engine)
        for _ in range(4):
            engine.sampler.step()
        taken = len(active.tokens)
        engine.sampler.abort(active)
        run(engine)
        self.assertEqual((len(active.tokens), done), (taken, []))

    def test_unknown_weights_are_refused_with_those_that_are_known(self):
        engine = make_engine()
        engine.snapshot("reference", "", False)
        with self.assertRaises(LudusError) as caught:
            engine.sample(Request([1, 2], 3, seed=0, weights="nobody"), lambda _: None)
        self.assertEqual(caught.exception.code, "unknown-weights")
        self.assertIn("policy, reference", caught.exception.expected)

    def test_releasing_weights_fails_the_requests_that_use_them_and_no_others(self):
        engine = make_engine(max_rows=2)
        engine.snapshot("reference", "", False)
        _, running = self.start(engine, weights="reference")
        _, other = self.start(engine)
        _, waiting = self.start(engine, weights="reference")
        engine.sampler.step()
        engine.release("reference", "", [])
        for [error] in (running, waiting):
            self.assertEqual(error.code, "unknown-weights")
            self.assertNotIn("one of .", str(error))
        run(engine)
        self.assertEqual(len(other[0].tokens), 20)

    def test_a_failed_step_fails_what_was_there_and_later_requests_work(self):
        engine = make_engine()
        _, running = self.start(engine)
        engine.sampler.step()
        _, waiting = self.start(engine)
        engine.sampler.fail(RuntimeError("no kernel"))
        self.assertEqual([str(result) for result in (*running, *waiting)], ["no kernel"] * 2)
        self.assertFalse(engine.sampler.has_work)
        [fresh] = sample_all(make_engine(), [Request(prompt(1, 9), 20, seed=1)])
        [again] = sample_all(engine, [Request(prompt(1, 9), 20, seed=1)])
        self.assertEqual(again.tokens, fresh.tokens)

    def test_a_step_frees_idle_rows_whose_cache_is_stale(self):
        engine = make_engine()
        engine.snapshot("reference", "", False)
        for weights in ("policy", "reference"):
            sample_all(engine, [Request(prompt(1, 9), 3, seed=1, rollout="a", weights=weights)])
        train_once(engine)
        self.assertEqual([row.weights for row in engine.sampler.rows], ["reference"])

    def test_rows_of_several_weights_are_sampled_side_by_side(self):
        engine = make_engine(run_ahead=True)
        engine.snapshot("reference", "", False)
        train_once(engine)
        requests = [Request(prompt(1, 9), 12, seed=1, weights=name) for name in ("policy", "reference") * 2]
        samples = sample_all(engine, requests)
        self.assertEqual(samples[0].tokens, samples[2].tokens)
        for request, sample in zip(requests, samples):
            known = logprobs_of(engine, request.tokens + sample.tokens, request.weights)[9:]
            np.testing.assert_allclose(known, sample.logprobs, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
