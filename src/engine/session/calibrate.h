// Measures the speed of a backend's kernels on this machine by kind of node, to predict the time of
// any program (engine/plan/cost_model.h).
#pragma once

#include "engine/device/backend.h"
#include "engine/plan/op_speeds.h"

namespace hone {

struct Calibration {
  OpSpeeds ops;
  double node_seconds = 0;               // cost of a node besides its work
  double f32_flops = 0, bf16_flops = 0;  // a second, of a product of 512 rows by 768 x 768
  double bytes_per_second = 0;           // read and written, by the sum of two large tensors
  double host_bytes_per_second = 0;      // copied by a lane, in memory
};

// Runs small programs of one kind of node each, with operands inside and outside of the caches, in
// rounds, and keeps the best time of each. Takes about `seconds`, and 100 MiB. bf16: also products
// of bf16 operands.
Result<Calibration> calibrate(const Backend& backend, bool bf16, double seconds = 1.5);

// Bytes a second that the lanes of a disk read and write, measured with a file of 64 MiB in
// `folder`, which is deleted. Errors: H1322, H1323.
struct DiskSpeeds {
  double read_bytes_per_second = 0, write_bytes_per_second = 0;
};
Result<DiskSpeeds> calibrate_disk(const Backend& backend, const std::string& folder);

}  // namespace hone
