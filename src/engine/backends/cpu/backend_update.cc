// The optimizer over all weights at once, and the norm of all gradients.
#include <cmath>

#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/optimizer.h"

namespace hone::cpu {
namespace {

using Tensors = std::span<const UpdateTensor>;

// Where the operands after the lists of tensors are.
struct Scalars {
  explicit Scalars(const NodeView& n)
      : lr(n.slot("lr")), step(n.slot("step")), g_scale(n.slot("g_scale")) {}
  UpdateStep of(const KernelArgs& a) const {
    return {static_cast<const double*>(a.in[lr])[0], in_i64(a, step)[0],
            static_cast<const double*>(a.in[g_scale])[0]};
  }
  size_t lr, step, g_scale;
};

// The weight decay of each of `count` weights.
std::vector<double> decay_of(const NodeView& n, size_t count) {
  const std::vector<int64_t> decayed = n.integers("decay");
  std::vector<double> decay(count, n.real("weight_decay"));
  for (size_t i = 0; i < decayed.size(); ++i)
    if (decayed[i] == 0) decay[i] = 0;
  return decay;
}

// The kernel of a rule whose states have the types of the parameters, or of the only parameter's
// `rows`. Each step calls update(tensors, step, args).
template <class Update>
Kernel kernel_over(const NodeView& n, const std::vector<int64_t>& rows,
                   int64_t (*workspace)(Tensors), Update update) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const Scalars scalars(n);
  const size_t states = scalars.lr / count - 2;
  // Filled at each call: pointers are known to the kernel only then.
  auto tensors = std::make_shared<std::vector<UpdateTensor>>(count);
  const std::vector<double> decay = decay_of(n, count);
  std::vector<int64_t> all;  // elements of each p
  for (size_t i = 0; i < count; ++i) {
    all.push_back((*tensors)[i].count = n.in(i).count());
    (*tensors)[i].weight_decay = decay[i];
  }
  int64_t first = 0;  // element that is updated
  if (!rows.empty()) {
    const int64_t row = n.in(0).count() / std::max<int64_t>(1, n.in(0).shape[0]);
    first = rows[0] * row;
    (*tensors)[0].count = (rows[1] - rows[0]) * row;
  }
  return {"cpu." + n.node.op->name, workspace ? workspace(*tensors) : 0, [=](const KernelArgs& a) {
            for (size_t i = 0; i < count; ++i) {
              UpdateTensor& t = (*tensors)[i];
              copy_if_apart(a, i, i, all[i]);
              t.p = out(a, i) + first;
              t.g = in(a, count + i) + first;
              for (size_t k = 0; k < states; ++k) {
                copy_if_apart(a, (2 + k) * count + i, (1 + k) * count + i, t.count);
                t.state[k] = out(a, (1 + k) * count + i);
              }
            }
            const UpdateStep at = scalars.of(a);
            if (std::isfinite(at.gradient_scale)) update(Tensors(*tensors), at, a);
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
  const std::vector<double> decay = decay_of(n, count);
  for (size_t i = 0; i < count; ++i) {
    AdafactorTensor& t = (*tensors)[i];
    const Shape& shape = n.in(i).shape;
    matrix[i] = shape.size() >= 2;
    t.columns = shape.empty() ? 1 : shape.back();
    for (size_t k = 0; matrix[i] && k + 1 < shape.size(); ++k)
      (k + 2 == shape.size() ? t.rows : t.matrices) *= shape[k];
    t.weight_decay = decay[i];
  }
  return {"cpu.adafactor", adafactor_workspace_bytes(*tensors), [=](const KernelArgs& a) {
            for (size_t k = 0; k < sizes.size(); ++k)
              copy_if_apart(a, k < count ? k : k + count, k, sizes[k]);
            size_t column = 2 * count;  // results: p, rows or squares, columns
            for (size_t i = 0; i < count; ++i) {
              AdafactorTensor& t = (*tensors)[i];
              t.p = out(a, i);
              t.g = in(a, count + i);
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
  for (size_t i = 0; i < n.inputs(); ++i) all += (*views)[i].count = n.in(i).count();
  return {"cpu.sum_squares", sum_squares_workspace_bytes(all, static_cast<int64_t>(n.inputs())),
          [=](const KernelArgs& a) {
            for (size_t i = 0; i < views->size(); ++i) (*views)[i].data = in(a, i);
            sum_squares(*views, static_cast<double*>(a.out[0]), a.workspace, pool_of(a));
          }};
}

// The operands before the last `scalars` must be f32.
template <class Make>
auto with_f32_tensors(size_t scalars, Make make) {
  return [=](const NodeView& n, int) -> Result<Kernel> {
    for (size_t i = 0; i + scalars < n.inputs(); ++i)
      if (n.in(i).dtype != DType::f32) return declined(n, "kernels are for f32");
    return make(n);
  };
}

// `rule` makes a rule of the node's attributes, `step` is its kernel.
template <class Rule, class Step>
auto elementwise(Rule rule, Step step) {
  return with_f32_tensors(3, [=](const NodeView& n) {
    return kernel_over(n, n.integers("rows"), nullptr,
                       [step, r = rule(n)](Tensors t, const UpdateStep& at, const KernelArgs& a) {
                         step(t, r, at, pool_of(a));
                       });
  });
}

Kernel lamb_kernel(const NodeView& n) {
  return kernel_over(n, {}, lamb_workspace_bytes,
                     [rule = Lamb{n.real("beta1"), n.real("beta2"), n.real("eps")}](
                         Tensors t, const UpdateStep& at, const KernelArgs& a) {
                       lamb(t, rule, at, a.workspace, pool_of(a));
                     });
}

}  // namespace

Makers update_makers() {
  return {
      {"adamw", elementwise(
                    [](const NodeView& o) {
                      return AdamW{o.real("beta1"), o.real("beta2"), o.real("eps"), o.flag("l2")};
                    },
                    adamw)},
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
      {"lion", elementwise(
                   [](const NodeView& o) {
                     return Lion{o.real("beta1"), o.real("beta2")};
                   },
                   lion)},
      {"lamb", with_f32_tensors(3, lamb_kernel)},
      {"adafactor", with_f32_tensors(3, adafactor_kernel)},
      {"sum_squares", with_f32_tensors(0, squares_kernel)}};
}

}  // namespace hone::cpu
