#include "engine/device/backend.h"

namespace hone {

Result<Choice> Backend::choose(const NodeView& n) const {
  Kernel k = HONE_TRY(kernel(n));
  return Choice{std::move(k.id), k.workspace_bytes};
}

Result<std::unique_ptr<Executable>> Backend::compile(std::span<const Program> programs,
                                                     const RunPlan& plan) const {
  return make_node_list(*this, programs, plan);
}

}  // namespace hone
