// Buffers lines of the log for a reporter, which takes them later and sends them to a server or writes them to a file.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hone {

// Any thread may add lines. It never waits for the reporter: the reporter itself may log while it writes lines, so a
// wait could deadlock.
class LineBox {
 public:
  // Lines before open() and after close() are dropped.
  void open() { set_open(true); }
  void close() { set_open(false); }
  void add(std::string line) {
    std::lock_guard lock(mutex_);
    if (open_) lines_.push_back(std::move(line));
  }
  std::vector<std::string> take() {  // removes and returns the lines since the last call
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
