// Holds back SIGINT and SIGTERM until all ranks of a run know of the stop, so that all ranks stop after the same step.
// While a HeldStops exists, a signal does not change stop_requested() (base/core/signals.h).
//
//   const HeldStops held;                 // from here on signals are held back
//   if (HeldStops::waiting() != 0) ...    // a signal came: send it to the other ranks
//   request_stop(SIGTERM);                // all ranks know of it: stop_requested() is true from here on
#pragma once

namespace hone {

class HeldStops {
 public:
  // `on` false: the object does nothing. If ranks are threads of this process, each has its own HeldStops.
  explicit HeldStops(bool on = true);
  // If this is the last HeldStops of the process, a signal that is still held back becomes a stop request.
  ~HeldStops();
  HeldStops(const HeldStops&) = delete;

  // The signal that is held back: SIGINT or SIGTERM; 0: none. A second SIGINT ends the program at once.
  static int waiting();

 private:
  bool on_;
};

}  // namespace hone
