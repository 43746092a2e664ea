// Messages between the GPUs of a run. All ranks of a group share one NCCL communicator. Its messages are work of
// the queue of the lane `comm`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/backends/cuda/device.h"
#include "engine/backends/cuda/libraries/nccl.h"
#include "engine/comm/group.h"

namespace hone::cuda {

// Loads NCCL for the ranks of a group. Error H1346: it is not installed.
using LoadNccl = std::function<Result<Nccl>(Group&)>;

class RankComm {
 public:
  // Connects the GPUs of all ranks. Every rank of the group must call it; each waits for the others. Errors: H1346 NCCL
  // is not installed, H1342 NCCL fails, errors of the group.
  static Result<std::unique_ptr<RankComm>> connect(CudaDevice& device, const LoadNccl& load,
                                                   Group& group);
  ~RankComm();

  // Puts messages into the queue and returns at once. The messages' bytes are in GPU memory. Messages of 0 bytes are
  // skipped. The device keeps a failure (Device::keep_failure).
  void exchange(std::span<const Send> sends, std::span<const Receive> receives, CudaQueue& queue);
  // Looks for failures of the messages under way and of the group. On a failure, the device keeps the first one, and
  // messages that wait for a rank are ended. Any thread may call it.
  void look();

 private:
  RankComm(CudaDevice& device, Group& group, std::unique_ptr<NcclComm> comm);
  void watch();

  CudaDevice& device_;
  Group& group_;
  std::unique_ptr<NcclComm> comm_;
  std::atomic<bool> is_lost_ = false;
  std::vector<Send> sends_;  // of one exchange
  std::vector<Receive> receives_;
  std::mutex looking_, mutex_;
  std::condition_variable end_;
  bool is_over_ = false;
  // Calls look() every 100 ms, because a host thread that waits for a stream does not.
  std::thread thread_;
};

}  // namespace hone::cuda
