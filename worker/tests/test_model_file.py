"""Model folders that were made to do harm."""

import json
import os
import tempfile
import unittest
from pathlib import Path

from common import config

from ludus_worker.checkpoint import read_model, read_state
from ludus_worker.errors import LudusError
from ludus_worker.model import check_config, read_config


class ModelFileTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = Path(place.name)
        self.folder = self.root / "model"
        self.folder.mkdir()

    def refused(self, code: str, run, *words: str) -> None:
        with self.assertRaises(LudusError) as caught:
            run()
        self.assertEqual(caught.exception.code, code, caught.exception)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertLess(len(str(caught.exception)), 2000)

    def config(self, text: str) -> dict:
        (self.folder / "config.json").write_text(text)
        return read_config(str(self.folder))

    def test_sizes_without_end_are_refused_before_memory_is_taken(self):
        wrong = {
            "vocab_size": [10**12, -1, 0, 1.5, "many", True, None],
            "hidden_size": [2**40],
            "num_hidden_layers": [10**9],
            "num_attention_heads": [10**15, 64],
            "head_dim": [10**9, -2],
            "max_position_embeddings": [10**12],
            "rope_scaling": [["linear"]],
        }
        for name, values in wrong.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.refused("bad-model-config", lambda: check_config(config | {name: value}), name, "config.json")
        check_config(config)

    def test_files_that_cannot_be_read_are_named(self):
        for text in ("{", "[]", "1", "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000):
            self.refused("bad-model-folder", lambda: self.config(text), "config.json")
        path = self.folder / "config.json"
        with open(path, "w") as file:
            file.truncate(2**31)
        self.refused("bad-model-folder", lambda: read_config(str(self.folder)), "config.json", "bytes")
        path.unlink()
        os.mkfifo(path)
        self.refused("bad-model-folder", lambda: read_config(str(self.folder)), "config.json", "no file")

    def test_deep_text_in_a_string_is_no_depth(self):
        self.assertEqual(self.config(json.dumps({"a": '\\"' + "[" * 1000})), {"a": '\\"' + "[" * 1000})

    def test_names_and_links_do_not_lead_out_of_the_folder(self):
        (self.root / "outside.safetensors").write_bytes(b"secret")
        index = self.folder / "model.safetensors.index.json"
        for shard in ("..", ".", "", "../outside.safetensors", str(self.root / "outside.safetensors"), "a\\b", "a\0b"):
            index.write_text(json.dumps({"weight_map": {"a": shard}}))
            self.refused("bad-model-folder", lambda: read_model(self.folder), "same folder")
        for wrong in ({}, {"weight_map": []}, {"weight_map": {"a": 1}}):
            index.write_text(json.dumps(wrong))
            self.refused("bad-model-folder", lambda: read_model(self.folder), "index.json")
        index.write_text(json.dumps({"weight_map": {str(i): f"s{i}" for i in range(5000)}}))
        self.refused("bad-model-folder", lambda: read_model(self.folder), "5000 shards")
        (self.folder / "model.safetensors").symlink_to(self.root / "outside.safetensors")
        self.refused("bad-model-folder", lambda: read_model(self.folder), "leads to")
        (self.folder / "ludus.json").symlink_to("/dev/zero")
        self.refused("bad-model-folder", lambda: read_state(str(self.folder)), "leads to")

    def test_links_of_hugging_faces_cache_are_followed(self):
        snapshot = self.root / "snapshots" / "0123"
        snapshot.mkdir(parents=True)
        (self.root / "blobs").mkdir()
        (self.root / "blobs" / "cafe").write_text(json.dumps(config))
        (snapshot / "config.json").symlink_to("../../blobs/cafe")
        self.assertEqual(read_config(str(snapshot)), config)


if __name__ == "__main__":
    unittest.main()
