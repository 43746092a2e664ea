#!/usr/bin/env python3
"""Makes tests/goldens/pairs: tiny encoder-decoders with tokenizers, pairs of texts, and what Transformers makes of them.

    tools/golden_pairs.py

texts.csv            columns document, summary; translations.jsonl the rows of run_translation
t5/, bart/           model folders as Transformers saves them, trained a little, for summaries (T5 behind 'summarize: ')
marian/, mbart/      for translation from English to Romanian; mBART with its language codes
*/golden.json        sources, targets   ids of each row as the tokenizer makes them, cut to SOURCE and TARGET tokens
                     losses, grad_norms   of ten steps of 4 rows in the order of the file (the last of an epoch shorter):
                     AdamW without decay, constant rate, gradients clipped to norm 1, one row at a time without padding;
                     the loss of a step is that of all its label tokens
                     eval    loss as Trainer has it with batches of 4 rows; texts of greedy search and of 4 beams of
                     at most LENGTH tokens, with ROUGE (rouge_score) or BLEU (sacrebleu), and gen_len
"""
import csv
import json
import pathlib
import shutil

import sacrebleu
import torch
from rouge_score import rouge_scorer
from tokenizers import ByteLevelBPETokenizer
from transformers import (AutoModelForSeq2SeqLM, AutoTokenizer, BartConfig, BartTokenizerFast, MarianConfig, MBartConfig,
                          T5Config, T5TokenizerFast)

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
FOLDER = TESTS / "pairs"
WARM, STEPS, BATCH, SOURCE, TARGET, LENGTH, RATE = 120, 10, 4, 40, 16, 14, 1e-3
TEXTS = [
    ("The ferry to the island leaves at nine in the morning and comes back at six.", "The ferry leaves at nine."),
    ("Snow fell on the hills in the night, and the road to the village was closed.", "Snow closed the road."),
    ("The shop in our street sells bread that the owner's brother bakes.", "The shop sells bread."),
    ("Two dogs ran along the beach, and a child ran after them.", "Two dogs ran."),
    ("The committee met twice, in May and in June, and could not agree about the bridge.", "The committee did not agree."),
    ("The king spoke of the war, and the people of the city heard him.", "The king spoke of war."),
    ("It was the first time that he had seen the sea.", "He saw the sea."),
    ("The old mill by the river was sold, and the school bought it.", "The school bought the mill."),
    ("The train from the south was late; the people waited for an hour.", "The train was late."),
    ("He read the letter, put it on the table, and went out of the house.", "He read the letter."),
]
TRANSLATIONS = [
    ("The ferry leaves at nine.", "Feribotul pleaca la noua."), ("Snow closed the road.", "Zapada a inchis drumul."),
    ("The shop sells bread.", "Magazinul vinde paine."), ("Two dogs ran.", "Doi caini au fugit."),
    ("The king spoke of war.", "Regele a vorbit de razboi."), ("He saw the sea.", "El a vazut marea."),
    ("The school bought the mill.", "Scoala a cumparat moara."), ("The train was late.", "Trenul a intarziat."),
    ("He read the letter.", "El a citit scrisoarea."), ("The people waited.", "Oamenii au asteptat."),
]
QUIET = dict(dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
SAME = dict(d_model=16, max_position_embeddings=48, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, **QUIET)


def write_data():
    with open(FOLDER / "texts.csv", "w", encoding="utf-8", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["document", "summary"])
        rows.writerows(TEXTS)
    with open(FOLDER / "translations.jsonl", "w", encoding="utf-8") as f:
        for en, ro in TRANSLATIONS:
            f.write(json.dumps({"translation": {"en": en, "ro": ro}}) + "\n")


def spm(folder, kind, **config):
    """A tokenizer folder around the small SentencePiece models of tests/goldens/tokenizers."""
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **config}))
    tokenizers = TESTS / "tokenizers"
    if kind == "MarianTokenizer":
        shutil.copy(tokenizers / "unigram.model", folder / "source.spm")
        shutil.copy(tokenizers / "marian_target.model", folder / "target.spm")
        vocabulary = json.loads((tokenizers / "translation.json").read_text())["vocabularies"]["shared"]
        (folder / "vocab.json").write_text(json.dumps(vocabulary))
    elif kind == "T5Tokenizer":
        shutil.copy(tokenizers / "pegasus.model", folder / "spiece.model")
    else:
        shutil.copy(tokenizers / "unigram.model", folder / "sentencepiece.bpe.model")


