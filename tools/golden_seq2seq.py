#!/usr/bin/env python3
"""Makes the goldens of encoder-decoders in tests/goldens/models: tiny models from seeds, and what Transformers says.

    tools/golden_seq2seq.py [MODEL ...]        (no name: all of them)

Each folder holds what a user's model folder holds and two files of expected values, in the form of golden_models.py:

golden.safetensors   logits.<i>      f32 [target tokens, vocab] of pair i run alone, without padding
                     grad.<name>     f32, gradient of `loss` for every trained parameter (ties once)
golden.json          sources, targets   ids; the targets are the labels, from which Transformers makes decoder_ids
                     decoder_ids     what the decoder reads
                     loss, nll_sum, label_tokens, nll_sum_of   loss = nll_sum / label_tokens over all pairs
                     smoothing       {factor, loss}: the same under Transformers' label smoother
                     train           as golden_models.py's; its rows are [source, target]
                     generate        list of {name, source, start, settings, tokens (after the start token), score (beams)}
"""
import copy
import json
import pathlib
import sys

import torch
import transformers
from transformers import (AutoModelForSeq2SeqLM, BartConfig, GenerationConfig, MarianConfig, MBartConfig, MT5Config,
                          PegasusConfig, T5Config, UMT5Config)
from transformers.modeling_outputs import Seq2SeqLMOutput
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.trainer_pt_utils import LabelSmoother

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_models import ROOT, golden_train, make_named, write_golden  # noqa: E402

VOCAB = 61
SOURCE_LENGTHS, TARGET_LENGTHS = (17, 6, 11), (8, 13, 5)
TRAIN_SOURCES, TRAIN_TARGETS = (12, 7, 16, 9, 14, 5, 11, 18), (6, 9, 4, 11, 7, 8, 5, 10)
SMOOTHING = 0.1
NEW_TOKENS = 12
QUIET = dict(dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
SMALL = dict(vocab_size=VOCAB, d_model=16, max_position_embeddings=40, **QUIET)
SAME = dict(encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=24, decoder_ffn_dim=24)
# More channels in the heads than in the model, and buckets that these lengths go through.
T5 = dict(vocab_size=VOCAB, d_model=16, d_kv=8, num_heads=3, d_ff=24, num_layers=2, dropout_rate=0.0, decoder_start_token_id=0)
APART = dict(encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2,
             encoder_ffn_dim=20, decoder_ffn_dim=28)

CONFIGS = {
    "bart_tiny": lambda: BartConfig(**SMALL, **SAME),
    # The decoder starts with the language code that ends the labels.
    "mbart_tiny": lambda: MBartConfig(scale_embedding=True, activation_function="gelu_new", **SMALL, **APART),
    # The decoder starts with the padding token, whose row of the embedding takes no gradient from there.
    "pegasus_tiny": lambda: PegasusConfig(scale_embedding=True, activation_function="relu", **SMALL, **SAME),
    "marian_tiny": lambda: MarianConfig(scale_embedding=True, activation_function="swish", pad_token_id=60,
                                        decoder_start_token_id=60, eos_token_id=0, forced_eos_token_id=0,
                                        **SMALL, **APART),
    "marian_separate_tiny": lambda: MarianConfig(
        activation_function="swish", pad_token_id=52, decoder_start_token_id=52, eos_token_id=0, decoder_vocab_size=53,
        forced_eos_token_id=0, share_encoder_decoder_embeddings=False, tie_word_embeddings=False, **SMALL, **SAME),
    # Relu MLP, scaled tied head, the usual buckets.
    "t5_tiny": lambda: T5Config(**T5),
    # 1.1 and flan: gated GELU, a head of its own.
    "t5_v11_tiny": lambda: T5Config(feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_decoder_layers=1,
                                    relative_attention_num_buckets=8, relative_attention_max_distance=10, **T5),
    "mt5_tiny": lambda: MT5Config(relative_attention_num_buckets=7, relative_attention_max_distance=9, **T5),
    # A table of relative positions in each layer.
    "umt5_tiny": lambda: UMT5Config(relative_attention_num_buckets=8, relative_attention_max_distance=10, **T5),
}
OWN_HEAD = ("t5_v11_tiny", "mt5_tiny")
LANGUAGE = 57  # the language code of mbart_tiny


def make_model(name):
    """As golden_models.make_model: norms, biases and the buffer of the head are not those of a fresh model."""
    seed = 3000 + list(CONFIGS).index(name)
    torch.manual_seed(seed)
    config = CONFIGS[name]()
    model = AutoModelForSeq2SeqLM.from_config(config, attn_implementation="eager").float().eval()
    generator = torch.Generator().manual_seed(seed)
    if name in OWN_HEAD:  # Transformers 5 ties them while it makes a model, not when it opens one
        model.lm_head.weight = torch.nn.Parameter(torch.zeros(VOCAB, config.d_model))
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter_name.endswith("Attention.q.weight"):  # T5's, whose scores have no scale
                noise *= config.d_kv ** -0.5
            center = 1.0 if parameter.ndim == 1 and not parameter_name.endswith("bias") else 0.0
            parameter.copy_(center + (0.2 if parameter.ndim == 1 else 0.3) * noise)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(0.5 * torch.randn(model.final_logits_bias.shape, generator=generator))
    return model, generator


def words(config, lengths, generator, vocab, end):
    """Ids of words alone, and what ends them."""
    return [torch.randint(4, vocab - 5, (n,), generator=generator).tolist() + end for n in lengths]


def pairs(model, sources, targets, generator):
    config = model.config
    end = [config.eos_token_id] + ([LANGUAGE] if config.model_type == "mbart" else [])
    vocab = getattr(config, "decoder_vocab_size", None) or config.vocab_size
    return list(zip(words(config, [n - 1 for n in sources], generator, config.vocab_size, [config.eos_token_id]),
                    words(config, [n - len(end) for n in targets], generator, vocab, end)))


def decoder_ids(model, target):
    return model.prepare_decoder_input_ids_from_labels(torch.tensor([target]))


def logits_of(model, row):
    source, target = row
    return model(input_ids=torch.tensor([source]), decoder_input_ids=decoder_ids(model, target),
                 use_cache=False).logits[0]


def nll_sum(model, row):
    logits = logits_of(model, row)
    return torch.nn.functional.cross_entropy(logits, torch.tensor(row[1]), reduction="sum"), logits


def golden_forward_backward(model, rows):
    tensors, sums = {}, []
    model.zero_grad()
    for i, row in enumerate(rows):
        value, logits = nll_sum(model, row)
        sums.append(value)
        tensors[f"logits.{i}"] = logits.detach().clone()
    labels = sum(len(target) for _, target in rows)
    loss = sum(sums) / labels
    loss.backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            tensors[f"grad.{name}"] = parameter.grad.detach().clone().contiguous()
    smoother = LabelSmoother(epsilon=SMOOTHING)
    smooth = sum(smoother(Seq2SeqLMOutput(logits=logits_of(model, row)[None]), torch.tensor([row[1]])) * len(row[1])
                 for row in rows).item() / labels
    model.zero_grad()
    return dict(sources=[s for s, _ in rows], targets=[t for _, t in rows],
                decoder_ids=[decoder_ids(model, t)[0].tolist() for _, t in rows],
                loss=loss.item(), nll_sum=sum(sums).item(), label_tokens=labels,
                nll_sum_of=[s.item() for s in sums], smoothing=dict(factor=SMOOTHING, loss=smooth)), tensors


def start_of(model):
    return LANGUAGE if model.config.model_type == "mbart" else model.config.decoder_start_token_id


def generated(model, source, settings):
    model.generation_config = GenerationConfig(pad_token_id=model.config.pad_token_id,
                                               decoder_start_token_id=start_of(model))
    ids = torch.tensor([source])
    with torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW_TOKENS, do_sample=False,
                             return_dict_in_generate=True, output_scores=True, **settings)
    score = out.sequences_scores[0].item() if settings.get("num_beams", 1) > 1 else None
    return out.sequences[0, 1:].tolist(), score


