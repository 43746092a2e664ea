// The optimizer over all weights at once, and the norm of all gradients.
#include <cmath>

#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/optimizer.h"

namespace hone::cpu {
namespace {

using Tensors = std::span<const UpdateTensor>;

UpdateStep step_of(const KernelArgs& a, size_t lists) {
  return {static_cast<const double*>(a.in[lists])[0], in_i64(a, lists + 1)[0],
          static_cast<const double*>(a.in[lists + 2])[0]};
}

double decay_of(const NodeView& n, size_t i) {
  const std::vector<int64_t> decay = n.attrs().integers("decay");
  return decay.empty() || decay[i] != 0 ? n.attrs().real("weight_decay") : 0;
}

// Of a rule whose states have the types of the parameters. Each step calls update(tensors, step,
// args).
template <class Update>
Kernel kernel_over(const NodeView& n, int64_t (*workspace)(Tensors), Update update) {
  const auto count = static_cast<size_t>(n.attrs().integer("count"));
  const size_t lists = n.inputs() - 3, states = lists / count - 2;
  // Filled at each call: pointers are known to the kernel only then.
  auto tensors = std::make_shared<std::vector<UpdateTensor>>(count);
  for (size_t i = 0; i < count; ++i) {
    (*tensors)[i].count = n.in(i).count();
    (*tensors)[i].weight_decay = decay_of(n, i);
  }
  return {"cpu." + n.node.op->name, workspace ? workspace(*tensors) : 0, [=](const KernelArgs& a) {
            for (size_t i = 0; i < count; ++i) {
              UpdateTensor& t = (*tensors)[i];
              copy_if_apart(a, i, i, t.count);
              t.p = out(a, i);
              t.g = in(a, count + i);
              for (size_t k = 0; k < states; ++k) {
                copy_if_apart(a, (2 + k) * count + i, (1 + k) * count + i, t.count);
                t.state[k] = out(a, (1 + k) * count + i);
              }
            }
            const UpdateStep at = step_of(a, lists);
            if (std::isfinite(at.gradient_scale)) update(Tensors(*tensors), at, a);
          }};
}

Kernel adafactor_kernel(const NodeView& n) {
  const auto count = static_cast<size_t>(n.attrs().integer("count"));
  const size_t lists = n.inputs() - 3;
  const Adafactor rule{.eps = n.attrs().real("eps"),
                       .clip_threshold = n.attrs().real("clip_threshold"),
                       .decay_rate = n.attrs().real("decay_rate")};
  auto tensors = std::make_shared<std::vector<AdafactorTensor>>(count);
  std::vector<int64_t> sizes;  // of every result
  for (size_t k = 0; k < lists - count; ++k) sizes.push_back(n.out(k).count());
  std::vector<bool> matrix(count);
  for (size_t i = 0; i < count; ++i) {
    AdafactorTensor& t = (*tensors)[i];
    const Shape& shape = n.in(i).shape;
    matrix[i] = shape.size() >= 2;
    t.columns = shape.empty() ? 1 : shape.back();
    for (size_t k = 0; matrix[i] && k + 1 < shape.size(); ++k)
      (k + 2 == shape.size() ? t.rows : t.matrices) *= shape[k];
    t.weight_decay = decay_of(n, i);
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
            const UpdateStep at = step_of(a, lists);
            if (std::isfinite(at.gradient_scale))
              adafactor(*tensors, rule, at, a.workspace, a.pool);
          }};
}

Kernel squares_kernel(const NodeView& n) {
  auto views = std::make_shared<std::vector<TensorView>>(n.inputs());
  int64_t all = 0;
  for (size_t i = 0; i < n.inputs(); ++i) all += (*views)[i].count = n.in(i).count();
  return {"cpu.sum_squares", sum_squares_workspace_bytes(all, static_cast<int64_t>(n.inputs())),
          [=](const KernelArgs& a) {
            for (size_t i = 0; i < views->size(); ++i) (*views)[i].data = in(a, i);
            static_cast<double*>(a.out[0])[0] = sum_squares(*views, a.workspace, a.pool);
          }};
}

}  // namespace

Result<Kernel> update_kernel(const NodeView& n, int) {
  const std::string& op = n.node.op->name;
  const size_t tensors = op == "sum_squares" ? n.inputs() : n.inputs() - 3;
  for (size_t i = 0; i < tensors; ++i)
    if (n.in(i).dtype != DType::f32) return declined(n, "kernels are for f32");
  if (op == "sum_squares") return squares_kernel(n);
  if (op == "adafactor") return adafactor_kernel(n);
  const Attrs& o = n.attrs();
  const double beta1 = o.real("beta1"), beta2 = o.real("beta2"), eps = o.real("eps");
  const double momentum = o.real("momentum");
  if (op == "adamw")
    return kernel_over(
        n, nullptr,
        [rule = AdamW{beta1, beta2, eps, o.flag("l2")}](
            Tensors t, const UpdateStep& at, const KernelArgs& a) { adamw(t, rule, at, a.pool); });
  if (op == "sgd")
    return kernel_over(
        n, nullptr,
        [rule = Sgd{momentum, o.real("dampening"), o.flag("nesterov")}](
            Tensors t, const UpdateStep& at, const KernelArgs& a) { sgd(t, rule, at, a.pool); });
  if (op == "adagrad")
    return kernel_over(n, nullptr,
                       [rule = Adagrad{o.real("lr_decay"), eps}](Tensors t, const UpdateStep& at,
                                                                 const KernelArgs& a) {
                         adagrad(t, rule, at, a.pool);
                       });
  if (op == "rmsprop")
    return kernel_over(n, nullptr,
                       [rule = Rmsprop{o.real("alpha"), eps, momentum, o.flag("centered")}](
                           Tensors t, const UpdateStep& at, const KernelArgs& a) {
                         rmsprop(t, rule, at, a.pool);
                       });
  if (op == "lion")
    return kernel_over(
        n, nullptr,
        [rule = Lion{beta1, beta2}](Tensors t, const UpdateStep& at, const KernelArgs& a) {
          lion(t, rule, at, a.pool);
        });
  HONE_BUG_IF(op != "lamb", "{} is no optimizer", op);
  return kernel_over(
      n, lamb_workspace_bytes,
      [rule = Lamb{beta1, beta2, eps}](Tensors t, const UpdateStep& at, const KernelArgs& a) {
        lamb(t, rule, at, a.workspace, a.pool);
      });
}

}  // namespace hone::cpu
