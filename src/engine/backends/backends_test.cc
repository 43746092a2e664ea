// The shelf: names, errors, and plans for devices that are not here.
#include "engine/backends/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backends/reference/reference.h"
#include "engine/backends/tested_backends_test.h"
#include "engine/device/conformance.h"
#include "engine/device/errors.h"
#include "engine/device/lower.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Backends, EveryNameOpensItsBackend) {
  EXPECT_THAT(backend_names(), testing::UnorderedElementsAre("cpu", "cuda", "cuda_emulated", "far",
                                                             "reference", "tpu", "xla_cpu"));
  for (const std::string& name : portable_backend_names()) {
    const auto backend = open_backend(name, {.threads = 2}).value();
    EXPECT_EQ(backend->name(), name);
    EXPECT_TRUE(backend->computes());
    EXPECT_EQ(backend->device().pool().size(), backend->device().spec().threads);
  }
}

TEST(Backends, UnknownNamesAreRefusedWithTheNearest) {
  const auto backend = open_backend("cpuu");
  ASSERT_FALSE(backend.ok());
  EXPECT_STREQ(backend.error().code(), err::kNoBackend.id);
  EXPECT_THAT(backend.error().remedy(), HasSubstr("did you mean cpu?"));
  const auto planned = open_device("h100");
  ASSERT_FALSE(planned.ok());
  EXPECT_THAT(planned.error().text(), HasSubstr("H100 is a device that hone plans for"));
  EXPECT_FALSE(open_device("cuda:x").ok());
  EXPECT_TRUE(open_device("auto").ok()) << "the CPU where there is no GPU";
  const auto device = device_spec("H10");
  ASSERT_FALSE(device.ok());
  EXPECT_THAT(device.error().text(), HasSubstr("did you mean H100? known are"));
  const auto card = device_group("2xv100");
  ASSERT_FALSE(card.ok());
  EXPECT_THAT(card.error().text(), HasSubstr("did you mean V100-16GB or V100-32GB? known are"));
  const auto isa = open_backend("cpu", {.isa = "neon"});
  ASSERT_FALSE(isa.ok());
  EXPECT_THAT(isa.error().text(), HasSubstr("no instruction set 'neon'"));
  EXPECT_THAT(isa.error().remedy(), HasSubstr("baseline"));
}

Program training_like() {
  return std::move(parse_program(R"(program p
input "x" %0 : f32[64,32]
input "labels" %1 : i32[64]
input "scale" %2 : f32[]
state "w" %3 : f32[100,32] {role="param", trainable=true}
  %4 : f32[64,32] = gelu(%0)
  %5 : f32[], %6 : f32[64], %7 : i32[64] = linear_cross_entropy(%4, %3, %1, %2)
output "loss" = %5
)",
                                 op_table())
                       .value());
}

TEST(Backends, ADeviceThatIsNotHereIsPlanned) {
  EXPECT_THAT(device_names(), Contains("H100"));
  const DeviceSpec h100 = device_spec("h100").value();
  EXPECT_EQ(h100.name, "H100");
  const auto backend = plan_backend(h100).value();
  EXPECT_FALSE(backend->computes());
  EXPECT_THROW((void)backend->device(), Bug);
  const Program p = training_like();
  const Program lowered = lower(p, *backend).value();
  EXPECT_EQ(lowered.nodes.size(), p.nodes.size()) << "both composites are computed whole";
  // The head: 64 rows of logits, whose gradient is written over them, and the cap of one product.
  const Choice head = backend->choose({lowered, lowered.nodes[1]}).value();
  EXPECT_EQ(head.workspace_bytes, 64 * 100 * 4 + h100.workspace_bytes);
  EXPECT_GT(seconds_of(lowered, h100), 0);
  EXPECT_LT(seconds_of(lowered, h100), seconds_of(lowered, device_spec("T4").value()));
}

