import json
import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

import numpy as np
import torch
from common import config, logprobs_of, make_engine, random_derivatives, random_rows, train_once
from safetensors.torch import load_file, save_file

from ludus_worker import checkpoint
from ludus_worker.engine import Engine, EngineOptions
from ludus_worker.errors import LudusError

tokens = [5, 9, 200, 17, 3, 3, 80]
norm = "model.layers.1.input_layernorm.weight"


class FolderTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.parent = pathlib.Path(temporary.name)
        self.folder = self.parent / "saved"

    def saved(self, engine: Engine | None = None) -> pathlib.Path:
        (engine or make_engine()).save(str(self.folder), False)
        return self.folder

    def edit(self, name: str, **changes) -> None:
        path = self.folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    def refused(self, code: str, call) -> LudusError:
        with self.assertRaises(LudusError) as caught:
            call()
        self.assertEqual(caught.exception.code, code)
        return caught.exception


def weights_of(engine: Engine) -> dict[str, torch.Tensor]:
    return {name: master.clone() for name, master in engine.sets["policy"].masters.items()}


class RoundTripTest(FolderTest):
    def test_training_goes_on_with_the_same_bits(self):
        engine = make_engine(value_head=True)
        for _ in range(3):
            train_once(engine)
        self.saved(engine)
        again = make_engine(value_head=True)
        again.load(str(self.folder))
        self.assertEqual((again.policy_version, again.sets["policy"].steps), (3, 3))
        for _ in range(2):
            train_once(engine, weight_decay=0.1)
            train_once(again, weight_decay=0.1)
        for name, master in weights_of(engine).items():
            self.assertTrue(torch.equal(master, weights_of(again)[name]), name)

    def test_without_the_moments_of_adam_training_would_differ(self):
        # the test above would pass with a load that forgot them if they did not matter
        engine, forgetful = make_engine(), make_engine()
        for _ in range(3):
            train_once(engine)
        self.saved(engine)
        forgetful.load(str(self.folder))
        forgetful.sets["policy"].optimizer = None
        train_once(engine)
        train_once(forgetful)
        self.assertFalse(torch.equal(weights_of(engine)[norm], weights_of(forgetful)[norm]))

    def test_bfloat16_saves_its_float32_masters(self):
        engine = make_engine(dtype="bfloat16")
        train_once(engine, learning_rate=1e-5)
        self.saved(engine)
        stored = load_file(self.folder / "model.safetensors")
        self.assertEqual(stored[norm].dtype, torch.float32)
        self.assertTrue(torch.equal(stored[norm], engine.sets["policy"].masters[norm]))
        again = make_engine(dtype="bfloat16")
        again.load(str(self.folder))
        self.assertTrue(torch.equal(again.sets["policy"].masters[norm], engine.sets["policy"].masters[norm]))

    def test_every_set_comes_back_and_sets_that_were_not_saved_are_gone(self):
        engine = make_engine()
        engine.snapshot("reference", "", False)
        train_once(engine)
        engine.snapshot("a/b c", "", True)
        train_once(engine, "a/b c")
        self.saved(engine)
        again = make_engine()
        again.snapshot("other", "", False)
        again.load(str(self.folder))
        self.assertEqual(list(again.sets), ["policy", "reference", "a/b c"])
        self.assertEqual([again.sets[name].trainable for name in again.sets], [True, False, True])
        for name in again.sets:
            np.testing.assert_array_equal(logprobs_of(again, tokens, name), logprobs_of(engine, tokens, name))

    def test_the_model_is_alone_at_the_top(self):
        engine = make_engine(value_head=True, tokenizer_files={"tokenizer.json": "{}"})
        engine.snapshot("reference", "", False)
        train_once(engine)
        self.saved(engine)
        names = sorted(path.name for path in self.folder.iterdir())
        model = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]
        self.assertEqual(names, [*model, "training"])
        self.assertNotIn("value_head.weight", load_file(self.folder / "model.safetensors"))

    def test_a_folder_of_an_earlier_version_is_read_the_same(self):
        engine = make_engine(value_head=True)
        engine.snapshot("reference", "", False)
        train_once(engine)
        engine.sets["policy"].masters["value_head.weight"].fill_(0.25)
        self.saved(engine)
        for path in (self.folder / "training").iterdir():
            path.rename(self.folder / path.name)
        (self.folder / "training").rmdir()
        head = self.folder / "value_head.safetensors"
        save_file(load_file(self.folder / "model.safetensors") | load_file(head), self.folder / "model.safetensors")
        head.unlink()
        again = Engine(EngineOptions(folder=str(self.folder), device="cpu", threads=1))
        self.assertEqual((again.policy_version, again.has_values, list(again.sets)), (1, True, ["policy", "reference"]))
        train_once(engine)
        train_once(again)
        for name, master in weights_of(engine).items():
            self.assertTrue(torch.equal(master, weights_of(again)[name]), name)

    def test_an_engine_opens_from_a_folder_with_its_value_head(self):
        engine = make_engine(value_head=True)
        engine.sets["policy"].masters["value_head.weight"].fill_(0.25)
        self.saved(engine)
        opened = Engine(EngineOptions(folder=str(self.folder), device="cpu"))
        self.assertTrue(opened.has_values)
        rows = random_rows(1, [6])
        values = [e.forward(1, rows, "policy", 1.0, 0, False).values for e in (engine, opened)]
        np.testing.assert_allclose(values[0], values[1], atol=1e-6)

    def test_a_folder_of_another_program_starts_at_version_0_with_a_value_head_of_0(self):
        engine = make_engine()
        train_once(engine)
        self.saved(engine)
        shutil.rmtree(self.folder / "training")
        opened = make_engine(value_head=True)
        opened.sets["policy"].masters["value_head.weight"].fill_(1)
        opened.load(str(self.folder))
        self.assertEqual((opened.policy_version, opened.sets["policy"].steps), (0, 0))
        self.assertFalse(opened.sets["policy"].masters["value_head.weight"].any())
        np.testing.assert_array_equal(logprobs_of(opened, tokens), logprobs_of(engine, tokens))

    def test_shards_are_read_by_their_index(self):
        engine = make_engine()
        self.saved(engine)
        whole = load_file(self.folder / "model.safetensors")
        (self.folder / "model.safetensors").unlink()
        names = sorted(whole)
        shards = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
        for file, members in shards.items():
            save_file({name: whole[name] for name in members}, self.folder / file)
        index = {"weight_map": {name: file for file, members in shards.items() for name in members}}
        (self.folder / "model.safetensors.index.json").write_text(json.dumps(index))
        again = make_engine()
        train_once(again)
        again.load(str(self.folder))
        np.testing.assert_array_equal(logprobs_of(again, tokens), logprobs_of(engine, tokens))

    def test_tokenizer_files_and_token_ids_are_saved(self):
        engine = make_engine(tokenizer_files={"tokenizer.json": '{"é": 1}'}, config={"eos_token_id": [4, 5]})
        self.saved(engine)
        self.assertEqual((self.folder / "tokenizer.json").read_text(encoding="utf-8"), '{"é": 1}')
        generation = json.loads((self.folder / "generation_config.json").read_text())
        self.assertEqual(generation["eos_token_id"], [4, 5])

    def test_names_of_files_are_those_of_the_embedded_engine(self):
        # encodeURIComponent of JavaScript
        golden = {"a/b c": "a%2Fb%20c", "..": "..", "ü!*()'": "%C3%BC!*()'", "x-y_z.~": "x-y_z.~"}
        for name, encoded in golden.items():
            self.assertEqual(checkpoint.set_file(name, "weights"), f"weights.{encoded}.safetensors")
        self.assertEqual(checkpoint.set_file("policy", "first-moments"), "first-moments.policy.safetensors")


