// Measures the speed of a backend's kernels on this machine by kind of node, to predict the time of
// any program (engine/plan/cost_model.h).
#pragma once

#include "engine/device/backend.h"
#include "engine/plan/op_speeds.h"

namespace hone {

struct Calibration {
  OpSpeeds ops;             // speeds by kind of node
  double node_seconds = 0;  // the time of a node in addition to its kernel's work
  // FLOPs a second of the product [512,768] x [768,768]. bf16_flops is f32_flops if bf16 products are not measured.
  double f32_flops = 0, bf16_flops = 0;
  double bytes_per_second = 0;       // bytes read and written by the sum of two large tensors
  double host_bytes_per_second = 0;  // bytes copied from the host to the device (lane `load`)
};

// Measures the speeds. Runs small programs, each of one kind of node, with operands that fit in the caches and with
// larger ones. Repeats all of them for about `seconds`, at least three times, and keeps the best time of each. Needs
// about 100 MiB. `bf16` true: also measures products with bf16 operands. Errors: those of Session::compile() and
// Device::allocate().
Result<Calibration> calibrate(const Backend& backend, bool bf16, double seconds = 1.5);

// The speeds of the lanes disk_read and disk_write.
struct DiskSpeeds {
  double read_bytes_per_second = 0, write_bytes_per_second = 0;
};
// Measures the speeds of the disk with a file of 64 MiB in `folder`, which is deleted afterwards. H1322: the file
// cannot be made, for example for lack of space. H1323: the disk fails.
Result<DiskSpeeds> calibrate_disk(const Backend& backend, const std::string& folder);

}  // namespace hone
