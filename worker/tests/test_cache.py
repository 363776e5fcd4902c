import unittest

import torch

from ludus_worker.cache import SlotCache, round_up

layers, groups, width = 2, 3, 4


def make(max_bytes: int = 1 << 20, slots: int = 4, length: int = 8) -> SlotCache:
    """A cache whose every number names its layer, slot, head and position."""
    cache = SlotCache(layers, groups, width, torch.device("cpu"), torch.float32, max_bytes)
    cache.resize(slots, length, [])
    for part, offset in ((cache.keys, 0.0), (cache.values, 0.5)):
        for layer, tensor in enumerate(part):
            tensor.copy_(torch.arange(tensor.numel()).view(tensor.shape) + 10_000 * layer + offset)
    return cache


class SlotCacheTest(unittest.TestCase):
    def test_rounding_up(self):
        self.assertEqual([round_up(n, 8) for n in (0, 1, 8, 9)], [0, 8, 8, 16])

    def test_new_memory_is_zero(self):
        cache = SlotCache(layers, groups, width, torch.device("cpu"), torch.float32, 1 << 20)
        cache.resize(2, 5, [])
        self.assertEqual((cache.slots, cache.length), (2, 5))
        self.assertEqual([tuple(tensor.shape) for tensor in cache.keys], [(2, groups, 5, width)] * layers)
        self.assertTrue(all(not tensor.any() for tensor in [*cache.keys, *cache.values]))

    def test_longer_slots_keep_what_the_kept_ones_hold(self):
        cache = make()
        before = [tensor.clone() for tensor in [*cache.keys, *cache.values]]
        cache.resize(3, 20, [3, 1])
        for old, new in zip(before, [*cache.keys, *cache.values]):
            self.assertTrue(torch.equal(new[0, :, :8], old[3]))
            self.assertTrue(torch.equal(new[1, :, :8], old[1]))
            self.assertFalse(new[:, :, 8:].any())
            self.assertFalse(new[2].any())

    def test_shorter_slots_keep_their_first_positions(self):
        cache = make()
        before = cache.values[1].clone()
        cache.resize(4, 3, [2])
        self.assertTrue(torch.equal(cache.values[1][0], before[2, :, :3]))

    def test_a_prefix_is_copied_in_all_layers_and_nothing_else(self):
        cache = make()
        before = [tensor.clone() for tensor in [*cache.keys, *cache.values]]
        cache.copy([(0, 1, 5), (0, 3, 5)])
        for old, new in zip(before, [*cache.keys, *cache.values]):
            for target in (1, 3):
                self.assertTrue(torch.equal(new[target, :, :5], old[0, :, :5]))
                self.assertTrue(torch.equal(new[target, :, 5:], old[target, :, 5:]))
            self.assertTrue(torch.equal(new[2], old[2]))

    def test_memory_limits_the_slots_of_a_length(self):
        per_token = 2 * layers * groups * width * 4
        cache = make(max_bytes=100 * per_token)
        self.assertEqual(cache.slots_at(10), 10)
        self.assertEqual(cache.slots_at(33), 3)
        self.assertEqual(cache.slots_at(101), 0)
        half = SlotCache(layers, groups, width, torch.device("cpu"), torch.bfloat16, 100 * per_token)
        self.assertEqual(half.slots_at(10), 20)

    def test_the_error_has_both_sizes(self):
        per_token = 2 * layers * groups * width * 4
        error = make(max_bytes=1 << 20).too_small(3 * (1 << 20) // per_token)
        self.assertEqual(error.code, "cache-too-small")
        self.assertIn("3.0 MiB", error.got)
        self.assertIn("1.0 MiB", error.expected)
        self.assertIn("maxCacheBytes", error.hint)


if __name__ == "__main__":
    unittest.main()
