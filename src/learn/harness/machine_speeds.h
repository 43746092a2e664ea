// What this machine does in a second, measured once and kept in a file for every later run.
//
// The file is speeds.json in $HONE_CACHE, else in $XDG_CACHE_HOME/hone, else in ~/.cache/hone. Its keys
// are processor, instruction set, threads and version of hone; of a disk the folder's device. Without a
// file that can be written each run measures again. Where other programs computed meanwhile, a run that
// begins ten minutes later measures again too. Deleting the file does no harm.
#pragma once

#include <optional>

#include "engine/device/backend.h"
#include "engine/plan/op_speeds.h"
#include "learn/train/settings.h"

namespace hone {

std::string speeds_file();

struct SpeedsWanted {
  bool bf16 = false;
  std::string disk_folder =
      {};               // where something is offloaded to a disk; "": its speed does not matter
  bool measure = true;  // else only what the file says

  // What a run of these settings depends on; `choices`: and what it may be changed to.
  static SpeedsWanted of(const TrainSettings& s, bool choices);
};

struct MachineSpeeds {
  Speeds speeds;     // points into `ops`
  std::string name;  // "AMD EPYC, avx512, 2 threads"
  bool measured_now = false;
  std::shared_ptr<const OpSpeeds> ops;
};

// Measures what the file does not say, for two seconds at most, and a disk for about as long as it takes
// to write 128 MiB. Null: nothing is known of this machine, or the backend is not that of its CPU. What
// is not measured is that of a typical machine.
std::optional<MachineSpeeds> machine_speeds(const Backend& backend, const SpeedsWanted& wanted);

}  // namespace hone
