// Ranks that are threads of one process, each with a device of one client: they meet to compile their
// programs as one module, and to run it on all devices at once.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/core/error.h"
#include "base/core/threads.h"

namespace hone::xla {

class Client;

class Together {
 public:
  Together(std::shared_ptr<const Client> client, int ranks);

  const std::shared_ptr<const Client>& client() const { return client_; }
  int ranks() const { return static_cast<int>(given_.size()); }

  // All ranks call it in the same order, each with its own `mine`. The last one calls work(all), by
  // rank, while the others wait; its status is that of all. H1502: a rank has left.
  Status meet(int rank, void* mine, FunctionRef<Status(std::span<void* const>)> work);
  // This rank comes to no further meeting, so that the others do not wait for it.
  void leave(int rank);

 private:
  Status gone() const;
  std::shared_ptr<const Client> client_;
  std::mutex mutex_;
  std::condition_variable met_;
  std::vector<void*> given_;  // by rank
  int here_ = 0;              // ranks that wait
  int64_t meetings_ = 0;      // that are over
  int left_ = -1;             // the first rank that left
  Status status_ = Ok{};      // of the last meeting
};

}  // namespace hone::xla
