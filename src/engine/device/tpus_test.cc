#include "engine/device/tpus.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

TEST(Tpus, SlicesHaveCoresOrChips) {
  const auto devices = [](std::string_view name) {
    const TpuSlice s = tpu_slice(name);
    return s.device ? s.device->name + " x " + std::to_string(s.devices) : "";
  };
  EXPECT_EQ(devices("v2-8"), "v2 x 8");
  EXPECT_EQ(devices("V3-32"), "v3 x 32");
  EXPECT_EQ(devices("v4-8"), "v4 x 4");
  EXPECT_EQ(devices("v5p-8"), "v5p x 4");
  EXPECT_EQ(devices("v5litepod-16"), "v5e x 16");
  EXPECT_EQ(devices("v6e-8"), "v6e x 8");
  EXPECT_EQ(devices("v4-7"), "v4 x 0");
  EXPECT_EQ(devices("v6e-8x"), "v6e x 0");
  EXPECT_EQ(devices("v7-8"), "");
  EXPECT_EQ(devices("A100-80GB"), "");
}

TEST(Tpus, TopologiesAreThoseOfLibtpu) {
  for (const auto& [slice, topology] : {std::pair("v2-8", "v2:2x2"),
                                        {"v3-8", "v3:2x2"},
                                        {"v2-32", "v2:4x4"},
                                        {"v2-2", "v2:1x1"},
                                        {"v4-8", "v4:2x2x1"},
                                        {"v4-16", "v4:2x2x2"},
                                        {"v4-32", "v4:2x2x4"},
                                        {"v5p-64", "v5p:2x4x4"},
                                        {"v5e-1", "v5e:1x1"},
                                        {"v5e-16", "v5e:4x4"},
                                        {"v5e-32", "v5e:4x8"},
                                        {"v6e-8", "v6e:2x4"},
                                        {"v5e-12", ""}})
    EXPECT_EQ(topology_of(tpu_slice(slice)), topology) << slice;
}

TEST(Tpus, HostsHaveFourOrEightChips) {
  for (const char* one : {"v2-8", "v3-8", "v4-8", "v5p-8", "v5e-8", "v6e-8"})
    EXPECT_TRUE(is_of_one_host(tpu_slice(one))) << one;
  for (const char* several : {"v2-32", "v4-16", "v5p-16", "v5e-16"})
    EXPECT_FALSE(is_of_one_host(tpu_slice(several))) << several;
}

TEST(Tpus, DevicesThatAreTpus) {
  for (const char* tpu : {"tpu", "tpu:3", "v3", "V3-8", "v5litepod-16", "4xv5e"})
    EXPECT_TRUE(names_tpus(tpu)) << tpu;
  for (const char* other : {"cpu", "xla_cpu", "xla_cpu:1", "auto", "8xA100-80GB", "cuda:1", ""})
    EXPECT_FALSE(names_tpus(other)) << other;
}

TEST(Tpus, TilesCoverTheTwoDimensionsThatFitBest) {
  EXPECT_EQ(tiled_bytes({DType::f32, {16, 256}}), 16 * 256 * 4) << "whole tiles";
  EXPECT_EQ(tiled_bytes({DType::f32, {9, 129}}), 16 * 256 * 4);
  EXPECT_EQ(tiled_bytes({DType::bf16, {9, 129}}), 16 * 256 * 2);
  EXPECT_EQ(tiled_bytes({DType::u8, {9, 129}}), 32 * 256);
  EXPECT_EQ(tiled_bytes({DType::f32, {129, 9}}), 16 * 256 * 4) << "the longer one along a tile";
  EXPECT_EQ(tiled_bytes({DType::f32, {3, 1, 1}}), 8 * 128 * 4);
  EXPECT_EQ(tiled_bytes({DType::f32, {256, 1024, 3, 3}}), 256 * 1024 * 9 * 4) << "a convolution";
  EXPECT_EQ(tiled_bytes({DType::f32, {130}}), 256 * 4);
  EXPECT_EQ(tiled_bytes({DType::f32, {}}), 4);
}

TEST(Tpus, EqualProductsShareTheirCode) {
  const auto bytes = [](const char* third) {
    return tpu_code_bytes(parse_program(std::string("program p\ninput \"x\" %0 : f32[256,256]\n"
                                                    "  %1 : f32[256,256] = matmul(%0, %0)\n"
                                                    "  %2 : f32[256,256] = matmul(%1, %0)\n") +
                                            third,
                                        op_table())
                              .value());
  };
  const int64_t two = bytes(""), same = bytes("  %3 : f32[256,256] = matmul(%2, %0)\n"),
                other = bytes("  %3 : f32[256,256] = linear(%2, %0, _, _)\n"),
                beside = bytes("  %3 : f32[256,256] = exp(%2)\n");
  EXPECT_GT(two, 0);
  EXPECT_GT(same, two) << "a call has code too";
  EXPECT_GT(other - two, same - two);
  EXPECT_EQ(beside, two) << "a part of the product";
}

// Layers are turns of a loop: the code of a product is there once.
TEST(Tpus, LayersShareTheirCode) {
  const auto bytes = [](int layers) {
    std::string text =
        "program p\ninput \"x\" %0 : f32[512,96]\ninput \"cu\" %1 : i32[2]\n"
        "input \"w\" %2 : f32[96,32]\n";
    int x = 0, next = 3;
    for (int k = 0; k < layers; ++k, next += 3) {
      text += fmt::format(
          "  %{} : f32[512,32], %{} : f32[2,512] = attention(%{}, _, _, %1, %1) {{heads=2, "
          "kv_heads=2, causal=true, scale=0.25}}\n"
          "  %{} : f32[512,96] = linear(%{}, %2, _, _) {{trans_w=false}}\n",
          next, next + 1, x, next + 2, next);
      x = next + 2;
    }
    return tpu_code_bytes(parse_program(text, op_table()).value());
  };
  EXPECT_GT(bytes(1), 0);
  EXPECT_EQ(bytes(12), bytes(1));
}

}  // namespace
}  // namespace hone
