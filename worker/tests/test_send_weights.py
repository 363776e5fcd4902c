import json
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import save_file

from ludus_worker.send_weights import Sender, serve


class Recorder:
    """Stands in for the ranks that receive."""

    def __init__(self):
        self.received = []
        self.joined = 0
        self.waits = 0

    def identify(self):
        return bytes(range(128))

    def join(self, world_size):
        self.joined = world_size

    def broadcast(self, tensor):
        assert tensor.is_contiguous()
        self.received.append(tensor)

    def wait(self):
        self.waits += 1


class SendWeightsTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def make(self, dtype=torch.bfloat16):
        group = Recorder()
        return Sender(group, torch.device("cpu"), dtype), group

    def write(self):
        weights = {"b": torch.randn(2, 3), "a": torch.randn(4), "c": torch.randn(1, 2, 2)}
        save_file(weights, self.folder / "model.safetensors")
        (self.folder / "training").mkdir()
        save_file({"moments": torch.zeros(1)}, self.folder / "training" / "optimizer.safetensors")
        return weights

    def test_what_is_described_is_what_is_sent_in_that_order(self):
        weights = self.write()
        sender, group = self.make()
        info = sender.describe(self.folder)
        sender.send(self.folder)
        self.assertEqual(info["names"], ["a", "b", "c"])
        self.assertEqual(info["dtype_names"], ["bfloat16"] * 3)
        self.assertEqual(info["shapes"], [list(tensor.shape) for tensor in group.received])
        for name, tensor in zip(info["names"], group.received, strict=True):
            self.assertTrue(torch.equal(tensor, weights[name].bfloat16()))
        self.assertGreaterEqual(group.waits, 1)

    def test_shards_are_read_as_the_index_says_and_from_no_other_folder(self):
        for shard in ("1", "2"):
            save_file({f"w{shard}": torch.ones(1)}, self.folder / f"model-{shard}.safetensors")
        index = self.folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": {"w2": "model-2.safetensors", "w1": "model-1.safetensors"}}))
        sender, _ = self.make()
        self.assertEqual(sender.describe(self.folder)["names"], ["w1", "w2"])
        index.write_text(json.dumps({"weight_map": {"w1": "../model-1.safetensors"}}))
        with self.assertRaisesRegex(ValueError, "not in the folder"):
            sender.describe(self.folder)

    def test_commands_are_answered_line_by_line_and_failures_are_told(self):
        self.write()
        sender, group = self.make(torch.float32)
        lines = [
            '{"do": "identify"}',
            '{"do": "join", "world_size": 3}',
            json.dumps({"do": "send", "directory": str(self.folder)}),
            json.dumps({"do": "send", "directory": str(self.folder / "nowhere")}),
            '{"do": "dance"}',
            "no json",
        ]
        replies = []
        serve(sender, iter(lines), replies.append)
        answers = [json.loads(reply) for reply in replies]
        self.assertEqual(len(answers[0]["ok"]), 172)
        self.assertEqual(group.joined, 3)
        self.assertEqual(answers[2], {"ok": None})
        self.assertEqual(len(group.received), 3)
        self.assertTrue(all("error" in answer for answer in answers[3:]))


if __name__ == "__main__":
    unittest.main()
