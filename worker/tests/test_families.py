import json
import pathlib
import tempfile
import unittest

import numpy as np
import torch
from common import logprobs_of, make_engine, random_derivatives, random_rows, sample_all, train_once
from families import configs, family_config, family_engine, prompts, requests

from ludus_worker.active_request import Request
from ludus_worker.errors import LudusError
from ludus_worker.families import implementation_of
from ludus_worker.model import Lora, check_config
from ludus_worker.transformers_cache import RowCache

#: Each with something of its own: a soft cap, two ropes, a window, joint projections, no rope, experts, no bias and none in files.
main = ("gemma2", "gemma3_text", "mistral", "phi3", "smollm3", "mixtral", "qwen3_moe", "deepseek_v3")


def plain(engine, name="policy"):
    """The model as transformers itself computes it: a row alone, without mask or cache."""
    weights = engine.sets[name]
    weights.activate()
    return weights.model.causal


def plain_logprobs(engine, tokens, temperature=1.0, name="policy"):
    ids = torch.tensor([tokens])
    logprobs = torch.log_softmax(plain(engine, name)(ids, use_cache=False).logits[0, :-1].float() / temperature, -1)
    return logprobs, logprobs.gather(1, ids[0, 1:, None])[:, 0]


class NumbersTest(unittest.TestCase):
    def test_sampling_forward_and_transformers_agree_in_every_family(self):
        for name in configs:
            with self.subTest(name):
                engine = family_engine(name)
                self.assertEqual(engine.implementation, "transformers")
                for prompt, request, sample in zip(prompts, requests, sample_all(engine, requests)):
                    self.assertEqual(sample.stop, "max-tokens")
                    row = prompt + sample.tokens
                    known = logprobs_of(engine, row, temperature=request.temperature)[len(prompt) :]
                    np.testing.assert_allclose(sample.logprobs, known, atol=1e-4)
                    with torch.no_grad():
                        theirs = plain_logprobs(engine, row, request.temperature)[1].numpy()
                    np.testing.assert_allclose(known, theirs[len(prompt) - 1 :], atol=1e-4)

    def test_an_own_family_with_another_activation_is_sampled_as_it_is_trained(self):
        engine = make_engine(config={"hidden_act": "gelu"})
        self.assertEqual(engine.implementation, "transformers")
        [sample] = sample_all(engine, [Request(prompts[2], 12, seed=1)])
        known = logprobs_of(engine, prompts[2] + sample.tokens)[len(prompts[2]) :]
        np.testing.assert_allclose(sample.logprobs, known, atol=1e-4)

    def test_gradients_are_those_of_plain_transformers(self):
        for name in configs:
            with self.subTest(name):
                engine = family_engine(name, value_head=True)
                rows = random_rows(4, [5, 17, 2, 30, 9], vocabulary=64)
                derivatives = random_derivatives(5, rows)
                derivatives["entropies"] = np.roll(derivatives["logprobs"], 1) * rows.wanted
                engine.forward(1, rows, "policy", 0.8, 0, False)
                engine.backward(1, derivatives)
                found = engine.sets["policy"].gradients
                model = plain(engine)
                loss = 0
                for start, end in zip(rows.bounds[:-1], rows.bounds[1:]):
                    tokens = rows.tokens[start:end].tolist()
                    if len(tokens) < 2:
                        continue
                    every, logprobs = plain_logprobs(engine, tokens, 0.8)
                    entropies = -(every.exp() * every).sum(-1)
                    d = [torch.from_numpy(derivatives[key][start + 1 : end]) for key in ("logprobs", "entropies")]
                    loss = loss + (logprobs * d[0]).sum() + (entropies * d[1]).sum()
                loss.backward()
                for key, parameter in model.named_parameters():
                    theirs = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                    ours = found.get(key, torch.zeros_like(parameter))
                    self.assertLess((ours - theirs).norm().item(), 1e-4 * (theirs.norm().item() + 1e-2), key)

    def test_values_candidates_and_alternatives(self):
        engine = family_engine("gemma2", value_head=True)
        with torch.no_grad():
            engine.sets["policy"].value.fill_(0.1)
        rows = random_rows(4, [6], vocabulary=64)
        rows.candidate_count, rows.candidates = 64, np.tile(np.arange(64), 6)
        out = engine.forward(1, rows, "policy", 1.0, 3, False)
        with torch.no_grad():
            every, _ = plain_logprobs(engine, rows.tokens.tolist())
            states = plain(engine).base_model(torch.from_numpy(rows.tokens)[None]).last_hidden_state[0, :-1]
        np.testing.assert_allclose(out.candidates[1:], every, atol=1e-4)
        np.testing.assert_allclose(out.values[1:], 0.1 * states.sum(-1), atol=1e-4)
        np.testing.assert_array_equal(out.alternative_tokens[1:], every.topk(3).indices)
        np.testing.assert_allclose(out.alternative_logprobs[1:], every.topk(3).values, atol=1e-4)

    def test_activations_computed_twice_give_the_same_gradient(self):
        found = []
        for checkpoint_activations in (False, True):
            engine = family_engine("mixtral", checkpoint_activations=checkpoint_activations)
            rows = random_rows(4, [5, 17], vocabulary=64)
            engine.forward(1, rows, "policy", 1.0, 0, False)
            engine.backward(1, random_derivatives(5, rows))
            found.append(engine.sets["policy"].gradients)
            self.assertEqual(len(sample_all(engine, requests[:1])[0].tokens), 20)
        for name, gradient in found[0].items():
            torch.testing.assert_close(gradient, found[1][name], atol=1e-5, rtol=1e-4)

    def test_rows_of_many_lengths_share_passes_that_hold_a_few_tokens(self):
        many, one = (family_engine("gemma3_text", micro_batch_tokens=budget) for budget in (1, 4096))
        rows = random_rows(4, [5, 17, 2, 30, 9], vocabulary=64)
        outs = [engine.forward(1, rows, "policy", 1.0, 0, False) for engine in (many, one)]
        np.testing.assert_allclose(outs[0].logprobs, outs[1].logprobs, atol=1e-4)

    def test_bfloat16_loads_samples_and_trains(self):
        for name in ("gemma2", "qwen3_moe"):
            engine = family_engine(name, dtype="bfloat16")
            [sample] = sample_all(engine, requests[:1])
            self.assertEqual(len(sample.tokens), 20)
            known = logprobs_of(engine, prompts[0] + sample.tokens, temperature=0.9)[3:]
            self.assertLess(np.abs(known - sample.logprobs).mean(), 0.1)
            rows = random_rows(1, [7, 12, 3], vocabulary=64)
            self.assertTrue(train_once(engine, rows=rows)[1])


