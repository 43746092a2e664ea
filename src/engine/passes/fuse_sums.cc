#include "engine/passes/fuse_sums.h"

#include "engine/graph/op.h"

namespace hone {
namespace {

// The node that can make the sum of n; nullptr: there is none.
Node* summed_by(Program& p, const Node& n) {
  if (n.op->name != "sum_rows" || NodeView{p, n}.has("acc")) return nullptr;
  const int32_t made = p.values[static_cast<size_t>(n.in[0])].node;
  if (made < 0 || p.type(n.out[0]).dtype != DType::f32) return nullptr;
  Node& by = p.nodes[static_cast<size_t>(made)];
  const bool sums = by.op->attr("sums") != nullptr && !by.attrs.flag("sums");
  return sums && by.out[0] == n.in[0] && by.phase == n.phase ? &by : nullptr;
}

}  // namespace

Result<bool> fuse_sums(Program& p) {
  p.renumber_producers();
  std::vector<bool> gone(p.nodes.size(), false);
  bool any = false;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    Node* by = summed_by(p, p.nodes[i]);
    if (by == nullptr) continue;
    by->attrs.set("sums", true);
    by->out.push_back(p.nodes[i].out[0]);
    if (!by->op->infer({p, *by})) {  // a node whose first result is one of several parts
      by->attrs.erase("sums");
      by->out.pop_back();
      continue;
    }
    any = gone[i] = true;
  }
  size_t i = 0;
  std::erase_if(p.nodes, [&](const Node&) { return gone[i++]; });
  p.renumber_producers();
  return any;
}

}  // namespace hone
