// disentangled_attention and its gradient on the fused kernels.
#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/disentangled.h"

namespace hone::cpu {
namespace {

// Operands that both have, and what is read of the node once.
struct DisentangledNode {
  explicit DisentangledNode(const NodeView& n)
      : keys(n.has("position_keys")),
        queries(n.has("position_queries")),
        position_keys(n.slot("position_keys")),
        position_queries(n.slot("position_queries")),
        row_of(n.slot("row_of")),
        cu(n.slot("cu")),
        rng(n.slot("rng")),
        sample_ids(n.slot("sample_ids")) {
    const Shape& q = n.in("q").shape;
    base.tokens = q[0];
    base.heads = n.integer("heads");
    base.first_head = n.integer("first_head");
    base.head_dim = q[1] / base.heads;
    base.sequences = n.in("cu").count() - 1;
    base.rows = n.in(keys ? "position_keys" : "position_queries").shape[0];
    base.reach = (n.in("row_of").count() + 1) / 2;
    base.scale = static_cast<float>(n.real("scale"));
    base.dropout = n.real("dropout");
    if (base.dropout > 0) place = scope_hash(n.text("key"));
    samples_bytes = whole_lines(base.sequences * 8);
  }

  // The call with its operands; the sample of each sequence, which the op has for each token, goes to
  // the workspace.
  Disentangled call(const KernelArgs& a) const {
    Disentangled c = base;
    c.cu = in_i32(a, cu);
    for (int64_t i = 0; i < c.sequences; ++i)
      HONE_BUG_IF(c.cu[i + 1] - c.cu[i] > c.reach,
                  "disentangled_attention: a sequence of {} tokens, rows that reach {}",
                  c.cu[i + 1] - c.cu[i], c.reach);
    c.q = in(a, 0);
    c.k = in(a, 1);
    c.v = in(a, 2);
    if (keys) c.position_keys = in(a, position_keys);
    if (queries) c.position_queries = in(a, position_queries);
    c.row_of = in_i32(a, row_of);
    if (c.dropout <= 0) return c;
    c.key = key_of(a, rng, place);
    auto* ids = static_cast<int64_t*>(a.workspace);
    const int64_t* of_token = in_i64(a, sample_ids);
    for (int64_t i = 0; i < c.sequences; ++i) ids[i] = c.cu[i] < c.tokens ? of_token[c.cu[i]] : 0;
    c.sample_ids = ids;
    return c;
  }
  void* workspace(const KernelArgs& a) const {
    return static_cast<char*>(a.workspace) + samples_bytes;
  }

  Disentangled base;
  bool keys, queries;
  size_t position_keys, position_queries, row_of, cu, rng, sample_ids;
  uint64_t place = 0;
  int64_t samples_bytes = 0;
};

Result<Kernel> disentangled_forward(const NodeView& n, int threads) {
  const DisentangledNode node(n);
  return Kernel{"cpu.disentangled_attention",
                node.samples_bytes + disentangled_workspace_bytes(node.base, threads),
                [=](const KernelArgs& a) {
                  Disentangled call = node.call(a);
                  call.out = out(a, 0);
                  call.lse = out(a, 1);
                  disentangled(call, node.workspace(a), pool_of(a));
                }};
}

Result<Kernel> disentangled_gradient(const NodeView& n, int threads) {
  const DisentangledNode node(n);
  const size_t saved_out = n.slot("out"), saved_lse = n.slot("lse"), dout = n.slot("dout");
  return Kernel{"cpu.disentangled_attention_grad",
                node.samples_bytes + disentangled_backward_workspace_bytes(node.base, threads),
                [=](const KernelArgs& a) {
                  DisentangledBackward call;
                  call.forward = node.call(a);
                  call.forward.out = const_cast<float*>(in(a, saved_out));
                  call.forward.lse = const_cast<float*>(in(a, saved_lse));
                  call.dout = in(a, dout);
                  call.dq = out(a, 0);
                  call.dk = out(a, 1);
                  call.dv = out(a, 2);
                  if (node.keys) call.dposition_keys = out(a, 3);
                  if (node.queries) call.dposition_queries = out(a, node.keys ? 4 : 3);
                  disentangled_backward(call, node.workspace(a), pool_of(a));
                }};
}

}  // namespace

Makers disentangled_makers() {
  return {{"disentangled_attention", for_f32(disentangled_forward)},
          {"disentangled_attention_grad", for_f32(disentangled_gradient)}};
}

}  // namespace hone::cpu
