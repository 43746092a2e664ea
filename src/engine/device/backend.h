// The backend contract. A backend turns a node into a Kernel: a function over raw pointers with a
// fixed workspace. It owns no tensor; the plan places every byte, the session calls the kernels.
//
// To add one: copy engine/backends/null and follow its README.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/threads.h"
#include "engine/graph/op.h"

namespace hone {

struct KernelArgs {
  const void* const* in;  // one per operand, nullptr where absent
  void* const* out;       // one per result; may equal an operand that Op::over names
  void* workspace;        // 64-byte aligned, Kernel::workspace_bytes long
  ThreadPool& pool;
};

struct Kernel {
  std::string id;               // goes into the numerics manifest: "cpu.gemm.k1024"
  int64_t workspace_bytes = 0;  // depends on shapes, ISA and thread count only
  std::function<void(const KernelArgs&)> run;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  // The kernel of a node, or an Error of code kDeclined whose text is the reason: the lowering pass
  // then decomposes the node, and a primitive that is declined is refused by name.
  virtual Result<Kernel> kernel(const NodeView& n) const = 0;

  // (optional, default the first) which of Op::decompositions replaces a node that was declined.
  virtual size_t decomposition(const NodeView&) const { return 0; }
  // (optional, default true) whether arenas are allocated and kernels run; null only plans.
  virtual bool computes() const { return true; }
  // (optional, default 0: any) the size of the pool that its kernels must run on.
  virtual int threads() const { return 0; }
  // (optional, default "") what this backend chose and why: instruction set, threads.
  virtual std::string description() const { return ""; }
};

}  // namespace hone
