#include "engine/backends/null/null.h"

namespace hone {

Result<Choice> NullBackend::choose(const NodeView& n) const {
  Choice c;
  if (like_) c = HONE_TRY(like_->choose(n));
  if (chooser_) c = HONE_TRY(chooser_(n));
  if (c.id.empty()) c.id = "null." + n.node.op->name;
  return c;
}

Result<Kernel> NullBackend::kernel(const NodeView& n) const {
  Choice c = HONE_TRY(choose(n));
  return Kernel{std::move(c.id), c.workspace_bytes, [](const KernelArgs&) {}};
}

Device& NullBackend::device() const {
  HONE_BUG_IF(true, "a backend that computes nothing has no device");
}

std::string NullBackend::description() const {
  if (like_) return fmt::format("plans for {} and computes nothing", like_->name());
  return chooser_ ? fmt::format("plans for {} and computes nothing", spec_.name)
                  : "computes nothing";
}

}  // namespace hone
