#include "engine/comm/group.h"

#include <algorithm>
#include <cstring>

#include "engine/comm/errors.h"

namespace hone {

Group::Group(std::string name, int rank, int ranks)
    : name_(std::move(name)),
      rank_(rank),
      ranks_(ranks),
      sent_(new std::atomic<int64_t>[static_cast<size_t>(ranks)]()),
      received_(new std::atomic<int64_t>[static_cast<size_t>(ranks)]()) {
  HONE_BUG_IF(ranks < 1 || rank < 0 || rank >= ranks, "rank {} of {}", rank, ranks);
}

int64_t Group::total(const std::atomic<int64_t>* counts) const {
  int64_t sum = 0;
  for (int r = 0; r < ranks_; ++r) sum += counts[r];
  return sum;
}

Result<std::unique_ptr<Group>> Group::another(const std::string& name) const {
  return Error(err::kCommEngine, fmt::format("{} makes no group {} beside its first", name_, name));
}

Status Group::state() const {
  std::lock_guard lock(mutex_);
  if (closed_) return *closed_;
  return Ok{};
}

void Group::stop(const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    if (!closed_)
      closed_ =
          Error(err::kCommStopped, fmt::format("communication of rank {} ended: {}", rank_, why));
  }
  wake();
}

Status Group::exchange(std::span<const Send> sends, std::span<const Receive> receives) {
  HONE_TRY(state());
  sends_.clear();
  receives_.clear();
  auto from_self = receives.begin();
  const auto is_from_self = [&](const Receive& r) { return r.from == rank_ && !r.bytes.empty(); };
  for (const Send& s : sends) {
    HONE_BUG_IF(s.to < 0 || s.to >= ranks_, "a message to rank {} of {}", s.to, ranks_);
    if (s.bytes.empty()) continue;
    if (s.to != rank_) {
      sends_.push_back(s);
      continue;
    }
    from_self = std::find_if(from_self, receives.end(), is_from_self);
    HONE_BUG_IF(from_self == receives.end() || from_self->bytes.size() != s.bytes.size(),
                "rank {} sends itself {} bytes that it does not receive", rank_, s.bytes.size());
    std::memmove(from_self->bytes.data(), s.bytes.data(), s.bytes.size());
    ++from_self;
  }
  HONE_BUG_IF(std::find_if(from_self, receives.end(), is_from_self) != receives.end(),
              "rank {} waits for a message of its own", rank_);
  for (const Receive& r : receives) {
    HONE_BUG_IF(r.from < 0 || r.from >= ranks_, "a message from rank {} of {}", r.from, ranks_);
    if (!r.bytes.empty() && r.from != rank_) receives_.push_back(r);
  }
  if (sends_.empty() && receives_.empty()) return Ok{};

  Status done = transfer(sends_, receives_);
  if (!done.ok()) {
    std::lock_guard lock(mutex_);
    if (!closed_) closed_ = done.error();
    return *closed_;
  }
  for (const Send& s : sends_)
    sent_[static_cast<size_t>(s.to)] += static_cast<int64_t>(s.bytes.size());
  for (const Receive& r : receives_)
    received_[static_cast<size_t>(r.from)] += static_cast<int64_t>(r.bytes.size());
  return Ok{};
}

}  // namespace hone
