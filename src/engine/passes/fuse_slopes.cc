#include "engine/passes/fuse_slopes.h"

#include <algorithm>

#include "engine/graph/op.h"
#include "engine/passes/simplify.h"

namespace hone {
namespace {

// Whether the node is a product alone: operands that are optional, and activations, are absent.
bool is_plain_product(const Node& n) {
  return n.op->name == "linear" && n.attrs.flag("bf16") && n.out.size() == 1 &&
         !n.attrs.has("scheme") && !n.attrs.has("act") &&
         std::all_of(n.in.begin() + 2, n.in.end(), [](ValueId v) { return v == kNoValue; });
}

// The place of the product whose result only n reads, an activation's gradient; -1: there is none.
int32_t product_before(const Program& p, const std::vector<int32_t>& uses, const Node& n) {
  if (n.op->name != "activation_grad" || n.attrs.text("kind") != "gelu_tanh") return -1;
  const ValueId pre = n.in[0], dy = n.in[1];
  const int32_t made = p.values[static_cast<size_t>(dy)].node;
  if (made < 0 || pre == dy || uses[static_cast<size_t>(dy)] != 1) return -1;
  const Node& by = p.nodes[static_cast<size_t>(made)];
  const bool fits = is_plain_product(by) && by.phase == n.phase && by.lane == n.lane;
  return fits && p.type(dy).dtype == DType::bf16 ? made : -1;
}

}  // namespace

Result<bool> fuse_slopes(Program& p) {
  p.renumber_producers();
  const std::vector<int32_t> uses = count_uses(p);
  std::vector<bool> gone(p.nodes.size(), false);
  bool any = false;
  for (Node& n : p.nodes) {
    const int32_t at = product_before(p, uses, n);
    if (at < 0) continue;
    const Node& product = p.nodes[static_cast<size_t>(at)];
    const ValueId pre = n.in[0];
    n.op = p.ops().find("linear_activation_grad");
    n.in = {product.in[0], product.in[1], pre};
    for (const char* own : {"trans_w", "bf16"})
      if (product.attrs.flag(own)) n.attrs.set(own, true);
    if (product.attrs.has("as")) n.attrs.set("as", product.attrs.text("as"));
    any = gone[static_cast<size_t>(at)] = true;
  }
  size_t i = 0;
  std::erase_if(p.nodes, [&](const Node&) { return gone[i++]; });
  p.renumber_producers();
  return any;
}

}  // namespace hone
