// Optimizers whose states are quantized: to bitsandbytes' 8-bit numbers or torchao's 4-bit numbers. Also the
// conversions of bitsandbytes' numbers. engine/ops/quantize_dynamic.cc and adamw_4bit.cc describe the formats.
#pragma once

#include "engine/backends/cpu/kernels/optimizer.h"

namespace hone::cpu {

inline constexpr int64_t kDynamicBlock = 256;  // elements of a block of 8-bit numbers
inline constexpr int64_t kFourBitBlock =
    128;  // elements of a block of 4-bit numbers; two codes a byte, the first in the high half

// One tensor of an update.
struct Update8bitTensor {
  float* p = nullptr;      // weights, updated in place; null if bf16.p is set
  Numbers g;               // gradient
  uint8_t* codes[2] = {};  // for each moment: [count], or [count / 2] with 4 bits
  float* absmax[2] = {};   // for each moment: the largest magnitude of each block
  int64_t count = 0;
  double weight_decay = 0;
  Bf16Update bf16 = {};  // weights in bf16; its states are not used
};

// The optimizers; the formulas are in engine/ops/<name>.cc. The moment m has signed codes, v has unsigned ones.
void adamw_8bit(std::span<const Update8bitTensor> tensors, const AdamW& rule, const UpdateStep& at,
                ThreadPool& pool);
void adamw_4bit(std::span<const Update8bitTensor> tensors, const AdamW& rule, const UpdateStep& at,
                ThreadPool& pool);  // `count` of each tensor is a multiple of kFourBitBlock
void lion_8bit(std::span<const Update8bitTensor> tensors, const Lion& rule, const UpdateStep& at,
               ThreadPool& pool);

// Convert between f32 and bitsandbytes' 8-bit numbers: a code for each element, and an absmax for each block of
// kDynamicBlock elements.
void quantize_dynamic(int64_t count, const float* x, bool is_signed, uint8_t* codes, float* absmax,
                      ThreadPool& pool);
void dequantize_dynamic(int64_t count, const uint8_t* codes, const float* absmax, bool is_signed,
                        float* x, ThreadPool& pool);

}  // namespace hone::cpu