class SamplerTest(unittest.TestCase):
    def test_the_same_seed_gives_the_same_tokens_whatever_else_is_sampled(self):
        for name in main:
            with self.subTest(name):
                engine = family_engine(name)
                alone = [sample_all(engine, [request])[0] for request in requests]
                others = [Request([i % 60, 5, 9], 1 + i % 13, seed=100 + i) for i in range(20)]
                among = sample_all(engine, [*others, *requests])[20:]
                for one, other in zip(alone, among):
                    self.assertEqual(one.tokens, other.tokens)
                    np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-4)

    def test_a_model_with_an_own_path_draws_the_same_tokens_by_either(self):
        own = make_engine()
        other = make_engine(config={"use_sliding_window": True, "sliding_window": 96, "max_window_layers": 2})
        self.assertEqual((own.implementation, other.implementation), ("own", "transformers"))
        weights = {name: master.clone() for name, master in own.sets["policy"].masters.items()}
        other.sets["policy"].restore(0, 0, weights, None, None)
        ours, theirs = sample_all(own, requests), sample_all(other, requests)
        for a, b in zip(ours, theirs):
            self.assertEqual(a.tokens, b.tokens)
            np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-4)

    def test_a_later_turn_prefills_only_what_is_new(self):
        for name in ("mistral", "phi3"):
            engine = family_engine(name)
            first, *_ = sample_all(engine, [Request(prompts[2], 6, seed=1, rollout="r"), *requests[:2]])
            before = engine.sampler.prefilled_tokens
            tokens = prompts[2] + first.tokens + [9, 8, 7]
            [kept] = sample_all(engine, [Request(tokens, 12, seed=2, rollout="r")])
            # the last token of a turn is sampled and not yet read
            self.assertEqual(engine.sampler.prefilled_tokens - before, 3)
            [fresh] = sample_all(engine, [Request(tokens, 12, seed=2)])
            self.assertEqual(kept.tokens, fresh.tokens)
            # another history: as far as it is the same, where no window has passed over it
            [changed] = sample_all(engine, [Request(tokens[:9] + [1, 2], 5, seed=3, rollout="r")])
            [fresh] = sample_all(engine, [Request(tokens[:9] + [1, 2], 5, seed=3)])
            self.assertEqual(changed.tokens, fresh.tokens)
            engine.release("", "r", [])
            self.assertEqual(len(engine.sampler.idle), 0)

    def test_turns_of_many_rollouts_in_one_batch(self):
        engine = family_engine("gemma3_text")
        first = sample_all(engine, [Request(prompt, 3 + i, seed=i, rollout=f"r{i}") for i, prompt in enumerate(prompts)])
        turns = [prompt + sample.tokens + [7] * (1 + i % 2) for i, (prompt, sample) in enumerate(zip(prompts, first))]
        kept = sample_all(engine, [Request(tokens, 8, seed=i, rollout=f"r{i}") for i, tokens in enumerate(turns)])
        for i, tokens in enumerate(turns):
            [fresh] = sample_all(engine, [Request(tokens, 8, seed=i)])
            self.assertEqual(kept[i].tokens, fresh.tokens)

    def test_equal_prompts_are_prefilled_once(self):
        engine = family_engine("mixtral")
        samples = sample_all(engine, [Request(prompts[2], 4, seed=seed) for seed in range(16)])
        self.assertEqual(engine.sampler.prefilled_tokens, len(prompts[2]) - 1)
        self.assertGreater(len({tuple(sample.tokens) for sample in samples}), 1)

    def test_long_prompts_are_prefilled_in_parts(self):
        from unittest import mock

        engine = family_engine("gemma2")
        prompt = [(7 * i) % 64 for i in range(50)]
        [whole] = sample_all(engine, [Request(prompt, 5, seed=1)])
        with mock.patch.dict("ludus_worker.transformers_sampler.prefill_batch_tokens", {"cpu": 7}):
            [parts, again] = sample_all(engine, [Request(prompt, 5, seed=1), Request(prompt, 5, seed=1)])
        self.assertEqual(parts.tokens, whole.tokens)
        self.assertEqual(again.tokens, whole.tokens)

    def test_little_memory_makes_rows_wait_and_one_that_is_too_long_fails(self):
        roomy = family_engine("phi3")
        wanted = [Request([1 + i, 2], 12, seed=i, rollout=f"r{i % 3}") for i in range(8)]
        expected = sample_all(roomy, wanted)
        narrow = family_engine("phi3", max_cache_bytes=roomy.sampler.token_bytes * 40)
        for ours, theirs in zip(sample_all(narrow, wanted), expected):
            self.assertEqual(ours.tokens, theirs.tokens)
        [failed] = sample_all(narrow, [Request([1] * 38, 30, seed=1)])
        self.assertEqual(failed.code, "cache-too-small")
        self.assertIn("maxCacheBytes", failed.hint)

    def test_aborted_released_and_failed_requests_leave_room(self):
        engine = family_engine("mistral")
        ended = []
        actives = [engine.sample(Request([1, i], 50, seed=i), ended.append) for i in range(4)]
        engine.sampler.step()
        for active in actives[:3]:
            engine.sampler.abort(active)
        engine.sampler.step()
        self.assertEqual(len(engine.sampler.rows), 1)
        engine.sampler.fail(RuntimeError("no"))
        self.assertFalse(engine.sampler.has_work)
        self.assertEqual([type(error) for error in ended], [RuntimeError])
        engine.snapshot("old", "", False)
        engine.sample(Request([1, 2], 50, seed=1, weights="old"), ended.append)
        engine.sampler.step()
        engine.release("old", "", [])
        self.assertEqual(ended[-1].code, "unknown-weights")
        self.assertEqual(len(sample_all(engine, requests[:1])[0].tokens), 20)

    def test_a_step_while_sampling_changes_the_weights_behind_later_tokens(self):
        engine = family_engine("gemma2")
        ended = []
        engine.sample(Request(prompts[2], 10, seed=1, rollout="r"), ended.append)
        for _ in range(4):
            engine.sampler.step()
        train_once(engine, rows=random_rows(1, [7, 12, 3], vocabulary=64))
        while engine.sampler.has_work:
            engine.sampler.step()
        self.assertEqual(ended[0].versions, [0] * 4 + [1] * 6)
        known = logprobs_of(engine, prompts[2] + ended[0].tokens)[len(prompts[2]) :]
        np.testing.assert_allclose(ended[0].logprobs[4:], known[4:], atol=1e-4)

    def test_a_cropped_cache_has_what_it_needs_or_nothing(self):
        full = RowCache(6, [(torch.zeros(2, 6, 4), torch.zeros(2, 6, 4)), None])
        self.assertEqual(full.cropped(4).layers[0][0].shape, (2, 4, 4))
        window = RowCache(6, [(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4))])
        self.assertEqual((window.cropped(6).length, window.cropped(4).length), (6, 0))


class FolderTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name) / "saved"

    def test_saved_folders_are_read_by_transformers_and_here(self):
        from transformers import AutoModelForCausalLM

        for name in configs:
            with self.subTest(name):
                engine = family_engine(name, value_head=True)
                engine.snapshot("reference", "", False)
                train_once(engine, rows=random_rows(1, [7, 12, 3], vocabulary=64))
                folder = str(self.folder / name)
                engine.save(folder, False)
                row = prompts[2] + prompts[0]
                ours = logprobs_of(engine, row)
                theirs, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
                self.assertEqual({key: found for key, found in report.items() if found}, {})
                ids = torch.tensor([row])
                with torch.no_grad():
                    logprobs = torch.log_softmax(theirs.eval()(ids).logits[0, :-1], -1).gather(1, ids[0, 1:, None])[:, 0]
                np.testing.assert_allclose(ours[1:], logprobs, atol=1e-4)
                again = family_engine(name, folder=folder)
                self.assertEqual((again.policy_version, list(again.sets)), (1, ["policy", "reference"]))
                for which in ("policy", "reference"):
                    np.testing.assert_allclose(logprobs_of(again, row, which), logprobs_of(engine, row, which), atol=1e-6)
                rows = random_rows(1, [7, 12, 3], vocabulary=64)
                self.assertEqual(train_once(again, rows=rows), train_once(engine, rows=rows))

    def test_a_folder_of_transformers_opens_and_is_the_same_model(self):
        from transformers import AutoModelForCausalLM
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        for name in main:
            with self.subTest(name):
                torch.manual_seed(1)
                raw = family_config(name)
                theirs = AutoModelForCausalLM.from_config(CONFIG_MAPPING[name].from_dict(raw)).eval()
                for key, buffer in theirs.named_buffers():
                    if key.endswith("e_score_correction_bias"):
                        buffer.normal_()
                theirs.save_pretrained(self.folder / name)
                engine = family_engine(name, folder=str(self.folder / name))
                engine.snapshot("reference", "", False)
                ids = torch.tensor([prompts[2]])
                with torch.no_grad():
                    logprobs = torch.log_softmax(theirs(ids).logits[0, :-1], -1).gather(1, ids[0, 1:, None])[:, 0]
                for which in ("policy", "reference"):
                    np.testing.assert_allclose(logprobs_of(engine, prompts[2], which)[1:], logprobs, atol=1e-4)

    def test_weights_of_a_loaded_folder_and_later_snapshots_are_sampled(self):
        engine = family_engine("phi3")
        before = logprobs_of(engine, prompts[2])
        engine.save(str(self.folder), False)
        train_once(engine, rows=random_rows(1, [7, 12, 3], vocabulary=64))
        engine.load(str(self.folder))
        np.testing.assert_allclose(logprobs_of(engine, prompts[2]), before, atol=1e-6)
        engine.snapshot("later", "", True)
        train_once(engine, "later", rows=random_rows(1, [7, 12, 3], vocabulary=64))
        for name in ("policy", "later"):
            [sample] = sample_all(engine, [Request(prompts[2], 6, seed=1, weights=name)])
            known = logprobs_of(engine, prompts[2] + sample.tokens, name)[len(prompts[2]) :]
            np.testing.assert_allclose(sample.logprobs, known, atol=1e-4)

    def test_folders_with_missing_or_other_tensors_are_refused_by_name(self):
        from safetensors.torch import load_file, save_file

        engine = family_engine("mixtral")
        engine.save(str(self.folder), False)
        path = self.folder / "model.safetensors"
        tensors = load_file(path)
        norm = "model.layers.1.input_layernorm.weight"
        for changed in ({norm: None}, {norm: torch.zeros(7)}):
            left = {**tensors, **changed}
            save_file({key: tensor for key, tensor in left.items() if tensor is not None}, path)
            for call in (lambda: engine.load(str(self.folder)), lambda: family_engine("mixtral", folder=str(self.folder))):
                with self.assertRaises(LudusError) as caught:
                    call()
                self.assertEqual(caught.exception.code, "other-model")
                self.assertIn(norm, caught.exception.got)
        family_engine("mixtral", config={"num_experts_per_tok": 1}).save(str(self.folder), False)
        with self.assertRaises(LudusError) as caught:
            engine.load(str(self.folder))
        self.assertIn("num_experts_per_tok", caught.exception.got)