class RefusalTest(FolderTest):
    def loading_refused(self, code: str) -> LudusError:
        engine = make_engine()
        before = weights_of(engine)
        error = self.refused(code, lambda: engine.load(str(self.folder)))
        for name, master in weights_of(engine).items():
            self.assertTrue(torch.equal(master, before[name]), f"{name} changed by a load that was refused")
        return error

    def test_a_folder_without_a_model(self):
        self.loading_refused("checkpoint-not-found")

    def test_another_model(self):
        other = {
            "hidden_size": 64,
            "num_hidden_layers": 1,
            "num_key_value_heads": 4,
            "rope_theta": 500000.0,
            "rms_norm_eps": 1e-3,
            "max_position_embeddings": 128,
        }
        for name, value in other.items():
            with self.subTest(name):
                self.saved(make_engine(config={name: value}))
                error = self.loading_refused("other-model")
                self.assertIn("rope" if name == "rope_theta" else name, error.got)

    def test_a_model_whose_config_is_written_in_another_style_is_the_same(self):
        self.saved()
        raw = json.loads((self.folder / "config.json").read_text())
        theta = raw.pop("rope_theta")
        raw["rope_parameters"] = {"rope_type": "default", "rope_theta": theta}
        (self.folder / "config.json").write_text(json.dumps(raw))
        make_engine().load(str(self.folder))

    def test_a_missing_tensor_or_one_of_another_shape(self):
        self.saved()
        path = self.folder / "model.safetensors"
        whole = load_file(path)
        save_file({name: tensor for name, tensor in whole.items() if name != norm}, path)
        self.assertIn(f"no {norm}", self.loading_refused("other-model").got)
        save_file(whole | {norm: torch.zeros(3)}, path)
        self.assertIn("shape [3]", self.loading_refused("other-model").got)

    def test_optimizer_state_that_is_missing(self):
        engine = make_engine()
        train_once(engine)
        self.saved(engine)
        (self.folder / "training/second-moments.policy.safetensors").unlink()
        self.assertIn("second-moments", self.loading_refused("checkpoint-not-found").got)

    def test_files_that_are_no_json(self):
        for name in ("config.json", "training/ludus.json", "model.safetensors.index.json"):
            with self.subTest(name):
                self.saved()
                if name.endswith("index.json"):
                    (self.folder / "model.safetensors").unlink()
                (self.folder / name).write_text('{"half')
                self.assertIn(name, self.loading_refused("bad-model-folder").got)

    def test_a_tensor_file_that_is_damaged(self):
        self.saved()
        path = self.folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-100])
        self.assertIn("model.safetensors", self.loading_refused("bad-model-folder").got)

    def test_a_shard_outside_the_folder(self):
        self.saved()
        (self.folder / "model.safetensors").rename(self.parent / "elsewhere.safetensors")
        for shard in ("../elsewhere.safetensors", str(self.parent / "elsewhere.safetensors")):
            index = {"weight_map": {norm: shard}}
            (self.folder / "model.safetensors.index.json").write_text(json.dumps(index))
            self.assertIn("elsewhere", self.loading_refused("bad-model-folder").got)

    def test_models_that_cannot_be_trained(self):
        cases = {
            "model_type": "t5",
            "attention_dropout": 0.1,
        }
        for name, value in cases.items():
            with self.subTest(name):
                error = self.refused("unsupported-model", lambda: make_engine(config={name: value}))
                self.assertIn(name, error.got)
        short = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
        longrope = {"rope_scaling": short | {"original_max_position_embeddings": 32}}
        error = self.refused("unsupported-model", lambda: make_engine(config=longrope))
        self.assertIn("max_position_embeddings = 96", error.got)
        self.assertIn("32", error.expected)


