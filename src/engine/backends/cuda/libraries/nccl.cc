#include "engine/backends/cuda/libraries/nccl.h"

#include <cstring>

#include "engine/backends/cuda/libraries/errors.h"
#include "engine/backends/cuda/libraries/library.h"
#include "engine/comm/errors.h"

namespace hone::cuda {
namespace {

constexpr const char* kNcclNames[] = {"libnccl.so.2"};

Error no_nccl(const std::string& text) {
  return Error(err::kNoNccl, text)
      .todo(
          "make cuda; or install the wheel nvidia-nccl-cu13 (nvidia-nccl-cu12 for drivers before "
          "580) and set "
          "HONE_NCCL to its libnccl.so.2; or use one rank");
}

Status nccl_status(const Nccl& nccl, ncclResult_t result, std::string_view what) {
  if (result == ncclSuccess || result == ncclInProgress) return Ok{};
  // The network or the process of another rank.
  if (result == ncclRemoteError || result == ncclSystemError)
    return Error(err::kPeerLost,
                 fmt::format("{} found no other rank: {}", what, nccl.ncclGetErrorString(result)))
        .todo("see the last lines of the other ranks; NCCL_DEBUG=WARN prints NCCL's own messages");
  return Error(err::kCudaFails,
               fmt::format("{} failed: {}", what, nccl.ncclGetErrorString(result)));
}

}  // namespace

Result<Nccl> load_nccl() {
  std::string why;
  const std::optional<Module> library = load_library("HONE_NCCL", kNcclNames, 0, why);
  if (!library) return no_nccl(why);
  Nccl nccl;
#define HONE_NCCL(name, result, arguments)                 \
  nccl.name = library->symbol<result(*) arguments>(#name); \
  if (nccl.name == nullptr) return no_nccl("libnccl.so.2 has no " #name);
#include "engine/backends/cuda/libraries/nccl.def"
#undef HONE_NCCL
  return nccl;
}

std::string nccl_version(const Nccl& nccl) {
  int version = 0;
  if (nccl.ncclGetVersion(&version) != ncclSuccess) return "unknown";
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Result<std::string> NcclComm::new_id(const Nccl& nccl) {
  ncclUniqueId id{};
  HONE_TRY(nccl_status(nccl, nccl.ncclGetUniqueId(&id), "ncclGetUniqueId"));
  return std::string(id.internal, sizeof id.internal);
}

Result<std::unique_ptr<NcclComm>> NcclComm::connect(const Nccl& nccl, const std::string& id,
                                                    int rank, int ranks) {
  ncclUniqueId unique{};
  if (id.size() != sizeof unique.internal)
    return Error(err::kCudaFails, fmt::format("an id of NCCL has {} bytes, not {}", id.size(),
                                              sizeof unique.internal));
  std::memcpy(unique.internal, id.data(), id.size());
  std::unique_ptr<NcclComm> made(new NcclComm(nccl, rank));
  ncclComm_t comm = nullptr;
  HONE_TRY(
      nccl_status(nccl, nccl.ncclCommInitRank(&comm, ranks, unique, rank), "ncclCommInitRank"));
  made->comm_ = comm;
  return made;
}

NcclComm::~NcclComm() {
  if (ncclComm_t comm = comm_.exchange(nullptr)) nccl_.ncclCommDestroy(comm);
}

void NcclComm::stop() {
  if (ncclComm_t comm = comm_.exchange(nullptr)) nccl_.ncclCommAbort(comm);
}

Status NcclComm::check() const {
  ncclComm_t comm = comm_;
  ncclResult_t error = ncclSuccess;
  if (comm == nullptr) return Error(err::kCudaFails, "communication between GPUs was ended");
  HONE_TRY(nccl_status(nccl_, nccl_.ncclCommGetAsyncError(comm, &error), "ncclCommGetAsyncError"));
  return nccl_status(nccl_, error, "communication between GPUs");
}

Status NcclComm::exchange(std::span<const Send> sends, std::span<const Receive> receives,
                          CUstream stream) {
  ncclComm_t comm = comm_;
  if (comm == nullptr) return Error(err::kCudaFails, "communication between GPUs was ended");
  HONE_TRY(nccl_status(nccl_, nccl_.ncclGroupStart(), "ncclGroupStart"));
  ncclResult_t result = ncclSuccess;
  const auto keep = [&](ncclResult_t r) { result = result == ncclSuccess ? r : result; };
  for (const Receive& r : receives) {
    HONE_BUG_IF(r.bytes.empty() || r.from == rank_, "a message of GPUs from rank {}", r.from);
    keep(nccl_.ncclRecv(r.bytes.data(), r.bytes.size(), ncclUint8, r.from, comm, stream));
  }
  for (const Send& s : sends) {
    HONE_BUG_IF(s.bytes.empty() || s.to == rank_, "a message of GPUs to rank {}", s.to);
    keep(nccl_.ncclSend(s.bytes.data(), s.bytes.size(), ncclUint8, s.to, comm, stream));
  }
  keep(nccl_.ncclGroupEnd());
  return nccl_status(nccl_, result, "an exchange between GPUs");
}

}  // namespace hone::cuda
