import unittest

import numpy as np

from ludus_worker.active_request import ActiveRequest, Request
from ludus_worker.rows import Row, Rows, common_prefix, prefix_block, prefix_keys


def array(tokens) -> np.ndarray:
    return np.array(tokens, np.int32)


def active(tokens: list[int]) -> ActiveRequest:
    return ActiveRequest(Request(tokens, 4, seed=0), lambda _: None)


def add(rows: Rows, slot: int, tokens: list[int], *, cached: int = 0, idle: bool = False, **options) -> Row:
    fields = {"weights": "policy", "rollout": "", "used": 0} | options
    row = Row(slot, fields["weights"], array(tokens), cached, None if idle else active(tokens), fields["rollout"], fields["used"])
    rows.add(row)
    return row


class PrefixTest(unittest.TestCase):
    def test_the_common_prefix_ends_at_the_first_difference_or_the_limit(self):
        self.assertEqual(common_prefix(array([1, 2, 3]), array([1, 2, 4]), 10), 2)
        self.assertEqual(common_prefix(array([1, 2, 3]), array([1, 2, 3, 4]), 10), 3)
        self.assertEqual(common_prefix(array([1, 2, 3]), array([1, 2, 3]), 1), 1)
        self.assertEqual(common_prefix(array([1]), array([2]), 5), 0)
        self.assertEqual(common_prefix(array([]), array([2]), 5), 0)

    def test_keys_are_of_whole_blocks_before_the_last_token_shortest_first(self):
        tokens = np.arange(3 * prefix_block)
        lengths = [length for length, _ in prefix_keys("policy", tokens)]
        # the last token is always computed, so a prefix never holds all tokens
        self.assertEqual(lengths, [prefix_block, 2 * prefix_block])
        self.assertEqual(prefix_keys("policy", tokens[:prefix_block]), [])

    def test_keys_depend_on_the_weights_and_on_every_earlier_token(self):
        tokens = np.arange(40)
        [key] = [key for length, key in prefix_keys("policy", tokens) if length == 32]
        changed = array([7, *tokens[1:]])
        self.assertNotIn(key, [other for _, other in prefix_keys("reference", tokens)])
        self.assertNotIn(key, [other for _, other in prefix_keys("policy", changed)])
        self.assertIn(key, [other for _, other in prefix_keys("policy", array([*tokens, 1, 2, 3]))])


class SharingTest(unittest.TestCase):
    def setUp(self):
        self.rows = Rows()
        self.prompt = np.arange(50, dtype=np.int32)

    def test_a_cached_prefix_is_found_to_the_token(self):
        source = add(self.rows, 0, self.prompt, cached=49)
        found = self.rows.longest_prefix("policy", array([*self.prompt[:45], 99, 98]))
        # found by blocks of 16, then compared token by token
        self.assertEqual(found, (source, 45, True))

    def test_the_last_token_of_a_request_is_never_shared(self):
        add(self.rows, 0, self.prompt, cached=49)
        _, length, _ = self.rows.longest_prefix("policy", self.prompt[:33])
        self.assertEqual(length, 32)

    def test_a_prefix_that_is_still_being_computed_is_reported_as_such(self):
        source = add(self.rows, 0, self.prompt, cached=0)
        self.assertEqual(self.rows.longest_prefix("policy", self.prompt), (source, 48, False))

    def test_an_idle_row_shares_what_it_has_and_nothing_is_waited_for(self):
        add(self.rows, 0, self.prompt, cached=20, idle=True)
        _, length, is_cached = self.rows.longest_prefix("policy", self.prompt)
        self.assertEqual((length, is_cached), (20, True))
        rows = Rows()
        add(rows, 0, self.prompt, cached=0, idle=True)
        self.assertIsNone(rows.longest_prefix("policy", self.prompt))

    def test_other_weights_short_prefixes_and_freed_rows_share_nothing(self):
        row = add(self.rows, 0, self.prompt, cached=49)
        self.assertIsNone(self.rows.longest_prefix("reference", self.prompt))
        self.assertIsNone(self.rows.longest_prefix("policy", self.prompt[:15]))
        self.rows.free(row)
        self.assertIsNone(self.rows.longest_prefix("policy", self.prompt))

    def test_a_row_whose_tokens_were_replaced_no_longer_shares_the_old_ones(self):
        row = add(self.rows, 0, self.prompt, cached=49)
        row.tokens, row.cached, row.indexed = array([200] * 50), 49, 0
        self.rows.index(row)
        self.assertIsNone(self.rows.longest_prefix("policy", self.prompt))
        self.assertEqual(self.rows.longest_prefix("policy", array([200] * 60)), (row, 49, True))

    def test_the_index_does_not_grow_without_bound(self):
        row = add(self.rows, 0, self.prompt, cached=49)
        self.rows._by_prefix.update({-key: row for key in range(1, 100_002)})
        self.rows.free(row)
        add(self.rows, 1, self.prompt, cached=49)
        self.assertEqual(len(self.rows._by_prefix), 3)


