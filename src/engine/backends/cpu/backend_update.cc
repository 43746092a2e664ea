// The optimizer over all weights at once, and the norm of all gradients.
#include <cmath>

#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/narrow.h"
#include "engine/backends/cpu/kernels/optimizer_8bit.h"
#include "engine/ops/update_parts.h"

namespace hone::cpu {
namespace {

using Tensors = std::span<const UpdateTensor>;

Element element_of(DType t) {
  return t == DType::bf16 ? Element::bf16 : t == DType::f16 ? Element::f16 : Element::f32;
}

// Indices of the operands after the lists of tensors.
struct Scalars {
  explicit Scalars(const NodeView& n)
      : lr(n.slot("lr")), step(n.slot("step")), g_scale(n.slot("g_scale")) {}
  UpdateStep of(const KernelArgs& a) const {
    return {static_cast<const double*>(a.in[lr])[0], in_i64(a, step)[0],
            static_cast<const double*>(a.in[g_scale])[0]};
  }
  size_t lr, step, g_scale;
};

// The elements of tensor i that a node updates.
struct UpdatedRange {
  int64_t first = 0, count = 0;
};
UpdatedRange updated_range(const NodeView& n, const std::vector<int64_t>& rows, size_t i) {
  const Type& p = n.in(i);
  if (rows.empty()) return {0, p.count()};
  const int64_t row = p.count() / std::max<int64_t>(1, p.shape[0]);
  return {rows[0] * row, (rows[1] - rows[0]) * row};
}

// The form of tensor i if it is kept in bf16, without its pointers.
Bf16Update bf16_update(const NodeView& n, size_t i, int64_t first) {
  const std::vector<int64_t> keys =
      n.node.op->attr("round_keys") ? n.integers("round_keys") : std::vector<int64_t>();
  if (keys.empty()) return {.first = first};
  return {.stochastic = true, .key = key_of_words(keys[i]), .first = first};
}

// The tensors of a kernel. Pointers are known to it only at each call.
template <class Tensor>
struct UpdateLists {
  UpdateLists(const NodeView& n, const std::vector<int64_t>& rows)
      : count(static_cast<size_t>(n.integer("count"))),
        scalars(n),
        tensors(std::make_shared<std::vector<Tensor>>(count)),
        first(updated_range(n, rows, 0).first),
        narrow(n.in(0).dtype == DType::bf16) {
    for (size_t k = 0; k + copied_tensors(n).size() < n.node.out.size(); ++k)
      bytes.push_back(n.out(k).bytes());
    for (size_t i = 0; i < count; ++i) {
      Tensor& t = (*tensors)[i];
      t.count = updated_range(n, rows, i).count;
      t.g.type = element_of(n.in(count + i).dtype);
      t.weight_decay = weight_decay_of(n, i);
      if (narrow) t.bf16 = bf16_update(n, i, first);
    }
  }
  // Copies operands whose results are elsewhere, and points at the parameters and their gradients.
  void point(const KernelArgs& a) const {
    for (size_t k = 0; k < bytes.size(); ++k)
      copy_bytes_if_apart(a, k < count ? k : k + count, k, bytes[k]);
    for (size_t i = 0; i < count; ++i) {
      Tensor& t = (*tensors)[i];
      t.g.data = static_cast<const char*>(a.in[count + i]) + first * element_bytes(t.g.type);
      if (narrow)
        t.bf16.p = static_cast<uint16_t*>(a.out[i]) + first;
      else
        t.p = out(a, i) + first;
    }
  }

