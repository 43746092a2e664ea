// The kernels that a GPU gets, on the CPU, held to the reference backend.
#include "engine/backends/cuda/emulator/emulated.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/core/whole_test.h"
#include "engine/backends/cuda/graphs.h"
#include "engine/backends/cuda/libraries/errors.h"
#include "engine/backends/reference/reference.h"
#include "engine/device/conformance.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

using cuda::Execution;
using emulate::Order;

// Threads that run in another order, and work that is done later, give the same results.
// Each case runs in one of the two orders, and in make nightly in three.
struct How {
  std::string name;
  cuda::FakeOptions options;
  bool with_blas = false;
  CaseSample sample = {.every = tests_whole() ? 1 : 2};
};
class EmulatedCudas : public testing::TestWithParam<How> {};

TEST_P(EmulatedCudas, Conformance) {
  const auto backend =
      make_emulated_cuda_backend(GetParam().options, 0, {}, GetParam().with_blas).value();
  Program p(op_table(), "p");
  Builder b(p);
  const ValueId x = p.add_input("x", {DType::f32, {4, 4}});
  ops::matmul(b, x, x);
  const std::string id = backend->choose({p, p.nodes[0]}).value().id;
  EXPECT_TRUE(GetParam().with_blas ? id.starts_with("cuda.lt.matmul.") : id == "cuda.matmul") << id;
  const char* only = std::getenv("HONE_ONLY");
#ifdef __SANITIZE_THREAD__
  if (only == nullptr) only = "layer_norm";  // each wait of a thread takes it memory
#endif
  const ConformanceReport r =
      run_conformance(*backend, reference_backend(), HONE_SOURCE_DIR "/tests/ops", only ? only : "",
                      GetParam().sample);
  EXPECT_TRUE(r.failures.empty()) << r.text();
  if (only == nullptr) {
    EXPECT_GT(r.checks * GetParam().sample.every, 1000) << r.text();
  }
}

std::vector<How> orders() {
  std::vector<How> orders{{"Forward", {}, true},
                          {"Backward",  // V100
                           {.capability_major = 7,
                            .execution = Execution::as_late_as_possible,
                            .threads = Order::backward}}};
  orders.back().sample.first = orders.back().sample.every - 1;
  if (tests_whole())
    orders.push_back({"Shuffled", {.execution = Execution::shuffled, .threads = Order::shuffled}});
  return orders;
}
INSTANTIATE_TEST_SUITE_P(All, EmulatedCudas, testing::ValuesIn(orders()),
                         [](const auto& p) { return p.param.name; });

// One program, which fills its arena.
class Fill : public Executable {
 public:
  explicit Fill(Queue& queue) : queue_(queue) {}
  void bind(const PerSpace<std::byte*>& arenas, std::vector<Ports>) override {
    arena_ = arenas[Space::device];
  }
  void run(size_t, NodeWatch*) override {
    queue_.zero(arena_, kBytes);
    ++runs;
  }
  static constexpr int64_t kBytes = 64;
  inline static int runs = 0;

 private:
  Queue& queue_;
  std::byte* arena_ = nullptr;
};

TEST(EmulatedCuda, AGraphThatIsBoundAgainIsMadeAgain) {
  cuda::FakeDriver fake;
  {
    auto device = std::move(cuda::CudaDevice::open(fake.table(), 0, 1, false).value());
    Queue& queue = device->queue(Lane::compute);
    const auto graphs = cuda::make_graphs(*device, std::make_unique<Fill>(queue), 1);
    std::vector<std::unique_ptr<Memory>> arenas;
    const std::vector<char> ones(Fill::kBytes, 1);
    for (const int round : {1, 2}) {
      const auto& memory =
          arenas.emplace_back(std::move(device->allocate(Space::device, Fill::kBytes, "").value()));
      PerSpace<std::byte*> addresses;
      addresses[Space::device] = memory->data();
      graphs->bind(addresses, {});
      for (int k = 0; k < 4; ++k) {
        queue.copy(memory->data(), ones.data(), Fill::kBytes);
        graphs->run(0, nullptr);
        std::vector<char> now(Fill::kBytes);
        queue.copy(now.data(), memory->data(), Fill::kBytes);
        queue.finish();
        EXPECT_EQ(now, std::vector<char>(Fill::kBytes)) << round << " " << k;
      }
      EXPECT_EQ(Fill::runs, 2 * round) << "once as it is, once to be noted";
    }
    EXPECT_TRUE(device->check().ok());
  }
  EXPECT_EQ(fake.finish(), std::vector<std::string>{});
}

TEST(EmulatedCuda, RefusesGpusThatAreTooOld) {
  const auto k80 = make_emulated_cuda_backend(
      {.capability_major = 3, .capability_minor = 7, .name = "Tesla K80"});
  ASSERT_FALSE(k80.ok());
  EXPECT_STREQ(k80.error().code(), err::kOldGpu.id);
  EXPECT_EQ(k80.error().what(), "Tesla K80 has compute capability 3.7, and 7.0 is needed");
  EXPECT_FALSE(make_emulated_cuda_backend({}).value()->device().host_memory());
}

}  // namespace
}  // namespace hone