def bart_tokenizer(folder):
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator([t for pair in TEXTS for t in pair], vocab_size=320, min_frequency=2,
                            special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    bpe.save_model(str(folder))
    return BartTokenizerFast.from_pretrained(str(folder))


def make(name):
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if name == "bart":
        tokenizer = bart_tokenizer(folder)
        tokenizer.save_pretrained(folder)
        config = BartConfig(vocab_size=len(tokenizer), **SAME)
    elif name == "t5":
        spm(folder, "T5Tokenizer", extra_ids=4)
        tokenizer = T5TokenizerFast.from_pretrained(folder)
        config = T5Config(vocab_size=len(tokenizer), d_model=16, d_kv=8, num_heads=2, d_ff=24, num_layers=1,
                          dropout_rate=0.0, decoder_start_token_id=0,
                          task_specific_params={"summarization": {"prefix": "summarize: ", "max_length": 12, "num_beams": 2}})
    elif name == "marian":
        spm(folder, "MarianTokenizer", source_lang="en", target_lang="ro")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        pad = tokenizer.pad_token_id
        config = MarianConfig(vocab_size=len(tokenizer), pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
                              forced_eos_token_id=0, scale_embedding=True, activation_function="swish", num_beams=2, **SAME)
    else:
        spm(folder, "MBartTokenizer", src_lang="en_XX", tgt_lang="ro_RO")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        config = MBartConfig(vocab_size=len(tokenizer), scale_embedding=True, **SAME)
    torch.manual_seed(21)
    model = AutoModelForSeq2SeqLM.from_config(config).float().eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            noise = torch.randn(p.shape)
            p.copy_((0.0 if key.endswith("bias") else 1.0) + 0.2 * noise if p.ndim == 1 else 0.3 * noise)
    if name == "marian":
        model.model.encoder.embed_positions.weight.requires_grad_(False)
        model.model.decoder.embed_positions.weight.requires_grad_(False)
        fresh = AutoModelForSeq2SeqLM.from_config(config)  # the sinusoids again
        model.model.encoder.embed_positions.load_state_dict(fresh.model.encoder.embed_positions.state_dict())
        model.model.decoder.embed_positions.load_state_dict(fresh.model.decoder.embed_positions.state_dict())
    return model, tokenizer


def encode(name, tokenizer):
    summaries = name in ("t5", "bart")
    rows = TEXTS if summaries else TRANSLATIONS
    if name == "mbart":
        tokenizer.src_lang, tokenizer.tgt_lang = "en_XX", "ro_RO"
    prefix = "summarize: " if name == "t5" else ""
    sources = tokenizer([prefix + a for a, _ in rows], max_length=SOURCE, truncation=True)["input_ids"]
    targets = tokenizer(text_target=[b for _, b in rows], max_length=TARGET, truncation=True)["input_ids"]
    return sources, targets


def nll(model, source, target):
    labels = torch.tensor([target])
    out = model(input_ids=torch.tensor([source]), labels=labels)
    return out.loss * len(target)


def train(model, sources, targets, steps, rate=RATE):
    losses, norms = [], []
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0)
    per_epoch = -(-len(sources) // BATCH)
    for step in range(steps):
        first = step % per_epoch * BATCH
        batch = range(first, min(first + BATCH, len(sources)))
        optimizer.zero_grad()
        loss = sum(nll(model, sources[i], targets[i]) for i in batch) / sum(len(targets[i]) for i in batch)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, 1.0).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


def scores(name, tokenizer, texts, targets):
    texts = [t.strip() for t in texts]
    wanted = [t.strip() for t in tokenizer.batch_decode(targets, skip_special_tokens=True)]
    if name in ("marian", "mbart"):
        return {"bleu": round(sacrebleu.corpus_bleu(texts, [wanted]).score, 4)}
    kinds = ["rouge1", "rouge2", "rougeL"]
    scorer = rouge_scorer.RougeScorer(kinds, use_stemmer=True)
    rows = [scorer.score(w, t) for w, t in zip(wanted, texts)]
    return {k: round(100 * sum(r[k].fmeasure for r in rows) / len(rows), 4) for k in kinds}


def written(name, model, tokenizer, sources, targets, beams):
    pad = tokenizer.pad_token_id
    start = {}
    if name == "mbart":
        start["decoder_start_token_id"] = tokenizer.convert_tokens_to_ids("ro_RO")
    ids = [model.generate(torch.tensor([s]), max_length=LENGTH, num_beams=beams, do_sample=False, **start)[0].tolist()
           for s in sources]
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    lines = [t.strip() for t in tokenizer.batch_decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=True)]
    return dict(texts=lines, gen_len=sum(sum(i != pad for i in row) for row in ids) / len(ids),
                **scores(name, tokenizer, texts, targets))


def golden(name):
    model, tokenizer = make(name)
    sources, targets = encode(name, tokenizer)
    train(model, sources, targets, WARM, 10 * RATE)  # so that it writes something
    model.save_pretrained(FOLDER / name)
    losses, norms = train(model, sources, targets, STEPS)
    out = dict(sources=sources, targets=targets, losses=losses, grad_norms=norms)
    with torch.no_grad():
        each = [nll(model, s, t).item() for s, t in zip(sources, targets)]
        loss = 0.0
        for first in range(0, len(each), BATCH):
            batch = range(first, min(first + BATCH, len(each)))
            loss += len(batch) * sum(each[i] for i in batch) / sum(len(targets[i]) for i in batch)
        out["eval"] = dict(loss=loss / len(each))
        for beams in (1, 4):
            out["eval"][f"beams_{beams}"] = written(name, model, tokenizer, sources, targets, beams)
    (FOLDER / name / "golden.json").write_text(json.dumps(out) + "\n")
    print(name, out["losses"], {k: v for k, v in out["eval"].items()})


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_data()
    for name in ("t5", "bart", "marian", "mbart"):
        golden(name)


if __name__ == "__main__":
    main()