  size_t count;
  Scalars scalars;
  std::shared_ptr<std::vector<Tensor>> tensors;
  std::vector<int64_t> bytes;  // of every result but the copies
  int64_t first;               // element of each tensor that is updated
  bool narrow;                 // parameters in bf16
};

// The kernel of a rule whose states have the types of the parameters, or of the only parameter's
// `rows`. Each step calls update(tensors, step, args).
template <class Update>
Kernel kernel_over(const NodeView& n, const std::vector<int64_t>& rows,
                   int64_t (*workspace)(Tensors), Update update) {
  const UpdateLists<UpdateTensor> lists(n, rows);
  const size_t states = lists.scalars.lr / lists.count - 2;
  const std::vector<int64_t> copied = copied_tensors(n);
  const Half as = copied.empty() || n.text("copied_as") == "bf16" ? Half::bf16 : Half::f16;
  return {"cpu." + n.node.op->name, workspace ? workspace(*lists.tensors) : 0,
          [=](const KernelArgs& a) {
            lists.point(a);
            for (size_t i = 0; i < lists.count; ++i) {
              UpdateTensor& t = (*lists.tensors)[i];
              for (size_t k = 0; k < states; ++k) {
                void* const state = a.out[(1 + k) * lists.count + i];
                if (lists.narrow)
                  t.bf16.state[k] = static_cast<uint16_t*>(state);
                else
                  t.state[k] = static_cast<float*>(state);
              }
            }
            const UpdateStep at = lists.scalars.of(a);
            if (std::isfinite(at.gradient_scale)) update(Tensors(*lists.tensors), at, a);
            for (size_t k = 0; k < copied.size(); ++k) {
              const auto i = static_cast<size_t>(copied[k]);
              narrow(as, false, (*lists.tensors)[i].count, out(a, i),
                     static_cast<uint16_t*>(a.out[lists.bytes.size() + k]), pool_of(a));
            }
          }};
}

// The same for rules whose states are codes; update(tensors, step, pool).
template <class Update>
Kernel kernel_of_codes(const NodeView& n, Update update) {
  const UpdateLists<Update8bitTensor> lists(n, n.integers("rows"));
  const size_t moments = (lists.scalars.lr / lists.count - 2) / 2;
  return {"cpu." + n.node.op->name, 0, [=](const KernelArgs& a) {
            lists.point(a);
            for (size_t i = 0; i < lists.count; ++i) {
              Update8bitTensor& t = (*lists.tensors)[i];
              for (size_t k = 0; k < moments; ++k) {
                t.codes[k] = static_cast<uint8_t*>(a.out[(1 + 2 * k) * lists.count + i]);
                t.absmax[k] = out(a, (2 + 2 * k) * lists.count + i);
              }
            }
            const UpdateStep at = lists.scalars.of(a);
            if (std::isfinite(at.gradient_scale))
              update(std::span<const Update8bitTensor>(*lists.tensors), at, pool_of(a));
          }};
}

Kernel adafactor_kernel(const NodeView& n) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const Scalars scalars(n);
  const Adafactor rule{.eps = n.real("eps"),
                       .clip_threshold = n.real("clip_threshold"),
                       .decay_rate = n.real("decay_rate")};
  auto tensors = std::make_shared<std::vector<AdafactorTensor>>(count);
  std::vector<int64_t> sizes;  // of every result
  for (size_t k = 0; k < scalars.lr - count; ++k) sizes.push_back(n.out(k).count());
  std::vector<bool> matrix(count);
  for (size_t i = 0; i < count; ++i) {
    AdafactorTensor& t = (*tensors)[i];
    const Shape& shape = n.in(i).shape;
    matrix[i] = shape.size() >= 2;
    t.columns = shape.empty() ? 1 : shape.back();
    for (size_t k = 0; matrix[i] && k + 1 < shape.size(); ++k)
      (k + 2 == shape.size() ? t.rows : t.matrices) *= shape[k];
    t.weight_decay = weight_decay_of(n, i);
    t.g.type = element_of(n.in(count + i).dtype);
  }
  return {"cpu.adafactor", adafactor_workspace_bytes(*tensors), [=](const KernelArgs& a) {
            for (size_t k = 0; k < sizes.size(); ++k)
              copy_if_apart(a, k < count ? k : k + count, k, sizes[k]);
            size_t column = 2 * count;  // results: p, rows or squares, columns
            for (size_t i = 0; i < count; ++i) {
              AdafactorTensor& t = (*tensors)[i];
              t.p = out(a, i);
              t.g.data = a.in[count + i];
              t.row = matrix[i] ? out(a, count + i) : nullptr;
              t.column = out(a, matrix[i] ? column++ : count + i);
            }
            const UpdateStep at = scalars.of(a);
            if (std::isfinite(at.gradient_scale))
              adafactor(*tensors, rule, at, a.workspace, pool_of(a));
          }};
}

Kernel squares_kernel(const NodeView& n) {
  auto views = std::make_shared<std::vector<TensorView>>(n.inputs());
  int64_t all = 0;
  for (size_t i = 0; i < n.inputs(); ++i) {
    all += (*views)[i].count = n.in(i).count();
    (*views)[i].data.type = element_of(n.in(i).dtype);
  }
  return {"cpu.sum_squares", sum_squares_workspace_bytes(all, static_cast<int64_t>(n.inputs())),
          [=](const KernelArgs& a) {
            for (size_t i = 0; i < views->size(); ++i) (*views)[i].data.data = a.in[i];
            sum_squares(*views, static_cast<double*>(a.out[0]), a.workspace, pool_of(a));
          }};
}

bool is_kept(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16; }

// A rule's gradients may be in f32, bf16 or f16. Its weights and states must be f32 or codes; with
// `bf16` weights and the states of their type may all be bf16 too.
template <class Make>
auto with_tensors(bool bf16, Make make) {
  return [=](const NodeView& n, int) -> Result<Kernel> {
    const auto count = static_cast<size_t>(n.integer("count"));
    const DType weights = n.in(0).dtype;
    if (weights != DType::f32 && !(bf16 && weights == DType::bf16))
      return declined(n, bf16 ? "weights are f32 or bf16" : "weights are f32");
    if (!halved_tensors(n).empty()) return declined(n, "weights in halves are for GPUs");
    if (weights != DType::f32 && !copied_tensors(n).empty())
      return declined(n, "copies are of weights in f32");
    const bool codes = n.in(2 * count).dtype == DType::u8;
    for (size_t i = 0; i < n.slot("lr"); ++i) {
      const DType t = n.in(i).dtype;
      if (i < count       ? t != weights
          : i < 2 * count ? !is_kept(t)
          : codes         ? t != DType::u8 && t != DType::f32
                          : t != weights)
        return declined(n, "states have the type of the weights, gradients are f32, bf16 or f16");
    }
    return make(n);
  };
}

auto in_f32(Kernel (*make)(const NodeView&)) {
  return [=](const NodeView& n, int) -> Result<Kernel> {
    for (size_t i = 0; i < n.inputs(); ++i)
      if (n.in(i).dtype != DType::f32 && n.in(i).dtype != DType::u8)
        return declined(n, "kernels are for f32");
    return make(n);
  };
}

Kernel quantize_kernel(const NodeView& n) {
  const int64_t count = n.in(0).count();
  return {"cpu.quantize_dynamic", 0, [count, is_signed = n.flag("signed")](const KernelArgs& a) {
            quantize_dynamic(count, in(a, 0), is_signed, static_cast<uint8_t*>(a.out[0]), out(a, 1),
                             pool_of(a));
          }};
}

Kernel dequantize_kernel(const NodeView& n) {
  const int64_t count = n.in(0).count();
  return {"cpu.dequantize_dynamic", 0, [count, is_signed = n.flag("signed")](const KernelArgs& a) {
            dequantize_dynamic(count, static_cast<const uint8_t*>(a.in[0]), in(a, 1), is_signed,
                               out(a, 0), pool_of(a));
          }};
}

Result<Kernel> squares(const NodeView& n, int) {
  for (size_t i = 0; i < n.inputs(); ++i)
    if (!is_kept(n.in(i).dtype)) return declined(n, "tensors are f32, bf16 or f16");
  return squares_kernel(n);
}

// `rule` makes a rule of the node's attributes, `step` is its kernel.
template <class Rule, class Step>
auto elementwise(Rule rule, Step step) {
  return with_tensors(true, [=](const NodeView& n) {
    return kernel_over(n, n.integers("rows"), nullptr,
                       [step, r = rule(n)](Tensors t, const UpdateStep& at, const KernelArgs& a) {
                         step(t, r, at, pool_of(a));
                       });
  });
}

Kernel lamb_kernel(const NodeView& n) {
  return kernel_over(
      n, {}, lamb_workspace_bytes,
      [rule = Lamb{n.real("beta1"), n.real("beta2"), n.real("eps"), n.flag("trust_clip")}](
          Tensors t, const UpdateStep& at, const KernelArgs& a) {
        lamb(t, rule, at, a.workspace, pool_of(a));
      });
}

AdamW adamw_of(const NodeView& o) {
  const auto flag = [&](const char* name) { return o.node.op->attr(name) && o.flag(name); };
  return {o.real("beta1"), o.real("beta2"), o.real("eps"), flag("l2"), flag("huggingface")};
}
Lion lion_of(const NodeView& o) { return {o.real("beta1"), o.real("beta2")}; }

Kernel adamw_8bit_kernel(const NodeView& n) {
  return kernel_of_codes(
      n, [rule = adamw_of(n)](auto tensors, const UpdateStep& at, ThreadPool& pool) {
        adamw_8bit(tensors, rule, at, pool);
      });
}

Kernel adamw_4bit_kernel(const NodeView& n) {
  return kernel_of_codes(
      n, [rule = adamw_of(n)](auto tensors, const UpdateStep& at, ThreadPool& pool) {
        adamw_4bit(tensors, rule, at, pool);
      });
}

Kernel lion_8bit_kernel(const NodeView& n) {
  return kernel_of_codes(n,
                         [rule = lion_of(n)](auto tensors, const UpdateStep& at, ThreadPool& pool) {
                           lion_8bit(tensors, rule, at, pool);
                         });
}

}  // namespace

