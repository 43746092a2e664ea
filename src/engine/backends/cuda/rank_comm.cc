#include "engine/backends/cuda/rank_comm.h"

#include <chrono>

#include "base/core/log.h"
#include "engine/backends/cuda/libraries/errors.h"
#include "engine/comm/collectives.h"

namespace hone::cuda {
namespace {

constexpr std::chrono::milliseconds kLookEvery{100};
constexpr size_t kNcclIdBytes = sizeof(ncclUniqueId);

// A rank that cannot make the id sends zeros, so that the others end too.
Result<std::string> shared_id(const Nccl& nccl, Group& group) {
  Result<std::string> made = std::string(kNcclIdBytes, '\0');
  if (group.rank() == 0) made = NcclComm::new_id(nccl);
  std::string id = made.ok() ? *made : std::string(kNcclIdBytes, '\0');
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(id.data(), id.size()));
  HONE_TRY(broadcast(group, 0, {&bytes, 1}));
  if (!made.ok()) return std::move(made.error());
  if (id == std::string(kNcclIdBytes, '\0'))
    return Error(err::kCudaFails, "rank 0 has no id for the communication between GPUs");
  return id;
}

}  // namespace

Result<std::unique_ptr<RankComm>> RankComm::connect(CudaDevice& device, const LoadNccl& load,
                                                    Group& group) {
  if (!load) return Error(err::kNoNccl, "this device has no NCCL");
  const Nccl nccl = HONE_TRY(load(group));
  const std::string id = HONE_TRY(shared_id(nccl, group));
  device.make_current();
  auto comm = HONE_TRY(NcclComm::connect(nccl, id, group.rank(), group.ranks()));
  log_debug("rank {} of {}: tensors go from GPU to GPU by NCCL {}", group.rank(), group.ranks(),
            nccl_version(nccl));
  return std::unique_ptr<RankComm>(new RankComm(device, group, std::move(comm)));
}

RankComm::RankComm(CudaDevice& device, Group& group, std::unique_ptr<NcclComm> comm)
    : device_(device), group_(group), comm_(std::move(comm)), thread_([this] { watch(); }) {
  device_.set_look([this] { look(); });
}

RankComm::~RankComm() {
  device_.set_look(nullptr);
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  end_.notify_all();
  thread_.join();
  device_.make_current();
  comm_.reset();
}

void RankComm::exchange(std::span<const Send> sends, std::span<const Receive> receives,
                        CudaQueue& queue) {
  sends_.clear();
  receives_.clear();
  for (const Send& s : sends)
    if (!s.bytes.empty()) sends_.push_back(s);
  for (const Receive& r : receives)
    if (!r.bytes.empty()) receives_.push_back(r);
  if (sends_.empty() && receives_.empty()) return;
  Status given = comm_->exchange(sends_, receives_, queue.stream());
  if (!given.ok()) device_.keep_failure(std::move(given.error()));
}

void RankComm::look() {
  const std::lock_guard one(looking_);
  if (is_lost_) return;
  device_.make_current();
  Status now = group_.state();
  if (now.ok()) now = comm_->check();
  if (now.ok()) return;
  is_lost_ = true;
  const std::string node = device_.collective();
  Error failure = std::move(now.error());
  device_.keep_failure(node.empty() ? std::move(failure) : std::move(failure.at(node)));
  comm_->stop();
}

void RankComm::watch() {
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, kLookEvery, [this] { return is_over_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

}  // namespace hone::cuda
