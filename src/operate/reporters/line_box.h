// Buffers lines of the log on their way to a server or a file, in the receiver's form.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hone {

// Any thread adds lines, and must not wait for the receiver: a writer into a bucket logs too.
class LineBox {
 public:
  // Lines before open() and after close() are dropped.
  void open() { set_open(true); }
  void close() { set_open(false); }
  void add(std::string line) {
    std::lock_guard lock(mutex_);
    if (open_) lines_.push_back(std::move(line));
  }
  std::vector<std::string> take() {  // lines since the last call
    std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  void set_open(bool open) {
    std::lock_guard lock(mutex_);
    open_ = open;
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  bool open_ = false;
};

}  // namespace hone
