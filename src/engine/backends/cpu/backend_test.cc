#include "engine/backends/cpu/backend.h"

#include <gtest/gtest.h>

#include "engine/backends/reference/reference.h"
#include "engine/device/conformance.h"

namespace hone {
namespace {

TEST(CpuBackend, Conformance) {
  for (int threads : {1, 3}) {
    auto backend = make_cpu_backend(threads);
    ConformanceReport r = run_conformance(
        *backend, reference_backend(), std::string(HONE_SOURCE_DIR) + "/tests/ops", "", {threads});
    EXPECT_TRUE(r.failures.empty()) << r.text();
    EXPECT_GT(r.checks, 100);
  }
}

}  // namespace
}  // namespace hone