class SlotTest(unittest.TestCase):
    def setUp(self):
        self.rows = Rows()

    def test_the_lowest_free_slot_is_taken(self):
        for slot in (0, 1, 3):
            add(self.rows, slot, [1, 2])
        self.assertEqual(self.rows.free_slot(5), 2)
        self.rows.free(self.rows.by_slot[0])
        self.assertEqual(self.rows.free_slot(5), 0)
        self.assertEqual(self.rows.free_slot(3), 0)

    def test_there_is_none_when_all_are_taken(self):
        add(self.rows, 0, [1, 2])
        add(self.rows, 1, [1, 2])
        self.assertIsNone(self.rows.free_slot(2))

    def test_the_least_recently_used_idle_row_is_evicted_first(self):
        add(self.rows, 0, [1, 2], used=1)
        old = add(self.rows, 1, [1, 2], used=2, idle=True)
        newer = add(self.rows, 2, [1, 2], used=5, idle=True)
        self.assertIs(self.rows.least_recently_used(), old)
        self.assertIs(self.rows.least_recently_used(spared=old), newer)
        self.rows.free(old)
        self.assertIsNone(self.rows.least_recently_used(spared=newer))

    def test_rows_keep_their_order_and_find_their_new_slot_when_slots_move(self):
        first, second = add(self.rows, 2, [1, 2]), add(self.rows, 5, [3, 4])
        self.rows.move([2, 5])
        self.assertEqual((first.slot, second.slot), (0, 1))
        self.assertEqual(list(self.rows.by_slot), [0, 1])
        self.rows.relocate(second, 7)
        self.assertIs(self.rows.by_slot[7], second)
        self.assertEqual(self.rows.free_slot(8), 1)

    def test_a_row_is_ready_when_all_but_its_last_token_are_cached(self):
        row = add(self.rows, 0, [1, 2, 3], cached=1)
        self.assertFalse(row.ready)
        row.cached = 2
        self.assertTrue(row.ready)
        row.active = None
        self.assertFalse(row.ready)


class RolloutTest(unittest.TestCase):
    def test_a_later_turn_finds_the_row_of_its_rollout(self):
        rows = Rows()
        row = add(rows, 0, [1, 2], rollout="a", idle=True)
        self.assertIs(rows.own("policy", "a"), row)
        self.assertIsNone(rows.own("policy", "b"))
        self.assertIsNone(rows.own("reference", "a"))
        self.assertIsNone(rows.own("policy", ""))

    def test_a_row_that_is_sampling_or_freed_is_not_handed_out(self):
        rows = Rows()
        row = add(rows, 0, [1, 2], rollout="a")
        self.assertIsNone(rows.own("policy", "a"))
        row.active = None
        rows.free(row)
        self.assertIsNone(rows.own("policy", "a"))

    def test_freeing_an_old_row_leaves_the_new_row_of_its_rollout(self):
        rows = Rows()
        old = add(rows, 0, [1, 2], rollout="a")
        new = add(rows, 1, [1, 2], rollout="a", idle=True)
        rows.free(old)
        self.assertIs(rows.own("policy", "a"), new)


if __name__ == "__main__":
    unittest.main()
