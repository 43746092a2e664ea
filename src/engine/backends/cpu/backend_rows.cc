// Norms, rotary positions, embeddings, activations and dropout.
#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/elementwise.h"
#include "engine/backends/cpu/kernels/norms.h"
#include "engine/backends/cpu/kernels/rows.h"

namespace hone::cpu {
namespace {

Result<Unary> unary_of(const NodeView& n, const std::string& kind) {
  for (size_t i = 0; i < std::size(kUnaryNames); ++i)
    if (kind == kUnaryNames[i]) return static_cast<Unary>(i);
  return declined(n, fmt::format("no kernel for activation '{}'", kind));
}

Kernel norm_forward(const NodeView& n, NormKind kind) {
  Norm base;
  base.kind = kind;
  base.rows = n.in(0).shape[0];
  base.columns = n.in(0).shape[1];
  base.eps = static_cast<float>(n.real("eps"));
  const bool beta = kind == NormKind::layer && n.has("beta");
  return {"cpu.norm", 0, [=](const KernelArgs& a) {
            Norm call = base;
            call.input = in(a, 0);
            call.gamma = in(a, 1);
            call.beta = beta ? in(a, 2) : nullptr;
            call.y = out(a, 0);
            if (kind == NormKind::layer) call.mean = out(a, 1);
            call.rstd = out(a, kind == NormKind::layer ? 2 : 1);
            norm(call, pool_of(a));
          }};
}

Kernel norm_gradient(const NodeView& n, NormKind kind) {
  NormBackward base;
  base.kind = kind;
  base.rows = n.in(0).shape[0];
  base.columns = n.in(0).shape[1];
  const bool layer = kind == NormKind::layer;
  const size_t dy = n.slot("dy"), rstd = n.slot("rstd"), dsum = n.slot("dsum");
  const bool residual = n.has("dsum");
  return {"cpu.norm_grad", norm_backward_workspace_bytes(base.rows, base.columns),
          [=](const KernelArgs& a) {
            NormBackward call = base;
            call.x = in(a, 0);
            call.gamma = in(a, 1);
            call.mean = layer ? in(a, 2) : nullptr;
            call.rstd = in(a, rstd);
            call.dy = in(a, dy);
            call.dsum = residual ? in(a, dsum) : nullptr;
            call.dx = out(a, 0);
            call.dgamma = out(a, 1);
            call.dbeta = layer ? out(a, 2) : nullptr;
            norm_backward(call, a.workspace, pool_of(a));
          }};
}

Kernel rotary(const NodeView& n, int threads) {
  Rope base;
  base.tokens = n.in(0).shape[0];
  base.heads = n.integer("heads");
  base.head_dim = n.in(0).shape[1] / base.heads;
  base.rotary = 2 * n.in(2).shape[0];
  base.factor = static_cast<float>(n.real("attention_scaling"));
  base.backward = n.flag("inverse");
  base.interleaved = n.flag("interleaved");
  const int64_t row = n.in(0).shape[1];
  return {"cpu.rope", rope_workspace_bytes(base.rotary, threads), [=](const KernelArgs& a) {
            Rope call = base;
            call.positions = in_i32(a, 1);
            call.inv_freq = in(a, 2);
            call.x = {in(a, 0), row, base.head_dim};
            call.y = {out(a, 0), row, base.head_dim};
            rope(call, a.workspace, pool_of(a));
          }};
}

// y[t][c] = scale[ids[t]] * widen(table[ids[t]][c]), 0 for ids outside the table
template <class T, class Widen>
Kernel gather_narrow(const NodeView& n, Widen widen) {
  const int64_t tokens = n.in(1).count(), rows = n.in(0).shape[0], columns = n.in(0).shape[1];
  const bool scaled = n.has("scales");
  const size_t scales = n.slot("scales");
  return {"cpu.embedding.narrow", 0, [=](const KernelArgs& a) {
            const auto* table = static_cast<const T*>(a.in[0]);
            for (int64_t t = 0; t < tokens; ++t) {
              const int64_t id = in_i32(a, 1)[t];
              const bool there = id >= 0 && id < rows;
              const float scale = !there ? 0 : scaled ? in(a, scales)[id] : 1;
              const T* from = table + (there ? id : 0) * columns;
              float* y = out(a, 0) + t * columns;
              for (int64_t c = 0; c < columns; ++c) y[c] = scale * widen(from[c]);
            }
          }};
}

Result<Kernel> gather(const NodeView& n, int) {
  const DType kept = n.in(0).dtype;
  if (n.out(0).dtype != DType::f32) return declined(n, "kernels are for f32");
  if (!n.text("scheme").empty()) return gather_blocks(n);
  if (kept == DType::bf16) return gather_narrow<uint16_t>(n, bf16_to_f32);
  if (kept == DType::i8)
    return gather_narrow<int8_t>(n, [](int8_t x) { return static_cast<float>(x); });
  if (kept != DType::f32) return declined(n, "tables are f32, bf16 or i8");
  Embedding base;
  base.tokens = n.in(1).count();
  base.columns = n.in(0).shape[1];
  base.vocabulary = n.in(0).shape[0];
  return Kernel{"cpu.embedding", 0, [=](const KernelArgs& a) {
                  Embedding call = base;
                  call.table = in(a, 0);
                  call.ids = in_i32(a, 1);
                  call.out = out(a, 0);
                  embedding(call, pool_of(a));
                }};
}

Kernel scatter(const NodeView& n, int) {
  const int64_t tokens = n.in(0).count(), columns = n.in(1).shape[1], rows = n.out(0).shape[0];
  const bool onto = n.has("acc");
  const size_t acc = n.slot("acc");
  return {"cpu.embedding_gradient", embedding_gradient_workspace_bytes(tokens),
          [=](const KernelArgs& a) {
            if (onto)
              copy_if_apart(a, acc, 0, rows * columns);
            else
              fill(rows * columns, 0, out(a, 0), pool_of(a));
            embedding_gradient(tokens, columns, rows, in_i32(a, 0), in(a, 1), out(a, 0),
                               a.workspace, pool_of(a));
          }};
}

Kernel column_sums(const NodeView& n, int) {
  const int64_t rows = n.in(0).shape[0], columns = n.in(0).shape[1];
  const bool onto = n.has("acc");
  const size_t acc = n.slot("acc");
  return {"cpu.column_sum", 0, [=](const KernelArgs& a) {
            if (onto) copy_if_apart(a, acc, 0, columns);
            column_sum(rows, columns, in(a, 0), columns, onto, out(a, 0), pool_of(a));
          }};
}

Result<Kernel> gated(const NodeView& n, int) {
  Gate base;
  base.op = HONE_TRY(unary_of(n, n.text("kind")));
  base.rows = 1;
  base.columns = n.in(0).count();
  if (n.in(0).rank() == 2) {
    base.rows = n.in(0).shape[0];
    base.columns = n.in(0).shape[1];
  }
  base.lda = base.ldb = base.ldy = base.columns;
  if (n.node.op->name == "gate")
    return Kernel{"cpu.gate", 0, [=](const KernelArgs& a) {
                    Gate call = base;
                    call.a = in(a, 0);
                    call.b = in(a, 1);
                    call.y = out(a, 0);
                    gate(call, pool_of(a));
                  }};
  if (n.flag("remade")) return declined(n, "the kernel makes the gradients alone");
  return Kernel{"cpu.gate_grad", 0, [=](const KernelArgs& a) {
                  GateBackward call;
                  call.forward = base;
                  call.forward.a = in(a, 0);
                  call.forward.b = in(a, 1);
                  call.dy = in(a, 2);
                  call.da = out(a, 0);
                  call.db = out(a, 1);
                  call.lddy = call.ldda = call.lddb = base.columns;
                  gate_backward(call, pool_of(a));
                }};
}

Result<Kernel> drop(const NodeView& n, int) {
  if (n.flag("sums")) return declined(n, "the kernel drops alone");
  Dropout base;
  base.rows = n.in(0).shape[0];
  base.columns = n.in(0).shape[1];
  base.p = n.real("p");
  const uint64_t place = scope_hash(n.text("key"));
  const bool residual = n.has("residual");
  const size_t rng = n.slot("rng"), sample_ids = n.slot("sample_ids"),
               positions = n.slot("positions"), residual_at = n.slot("residual");
  return Kernel{"cpu.dropout", 0, [=](const KernelArgs& a) {
                  Dropout call = base;
                  call.x = in(a, 0);
                  call.key = key_of(a, rng, place);
                  call.sample_ids = in_i64(a, sample_ids);
                  call.positions = in_i32(a, positions);
                  call.residual = residual ? in(a, residual_at) : nullptr;
                  call.y = out(a, 0);
                  dropout(call, pool_of(a));
                }};
}

Kernel dropout_mask(const NodeView& n, int) {
  const int64_t rows = n.out(0).shape[0], channels = n.out(0).shape[1];
  const uint32_t threshold = dropout_threshold(n.real("p"));
  const uint64_t place = scope_hash(n.text("key"));
  return {"cpu.loop.dropout_mask", 0, [=](const KernelArgs& a) {
            const DropoutKey key = key_of(a, 0, place);
            const int64_t* sample = in_i64(a, 1);
            const int32_t* position = in_i32(a, 2);
            auto* keep = static_cast<uint8_t*>(a.out[0]);
            pool_of(a).parallel_for(rows, [&](int64_t begin, int64_t end, int) {
              for (int64_t t = begin; t < end; ++t)
                for (int64_t c = 0; c < channels; ++c)
                  keep[t * channels + c] = dropout_word(key, sample[t], position[t],
                                                        static_cast<int32_t>(c)) >= threshold;
            });
          }};
}

Kernel attention_dropout_mask(const NodeView& n, int) {
  const int64_t heads = n.out(0).shape[0], tq = n.out(0).shape[1], tk = n.out(0).shape[2],
                slots = n.in(2).count() - 1;
  const uint32_t threshold = dropout_threshold(n.real("p"));
  const uint64_t place = scope_hash(n.text("key"));
  return {"cpu.loop.attention_dropout_mask", 0, [=](const KernelArgs& a) {
            const DropoutKey key = key_of(a, 0, place);
            const int64_t* sample = in_i64(a, 1);
            const int32_t *cq = in_i32(a, 2), *ck = in_i32(a, 3);
            auto* keep = static_cast<uint8_t*>(a.out[0]);
            std::memset(keep, 1, static_cast<size_t>(heads * tq * tk));
            pool_of(a).parallel_for(heads, [&](int64_t begin, int64_t end, int) {
              for (int64_t h = begin; h < end; ++h)
                for (int64_t s = 0; s < slots; ++s)
                  for (int32_t q = cq[s]; q < cq[s + 1]; ++q)
                    for (int32_t k = ck[s]; k < ck[s + 1]; ++k)
                      keep[(h * tq + q) * tk + k] =
                          attention_dropout_word(key, sample[q], static_cast<int32_t>(h), q - cq[s],
                                                 k - ck[s]) >= threshold;
            });
          }};
}

Result<Kernel> sum(const NodeView& n, int) {
  if (n.in(0) != n.in(1) || n.in(0).dtype != DType::f32)
    return declined(n, "operands of one f32 type are wanted");
  return Kernel{"cpu.add", 0, [count = n.out(0).count()](const KernelArgs& a) {
                  add(count, in(a, 0), in(a, 1), out(a, 0), pool_of(a));
                }};
}

Result<Kernel> activation_gradient(const NodeView& n, int) {
  if (n.flag("sums") || n.flag("remade")) return declined(n, "the kernel makes the gradient alone");
  const Unary kind = HONE_TRY(unary_of(n, n.text("kind")));
  return Kernel{"cpu.activation_grad", 0, [kind, count = n.out(0).count()](const KernelArgs& a) {
                  unary_backward(kind, count, in(a, 0), in(a, 1), out(a, 0), pool_of(a));
                }};
}

Result<Kernel> activation(const NodeView& n, int) {
  const Unary kind = HONE_TRY(unary_of(n, n.node.op->name));
  return Kernel{"cpu.activation", 0, [kind, count = n.out(0).count()](const KernelArgs& a) {
                  unary(kind, count, in(a, 0), out(a, 0), pool_of(a));
                }};
}

auto norm_of(NormKind kind) {
  return for_f32([kind](const NodeView& n, int) { return norm_forward(n, kind); });
}
auto norm_gradient_of(NormKind kind) {
  return for_f32([kind](const NodeView& n, int) -> Result<Kernel> {
    if (n.flag("remade") || (kind == NormKind::layer && n.flag("sums")))
      return declined(n, "the kernel makes the gradients alone");
    return norm_gradient(n, kind);
  });
}

}  // namespace

Makers row_makers() {
  Makers makers{{"layer_norm", norm_of(NormKind::layer)},
                {"layer_norm_grad", norm_gradient_of(NormKind::layer)},
                {"rms_norm", norm_of(NormKind::rms)},
                {"rms_norm_grad", norm_gradient_of(NormKind::rms)},
                {"rope", for_f32(rotary)},
                {"embedding", gather},
                {"scatter_add_rows", for_f32(scatter)},
                {"sum_rows", for_f32(column_sums)},
                {"activation_grad", for_f32(activation_gradient)},
                {"gate", for_f32(gated)},
                {"gate_grad", for_f32(gated)},
                {"add", for_f32(sum)},
                {"dropout", for_f32(drop)},
                {"dropout_mask", dropout_mask},
                {"attention_dropout_mask", attention_dropout_mask}};
  for (const char* name : kUnaryNames) makers.push_back({name, for_f32(activation)});
  return makers;
}

}  // namespace hone::cpu
