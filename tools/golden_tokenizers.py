#!/usr/bin/env python3
"""Makes tests/goldens/tokenizers again: what tokenizers, tiktoken and Transformers say of texts.

    tools/golden_tokenizers.py [DATA]           mini.json, cases.json, real.json
    tools/golden_tokenizers.py --unicode-tables src/base/unicode/unicode_tables.cc

DATA (HONE_DATA, ../shared/data) is the folder with tok-gpt2, tok-llama3 ... and tinyshakespeare.

  mini.json   a byte-level vocabulary of at most 400 merges, trained here
  cases.json  hard texts and their ids under several pipelines around that vocabulary
  real.json   hashes of the ids of real tokenizers over the hard texts, random texts and corpora
"""
import json, os, sys
from pathlib import Path

import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import GPT2Tokenizer, RobertaTokenizer

root = Path(__file__).resolve().parent.parent
out = root / "tests/goldens/tokenizers"

TEXTS = [
    "", " ", "Hello world", " Hello  world  ", "the end of the king and the queen",
    "don't DON'T we'Ll I'VE you're 'S 's' it'd 'tis", "a\r\nb\r\n\r\nc\n\n \n  d\t\te",
    "   \n  x   ", "123 4567 89012 \u00bd \u00b2 \u0663\u0664\u0665 1a2b", "x\0y\0",
    "emoji \U0001f600\U0001f603 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "\u4e2d\u6587\u5b57\u7b26\u6d4b\u8bd5\uff0c\u6807\u70b9\u3002\u65e5\u672c\u8a9e\u30c6\u30b9\u30c8\ud55c\uad6d\uc5b4",
    "e\u0301 \u00e9 A\u030a \u212b \ufb01 q\u0323\u0307", "\u1100\u1161\u11a8 \uac01",
    "<|endoftext|> a<|endoftext|>b <s> </s> <mask> <mask>x  <mask>  y<pad>",
    "'\u017f x'\u017f \u017f", "\u00a0nbsp\u3000ideo\u2003em\u0085nel",
    "\u180e\u200b\u200d\ufeff", "\u00dcn\u00efc\u00f6d\u00e9 \u00df \u0130", "a" * 90,
    " " * 70 + "x" + "\n" * 20, "!!!???...---===", "foo_bar-baz.qux@x.com https://a.b/c?d=e&f=g#h",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u0661\u0662",
    "\u0939\u093f\u0928\u094d\u0926\u0940", "\U0001d518\U0001d52b\U0001d526 \U0001d7d9\U0001d7da \U00010348",
    "<|begin_of_text|>x<|eot_id|> <|im_start|>user\nhi<|im_end|>", "\t\tif (x) {\n\t\t\treturn 1;\n\t\t}\n",
    "word the other there thethe theX", "caf\u00e9x cafe\u0301x",
]

# Random texts are rows of these parts, drawn by the same generator in the test.
PARTS = [" ", "  ", "\n", "\r\n", "\t", "a", "the", "The", "'s", "'LL", "'", "'re", "1", "12", "2024",
         "\u00bd", "\u00e9", "e\u0301", "\u4e2d", "\u6587", "\U0001f600", "\u200d", "\u00a0", "\u3000",
         "\0", ".", "!?", "-", "_", "<|endoftext|>", "<s>", "</s>", "<mask>", "<", "|>", "\u017f",
         "K", "\u0300", "\ud55c", "\u1100\u1161", "\u0627", "\u0e44", "ing", "hello", "WORLD",
         "\u0085", "<|im_start|>", "\uffff", "\u01c5", "\u2167", "\u0663", "word"]


