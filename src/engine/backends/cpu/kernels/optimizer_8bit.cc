#include "engine/backends/cpu/kernels/optimizer_8bit.h"

#include <cmath>

#include "base/core/dynamic_map.h"
#include "engine/backends/cpu/isa/isa.h"
#include "engine/backends/cpu/kernels/dynamic_codes.h"
#include "engine/backends/cpu/kernels/optimizer_kernels.h"

namespace hone::cpu {

HONE_CPU_DISPATCH(void, adamw_8bit_blocks,
                  (const Update8bitTensor& t, const AdamWScalars& s, const DynamicMap& with_sign,
                   const DynamicMap& without, int64_t begin, int64_t end),
                  (t, s, with_sign, without, begin, end))
HONE_CPU_DISPATCH(void, adamw_4bit_blocks,
                  (const Update8bitTensor& t, const AdamWScalars& s, const FourBitMap& with_sign,
                   const FourBitMap& without, int64_t begin, int64_t end),
                  (t, s, with_sign, without, begin, end))
HONE_CPU_DISPATCH(void, lion_8bit_blocks,
                  (const Update8bitTensor& t, const LionScalars& s, const DynamicMap& with_sign,
                   int64_t begin, int64_t end),
                  (t, s, with_sign, begin, end))
HONE_CPU_DISPATCH(void, quantize_block,
                  (int64_t count, const float* x, bool is_signed, const DynamicMap& map,
                   uint8_t* codes, float* absmax),
                  (count, x, is_signed, map, codes, absmax))
HONE_CPU_DISPATCH(void, dequantize_block,
                  (int64_t count, const uint8_t* codes, float absmax, const DynamicMap& map,
                   float* x),
                  (count, codes, absmax, map, x))

namespace {

int64_t blocks_of_count(int64_t count, int64_t block = kDynamicBlock) {
  return (count + block - 1) / block;
}

// f(tensor, first block, end) on each thread for its part of all blocks of kBlock elements.
template <int64_t kBlock, class Fn>
void for_dynamic_blocks(std::span<const Update8bitTensor> tensors, ThreadPool& pool, Fn&& f) {
  int64_t all = 0;
  for (const Update8bitTensor& t : tensors) all += blocks_of_count(t.count, kBlock);
  pool.parallel_for(all, [&](int64_t begin, int64_t end, int) {
    int64_t first = 0;
    for (size_t i = 0; i < tensors.size() && first < end; ++i) {
      const int64_t n = blocks_of_count(tensors[i].count, kBlock);
      const int64_t b = std::max<int64_t>(begin - first, 0), e = std::min(end - first, n);
      if (b < e) f(tensors[i], b, e);
      first += n;
    }
  });
}

// f(tensor with p in f32, first block, end), whichever way p is kept. A byte has kCodes codes.
template <int64_t kBlock, int64_t kCodes, class Fn>
void with_f32_weights(const Update8bitTensor& t, const UpdateStep& step, int64_t begin, int64_t end,
                      Fn&& f) {
  if (t.bf16.p == nullptr) return f(t, begin, end);
  constexpr int64_t kBlocks = kWidened / kBlock;
  alignas(64) float p[kWidened];
  for (int64_t block = begin; block < end; block += kBlocks) {
    const int64_t at = block * kBlock,
                  n = std::min(std::min(kBlocks, end - block) * kBlock, t.count - at);
    Update8bitTensor part = t;
    part.p = p;
    part.count = n;
    part.g.data = static_cast<const char*>(t.g.data) + at * element_bytes(t.g.type);
    for (size_t k = 0; k < std::size(t.codes) && t.codes[k] != nullptr; ++k) {
      part.codes[k] = t.codes[k] + at / kCodes;
      part.absmax[k] = t.absmax[k] + block;
    }
    widen_bf16(n, t.bf16.p + at, p);
    f(part, int64_t{0}, blocks_of_count(n, kBlock));
    round_weights(t.bf16, step, at, n, p);
  }
}

// f(tensor with p in f32, scalars, first block, end) for all blocks, on all threads.
template <int64_t kBlock, int64_t kCodes, class Rule, class Fn>
void update_blocks(std::span<const Update8bitTensor> tensors, const Rule& rule,
                   const UpdateStep& at, ThreadPool& pool, Fn&& f) {
  const auto each = [&](const Update8bitTensor& t, int64_t begin, int64_t end) {
    const auto s = scalars_of(rule, at, t.weight_decay);
    with_f32_weights<kBlock, kCodes>(
        t, at, begin, end,
        [&](const Update8bitTensor& x, int64_t from, int64_t to) { f(x, s, from, to); });
  };
  for_dynamic_blocks<kBlock>(tensors, pool, each);
}

}  // namespace

void adamw_8bit(std::span<const Update8bitTensor> tensors, const AdamW& rule, const UpdateStep& at,
                ThreadPool& pool) {
  const DynamicMap &with_sign = dynamic_codes(true), &without = dynamic_codes(false);
  update_blocks<kDynamicBlock, 1>(
      tensors, rule, at, pool,
      [&](const Update8bitTensor& t, const AdamWScalars& s, int64_t begin, int64_t end) {
        adamw_8bit_blocks(t, s, with_sign, without, begin, end);
      });
}

void adamw_4bit(std::span<const Update8bitTensor> tensors, const AdamW& rule, const UpdateStep& at,
                ThreadPool& pool) {
  const FourBitMap &with_sign = four_bit_map(true), &without = four_bit_map(false);
  update_blocks<kFourBitBlock, 2>(
      tensors, rule, at, pool,
      [&](const Update8bitTensor& t, const AdamWScalars& s, int64_t begin, int64_t end) {
        adamw_4bit_blocks(t, s, with_sign, without, begin, end);
      });
}

void lion_8bit(std::span<const Update8bitTensor> tensors, const Lion& rule, const UpdateStep& at,
               ThreadPool& pool) {
  const DynamicMap& with_sign = dynamic_codes(true);
  update_blocks<kDynamicBlock, 1>(
      tensors, rule, at, pool,
      [&](const Update8bitTensor& t, const LionScalars& s, int64_t begin, int64_t end) {
        lion_8bit_blocks(t, s, with_sign, begin, end);
      });
}

void quantize_dynamic(int64_t count, const float* x, bool is_signed, uint8_t* codes, float* absmax,
                      ThreadPool& pool) {
  const DynamicMap& map = dynamic_codes(is_signed);
  pool.parallel_for(blocks_of_count(count), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * kDynamicBlock;
      quantize_block(std::min(kDynamicBlock, count - first), x + first, is_signed, map,
                     codes + first, absmax + b);
    }
  });
}

void dequantize_dynamic(int64_t count, const uint8_t* codes, const float* absmax, bool is_signed,
                        float* x, ThreadPool& pool) {
  const DynamicMap& map = dynamic_codes(is_signed);
  pool.parallel_for(blocks_of_count(count), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * kDynamicBlock;
      dequantize_block(std::min(kDynamicBlock, count - first), codes + first, absmax[b], map,
                       x + first);
    }
  });
}

}  // namespace hone::cpu
