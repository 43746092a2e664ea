// linear, matmul and the language-model head on the packed matrix product.
#include <algorithm>

#include "base/core/dynamic_map.h"
#include "engine/backends/cpu/backend_blocks.h"
#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/gemm/gemm.h"
#include "engine/backends/cpu/kernels/linear_cross_entropy.h"
#include "engine/ops/block_schemes.h"

namespace hone::cpu {
namespace {

Result<Activation> activation_of(const NodeView& n, const std::string& name) {
  if (name == "none") return Activation::none;
  if (name == "gelu_tanh") return Activation::gelu_tanh;
  if (name == "gelu") return Activation::gelu_erf;
  if (name == "relu") return Activation::relu;
  if (name == "silu") return Activation::silu;
  return declined(n, fmt::format("no kernel for activation '{}'", name));
}

std::string gemm_id(const Gemm& g) {
  const GemmSums sums = gemm_sums(g);
  return fmt::format("cpu.gemm{}{}.k{}", *sums.parts ? "_" : "", sums.parts, sums.block_k);
}

// Those of GGUF files; another scheme: code4.
Blocks::Kind gguf_kind(const std::string& scheme) {
  using Kind = Blocks::Kind;
  static constexpr std::pair<const char*, Kind> kKinds[] = {
      {"q4_0", Kind::q4_0},  {"q4_1", Kind::q4_1}, {"q5_0", Kind::q5_0}, {"q5_1", Kind::q5_1},
      {"q8_0", Kind::q8_0},  {"q2_k", Kind::q2_k}, {"q3_k", Kind::q3_k}, {"q4_k", Kind::q4_k},
      {"q5_k", Kind::q5_k},  {"q6_k", Kind::q6_k}, {"f16", Kind::f16},   {"bf16", Kind::bf16},
      {"mxfp4", Kind::mxfp4}};
  for (const auto& [name, kind] : kKinds)
    if (name == scheme) return kind;
  return Kind::code4;
}

}  // namespace

Result<BlockOperands> block_operands(const NodeView& n, const Shape& payload) {
  const BlockScheme& scheme = *block_scheme(n.text("scheme"));
  BlockOperands o;
  o.blocks.columns = scheme.columns(payload[1]);
  if (scheme.scales_inside()) {
    o.blocks.kind = gguf_kind(scheme.name);
    if (o.blocks.kind == Blocks::Kind::code4)
      return declined(n, fmt::format("no kernel for scheme {}", scheme.name));
    return o;
  }
  o.blocks.kind = scheme.code != nullptr ? Blocks::Kind::code4 : Blocks::Kind::i8;
  o.blocks.scaled = scheme.scaled;
  o.blocks.code = scheme.code;
  o.blocks.dynamic = dynamic_map(true).data();
  o.blocks.nested = kNestedBlock;
  o.scales = n.slot("scales");
  o.nested = n.slot("nested_scales");
  o.offset = n.slot("offset");
  o.beside = true;
  o.narrow = n.has("nested_scales");
  const size_t floats = o.narrow ? o.nested : o.scales;
  if (n.in(floats).dtype != DType::f32 || (o.narrow && n.in(o.offset).dtype != DType::f32))
    return declined(n, "scales are f32");
  return o;
}

namespace {

Result<Kernel> dequantize(const NodeView& n, int) {
  if (n.out(0).dtype != DType::f32) return declined(n, "kernels are for f32");
  const BlockOperands operands = HONE_TRY(block_operands(n, n.in(0).shape));
  const int64_t rows = n.out(0).shape[0];
  return Kernel{"cpu.dequantize." + n.text("scheme"), 0, [=](const KernelArgs& a) {
                  widen_blocks(operands.of(a), a.in[0], rows, out(a, 0), pool_of(a));
                }};
}

}  // namespace

Result<Element> rounded_operand(const NodeView& n, size_t operand) {
  const DType t = n.in(operand).dtype;
  if (t == DType::f32) return Element::f32;
  if (t == DType::bf16 && n.flag("bf16")) return Element::bf16;
  if (t == DType::f16 && n.flag("f16")) return Element::f16;
  return declined(n, "kernels are for f32, and for operands that are rounded to their own type");
}

namespace {

Result<Kernel> linear(const NodeView& n, int threads) {
  const DType kept = n.in("w").dtype;
  const bool in_blocks = !n.text("scheme").empty();
  if (n.out(0).dtype != DType::f32) return declined(n, "kernels are for f32");
  if (!in_blocks && kept != DType::f32 && kept != DType::bf16 && kept != DType::i8 &&
      !n.flag("f16"))
    return declined(n, "weights are f32, bf16, i8 or in blocks");
  BlockOperands operands;
  if (in_blocks) operands = HONE_TRY(block_operands(n, n.in("w").shape));
  Gemm g;
  g.m = n.in(0).shape[0];
  g.k = n.in(0).shape[1];
  g.n = n.out(0).shape[1];
  g.bf16 = n.flag("bf16");
  g.f16 = n.flag("f16");
  g.a_type = HONE_TRY(rounded_operand(n, 0));
  const Blocks::Kind kind = operands.blocks.kind;
  const bool floats = in_blocks && (kind == Blocks::Kind::f16 || kind == Blocks::Kind::bf16);
  if (floats && !g.bf16 && !g.f16)
    g.b_type = kind == Blocks::Kind::f16 ? Element::f16 : Element::bf16;
  else if (in_blocks)
    g.b_type = Element::blocks;
  else if (g.bf16 || g.f16)
    g.b_type = HONE_TRY(rounded_operand(n, 1));
  else
    g.b_type = kept == DType::i8 ? Element::i8 : kept == DType::bf16 ? Element::bf16 : Element::f32;
  g.trans_b = n.flag("trans_w");
  g.lda = g.k;
  g.ldb = g.trans_b ? g.k : g.n;
  g.ldc = g.ldpre = g.n;
  g.act = HONE_TRY(activation_of(n, n.text("act")));
  if (n.has("residual") && g.act != Activation::none)
    return declined(n, "an activation and a residual at once");
  g.accumulate = n.has("residual");  // onto the residual, in place or in a copy: the same bits
  const bool save_pre = n.flag("save_pre"), bias = n.has("bias");
  const size_t w = n.slot("w"), bias_at = n.slot("bias"), residual = n.slot("residual"),
               scales = n.slot("scales");
  const std::string id = in_blocks ? fmt::format("{}.{}", gemm_id(g), n.text("scheme"))
                         : kept == DType::f32 || g.bf16 || g.f16
                             ? gemm_id(g)
                             : fmt::format("{}.{}", gemm_id(g), name_of(kept));
  return Kernel{id, gemm_workspace_bytes(g, threads), [=](const KernelArgs& a) {
                  Gemm call = g;
                  call.a = a.in[0];
                  call.b = a.in[w];
                  const Blocks blocks = in_blocks ? operands.of(a) : Blocks{};
                  call.blocks = &blocks;
                  call.b_scale = g.b_type == Element::i8 ? in(a, scales) : nullptr;
                  call.bias = bias ? in(a, bias_at) : nullptr;
                  call.c = out(a, 0);
                  if (g.accumulate) copy_if_apart(a, residual, 0, g.m * g.n);
                  call.pre = save_pre ? out(a, 1) : nullptr;
                  gemm(call, a.workspace, pool_of(a));
                }};
}

const void* from(const KernelArgs& a, size_t operand, int64_t bytes) {
  return static_cast<const char*>(a.in[operand]) + bytes;
}

Result<Kernel> matmul(const NodeView& n, int threads) {
  const Shape &x = n.in(0).shape, &y = n.in(1).shape, &z = n.out(0).shape;
  const size_t r = z.size();
  Gemm g;
  g.trans_a = n.flag("trans_x");
  g.trans_b = n.flag("trans_y");
  g.m = z[r - 2];
  g.n = z[r - 1];
  g.k = g.trans_a ? x[r - 2] : x[r - 1];
  g.lda = x[r - 1];
  g.ldb = y[r - 1];
  g.ldc = g.n;
  g.accumulate = n.has("acc");
  const size_t acc = n.slot("acc");
  g.bf16 = n.flag("bf16");
  g.f16 = n.flag("f16");
  g.a_type = HONE_TRY(rounded_operand(n, 0));
  g.b_type = HONE_TRY(rounded_operand(n, 1));
  if (n.out(0).dtype != DType::f32) return declined(n, "kernels are for f32");
  const int64_t batches = g.m * g.n == 0 ? 0 : n.out(0).count() / (g.m * g.n);
  return Kernel{gemm_id(g), gemm_workspace_bytes(g, threads), [=](const KernelArgs& a) {
                  if (g.accumulate) copy_if_apart(a, acc, 0, batches * g.m * g.n);
                  for (int64_t i = 0; i < batches; ++i) {
                    Gemm call = g;
                    call.a = from(a, 0, i * g.m * g.k * element_bytes(g.a_type));
                    call.b = from(a, 1, i * g.k * g.n * element_bytes(g.b_type));
                    call.c = out(a, 0) + i * g.m * g.n;
                    gemm(call, a.workspace, pool_of(a));
                  }
                }};
}

Result<Kernel> head(const NodeView& n, int threads) {
  const bool in_blocks = !n.text("scheme").empty();
  BlockOperands operands;
  if (in_blocks) operands = HONE_TRY(block_operands(n, n.in("w").shape));
  LinearCrossEntropy l;
  l.tokens = n.in(0).shape[0];
  l.columns = n.in(0).shape[1];
  l.vocabulary = n.in(1).shape[0];
  l.smoothing = n.real("smoothing");
  l.softcap = static_cast<float>(n.real("softcap"));
  l.logits = n.text("logits") == "bf16"  ? Element::bf16
             : n.text("logits") == "f16" ? Element::f16
                                         : Element::f32;
  l.bf16 = n.flag("bf16");
  l.f16 = n.flag("f16");
  if (n.in(0).dtype != DType::f32) return declined(n, "kernels are for f32");
  l.w_type = in_blocks ? Element::blocks : HONE_TRY(rounded_operand(n, 1));
  const bool bias = n.has("bias"), weighs = n.has("weights");
  const size_t bias_at = n.slot("bias"), weights_at = n.slot("weights"), acc = n.slot("dw_acc");
  size_t results = 3, place[3] = {};  // of dw, dx, dbias; 0: not wanted
  const char* const gradients[] = {"dw", "dx", "dbias"};
  for (size_t i = 0; i < 3; ++i)
    if (n.flag(gradients[i])) place[i] = results++;
  const auto [dw, dx, dbias] = place;
  l.accumulate_dw = n.has("dw_acc");
  // The workspace asks whether gradients are made, not where they go.
  float there = 0;
  LinearCrossEntropy sized = l;
  if (dw) sized.dw = &there;
  if (dx) sized.dx = &there;
  const int64_t rows = linear_cross_entropy_chunk(l.tokens, l.vocabulary);  // the k of dW
  const GemmSums sums =
      gemm_sums({.m = std::max(rows, l.vocabulary), .bf16 = l.bf16, .f16 = l.f16});
  const std::string id =
      fmt::format("cpu.linear_cross_entropy.k{}.rows{}{}{}{}{}{}{}", sums.block_k, rows,
                  *sums.parts ? "." : "", sums.parts, in_blocks ? "." : "", n.text("scheme"),
                  n.text("logits").empty() ? "" : ".logits_", n.text("logits"));
  return Kernel{id, linear_cross_entropy_workspace_bytes(sized, threads),
                [=, dw = dw, dx = dx, dbias = dbias](const KernelArgs& a) {
                  LinearCrossEntropy call = l;
                  call.x = in(a, 0);
                  call.w = a.in[1];
                  const Blocks blocks = in_blocks ? operands.of(a) : Blocks{};
                  call.blocks = &blocks;
                  call.labels = in_i32(a, 2);
                  call.scale = in(a, 3)[0];
                  if (bias) call.bias = in(a, bias_at);
                  if (weighs) call.weights = in(a, weights_at);
                  call.nll = out(a, 1);
                  call.correct = static_cast<int32_t*>(a.out[2]);
                  if (dx) call.dx = out(a, dx);
                  if (dw) call.dw = out(a, dw);
                  if (dbias) call.dbias = out(a, dbias);
                  if (l.accumulate_dw) copy_if_apart(a, acc, dw, l.vocabulary * l.columns);
                  linear_cross_entropy(call, a.workspace, pool_of(a));
                  double sum = 0;
                  for (int64_t t = 0; t < l.tokens; ++t)
                    sum += static_cast<double>(call.nll[t]) *
                           (weighs ? static_cast<double>(call.weights[t]) : 1.0);
                  out(a, 0)[0] = static_cast<float>(sum * static_cast<double>(call.scale));
                }};
}

}  // namespace

Result<Kernel> gather_blocks(const NodeView& n) {
  const BlockOperands operands = HONE_TRY(block_operands(n, n.in(0).shape));
  const int64_t rows = n.in(0).shape[0], tokens = n.in(1).count();
  return Kernel{"cpu.embedding." + n.text("scheme"), 0, [=](const KernelArgs& a) {
                  widen_rows(operands.of(a), a.in[0], rows, in_i32(a, 1), tokens, out(a, 0),
                             pool_of(a));
                }};
}

Makers matrix_makers() {
  return {{"linear", linear},
          {"dequantize", dequantize},
          {"matmul", matmul},
          {"linear_cross_entropy", head}};
}

}  // namespace hone::cpu
