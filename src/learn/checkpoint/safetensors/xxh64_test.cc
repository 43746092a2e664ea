#include "learn/checkpoint/safetensors/xxh64.h"

#include <gtest/gtest.h>

#include <string_view>

namespace hone {
namespace {

uint64_t hash(std::string_view text, size_t step) {
  Xxh64 h;
  for (size_t at = 0; at < text.size(); at += step)
    h.update(std::as_bytes(std::span(text.substr(at, step))));
  return h.digest();
}

// Values of the reference implementation.
TEST(Xxh64, KnownValuesInAnyPieces) {
  EXPECT_EQ(hash("", 1), 0xef46db3751d8e999u);
  EXPECT_EQ(hash("a", 1), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(hash("abc", 1), 0x44bc2cf5ad770999u);
  const std::string_view long_text = "Nobody inspects the spammish repetition";
  for (size_t step : {1, 3, 31, 32, 33, 100})
    EXPECT_EQ(hash(long_text, step), 0xfbcea83c8a378bf1u) << step;
  EXPECT_EQ(hex_of(1), "0000000000000001");
}

}  // namespace
}  // namespace hone
