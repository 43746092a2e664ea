"""Tiny models of torchvision and pixels for them, for goldens and for the peers that read hone's folders."""
import torch
import torchvision.models as of


def torchvision_model(keys):
    """A model of torchvision with the sizes of a config of Transformers and three labels."""
    if keys["model_type"] == "vit":
        return of.VisionTransformer(keys["image_size"], keys["patch_size"], keys["num_hidden_layers"],
                                    keys["num_attention_heads"], keys["hidden_size"], keys["intermediate_size"], num_classes=3)
    if keys["model_type"] == "convnext":
        sizes = keys["hidden_sizes"] + [None]
        blocks = [of.convnext.CNBlockConfig(sizes[i], sizes[i + 1], depth) for i, depth in enumerate(keys["depths"])]
        return of.ConvNeXt(blocks, layer_scale=keys["layer_scale_init_value"], num_classes=3)
    return of.SwinTransformer([keys["patch_size"]] * 2, keys["embed_dim"], keys["depths"], keys["num_heads"],
                              [keys["window_size"]] * 2, keys["mlp_ratio"], stochastic_depth_prob=0.0, num_classes=3)


def pixels(rows, height, width, channels):
    """[images,channels,height,width] of these images."""
    count = height * width * channels
    i = torch.arange(count, dtype=torch.int64)
    images = [(((r * 131 + i + 1) * 7919 % 65521).double() / 65521 * 4 - 2).float() for r in rows]
    return torch.stack(images).view(len(rows), height, width, channels).permute(0, 3, 1, 2).contiguous()