def golden_generate(model, sources):
    """Greedy and beams; without an end token, and with one that the unended text meets on its way."""
    exact = copy.deepcopy(model).double()
    beams = dict(num_beams=4, length_penalty=1.0, early_stopping=False)
    variants = [("greedy", {}), ("greedy_ngram", dict(no_repeat_ngram_size=2)), ("beam4", beams),
                ("beam4_early", dict(beams, early_stopping=True, length_penalty=2.0)),
                ("beam4_rules", dict(beams, no_repeat_ngram_size=2, min_length=6, forced_bos_token_id=9,
                                     bad_words_ids=[[11], [12, 13]]))]
    cases = []
    for which, source in enumerate(sources):
        for name, settings in variants:
            tokens, _ = generated(model, source, settings)
            for end in (None, tokens[len(tokens) // 2]):
                asked = dict(settings)
                if end is not None:
                    asked.update(eos_token_id=end, forced_eos_token_id=end)
                tokens_here, score = generated(model, source, asked)
                if generated(exact, source, asked)[0] != tokens_here:
                    raise SystemExit(f"{name}, source {which}: f32 and f64 pick other tokens; change the seed")
                case = dict(name=name + ("" if end is None else "_eos"), source=source, start=start_of(model),
                            tokens=tokens_here,
                            settings=dict(asked, max_new_tokens=NEW_TOKENS))
                if score is not None:
                    case["score"] = score
                cases.append(case)
    return cases


def write_hub_config(folder, model, row):
    """Spells the config as the hub's 1.1 folders do, and sees that nothing else made it what it is."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config = {k: v for k, v in config.items() if k not in ("scale_decoder_outputs", "dense_act_fn", "is_gated_act")}
    config["tie_word_embeddings"] = False
    path.write_text(json.dumps(config, indent=2) + "\n")
    again = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager").eval()
    if not torch.equal(logits_of(again, row), logits_of(model, row)):
        raise SystemExit("t5_v11_tiny: the older spelling of its config means something else")


def golden_buckets():
    """Buckets of keys at the distances -150..150 from their query."""
    distances = torch.arange(-150, 151)
    return [dict(buckets=count, max_distance=most,
                 **{side: T5Attention._relative_position_bucket(distances, bidirectional=side == "encoder",
                                                                num_buckets=count, max_distance=most).tolist()
                    for side in ("encoder", "decoder")})
            for count, most in ((32, 128), (8, 10), (7, 9), (64, 100))]


def make(name):
    torch.set_num_threads(1)
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model, generator = make_model(name)
    model.save_pretrained(folder)
    rows = pairs(model, SOURCE_LENGTHS, TARGET_LENGTHS, generator)
    if name == "t5_v11_tiny":
        write_hub_config(folder, model, rows[0])
    training = pairs(model, TRAIN_SOURCES, TRAIN_TARGETS, generator)
    values, tensors = golden_forward_backward(model, rows)
    values = dict(made_by=f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}", **values)
    cases = golden_generate(copy.deepcopy(model), [source for source, _ in rows][:2])
    values["train"] = golden_train(model, training, nll_sum, lambda row: len(row[1]))
    values["generate"] = cases
    if name == "t5_tiny":
        values["relative_buckets"] = golden_buckets()
    write_golden(folder, tensors, values)


if __name__ == "__main__":
    make_named(make, CONFIGS)
