// The part of NCCL that hone calls: messages between GPUs, on a stream. It is a table of functions, filled from
// the library or by an emulated library. Names, arguments and values are those of NVIDIA's NCCL
// documentation (chapter API); NCCL's header is not needed. NCCL's own reductions are not used, because
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

// Loads the library at the path in the environment variable HONE_NCCL, else the one that the system's loader finds.
// Error H1346: the library is missing or lacks a function.
Result<Nccl> load_nccl();
std::string nccl_version(const Nccl& nccl);  // "2.32.3"; "unknown" if NCCL fails

// A communicator: connects this process's GPU with those of all ranks. Errors of all functions: H1502 another rank or
// the network is gone; H1342 NCCL fails.
class NcclComm {
 public:
  // Makes the 128 bytes that identify a communicator. Rank 0 calls it and sends the id to all ranks.
  static Result<std::string> new_id(const Nccl& nccl);
  // Connects the current CUDA device. Every rank calls it with the same id, and waits for the other ranks.
  static Result<std::unique_ptr<NcclComm>> connect(const Nccl& nccl, const std::string& id,
                                                   int rank, int ranks);
  // Waits until all messages are done; the other ranks must send and receive them too. Does not wait after stop().
  ~NcclComm();

  // Puts messages into the stream and returns at once. The messages' bytes are in device memory. Messages between two
  // ranks arrive in the order in which they are sent (Group::exchange). A message of 0 bytes, or to this rank itself,
  // is a bug.
  Status exchange(std::span<const Send> sends, std::span<const Receive> receives, CUstream stream);
  // The first error of the messages under way; Ok: none. H1342 after stop().
  Status check() const;
  // Aborts messages that wait for a rank, so that their stream continues. Any thread may call it.
  void stop();

 private:
  NcclComm(const Nccl& nccl, int rank) : nccl_(nccl), rank_(rank) {}
  Nccl nccl_;
  int rank_;
  std::atomic<ncclComm_t> comm_ = nullptr;
};

}  // namespace hone::cuda
