#include "engine/backends/cpu/backend.h"

#include <gtest/gtest.h>

#include "engine/backends/cpu/gemm/gemm.h"
#include "engine/backends/cpu/isa/isa.h"
#include "engine/backends/reference/reference.h"
#include "engine/device/conformance.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

TEST(CpuBackend, Conformance) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const int n : {1, 2, 3, 7}) backends.push_back(open_cpu_backend(n).value());
  ConformanceReport r =
      run_conformance(backends, reference_backend(), HONE_SOURCE_DIR "/tests/ops");
  EXPECT_TRUE(r.failures.empty()) << r.text();
  EXPECT_GT(r.checks, 400);
}

// A resumed run compares ids: constants that decide bits must be in them.
TEST(CpuBackend, ProductsNameTheBlocksOfTheirSums) {
  const Result<Program> program = parse_program(R"(program p
input "x" %0 : f32[64,64]
input "w" %1 : f32[64,96]
  %2 : f32[64,96] = linear(%0, %1)
  %3 : f32[64,96] = matmul(%0, %1)
  %4 : f32[64,96] = linear(%0, %1) {bf16=true}
  %5 : f32[64,96] = matmul(%0, %1) {bf16=true}
output "y" = %2
output "z" = %3
)",
                                                op_table());
  ASSERT_TRUE(program.ok()) << program.error().text();
  const std::string f32 = cpu::isa() == cpu::Isa::amx
                              ? fmt::format("cpu.gemm_bf16x3.k{}", cpu::kGemmBlockK)
                              : fmt::format("cpu.gemm.k{}", cpu::kGemmBlockK);
  for (const Node& node : program->nodes)
    EXPECT_EQ(
        open_cpu_backend(1).value()->kernel({*program, node}).value().id,
        node.attrs.flag("bf16") ? fmt::format("cpu.gemm_bf16.k{}", cpu::kGemmBf16BlockK) : f32);
}

}  // namespace
}  // namespace hone
