#include "engine/backends/reference/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/philox.h"
#include "base/core/whole_test.h"
#include "engine/backends/reference/numbers.h"
#include "engine/device/conformance.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

TEST(Reference, PhiloxEqualsBaseCore) {
  for (uint32_t i = 0; i < 100; ++i) {
    PhiloxBlock c{i, i * 2654435761u, ~i, i << 7};
    reference::Words w = reference::philox({{c[0], c[1], c[2], c[3]}}, i * 77, ~i * 13);
    EXPECT_EQ(philox4x32(c, {i * 77, ~i * 13}), (PhiloxBlock{w.w[0], w.w[1], w.w[2], w.w[3]}));
  }
}

TEST(Reference, MasksEqualBaseCore) {
  Program p(op_table());
  Builder b(p);
  ValueId rng = p.add_input("rng", {DType::i64, {2}}),
          samples = p.add_input("samples", {DType::i64, {3}});
  ValueId positions = p.add_input("positions", {DType::i32, {3}}),
          cu = p.add_input("cu", {DType::i32, {3}});
  p.outputs.push_back({"mask", ops::dropout_mask(b, rng, samples, positions, 0.3, 70, "h.0.mlp")});
  p.outputs.push_back(
      {"attention", ops::attention_dropout_mask(b, rng, samples, cu, cu, 0.3, 2, 3, "h.0.attn")});
  const std::vector<double> ids{7, 4294967303.0, 9}, at{0, 5, 1};
  auto o = interpret(p, reference_backend(),
                     {{"rng", Tensor::of({DType::i64, {2}}, {42, 3})},
                      {"samples", Tensor::of({DType::i64, {3}}, ids)},
                      {"positions", Tensor::of({DType::i32, {3}}, at)},
                      {"cu", Tensor::of({DType::i32, {3}}, {0, 1, 3})}});
  ASSERT_TRUE(o.ok()) << o.error().text();
  EXPECT_THAT(o->broken, testing::IsEmpty());
  const uint32_t threshold = dropout_threshold(0.3);
  DropoutKey key = dropout_key(42, 3, scope_hash("h.0.mlp"));
  std::vector<double> mask = o->outputs["mask"].numbers();
  for (size_t t = 0; t < 3; ++t)
    for (int c = 0; c < 70; ++c)
      EXPECT_EQ(mask[t * 70 + static_cast<size_t>(c)],
                dropout_word(key, static_cast<int64_t>(ids[t]), static_cast<int32_t>(at[t]), c) >=
                    threshold);
  key = dropout_key(42, 3, scope_hash("h.0.attn"));
  std::vector<double> pairs = o->outputs["attention"].numbers();
  for (int h = 0; h < 2; ++h)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        int start = i == 0 ? 0 : 1;
        bool inside = (i == 0) == (j == 0);
        bool keep = attention_dropout_word(key, static_cast<int64_t>(ids[static_cast<size_t>(i)]),
                                           h, i - start, j - start) >= threshold;
        EXPECT_EQ(pairs[static_cast<size_t>((h * 3 + i) * 3 + j)], inside ? keep : true);
      }
}

const char* const kCases = HONE_SOURCE_DIR "/tests/ops";

TEST(Reference, Conformance) {
  ConformanceReport r = run_conformance(reference_backend(), reference_backend(), kCases);
  EXPECT_GT(r.checks, 300);
  EXPECT_TRUE(r.failures.empty()) << r.text();
}

TEST(Reference, GradientsEqualFiniteDifferences) {
  ConformanceReport r = check_gradients(reference_backend(), kCases, "", tests_whole() ? 24 : 6);
  EXPECT_TRUE(r.failures.empty()) << r.text();
}

}  // namespace
}  // namespace hone
