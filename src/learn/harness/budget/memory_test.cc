#include "learn/harness/budget/memory.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

constexpr int64_t kMega = 1 << 20;

TEST(MemoryReport, OnTheHost) {
  const MemoryReport r{.planned_bytes = 100 * kMega,
                       .measured_bytes = 120 * kMega,
                       .runtime_bytes = 30 * kMega,
                       .arena_bytes = 100 * kMega};
  EXPECT_EQ(r.text(),
            "arena 100.0 MiB as planned, 100.0 MiB of it in memory; runtime 50.0 MiB of 192.0 MiB");
}

// Memory of the device is not the process's own.
TEST(MemoryReport, OnADevice) {
  const MemoryReport r{.planned_bytes = 100 * kMega,
                       .measured_bytes = 90 * kMega,
                       .runtime_bytes = 30 * kMega,
                       .arena_bytes = 70 * kMega,
                       .device_bytes = 100 * kMega};
  EXPECT_EQ(
      r.text(),
      "arena 100.0 MiB as planned, 100.0 MiB on the device, 70.0 MiB in memory; runtime 50.0 MiB "
      "of 192.0 MiB");
}

}  // namespace
}  // namespace hone