TEST(Backends, SeveralDevicesHaveACount) {
  const DeviceGroup eight = device_group("8xa100-80gb").value();
  EXPECT_EQ(eight.count, 8);
  EXPECT_EQ(eight.device.name, "A100-80GB");
  EXPECT_EQ(device_group("H200").value().count, 1);
  EXPECT_EQ(device_group("cpu").value().count, 1);
  EXPECT_THAT(device_group("8xA100-80G").error().text(), HasSubstr("did you mean A100-80GB?"));
  EXPECT_THAT(device_group("0xT4").error().text(), HasSubstr("a count from 1 to 1024"));
  EXPECT_THAT(device_group("99999999999999999999xT4").error().text(), HasSubstr("no device"));
  EXPECT_THAT(device_group("2xcpu").error().text(), HasSubstr("leave the count out"));
}

// Each has what a plan asks of it, in the order of magnitude of any GPU.
TEST(Backends, EveryDeviceHasItsSheet) {
  for (const char* name : {"A100-40GB", "A100-80GB", "V100-16GB", "V100-32GB", "T4", "H100", "H200",
                           "B200", "RTX-4090", "RTX-3090", "L4", "A10G"}) {
    const DeviceSpec d = device_spec(name).value();
    EXPECT_GT(d.memory_bytes, int64_t{14} << 30) << name;
    EXPECT_GE(d.bf16_flops, d.f32_flops) << name;
    EXPECT_GE(d.f16_flops, d.bf16_flops) << name;
    EXPECT_GT(d.bytes_per_second, d.peer_bytes_per_second) << name;
    EXPECT_GE(d.peer_bytes_per_second, d.host_bytes_per_second) << name;
    EXPECT_GT(d.host_bytes_per_second, d.disk_read_bytes_per_second) << name;
    if (const size_t dash = d.name.rfind('-'); d.name.ends_with("GB")) {
      const int64_t gib = std::atoll(d.name.c_str() + dash + 1) << 30;
      EXPECT_LE(d.memory_bytes, gib) << name;
      EXPECT_GT(d.memory_bytes, gib * 97 / 100) << name;
    }
  }
}

TEST(Backends, RanksOfOneProcessAreForDevicesOfAPlugin) {
  EXPECT_EQ(local_ranks_of("xla_cpu", 8).value(), 8);
  EXPECT_EQ(local_ranks_of("xla_cpu", 0).value(), 1);
  for (const char* one : {"cpu", "auto", "xla_cpu:1"}) {
    EXPECT_EQ(local_ranks_of(one, 0).value(), 1) << one;
    const auto several = local_ranks_of(one, 2);
    ASSERT_FALSE(several.ok()) << one;
    EXPECT_STREQ(several.error().code(), err::kNoBackend.id);
    EXPECT_THAT(several.error().remedy(), HasSubstr("the device tpu or xla_cpu without a number"));
  }
}

TEST(Backends, ThisMachineIsPlannedAsItComputes) {
  const auto planned = plan_backend(device_spec("cpu", {.threads = 2}).value()).value();
  const auto real = open_backend("cpu", {.threads = 2}).value();
  const Program p = training_like();
  for (const Node& n : p.nodes)
    EXPECT_EQ(planned->choose({p, n}).value().workspace_bytes,
              real->kernel({p, n}).value().workspace_bytes)
        << n.op->name;
}

TEST(Backends, AChoiceIsWhatTheKernelIs) {
  const auto backend = open_backend("cpu", {.threads = 1}).value();
  const Program p = training_like();
  for (const Node& n : p.nodes) {
    const Kernel kernel = backend->kernel({p, n}).value();
    const Choice choice = backend->choose({p, n}).value();
    EXPECT_EQ(choice.id, kernel.id);
    EXPECT_EQ(choice.workspace_bytes, kernel.workspace_bytes);
  }
}

TEST(Gpu, Conformance) {
  if (!tests_a_gpu()) GTEST_SKIP() << "HONE_TEST_DEVICES does not name cuda";
  const auto gpu = std::move(open_backend("cuda", {}).value());
  const char* only = std::getenv("HONE_ONLY");
  const ConformanceReport r =
      run_conformance(*gpu, reference_backend(), HONE_SOURCE_DIR "/tests/ops", only ? only : "");
  EXPECT_TRUE(r.failures.empty()) << r.text();
  if (only == nullptr) {
    EXPECT_GT(r.checks, 1000) << r.text();
  }
}

}  // namespace
}  // namespace hone
