// Launches of elementwise primitives.
#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

int step_of(const Type& t) { return t.rank() == 0 ? 0 : 1; }

void add_unary(LaunchTable& table, const std::string& name) {
  table[name] = [name](const NodeView& n) -> Result<Launches> {
    const Type& t = n.out(0);
    if (!is_float(t.dtype) && !(name == "neg" && is_one_of(t.dtype, {DType::i64, DType::i32})))
      return no_kernel(n, fmt::format("not for {}", name_of(t.dtype)));
    Launch l(kernel_of(name, t.dtype));
    l.in(0).out(0).value(t.count()).mapped(t.count());
    return one(std::move(l));
  };
}

Result<Launches> binary(const NodeView& n, const std::string& name,
                        std::initializer_list<DType> also = {}) {
  const DType t = n.in(0).dtype;
  const bool is_number = is_float(t) || is_one_of(t, {DType::i64, DType::i32});
  if (!is_number && !is_one_of(t, also)) return no_kernel(n, fmt::format("not for {}", name_of(t)));
  const int64_t count = n.out(0).count();
  Launch l(kernel_of(name, t));
  l.in(0).in(1).out(0).value(count).value(step_of(n.in(0))).value(step_of(n.in(1))).mapped(count);
  return one(std::move(l));
}

Result<Launches> select(const NodeView& n) {
  const int64_t count = n.out(0).count();
  Launch l(kernel_of_size("select", n.out(0).dtype));
  l.in(0).in(1).in(2).out(0).value(count);
  for (size_t i = 0; i < 3; ++i) l.value(step_of(n.in(i)));
  l.mapped(count);
  return one(std::move(l));
}

Result<Launches> cast(const NodeView& n) {
  const Type& to = n.out(0);
  const double most = !n.flag("saturate")       ? 0
                      : to.dtype == DType::f16  ? 65504
                      : to.dtype == DType::bf16 ? 0x1.fep127
                                                : 0;
  return one(cast_launch(n.in(0).dtype, to.dtype, LaunchArgument::input(0),
                         LaunchArgument::output(0), to.count(), most));
}

}  // namespace

Launch cast_launch(DType from, DType to, const LaunchArgument& in, const LaunchArgument& out,
                   int64_t count, double most) {
  Launch l(fmt::format("cast_{}_{}", name_of(from), name_of(to)));
  l.argument(in).argument(out).value(count).value(most).mapped(count);
  return l;
}

void add_elementwise(LaunchTable& t) {
  for (const char* name : {"neg", "exp", "log", "tanh", "erf", "sqrt", "sin", "cos"})
    add_unary(t, name);
  for (const std::string name : {"add", "sub", "mul", "div"})
    t[name] = [name](const NodeView& n) { return binary(n, name); };
  for (const std::string name : {"maximum", "minimum"})
    t[name] = [name](const NodeView& n) { return binary(n, name, {DType::boolean}); };
  t["compare"] = [](const NodeView& n) {
    return binary(n, "compare_" + n.text("how"), {DType::u8, DType::boolean});
  };
  t["select"] = select;
  t["cast"] = cast;
}

}  // namespace hone::cuda
