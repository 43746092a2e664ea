// What a run is and how it ended, as it is recorded and reported.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// The machine that a run is on.
struct Machine {
  std::string host, cpu;  // cpu: its name as it says it
  std::string type;       // of a cloud: "n1-standard-8", "p4d.24xlarge"; "" when it is not known
  int64_t processors = 0;
  int64_t memory_bytes = 0;
  std::string gpu;  // name of the first one, "" without
  int64_t gpus = 0;
  int64_t gpu_memory_bytes = 0;  // of each
  OrderedJson json() const;
};

// This one. It asks a cloud's metadata server for the machine's type, where the firmware says that
// there is one; for at most a second.
Machine this_machine();

struct RunInfo {
  std::string id;    // eight letters and digits; a run that --restarts starts again keeps it
  std::string name;  // --run_name, else the last part of output_dir
  std::string command, task, model, output_dir;
  std::string folder;   // in which the command was typed: paths are relative to it
  std::string device;   // "cpu", "cuda"
  int64_t devices = 1;  // that it trains on
  int64_t batch_size = 0, gradient_accumulation_steps = 1;
  OrderedJson settings;  // every setting, as --dump_config prints them; no secrets
  Machine machine;
  double begun_s = 0;  // seconds since 1970
  int64_t rank = 0;
  OrderedJson json() const;
};

struct RunEnd {
  // finished; stopped: by a signal or its time limit, and can be continued; refused: an error before
  // the first step; failed: an error after it.
  std::string status = "finished";
  std::string code, message;  // of the error
  double ended_s = 0;
};

// A new one; HONE_RUN_ID gives it.
std::string new_run_id();

}  // namespace hone
