#include "learn/pretrained/mxfp4.h"

#include <gtest/gtest.h>

#include "base/store/temporary_folder.h"
#include "learn/checkpoint/gguf/ggml_quants.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"

namespace hone {
namespace {

// Two experts of [K=64,M=3]: each element has its code, and each block its scale.
TEST(Mxfp4, BlocksAndScalesAreOneTensor) {
  constexpr int64_t E = 2, M = 3, B = 2, K = B * 32;
  std::vector<uint8_t> blocks(E * M * B * 16), scales(E * M * B);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<uint8_t>(i * 37 + 11);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<uint8_t>(120 + i);
  const std::vector<float> norm{1, 2};
  const TemporaryFolder temporary;
  const std::vector<TensorData> tensors{
      {"w_blocks", {DType::u8, {E, M, B, 16}}, std::as_bytes(std::span(blocks)), {}},
      {"w_scales", {DType::u8, {E, M, B}}, std::as_bytes(std::span(scales)), {}},
      {"norm", {DType::f32, {2}}, std::as_bytes(std::span(norm)), {}}};
  ASSERT_TRUE(save_safetensors(temporary.path, "model", tensors).ok());
  const auto w = read_mxfp4(std::move(open_weights(temporary.path + "/model.safetensors").value()));
  ASSERT_EQ(w->tensors().size(), 2u);
  ASSERT_NE(w->find("w"), nullptr);
  EXPECT_EQ(w->find("w")->type.text(), "f32[2,64,3]");
  std::vector<float> got(E * K * M);
  ASSERT_TRUE(w->read("w", DType::f32, std::as_writable_bytes(std::span(got))).ok());
  const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (int64_t e = 0; e < E; ++e)
    for (int64_t k = 0; k < K; ++k)
      for (int64_t m = 0; m < M; ++m) {
        const int64_t block = (e * M + m) * B + k / 32;
        const uint8_t byte = blocks[static_cast<size_t>(block * 16 + k % 32 / 2)];
        const int code = k % 2 == 0 ? byte & 15 : byte >> 4;
        const float want = (code & 8 ? -1.0f : 1.0f) * values[code & 7] *
                           std::ldexp(1.0f, scales[static_cast<size_t>(block)] - 127);
        EXPECT_EQ(got[static_cast<size_t>((e * K + k) * M + m)], want) << e << ' ' << k << ' ' << m;
      }
  // As blocks [M,K] of each expert.
  const TensorInfo& t = *w->find("w");
  EXPECT_EQ(t.blocks, "mxfp4");
  ASSERT_EQ(t.bytes, E * M * B * 17);
  std::vector<std::byte> kept(static_cast<size_t>(t.bytes));
  const auto half = std::span(kept).first(kept.size() / 2),
             rest = std::span(kept).subspan(half.size());
  ASSERT_TRUE(w->read_blocks("w", "", 0, half).ok());
  ASSERT_TRUE(w->read_blocks("w", "", std::ssize(half), rest).ok());
  std::vector<float> wide(got.size());
  ggml_format("mxfp4")->decode(kept.data(), E * M * B, wide.data());
  for (int64_t e = 0; e < E; ++e)
    for (int64_t k = 0; k < K; ++k)
      for (int64_t m = 0; m < M; ++m)
        EXPECT_EQ(wide[static_cast<size_t>((e * M + m) * K + k)],
                  got[static_cast<size_t>((e * K + k) * M + m)]);
  // A part across both experts, in bf16: these numbers have few bits.
  std::vector<uint16_t> some(9);
  ASSERT_TRUE(
      w->read_range("w", DType::bf16, K * M - 4, std::as_writable_bytes(std::span(some))).ok());
  for (size_t i = 0; i < some.size(); ++i)
    EXPECT_EQ(bf16_to_f32(some[i]), got[static_cast<size_t>(K * M - 4) + i]);
}

}  // namespace
}  // namespace hone
