import unittest
from types import SimpleNamespace

import numpy as np
import torch

from ludus_worker.errors import LudusError
from ludus_worker.packing import default_budget, TokenBatch, make_pack, plan

cpu = torch.device("cpu")


def batch(lengths: list[int], mask: list[int] | None = None, candidate_count: int = 0) -> TokenBatch:
    total = sum(lengths)
    candidates = np.arange(total * candidate_count) if candidate_count else None
    values = np.ones(total, np.uint8) if mask is None else np.array(mask, np.uint8)
    return TokenBatch(np.array(lengths), np.arange(100, 100 + total), values, candidate_count, candidates)


class TokenBatchTest(unittest.TestCase):
    def test_bounds_separate_the_rows(self):
        rows = batch([3, 2, 4])
        self.assertEqual(rows.bounds.tolist(), [0, 3, 5, 9])
        self.assertEqual(rows.total, 9)

    def test_the_first_token_of_a_row_is_never_wanted(self):
        rows = batch([3, 2])
        self.assertEqual(rows.wanted.tolist(), [False, True, True, False, True])
        self.assertEqual(rows.computed_lengths(rows.wanted).tolist(), [2, 1])

    def test_the_mask_of_the_caller_is_not_changed(self):
        mask = np.ones(3, np.uint8)
        TokenBatch(np.array([3]), np.arange(3), mask, 0, None)
        self.assertEqual(mask.tolist(), [1, 1, 1])

    def test_arrays_that_do_not_line_up_are_refused(self):
        cases = {
            "tokens": lambda: TokenBatch(np.array([3, 2]), np.arange(4), np.ones(5, np.uint8), 0, None),
            "mask": lambda: TokenBatch(np.array([3, 2]), np.arange(5), np.ones(4, np.uint8), 0, None),
            "candidates": lambda: TokenBatch(np.array([3]), np.arange(3), np.ones(3, np.uint8), 2, np.arange(5)),
            "row": lambda: TokenBatch(np.array([3, 0]), np.arange(3), np.ones(3, np.uint8), 0, None),
            "no rows": lambda: TokenBatch(np.array([], int), np.arange(0), np.ones(0, np.uint8), 0, None),
        }
        for name, make in cases.items():
            with self.subTest(name), self.assertRaises(LudusError) as caught:
                make()
            self.assertEqual(caught.exception.code, "length-mismatch")


class PlanTest(unittest.TestCase):
    def test_no_pack_exceeds_the_budget_and_every_row_is_in_one(self):
        rng = np.random.default_rng(0)
        for budget in (1, 7, 64, 1000):
            lengths = {row: int(length) for row, length in enumerate(rng.integers(1, 60, 50))}
            packs = plan(lengths, budget)
            self.assertEqual(sorted(row for pack in packs for row in pack), list(range(50)))
            for pack in packs:
                self.assertTrue(len(pack) == 1 or sum(lengths[row] for row in pack) <= budget)

    def test_a_row_longer_than_the_budget_is_alone(self):
        self.assertEqual(plan({0: 3, 1: 100, 2: 4}, 10), [[1], [2, 0]])

    def test_the_plan_depends_on_lengths_alone(self):
        lengths = {row: 5 + row % 3 for row in range(20)}
        shuffled = dict(sorted(lengths.items(), key=lambda item: item[0] * 7 % 20))
        self.assertEqual(plan(lengths, 16), plan(shuffled, 16))

    def test_nothing_to_compute_is_no_pack(self):
        self.assertEqual(plan({}, 10), [])


class PackTest(unittest.TestCase):
    def test_tokens_up_to_the_last_wanted_one_are_concatenated(self):
        rows = batch([4, 3], mask=[0, 1, 1, 0, 0, 1, 1])
        pack = make_pack(rows, [0, 1], rows.wanted, cpu)
        # row 0 wants positions 1 and 2, so it reads two tokens; row 1 wants 1 and 2 as well
        self.assertEqual(pack.tokens.tolist(), [100, 101, 104, 105])
        self.assertEqual(pack.positions.tolist(), [0, 1, 0, 1])
        self.assertEqual(pack.lengths, [2, 2])

    def test_the_state_before_a_token_predicts_it(self):
        rows = batch([4, 3])
        pack = make_pack(rows, [1, 0], rows.wanted, cpu)
        self.assertEqual(pack.targets.tolist(), [105, 106, 101, 102, 103])
        self.assertEqual(pack.tokens[pack.states].tolist(), [104, 105, 100, 101, 102])
        self.assertEqual(pack.where.tolist(), [5, 6, 1, 2, 3])

    def test_unpacking_puts_every_number_where_its_token_is(self):
        rows = batch([4, 3, 6], mask=[1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1])
        out = np.zeros(rows.total, int)
        for rows_of in plan(dict(enumerate(rows.computed_lengths(rows.wanted).tolist())), 5):
            pack = make_pack(rows, rows_of, rows.wanted, cpu)
            out[pack.where] = pack.targets.numpy()
        self.assertEqual(out.tolist(), np.where(rows.wanted, rows.tokens, 0).tolist())

    def test_positions_outside_the_selection_are_left_out(self):
        rows = batch([5, 5])
        among = rows.wanted.copy()
        among[3:] = False
        self.assertEqual(rows.computed_lengths(among).tolist()[:2], [2, 0])
        self.assertEqual(make_pack(rows, [0], among, cpu).where.tolist(), [1, 2])

    def test_candidates_follow_their_positions(self):
        rows = batch([3, 2], candidate_count=2)
        pack = make_pack(rows, [1, 0], rows.wanted, cpu)
        self.assertEqual(pack.candidates.tolist(), [[8, 9], [2, 3], [4, 5]])


class BudgetTest(unittest.TestCase):
    def test_packs_are_larger_where_their_graph_fits_by_far(self):
        half = SimpleNamespace(
            num_hidden_layers=24, hidden_size=896, intermediate_size=4864, num_attention_heads=14, num_key_value_heads=2
        )
        seven = SimpleNamespace(
            num_hidden_layers=28, hidden_size=3584, intermediate_size=18944, num_attention_heads=28, num_key_value_heads=4
        )
        self.assertEqual(default_budget(half, 64, 2, free=90 << 30, is_checkpointed=False), 1 << 15)
        self.assertEqual(default_budget(half, 64, 2, free=20 << 30, is_checkpointed=False), 1 << 14)
        self.assertEqual(default_budget(seven, 128, 2, free=90 << 30, is_checkpointed=False), 1 << 14)
        self.assertEqual(default_budget(seven, 128, 2, free=90 << 30, is_checkpointed=True), 1 << 15)


if __name__ == "__main__":
    unittest.main()
