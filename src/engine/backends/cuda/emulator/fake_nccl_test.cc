// Messages of GPUs arrive, and mistakes in their use are found.
#include "engine/backends/cuda/emulator/fake_nccl.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/backends/cuda/libraries/errors.h"
#include "engine/comm/errors.h"
#include "engine/comm/loopback.h"

namespace hone::cuda {
namespace {

constexpr size_t kMessage = 64;

// Rank 0 is a GPU of the fake driver; rank 1 is a thread that sends back what it receives, plus one.
class FakeNcclTest : public testing::Test {
 protected:
  void open(Execution execution) {
    fake = std::make_unique<FakeDriver>(FakeOptions{.execution = execution});
    d = fake->table();
    CUcontext context = nullptr;
    d.cuDevicePrimaryCtxRetain(&context, 0);
    d.cuCtxSetCurrent(context);
    d.cuStreamCreate(&comm_stream, CU_STREAM_NON_BLOCKING);
    d.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
    d.cuMemAlloc(&x, kMessage);
    d.cuMemAlloc(&y, kMessage);
    void* at = nullptr;
    d.cuMemHostAlloc(&at, kMessage, 0);
    pinned = static_cast<unsigned char*>(at);
    for (size_t i = 0; i < kMessage; ++i) pinned[i] = static_cast<unsigned char>(i);
    fake_nccl_carrier = &world.group(0);
    comm = std::move(
        NcclComm::connect(fake_nccl(), NcclComm::new_id(fake_nccl()).value(), 0, 2).value());
  }
  void start_peer() {
    peer = std::thread([this] {
      std::vector<std::byte> bytes(kMessage);
      const Receive receive{0, bytes};
      if (!carried_exchange(world.group(1), {}, {&receive, 1}).ok()) return;
      for (std::byte& b : bytes) b = static_cast<std::byte>(static_cast<int>(b) + 1);
      const Send send{0, bytes};
      (void)carried_exchange(world.group(1), {&send, 1}, {});
    });
  }
  std::span<std::byte> bytes_at(CUdeviceptr at) const {
    return {reinterpret_cast<std::byte*>(at), kMessage};
  }
  void up(CUstream stream) {
    d.cuMemcpyAsync(x, reinterpret_cast<CUdeviceptr>(pinned), kMessage, stream);
  }
  void down(CUstream stream) {
    d.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(pinned), y, kMessage, stream);
  }
  void there_and_back() {
    const Send send{1, bytes_at(x)};
    const Receive receive{1, bytes_at(y)};
    ASSERT_TRUE(comm->exchange({&send, 1}, {}, comm_stream).ok());
    ASSERT_TRUE(comm->exchange({}, {&receive, 1}, comm_stream).ok());
  }
  std::vector<std::string> close() {
    d.cuStreamSynchronize(comm_stream);
    d.cuStreamSynchronize(other);
    comm.reset();
    if (peer.joinable()) peer.join();
    d.cuMemFree(x);
    d.cuMemFree(y);
    d.cuMemFreeHost(pinned);
    d.cuStreamDestroy(comm_stream);
    d.cuStreamDestroy(other);
    d.cuDevicePrimaryCtxRelease(0);
    return fake->finish();
  }

  LoopbackWorld world{2};
  std::thread peer;
  std::unique_ptr<FakeDriver> fake;
  Driver d;
  CUstream comm_stream = nullptr, other = nullptr;
  CUdeviceptr x = 0, y = 0;
  unsigned char* pinned = nullptr;
  std::unique_ptr<NcclComm> comm;
};

TEST_F(FakeNcclTest, MessagesArriveInTheOrderOfTheirStream) {
  for (const Execution e :
       {Execution::at_once, Execution::as_late_as_possible, Execution::shuffled}) {
    open(e);
    start_peer();
    up(comm_stream);
    there_and_back();
    down(comm_stream);
    d.cuStreamSynchronize(comm_stream);
    for (size_t i = 0; i < kMessage; ++i) EXPECT_EQ(pinned[i], i + 1);
    EXPECT_TRUE(comm->check().ok());
    EXPECT_EQ(close(), std::vector<std::string>());
    fake.reset();
  }
}

TEST_F(FakeNcclTest, AMessageThatNothingOrdersAfterItsDataIsFound) {
  open(Execution::as_late_as_possible);
  start_peer();
  up(other);  // and nobody waits for it
  there_and_back();
  const auto findings = close();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].find("ncclGroupEnd on stream 1) reads bytes 0 to 64"), std::string::npos)
      << findings[0];
}

