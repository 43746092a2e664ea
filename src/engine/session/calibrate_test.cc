// Every kind of node gets a speed, whatever the machine.
#include "engine/session/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "engine/backends/cpu/backend.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"
#include "engine/plan/cost_model.h"

namespace hone {
namespace {

TEST(Calibrate, EveryKindHasASpeed) {
  const auto backend = open_cpu_backend(2).value();
  const Calibration c = calibrate(*backend, true, 0).value();
  std::vector<std::string> kinds;
  const OrderedJson all = c.ops.json();
  for (const auto& [kind, s] : all.items()) {
    kinds.push_back(kind);
    const double sum = s[0].get<double>() + s[1].get<double>() + s[2].get<double>();
    EXPECT_TRUE(std::isfinite(sum) && sum > 0) << kind;
    EXPECT_GE(std::min({s[0].get<double>(), s[1].get<double>(), s[2].get<double>()}), 0) << kind;
  }
  for (const char* kind : {"matmul.nn", "matmul.nt", "matmul.tn", "matmul.nt.bf16", "attention",
                           "attention_grad.dropout", "linear_cross_entropy", "gelu", "adamw"})
    EXPECT_THAT(kinds, testing::Contains(kind));
  for (const double speed :
       {c.node_seconds, c.f32_flops, c.bf16_flops, c.bytes_per_second, c.host_bytes_per_second})
    EXPECT_TRUE(std::isfinite(speed) && speed > 0);
  EXPECT_FALSE(calibrate(*backend, false, 0).value().ops.find("matmul.nn.bf16"));
}

TEST(Calibrate, ADiskIsLeftAsItWas) {
  const auto backend = open_cpu_backend(1).value();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("hone_calibrate_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const DiskSpeeds speeds = calibrate_disk(*backend, folder.string()).value();
  EXPECT_GT(speeds.read_bytes_per_second, 0);
  EXPECT_GT(speeds.write_bytes_per_second, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone
