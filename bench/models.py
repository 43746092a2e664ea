"""Random models in folders for the benchmarks, made once from a seed by Transformers."""
import itertools
import json
import os
import pathlib
import shutil

import common


def data_folder():
    return pathlib.Path(os.environ.get("HONE_DATA", common.ROOT.parent / "shared" / "data"))


def with_config(stem, place, **changes):
    """The folder `place`: that of `stem` with another config.json, the same weights and other files."""
    place.mkdir(parents=True, exist_ok=True)
    config = {**json.loads((stem / "config.json").read_text()), **changes}
    (place / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for path in stem.iterdir():
        if path.name != "config.json" and not (place / path.name).exists():
            os.link(path, place / path.name)
    return place, config


def roberta(dropout, tiny, size="base"):
    """The shape of roberta-base or roberta-large with its tokenizer and a head of MNLI's three labels."""
    stem = common.FILES / ("roberta-tiny" if tiny else f"roberta-{size}")
    if not (stem / "model.safetensors").exists():
        import torch
        import transformers
        torch.manual_seed(42)
        sizes = (dict(hidden_size=64, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4) if tiny else
                 dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16)
                 if size == "large" else {})
        names = ["entailment", "neutral", "contradiction"]
        model = transformers.RobertaForSequenceClassification(transformers.RobertaConfig(
            vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1,
            bos_token_id=0, eos_token_id=2, id2label=dict(enumerate(names)),
            label2id={name: i for i, name in enumerate(names)}, **sizes))
        model.save_pretrained(stem)
        for name in ("vocab.json", "merges.txt"):
            shutil.copy(data_folder() / "tok-roberta" / name, stem / name)
        (stem / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}\n')
    return with_config(stem, common.FILES / f"{stem.name}-dropout-{dropout}", hidden_dropout_prob=dropout,
                       attention_probs_dropout_prob=dropout)


NLI = ["entailment", "neutral", "contradiction"]


def encoder(name, dropout, tiny):
    """The shape of distilbert-base or deberta-v3-base with MNLI's three labels and BERT's vocabulary of words. DeBERTa keeps
    the number of tokens of its own vocabulary, which is not at hand."""
    import torch
    import transformers
    labels = dict(id2label=dict(enumerate(NLI)), label2id={name: i for i, name in enumerate(NLI)})
    small = dict(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=256)
    base = dict(num_hidden_layers=12, hidden_size=768, num_attention_heads=12, intermediate_size=3072)
    kinds = {
        "distilbert": lambda: transformers.DistilBertForSequenceClassification(transformers.DistilBertConfig(
            **(dict(n_layers=2, dim=64, n_heads=4, hidden_dim=256) if tiny else {}), **labels)),
        "deberta-v3": lambda: transformers.DebertaV2ForSequenceClassification(transformers.DebertaV2Config(
            vocab_size=30522 if tiny else 128100, type_vocab_size=0, relative_attention=True, position_buckets=256,
            norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False,
            max_relative_positions=-1, **(small if tiny else base), **labels)),
    }
    keys = {"distilbert": ("dropout", "attention_dropout", "seq_classif_dropout"),
            "deberta-v3": ("hidden_dropout_prob", "attention_probs_dropout_prob")}
    stem = common.FILES / (name + ("-tiny" if tiny else "-base"))
    if not (stem / "model.safetensors").exists():
        torch.manual_seed(42)
        kinds[name]().save_pretrained(stem)
        for file in ("vocab.txt", "tokenizer.json"):
            shutil.copy(data_folder() / "tok-bert-uncased" / file, stem / file)
        (stem / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}\n')
    return with_config(stem, common.FILES / f"{stem.name}-dropout-{dropout}", **{key: dropout for key in keys[name]})


def llama(name, rope_theta, **sizes):
    """A folder of that name with a Llama that has tied embeddings and no dropout, and its config."""
    stem = common.FILES / name
    if not (stem / "model.safetensors").exists():
        import torch
        import transformers
        torch.manual_seed(42)
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            max_position_embeddings=8192, rope_theta=rope_theta, rms_norm_eps=1e-5, tie_word_embeddings=True,
            bos_token_id=0, eos_token_id=0, **sizes))
        model.save_pretrained(stem)
        (stem / "generation_config.json").unlink(missing_ok=True)
    return stem, json.loads((stem / "config.json").read_text())


def smollm2(tiny):
    """SmolLM2-135M's shape, with grouped heads."""
    if tiny:
        return llama("smollm2-tiny", 100000.0, hidden_size=96, intermediate_size=256, num_hidden_layers=2,
                     num_attention_heads=3, num_key_value_heads=1, vocab_size=1000)
    return llama("smollm2-135m", 100000.0, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
                 num_attention_heads=9, num_key_value_heads=3, vocab_size=49152)


def llama_1b(tiny):
    """Llama-3.2-1B's shape, with the vocabulary of Llama 3."""
    if tiny:
        return llama("llama-tiny", 500000.0, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                     num_attention_heads=4, num_key_value_heads=2, vocab_size=1000)
    return llama("llama-1b", 500000.0, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                 num_attention_heads=32, num_key_value_heads=8, vocab_size=128256)


