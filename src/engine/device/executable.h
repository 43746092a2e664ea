// Programs in the form that a device runs.
#pragma once

#include "engine/device/device.h"
#include "engine/plan/plan.h"

namespace hone {

class Backend;

// Called around each node of a run by executables that run node by node.
class NodeWatch {
 public:
  virtual ~NodeWatch() = default;
  virtual void begin(size_t node) = 0;
  virtual void end(size_t node) = 0;
};

// Copies by the compute queue in a run of a program: inputs before its nodes, outputs after them.
// The host's side is pinned.
struct Ports {
  std::vector<Copy> loads, stores;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Sets the blocks that the plan's offsets count from, and the ports of each program; once, before
  // the first run.
  virtual void bind(const PerSpace<std::byte*>& arenas, std::vector<Ports> ports) = 0;
  // Gives the work of a program to the device's queues; when the compute queue is done, all is.
  // `watch` may be null.
  virtual void run(size_t program, NodeWatch* watch) = 0;
};

// A kernel of the backend for each node, called in the order of the list; copies and host kernels
// run on their lanes.
// bind() checks that the programs reach exactly the plan's size; run() allocates nothing.
Result<std::unique_ptr<Executable>> make_node_list(const Backend& backend,
                                                   std::span<const Program> programs,
                                                   const RunPlan& plan);

}  // namespace hone
