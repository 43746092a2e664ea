// Layers that carry a state along a text: causal_conv1d, gated_delta_rule and their gradients.
#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/causal_conv.h"
#include "engine/backends/cpu/kernels/gated_delta.h"

namespace hone::cpu {
namespace {

// Operands that the filter and its gradient have.
struct ConvNode {
  explicit ConvNode(const NodeView& n) : cu(n.slot("cu")) {
    base.tokens = n.in("x").shape[0];
    base.channels = n.in("x").shape[1];
    base.taps = n.in("w").shape[1];
    base.sequences = n.in("cu").count() - 1;
  }
  CausalConv call(const KernelArgs& a) const {
    CausalConv c = base;
    c.x = in(a, 0);
    c.w = in(a, 1);
    c.cu = in_i32(a, cu);
    return c;
  }
  CausalConv base;
  size_t cu;
};

Result<Kernel> conv_forward(const NodeView& n, int) {
  const ConvNode node(n);
  if (node.base.taps > kMostTaps) return declined(n, fmt::format("more than {} taps", kMostTaps));
  const bool biased = n.has("bias"), carries = n.has("state");
  const size_t bias = n.slot("bias"), state = n.slot("state");
  return Kernel{"cpu.causal_conv1d", causal_conv_workspace_bytes(node.base),
                [=](const KernelArgs& a) {
                  CausalConv c = node.call(a);
                  if (biased) c.bias = in(a, bias);
                  if (carries) {
                    c.state = in(a, state);
                    c.state_after = out(a, 1);
                  }
                  c.y = out(a, 0);
                  causal_conv(c, a.workspace, pool_of(a));
                }};
}

Result<Kernel> conv_gradient(const NodeView& n, int) {
  const ConvNode node(n);
  if (node.base.taps > kMostTaps) return declined(n, fmt::format("more than {} taps", kMostTaps));
  const bool biased = n.flag("bias");
  const size_t dy = n.slot("dy");
  return Kernel{"cpu.causal_conv1d_grad", causal_conv_workspace_bytes(node.base),
                [=](const KernelArgs& a) {
                  CausalConvBackward c{.forward = node.call(a)};
                  c.dy = in(a, dy);
                  c.dx = out(a, 0);
                  c.dw = out(a, 1);
                  if (biased) c.dbias = out(a, 2);
                  causal_conv_backward(c, a.workspace, pool_of(a));
                }};
}

GatedDelta delta_of(const NodeView& n) {
  GatedDelta d;
  d.tokens = n.in("q").shape[0];
  d.heads = n.integer("heads");
  d.key_heads = n.integer("key_heads");
  d.key_dim = n.in("q").shape[1] / d.key_heads;
  d.value_dim = n.in("v").shape[1] / d.heads;
  d.sequences = n.in("cu").count() - 1;
  return d;
}

GatedDelta delta_call(GatedDelta d, const KernelArgs& a) {
  d.q = in(a, 0);
  d.k = in(a, 1);
  d.v = in(a, 2);
  d.decay = in(a, 3);
  d.beta = in(a, 4);
  d.cu = in_i32(a, 5);
  return d;
}

Result<Kernel> delta_forward(const NodeView& n, int threads) {
  const GatedDelta base = delta_of(n);
  const bool carries = n.has("state");
  return Kernel{"cpu.gated_delta_rule", gated_delta_workspace_bytes(base, threads),
                [=](const KernelArgs& a) {
                  GatedDelta d = delta_call(base, a);
                  if (carries) {
                    d.state = in(a, 6);
                    d.state_after = out(a, 1);
                  }
                  d.out = out(a, 0);
                  gated_delta(d, a.workspace, pool_of(a));
                }};
}

Result<Kernel> delta_gradient(const NodeView& n, int threads) {
  const GatedDelta base = delta_of(n);
  return Kernel{"cpu.gated_delta_rule_grad", gated_delta_backward_workspace_bytes(base, threads),
                [=](const KernelArgs& a) {
                  gated_delta_backward({.forward = delta_call(base, a),
                                        .dout = in(a, 6),
                                        .dq = out(a, 0),
                                        .dk = out(a, 1),
                                        .dv = out(a, 2),
                                        .ddecay = out(a, 3),
                                        .dbeta = out(a, 4)},
                                       a.workspace, pool_of(a));
                }};
}

}  // namespace

Makers recurrent_makers() {
  return {{"causal_conv1d", for_f32(conv_forward)},
          {"causal_conv1d_grad", for_f32(conv_gradient)},
          {"gated_delta_rule", for_f32(delta_forward)},
          {"gated_delta_rule_grad", for_f32(delta_gradient)}};
}

}  // namespace hone::cpu
