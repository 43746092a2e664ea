#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/image_models: tiny models of images, and what Transformers, timm and torchvision say of them.

    tools/golden_image_models.py [MODEL ...]        (no name: all of them)

Each folder holds what a user's model folder holds (config.json, model.safetensors in f32) and expected values. Pixels
are not kept: image r has the elements ((r * 131 + i + 1) * 7919 mod 65521) / 65521 * 4 - 2 over its flat index i in
[height,width,channels].

golden.safetensors   logits            f32 [images,labels], in evaluation
                     grad.<name>       f32, gradient of `loss` for every parameter by its name in the file, in training
                     after.<name>      f32, running statistics after that pass in training
golden.json          image             height and width
                     labels            of each image
                     layer_decay       of layer_scales, by name (timm's models)
                     loss              mean cross entropy of the images as one batch, in training
                     train             a plain PyTorch loop: labels, micro (image indices by step and micro-batch),
                                       settings, losses, grad_norms, decayed names
                     recipe            the same loop with label smoothing (`smoothing`), torchvision's mixup within each
                                       micro-batch (`mixes`: the share of an image by step and micro-batch; the rest is
                                       the image before it, of the first one the last), and timm's ModelEmaV3 (`ema_decay`):
                                       losses, grad_norms, and ema_logits of the averages for the first images, in evaluation
"""
import copy
import json
import pathlib
import tempfile

import timm
import torch
import torchvision
import transformers
from golden_models import adamw_of, make_named, vary, write_golden, write_json
from image_models import pixels, torchvision_model
from safetensors.torch import load_file, save_file
from timm.optim import param_groups_layer_decay
from timm.utils import ModelEmaV3
from transformers.trainer import Trainer

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "image_models"
IMAGES, TRAIN_IMAGES = 4, 12
STEPS, ACCUMULATION, ROWS = 20, 2, 3
SMOOTHING, EMA_DECAY = 0.1, 0.8
LAYER_DECAY = 0.7
LABELS = dict(num_labels=3, id2label={0: "cat", 1: "dog", 2: "owl"}, label2id={"cat": 0, "dog": 1, "owl": 2})
VIT = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, image_size=12,
           patch_size=4)

MODELS = {
    "vit": ("ViT", VIT, (12, 12)),
    # Patches that are not square, without biases of queries, keys and values.
    "vit_wide": ("ViT", dict(VIT, image_size=[8, 12], patch_size=[4, 6], qkv_bias=False, hidden_act="gelu_new",
                             num_channels=1), (8, 12)),
    "deit": ("DeiT", VIT, (12, 12)),
    "resnet_basic": ("ResNet", dict(embedding_size=6, hidden_sizes=[6, 10], depths=[2, 1], layer_type="basic"),
                     (20, 24)),
    "resnet_bottleneck": ("ResNet", dict(embedding_size=6, hidden_sizes=[12, 20], depths=[1, 2]), (24, 20)),
    # Strides in the first 1x1 convolution and in the first stage.
    "resnet_early": ("ResNet", dict(embedding_size=6, hidden_sizes=[12, 16], depths=[1, 1], downsample_in_bottleneck=True,
                                    downsample_in_first_stage=True), (12, 20)),
    "convnext": ("ConvNext", dict(num_stages=2, hidden_sizes=[6, 10], depths=[1, 2], patch_size=2,
                                  layer_scale_init_value=0.5, image_size=16), (16, 12)),
    # Folders of timm.
    "timm_vit": ("timm", dict(architecture="vit_base_patch16_224", img_size=12, patch_size=4, embed_dim=16, depth=2,
                              num_heads=2, mlp_ratio=1.5), (12, 12)),
    "timm_resnet": ("timm", dict(architecture="resnet18", layers=[1, 1, 1, 1], channels=[4, 4, 6, 6]), (40, 48)),
    # Images of another size than that of the positions.
    "dinov2": ("Dinov2", dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=2, image_size=12,
                              patch_size=4, layerscale_value=0.5), (16, 20)),
    # Windows that do not fill the image, which has another size than that of config.json; the last stage has one
    # window of rows.
    "swin": ("Swin", dict(embed_dim=4, depths=[2, 2, 1], num_heads=[1, 2, 4], window_size=3, patch_size=2, mlp_ratio=2,
                          image_size=24, drop_path_rate=0.0), (19, 28)),
    "swin_absolute": ("Swin", dict(embed_dim=8, depths=[2, 1], num_heads=[2, 2], window_size=2, patch_size=2,
                                   mlp_ratio=1.5, image_size=[8, 12], drop_path_rate=0.0, qkv_bias=False,
                                   use_absolute_embeddings=True, hidden_act="gelu_new"), (8, 12)),
    # The last stage has windows of 3 x 4.
    "timm_swin": ("timm", dict(architecture="swin_tiny_patch4_window7_224", img_size=[20, 28], patch_size=2, embed_dim=4,
                               depths=[2, 2, 2], num_heads=[1, 2, 4], window_size=4, mlp_ratio=2.0,
                               drop_path_rate=0.0), (20, 28)),
    "deit_interpolated": ("DeiT", VIT, (16, 20)),
    "timm_convnext": ("timm", dict(architecture="convnext_tiny", depths=[1, 2, 1, 1], dims=[6, 6, 10, 10],
                                   ls_init_value=0.5), (32, 48)),
    "timm_dinov2": ("timm", dict(architecture="vit_small_patch14_dinov2", img_size=12, patch_size=4, embed_dim=16, depth=2,
                                 num_heads=2, mlp_ratio=1.5, init_values=0.5), (12, 12)),
    # Weights of torchvision beside a config of Transformers.
    "torchvision_vit": ("torchvision", dict(
        model_type="vit", image_size=12, patch_size=4, num_hidden_layers=2, num_attention_heads=2, hidden_size=16,
        intermediate_size=24, layer_norm_eps=1e-6), (12, 12)),
    "torchvision_convnext": ("torchvision", dict(
        model_type="convnext", num_stages=3, hidden_sizes=[6, 8, 10], depths=[1, 2, 1], layer_scale_init_value=0.5,
        layer_norm_eps=1e-6), (32, 48)),
    # Patches and windows that do not fill the image; the last stage has one window of rows and two of columns.
    "torchvision_swin": ("torchvision", dict(
        model_type="swin", patch_size=2, embed_dim=4, depths=[2, 2, 2], num_heads=[1, 2, 4], window_size=3, mlp_ratio=2.0,
        drop_path_rate=0.0, layer_norm_eps=1e-5), (19, 28)),
}


def arguments(keys):
    return {key: value for key, value in keys.items() if key != "architecture"}


def save(name, model, folder):
    prefix, keys, _ = MODELS[name]
    if prefix == "timm":
        timm.models.save_for_hf(model, folder, model_args=arguments(keys), safe_serialization=True,
                                model_config=dict(label_names=list(LABELS["label2id"])))
    elif prefix == "torchvision":
        save_file(model.state_dict(), f"{folder}/model.safetensors", metadata=dict(format="pt"))
        kind = {"vit": "ViT", "convnext": "ConvNext", "swin": "Swin"}[keys["model_type"]]
        write_json(pathlib.Path(folder) / "config.json", dict(
            architectures=[kind + "ForImageClassification"], dtype="float32", **keys, **json.loads(json.dumps(LABELS))))
    else:
        model.save_pretrained(folder)


def make_model(name):
    """Norms, biases and running statistics are not the neutral ones of a fresh model, and gradients do not vanish."""
    prefix, keys, _ = MODELS[name]
    seed = 7000 + list(MODELS).index(name)
    torch.manual_seed(seed)
    if prefix == "timm":
        model = timm.create_model(keys["architecture"], num_classes=3, **arguments(keys)).float().eval()
    elif prefix == "torchvision":
        model = torchvision_model(keys).float().eval()
    else:
        config = getattr(transformers, prefix + "Config")(**keys, **LABELS)
        model = getattr(transformers, prefix + "ForImageClassification")(config).float().eval()
        model.set_attn_implementation("eager")
    generator = torch.Generator().manual_seed(seed)
    vary(model, generator)
    with torch.no_grad():
        for buffer_name, buffer in model.named_buffers():
            noise = torch.randn(buffer.shape, generator=generator)
            if buffer_name.endswith("running_mean"):
                buffer.copy_(0.2 * noise)
            elif buffer_name.endswith("running_var"):
                buffer.copy_(1 + noise.abs())
    return model, generator


def as_saved(name, model, values):
    """Values of parameters by the names of a file."""
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for parameter_name, parameter in twin.named_parameters():
            parameter.copy_(values[parameter_name])
    with tempfile.TemporaryDirectory() as folder:
        save(name, twin, folder)
        saved = load_file(folder + "/model.safetensors")
    return {name: tensor for name, tensor in saved.items() if not is_statistic(name) and tensor.is_floating_point()}


def is_statistic(name):
    return name.endswith(("running_mean", "running_var", "num_batches_tracked"))


def decayed_names(name, model):
    """Norms do not decay, as in timm, whose models have tables that do not decay either."""
    if MODELS[name][0] != "timm":
        return [n for n in Trainer.get_decay_parameter_names(None, model) if "normalization" not in n]
    kept = model.no_weight_decay() if hasattr(model, "no_weight_decay") else ()
    return [n for n, p in model.named_parameters() if p.ndim > 1 and n not in kept]


def logits_of(model, images):
    is_deit = getattr(model, "base_model_prefix", "") == "deit"
    output = model(images, interpolate_pos_encoding=True) if is_deit else model(images)
    return output if torch.is_tensor(output) else output.logits


def shares_of(labels, classes, mix):
    shares = torch.nn.functional.one_hot(labels, classes).float()
    return shares if mix is None else mix * shares + (1 - mix) * shares.roll(1, 0)


def train(name, model, images, labels, mixes=None):
    """Batch norms see a micro-batch at a time. `mixes`: the recipe's."""
    settings = dict(learning_rate=1e-3, adam_beta1=0.9, adam_beta2=0.999, adam_epsilon=1e-8, weight_decay=0.01,
                    max_grad_norm=1.0, lr_scheduler_type="linear", warmup_steps=2, max_steps=STEPS,
                    gradient_accumulation_steps=ACCUMULATION)
    decayed = decayed_names(name, model)
    named = dict(model.named_parameters())
    optimizer, scheduler = adamw_of(named, decayed, settings)
    average = ModelEmaV3(model, decay=EMA_DECAY)
    micro, losses, norms = [], [], []
    cursor = 0
    for step in range(STEPS):
        batches = [[(cursor + k * ROWS + j) % len(labels) for j in range(ROWS)] for k in range(ACCUMULATION)]
        cursor += ROWS * ACCUMULATION
        total = 0.0
        for k, batch in enumerate(batches):
            inputs, mix = images[batch], mixes[step][k] if mixes else None
            if mixes:
                inputs = mix * inputs + (1 - mix) * inputs.roll(1, 0)
            loss = torch.nn.functional.cross_entropy(
                logits_of(model, inputs), shares_of(labels[batch], 3, mix), reduction="sum",
                label_smoothing=SMOOTHING if mixes else 0.0) / (ROWS * ACCUMULATION)
            loss.backward()
            total += loss.item()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), settings["max_grad_norm"]).item())
        optimizer.step()
        average.update(model, step=step + 1)
        scheduler.step()
        optimizer.zero_grad()
        micro.append(batches)
        losses.append(total)
    if mixes:
        with torch.no_grad():
            logits = logits_of(average.module.eval(), images[:IMAGES])
        return dict(smoothing=SMOOTHING, mixes=mixes, ema_decay=EMA_DECAY, losses=losses, grad_norms=norms,
                    ema_logits=logits.flatten().tolist())
    marks = {n: torch.full_like(p, float(n in decayed)) for n, p in named.items()}
    return dict(labels=labels.tolist(), micro=micro, settings=settings, losses=losses, grad_norms=norms,
                decayed=sorted(n for n, t in as_saved(name, model, marks).items() if t.min() == 1))


