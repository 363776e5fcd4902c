"""Answers for src/policy/tokenizer.parity.test.ts: what tokenizers and transformers make of the same files and texts.

Reads one JSON object from stdin, a list of jobs, and writes a list of answers to stdout. No network.
"""

import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def byte_level_bpe(texts, normalizer, pre_tokenizer, ignore_merges, added):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False))
    tokenizer.add_tokens(added)
    return tokenizer


def split_bytes(regex):
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(regex), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )


def special(text):
    return AddedToken(text, special=True, normalized=False)


def markup(text):
    return AddedToken(text, special=False, normalized=False)


def qwen(texts):
    added = [special("<|endoftext|>"), special("<|im_start|>"), special("<|im_end|>"), markup("<tool_call>"), markup("</tool_call>")]
    tokenizer = byte_level_bpe(texts, normalizers.NFC(), split_bytes(QWEN), False, added)
    return tokenizer, {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}


def llama3(texts):
    added = [special("<|begin_of_text|>"), special("<|eot_id|>"), special("<|start_header_id|>"), special("<|end_header_id|>")]
    tokenizer = byte_level_bpe(texts, None, split_bytes(LLAMA3), True, added)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))]
    )
    return tokenizer, {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}


def gpt2(texts):
    added = [
        special("<|endoftext|>"),
        AddedToken("<mask>", lstrip=True, special=True, normalized=False),
        AddedToken("<sep>", rstrip=True, special=True, normalized=False),
        AddedToken("   ", normalized=False),
        AddedToken("zebra", single_word=True, normalized=False),
    ]
    tokenizer = byte_level_bpe(texts, None, pre_tokenizers.ByteLevel(add_prefix_space=False), False, added)
    return tokenizer, {"eos_token": "<|endoftext|>"}


def sentencepiece_bpe(texts, normalizer, pre_tokenizer):
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trained.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=600, special_tokens=tokens, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    tokenizer = Tokenizer(
        models.BPE(model["vocab"], merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.add_special_tokens([special("<unk>"), special("<s>"), special("</s>")])
    return tokenizer, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def llama2(texts):
    return sentencepiece_bpe(texts, normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None)


def mistral(texts):
    return sentencepiece_bpe(texts, None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False))


def unigram(texts):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def wordpiece(texts):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken("[TOOL]", normalized=True)])
    return tokenizer, {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


VARIANTS = {f.__name__: f for f in (qwen, llama3, gpt2, llama2, mistral, unigram, wordpiece)}


def make(job):
    """Trains a tokenizer of a kind on the texts and writes its folder."""
    # models of characters, unlike those of bytes, need room for every character they are to know
    few = job["texts"][:12] + job["texts"][-20:]
    tokenizer, config = VARIANTS[job["variant"]](job["texts"] if job["variant"] in ("qwen", "llama3", "gpt2") else few)
    folder = Path(job["directory"])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return None


def without_added_tokens(tokenizer, text):
    normalized = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
    if normalized == "":
        return []
    words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalized)] if tokenizer.pre_tokenizer else [normalized]
    return [token.id for word in words for token in tokenizer.model.tokenize(word)]


def encode(job):
    """Tokens of every text, with added tokens recognised and without, and the texts that come back."""
    tokenizer = AutoTokenizer.from_pretrained(job["directory"])
    special_ids = [tokenizer.encode(text, add_special_tokens=False) for text in job["texts"]]
    return {
        "special": special_ids,
        "plain": [without_added_tokens(tokenizer.backend_tokenizer, text) for text in job["texts"]],
        "decoded": [tokenizer.decode(ids, skip_special_tokens=True) for ids in special_ids],
        "decodedSpecial": [tokenizer.decode(ids, skip_special_tokens=False) for ids in special_ids],
        "size": len(tokenizer),
        "class": type(tokenizer).__name__,
        "bos": tokenizer.bos_token_id,
        "eos": tokenizer.eos_token_id,
        "pad": tokenizer.pad_token_id,
    }


def words(job):
    """Texts normalized and cut into words, by parts of a tokenizer.json."""
    model = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    parts = {"version": "1.0", "added_tokens": [], "post_processor": None, "decoder": None, "model": model}
    answers = []
    for part in job["parts"]:
        both = {"normalizer": part.get("normalizer"), "pre_tokenizer": part.get("pre_tokenizer")}
        tokenizer = Tokenizer.from_str(json.dumps({**parts, **both}))
        normalized = [tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text for text in job["texts"]]
        cut = tokenizer.pre_tokenizer
        answers.append([[word for word, _ in cut.pre_tokenize_str(text)] if cut else [text] for text in normalized])
    return answers


def decode(job):
    """Text of token ids that no text gave."""
    tokenizer = AutoTokenizer.from_pretrained(job["directory"])
    return [tokenizer.decode(ids, skip_special_tokens=False) for ids in job["ids"]]


def chat(job):
    """Text and tokens of conversations under a template, the tokenizer's own where none is given."""
    tokenizer = AutoTokenizer.from_pretrained(job["directory"])
    answers = []
    for case in job["cases"]:
        arguments = {
            "conversation": case["messages"],
            "tools": case.get("tools"),
            "chat_template": case.get("template"),
            "add_generation_prompt": case["addGenerationPrompt"],
            **case.get("variables", {}),
        }
        text = tokenizer.apply_chat_template(**arguments, tokenize=False)
        ids = tokenizer.apply_chat_template(**arguments, tokenize=True, return_dict=False)
        answers.append({"text": text, "ids": ids})
    return answers


JOBS = {"make": make, "encode": encode, "words": words, "decode": decode, "chat": chat}

if __name__ == "__main__":
    json.dump([JOBS[job["job"]](job) for job in json.load(sys.stdin)], sys.stdout)
