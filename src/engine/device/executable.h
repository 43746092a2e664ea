// Compiled programs, in the form that a device runs.
#pragma once

#include "engine/device/device.h"
#include "engine/plan/plan.h"

namespace hone {

class Backend;

// Functions that an Executable calls before and after each node of a run. An executable that runs whole programs at
// once does not call them.
class NodeWatch {
 public:
  virtual ~NodeWatch() = default;
  virtual void begin(size_t node) = 0;
  virtual void end(size_t node) = 0;
};

// Copies that the compute queue does in a run of a program. loads: the inputs to the device, before the nodes. stores:
// the outputs to the host, after the nodes. The addresses on the host are pinned memory.
struct Ports {
  std::vector<Copy> loads, stores;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Sets the first address of each space's arena, from which the plan's offsets count, and the ports of each program.
  // Called once, before the first run.
  virtual void bind(const PerSpace<std::byte*>& arenas, std::vector<Ports> ports) = 0;
  // Gives the work of a program to the device's queues. When the compute queue is done, all work of the program is
  // done. `watch` may be null.
  virtual void run(size_t program, NodeWatch* watch) = 0;
  // Begin and end a recording of the programs that run, by the device itself. end_profile() returns a serialized message
  // XSpace (tsl/profiler/protobuf/xplane.proto); "": the device records nothing. Errors: those of the device.
  virtual Status begin_profile() { return Ok{}; }
  virtual Result<std::string> end_profile() { return std::string(); }
};

// Makes an executable that calls the backend's kernel for each node, in the program's order. Copies, collectives and
// host kernels run on their lanes. bind() checks that the programs use exactly the bytes of the plan. run() allocates
// nothing. Errors: those of Backend::kernel().
Result<std::unique_ptr<Executable>> make_node_list(const Backend& backend,
                                                   std::span<const Program> programs,
                                                   const RunPlan& plan);

}  // namespace hone
