// Copies the output of several processes to one output. Each line begins with the name of its process.
#pragma once

#include <string>
#include <string_view>

#include "base/core/file_descriptor.h"

namespace hone {

class ChildLines {
 public:
  // Reads from `from`, the read end of a pipe, which becomes non-blocking. Writes whole lines, each after `prefix`, to
  // `to`, an open file descriptor of this process. If `to` is standard error, lines that begin with '{' get no prefix:
  // they are log lines in JSON, which have the rank as a label.
  ChildLines(FileDescriptor from, int to, std::string prefix);
  int fd() const { return from_.get(); }
  // Copies the lines that can be read now. Returns false if `from` has ended; then the last line was copied even if it
  // has no line break.
  bool copy();

 private:
  void put_lines(bool all);
  FileDescriptor from_;
  int to_;
  std::string prefix_, partial_;
};

// Removes the whole lines from `partial` and returns them, each after `prefix`. The rest after the last line break is
// taken as a line too if `all`, or if it is longer than 64 KiB. If `spares_json`, lines that begin with '{' get no
// prefix.
std::string take_lines(std::string& partial, const std::string& prefix, bool all,
                       bool spares_json = false);

}  // namespace hone