def layer_scales(name, model):
    """The factor of each weight's rate in timm."""
    if MODELS[name][0] != "timm":
        return {}
    names = {id(p): n for n, p in model.named_parameters()}
    groups = param_groups_layer_decay(model, layer_decay=LAYER_DECAY)
    return dict(layer_decay=LAYER_DECAY,
                layer_scales={names[id(p)]: group["lr_scale"] for group in groups for p in group["params"]})


def make(name):
    torch.set_num_threads(1)
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    model, generator = make_model(name)
    save(name, model, folder)
    height, width = MODELS[name][2]
    channels = model.config.num_channels if hasattr(model, "config") else 3
    labels = torch.randint(0, 3, (IMAGES,), generator=generator)
    images = pixels(range(IMAGES), height, width, channels)
    with torch.no_grad():
        tensors = dict(logits=logits_of(model, images).clone())
    fresh = copy.deepcopy(model).train()
    loss = torch.nn.functional.cross_entropy(logits_of(fresh, images), labels)
    loss.backward()
    unread = {n: torch.zeros_like(p) for n, p in fresh.named_parameters() if p.grad is None}
    grads = as_saved(name, model, {n: p.grad for n, p in fresh.named_parameters() if p.grad is not None} | unread)
    tensors.update({f"grad.{n}": g.contiguous() for n, g in grads.items()})
    values = dict(made_by=f"transformers {transformers.__version__}, timm {timm.__version__}, torch {torch.__version__.split('+')[0]}, "
                f"torchvision {torchvision.__version__.split('+')[0]}",
                  image=[height, width], labels=labels.tolist(), loss=loss.item(), **layer_scales(name, model))
    tensors.update({f"after.{n}": b.float().clone() for n, b in fresh.named_buffers() if is_statistic(n)})
    rows = pixels(range(TRAIN_IMAGES), height, width, channels), torch.randint(0, 3, (TRAIN_IMAGES,), generator=generator)
    values["train"] = train(name, copy.deepcopy(model).train(), *rows)
    mixes = [[round(0.5 + 0.07 * ((3 * step + 2 * k) % 7), 2) for k in range(ACCUMULATION)] for step in range(STEPS)]
    values["recipe"] = train(name, copy.deepcopy(model).train(), *rows, mixes)
    write_golden(folder, tensors, values)


if __name__ == "__main__":
    make_named(make, MODELS)
