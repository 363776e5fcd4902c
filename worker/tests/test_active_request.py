import math
import unittest

import torch

from ludus_worker.active_request import ActiveRequest, Request
from ludus_worker.draws import uniform_at
from ludus_worker.errors import LudusError

letters = [bytes([97 + i]) for i in range(26)]
context = 1000


def make(max_tokens: int = 10, token_bytes=letters, **options) -> ActiveRequest:
    known = None if token_bytes is None else (lambda token: token_bytes[token])
    return ActiveRequest(Request([1, 2], max_tokens, options.pop("seed", 0), **options), lambda _: None, known)


def feed(active: ActiveRequest, tokens: list[int], limit: int = context) -> list[str | None]:
    """The stop after each token, until there is one."""
    stops: list[str | None] = []
    for i, token in enumerate(tokens):
        if active.take(token, -1.0, 3, 3 + i, limit):
            return [*stops, active.stop]
        stops.append(None)
    return stops


class StopTest(unittest.TestCase):
    def test_a_stop_token_ends_the_sample_and_is_part_of_it(self):
        active = make(stop_tokens=frozenset([7]))
        self.assertEqual(feed(active, [5, 6, 7, 8]), [None, None, "stop-token"])
        self.assertEqual((active.tokens, active.versions), ([5, 6, 7], [3, 3, 3]))

    def test_a_stop_string_is_found_where_it_crosses_tokens(self):
        words = [b"ab", b"cd", b"e", b""]
        for text in ("abcd", "bc", "cde", "d"):
            with self.subTest(text):
                self.assertEqual(feed(make(token_bytes=words, stop_strings=(text,)), [0, 3, 1, 2])[-1], "stop-string")
        self.assertNotIn("stop-string", feed(make(token_bytes=words, stop_strings=("ba", "ec")), [0, 1, 2]))

    def test_a_stop_string_of_many_bytes_is_found_byte_by_byte(self):
        word = "Ω!".encode()
        split = [bytes([byte]) for byte in word]
        self.assertEqual(feed(make(token_bytes=split, stop_strings=("Ω!",)), [0, 1, 2]), [None, None, "stop-string"])

    def test_a_partial_match_that_starts_again_is_found(self):
        # a, a, b: the first a must not hide the match that begins at the second
        self.assertEqual(feed(make(stop_strings=("ab",)), [0, 0, 1]), [None, None, "stop-string"])

    def test_the_prompt_is_not_searched(self):
        self.assertEqual(feed(make(stop_strings=("c",)), [0, 1]), [None, None])

    def test_limits_end_the_sample(self):
        self.assertEqual(feed(make(max_tokens=3), [0] * 5), [None, None, "max-tokens"])
        self.assertEqual(feed(make(), [0] * 5, limit=4), [None, "context-full"])

    def test_the_reason_that_says_most_wins(self):
        everything = make(max_tokens=1, stop_tokens=frozenset([0]), stop_strings=("a",))
        self.assertEqual(feed(everything, [0], limit=3), ["stop-token"])
        self.assertEqual(feed(make(max_tokens=1, stop_strings=("a",)), [0], limit=3), ["stop-string"])
        self.assertEqual(feed(make(max_tokens=1), [0], limit=3), ["max-tokens"])

    def test_stop_strings_without_a_tokenizer_are_refused(self):
        with self.assertRaises(LudusError) as caught:
            make(token_bytes=None, stop_strings=("a",))
        self.assertEqual(caught.exception.code, "no-tokenizer")


class IdentityTest(unittest.TestCase):
    def test_equal_requests_are_two_requests(self):
        finish = lambda _: None  # noqa: E731
        one, other = (ActiveRequest(Request([1, 2], 3, seed=0), finish) for _ in range(2))
        self.assertNotEqual(one, other)
        self.assertNotIn(one, [other])


