#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/whole_models: tiny models that also see, from seeds, whose text model hone trains.

    tools/golden_whole_models.py

Each folder holds what Transformers saves (config.json, model.safetensors in f32), preprocessor_config.json, and
golden.json: ids, and the loss of the text model for them, a mean over all tokens but the first.
"""
import json
import pathlib

import torch
import transformers
from transformers import Gemma3Config, Gemma3ForConditionalGeneration, Gemma4Config, Gemma4ForConditionalGeneration
from transformers import Mistral3Config, Mistral3ForConditionalGeneration
from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "whole_models"
IDS = [5, 6, 7, 8, 600, 10, 11, 300, 12, 13, 14, 15, 16, 17]
TEXT = dict(vocab_size=660, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, head_dim=8, max_position_embeddings=64, initializer_range=0.2)
EYE = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14)


def gemma3():
    return Gemma3ForConditionalGeneration(Gemma3Config(
        text_config=dict(TEXT, sliding_window=8, query_pre_attn_scalar=8),
        vision_config=EYE, mm_tokens_per_image=4, image_token_index=658, boi_token_index=656, eoi_token_index=657))


def gemma4():
    return Gemma4ForConditionalGeneration(Gemma4Config(
        text_config=dict(TEXT, sliding_window=8, global_head_dim=8, hidden_size_per_layer_input=4,
                         layer_types=["sliding_attention", "full_attention"], vocab_size_per_layer_input=660),
        vision_config=dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=1,
                           num_key_value_heads=1, head_dim=8, patch_size=4, pooling_kernel_size=1,
                           position_embedding_size=16),
        image_token_id=658, boi_token_id=656, eoi_token_id=657, audio_config=None))


def mistral3():
    return Mistral3ForConditionalGeneration(Mistral3Config(
        text_config=dict(TEXT, model_type="ministral3"), image_token_index=658,
        vision_config=dict(EYE, model_type="pixtral", head_dim=4)))


def qwen3_5():
    states = dict(linear_key_head_dim=4, linear_value_head_dim=6, linear_num_key_heads=1, linear_num_value_heads=2,
                  layer_types=["linear_attention", "full_attention"],
                  rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5,
                                       mrope_section=[1, 1, 0], mrope_interleaved=True))
    return Qwen3_5ForConditionalGeneration(Qwen3_5Config(
        text_config=dict(TEXT, tie_word_embeddings=True, **states), image_token_id=658, video_token_id=657,
        vision_start_token_id=655, vision_end_token_id=656, tie_word_embeddings=True,
        vision_config=dict(depth=1, hidden_size=8, intermediate_size=12, num_heads=2, patch_size=2, spatial_merge_size=2,
                           temporal_patch_size=1, out_hidden_size=16, num_position_embeddings=16)))


def make(name, build):
    torch.set_num_threads(1)
    torch.manual_seed(len(name))
    model = build().float().eval()
    for buffer_name, buffer in model.named_buffers():
        if buffer_name.endswith("layer_scalar"):
            buffer.fill_(0.8)
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    (folder / "preprocessor_config.json").write_text('{"image_processor_type": "AutoImageProcessor"}\n')
    ids = torch.tensor([IDS])
    with torch.no_grad():
        logits = model(input_ids=ids, token_type_ids=torch.zeros_like(ids)).logits[0] if name.startswith("gemma") \
            else model(input_ids=ids).logits[0]
    loss = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:]).item()
    made_by = f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}"
    (folder / "golden.json").write_text(json.dumps(dict(made_by=made_by, ids=IDS, loss=loss)) + "\n")
    print(name, sum(f.stat().st_size for f in folder.iterdir()) // 1000, "kB, loss", loss)


if __name__ == "__main__":
    make("gemma3_tiny", gemma3)
    make("gemma4_tiny", gemma4)
    make("mistral3_tiny", mistral3)
    make("qwen3_5_tiny", qwen3_5)
