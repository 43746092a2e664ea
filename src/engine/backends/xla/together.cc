#include "engine/backends/xla/together.h"

#include "engine/backends/xla/client.h"
#include "engine/comm/errors.h"

namespace hone::xla {

Together::Together(std::shared_ptr<const Client> client, int ranks)
    : client_(std::move(client)), given_(static_cast<size_t>(ranks), nullptr) {}

Status Together::gone() const {
  return Error(err::kPeerLost, fmt::format("rank {} has ended", left_));
}

Status Together::meet(int rank, void* mine, FunctionRef<Status(std::span<void* const>)> work) {
  std::unique_lock lock(mutex_);
  if (left_ >= 0) return gone();
  given_[static_cast<size_t>(rank)] = mine;
  if (++here_ == ranks()) {
    status_ = work(given_);
    here_ = 0;
    ++meetings_;
    met_.notify_all();
    return status_;
  }
  const int64_t meeting = meetings_;
  met_.wait(lock, [&] { return meetings_ > meeting || left_ >= 0; });
  if (meetings_ > meeting) return status_;
  --here_;
  return gone();
}

void Together::leave(int rank) {
  const std::lock_guard lock(mutex_);
  if (left_ < 0) left_ = rank;
  met_.notify_all();
}

}  // namespace hone::xla