def by_hand(probabilities: list[float], uniform: float, top_k: int | None, top_p: float | None) -> tuple[int, float]:
    """The token and its log-probability under the truncated distribution, one token at a time."""
    order = sorted(range(len(probabilities)), key=lambda token: (-probabilities[token], token))
    kept, mass = [], 0.0
    for token in order[: top_k or len(order)]:
        if mass >= (top_p or 1):
            break
        kept.append(token)
        mass += probabilities[token]
    running = 0.0
    for token in kept:
        running += probabilities[token]
        if running > uniform * mass:
            break
    return token, math.log(probabilities[token] / mass)


class ChooseTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.logits = torch.randn(40) * 2

    def choose(self, position: int = 3, logits=None, **options) -> tuple[ActiveRequest, int, float]:
        active = make(**options)
        token, logprob = active.choose(self.logits if logits is None else logits, 11, -2.5, position)
        return active, token, logprob

    def test_top_k_and_top_p_draw_as_computed_by_hand(self):
        for temperature in (0.7, 1.5):
            logprobs = torch.log_softmax(self.logits.float() / temperature, -1)
            probabilities = logprobs.double().exp().tolist()
            for cut in ({"top_k": 5}, {"top_p": 0.8}, {"top_k": 10, "top_p": 0.5}, {"top_k": 1}, {"top_p": 1e-9}):
                for seed in range(50):
                    active, token, logprob = self.choose(seed=seed, temperature=temperature, **cut)
                    expected, cut_logprob = by_hand(
                        probabilities, uniform_at(seed, 3), cut.get("top_k"), cut.get("top_p")
                    )
                    self.assertEqual(token, expected)
                    # the model's own log-probability is reported beside that of the truncated distribution
                    self.assertAlmostEqual(logprob, logprobs[token].item(), places=5)
                    self.assertAlmostEqual(active.cut_logprobs[0], cut_logprob, places=5)

    def test_top_k_of_the_whole_vocabulary_and_more_cuts_nothing(self):
        for top_k in (40, 4000):
            active, token, logprob = self.choose(top_k=top_k)
            self.assertAlmostEqual(active.cut_logprobs[0], logprob, places=5)

    def test_ties_go_to_the_lower_id(self):
        flat = torch.zeros(40)
        tokens = {self.choose(logits=flat, seed=seed, top_k=3)[1] for seed in range(60)}
        self.assertEqual(tokens, {0, 1, 2})

    def test_impossible_tokens_are_never_drawn(self):
        logits = torch.full((40,), float("-inf"))
        logits[[4, 9]] = 0.0
        tokens = {self.choose(logits=logits, seed=seed, top_k=30)[1] for seed in range(60)}
        self.assertEqual(tokens, {4, 9})

    def test_greedy_keeps_the_draw_of_the_device_which_is_certain(self):
        active, token, logprob = self.choose(temperature=0.0, top_k=5)
        self.assertEqual((token, logprob, active.cut_logprobs), (11, -2.5, [0.0]))

    def test_alternatives_are_the_most_probable_tokens_at_the_temperature(self):
        active, token, logprob = self.choose(temperature=2.0, alternatives=3)
        expected = torch.log_softmax(self.logits / 2, -1).topk(3)
        self.assertEqual(active.alternative_tokens, expected.indices.tolist())
        self.assertEqual((token, logprob), (11, -2.5))
        for got, known in zip(active.alternative_logprobs, expected.values.tolist()):
            self.assertAlmostEqual(got, known, places=5)

    def test_the_draw_depends_on_seed_and_position_alone(self):
        one = [self.choose(seed=4, position=position, top_k=20)[1] for position in range(40)]
        again = [self.choose(seed=4, position=position, top_k=20)[1] for position in reversed(range(40))]
        self.assertEqual(one, again[::-1])
        self.assertNotEqual(one, [self.choose(seed=5, position=position, top_k=20)[1] for position in range(40)])

    def test_only_truncation_and_alternatives_need_logits_on_the_host(self):
        self.assertFalse(make().needs_logits)
        self.assertFalse(make(top_p=1.0).needs_logits)
        for options in ({"top_p": 0.9}, {"top_k": 3}, {"alternatives": 1}):
            self.assertTrue(make(**options).needs_logits)


if __name__ == "__main__":
    unittest.main()
