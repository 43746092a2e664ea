#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/models: tiny causal models from seeds, and what Transformers/PyTorch say of them.

    tools/golden_models.py [MODEL ...]        (make golden MODEL=gpt2_tiny; no name: all of them)

Each folder holds what a user's model folder holds (config.json, generation_config.json, model.safetensors in f32)
and two files of expected values:

golden.safetensors   logits.<i>      f32 [tokens, vocab] of sequence i run alone, without padding
                     grad.<name>     f32, gradient of `loss` for every parameter by its Hugging Face name (ties once)
golden.json          sequences       the ids of each sequence
                     loss, nll_sum, label_tokens, nll_sum_of   loss = nll_sum / label_tokens over all sequences
                     train           a plain PyTorch loop: rows, micro (row indices by step and micro-batch), settings,
                                     losses, grad_norms (before clipping), lrs (of each step), decayed names,
                                     after: {name: {sum, abs_sum, first: up to 4 values}} once all steps are done
                     generate        list of {name, prompt, settings, tokens (new ones only), score (beams)}

The values are f32 on the CPU; tokens are refused unless an f64 copy of the model picks the same ones.
"""
import copy
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from saved_names import saved_parts
from transformers import AutoModelForCausalLM, GenerationConfig, get_linear_schedule_with_warmup
from transformers import ApertusConfig, ArceeConfig, BloomConfig, Cohere2Config, CohereConfig, FalconConfig
from transformers import Gemma2Config, Gemma3TextConfig, Gemma4TextConfig, GemmaConfig, Glm4Config, GlmConfig, GPT2Config
from transformers import GPTNeoXConfig, GptOssConfig
from transformers import GraniteConfig, HunYuanDenseV1Config, LlamaConfig, Ministral3Config, MinistralConfig
from transformers import Lfm2Config, MistralConfig, MixtralConfig, NemotronConfig, Olmo2Config, Olmo3Config
from transformers import OlmoeConfig, OPTConfig, Phi3Config, PhiConfig, Qwen2Config, Qwen2MoeConfig
from transformers import Qwen3_5MoeTextConfig, Qwen3_5TextConfig, Qwen3NextConfig
from transformers import Qwen3Config, Qwen3MoeConfig, SeedOssConfig, SmolLM3Config, StableLmConfig, Starcoder2Config
from transformers.trainer import Trainer

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "models"
LENGTHS = (17, 9, 23)
PROMPT_LENGTHS = (5, 11)
NEW_TOKENS = 12
STEPS, ACCUMULATION, ROWS_PER_MICRO = 10, 2, 2
TRAIN_LENGTHS = (12, 7, 16, 9, 14, 5, 11, 18)

VOCAB, BOS, EOS = 61, 59, 60
SMALL = dict(vocab_size=VOCAB, num_hidden_layers=2, max_position_embeddings=64, rms_norm_eps=1e-5,
             bos_token_id=BOS, eos_token_id=EOS, use_cache=True)
# Models with layer norms and without a padding token.
PLAIN = dict(vocab_size=VOCAB, bos_token_id=BOS, eos_token_id=EOS, use_cache=True, pad_token_id=None)
NORMED = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=64, **PLAIN)
GROUPED = dict(hidden_size=16, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2, pad_token_id=None,
               **SMALL)
STATES = dict(head_dim=8, linear_key_head_dim=4, linear_value_head_dim=6, linear_num_key_heads=2,
              linear_num_value_heads=4, layer_types=["linear_attention", "full_attention", "linear_attention"],
              rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))

CONFIGS = {
    # n_inner is left out, so 4 * n_embd.
    "gpt2_tiny": lambda: GPT2Config(vocab_size=VOCAB, n_layer=2, n_embd=16, n_head=2, n_positions=64, resid_pdrop=0.0,
                                    embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=BOS, eos_token_id=EOS),
    "llama_tied_tiny": lambda: LlamaConfig(hidden_size=32, intermediate_size=40, num_attention_heads=4,
                                           num_key_value_heads=2, tie_word_embeddings=True, **SMALL),
    "llama_untied_tiny": lambda: LlamaConfig(hidden_size=16, intermediate_size=24, num_attention_heads=2,
                                             num_key_value_heads=2, tie_word_embeddings=False, **SMALL),
    # Biases on q, k and v, none on o.
    "qwen2_tiny": lambda: Qwen2Config(hidden_size=16, intermediate_size=24, num_attention_heads=4,
                                      num_key_value_heads=2, tie_word_embeddings=True, rope_theta=1e4, **SMALL),
    # heads * head_dim (32) differs from hidden_size (16), as in Mistral-Nemo; the window is shorter than the sequences.
    "mistral_tiny": lambda: MistralConfig(hidden_size=16, intermediate_size=24, num_attention_heads=4, head_dim=8,
                                          num_key_value_heads=1, sliding_window=8, tie_word_embeddings=True, **SMALL),
    # original_max_position_embeddings puts the 8 frequencies into all three bands: kept, blended, divided.
    "llama3_rope_tiny": lambda: LlamaConfig(
        hidden_size=16, intermediate_size=24, num_attention_heads=2, num_key_value_heads=1, head_dim=16,
        tie_word_embeddings=True,
        rope_parameters=dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=32), **SMALL),
    # Norms of every head's queries and keys; heads * head_dim (32) differs from hidden_size (16).
    "qwen3_tiny": lambda: Qwen3Config(hidden_size=16, intermediate_size=24, num_attention_heads=4, head_dim=8,
                                      num_key_value_heads=2, tie_word_embeddings=False, rope_theta=1e4, **SMALL),
    "gemma_tiny": lambda: GemmaConfig(hidden_size=16, intermediate_size=24, num_attention_heads=2, head_dim=8,
                                      num_key_value_heads=1, pad_token_id=None, **SMALL),
    # Two caps.
    "gemma2_tiny": lambda: Gemma2Config(head_dim=8, sliding_window=8, query_pre_attn_scalar=8,
                                        attn_logit_softcapping=2.0, final_logit_softcapping=3.0, **GROUPED),
    # Windows with their own frequencies; the others are scaled.
    "gemma3_tiny": lambda: Gemma3TextConfig(
        head_dim=8, sliding_window=8, query_pre_attn_scalar=4,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=100.0),
                             full_attention=dict(rope_type="linear", rope_theta=10000.0, factor=8.0)),
        **dict(GROUPED, num_hidden_layers=3)),
    # Three quarters of a head turn, by the factors for short texts.
    "phi3_tiny": lambda: Phi3Config(
        hidden_size=32, intermediate_size=24, num_attention_heads=2, num_key_value_heads=1, pad_token_id=None,
        original_max_position_embeddings=48, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75,
                             short_factor=[1.0, 1.1, 1.2, 1.4, 1.6, 2.0], long_factor=[1.0, 1.5, 2.0, 3.0, 4.0, 6.0]),
        **SMALL),
    # Texts on both sides of the original length.
    "phi3_long_tiny": lambda: Phi3Config(
        original_max_position_embeddings=8, sliding_window=20,
        rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.3],
                             long_factor=[1.5, 4.0]), **GROUPED),
    # Queries of later positions are longer.
    "ministral3_tiny": lambda: Ministral3Config(
        head_dim=8, rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=4.0,
                                         beta_slow=1.0, mscale=1.0, mscale_all_dim=0.5, llama_4_scaling_beta=0.1,
                                         original_max_position_embeddings=16), **GROUPED),
    "ministral_tiny": lambda: MinistralConfig(head_dim=8, sliding_window=8,
                                              layer_types=["sliding_attention", "full_attention"], **GROUPED),
    "glm4_tiny": lambda: Glm4Config(head_dim=8, **GROUPED),
    "glm_tiny": lambda: GlmConfig(head_dim=8, **GROUPED),
    "olmo2_tiny": lambda: Olmo2Config(**GROUPED),
    "olmo3_tiny": lambda: Olmo3Config(
        sliding_window=8, layer_types=["sliding_attention", "full_attention"],
        rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=10000.0),
                             full_attention=dict(rope_type="yarn", rope_theta=10000.0, factor=8.0, beta_fast=4.0,
                                                 beta_slow=1.0, original_max_position_embeddings=16,
                                                 attention_factor=1.2)), **GROUPED),
    "smollm3_tiny": lambda: SmolLM3Config(**dict(GROUPED, num_hidden_layers=4)),
    "granite_tiny": lambda: GraniteConfig(embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.5,
                                          attention_multiplier=0.7, **GROUPED),
    "cohere_tiny": lambda: CohereConfig(logit_scale=0.5, **{k: v for k, v in GROUPED.items() if k != "rms_norm_eps"}),
    "cohere2_tiny": lambda: Cohere2Config(
        logit_scale=0.5, sliding_window=8,
        **{k: v for k, v in dict(GROUPED, num_hidden_layers=4).items() if k != "rms_norm_eps"}),
    "seed_oss_tiny": lambda: SeedOssConfig(head_dim=8, attention_dropout=0.0, residual_dropout=0.0, **GROUPED),
    # Heads are normed after they are turned.
    "hunyuan_tiny": lambda: HunYuanDenseV1Config(
        head_dim=8, rope_parameters=dict(rope_type="dynamic", rope_theta=10000.0, alpha=50.0, factor=1.0), **GROUPED),
    "apertus_tiny": lambda: ApertusConfig(**GROUPED),
    "arcee_tiny": lambda: ArceeConfig(head_dim=8, **GROUPED),
    "nemotron_tiny": lambda: NemotronConfig(head_dim=8, **{k: v for k, v in GROUPED.items() if k != "rms_norm_eps"}),
    "stablelm_tiny": lambda: StableLmConfig(intermediate_size=24, num_key_value_heads=1, use_qkv_bias=True, **NORMED),
    "starcoder2_tiny": lambda: Starcoder2Config(intermediate_size=24, num_key_value_heads=1, sliding_window=8,
                                                **NORMED),
    "phi_tiny": lambda: PhiConfig(intermediate_size=24, **NORMED),
    "gpt_neox_tiny": lambda: GPTNeoXConfig(intermediate_size=24, rotary_pct=0.5, **NORMED),
    "opt_tiny": lambda: OPTConfig(ffn_dim=24, dropout=0.0, **dict(NORMED, pad_token_id=1)),
    "falcon_tiny": lambda: FalconConfig(**NORMED),
    # 40B's blocks: two norms, groups of heads.
    "falcon_new_tiny": lambda: FalconConfig(new_decoder_architecture=True, num_kv_heads=2, bias=True,
                                            **dict(NORMED, num_attention_heads=4)),
    # Three heads, which is not a power of two.
    "bloom_tiny": lambda: BloomConfig(hidden_size=24, n_layer=2, n_head=3, **PLAIN),
    "mixtral_tiny": lambda: MixtralConfig(num_local_experts=4, sliding_window=8, **GROUPED),
    # The middle layer has no experts.
    "qwen2_moe_tiny": lambda: Qwen2MoeConfig(
        num_experts=5, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=12,
        mlp_only_layers=[1], **dict(GROUPED, num_hidden_layers=3)),
    # Layers 1 and 3 have experts, whose shares sum to 1.
    "qwen3_moe_tiny": lambda: Qwen3MoeConfig(
        num_experts=6, num_experts_per_tok=3, moe_intermediate_size=8, head_dim=8, norm_topk_prob=True,
        decoder_sparse_step=2, **dict(GROUPED, num_hidden_layers=4)),
    "olmoe_tiny": lambda: OlmoeConfig(num_experts=4, num_experts_per_tok=2,
                                      **dict(GROUPED, intermediate_size=8)),
    # Gates beyond the limit.
    "gpt_oss_tiny": lambda: GptOssConfig(
        num_local_experts=4, num_experts_per_tok=2, head_dim=8, sliding_window=8, swiglu_limit=1.0,
        rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=8.0, beta_fast=4.0, beta_slow=1.0,
                             truncate=False, original_max_position_embeddings=16), **dict(GROUPED, intermediate_size=8)),
    # Filters of three tokens in two layers, attention in one; the row of the padding token is not trained.
    "lfm2_tiny": lambda: Lfm2Config(
        layer_types=["conv", "full_attention", "conv"], conv_bias=True, block_multiple_of=4,
        block_ffn_dim_multiplier=1.5,
        **{k: v for k, v in dict(GROUPED, num_hidden_layers=3, pad_token_id=0).items() if k != "rms_norm_eps"}),
    # Two heads of values for each head of keys, of another size; half of a head of attention turns.
    "qwen3_5_tiny": lambda: Qwen3_5TextConfig(
        head_dim=8, linear_key_head_dim=4, linear_value_head_dim=6, linear_num_key_heads=2, linear_num_value_heads=4,
        layer_types=["linear_attention", "full_attention", "linear_attention"],
        rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5,
                             mrope_section=[1, 1, 0], mrope_interleaved=True),
        **dict(GROUPED, num_hidden_layers=3)),
    # Qwen3.5's layers with experts in all but one, and one more MLP with a gate; queries, keys, values and gates of a
    # group of heads come from one projection.
    "qwen3_next_tiny": lambda: Qwen3NextConfig(
        num_experts=5, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=12,
        mlp_only_layers=[1], **STATES, **dict(GROUPED, num_hidden_layers=3)),
    "qwen3_5_moe_tiny": lambda: Qwen3_5MoeTextConfig(
        num_experts=5, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=12,
        **STATES, **{k: v for k, v in dict(GROUPED, num_hidden_layers=3).items() if k != "intermediate_size"}),
    # Heads of two sizes; the last two layers read the keys of the two before, and have wider MLPs; keys are values
    # without a window.
    "gemma4_tiny": lambda: Gemma4TextConfig(
        head_dim=8, sliding_window=8, global_head_dim=16, attention_k_eq_v=True, num_global_key_value_heads=1,
        layer_types=["sliding_attention", "full_attention"] * 2, num_kv_shared_layers=2, use_double_wide_mlp=True,
        hidden_size_per_layer_input=8, vocab_size_per_layer_input=VOCAB, final_logit_softcapping=8.0,
        **dict(GROUPED, num_hidden_layers=4)),
    "gemma4_plain_tiny": lambda: Gemma4TextConfig(
        head_dim=8, sliding_window=8, global_head_dim=8, layer_types=["sliding_attention", "full_attention"],
        hidden_size_per_layer_input=0, **GROUPED),
    # Experts beside the MLP of each layer.
    "gemma4_moe_tiny": lambda: Gemma4TextConfig(
        head_dim=8, sliding_window=8, global_head_dim=8, layer_types=["sliding_attention", "full_attention"],
        hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=5, top_k_experts=2, moe_intermediate_size=8,
        **GROUPED),
}

# Other seeds, where f32 and f64 pick other tokens.
SEEDS = {"lfm2_tiny": 1101, "qwen3_5_tiny": 1109, "gemma4_tiny": 1010, "gemma4_plain_tiny": 1011,
         "qwen3_next_tiny": 1112, "qwen3_5_moe_tiny": 1113, "gemma4_moe_tiny": 1014,
         # Here rounding to 16 bits changes no choice of a router.
         "mixtral_tiny": 2035, "qwen3_moe_tiny": 3037, "gpt_oss_tiny": 6039}
# Prompts of these models are on one side of the length at which a cache is thrown away.
LONG_PROMPTS = {"phi3_long_tiny": (9, 11)}


def make_model(name):
    """A model whose gradients do not vanish and whose norms and biases are not the neutral ones of a fresh model."""
    seed = SEEDS.get(name, 1000 + list(CONFIGS).index(name))
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(CONFIGS[name](), attn_implementation="eager",
                                             experts_implementation="eager").float().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1:
                # Gemma until version 3, Nemotron and Qwen3.5 add 1 to the weights of their norms.
                about_zero = parameter_name.endswith("bias") or name.startswith(
                    ("gemma_", "gemma2", "gemma3", "nemotron", "qwen3_5", "qwen3_next"))
                center = 0.0 if about_zero else 1.0
                if name.startswith("gemma4") and parameter_name.endswith(("q_norm.weight", "k_norm.weight")):
                    center = 0.3  # its scores have no scale
                parameter.copy_(center + 0.2 * noise)
            else:
                parameter.copy_(0.3 * noise)
        for buffer_name, buffer in model.named_buffers():
            if buffer_name.endswith("layer_scalar"):
                buffer.fill_(0.8)
    model.generation_config = GenerationConfig(bos_token_id=BOS, eos_token_id=EOS)
    return model, generator


def random_rows(lengths, generator):
    return [torch.randint(0, VOCAB - 2, (n,), generator=generator).tolist() for n in lengths]


def nll_sum(model, row):
    """Sum over label tokens (each token but the first) and the logits they came from."""
    ids = torch.tensor([row])
    logits = model(input_ids=ids, use_cache=False).logits[0]
    return torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:], reduction="sum"), logits


def golden_forward_backward(model, sequences):
    tensors, sums = {}, []
    model.zero_grad()
    for i, row in enumerate(sequences):
        value, logits = nll_sum(model, row)
        sums.append(value)
        tensors[f"logits.{i}"] = logits.detach().clone()
    labels = sum(len(row) - 1 for row in sequences)
    loss = sum(sums) / labels
    loss.backward()
    for name, parameter in model.named_parameters():
        for saved, part in saved_parts(model.config.model_type, name, parameter.grad.detach()):
            tensors[f"grad.{saved}"] = part.clone().contiguous()
    values = dict(sequences=sequences, loss=loss.item(), nll_sum=sum(sums).item(), label_tokens=labels,
                  nll_sum_of=[s.item() for s in sums])
    model.zero_grad()
    return values, tensors


def golden_train(model, rows, nll_sum=nll_sum, labels_of=lambda row: len(row) - 1):
    """Plain PyTorch; which parameters decay is asked of Transformers' Trainer."""
    settings = dict(learning_rate=1e-3, adam_beta1=0.9, adam_beta2=0.999, adam_epsilon=1e-8, weight_decay=0.01,
                    max_grad_norm=1.0, lr_scheduler_type="linear", warmup_steps=2, max_steps=STEPS,
                    gradient_accumulation_steps=ACCUMULATION)
    decayed = Trainer.get_decay_parameter_names(None, model)
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer, scheduler = adamw_of(named, decayed, settings)
    micro, losses, norms, lrs = [], [], [], []
    cursor = 0
    for _ in range(STEPS):
        batches = []
        for _ in range(ACCUMULATION):
            batches.append([(cursor + k) % len(rows) for k in range(ROWS_PER_MICRO)])
            cursor += ROWS_PER_MICRO
        labels = sum(labels_of(rows[i]) for batch in batches for i in batch)
        total = 0.0
        for batch in batches:
            loss = sum(nll_sum(model, rows[i])[0] for i in batch) / labels
            loss.backward()
            total += loss.item()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), settings["max_grad_norm"]).item())
        lrs.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        micro.append(batches)
        losses.append(total)
    parts = {name: dict(saved_parts(model.config.model_type, name, p.detach())) for name, p in named.items()}
    after = {saved: dict(sum=p.double().sum().item(), abs_sum=p.double().abs().sum().item(),
                         first=p.flatten()[:4].tolist()) for of_one in parts.values() for saved, p in of_one.items()}
    return dict(rows=rows, micro=micro, settings=settings, losses=losses, grad_norms=norms, lrs=lrs,
                decayed=sorted(saved for n in named if n in decayed for saved in parts[n]), after=after)


