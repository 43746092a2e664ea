// NCCL as far as hone calls it: messages between GPUs, on a stream. A table of functions, filled from
// the library or by one that is emulated. Names, arguments and values are those of NVIDIA's NCCL
// documentation (chapter API); its header is not needed. NCCL's own reductions are not used, because
// their order of addition depends on channels and topology.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "engine/backends/cuda/libraries/driver.h"
#include "engine/comm/message.h"

namespace hone::cuda {

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};
enum ncclDataType_t : int { ncclUint8 = 1 };
struct ncclUniqueId {
  char internal[128];
};
using ncclComm_t = struct ncclComm*;

struct Nccl {
#define HONE_NCCL(name, result, arguments) result(*name) arguments = nullptr;
#include "engine/backends/cuda/libraries/nccl.def"
#undef HONE_NCCL
};

// The library at HONE_NCCL, else the one that the system's loader finds. Error H1346.
Result<Nccl> load_nccl();
std::string nccl_version(const Nccl& nccl);  // "2.32.3"

// A communicator: this process's GPU among those of all ranks.
class NcclComm {
 public:
  // Bytes that rank 0 makes and gives to all ranks. Error H1342.
  static Result<std::string> new_id(const Nccl& nccl);
  // Connects the current device. Every rank calls it with the same id, and waits for the others.
  static Result<std::unique_ptr<NcclComm>> connect(const Nccl& nccl, const std::string& id,
                                                   int rank, int ranks);
  // Waits until the messages are done, which other ranks must join; after stop() it does not.
  ~NcclComm();

  // Gives messages from and to device memory to the stream, as Group::exchange() orders them: those
  // of a pair arrive in order. Messages of no bytes and to this rank itself are refused as bugs.
  Status exchange(std::span<const Send> sends, std::span<const Receive> receives, CUstream stream);
  // The first error of messages that are under way. Errors: H1502 another rank or the network is gone, H1342.
  Status check() const;
  // Ends messages that wait for a rank, so that their stream continues. Any thread.
  void stop();

 private:
  NcclComm(const Nccl& nccl, int rank) : nccl_(nccl), rank_(rank) {}
  Nccl nccl_;
  int rank_;
  std::atomic<ncclComm_t> comm_ = nullptr;
};

}  // namespace hone::cuda
