// Limits the log of one thread to errors. If the ranks of a run are threads of one process, only rank 0 logs all lines.
//
//   const QuietThread quiet(rank > 0);   // from here on this thread logs errors only
#pragma once

namespace hone {

class QuietThread {
 public:
  // `on` false: the object does nothing.
  explicit QuietThread(bool on = true);
  ~QuietThread();  // the thread logs all lines again
  QuietThread(const QuietThread&) = delete;

 private:
  bool on_;
};

}  // namespace hone