Makers update_makers() {
  return {
      {"adamw", elementwise(adamw_of, adamw)},
      {"adamw_8bit", with_tensors(true, adamw_8bit_kernel)},
      {"adamw_4bit", with_tensors(true, adamw_4bit_kernel)},
      {"lion_8bit", with_tensors(true, lion_8bit_kernel)},
      {"quantize_dynamic", in_f32(quantize_kernel)},
      {"dequantize_dynamic", in_f32(dequantize_kernel)},
      {"sgd", elementwise(
                  [](const NodeView& o) {
                    return Sgd{o.real("momentum"), o.real("dampening"), o.flag("nesterov")};
                  },
                  sgd)},
      {"adagrad", elementwise(
                      [](const NodeView& o) {
                        return Adagrad{o.real("lr_decay"), o.real("eps")};
                      },
                      adagrad)},
      {"rmsprop",
       elementwise(
           [](const NodeView& o) {
             return Rmsprop{o.real("alpha"), o.real("eps"), o.real("momentum"), o.flag("centered")};
           },
           rmsprop)},
      {"lion", elementwise(lion_of, lion)},
      {"lamb", with_tensors(false, lamb_kernel)},
      {"adafactor", with_tensors(false, adafactor_kernel)},
      {"sum_squares", squares}};
}

}  // namespace hone::cpu