class LoraTest(unittest.TestCase):
    def test_adapters_learn_and_load_in_peft(self):
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        for name in ("gemma2", "mixtral"):
            with self.subTest(name), tempfile.TemporaryDirectory() as parent:
                base, saved = f"{parent}/base", f"{parent}/saved"
                family_engine(name).save(base, False)
                rows = random_rows(1, [7, 12, 3], vocabulary=64)
                engine = family_engine(name, folder=base, lora=Lora(rank=4, alpha=8.0))
                before = logprobs_of(engine, prompts[2])
                engine.snapshot("reference", "", False)
                for _ in range(3):
                    train_once(engine, rows=rows)
                after = logprobs_of(engine, prompts[2])
                self.assertGreater(np.abs(after - before).max(), 0.01)
                np.testing.assert_allclose(logprobs_of(engine, prompts[2], "reference"), before, atol=1e-6)
                for which in ("policy", "reference"):
                    [sample] = sample_all(engine, [Request(prompts[2], 6, seed=1, weights=which)])
                    known = logprobs_of(engine, prompts[2] + sample.tokens, which)[len(prompts[2]) :]
                    np.testing.assert_allclose(sample.logprobs, known, atol=1e-4)
                engine.save(saved, False)
                model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), saved).eval()
                ids = torch.tensor([prompts[2]])
                with torch.no_grad():
                    theirs = torch.log_softmax(model(ids).logits[0, :-1], -1).gather(1, ids[0, 1:, None])[:, 0]
                np.testing.assert_allclose(after[1:], theirs, atol=1e-4)


