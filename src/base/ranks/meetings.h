// Meetings, by which all ranks exchange bytes (ControlClient::gather). A meeting has a name. Each rank comes to it and
// brings its bytes; when all ranks have come, each gets the bytes of all.
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

  // A rank that has come.
  struct Guest {
    int64_t connection, id;  // the connection and the id of its request, for the answer
    std::string bytes;
  };
  // Adds a guest to a meeting. If it is the last one, ends the meeting and returns all guests in the order of ranks;
  // else returns an empty vector. A second guest of the same rank replaces the first one.
  std::vector<Guest> come(const std::string& name, int rank, Guest guest, double now);

  // A meeting to which not all ranks have come.
  struct Open {
    double since = 0;             // the time at which the first guest came
    std::map<int, Guest> guests;  // by rank
  };
  const std::map<std::string, Open>& open() const { return open_; }  // by name

 private:
  int ranks_;
  std::map<std::string, Open> open_;
};

}  // namespace hone
