#include "engine/comm/loopback.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/comm/errors.h"
#include "engine/comm/faults.h"

namespace hone {
namespace {

class SingleGroup : public Group {
 public:
  SingleGroup() : Group("single", 0, 1) {}

 protected:
  Status transfer(std::span<const Send>, std::span<const Receive>) override { return Ok{}; }
  void wake() override {}
};

}  // namespace

struct LoopbackWorld::Shared {
  // A message that its receiver has not copied yet.
  struct Offer {
    std::span<const std::byte> bytes;
    int* open = nullptr;  // of the sender: the number of its messages that are not copied
  };
  explicit Shared(int n)
      : ranks(static_cast<size_t>(n)), offers(ranks * ranks), is_gone(ranks), is_wrong(ranks) {}
  std::deque<Offer>& offered(int from, int to) {
    return offers[static_cast<size_t>(from) * ranks + static_cast<size_t>(to)];
  }
  bool gone(int rank) const { return is_gone[static_cast<size_t>(rank)]; }

  size_t ranks;
  std::mutex mutex;  // of all members below
  std::condition_variable changed;
  std::vector<std::deque<Offer>> offers;  // by sender, then receiver
  std::vector<char> is_gone;              // by rank: takes part in no further message
  std::vector<char> is_wrong;             // by rank: its receiver waits for another length
};

class LoopbackWorld::End : public Group {
 public:
  End(Shared& shared, int rank)
      : Group("loopback", rank, static_cast<int>(shared.ranks)), shared_(shared) {}

 protected:
  Status transfer(std::span<const Send> sends, std::span<const Receive> receives) override {
    std::unique_lock lock(shared_.mutex);
    if (shared_.gone(rank())) return peer_lost(rank(), rank(), "it ended");
    int open = static_cast<int>(sends.size());
    for (const Send& s : sends) shared_.offered(rank(), s.to).push_back({s.bytes, &open});
    shared_.changed.notify_all();
    Status done = receive_all(receives, lock);
    if (done.ok()) done = wait_for_receivers(sends, open, lock);
    if (done.ok()) return done;

    shared_.is_gone[static_cast<size_t>(rank())] = true;
    for (int to = 0; to < ranks(); ++to) {
      open -= static_cast<int>(shared_.offered(rank(), to).size());
      shared_.offered(rank(), to).clear();
    }
    shared_.changed.notify_all();
    shared_.changed.wait(lock, [&] { return open == 0; });  // the others are copying them
    return done;
  }

  void wake() override {
    std::lock_guard lock(shared_.mutex);
    shared_.is_gone[static_cast<size_t>(rank())] = true;
    shared_.changed.notify_all();
  }

 private:
  Status receive_all(std::span<const Receive> receives, std::unique_lock<std::mutex>& lock) {
    for (const Receive& r : receives) {
      std::deque<Shared::Offer>& offers = shared_.offered(r.from, rank());
      shared_.changed.wait(
          lock, [&] { return !offers.empty() || shared_.gone(r.from) || shared_.gone(rank()); });
      if (shared_.gone(rank()) || offers.empty()) return peer_lost(rank(), r.from, "it ended");
      const Shared::Offer offer = offers.front();
      if (offer.bytes.size() != r.bytes.size()) {
        shared_.is_wrong[static_cast<size_t>(r.from)] = true;
        return message_differs(rank(), r.from, r.bytes.size(), offer.bytes.size());
      }
      offers.pop_front();
      lock.unlock();
      std::memcpy(r.bytes.data(), offer.bytes.data(), r.bytes.size());
      lock.lock();
      --*offer.open;
      shared_.changed.notify_all();
    }
    return Ok{};
  }

  Status wait_for_receivers(std::span<const Send> sends, const int& open,
                            std::unique_lock<std::mutex>& lock) {
    const auto gone_receiver = [&]() -> const Send* {
      for (const Send& s : sends)
        if (shared_.gone(s.to) && !shared_.offered(rank(), s.to).empty()) return &s;
      return nullptr;
    };
    shared_.changed.wait(
        lock, [&] { return open == 0 || shared_.gone(rank()) || gone_receiver() != nullptr; });
    if (open == 0) return Ok{};
    const Send* s = gone_receiver();
    if (shared_.is_wrong[static_cast<size_t>(rank())] && s != nullptr)
      return Error(err::kMessageDiffers,
                   fmt::format("rank {} sends rank {} messages of other lengths than it waits for",
                               rank(), s->to));
    return peer_lost(rank(), s != nullptr ? s->to : rank(), "it ended");
  }

  Shared& shared_;
};

LoopbackWorld::LoopbackWorld(int ranks) : shared_(std::make_unique<Shared>(ranks)) {
  for (int r = 0; r < ranks; ++r) groups_.push_back(std::make_unique<End>(*shared_, r));
}
LoopbackWorld::~LoopbackWorld() = default;

std::unique_ptr<Group> single_group() { return std::make_unique<SingleGroup>(); }

Status LoopbackWorld::run(const std::function<Status(Group&)>& fn) {
  std::vector<Status> results(groups_.size(), Status(Ok{}));
  std::vector<std::thread> threads;
  for (size_t r = 0; r < groups_.size(); ++r)
    threads.emplace_back([&, r] {
      results[r] = fn(*groups_[r]);
      if (!results[r].ok()) groups_[r]->stop("its thread failed");
    });
  for (std::thread& t : threads) t.join();
  for (Status& s : results) HONE_TRY(std::move(s));
  return Ok{};
}

}  // namespace hone
