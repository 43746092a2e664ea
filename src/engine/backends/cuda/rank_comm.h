// Messages between the GPUs of a run: one NCCL communicator for the device's group, whose messages are work of
// the queue `comm`.
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

// Loads NCCL for the ranks of a group. Error H1346.
using LoadNccl = std::function<Result<Nccl>(Group&)>;

class RankComm {
 public:
  // Every rank of the group calls it, and waits for the others. Errors: H1346, H1342, those of the group.
  static Result<std::unique_ptr<RankComm>> connect(CudaDevice& device, const LoadNccl& load,
                                                   Group& group);
  ~RankComm();

  // Gives messages between device memory of ranks of the group to the queue; those of no bytes are skipped.
  void exchange(std::span<const Send> sends, std::span<const Receive> receives, CudaQueue& queue);
  // The device keeps the first failure of messages that are under way, and of the group. Messages that wait
  // end then. Any thread.
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
  std::thread thread_;  // looks regularly: a host that waits for a stream does not
};

}  // namespace hone::cuda
