// Products by cuBLASLt, whose algorithms are kept.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "engine/backends/cuda/backend.h"
#include "engine/backends/cuda/emulator/fake_blas.h"
#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/backends/cuda/emulator/kernels.h"
#include "engine/backends/cuda/launch_tables.h"
#include "engine/device/errors.h"
#include "engine/device/interpret.h"
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

// The results of a product that multiplies by the slope of a gelu, and the count of its launches.
struct Sloped {
  int64_t launches = 0;
  std::map<std::string, std::vector<double>> results = {};
};
Values add_sloped(Program& p) {
  Builder b(p);
  const ValueId x = p.add_input("x", {DType::bf16, {24, 8}});
  const ValueId w = p.add_input("w", {DType::bf16, {16, 8}});
  const ValueId pre = p.add_input("pre", {DType::bf16, {24, 16}});
  return b.emit("linear_activation_grad", {x, w, pre},
                {{"kind", std::string("gelu_tanh")},
                 {"bf16", true},
                 {"as", std::string("bf16")},
                 {"trans_w", true},
                 {"remade", true},
                 {"sums", true}});
}
Sloped run_sloped(const cuda::FakeOptions& gpu) {
  cuda::add_emulated_kernels();
  cuda::FakeDriver fake(gpu);
  Sloped made;
  {
    const auto backend = std::move(make_cuda_backend(fake.table(), 0, cuda::emulated_modules,
                                                     {.blas = cuda::fake_blas(), .blas_bytes = 256})
                                       .value());
    Program p(op_table(), "p");
    const Values y = add_sloped(p);
    made.launches = backend->choose({p, p.nodes[0]}).value().launches;
    p.outputs = {{"dpre", y[0]}, {"act", y[1]}, {"sums", y[2]}};
    Tensors given;
    for (const auto& [name, v] : p.inputs) {
      std::vector<double> numbers(static_cast<size_t>(p.type(v).count()));
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<double>((i * 7 + numbers.size()) % 17) / 8 - 1;
      given[name] = Tensor::of(p.type(v), numbers);
    }
    const Outcome out = interpret(p, *backend, given, {}).value();
    EXPECT_EQ(out.broken, std::vector<std::string>{});
    for (const auto& [name, t] : out.outputs) made.results[name] = t.numbers();
  }
  EXPECT_EQ(fake.finish(), std::vector<std::string>{});
  return made;
}

TEST(CudaProducts, HopperMultipliesByTheSlopeOfAGelu) {
  const Sloped fused = run_sloped({});
  EXPECT_EQ(fused.launches, 3) << "the product, the sums in f32, the gelu";
  cuda::fake_blas_has_gelu = false;
  const Sloped without = run_sloped({});
  cuda::fake_blas_has_gelu = true;
  const Sloped ampere = run_sloped({.capability_major = 8});
  for (const Sloped* apart : {&without, &ampere}) {
    EXPECT_EQ(apart->launches, 3) << "the product, the gradient with parts of sums, the sums";
    EXPECT_EQ(apart->results.at("act"), fused.results.at("act"));
    for (const char* name : {"dpre", "sums"})
      for (size_t i = 0; i < fused.results.at(name).size(); ++i)
        EXPECT_NEAR(apart->results.at(name)[i], fused.results.at(name)[i],
                    0.02 * (1 + std::fabs(fused.results.at(name)[i])))
            << name << " " << i;
  }
  EXPECT_EQ(without.results, ampere.results);
}

TEST(CudaProducts, AnEpilogueHasTheSlopeAndTheSums) {
  Program p(op_table(), "p");
  add_sloped(p);
  for (const bool slopes : {true, false}) {
    const cuda::LaunchTable table = cuda::launch_table({.library = true, .slopes = slopes});
    const cuda::Launches all = cuda::launches_of(table, {p, p.nodes[0]}).value();
    ASSERT_TRUE(all.launches[0].library.has_value());
    EXPECT_EQ(all.launches[0].library->slope, slopes);
    EXPECT_EQ(all.launches[0].library->sums, slopes);
  }
}

// Tensor cores read rows at full speed where each begins at a multiple of 16 bytes.
void expect_even_rows(const cuda::LibraryProduct& p) {
  const auto step = [](int64_t given, int64_t columns) { return given > 0 ? given : columns; };
  EXPECT_EQ(step(p.step_x, p.trans_x ? p.m : p.k) % 8, 0) << p.text();
  EXPECT_EQ(step(p.step_y, p.trans_y ? p.k : p.n) % 8, 0) << p.text();
  EXPECT_EQ(step(p.step_z, p.n) % 8, 0) << p.text();
}

TEST(CudaProducts, RowsOfOddLengthArePadded) {
  constexpr int64_t kTokens = 8192, kVocabulary = 50257;
  Program p(op_table(), "p");
  Builder b(p);
  const ValueId x = p.add_input("x", {DType::bf16, {kTokens, 64}});
  const ValueId w = p.add_input("w", {DType::f32, {kVocabulary, 64}});
  const ValueId odd = p.add_input("odd", {DType::bf16, {kTokens, 1001}});
  const ValueId even = p.add_input("even", {DType::bf16, {kTokens, 512}});
  const ValueId labels = p.add_input("labels", {DType::i32, {kTokens}});
  const ValueId scale = p.add_input("scale", {DType::f32, {}});
  b.emit("linear_cross_entropy", {x, w, labels, scale},
         {{"bf16", true}, {"logits", std::string("bf16")}, {"dw", true}, {"dx", true}});
  b.emit("matmul", {odd, even}, {{"bf16", true}, {"trans_x", true}});
  const cuda::LaunchTable table = cuda::launch_table({.library = true});
  int casts = 0, products = 0;
  for (const Node& n : p.nodes) {
    const cuda::Launches all = cuda::launches_of(table, {p, n}).value();
    for (const cuda::Launch& l : all.launches) {
      if (l.library) expect_even_rows(*l.library);
      products += l.library ? 1 : 0;
      casts += l.kernel.starts_with("pad_rows_") ? 1 : 0;
    }
  }
  EXPECT_EQ(products, 3 * kTokens / 2048 + 1) << "chunks of 2,048 rows";
  EXPECT_EQ(casts, 2) << "the weight of the head, once, and an operand";
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
