import json
import pathlib
import tempfile
import unittest

import torch
from common import logprobs_of, make_engine, train_once

from ludus_worker import shared_weights
from ludus_worker.errors import LudusError

tokens = [5, 9, 200, 17, 3, 3, 80]


class SharedWeightsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.addCleanup(shared_weights.opened.clear)
        self.folder = str(pathlib.Path(temporary.name) / "shared")

    def edit(self, **changes) -> None:
        path = pathlib.Path(self.folder) / shared_weights.file_name
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    def refused(self, code: str, call) -> LudusError:
        with self.assertRaises(LudusError) as caught:
            call()
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_without_a_gpu_they_are_files(self):
        engine = make_engine(value_head=True)
        train_once(engine)
        engine.save(self.folder, False, True, True)
        self.assertTrue((pathlib.Path(self.folder) / "model.safetensors").exists())
        self.assertFalse(shared_weights.is_in(self.folder))
        other = make_engine(value_head=True, seed=9)
        other.load(self.folder, True)
        self.assertEqual(logprobs_of(other, tokens).tolist(), logprobs_of(engine, tokens).tolist())
        self.assertEqual(other.policy_version, 1)

    def test_a_sampler_reads_what_was_published_last_from_the_same_memory(self):
        engine, sampler, memory = make_engine(value_head=True), make_engine(value_head=True, seed=9), []

        def share(flat: torch.Tensor) -> dict:
            memory.append(flat)
            return {"number": len(memory) - 1}

        engine.exporter = shared_weights.Exporter(share)
        opens = []

        def open_memory(described: dict, total: int) -> torch.Tensor:
            opens.append(described)
            self.assertEqual(memory[described["number"]].numel(), total)
            return memory[described["number"]]

        for version in (1, 2):
            train_once(engine)
            engine.save(self.folder, False, True, True)
            self.assertEqual(sorted(p.name for p in pathlib.Path(self.folder).glob("*.safetensors")), [])
            shared_weights.read(self.folder, open_memory)
            sampler.load(self.folder, True)
            self.assertEqual(sampler.policy_version, version)
            self.assertEqual(logprobs_of(sampler, tokens).tolist(), logprobs_of(engine, tokens).tolist())
            for name, master in engine.sets["policy"].masters.items():
                self.assertTrue(torch.equal(master, sampler.sets["policy"].masters[name]), name)
        self.assertEqual((len(memory), len(opens)), (1, 1))

    def test_what_was_published_does_not_change_with_the_weights(self):
        engine = make_engine()
        engine.exporter = shared_weights.Exporter(lambda flat: {})
        engine.save(self.folder, False, True, True)
        before = engine.exporter.flat.clone()
        train_once(engine)
        self.assertTrue(torch.equal(engine.exporter.flat, before))

    def test_a_worker_that_cannot_reach_them_says_so(self):
        engine = make_engine()
        engine.exporter = shared_weights.Exporter(lambda flat: {"device": "GPU-elsewhere"})
        engine.save(self.folder, False, True, True)
        if torch.cuda.is_available():
            self.skipTest("there is a GPU")
        error = self.refused("weights-not-shared", lambda: make_engine().load(self.folder, True))
        self.assertIn("without a GPU", str(error))

    def test_memory_that_is_gone_is_not_reachable(self):
        engine = make_engine()
        engine.exporter = shared_weights.Exporter(lambda flat: {})
        engine.save(self.folder, False, True, True)

        def gone(described: dict, total: int) -> torch.Tensor:
            raise RuntimeError("CUDA error: invalid resource handle\nmore")

        error = self.refused("weights-not-shared", lambda: shared_weights.read(self.folder, gone))
        self.assertIn("invalid resource handle", str(error))

    def test_a_file_that_points_outside_is_refused(self):
        engine = make_engine()
        engine.exporter = shared_weights.Exporter(lambda flat: {})
        engine.save(self.folder, False, True, True)
        for changes in ({"total": 10}, {"tensors": {"a": {"at": -1, "shape": [1]}}}, {"format": 2}, {"tensors": 3}):
            self.edit(**changes)
            self.refused("bad-model-folder", lambda: shared_weights.read(self.folder, lambda *_: torch.zeros(10)))
            engine.save(self.folder, False, True, True)

    def test_a_whole_checkpoint_is_never_shared(self):
        engine = make_engine()
        engine.exporter = shared_weights.Exporter(lambda flat: {})
        engine.save(self.folder, False)
        self.assertFalse(shared_weights.is_in(self.folder))
        self.assertTrue((pathlib.Path(self.folder) / "model.safetensors").exists())


if __name__ == "__main__":
    unittest.main()
