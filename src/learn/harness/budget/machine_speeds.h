// Speeds of this machine, measured once and kept in a file for later runs.
//
// The file is speeds.json in $HONE_CACHE, else in $XDG_CACHE_HOME/hone, else in ~/.cache/hone. It has an entry for each
// combination of processor, instruction set, number of threads and version of hone, and an entry for each disk (the
// device number of a folder). If the file cannot be written, each run measures again. If other programs used the
// processor during the measurement, the next run that starts at least ten minutes later measures again. You may delete
// the file at any time.
#pragma once

#include <optional>

#include "engine/device/backend.h"
#include "engine/plan/op_speeds.h"
#include "learn/train/settings.h"

namespace hone {

std::string speeds_file();  // the path of the file

// The speeds to find.
struct SpeedsWanted {
  bool bf16 = false;  // true: also the speed of matrix products in bf16
  // A folder on the disk for offloaded values; "": the speed of the disk is not needed.
  std::string disk_folder = {};
  bool measure = true;  // false: use only the speeds in the file

  // The speeds that the time of a run with these settings depends on. `choices` true: the disk's speed too, because
  // offloading to disk is one of the placements to compare.
  static SpeedsWanted of(const TrainSettings& s, bool choices);
};

struct MachineSpeeds {
  Speeds speeds;              // points into `ops`
  std::string name;           // "AMD EPYC, avx512, 2 threads"
  bool measured_now = false;  // false: the speeds are from the file
  double measured_at = 0;     // seconds since 1970-01-01 UTC; 0: unknown
  // True: other programs used the processor during the measurement. The next run that needs the speeds at least ten
  // minutes later measures them again.
  bool doubtful = false;
  std::shared_ptr<const OpSpeeds> ops;  // measured speeds by kind of node
};

// Reads the speeds from the file and measures those that are missing, unless wanted.measure is false. Measuring takes
// at most two seconds, and for a disk about as long as writing 128 MiB. If the disk's speed is unknown, the result has
// that of a typical machine (kTypicalCpu). nullopt: the backend is not the CPU of this machine, or the processor's
// speed is neither in the file nor measured.
std::optional<MachineSpeeds> machine_speeds(const Backend& backend, const SpeedsWanted& wanted);

}  // namespace hone
