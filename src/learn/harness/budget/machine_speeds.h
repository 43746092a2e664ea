// Speeds of this machine, measured once and kept in a file for later runs.
//
// The file is speeds.json in $HONE_CACHE, else in $XDG_CACHE_HOME/hone, else in ~/.cache/hone. Its
// keys are processor, instruction set, threads and version of hone; for a disk the folder's device.
// If the file cannot be written, each run measures again. If other programs used the processor
// during the measurement, a run that begins ten minutes later measures again. Deleting the file
// does no harm.
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
      {};               // folder of the disk for offloaded values; "": its speed does not matter
  bool measure = true;  // false: use only the file

  // Speeds that a run with these settings depends on; `choices`: also for settings that --auto may
  // choose.
  static SpeedsWanted of(const TrainSettings& s, bool choices);
};

struct MachineSpeeds {
  Speeds speeds;     // points into `ops`
  std::string name;  // "AMD EPYC, avx512, 2 threads"
  bool measured_now = false;
  double measured_at = 0;  // seconds since 1970-01-01 UTC; 0: not known
  bool doubtful =
      false;  // other programs were busy then: the next run that needs the speeds measures them again
  std::shared_ptr<const OpSpeeds> ops;
};

// Measures the speeds that the file lacks, for at most two seconds; a disk takes about as long as
// writing 128 MiB. Null: nothing is known of this machine, or the backend is not this CPU's. Speeds
// that are not measured are those of a typical machine.
std::optional<MachineSpeeds> machine_speeds(const Backend& backend, const SpeedsWanted& wanted);

}  // namespace hone