TEST_F(FakeNcclTest, MemoryThatIsFreedUnderAMessageIsFound) {
  open(Execution::as_late_as_possible);
  start_peer();
  up(comm_stream);
  there_and_back();
  d.cuMemFree(y);
  d.cuMemAlloc(&y, kMessage);
  const auto findings = close();
  ASSERT_FALSE(findings.empty());
  EXPECT_NE(findings[0].find("cuMemFree"), std::string::npos) << findings[0];
}

TEST_F(FakeNcclTest, AMessageOutsideOfAGroupIsFound) {
  open(Execution::as_late_as_possible);
  ncclComm_t handle = nullptr;
  const Nccl nccl = fake_nccl();
  ASSERT_EQ(nccl.ncclCommInitRank(&handle, 2, {}, 0), ncclSuccess);
  nccl.ncclSend(reinterpret_cast<void*>(x), kMessage, ncclUint8, 1, handle, comm_stream);
  EXPECT_EQ(nccl.ncclGroupEnd(), ncclInvalidUsage);
  nccl.ncclCommAbort(handle);
  const auto findings = close();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_NE(findings[0].find("outside of a group"), std::string::npos);
  EXPECT_NE(findings[1].find("was not started"), std::string::npos);
}

TEST_F(FakeNcclTest, MessagesOfOtherSizesAreFound) {
  open(Execution::as_late_as_possible);
  peer = std::thread([this] {
    std::vector<std::byte> bytes(kMessage - 1);
    const Receive receive{0, bytes};
    EXPECT_TRUE(
        carried_exchange(world.group(1), {}, {&receive, 1}).error().is(err::kMessageDiffers));
  });
  up(comm_stream);
  const Send send{1, bytes_at(x)};
  ASSERT_TRUE(comm->exchange({&send, 1}, {}, comm_stream).ok());
  const auto findings = close();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].find("sends rank 1 1 messages of 64 bytes"), std::string::npos)
      << findings[0];
}

// As a real one: the stream continues, and only the communicator has the error.
TEST_F(FakeNcclTest, ARankThatIsGoneIsAnErrorOfTheCommunicator) {
  open(Execution::as_late_as_possible);
  peer = std::thread([this] { world.group(1).stop("planted"); });
  peer.join();
  up(comm_stream);
  const Send send{1, bytes_at(x)};
  ASSERT_TRUE(comm->exchange({&send, 1}, {}, comm_stream).ok());
  EXPECT_EQ(d.cuStreamSynchronize(comm_stream), CUDA_SUCCESS);
  const Status lost = comm->check();
  ASSERT_FALSE(lost.ok());
  EXPECT_TRUE(lost.error().is(err::kPeerLost)) << lost.error().text();
  comm->stop();
  EXPECT_EQ(close(), std::vector<std::string>());
}

TEST_F(FakeNcclTest, AfterStopNothingIsSent) {
  open(Execution::as_late_as_possible);
  comm->stop();
  const Send send{1, bytes_at(x)};
  EXPECT_TRUE(comm->exchange({&send, 1}, {}, comm_stream).error().is(err::kCudaFails));
  EXPECT_FALSE(comm->check().ok());
  EXPECT_EQ(close(), std::vector<std::string>());
}

TEST(Nccl, AVersionIsThatOfTheLibrary) { EXPECT_EQ(nccl_version(fake_nccl()), "2.32.3"); }

TEST(Nccl, ALibraryThatIsNotThereIsNamed) {
  ::setenv("HONE_NCCL", "/nowhere/libnccl.so.2", 1);
  const Result<Nccl> nccl = load_nccl();
  ::unsetenv("HONE_NCCL");
  ASSERT_FALSE(nccl.ok());
  EXPECT_TRUE(nccl.error().is(err::kNoNccl));
}

}  // namespace
}  // namespace hone::cuda
