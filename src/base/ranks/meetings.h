// Meetings of all ranks by name: each rank brings bytes and gets those of all, in order of ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hone {

class Meetings {
 public:
  explicit Meetings(int ranks) : ranks_(ranks) {}

  struct Guest {
    int64_t connection, id;  // id: of the request, for its answer
    std::string bytes;
  };
  // The guests by rank when the last one has come; none before. A rank that comes twice replaces itself.
  std::vector<Guest> come(const std::string& name, int rank, Guest guest, double now);

  struct Open {
    double since = 0;  // arrival of the first guest
    std::map<int, Guest> guests;
  };
  const std::map<std::string, Open>& open() const { return open_; }  // by name

 private:
  int ranks_;
  std::map<std::string, Open> open_;
};

}  // namespace hone
