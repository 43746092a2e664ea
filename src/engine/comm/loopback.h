// Groups for the threads of one process: tests of collectives and of programs on several ranks.
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
  // Lives as long as the world. After an exchange of one group fails, or its stop(), exchanges of
  // the others with it fail with H1502, as if its process had ended. H1504: the two ends of a
  // message differ in length.
  Group& group(int rank) { return *groups_[static_cast<size_t>(rank)]; }

  // Calls fn(group) on a thread for each rank, and returns the error of the lowest rank that has
  // one. A rank that fails ends the communication of the others.
  Status run(const std::function<Status(Group&)>& fn);

 private:
  struct Shared;
  class End;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Group>> groups_;
};

// The group of a run of one rank.
std::unique_ptr<Group> single_group();

}  // namespace hone
