#include "engine/ops/block_schemes.h"

#include <algorithm>
#include <cmath>

#include "base/core/dynamic_map.h"

namespace hone {
namespace {

// Appendix E of the paper.
constexpr float kNormalFloat[16] = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};
// 0, 2^-4, then (1 + m/2) 2^e for the bits of exponent and fraction, over the largest.
constexpr float kFloat4[16] = {
    0.0f,  0.0625f / 12,  8.0f / 12,  1.0f,  4.0f / 12,  6.0f / 12,  2.0f / 12,  3.0f / 12,
    -0.0f, -0.0625f / 12, -8.0f / 12, -1.0f, -4.0f / 12, -6.0f / 12, -2.0f / 12, -3.0f / 12,
};

BlockScheme in_gguf(const char* name, int64_t block, int64_t bytes, int64_t halves, int64_t at) {
  return {name, block, bytes, 0, nullptr, halves, at};
}

}  // namespace

const std::vector<BlockScheme>& block_schemes() {
  static const std::vector<BlockScheme> all{{"nf4", 2, 1, 64, kNormalFloat},
                                            {"fp4", 2, 1, 64, kFloat4},
                                            {"dynamic4", 2, 1, 128, four_bit_map(true).values},
                                            {"linear4", 2, 1, 128, four_bit_map(false).values},
                                            {"int8", 1, 1, 0},
                                            in_gguf("q4_0", 32, 18, 1, 0),
                                            in_gguf("q4_1", 32, 20, 2, 0),
                                            in_gguf("q5_0", 32, 22, 1, 0),
                                            in_gguf("q5_1", 32, 24, 2, 0),
                                            in_gguf("q8_0", 32, 34, 1, 0),
                                            in_gguf("q2_k", 256, 84, 2, 80),
                                            in_gguf("q3_k", 256, 110, 1, 108),
                                            in_gguf("q4_k", 256, 144, 2, 0),
                                            in_gguf("q5_k", 256, 176, 2, 0),
                                            in_gguf("q6_k", 256, 210, 1, 208),
                                            {"mxfp4", 32, 17, 0, nullptr, 0, 0, true},
                                            in_gguf("f16", 1, 2, 1, 0),
                                            in_gguf("bf16", 1, 2, 1, 0)};
  return all;
}

const BlockScheme* block_scheme(std::string_view name) {
  for (const BlockScheme& s : block_schemes())
    if (s.name == name) return &s;
  return nullptr;
}

std::vector<std::string> block_scheme_names() {
  std::vector<std::string> names;
  for (const BlockScheme& s : block_schemes()) names.push_back(s.name);
  return names;
}

}  // namespace hone
