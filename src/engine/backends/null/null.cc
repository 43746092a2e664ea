#include "engine/backends/null/null.h"

namespace hone {

Result<Kernel> NullBackend::kernel(const NodeView& n) const {
  Kernel k;
  if (like_) k = HONE_TRY(like_->kernel(n));
  k.id = "null." + n.node.op->name;
  k.run = [](const KernelArgs&) {};
  return k;
}

std::string NullBackend::description() const {
  return like_ ? fmt::format("plans for {} and computes nothing", like_->name())
               : "computes nothing";
}

}  // namespace hone
