// The facts of a run, of its machine and of its end, for logs and reports.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

// The machine of a run.
struct Machine {
  std::string host, cpu;   // host: name of the machine; cpu: model name of the processor
  std::string type;        // the cloud's machine type: "n1-standard-8", "p4d.24xlarge"; "": unknown
  int64_t processors = 0;  // processor cores that this process may use
  int64_t memory_bytes = 0;
  std::string gpu;               // name of the first GPU; "": none
  int64_t gpus = 0;              // number of GPUs
  int64_t gpu_memory_bytes = 0;  // memory of one GPU
  OrderedJson json() const;
};

// Returns the facts of this machine. If the firmware names Google or Microsoft, asks the cloud's metadata server for
// the machine type, which takes about a second at most.
Machine this_machine();

struct RunInfo {
  std::string id;    // from new_run_id(); a restart by --restarts keeps it
  std::string name;  // --run_name, else the last part of output_dir
  std::string command, task, model, output_dir;
  // The folder in which the command was typed; relative paths in the settings begin at this folder.
  std::string folder;
  std::string device;   // "cpu", "cuda"
  int64_t devices = 1;  // number of devices that the run trains on
  int64_t batch_size = 0, gradient_accumulation_steps = 1;
  OrderedJson settings;  // every setting, as in --dump_config, without secrets
  Machine machine;
  double begun_s = 0;  // seconds since 1970
  int64_t rank = 0;
  OrderedJson json() const;
};

struct RunEnd {
  // "finished"; "stopped": a signal or the time limit stopped the run, which can be resumed; "refused": an error before
  // the first step; "failed": an error after the first step.
  std::string status = "finished";
  std::string code, message;            // code and text of the error; "": none
  double ended_s = 0;                   // seconds since 1970
  std::vector<std::string> where = {};  // places of the error, the innermost first
  std::string todo = {};                // remedy of the error
};

// Returns the value of the variable HONE_RUN_ID if it is set, else a new random id of eight letters and digits.
std::string new_run_id();

}  // namespace hone
