// The backend contract. A backend turns a node into a Kernel: a function of raw pointers with a workspace of fixed
// size, which runs on a queue of the backend's device. It owns no tensor: the plan (plan/plan.h) places all values, and
// the session calls the kernels.
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
  const void* const* in;  // an address for each operand; null: the operand is absent
  void* const* out;       // an address for each result; may be that of an operand (Op::over)
  void* workspace;        // 64-byte aligned, Kernel::workspace_bytes long
  Queue& queue;           // a queue of the backend's device
};

// The kernel that a backend chooses for a node, as far as a plan needs it.
struct Choice {
  // Names the kernel, such as "cpu.gemm.k1024"; part of the numerics manifest (Session::kernel_manifest()).
  std::string id;
  int64_t workspace_bytes = 0;  // bytes of scratch; depends on shapes and the DeviceSpec only
  std::string note = {};        // the reason not to use a faster kernel, for hone graph --explain
  int64_t launches = 0;         // launches of kernels on a device other than the host
  // True: the kernels that read the node's results compute them, so they take no memory of their own.
  bool fused = false;
};

struct Kernel {
  std::string id;               // Choice::id
  int64_t workspace_bytes = 0;  // Choice::workspace_bytes
  std::function<void(const KernelArgs&)> run;
  // For a collective. True: run() enqueues the work and returns. False: run() does the work on the host, so it is
  // called from the queue (Queue::run()).
  bool queues = false;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  // Chooses the kernel of a node without making it. An Error kDeclined (H1401) with the reason: the backend has no
  // kernel for the node. lower() then decomposes the node, or refuses the program if the op is a primitive. Default:
  // calls kernel().
  virtual Result<Choice> choose(const NodeView& n) const;

  // Makes the kernel of a node that choose() accepts; other nodes are declined as by choose().
  virtual Result<Kernel> kernel(const NodeView& n) const = 0;

  // For a declined node: the index in Op::decompositions of the decomposition to use. Default: the first.
  virtual size_t decomposition(const NodeView&) const { return 0; }

  // In a lowered program, replaces each group of nodes that the backend can compute together by one node. Returns
  // whether it changed the program; if so, lower() is called again. Results keep their bits. Default: does nothing.
  virtual bool join(Program&) const { return false; }

  // Compiles lowered programs for the device, with values at the places of the plan. Default: make_node_list(), a
  // kernel for each node, called in order. A backend that compiles whole programs overrides it.
  virtual Result<std::unique_ptr<Executable>> compile(std::span<const Program> programs,
                                                      const RunPlan& plan) const;

  // The device that runs the kernels. A backend that computes nothing throws a Bug.
  virtual Device& device() const = 0;
  // The facts of the device for which kernels are chosen. Default: the device's.
  virtual const DeviceSpec& spec() const { return device().spec(); }

  // Whether arenas are allocated and kernels run. False: the backend only plans (engine/backends/null). Default: true.
  virtual bool computes() const { return true; }
  // The backend's own choices and their reasons, such as instruction set and threads, for people. Default: "".
  virtual std::string description() const { return ""; }
};

}  // namespace hone
