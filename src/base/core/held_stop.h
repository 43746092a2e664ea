// A stop request that waits until all ranks of a run know of it: they stop after the same step.
//
//   const HeldStops held;                 // signals wait from here on
//   if (HeldStops::waiting() != 0) ...    // tell the other ranks
//   request_stop(SIGTERM);                // all know of it: stop_requested() is true from here on
#pragma once

namespace hone {

class HeldStops {
 public:
  // `on`: false does nothing. Ranks that are threads of this process have one each.
  explicit HeldStops(bool on = true);
  ~HeldStops();  // of the last one: a signal that still waits becomes a stop request
  HeldStops(const HeldStops&) = delete;

  // The signal that waits: 0, SIGINT or SIGTERM. A second SIGINT ends the program at once.
  static int waiting();

 private:
  bool on_;
};

}  // namespace hone
