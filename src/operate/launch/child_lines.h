// Lines of several processes on one output: each begins with the name of its process.
#pragma once

#include <string>
#include <string_view>

#include "base/core/file_descriptor.h"

namespace hone {

class ChildLines {
 public:
  // Copies whole lines of `from` to `to`, an open file of this process. Standard error has JSON lines for
  // machines, with the rank as a label: these get no prefix.
  ChildLines(FileDescriptor from, int to, std::string prefix);
  int fd() const { return from_.get(); }
  // Copies the bytes that are there; false: the end of `from` was reached, and its last line is copied.
  bool copy();

 private:
  void put_lines(bool all);
  FileDescriptor from_;
  int to_;
  std::string prefix_, partial_;
};

// Cuts `partial` after its last line break, or at its end with `all` or if it is long; returns the lines
// before it, each with the prefix; with `spares_json` not those that begin with '{'.
std::string take_lines(std::string& partial, const std::string& prefix, bool all,
                       bool spares_json = false);

}  // namespace hone