class RefusalTest(unittest.TestCase):
    def refused(self, raw: dict) -> LudusError:
        with self.assertRaises(LudusError) as caught:
            check_config(raw)
        self.assertTrue(caught.exception.expected)
        return caught.exception

    def test_what_is_no_causal_language_model_of_text(self):
        cases = {
            "t5": ["T5ForConditionalGeneration"],
            "bart": ["BartForCausalLM"],
            "vit": ["ViTModel"],
            "whisper": ["WhisperForConditionalGeneration"],
            "bert": ["BertForMaskedLM"],
            "gemma3": ["Gemma3ForConditionalGeneration"],
            "mistral": ["MistralForSequenceClassification"],
            "somebodys_own": ["OwnForCausalLM"],
            "mamba": ["MambaForCausalLM"],
            "rwkv": ["RwkvForCausalLM"],
        }
        for kind, architectures in cases.items():
            with self.subTest(kind):
                with self.assertRaises(LudusError) as caught:
                    raw = {"model_type": kind, "architectures": architectures, "max_position_embeddings": 64}
                    family_engine("phi3", config={**raw, "auto_map": {"AutoModelForCausalLM": "modeling.Own"}})
                error = caught.exception
                self.assertEqual(error.code, "unsupported-model")
                self.assertIn(architectures[0], error.got)
                self.assertTrue(error.hint)

    def test_layers_that_are_recurrent_or_chunked(self):
        for kind in ("linear_attention", "chunked_attention"):
            error = self.refused(family_config("gemma3_text", layer_types=[kind, "full_attention"]))
            self.assertEqual(error.code, "unsupported-model")
            self.assertIn(kind, error.got)

    def test_configs_that_cannot_be_read(self):
        self.assertEqual(self.refused(family_config("gpt2", n_embd=2**40)).code, "bad-model-config")
        self.assertEqual(self.refused(family_config("mistral", num_hidden_layers="many")).code, "bad-model-config")
        self.assertIn("quantization", self.refused(family_config("phi3", quantization_config={"bits": 4})).got)

    def test_a_model_that_computes_something_else_in_a_batch_is_refused(self):
        from unittest import mock

        from ludus_worker.transformers_model import TransformersModel

        true = TransformersModel.hidden_states
        with mock.patch.object(TransformersModel, "hidden_states", lambda *args: true(*args).roll(1, 0)):
            with self.assertRaises(LudusError) as caught:
                family_engine("phi3")
        self.assertIn("padded batch", caught.exception.got)

    def test_longrope_ends_where_its_frequencies_change(self):
        rope = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
        scaling = {"rope_scaling": rope, "original_max_position_embeddings": 32, "max_position_embeddings": 96}
        self.assertEqual(family_engine("phi3", config=scaling).context, 32)

    def test_which_models_have_an_own_path(self):
        base = {"model_type": "qwen3"}
        for change in ({}, {"hidden_act": "silu"}, {"use_sliding_window": False}, {"layer_types": ["full_attention"]}):
            self.assertEqual(implementation_of(base | change), "own")
        for change in (
            {"hidden_act": "gelu"},
            {"use_sliding_window": True},
            {"layer_types": ["full_attention", "sliding_attention"]},
            {"partial_rotary_factor": 0.5},
            {"model_type": "qwen3_moe"},
        ):
            self.assertEqual(implementation_of(base | change), "transformers")

    def test_several_processes_are_refused(self):
        from unittest import mock

        from ludus_worker.distributed import Group

        with mock.patch.object(Group, "__init__", lambda self: vars(self).update(size=2, rank=0)):
            with self.assertRaises(LudusError) as caught:
                family_engine("phi3")
        self.assertIn("2 processes", caught.exception.got)


class DropoutTest(unittest.TestCase):
    def test_is_off_in_training_and_said_once(self):
        rates = {"attn_pdrop": 0.5, "embd_pdrop": 0.5, "resid_pdrop": 0.5}
        with self.assertLogs("ludus", "WARNING") as logs:
            engine = family_engine("gpt2", config=rates, checkpoint_activations=True)
            engine.snapshot("reference", "", False)
        self.assertEqual(len([line for line in logs.output if "dropout" in line]), 1)
        np.testing.assert_allclose(logprobs_of(engine, prompts[2]), logprobs_of(family_engine("gpt2"), prompts[2]), atol=1e-5)
        with tempfile.TemporaryDirectory() as folder:
            engine.save(folder, False)
            self.assertEqual(json.loads((pathlib.Path(folder) / "config.json").read_text())["resid_pdrop"], 0.5)


if __name__ == "__main__":
    unittest.main()
