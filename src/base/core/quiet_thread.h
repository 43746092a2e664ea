// Ranks of a run that are threads of one process: rank 0 logs, the others log errors alone.
//
//   const QuietThread quiet(rank > 0);   // lines of this thread above errors are dropped
#pragma once

namespace hone {

class QuietThread {
 public:
  // `on`: false does nothing.
  explicit QuietThread(bool on = true);
  ~QuietThread();
  QuietThread(const QuietThread&) = delete;

 private:
  bool on_;
};

}  // namespace hone
