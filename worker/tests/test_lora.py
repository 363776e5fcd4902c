import pathlib
import tempfile
import unittest

import numpy as np
import torch
from common import config, logprobs_of, make_engine, random_rows, sample_all, train_once

from ludus_worker.active_request import Request
from ludus_worker.model import Lora

tokens = [5, 9, 200, 17, 3, 3, 80]


def make(**options):
    return make_engine(lora=Lora(rank=4, alpha=8.0), **options)


class LoraTest(unittest.TestCase):
    def test_only_adapters_learn_and_the_reference_is_the_base(self):
        engine = make(value_head=True)
        base = logprobs_of(make_engine(), tokens)
        engine.snapshot("reference", "", False)
        self.assertIsNone(engine.sets["reference"].adapter)
        np.testing.assert_allclose(logprobs_of(engine, tokens), base, atol=1e-6)
        frozen = {n: p.clone() for n, p in engine.sets["policy"].model.causal.named_parameters() if "lora_" not in n}
        for _ in range(3):
            train_once(engine)
        self.assertGreater(np.abs(logprobs_of(engine, tokens) - base).max(), 0.01)
        np.testing.assert_allclose(logprobs_of(engine, tokens, "reference"), base, atol=1e-6)
        for name, parameter in engine.sets["policy"].model.causal.named_parameters():
            if "lora_" not in name:
                self.assertTrue(torch.equal(parameter, frozen[name]), name)

    def test_samples_come_from_the_merged_adapter(self):
        engine = make()
        engine.snapshot("reference", "", False)
        first = sample_all(engine, [Request(tokens, 5, seed=1)])[0]
        for _ in range(3):
            train_once(engine)
        engine.snapshot("opponent", "", True)
        train_once(engine, "opponent")
        for name in ("policy", "opponent", "reference"):
            [sample] = sample_all(engine, [Request(tokens, 6, seed=1, weights=name)])
            known = logprobs_of(engine, tokens + sample.tokens, name)[len(tokens) :]
            np.testing.assert_allclose(known, sample.logprobs, atol=1e-5)
        [again] = sample_all(engine, [Request(tokens, 5, seed=1, weights="reference")])
        self.assertEqual(again.tokens, first.tokens)

    def test_forward_passes_of_two_adapters_do_not_mix(self):
        alone, mixed = make(), make()
        for engine in (alone, mixed):
            engine.snapshot("other", "", True)
            for _ in range(2):
                train_once(engine, "other")
        rows = random_rows(1, [7, 12, 3])
        from common import random_derivatives

        alone.forward(1, rows, "policy", 1.0, 0, False)
        alone.backward(1, random_derivatives(2, rows))
        mixed.forward(1, rows, "policy", 1.0, 0, False)
        mixed.forward(2, rows, "other", 1.0, 0, False)
        mixed.backward(1, random_derivatives(2, rows))
        for name, gradient in alone.sets["policy"].gradients.items():
            self.assertTrue(torch.equal(gradient, mixed.sets["policy"].gradients[name]), name)
        self.assertIsNone(mixed.sets["other"].gradients)

    def test_saved_adapters_load_in_peft_and_here(self):
        from peft import PeftModel

        engine = make(value_head=True)
        engine.snapshot("reference", "", False)
        train_once(engine)
        engine.snapshot("old", "", False)
        train_once(engine)
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as base_folder:
            engine.save(folder, False)
            tensors = [path.name for path in pathlib.Path(folder).glob("*.safetensors")]
            self.assertEqual(tensors, ["adapter_model.safetensors"])
            again = make(value_head=True)
            again.load(folder)
            self.assertEqual(list(again.sets), ["policy", "reference", "old"])
            for name in again.sets:
                np.testing.assert_array_equal(logprobs_of(again, tokens, name), logprobs_of(engine, tokens, name))
            train_once(again)
            train_once(engine)
            np.testing.assert_array_equal(logprobs_of(again, tokens), logprobs_of(engine, tokens))
            engine.load(folder)

            plain = make_engine()
            plain.save(base_folder, False)
            from transformers import AutoModelForCausalLM

            model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base_folder), folder)
            logits = model(torch.tensor([tokens])).logits[0, :-1]
            theirs = torch.log_softmax(logits, -1).gather(1, torch.tensor(tokens)[1:, None])[:, 0]
            np.testing.assert_allclose(theirs.detach().numpy(), logprobs_of(engine, tokens)[1:], atol=1e-5)

    def test_a_base_from_a_folder(self):
        plain = make_engine()
        with tempfile.TemporaryDirectory() as folder:
            plain.save(folder, False)
            from ludus_worker.engine import Engine, EngineOptions

            engine = Engine(EngineOptions(folder=folder, device="cpu", lora=Lora(4, 8.0, ["q_proj", "v_proj"])))
        np.testing.assert_allclose(logprobs_of(engine, tokens), logprobs_of(plain, tokens), atol=1e-6)
        names = {name.split(".")[-3] for name in engine.sets["policy"].parameters}
        self.assertEqual(names, {"q_proj", "v_proj"})
        self.assertEqual(config["vocab_size"], engine.vocabulary)


if __name__ == "__main__":
    unittest.main()
