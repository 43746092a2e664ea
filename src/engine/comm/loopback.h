// Groups whose ranks are threads of one process, to test collectives and programs on several ranks.
//
//   LoopbackWorld world(3);
//   HONE_TRY(world.run([&](Group& group) { return train(group); }));  // a thread for each rank
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/comm/group.h"

namespace hone {

class LoopbackWorld {
 public:
  explicit LoopbackWorld(int ranks);
  ~LoopbackWorld();

  int ranks() const { return static_cast<int>(groups_.size()); }
  // The group of a rank. It lives as long as the world. After an exchange of the group has failed, or after its stop(),
  // exchanges of other ranks with this rank return H1502, as if the rank's process had ended. H1504: the sent and the
  // received length of a message differ.
  Group& group(int rank) { return *groups_[static_cast<size_t>(rank)]; }

  // Calls fn(group) on a thread for each rank, and waits for all. Returns the error of the lowest rank that has an
  // error. If fn fails on a rank, the exchanges of other ranks with this rank fail too.
  Status run(const std::function<Status(Group&)>& fn);

 private:
  struct Shared;
  class End;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Group>> groups_;
};

// The group of a run that has one rank.
std::unique_ptr<Group> single_group();

}  // namespace hone
