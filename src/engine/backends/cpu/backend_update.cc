// The optimizer over all weights at once, and the norm of all gradients.
#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/optimizer.h"

namespace hone::cpu {
namespace {

Result<Kernel> adamw_step(const NodeView& n) {
  const auto count = static_cast<size_t>(n.attrs().integer("count"));
  const std::vector<int64_t> decay = n.attrs().integers("decay");
  AdamWStep base;
  base.beta1 = n.attrs().real("beta1");
  base.beta2 = n.attrs().real("beta2");
  base.eps = n.attrs().real("eps");
  // Filled at each call: pointers are known to the kernel only then.
  auto tensors = std::make_shared<std::vector<AdamWTensor>>(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 4; ++k)
      if (n.in(k * count + i).dtype != DType::f32) return declined(n, "kernels are for f32");
    (*tensors)[i].count = n.in(i).count();
    (*tensors)[i].weight_decay =
        decay.empty() || decay[i] != 0 ? n.attrs().real("weight_decay") : 0;
  }
  return Kernel{"cpu.adamw", 0, [=](const KernelArgs& a) {
                  for (size_t i = 0; i < count; ++i) {
                    AdamWTensor& t = (*tensors)[i];
                    copy_if_apart(a, i, i, t.count);
                    copy_if_apart(a, 2 * count + i, count + i, t.count);
                    copy_if_apart(a, 3 * count + i, 2 * count + i, t.count);
                    t.p = out(a, i);
                    t.g = in(a, count + i);
                    t.m = out(a, count + i);
                    t.v = out(a, 2 * count + i);
                  }
                  AdamWStep step = base;
                  step.lr = static_cast<const double*>(a.in[4 * count])[0];
                  step.step = in_i64(a, 4 * count + 1)[0];
                  step.gradient_scale =
                      static_cast<float>(static_cast<const double*>(a.in[4 * count + 2])[0]);
                  adamw(*tensors, step, a.pool);
                }};
}

Kernel squares(const NodeView& n) {
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
  return n.node.op->name == "adamw" ? adamw_step(n) : Result<Kernel>(squares(n));
}

}  // namespace hone::cpu
