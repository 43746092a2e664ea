#!/usr/bin/env python3
"""Makes tests/goldens/quantize/golden.safetensors: what bitsandbytes makes of numbers.

    tools/golden_quantize.py            (needs `bitsandbytes`)

x                       f32[33,90]: normal numbers with outliers, zeros and a block of zeros; the last block is not full
<nf4|fp4>.codes         u8, packed;  .absmax f32;  .wide f32[33,90]
nested.scales_in        f32, scales of nf4;  .codes u8, .absmax f32, .offset f32[1]: they in 8 bits;  .scales f32: widened
dynamic                 f32[256], the code of the scales
int8.codes              i8[33,90];  .scales f32[33];  .wide f32[33,90]
"""
import pathlib

import bitsandbytes.functional as bnb
import torch
from safetensors.torch import save_file

PATH = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "quantize" / "golden.safetensors"


def use_plain_kernels():
    """The formulas of bitsandbytes (backends/default) in the place of its library for the CPU: that of 0.50 takes wrong
    scales for rows of 16 k elements that are not whole blocks, and rounds some scales to the second nearest code."""
    from bitsandbytes.backends.default import ops

    plain = ops._dequantize_4bit_compute.__wrapped__

    def dequantize(a, absmax, blocksize, quant_type, shape, dtype):
        return plain(a.reshape(-1), absmax, ops._get_4bit_code(quant_type, a.device), blocksize, shape, dtype)

    def quantize(a, code, blocksize):
        x = a.reshape(-1).float()
        blocks = torch.nn.functional.pad(x, (0, -x.numel() % blocksize)).reshape(-1, blocksize)
        absmax = blocks.abs().max(dim=-1)[0]
        scaled = torch.clamp(blocks / absmax.clamp(min=1e-38).view(-1, 1), -1, 1).reshape(-1)[: x.numel()]
        return torch.bucketize(scaled, (code[:-1] + code[1:]) / 2).to(torch.uint8).reshape(a.shape), absmax

    library = torch.library.Library("bitsandbytes", "IMPL")
    library.impl("dequantize_4bit", dequantize, "CPU", allow_override=True)
    library.impl("quantize_blockwise", quantize, "CPU", allow_override=True)
    return library


def main():
    held = use_plain_kernels()
    torch.set_num_threads(1)
    x = torch.randn(33, 90, generator=torch.Generator().manual_seed(7))
    x[3] *= 30
    x[5:7] = 0
    x[9, 4] = 100.0
    tensors = {"x": x.clone(), "dynamic": bnb.create_dynamic_map().clone()}
    for kind in ("nf4", "fp4"):
        packed, state = bnb.quantize_4bit(x, quant_type=kind, blocksize=64)
        tensors[f"{kind}.codes"] = packed.reshape(-1)
        tensors[f"{kind}.absmax"] = state.absmax
        tensors[f"{kind}.wide"] = bnb.dequantize_4bit(packed, state)
    # More scales than one block of them.
    y = torch.randn(300, 90, generator=torch.Generator().manual_seed(8)) * torch.rand(300, 1, generator=torch.Generator().manual_seed(9))
    _, state = bnb.quantize_4bit(y, quant_type="nf4", blocksize=64)
    _, nested = bnb.quantize_4bit(y, quant_type="nf4", blocksize=64, compress_statistics=True)
    tensors["nested.scales_in"] = state.absmax
    tensors["nested.codes"] = nested.absmax
    tensors["nested.absmax"] = nested.state2.absmax
    tensors["nested.offset"] = nested.offset.reshape(1)
    tensors["nested.scales"] = bnb.dequantize_blockwise(nested.absmax, nested.state2) + nested.offset
    q, scales, _ = torch.ops.bitsandbytes.int8_vectorwise_quant(x.clone())
    tensors.update({"int8.codes": q, "int8.scales": scales, "int8.wide": bnb.int8_vectorwise_dequant(q, scales)})
    PATH.parent.mkdir(exist_ok=True)
    save_file({k: v.contiguous() for k, v in tensors.items()}, PATH)
    PATH.chmod(0o644)
    print(f"{PATH.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
