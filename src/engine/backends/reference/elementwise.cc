// Elementwise primitives in double precision: unary, binary, comparisons, select.
#include "engine/backends/reference/numbers.h"

namespace hone::reference {
namespace {

void unary(Table& table, const std::string& name, double (*f)(double)) {
  table[name] = [f](const Call& c, const KernelArgs& a) {
    Numbers x = load(a.in[0], c.in[0]);
    for (double& v : x) v = f(v);
    store(x, a.out[0], c.out[0]);
  };
}

// A scalar operand is read for every element.
void binary(Table& table, const std::string& name, double (*f)(double, double)) {
  table[name] = [f](const Call& c, const KernelArgs& a) {
    Numbers x = load(a.in[0], c.in[0]), y = load(a.in[1], c.in[1]);
    Numbers z(static_cast<size_t>(c.out[0].count()));
    for (size_t i = 0; i < z.size(); ++i)
      z[i] = f(c.in[0].rank() ? x[i] : x[0], c.in[1].rank() ? y[i] : y[0]);
    store(z, a.out[0], c.out[0]);
  };
}

void compare(const Call& c, const KernelArgs& a) {
  Numbers x = load(a.in[0], c.in[0]), y = load(a.in[1], c.in[1]);
  Numbers z(static_cast<size_t>(c.out[0].count()));
  const std::string how = c.attrs.text("how");
  for (size_t i = 0; i < z.size(); ++i) {
    double l = c.in[0].rank() ? x[i] : x[0], r = c.in[1].rank() ? y[i] : y[0];
    z[i] = how == "eq"   ? l == r
           : how == "ne" ? l != r
           : how == "lt" ? l < r
           : how == "le" ? l <= r
           : how == "gt" ? l > r
                         : l >= r;
  }
  store(z, a.out[0], c.out[0]);
}

void select(const Call& c, const KernelArgs& a) {
  Numbers condition = load(a.in[0], c.in[0]), x = load(a.in[1], c.in[1]),
          y = load(a.in[2], c.in[2]);
  Numbers z(static_cast<size_t>(c.out[0].count()));
  for (size_t i = 0; i < z.size(); ++i)
    z[i] = (c.in[0].rank() ? condition[i] : condition[0]) != 0 ? (c.in[1].rank() ? x[i] : x[0])
                                                               : (c.in[2].rank() ? y[i] : y[0]);
  store(z, a.out[0], c.out[0]);
}

}  // namespace

void add_elementwise(Table& t) {
  unary(t, "neg", [](double x) { return -x; });
  unary(t, "exp", [](double x) { return std::exp(x); });
  unary(t, "log", [](double x) { return std::log(x); });
  unary(t, "tanh", [](double x) { return std::tanh(x); });
  unary(t, "erf", [](double x) { return std::erf(x); });
  unary(t, "sqrt", [](double x) { return std::sqrt(x); });
  unary(t, "sin", [](double x) { return std::sin(x); });
  unary(t, "cos", [](double x) { return std::cos(x); });
  binary(t, "add", [](double x, double y) { return x + y; });
  binary(t, "sub", [](double x, double y) { return x - y; });
  binary(t, "mul", [](double x, double y) { return x * y; });
  binary(t, "div", [](double x, double y) { return x / y; });
  binary(t, "maximum", [](double x, double y) { return std::isnan(x) || x > y ? x : y; });
  binary(t, "minimum", [](double x, double y) { return std::isnan(x) || x < y ? x : y; });
  t["compare"] = compare;
  t["select"] = select;
  t["cast"] = [](const Call& c, const KernelArgs& a) {
    Numbers x = load(a.in[0], c.in[0]);
    if (c.attrs.flag("saturate")) {
      const double most = c.out[0].dtype == DType::f16    ? 65504
                          : c.out[0].dtype == DType::bf16 ? 0x1.fep127
                                                          : INFINITY;
      for (double& v : x)
        if (std::isfinite(v)) v = std::clamp(v, -most, most);
    }
    store(x, a.out[0], c.out[0]);
  };
  t["constant"] = [](const Call& c, const KernelArgs& a) {
    store(Numbers(static_cast<size_t>(c.out[0].count()), c.attrs.real("value")), a.out[0],
          c.out[0]);
  };
  t["iota"] = [](const Call& c, const KernelArgs& a) {
    Numbers v(static_cast<size_t>(c.out[0].count()));
    auto axis = static_cast<size_t>(c.attrs.integer("axis"));
    int64_t stride = strides_of(c.out[0].shape)[axis], size = c.out[0].shape[axis];
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<double>(static_cast<int64_t>(i) / stride % size);
    store(v, a.out[0], c.out[0]);
  };
}

}  // namespace hone::reference