class SaveTest(FolderTest):
    def test_a_gradient_that_no_step_has_used_is_not_lost(self):
        engine = make_engine()
        rows = random_rows(1, [7, 3])
        engine.forward(1, rows, "policy", 1.0, 0, False)
        engine.backward(1, random_derivatives(2, rows))
        error = self.refused("gradient-pending", lambda: self.saved(engine))
        self.assertIn('"policy"', error.got)
        self.assertFalse(self.folder.exists())

    def test_a_full_disk_leaves_the_old_folder_and_no_other(self):
        engine = make_engine()
        self.saved(engine)
        before = (self.folder / "model.safetensors").read_bytes()
        train_once(engine)
        problem = OSError(28, "No space left on device")
        with mock.patch("ludus_worker.checkpoint.save_file", side_effect=problem):
            error = self.refused("checkpoint-not-written", lambda: self.saved(engine))
        self.assertIn("No space left", error.got)
        self.assertEqual((self.folder / "model.safetensors").read_bytes(), before)
        self.assertEqual([path.name for path in self.parent.iterdir()], ["saved"])

    def test_saving_again_replaces_the_folder_whole(self):
        engine = make_engine()
        engine.snapshot("reference", "", False)
        self.saved(engine)
        engine.release("reference", "", [])
        self.saved(engine)
        self.assertFalse((self.folder / "training/weights.reference.safetensors").exists())
        self.assertEqual([path.name for path in self.parent.iterdir()], ["saved"])

    def test_an_adapter_alone_needs_lora(self):
        engine = make_engine()
        self.refused("no-adapter", lambda: engine.save(str(self.folder), True))
        self.assertEqual(config["model_type"], engine.raw_config["model_type"])


if __name__ == "__main__":
    unittest.main()