def random_texts(count, state=1, parts=PARTS):
    texts = []

    def draw(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n

    for _ in range(count):
        texts.append("".join(parts[draw(len(parts))] for _ in range(1 + draw(24))))
    return texts


def fnv(ids, h=0xcbf29ce484222325):
    for i in ids:
        for byte in i.to_bytes(4, "little"):
            h = (h ^ byte) * 0x100000001b3 % 2**64
    return h


def fnv_rows(rows):
    h = 0xcbf29ce484222325
    for row in rows:
        h = fnv(row + [0x7fffffff], h)
    return f"{h:016x}"


def write(name, value):
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    (out / name).write_text(text.replace('},"', '},\n"') + "\n")


def real_hashes(data, texts, parts):
    """A function that hashes what an encode() makes of hard texts, random texts and corpora."""
    corpora = [(data / f).read_bytes().decode() for f in
               ("tinyshakespeare/input.txt", "wikitext2/test.txt", "wikitext2/valid.txt")]
    fuzz = random_texts(5000, 7, parts)
    return lambda encode: {"texts": fnv_rows([encode(t) for t in texts]), "random": fnv_rows([encode(t) for t in fuzz]),
                           "corpora": [fnv_rows([encode(t)]) for t in corpora]}


def pipeline_hashes(t, texts, fuzz):
    """What a pipeline makes of texts, there and back, and of special tokens as ordinary characters."""
    rows = [t.encode(x).ids for x in texts]
    hashes = {"ids": fnv_rows(rows), "random": fnv_rows([t.encode(x).ids for x in fuzz]),
              "decoded": fnv_rows([list(t.decode(r, skip_special_tokens=False).encode()) for r in rows]),
              "skipped": fnv_rows([list(t.decode(r).encode()) for r in rows])}
    t.encode_special_tokens = True
    hashes["split"] = fnv_rows([t.encode(x).ids for x in texts])
    t.encode_special_tokens = False
    return hashes


def byte_level(prefix=False, regex=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(content, **options):
    token = dict(id=0, content=content, single_word=False, lstrip=False, rstrip=False,
                 normalized=False, special=True)
    token.update(options)
    return token


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

# Phi-4, OLMo 2 and 3, GLM-4.
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
          r"|\s*[\r\n]|\s+(?!\S)|\s+")
# Ministral, Mistral Small, Apertus.
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"


def template(*tokens):
    bos = [{"SpecialToken": {"id": t, "type_id": 0}} for t, _ in tokens]
    a, b = ({"Sequence": {"id": s, "type_id": i}} for i, s in enumerate("AB"))
    pair = [{"SpecialToken": {"id": t, "type_id": 1}} for t, _ in tokens]
    return {"type": "TemplateProcessing", "single": bos + [a], "pair": bos + [a] + pair + [b],
            "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in tokens}}


def mini(data):
    corpus = (data / "tinyshakespeare/input.txt").read_text()[:200000].splitlines()
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus + TEXTS * 3, trainers.BpeTrainer(
        vocab_size=256 + 400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    m = json.loads(t.to_str())["model"]
    vocab = sorted(m["vocab"], key=m["vocab"].get)
    return {"tokens": vocab, "merges": [" ".join(x) for x in m["merges"]]}


def pipelines(n):
    end = added("<|endoftext|>")
    roberta = [added("<s>"), added("</s>"), added("<pad>"), added("<mask>", lstrip=True)]
    return {
        "gpt2": dict(pre_tokenizer=byte_level(), added_tokens=[end]),
        "gpt2_prefix": dict(pre_tokenizer=byte_level(prefix=True), added_tokens=[end]),
        "roberta": dict(pre_tokenizer=byte_level(), added_tokens=roberta, post_processor={
            "type": "RobertaProcessing", "sep": ["</s>", n + 1], "cls": ["<s>", n],
            "trim_offsets": True, "add_prefix_space": False}),
        "llama3": dict(pre_tokenizer=sequence(split(LLAMA3), byte_level(regex=False)), ignore_merges=True,
                       added_tokens=[added("<|begin_of_text|>"), added("<|eot_id|>"), end],
                       post_processor={"type": "Sequence", "processors": [
                           byte_level(), template(("<|begin_of_text|>", n))]}),
        "qwen2": dict(normalizer={"type": "NFC"}, added_tokens=[end, added("<|im_start|>"), added("<|im_end|>")],
                      pre_tokenizer=sequence(split(QWEN2), byte_level(regex=False)), post_processor=byte_level()),
        "smollm": dict(pre_tokenizer=sequence({"type": "Digits", "individual_digits": True}, byte_level()),
                       added_tokens=[end]),
        "digits": dict(pre_tokenizer=sequence({"type": "Digits", "individual_digits": False}, byte_level(prefix=True)),
                       normalizer={"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "NFC"}]}),
        "o200k": dict(pre_tokenizer=sequence(split(O200K), byte_level(regex=False)), added_tokens=[end]),
        "removed": dict(pre_tokenizer=sequence(split(r"\s+", "Removed"), byte_level(regex=False))),
        "previous": dict(pre_tokenizer=sequence(split("e", "MergedWithPrevious", kind="String"), byte_level(regex=False))),
        "next": dict(pre_tokenizer=sequence(split(r"[\s']", "MergedWithNext"), byte_level(regex=False))),
        "contiguous": dict(pre_tokenizer=sequence(split(r"\S", "Contiguous"), byte_level(regex=False))),
        "inverted": dict(pre_tokenizer=sequence(split(r"\p{L}+", "Removed", True), byte_level(prefix=True, regex=False))),
        "cl100k": dict(pre_tokenizer=sequence(split(CL100K), byte_level(regex=False)),
                       added_tokens=[added("<|endoftext|>", lstrip=True, rstrip=True), added("<|im_start|>")]),
        "tekken": dict(pre_tokenizer=sequence(split(TEKKEN), byte_level(regex=False)), ignore_merges=True,
                       added_tokens=[added("<s>"), added("</s>")], post_processor=template(("<s>", n))),
        "cohere": dict(normalizer={"type": "NFC"}, added_tokens=[added("<pad>"), added("<s>")], post_processor=template(
            ("<s>", n + 1)), pre_tokenizer=sequence({"type": "Digits", "individual_digits": True}, byte_level())),
        "bloom": dict(pre_tokenizer=sequence(split(BLOOM), byte_level(regex=False)), added_tokens=[added("<s>")]),
        "punctuation": dict(pre_tokenizer=sequence({"type": "Punctuation", "behavior": "MergedWithNext"},
                                                   byte_level(regex=False))),
        "added": dict(pre_tokenizer=byte_level(), normalizer={"type": "NFC"}, added_tokens=[
            added("<s>", rstrip=True), added("the", special=False, normalized=True, single_word=True),
            added("<mask>", lstrip=True, rstrip=True), added("cafe\u0301x", special=False, normalized=True),
            added("<|end"), added("<|endoftext|>"), added("wor", special=False)]),
    }


def cases(data):
    m = mini(data)
    write("mini.json", m)
    texts, fuzz = TEXTS, random_texts(2000)
    result = {}
    for name, p in pipelines(len(m["tokens"])).items():
        spec = {"version": "1.0", "truncation": None, "padding": None, "normalizer": p.get("normalizer"),
                "added_tokens": [{**a, "id": len(m["tokens"]) + i} for i, a in enumerate(p.get("added_tokens", []))],
                "pre_tokenizer": p["pre_tokenizer"], "post_processor": p.get("post_processor"),
                "decoder": byte_level()}
        model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                 "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                 "ignore_merges": p.get("ignore_merges", False)}
        full = {**model, "vocab": {t: i for i, t in enumerate(m["tokens"])}, "merges": m["merges"]}
        t = Tokenizer.from_str(json.dumps({**spec, "model": full}))
        encode = lambda x, special=True: t.encode(x, add_special_tokens=special).ids
        pair = t.encode("Hello", " world")
        entry = {"spec": spec, "model": model, "size": t.get_vocab_size(),
                 "ids": [encode(x) for x in texts], "plain": fnv_rows([encode(x, False) for x in texts]),
                 "decoded": fnv_rows([list(t.decode(encode(x), skip_special_tokens=False).encode()) for x in texts]),
                 "skipped": fnv_rows([list(t.decode(encode(x)).encode()) for x in texts]),
                 "random": fnv_rows([encode(x) for x in fuzz]),
                 "pair": pair.ids, "pair_types": pair.type_ids}
        t.encode_special_tokens = True
        entry["split"] = fnv_rows([encode(x) for x in texts])
        result[name] = entry
    write("cases.json", {"texts": texts, "parts": PARTS, "pipelines": result})


def real(data):
    row = real_hashes(data, TEXTS, PARTS)

    def transformers(tokenizer):
        return row(lambda t: tokenizer(t)["input_ids"])

    def ranks(file, pattern, specials):
        r = load_tiktoken_bpe(str(data / file))
        e = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=r,
                              special_tokens={s: len(r) + i for i, s in enumerate(specials)})
        return row(lambda t: e.encode(t, allowed_special="all"))

    def file(path):
        t = Tokenizer.from_file(str(data / path))
        return row(lambda x: t.encode(x).ids)

    reserved = "<|reserved_special_token_{}|>".format
    llama3 = ["<|begin_of_text|>", "<|end_of_text|>", reserved(0), reserved(1), "<|finetune_right_pad_id|>",
              "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>",
              "<|python_tag|>"] + [reserved(i) for i in range(2, 247)]
    write("real.json", {
        "tok-gpt2": transformers(GPT2Tokenizer.from_pretrained(data / "tok-gpt2")),
        "tok-roberta": transformers(RobertaTokenizer.from_pretrained(data / "tok-roberta")),
        "tok-llama3": ranks("tok-llama3/tokenizer.model", LLAMA3, llama3),
        "tok-qwen": ranks("tok-qwen/qwen.tiktoken", QWEN2, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
                          + [f"<|extra_{i}|>" for i in range(205)]),
        "tok-misc/tiny_bpe_tokenizer.json": file("tok-misc/tiny_bpe_tokenizer.json"),
        "tok-misc/torchtune_tokenizer.json": file("tok-misc/torchtune_tokenizer.json")})


def unicode_tables(path):
    """Ranges of \\p{L} and \\p{N} as the regular expressions of tokenizers see them, and what BertNormalizer,
    BertPreTokenizer and Lowercase make of each character."""
    chars = [c for c in range(0x110000) if not 0xd800 <= c < 0xe000]

    def members(pattern):
        cut = pre_tokenizers.Split(Regex(pattern), "removed")
        found = set()
        for i in range(0, len(chars), 4096):
            some = chars[i:i + 4096]
            left = "".join(piece for piece, _ in cut.pre_tokenize_str("".join(map(chr, some))))
            found |= set(some) - set(map(ord, left))
        return found

    def bert(**on):
        options = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
        return normalizers.BertNormalizer(**{**options, **on}).normalize_str

    def gone(normalize):
        return {c for c in chars if normalize(chr(c)) == ""}

    def punctuation():
        cut = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
        return {c for c in chars if len(cut("a" + chr(c) + "b")) == 3}

    def rows(items):
        text, line = "", "   "
        for item in items:
            if len(line) + len(item) > 100:
                text, line = text + line + "\n", "   "
            line += item
        return text + line + "\n};\n"

    def table(name, members):
        ranges = []
        for c in sorted(members):
            if ranges and ranges[-1][1] == c - 1:
                ranges[-1][1] = c
            else:
                ranges.append([c, c])
        return f"constexpr CodeRange {name}[] = {{\n" + rows(f" {{{a:#x}, {b:#x}}}," for a, b in ranges)

    def young_lower_case(since=0x1c89):
        """Letters younger than the oldest utf8proc that hone meets (Unicode 14, as this Python's)."""
        import unicodedata
        lower = normalizers.Lowercase().normalize_str
        pairs = [(c, lower(chr(c))) for c in chars if c >= since and unicodedata.category(chr(c)) == "Cn"]
        more = [(c, ord(l)) for c, l in pairs if l != chr(c)]
        more += [(c, ord(lower(chr(c)))) for c in chars if unicodedata.category(chr(c)) != "Cn"
                 and lower(chr(c)) != chr(c).lower()]
        return "constexpr CodePair kYoungLower[] = {\n" + rows(f" {{{a:#x}, {b:#x}}}," for a, b in sorted(more))

    sets = {"kLetters": members(chr(92) + "p{L}"), "kNumbers": members(chr(92) + "p{N}"),
            "kMarks": gone(bert(strip_accents=True)), "kControls": gone(bert(clean_text=True)),
            "kPunctuation": punctuation()}
    Path(path).write_text(f"""// Generated by tools/golden_tokenizers.py --unicode-tables. Do not edit.
// clang-format off
#include "base/unicode/unicode_tables.h"

namespace hone {{
namespace {{

{chr(10).join(table(name, found) for name, found in sets.items())}
{young_lower_case()}
}}  // namespace

std::span<const CodeRange> letter_ranges() {{ return kLetters; }}
std::span<const CodeRange> number_ranges() {{ return kNumbers; }}
std::span<const CodeRange> mark_ranges() {{ return kMarks; }}
std::span<const CodeRange> control_ranges() {{ return kControls; }}
std::span<const CodeRange> punctuation_ranges() {{ return kPunctuation; }}
std::span<const CodePair> young_lower_case() {{ return kYoungLower; }}

}}  // namespace hone
""")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--unicode-tables"]:
        unicode_tables(sys.argv[2])
    else:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HONE_DATA", root / "../shared/data"))
        out.mkdir(parents=True, exist_ok=True)
        cases(folder)
        real(folder)
