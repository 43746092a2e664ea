// Codes, scales and values of weights in few bits against bitsandbytes (tests/goldens/quantize,
// made again by tools/golden_quantize.py).
#include "learn/pretrained/quantize.h"

#include <gtest/gtest.h>

#include "base/core/dynamic_map.h"
#include "learn/checkpoint/open_weights.h"

namespace hone {
namespace {

class Quantize : public testing::Test {
 protected:
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const DType as = sizeof(T) == 4 ? DType::f32 : golden->find(name)->type.dtype;
    std::vector<T> v(static_cast<size_t>(golden->find(name)->type.count()));
    EXPECT_TRUE(golden->read(name, as, std::as_writable_bytes(std::span(v))).ok()) << name;
    return v;
  }

  static constexpr int64_t kRows = 33, kColumns = 90;
  const std::unique_ptr<WeightSource> golden = std::move(
      open_weights(std::string(HONE_SOURCE_DIR) + "/tests/goldens/quantize/golden.safetensors")
          .value());
};

TEST_F(Quantize, CodesOfFourBits) {
  const std::vector<float> x = values<float>("x");
  for (const std::string kind : {"nf4", "fp4"}) {
    SCOPED_TRACE(kind);
    const BlockScheme& scheme = *block_scheme(kind);
    const auto codes = values<uint8_t>(kind + ".codes");
    const auto absmax = values<float>(kind + ".absmax");
    std::vector<uint8_t> payload(codes.size());
    std::vector<float> scales(static_cast<size_t>(scheme.scale_count(kRows, kColumns)));
    EXPECT_TRUE(BlockQuantizer(scheme).quantize(x, kColumns, payload, scales));
    EXPECT_EQ(payload, codes);
    EXPECT_EQ(scales, absmax);
    EXPECT_EQ(widen_matrix(scheme, payload, scales, kRows, kColumns),
              values<float>(kind + ".wide"));
  }
}

TEST_F(Quantize, RowsOfEightBits) {
  const BlockScheme& scheme = *block_scheme("int8");
  const auto codes = values<uint8_t>("int8.codes");
  std::vector<uint8_t> payload(codes.size());
  std::vector<float> scales(kRows);
  EXPECT_TRUE(BlockQuantizer(scheme).quantize(values<float>("x"), kColumns, payload, scales));
  EXPECT_EQ(payload, codes);
  EXPECT_EQ(scales, values<float>("int8.scales"));
  EXPECT_EQ(widen_matrix(scheme, payload, scales, kRows, kColumns), values<float>("int8.wide"));
}

TEST_F(Quantize, TheCodeOfScales) {
  const auto want = values<float>("dynamic");
  EXPECT_EQ(std::vector<float>(dynamic_map(true).begin(), dynamic_map(true).end()), want);
}

TEST_F(Quantize, ScalesInEightBits) {
  const NestedScales made = quantize_scales(values<float>("nested.scales_in"));
  EXPECT_EQ(made.codes, values<uint8_t>("nested.codes"));
  // The mean is summed in an order that differs from PyTorch's.
  const float offset = values<float>("nested.offset")[0];
  EXPECT_NEAR(made.offset, offset, 1e-6f * offset);
  const auto nested = values<float>("nested.absmax"), wide = values<float>("nested.scales");
  ASSERT_EQ(made.nested.size(), nested.size());
  for (size_t i = 0; i < nested.size(); ++i) EXPECT_NEAR(made.nested[i], nested[i], 1e-6f * offset);
  const std::vector<float> ours = widen_scales(made);
  ASSERT_EQ(ours.size(), wide.size());
  for (size_t i = 0; i < wide.size(); ++i) EXPECT_NEAR(ours[i], wide[i], 2e-6f * offset) << i;
}

TEST_F(Quantize, ValuesThatAreNotFiniteAreSeen) {
  std::vector<float> x = values<float>("x");
  x[100] = std::numeric_limits<float>::quiet_NaN();
  std::vector<uint8_t> payload(x.size());
  std::vector<float> scales(64);
  for (const char* kind : {"nf4", "int8"})
    EXPECT_FALSE(
        BlockQuantizer(*block_scheme(kind))
            .quantize(x, kColumns,
                      std::span(payload).first(block_scheme(kind)->row_bytes(x.size())),
                      std::span(scales).first(block_scheme(kind)->scale_count(kRows, kColumns))));
}

}  // namespace
}  // namespace hone
