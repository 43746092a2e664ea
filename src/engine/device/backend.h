// The backend contract. A backend turns a node into a Kernel: a function over raw pointers with a
// fixed workspace, run on a queue of the backend's device. It owns no tensor; the plan places every
// byte, the session calls the kernels.
//
// To add one: copy engine/backends/null and follow its README.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/device/executable.h"
#include "engine/graph/op.h"

namespace hone {

struct KernelArgs {
  const void* const* in;  // one per operand, nullptr for absent ones
  void* const* out;       // one per result; may equal an operand that Op::over names
  void* workspace;        // 64-byte aligned, Kernel::workspace_bytes long
  Queue& queue;           // of the device whose backend made the kernel
};

// The facts of a kernel that a plan needs.
struct Choice {
  std::string id;               // goes into the numerics manifest: "cpu.gemm.k1024"
  int64_t workspace_bytes = 0;  // depends on shapes and the DeviceSpec only
  std::string note = {};        // reason why it is not a faster one, for hone graph --explain
  int64_t launches = 0;         // of kernels on a device of its own
};

struct Kernel {
  std::string id;
  int64_t workspace_bytes = 0;
  std::function<void(const KernelArgs&)> run;
  // Whether a collective gives its work to the queue itself; otherwise the queue calls it as work of the host.
  bool queues = false;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  // Chooses the kernel of a node, or returns an Error kDeclined with the reason: the lowering pass
  // then decomposes the node, and refuses a declined primitive by name. (optional: the choice of
  // kernel())
  virtual Result<Choice> choose(const NodeView& n) const;

  // Makes the kernel, for nodes that choose() accepts.
  virtual Result<Kernel> kernel(const NodeView& n) const = 0;

  // (optional, default the first) index of the decomposition in Op::decompositions for a declined
  // node.
  virtual size_t decomposition(const NodeView&) const { return 0; }

  // Makes one node of several that the backend computes together, in a lowered program, and returns
  // whether it did; lower() chooses again then. No bit changes. (optional: does nothing)
  virtual bool join(Program&) const { return false; }

  // Compiles lowered programs for the device, at the places of the plan. (optional: a kernel for
  // each node, in the order of the list; a backend that compiles whole programs does it here)
  virtual Result<std::unique_ptr<Executable>> compile(std::span<const Program> programs,
                                                      const RunPlan& plan) const;

  // The device that runs its kernels; a bug for a backend that computes nothing.
  virtual Device& device() const = 0;
  // The device that kernels are chosen for. (optional: the spec of its device)
  virtual const DeviceSpec& spec() const { return device().spec(); }

  // (optional, default true) whether arenas are allocated and kernels run; null only plans.
  virtual bool computes() const { return true; }
  // (optional, default "") the backend's own choices and their reasons: instruction set, threads.
  virtual std::string description() const { return ""; }
};

}  // namespace hone
