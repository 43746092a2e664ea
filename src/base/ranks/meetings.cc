#include "base/ranks/meetings.h"

namespace hone {

std::vector<Meetings::Guest> Meetings::come(const std::string& name, int rank, Guest guest,
                                            double now) {
  const auto [it, is_new] = open_.try_emplace(name);
  if (is_new) it->second.since = now;
  it->second.guests.insert_or_assign(rank, std::move(guest));
  std::vector<Guest> all;
  if (static_cast<int>(it->second.guests.size()) < ranks_) return all;
  for (auto& [of, each] : it->second.guests) all.push_back(std::move(each));
  open_.erase(it);
  return all;
}

}  // namespace hone
