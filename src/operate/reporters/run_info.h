// A run and its end, for records and reports.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

// The machine of a run.
struct Machine {
  std::string host, cpu;  // cpu: the name that the processor reports
  std::string type;       // the cloud's machine type: "n1-standard-8", "p4d.24xlarge"; "": unknown
  int64_t processors = 0;
  int64_t memory_bytes = 0;
  std::string gpu;  // name of the first one; "": none
  int64_t gpus = 0;
  int64_t gpu_memory_bytes = 0;  // of each
  OrderedJson json() const;
};

// This machine. If the firmware names a cloud, asks its metadata server for the machine's type, for
// at most a second.
Machine this_machine();

struct RunInfo {
  std::string id;    // eight letters and digits; --restarts keeps it
  std::string name;  // --run_name, else the last part of output_dir
  std::string command, task, model, output_dir;
  std::string folder;   // where the command was typed: paths are relative to it
  std::string device;   // "cpu", "cuda"
  int64_t devices = 1;  // number of devices that it trains on
  int64_t batch_size = 0, gradient_accumulation_steps = 1;
  OrderedJson settings;  // every setting, as in --dump_config; no secrets
  Machine machine;
  double begun_s = 0;  // seconds since 1970
  int64_t rank = 0;
  OrderedJson json() const;
};

struct RunEnd {
  // finished; stopped: by a signal or its time limit, can be resumed; refused: an error before the
  // first step; failed: an error after it.
  std::string status = "finished";
  std::string code, message;  // of the error
  double ended_s = 0;
  std::vector<std::string> where = {};  // places of the error, the innermost first
  std::string todo = {};                // its remedy
};

// HONE_RUN_ID, or a new id.
std::string new_run_id();

}  // namespace hone