def mixtral(tiny, dense=False):
    """A small Mixtral: two of eight experts for each token; or the Llama whose MLPs have the weights of two."""
    sizes = (dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=1000)
             if tiny else
             dict(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2, vocab_size=8000))
    inner = sizes["hidden_size"] * 2
    if dense:
        return llama("mixtral-dense" + ("-tiny" if tiny else ""), 1e6, intermediate_size=2 * inner, **sizes)
    stem = common.FILES / ("mixtral-tiny" if tiny else "mixtral-small")
    if not (stem / "model.safetensors").exists():
        import torch
        import transformers
        torch.manual_seed(42)
        model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
            intermediate_size=inner, num_local_experts=8, num_experts_per_tok=2, max_position_embeddings=8192,
            tie_word_embeddings=True, bos_token_id=0, eos_token_id=0, **sizes))
        model.save_pretrained(stem)
        (stem / "generation_config.json").unlink(missing_ok=True)
    return stem, json.loads((stem / "config.json").read_text())


def lora_adapter(folder, dropout):
    """A LoRA adapter of rank 16 in all linear layers of the model, as PEFT begins one but with B that is not zero."""
    stem = pathlib.Path(f"{folder}-lora-{dropout}")
    if not (stem / "adapter_config.json").exists():
        import peft
        import torch
        import transformers
        torch.manual_seed(43)
        model = peft.get_peft_model(
            transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
            peft.LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, lora_dropout=dropout, target_modules="all-linear"))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(0, 0.01)
        model.save_pretrained(stem)
    return stem


def t5_tokenizer():
    return data_folder() / "tok-t5"


def t5(dropout, tiny, size="small"):
    """The shape of t5-small, t5-base or t5-large with T5's tokenizer."""
    stem = common.FILES / ("t5-tiny" if tiny else f"t5-{size}")
    if not (stem / "model.safetensors").exists():
        import torch
        import transformers
        torch.manual_seed(42)
        sizes = (dict(d_model=64, d_ff=128, d_kv=16, num_layers=2, num_heads=4) if tiny else
                 dict(small=dict(d_model=512, d_ff=2048, d_kv=64, num_layers=6, num_heads=8),
                      base=dict(d_model=768, d_ff=3072, d_kv=64, num_layers=12, num_heads=12),
                      large=dict(d_model=1024, d_ff=4096, d_kv=64, num_layers=24, num_heads=16))[size])
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(
            vocab_size=32128, decoder_start_token_id=0, **sizes))
        model.save_pretrained(stem)
        (stem / "generation_config.json").unlink(missing_ok=True)
        for path in t5_tokenizer().iterdir():
            if path.name != "SOURCE.txt":
                shutil.copy(path, stem / path.name)
    return with_config(stem, common.FILES / f"{stem.name}-dropout-{dropout}", dropout_rate=dropout)


def papers(split):
    """Rows of SciTLDR: "source", the sentences of an abstract, and "target", its summaries in one sentence."""
    with open(data_folder() / "scitldr" / f"{split}.jsonl", encoding="utf-8") as file:
        yield from map(json.loads, file)


def documents(folder, count, most):
    """Token ids of abstracts of SciTLDR with the prefix for summaries, each with the next behind it, cut at `most`."""
    import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = [" ".join(paper["source"]) for paper in itertools.islice(papers("test"), 2 * count)]
    return [tokenizer("summarize: " + " ".join(texts[2 * i:2 * i + 2]), truncation=True, max_length=most)["input_ids"]
            for i in range(count)]


def folder(dropout, tiny, name="gpt2"):
    """GPT-2 124M or XL (as the hub's `gpt2` or `gpt2-xl`) or a tiny one, without an end token; dropout variants share
    their weights."""
    stem = common.FILES / ("gpt2-tiny" if tiny else name)
    weights = stem / "model.safetensors"
    if not weights.exists():
        import torch
        import transformers
        torch.manual_seed(42)
        sizes = dict(n_layer=2, n_embd=64, n_head=4, vocab_size=1000, bos_token_id=999,
                     eos_token_id=999) if tiny else dict(n_layer=48, n_embd=1600, n_head=25) if name == "gpt2-xl" else {}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes))
        model.save_pretrained(stem)
        (stem / "generation_config.json").unlink(missing_ok=True)
    return with_config(stem, common.FILES / f"{stem.name}-dropout-{dropout}", resid_pdrop=dropout, embd_pdrop=dropout,
                       attn_pdrop=dropout, eos_token_id=None)


def ids(batch, block, vocabulary):
    """The rows that both sides train on: id at flat position i is (i * 7919 + 13) mod vocabulary."""
    return [[(i * 7919 + 13) % vocabulary for i in range(row * block, (row + 1) * block)] for row in range(batch)]


def step_flops(config, batch, block):
    """Model FLOP of a step without recompute: 6 a matmul weight and token, plus causal attention's half square."""
    if config["model_type"] in ("llama", "mixtral"):
        width, layers = config["hidden_size"], config["num_hidden_layers"]
        keys = width * config["num_key_value_heads"] // config["num_attention_heads"]
        inner = config["intermediate_size"] * config.get("num_experts_per_tok", 1)
        block_weights = 2 * width * width + 2 * width * keys + 3 * width * inner
    else:
        width, layers = config["n_embd"], config["n_layer"]
        block_weights = 12 * width * width
    weights = layers * block_weights + width * config["vocab_size"]
    attention = layers * 3 * 2 * 2 * block * block * width / 2
    return 6 * weights * batch * block + attention * batch
