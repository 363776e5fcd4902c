import unittest

import numpy as np
from common import listed, logprobs_of, make_engine, sample_all, train_once

from ludus_worker.active_request import Request
from ludus_worker.errors import LudusError


def prompts(seed: int, lengths: list[int]) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 300, length).tolist() for length in lengths]


class SamplerTest(unittest.TestCase):
    def requests(self) -> list[Request]:
        made = prompts(4, [3, 40, 1, 17, 60, 25, 2, 33])
        return [Request(tokens, 6 + 3 * i, seed=i, temperature=0.8 + 0.1 * i) for i, tokens in enumerate(made)]

    def test_log_probabilities_are_those_of_the_forward_pass(self):
        engine = make_engine()
        for request, sample in zip(self.requests(), sample_all(engine, self.requests())):
            known = logprobs_of(engine, request.tokens + sample.tokens, temperature=request.temperature)
            np.testing.assert_allclose(known[len(request.tokens) :], sample.logprobs, atol=1e-5)

    def test_running_ahead_few_rows_and_a_small_cache_change_nothing(self):
        expected = [sample.tokens for sample in sample_all(make_engine(), self.requests())]
        # one slot of 128 positions takes 2 * 2 layers * 2 heads * 8 * 4 bytes * 128
        per_slot = 2 * 2 * 2 * 8 * 4 * 128
        for options in (
            {"run_ahead": True},
            {"max_rows": 3},
            {"max_rows": 3, "run_ahead": True},
            {"max_cache_bytes": 2 * per_slot},
            {"attention": "matmul", "run_ahead": True},
        ):
            got = [sample.tokens for sample in sample_all(make_engine(**options), self.requests())]
            self.assertEqual(got, expected, options)

    def test_a_group_computes_its_prompt_once(self):
        engine = make_engine()
        [tokens] = prompts(1, [50])
        samples = sample_all(engine, [Request(tokens, 5, seed=i) for i in range(8)])
        self.assertEqual(engine.sampler.prefilled_tokens, 49)
        self.assertGreater(len({tuple(sample.tokens) for sample in samples}), 1)
        for sample in samples:
            np.testing.assert_allclose(logprobs_of(engine, tokens + sample.tokens)[50:], sample.logprobs, atol=1e-5)

    def test_a_later_turn_computes_only_what_is_new(self):
        for ahead in (False, True):
            engine = make_engine(run_ahead=ahead)
            [tokens, observation] = prompts(1, [40, 7])
            [first] = sample_all(engine, [Request(tokens, 5, seed=1, rollout="a")])
            self.assertEqual(engine.sampler.prefilled_tokens, 39)
            turn = tokens + first.tokens + observation
            [second] = sample_all(engine, [Request(turn, 5, seed=2, rollout="a")])
            # the last sampled token and all but the last of the observation
            self.assertEqual(engine.sampler.prefilled_tokens, 39 + 1 + 6)
            [fresh] = sample_all(make_engine(), [Request(turn, 5, seed=2)])
            self.assertEqual(second.tokens, fresh.tokens)
            engine.release("", "a", [])
            self.assertEqual(len(engine.sampler.rows.by_slot), 0)

    def test_a_turn_that_follows_at_once_takes_nothing_from_the_step_under_way(self):
        engine = make_engine(run_ahead=True)
        [tokens, observation, other] = prompts(1, [20, 3, 9])
        done = []

        def next_turn(first):
            turn = tokens + listed(first).tokens + observation
            engine.sample(Request(turn, 5, seed=2, rollout="a"), lambda second: done.append((turn, listed(second))))

        engine.sample(Request(other, 60, seed=5), lambda _: None)
        engine.sample(Request(tokens, 5, seed=1, rollout="a"), next_turn)
        while engine.sampler.has_work:
            engine.sampler.step()
        [(turn, second)] = done
        [fresh] = sample_all(make_engine(), [Request(turn, 5, seed=2)])
        self.assertEqual(second.tokens, fresh.tokens)

    def test_a_step_in_the_middle_computes_rows_again(self):
        engine = make_engine(run_ahead=True)
        [tokens] = prompts(1, [20])
        done = []
        engine.sample(Request(tokens, 12, seed=1), lambda result: done.append(listed(result)))
        for _ in range(5):
            engine.sampler.step()
        train_once(engine)
        while engine.sampler.has_work:
            engine.sampler.step()
        [sample] = done
        self.assertEqual(sorted(sample.versions), sample.versions)
        self.assertEqual(set(sample.versions), {0, 1})
        known = logprobs_of(engine, tokens + sample.tokens)[20:]
        later = sample.versions.index(1)
        np.testing.assert_allclose(known[later:], sample.logprobs[later:], atol=1e-5)

    def test_stragglers_move_down(self):
        engine = make_engine()
        made = prompts(2, [4] * 40)
        requests = [Request(tokens, 40 if i == 39 else 2, seed=i) for i, tokens in enumerate(made)]
        expected = sample_all(make_engine(), requests[39:])[0].tokens
        samples = sample_all(engine, requests)
        self.assertEqual(samples[39].tokens, expected)

    def test_aborted_rows_leave_their_slot(self):
        engine = make_engine(max_rows=2)
        [tokens] = prompts(1, [5])
        doomed = [engine.sample(Request(tokens, 80, seed=i), lambda _: self.fail("finished")) for i in range(2)]
        engine.sampler.step()
        for sample in doomed:
            engine.sampler.abort(sample)
        self.assertEqual(len(sample_all(engine, [Request(tokens, 3, seed=1)])[0].tokens), 3)

    def test_a_sequence_that_cannot_fit_is_refused(self):
        engine = make_engine(max_cache_bytes=1000)
        [error] = sample_all(engine, [Request([1, 2], 3, seed=1)])
        self.assertIsInstance(error, LudusError)
        self.assertEqual(error.code, "cache-too-small")

    def test_stop_strings_are_found_across_tokens(self):
        names = [bytes([97 + i % 26]) for i in range(300)]
        engine = make_engine(token_bytes=names)
        [long] = sample_all(engine, [Request([5, 6], 20, seed=4)])
        text = b"".join(names[token] for token in long.tokens)
        needle = text[6:9].decode()
        [short] = sample_all(engine, [Request([5, 6], 20, seed=4, stop_strings=(needle,))])
        self.assertEqual(short.stop, "stop-string")
        self.assertEqual(short.tokens, long.tokens[: text.index(needle.encode()) + 3])


if __name__ == "__main__":
    unittest.main()
