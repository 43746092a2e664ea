// NEFTune's noise (ModelGraph::with_noise): its distribution, and that it follows the row, not the batch.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/backends/backends.h"
#include "engine/session/session.h"
#include "learn/models/graph.h"

namespace hone {
namespace {

constexpr int64_t kChannels = 64;

// The noise of rows of the same length, by the rows' numbers.
std::vector<float> noise_of(const std::vector<int64_t>& rows, int64_t length, double alpha,
                            int64_t step, const std::string& backend_name = "cpu") {
  ModelConfig config;
  config.neftune_alpha = alpha;
  const auto tokens = static_cast<int64_t>(rows.size()) * length;
  Program program(op_table(), "noise");
  Builder b(program);
  ModelGraph g(b, config, ModelGraph::Mode::train);
  g.rng = program.add_input("rng", {DType::i64, {2}});
  g.sample_ids = program.add_input("sample_ids", {DType::i64, {tokens}});
  g.positions = program.add_input("positions", {DType::i32, {tokens}});
  g.row_lengths = program.add_input("row_lengths", {DType::f32, {tokens}});
  const ValueId x = program.add_input("x", {DType::f32, {tokens, kChannels}});
  program.outputs.push_back({"y", ops::add(b, g.with_noise(x), x)});  // x is 0
  const auto backend = open_backend(backend_name, {.threads = 2}).value();
  std::vector<Program> programs;
  programs.push_back(std::move(program));
  Session s = std::move(Session::compile(std::move(programs), *backend).value());
  EXPECT_TRUE(s.allocate().ok());
  const auto rng = s.input<int64_t>(0, "rng");
  rng[0] = 42, rng[1] = step;
  const auto ids = s.input<int64_t>(0, "sample_ids");
  const auto positions = s.input<int32_t>(0, "positions");
  const auto lengths = s.input<float>(0, "row_lengths");
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = rows[i / static_cast<size_t>(length)];
    positions[i] = static_cast<int32_t>(i % static_cast<size_t>(length));
    lengths[i] = static_cast<float>(length);
  }
  for (float& v : s.input<float>(0, "x")) v = 0;
  s.run(0);
  const auto y = s.output<float>(0, "y");
  return {y.begin(), y.end()};
}

TEST(Neftune, NoiseIsUniformAndItsSizeFollowsTheRow) {
  for (const int64_t length : {32, 8}) {
    const std::vector<float> noise = noise_of({3, 9, 4}, length, 5, 1);
    const double most = 5 / std::sqrt(static_cast<double>(length * kChannels));
    double sum = 0, squares = 0, largest = 0;
    std::vector<int> tenths(10);
    for (const float v : noise) {
      sum += v, squares += double{v} * v;
      largest = std::max(largest, std::abs(double{v}));
      ++tenths[static_cast<size_t>(std::min(9.0, (v / most + 1) * 5))];
    }
    const auto n = static_cast<double>(noise.size());
    EXPECT_LE(largest, most);
    EXPECT_GT(largest, 0.99 * most);
    EXPECT_LT(std::abs(sum / n), 5 * most / std::sqrt(3 * n));
    EXPECT_NEAR(squares / n, most * most / 3, 0.05 * most * most / 3);
    for (const int count : tenths) EXPECT_NEAR(count, n / 10, 6 * std::sqrt(n / 10));
  }
}

TEST(Neftune, NoiseOfARowDoesNotDependOnTheOthers) {
  const std::vector<float> alone = noise_of({9}, 16, 5, 7), packed = noise_of({3, 9, 4}, 16, 5, 7);
  const auto row = static_cast<std::ptrdiff_t>(alone.size());
  EXPECT_EQ(alone, std::vector<float>(packed.begin() + row, packed.begin() + 2 * row));
  EXPECT_NE(alone, noise_of({9}, 16, 5, 8));   // of another step
  EXPECT_NE(alone, noise_of({10}, 16, 5, 7));  // of another row
  EXPECT_EQ(alone, noise_of({9}, 16, 5, 7, "reference"));
}

TEST(Neftune, ThereIsNoneWithoutAlpha) {
  for (const float v : noise_of({1}, 4, 0, 1)) EXPECT_EQ(v, 0);
}

}  // namespace
}  // namespace hone