def generated(model, prompt, settings):
    model.generation_config = GenerationConfig(pad_token_id=0)
    ids = torch.tensor([prompt])
    with torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW_TOKENS, do_sample=False,
                             return_dict_in_generate=True, output_scores=True, **settings)
    score = out.sequences_scores[0].item() if settings.get("num_beams", 1) > 1 else None
    return out.sequences[0, len(prompt):].tolist(), score


def golden_generate(model, prompts):
    """Greedy and beams; without an end token, and with one that the unended continuation meets on its way."""
    exact = copy.deepcopy(model).double()
    beams = dict(num_beams=4, length_penalty=1.0, early_stopping=False)
    variants = [("greedy", {}), ("greedy_penalty", dict(repetition_penalty=1.3)),
                ("greedy_ngram", dict(no_repeat_ngram_size=2)), ("beam4", beams),
                ("beam4_early", dict(beams, early_stopping=True)),
                ("beam4_penalty", dict(repetition_penalty=1.3, no_repeat_ngram_size=2, **beams))]
    cases = []
    for which, prompt in enumerate(prompts):
        for name, settings in variants:
            tokens, _ = generated(model, prompt, settings)
            for end in (None, tokens[len(tokens) // 2]):
                asked = dict(settings) if end is None else dict(settings, eos_token_id=end)
                tokens_here, score = generated(model, prompt, asked)
                if generated(exact, prompt, asked)[0] != tokens_here:
                    raise SystemExit(f"{name}, prompt {which}: f32 and f64 pick other tokens; change the seed")
                case = dict(name=name + ("" if end is None else "_eos"), prompt=prompt, tokens=tokens_here,
                            settings=dict(asked, max_new_tokens=NEW_TOKENS))
                if score is not None:
                    case["score"] = score
                cases.append(case)
    return cases


def vary(model, generator):
    """Norms and biases are not the neutral ones of a fresh model, and gradients do not vanish."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1:
                parameter.copy_((0.0 if name.endswith("bias") else 1.0) + 0.2 * noise)
            else:
                parameter.copy_(0.3 * noise)


def adamw_of(named, decayed, settings):
    """AdamW that decays the parameters named in `decayed`, and its linear schedule."""
    optimizer = torch.optim.AdamW(
        [dict(params=[p for n, p in named.items() if n in decayed], weight_decay=settings["weight_decay"]),
         dict(params=[p for n, p in named.items() if n not in decayed], weight_decay=0.0)],
        lr=settings["learning_rate"], betas=(0.9, 0.999), eps=1e-8)
    return optimizer, get_linear_schedule_with_warmup(optimizer, settings["warmup_steps"], settings["max_steps"])


def write_golden(folder, tensors, values):
    """golden.safetensors and golden.json beside the model, and a line about them."""
    save_file(tensors, folder / "golden.safetensors")
    write_json(folder / "golden.json", values)
    for file in ("model.safetensors", "golden.safetensors"):
        (folder / file).chmod(0o644)
    smallest = min((t.abs().max().item(), k) for k, t in tensors.items() if k.startswith("grad."))
    print(f"{folder.name}: {max(f.stat().st_size for f in folder.iterdir()) / 1000:.0f} kB, loss {values['loss']:.4f}, losses "
          f"{values['train']['losses'][0]:.4f} -> {values['train']['losses'][-1]:.4f}, smallest gradient {smallest[1]} {smallest[0]:.2e}")


def make_named(make, known):
    """Makes the goldens that the command line names, or all of them."""
    names = sys.argv[1:] or list(known)
    for wrong in set(names) - set(known):
        raise SystemExit(f"{wrong}: no such golden model; there are {', '.join(known)}")
    for each in names:
        make(each)


def write_json(path, value):
    """One entry of the top level a line, deeper lists too where they are lists of objects: readable, yet small."""
    def lines(entry):
        if isinstance(entry, list) and entry and isinstance(entry[0], dict):
            return "[\n  " + ",\n  ".join(json.dumps(e) for e in entry) + "]"
        if isinstance(entry, dict):
            return "{\n  " + ",\n  ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entry.items()) + "}"
        return json.dumps(entry)
    path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {lines(v)}" for k, v in value.items()) + "\n}\n")


def write_v4_rope(folder, model, row):
    """Spells the rotary settings as the hub's Llama 3 folders do: rope_theta beside rope_scaling."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    scaling = config.pop("rope_parameters")
    config["rope_theta"] = scaling.pop("rope_theta")
    config["rope_scaling"] = scaling
    path.write_text(json.dumps(config, indent=2) + "\n")
    again = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    if not torch.equal(nll_sum(again, row)[0], nll_sum(model, row)[0]):
        raise SystemExit("llama3_rope_tiny: the older spelling of its rotary settings means something else")


def make(name):
    torch.set_num_threads(1)
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model, generator = make_model(name)
    model.save_pretrained(folder)
    sequences = random_rows(LENGTHS, generator)
    if name == "llama3_rope_tiny":
        write_v4_rope(folder, model, sequences[0])
    prompts = random_rows(LONG_PROMPTS.get(name, PROMPT_LENGTHS), generator)
    rows = random_rows(TRAIN_LENGTHS, generator)
    values, tensors = golden_forward_backward(model, sequences)
    values = dict(made_by=f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}", **values)
    generate = golden_generate(copy.deepcopy(model), prompts)
    values["train"] = golden_train(model, rows)
    values["generate"] = generate
    write_golden(folder, tensors, values)


if __name__ == "__main__":
    make_named(make, CONFIGS)
