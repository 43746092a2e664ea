// Logits in 16 bits whose rows are padded, and whose gradient goes where they are.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/backends/cuda/emulator/grid.h"
#include "engine/backends/cuda/emulator/kernels.h"
#include "engine/backends/cuda/kernels/arguments.h"
#include "engine/graph/type.h"

namespace hone {
namespace {

constexpr int64_t kRows = 5, kColumns = 1003, kStep = 1024;

struct Loss {
  std::vector<uint16_t> logits;
  std::vector<float> nll = std::vector<float>(kRows);
  std::vector<int32_t> correct = std::vector<int32_t>(kRows);
};

// Row 1 is masked; the label of row 2 is right; the first of two equal largest logits is that of row 3.
std::vector<uint16_t> logits_of_test() {
  std::vector<uint16_t> x(kRows * kStep, f32_to_bf16(7));  // the pad too
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t j = 0; j < kColumns; ++j)
      x[static_cast<size_t>(row * kStep + j)] =
          f32_to_bf16(0.01f * static_cast<float>((row * 7919 + j * 104729) % 601) - 3);
  x[2 * kStep + 400] = x[3 * kStep + 17] = x[3 * kStep + 900] = f32_to_bf16(5);
  x[4 * kStep + 3] = f32_to_bf16(-INFINITY);
  return x;
}
const std::vector<int32_t> kLabels{1002, -100, 400, 900, 0};

Loss run_entropy(bool keeps_row, float smoothing, emulate::Order order) {
  cuda::add_emulated_kernels();
  Loss loss;
  loss.logits = logits_of_test();
  const cuda::Entropy of{kRows, kColumns, kStep, smoothing, cuda::Element::f32, true, keeps_row};
  const float scale = 0.25f;
  void *logits = loss.logits.data(), *bias = nullptr, *weights = nullptr, *nll = loss.nll.data(),
       *correct = loss.correct.data();
  const void *labels = kLabels.data(), *scales = &scale;
  cuda::Entropy given = of;
  void* arguments[] = {&logits, &bias, &labels, &scales, &weights, &nll, &correct, &logits, &given};
  const emulate::Function* f = emulate::find_function("cross_entropy_bf16_bf16");
  const emulate::Grid grid{.grid = {3},
                           .block = {cuda::kRowThreads},
                           .shared_bytes = keeps_row ? kStep * 2 : 0,
                           .order = order};
  emulate::run_grid(grid, [&] { f->run(arguments); });
  return loss;
}

TEST(EmulatedRows, CrossEntropyInPlace) {
  const std::vector<uint16_t> before = logits_of_test();
  for (const float smoothing : {0.0f, 0.1f}) {
    const Loss loss = run_entropy(true, smoothing, emulate::Order::forward);
    for (int64_t row = 0; row < kRows; ++row) {
      const auto x = [&](int64_t j) {
        return static_cast<double>(bf16_to_f32(before[static_cast<size_t>(row * kStep + j)]));
      };
      const int32_t label = kLabels[static_cast<size_t>(row)];
      double sum = 0, all = 0;
      for (int64_t j = 0; j < kColumns; ++j) sum += std::exp(x(j)), all += x(j);
      if (label >= 0 && row != 4) {  // whose logits have no finite sum
        const double nll = std::log(sum) - x(label) * (1 - smoothing) - all * smoothing / kColumns;
        EXPECT_NEAR(loss.nll[static_cast<size_t>(row)], nll, 1e-4) << row;
      }
      EXPECT_EQ(loss.correct[static_cast<size_t>(row)], row == 2 ? 1 : 0) << row;
      for (int64_t j = 0; j < kStep; ++j) {
        const double q = (j == label ? 1 - smoothing : 0) + smoothing / kColumns;
        const double d = label < 0 || j >= kColumns ? 0 : 0.25 * (std::exp(x(j)) / sum - q);
        const float got = bf16_to_f32(loss.logits[static_cast<size_t>(row * kStep + j)]);
        EXPECT_NEAR(got, d, 0.005 * std::fabs(d) + 1e-9) << row << " " << j;
      }
    }
  }
}

TEST(EmulatedRows, CrossEntropyHasTheSameBitsWhereverARowIs) {
  const Loss kept = run_entropy(true, 0.1f, emulate::Order::forward);
  for (const bool keeps_row : {true, false})
    for (const emulate::Order order : {emulate::Order::backward, emulate::Order::shuffled}) {
      const Loss other = run_entropy(keeps_row, 0.1f, order);
      EXPECT_EQ(other.logits, kept.logits);
      EXPECT_EQ(other.nll, kept.nll);
      EXPECT_EQ(other.correct, kept.correct);
    }
}

}  // namespace
}  // namespace hone
