// Update rules whose states are bitsandbytes' 8-bit numbers or torchao's 4-bit ones, and the former by
// themselves. engine/ops/quantize_dynamic.cc and adamw_4bit.cc have the formats. Threads take whole blocks.
#pragma once

#include "engine/backends/cpu/kernels/optimizer.h"

namespace hone::cpu {

inline constexpr int64_t kDynamicBlock = 256;  // elements
inline constexpr int64_t kFourBitBlock =
    128;  // elements; two codes a byte, the first in the high half

// One tensor of an update: for each moment its codes [count], of 4 bits [count / 2], and the magnitude of
// each block.
struct Update8bitTensor {
  float* p = nullptr;
  Numbers g;
  uint8_t* codes[2] = {};
  float* absmax[2] = {};
  int64_t count = 0;
  double weight_decay = 0;
  Bf16Update bf16 = {};  // without states: codes are
};

// The rules, by the formulas of engine/ops/<rule>.cc.
void adamw_8bit(std::span<const Update8bitTensor> tensors, const AdamW& rule, const UpdateStep& at,
                ThreadPool& pool);  // signed codes of m, others of v
void adamw_4bit(std::span<const Update8bitTensor> tensors, const AdamW& rule, const UpdateStep& at,
                ThreadPool& pool);  // tensors of whole blocks
void lion_8bit(std::span<const Update8bitTensor> tensors, const Lion& rule, const UpdateStep& at,
               ThreadPool& pool);  // signed codes of m

void quantize_dynamic(int64_t count, const float* x, bool is_signed, uint8_t* codes, float* absmax,
                      ThreadPool& pool);
void dequantize_dynamic(int64_t count, const uint8_t* codes, const float* absmax, bool is_signed,
                        float* x, ThreadPool& pool);

}  // namespace hone::cpu
