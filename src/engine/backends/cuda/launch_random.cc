// Launches that draw random numbers.
#include "base/core/philox.h"
#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

Result<Launches> dropout_mask(const NodeView& n) {
  const Type& t = n.out(0);
  Launch l("dropout_mask");
  l.in(0).in(1).in(2).out(0).value(t.count()).value(t.shape[1]);
  l.value(scope_hash(n.text("key"))).value(dropout_threshold(n.real("p"))).over(t.count());
  return one(std::move(l));
}

Result<Launches> attention_dropout_mask(const NodeView& n) {
  const Type& t = n.out(0);
  Launch l("attention_dropout_mask");
  l.in(0).in(1).in(2).in(3).out(0).value(t.count()).value(t.shape[1]).value(t.shape[2]);
  l.value(n.in(2).count() - 1).value(scope_hash(n.text("key")));
  l.value(dropout_threshold(n.real("p"))).over(t.count());
  return one(std::move(l));
}

Result<Launches> random_normal(const NodeView& n) {
  const Type& t = n.out(0);
  if (!is_one_of(t.dtype, {DType::f64, DType::f32}))
    return no_kernel(n, fmt::format("not for {}", name_of(t.dtype)));
  Launch l(kernel_of("random_normal", t.dtype));
  l.in(0).out(0).value(t.count()).value(static_cast<uint64_t>(n.integer("key")));
  l.value(n.integer("period")).value(n.real("std")).over(t.count());
  return one(std::move(l));
}

Result<Launches> round_stochastic(const NodeView& n) {
  const Type& t = n.out(0);
  if (n.in(0).dtype != DType::f32) return no_kernel(n, "for f32 only");
  Launch l("round_stochastic_f32");
  l.in(0).in(1).out(0).value(t.count()).value(static_cast<uint64_t>(n.integer("key")));
  l.value(static_cast<uint64_t>(n.integer("first"))).over(t.count());
  return one(std::move(l));
}

}  // namespace

void add_random(LaunchTable& t) {
  t["dropout_mask"] = dropout_mask;
  t["attention_dropout_mask"] = attention_dropout_mask;
  t["random_normal"] = random_normal;
  t["round_stochastic"] = round_stochastic;
}

}  // namespace hone::cuda
