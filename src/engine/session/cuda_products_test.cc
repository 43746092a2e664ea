// Products by cuBLASLt, whose algorithms are kept.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/backends/cuda/backend.h"
#include "engine/backends/cuda/emulator/fake_blas.h"
#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/backends/cuda/emulator/kernels.h"
#include "engine/device/errors.h"
#include "engine/ops/ops.h"
#include "engine/session/session.h"

namespace hone {
namespace {

// The id of a linear with a gelu, whose values are checked.
std::string id_of_gelu(const std::string& folder, const std::string& act, bool tune = false) {
  cuda::add_emulated_kernels();
  cuda::FakeDriver fake;
  std::string id;
  {
    const auto backend = std::move(
        make_cuda_backend(
            fake.table(), 0, cuda::emulated_modules,
            {.blas = cuda::fake_blas(), .blas_bytes = 256, .folder = folder, .tune = tune})
            .value());
    Program p(op_table(), "p");
    Builder b(p);
    const ValueId x = p.add_input("x", {DType::f32, {2, 4}});
    const ValueId w = p.add_input("w", {DType::f32, {4, 8}});
    const ValueId bias = p.add_input("b", {DType::f32, {8}});
    const Values y = b.emit("linear", {x, w, bias, kNoValue}, {{"act", act}, {"save_pre", true}});
    id = backend->choose({p, p.nodes[0]}).value().id;
    p.outputs = {{"y", y[0]}, {"pre", y[1]}};
    std::vector<Program> programs;
    programs.push_back(std::move(p));
    Session s = std::move(Session::compile(std::move(programs), *backend).value());
    EXPECT_TRUE(s.allocate().ok());
    for (const char* name : {"x", "w", "b"})
      for (float& v : s.input<float>(0, name)) v = 0.5f;
    s.run(0);
    for (int i = 0; i < 16; ++i) {
      EXPECT_EQ(s.output<float>(0, "pre")[static_cast<size_t>(i)], 1.5f);
      EXPECT_NEAR(s.output<float>(0, "y")[static_cast<size_t>(i)], 1.3996f, 1e-3f);
    }
  }
  EXPECT_EQ(fake.finish(), std::vector<std::string>{});
  return id;
}

TEST(CudaProducts, TheLibraryHasTheGeluByTanh) {
  const std::string fused = id_of_gelu("", "gelu_tanh");
  id_of_gelu("", "gelu");
  cuda::fake_blas_has_gelu = false;
  EXPECT_EQ(id_of_gelu("", "gelu_tanh").substr(0, 14), fused.substr(0, 14));
  cuda::fake_blas_has_gelu = true;
}

TEST(CudaProducts, AnAlgorithmIsChosenOnce) {
  const std::string folder = testing::TempDir() + fmt::format("hone_lt.{}", getpid());
  std::filesystem::create_directories(folder);
  const std::string first = id_of_gelu(folder, "gelu_tanh");
  cuda::fake_blas_algorithm = 2;  // as another version of the library would choose
  EXPECT_NE(id_of_gelu("", "gelu_tanh"), first) << "the manifest shows it";
  EXPECT_EQ(id_of_gelu(folder, "gelu_tanh"), first);
  cuda::fake_blas_algorithm = 1;
  std::filesystem::remove_all(folder);
}

TEST(CudaProducts, TheFastestAlgorithmIsKept) {
  cuda::FakeDriver fake;
  cuda::fake_blas_algorithms = 3;
  const auto handle = std::move(cuda::LtHandle::open(cuda::fake_blas()).value());
  const cuda::LibraryProduct product{.type = cuda::CUDA_R_32F,
                                     .result = cuda::CUDA_R_32F,
                                     .m = 8,
                                     .n = 8,
                                     .k = 8,
                                     .alignment = 64};
  std::vector<uint64_t> timed;
  const auto timer = [&](const cuda::LtProduct& p) -> Result<double> {
    timed.push_back(p.algorithm().data[0]);
    if (timed.back() == 3) return Error(err::kNoMemory, "no memory");
    return timed.back() == 2 ? 1e-3 : 2e-3;
  };
  cuda::Algorithms kept;
  const auto choose = [&] {
    return cuda::LtProduct::make(handle, product, kept, timer).value().algorithm().data[0];
  };
  EXPECT_EQ(choose(), 2u);
  EXPECT_EQ(timed, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(choose(), 2u);
  EXPECT_EQ(timed.size(), 3u) << "it is not timed again";
  cuda::fake_blas_algorithms = 1;
}

// A backend that times: values are those of one that does not.
TEST(CudaProducts, TimingUsesOperandsOfItsOwn) {
  EXPECT_EQ(id_of_gelu("", "gelu_tanh", true), id_of_gelu("", "gelu_tanh"));
}

}  // namespace
}  // namespace hone
