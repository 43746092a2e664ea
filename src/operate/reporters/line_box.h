// Lines of the log on their way to a server or a file, in the form that it wants.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hone {

// Lines come from any thread, and must not wait for who takes them: a writer into a bucket logs too.
class LineBox {
 public:
  // Until open(), and after close(), lines are dropped.
  void open() { set_open(true); }
  void close() { set_open(false); }
  void add(std::string line) {
    std::lock_guard lock(mutex_);
    if (open_) lines_.push_back(std::move(line));
  }
  std::vector<std::string> take() {  // those since the last time
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
