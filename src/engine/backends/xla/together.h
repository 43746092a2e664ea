// The meeting point of ranks that are threads of one process, each with one device of a common client.
// They meet to compile their programs as one module, and to run it on all devices at once.
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

  // Waits until all ranks have called it. The last one to call runs its `work` with the pointers `mine` of all ranks,
  // by rank; the status of `work` is returned to all. All ranks must call meet() for the same purposes in the same
  // order. H1502: a rank has left.
  Status meet(int rank, void* mine, FunctionRef<Status(std::span<void* const>)> work);
  // Ends the meetings: this rank takes part in no further one. From now on meet() returns H1502 to the other ranks,
  // even if they already wait in it.
  void leave(int rank);

 private:
  Status gone() const;
  std::shared_ptr<const Client> client_;
  std::mutex mutex_;
  std::condition_variable met_;
  std::vector<void*> given_;  // the pointers `mine`, by rank
  int here_ = 0;              // number of ranks that wait
  int64_t meetings_ = 0;      // number of meetings that are over
  int left_ = -1;             // the first rank that left; -1: none
  Status status_ = Ok{};      // the status of the last meeting
};

}  // namespace hone::xla
