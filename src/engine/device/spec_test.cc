#include "engine/device/spec.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(DeviceSpecs, AreFoundByTheNamesOfDrivers) {
  const auto found = [](std::string_view name) {
    const DeviceSpec* spec = known_gpu(name);
    return spec ? spec->name : "";
  };
  EXPECT_EQ(found("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(found("NVIDIA A100-SXM4-80GB"), "A100-80GB");
  EXPECT_EQ(found("NVIDIA A100-PCIE-40GB"), "A100-40GB");
  EXPECT_EQ(found("NVIDIA L40S"), "L40S");
  EXPECT_EQ(found("NVIDIA L4"), "L4");
  EXPECT_EQ(found("Tesla V100-SXM2-16GB"), "V100-16GB");
  EXPECT_EQ(found("NVIDIA GeForce RTX 4090"), "RTX-4090");
  EXPECT_EQ(found("Tesla K80"), "");
}

TEST(DeviceSpecs, FollowFromTheArchitecture) {
  DeviceSpec v100, b200;
  describe_gpu(v100, "sm_70");
  describe_gpu(b200, "sm_100");
  EXPECT_FALSE(v100.multiplies_bf16);
  EXPECT_TRUE(b200.multiplies_bf16);
  EXPECT_LT(v100.workspace_bytes, b200.workspace_bytes);
  for (const DeviceSpec& d : known_gpus()) EXPECT_TRUE(d.own_memory && d.kernels == "cuda");
}

}  // namespace
}  // namespace hone
