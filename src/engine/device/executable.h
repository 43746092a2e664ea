// Programs in the form in which a device runs them.
#pragma once

#include "engine/device/device.h"
#include "engine/plan/plan.h"

namespace hone {

class Backend;

// Told around each node of a run by executables that run node by node.
class NodeWatch {
 public:
  virtual ~NodeWatch() = default;
  virtual void begin(size_t node) = 0;
  virtual void end(size_t node) = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // The blocks that the plan's offsets count from; once, before the first run.
  virtual void bind(const PerSpace<std::byte*>& arenas) = 0;
  // Gives the work of a program to the device's queues; when what the compute queue was given is
  // done, all is. `watch` may be null.
  virtual void run(size_t program, NodeWatch* watch) = 0;
};

// A kernel of the backend for each node, called in the order of the list; copies, and kernels of the
// host, on their lanes.
// bind() checks that the programs reach exactly the plan's size; run() allocates nothing.
Result<std::unique_ptr<Executable>> make_node_list(const Backend& backend,
                                                   std::span<const Program> programs,
                                                   const RunPlan& plan);

}  // namespace hone
