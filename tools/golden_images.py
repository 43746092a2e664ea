#!/usr/bin/env python3
"""Goldens of src/learn/images from Pillow and torchvision: decoded files, resized images, changed colours and shapes.

    tools/golden.sh runs it
"""
import base64
import io
import json
import pathlib
import struct

import numpy as np
from PIL import Image, ImageOps
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

out = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/images"
out.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(7)


def b64(data):
    return base64.b64encode(data).decode()


def save(name, value):
    (out / name).write_text(json.dumps(value, indent=0, separators=(",", ":")) + "\n")


def smooth(width, height):
    """Colours that JPEG keeps, with edges."""
    y, x = np.mgrid[0:height, 0:width]
    a = np.stack([x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1), (x + 2 * y) * 5 % 256], -1).astype(np.uint8)
    a[height // 4: height // 2, width // 3: width // 2] = (250, 20, 60)
    return Image.fromarray(a)


def rgb(image):
    """As the `datasets` library decodes: upright, then RGB."""
    return ImageOps.exif_transpose(image).convert("RGB")


def file_of(image, kind, **how):
    buffer = io.BytesIO()
    image.save(buffer, kind, **how)
    return buffer.getvalue()


def png_by_hand(width, height, depth, kind, rows, extra=b""):
    """PNGs that Pillow does not write: 16 bits, alpha with greys."""
    import zlib

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)) + extra +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r for r in rows))) + chunk(b"IEND", b""))


def decode():
    image = smooth(41, 33)
    files = {}
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        files[f"jpeg_{name}"] = file_of(image, "JPEG", quality=85, subsampling=sampling)
    files["jpeg_progressive"] = file_of(image, "JPEG", quality=80, progressive=True)
    files["jpeg_grey"] = file_of(image.convert("L"), "JPEG")
    files["jpeg_cmyk"] = file_of(image.convert("CMYK"), "JPEG")
    files["jpeg_restart"] = file_of(image, "JPEG", restart_marker_blocks=2)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        files[f"jpeg_exif_{orientation}"] = file_of(smooth(21, 13), "JPEG", exif=exif, quality=90)
        files[f"png_exif_{orientation}"] = file_of(smooth(9, 5), "PNG", exif=exif)
    exif = Image.Exif()
    exif[0x0112] = 6
    files["webp_exif_6"] = file_of(smooth(9, 5), "WEBP", lossless=True, exif=exif.tobytes())
    small = smooth(19, 11)
    alpha = small.copy().convert("RGBA")
    alpha.putalpha(Image.fromarray(rng.integers(0, 256, (11, 19), dtype=np.uint8)))
    files["png_rgb"] = file_of(small, "PNG")
    files["png_rgba"] = file_of(alpha, "PNG")
    files["png_grey"] = file_of(small.convert("L"), "PNG")
    files["png_grey_alpha"] = file_of(alpha.convert("LA"), "PNG")
    files["png_1"] = file_of(small.convert("1"), "PNG")
    palette = small.quantize(13)
    files["png_palette"] = file_of(palette, "PNG")
    files["png_palette_2"] = file_of(small.quantize(4), "PNG", bits=2)
    files["png_palette_alpha"] = file_of(palette, "PNG", transparency=3)
    files["png_rgb_key"] = file_of(small, "PNG", transparency=(250, 20, 60))
    wide = rng.integers(0, 65536, (5, 7, 3), dtype=np.uint16)
    files["png_rgb_16"] = png_by_hand(7, 5, 16, 2, [r.astype(">u2").tobytes() for r in wide])
    wide = rng.integers(0, 700, (5, 7), dtype=np.uint16)
    files["png_grey_16"] = png_by_hand(7, 5, 16, 0, [r.astype(">u2").tobytes() for r in wide])
    wide = rng.integers(0, 65536, (5, 7, 2), dtype=np.uint16)
    files["png_grey_alpha_16"] = png_by_hand(7, 5, 16, 4, [r.astype(">u2").tobytes() for r in wide])
    files["png_grey_4"] = png_by_hand(8, 4, 4, 0, [bytes(rng.integers(0, 256, 4, dtype=np.uint8)) for _ in range(4)])
    files["png_grey_2"] = png_by_hand(8, 4, 2, 0, [bytes(rng.integers(0, 256, 2, dtype=np.uint8)) for _ in range(4)])
    files["webp_lossy"] = file_of(image, "WEBP", quality=70)
    files["webp_lossless"] = file_of(small, "WEBP", lossless=True)
    files["webp_alpha"] = file_of(alpha, "WEBP", quality=80)
    files["webp_animated"] = file_of(small, "WEBP", save_all=True, append_images=[small.transpose(0)], lossless=True)
    cases = []
    for name, data in files.items():
        got = rgb(Image.open(io.BytesIO(data)))
        cases.append({"name": name, "file": b64(data), "width": got.width, "height": got.height, "rgb": b64(got.tobytes())})
    save("decode.json", cases)


def resize():
    image = Image.fromarray(rng.integers(0, 256, (29, 37, 3), dtype=np.uint8))
    filters = {"box": Image.BOX, "bilinear": Image.BILINEAR, "hamming": Image.HAMMING, "bicubic": Image.BICUBIC,
               "lanczos": Image.LANCZOS}
    cases = []
    for name, f in filters.items():
        for size in ((16, 12), (37, 10), (50, 23), (5, 3), (33, 11)):
            cases.append({"filter": name, "width": size[0], "height": size[1], "rgb": b64(image.resize(size, f).tobytes())})
    save("resize.json", {"width": 37, "height": 29, "rgb": b64(image.tobytes()), "cases": cases})


def change():
    small = np.asarray(smooth(18, 14)).astype(int) // 2 + 40
    noise = rng.integers(-12, 12, small.shape)
    image = Image.fromarray(np.clip(small + noise, 0, 255).astype(np.uint8))
    cases = []

    def add(op, value, got):
        cases.append({"op": op, "value": value, "rgb": b64(got.tobytes())})

    for f in (0.0, 0.4, 1.7):
        add("brightness", f, F.adjust_brightness(image, f))
        add("contrast", f, F.adjust_contrast(image, f))
        add("saturation", f, F.adjust_saturation(image, f))
        add("sharpness", f, F.adjust_sharpness(image, f))
    for f in (-0.5, -0.1, 0.05, 0.3):
        add("hue", f, F.adjust_hue(image, f))
    for bits in (1, 4, 7):
        add("posterize", bits, F.posterize(image, bits))
    for threshold in (0, 77, 128):
        add("solarize", threshold, F.solarize(image, threshold))
    add("autocontrast", 0, F.autocontrast(image))
    add("equalize", 0, F.equalize(image))
    interpolation = v2.InterpolationMode.NEAREST
    for angle in (-30.0, 7.5):
        add("rotate", angle, F.rotate(image, angle, interpolation=interpolation))
    for shear in (-16.0, 9.0):
        add("shear_x", shear, F.affine(image, 0.0, [0, 0], 1.0, [shear, 0.0], interpolation, center=[0, 0]))
        add("shear_y", shear, F.affine(image, 0.0, [0, 0], 1.0, [0.0, shear], interpolation, center=[0, 0]))
    for shift in (-5, 3):
        add("translate_x", shift, F.affine(image, 0.0, [shift, 0], 1.0, [0.0, 0.0], interpolation))
        add("translate_y", shift, F.affine(image, 0.0, [0, shift], 1.0, [0.0, 0.0], interpolation))
    save("change.json", {"width": image.width, "height": image.height, "rgb": b64(image.tobytes()), "cases": cases})


decode()
resize()
change()
