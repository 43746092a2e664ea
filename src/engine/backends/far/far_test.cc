// Far memory is out of the host's reach, and everything runs on it all the same.
#include "engine/backends/far/far.h"

#include <gtest/gtest.h>

#include "engine/backends/cpu/backend.h"
#include "engine/backends/reference/reference.h"
#include "engine/device/conformance.h"

namespace hone {
namespace {

std::unique_ptr<Backend> far_backend(int threads) {
  return make_far_backend(std::move(open_cpu_backend(threads).value()));
}

TEST(Far, Conformance) {
  const auto backend = far_backend(2);
  const ConformanceReport r =
      run_conformance(*backend, reference_backend(), HONE_SOURCE_DIR "/tests/ops");
  EXPECT_TRUE(r.failures.empty()) << r.text();
  EXPECT_GT(r.checks, 100);
}

TEST(Far, CopiesReachItsMemory) {
  const auto backend = far_backend(1);
  Device& device = backend->device();
  auto a = std::move(device.allocate(Space::device, 4096).value());
  auto b = std::move(device.allocate(Space::device, int64_t{4} << 20).value());
  Queue& queue = device.queue(Lane::compute);
  const std::vector<int32_t> given{1, 2, 3, 4};
  std::vector<int32_t> got(4);
  queue.copy(a->data() + 64, given.data(), 16);
  queue.zero(b->data(), b->bytes());
  queue.copy(b->data() + b->bytes() - 16, a->data() + 64, 12);
  queue.copy(got.data(), b->data() + b->bytes() - 16, 16);
  queue.finish();
  EXPECT_EQ(got, (std::vector<int32_t>{1, 2, 3, 0}));
}

TEST(FarDeathTest, AHostAccessEndsTheProcess) {
  const auto backend = far_backend(1);
  auto m = std::move(backend->device().allocate(Space::device, 4096).value());
  auto* at = reinterpret_cast<volatile int*>(m->data());
  EXPECT_DEATH({ *at = 1; }, "");
  EXPECT_DEATH({ (void)*at; }, "");
}

TEST(Far, HostSpaceIsTheHosts) {
  const auto backend = far_backend(1);
  EXPECT_FALSE(backend->device().host_memory());
  auto m = std::move(backend->device().allocate(Space::host, 4096).value());
  m->data()[4095] = std::byte{7};
  EXPECT_EQ(m->data()[4095], std::byte{7});
}

}  // namespace
}  // namespace hone
