// Nodes -> fused kernels. Each function reads shapes once and returns a closure over them.
#include <cstring>

#include "base/core/philox.h"
#include "engine/backends/cpu/backend_kernels.h"
#include "engine/backends/cpu/gemm.h"

namespace hone::cpu {
namespace {

const float* in(const KernelArgs& a, size_t i) { return static_cast<const float*>(a.in[i]); }
float* out(const KernelArgs& a, size_t i) { return static_cast<float*>(a.out[i]); }

Result<Activation> activation_of(const NodeView& n, const std::string& name) {
  if (name == "none") return Activation::none;
  if (name == "gelu_tanh") return Activation::gelu_tanh;
  if (name == "gelu") return Activation::gelu_erf;
  if (name == "relu") return Activation::relu;
  if (name == "silu") return Activation::silu;
  return declined(n, fmt::format("no kernel for activation '{}'", name));
}

Result<Kernel> linear(const NodeView& n, int threads) {
  Gemm g;
  g.m = n.in(0).shape[0];
  g.k = n.in(0).shape[1];
  g.n = n.out(0).shape[1];
  g.trans_b = n.attrs().flag("trans_w");
  g.lda = g.k;
  g.ldb = g.trans_b ? g.k : g.n;
  g.ldc = g.ldpre = g.ldresidual = g.n;
  g.act = HONE_TRY(activation_of(n, n.attrs().text("act", "none")));
  const bool save_pre = n.attrs().flag("save_pre"), bias = n.has(2), residual = n.has(3);
  return Kernel{"cpu.gemm", gemm_workspace_bytes(g, threads), [=](const KernelArgs& a) {
                  Gemm call = g;
                  call.a = in(a, 0);
                  call.b = in(a, 1);
                  call.bias = bias ? in(a, 2) : nullptr;
                  call.residual = residual ? in(a, 3) : nullptr;
                  call.c = out(a, 0);
                  call.pre = save_pre ? out(a, 1) : nullptr;
                  gemm(call, a.workspace, a.pool);
                }};
}

Result<Kernel> matmul(const NodeView& n, int threads) {
  const Shape &x = n.in(0).shape, &y = n.in(1).shape, &z = n.out(0).shape;
  const size_t r = z.size();
  Gemm g;
  g.trans_a = n.attrs().flag("trans_x");
  g.trans_b = n.attrs().flag("trans_y");
  g.m = z[r - 2];
  g.n = z[r - 1];
  g.k = g.trans_a ? x[r - 2] : x[r - 1];
  g.lda = x[r - 1];
  g.ldb = y[r - 1];
  g.ldc = g.n;
  g.accumulate = n.has(2);
  const int64_t batches = g.m * g.n == 0 ? 0 : n.out(0).count() / (g.m * g.n);
  return Kernel{"cpu.gemm", gemm_workspace_bytes(g, threads), [=](const KernelArgs& a) {
                  if (g.accumulate && a.in[2] != a.out[0])
                    std::memcpy(a.out[0], a.in[2], static_cast<size_t>(batches * g.m * g.n) * sizeof(float));
                  for (int64_t i = 0; i < batches; ++i) {
                    Gemm call = g;
                    call.a = in(a, 0) + i * g.m * g.k;
                    call.b = in(a, 1) + i * g.k * g.n;
                    call.c = out(a, 0) + i * g.m * g.n;
                    gemm(call, a.workspace, a.pool);
                  }
                }};
}

DropoutKey key_of(const KernelArgs& a, size_t rng, uint64_t place) {
  const int64_t* seed_step = static_cast<const int64_t*>(a.in[rng]);
  return dropout_key(static_cast<uint64_t>(seed_step[0]), static_cast<uint64_t>(seed_step[1]), place);
}

Result<Kernel> dropout_mask(const NodeView& n) {
  const int64_t rows = n.out(0).shape[0], channels = n.out(0).shape[1];
  const uint32_t threshold = dropout_threshold(n.attrs().real("p"));
  const uint64_t place = scope_hash(n.attrs().text("key"));
  return Kernel{"cpu.loop.dropout_mask", 0, [=](const KernelArgs& a) {
                  const DropoutKey key = key_of(a, 0, place);
                  const int64_t* sample = static_cast<const int64_t*>(a.in[1]);
                  const int32_t* position = static_cast<const int32_t*>(a.in[2]);
                  auto* keep = static_cast<uint8_t*>(a.out[0]);
                  a.pool.parallel_for(rows, [&](int64_t begin, int64_t end, int) {
                    for (int64_t t = begin; t < end; ++t)
                      for (int64_t c = 0; c < channels; ++c)
                        keep[t * channels + c] = dropout_word(key, sample[t], position[t], static_cast<int32_t>(c)) >= threshold;
                  });
                }};
}

Result<Kernel> attention_dropout_mask(const NodeView& n) {
  const int64_t heads = n.out(0).shape[0], tq = n.out(0).shape[1], tk = n.out(0).shape[2], slots = n.in(2).count() - 1;
  const uint32_t threshold = dropout_threshold(n.attrs().real("p"));
  const uint64_t place = scope_hash(n.attrs().text("key"));
  return Kernel{"cpu.loop.attention_dropout_mask", 0, [=](const KernelArgs& a) {
                  const DropoutKey key = key_of(a, 0, place);
                  const int64_t* sample = static_cast<const int64_t*>(a.in[1]);
                  const int32_t *cq = static_cast<const int32_t*>(a.in[2]), *ck = static_cast<const int32_t*>(a.in[3]);
                  auto* keep = static_cast<uint8_t*>(a.out[0]);
                  std::memset(keep, 1, static_cast<size_t>(heads * tq * tk));
                  a.pool.parallel_for(heads, [&](int64_t begin, int64_t end, int) {
                    for (int64_t h = begin; h < end; ++h)
                      for (int64_t s = 0; s < slots; ++s)
                        for (int32_t q = cq[s]; q < cq[s + 1]; ++q)
                          for (int32_t k = ck[s]; k < ck[s + 1]; ++k)
                            keep[(h * tq + q) * tk + k] =
                                attention_dropout_word(key, sample[q], static_cast<int32_t>(h), q - cq[s], k - ck[s]) >= threshold;
                  });
                }};
}

}  // namespace

Result<Kernel> composite_kernel(const NodeView& n, int threads) {
  const std::string& op = n.node.op->name;
  if (op == "dropout_mask") return dropout_mask(n);
  if (op == "attention_dropout_mask") return attention_dropout_mask(n);
  for (ValueId v : n.node.in)
    if (v != kNoValue && is_float(n.program.type(v).dtype) && n.program.type(v).dtype != DType::f32) return declined(n, "kernels are for f32");
  if (op == "linear") return linear(n, threads);
  if (op == "matmul") return matmul(n, threads);
  return declined(n, "no fused kernel");
}

}  // namespace hone::cpu
