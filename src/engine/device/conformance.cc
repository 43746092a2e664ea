#include "engine/device/conformance.h"

#include <map>

#include "base/core/philox.h"
#include "engine/device/errors.h"
#include "engine/device/lower.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

Type in_f64(Type t) {
  if (is_float(t.dtype)) t.dtype = DType::f64;
  return t;
}
Tensor in_f64(const Tensor& t) { return Tensor::of(in_f64(t.type), t.numbers()); }
Tensors in_f64(const Tensors& given) {
  Tensors t;
  for (const auto& [name, x] : given) t[name] = in_f64(x);
  return t;
}

// One node over inputs "0", "1", ...; outputs "y0", "y1", ...
struct OneOp {
  Program program{op_table()};
  Node node;
  Values operands;

  OneOp(const OpCase& c, const Tensors& given) {
    Builder b(program);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      auto it = given.find(std::to_string(i));
      operands.push_back(it == given.end() ? kNoValue
                                           : program.add_input(it->first, it->second.type));
    }
    Values y = b.emit(c.op, operands, c.attrs);
    node = program.nodes.back();
    for (size_t k = 0; k < y.size(); ++k) program.outputs.push_back({fmt::format("y{}", k), y[k]});
  }
};

// A backend that takes the i-th decomposition of one op instead of a kernel.
class Picks : public Backend {
 public:
  Picks(const Backend& backend, const Op& op, size_t i) : backend_(backend), op_(op), i_(i) {}
  std::string_view name() const override { return backend_.name(); }
  Result<Kernel> kernel(const NodeView& n) const override {
    if (n.node.op == &op_) return Error(err::kDeclined, "another decomposition is wanted");
    return backend_.kernel(n);
  }
  Device& device() const override { return backend_.device(); }
  size_t decomposition(const NodeView& n) const override {
    return n.node.op == &op_ ? i_ : backend_.decomposition(n);
  }

 private:
  const Backend& backend_;
  const Op& op_;
  size_t i_;
};

class Suite {
 public:
  Suite(std::vector<const Backend*> backends, const Backend& oracle)
      : backends_(std::move(backends)), oracle_(oracle) {}

  void compare(const OpCase& c) {
    at_ = fmt::format("{} {}", c.place, c.op);
    Tensors given = operands_of(c);
    variants(c, given, "");
    const Op& op = *op_table().find(c.op);
    if (backends_[0] == &oracle_)  // the run of any other backend would repeat it
      for (size_t i = 1; i < op.decompositions.size(); ++i) decomposed(c, given, i);
    activated(c, given);
    const Overwrite* onto = op.accumulator();
    if (!onto) return;
    const size_t slot = slot_of(op, onto->operand, c.inputs.size());
    Tensors plain = given;
    OneOp one(c, plain);
    const int made = accumulated_output(one.node);
    if (given.count(std::to_string(slot)) || made < 0) return;
    OpCase accumulating = c;
    while (accumulating.inputs.size() <= slot) accumulating.inputs.push_back({true, {}, "", {}});
    accumulating.inputs[slot] = {
        false, one.program.type(one.node.out[static_cast<size_t>(made)]), "normal", {}};
    given[std::to_string(slot)] = make_operand(accumulating.inputs[slot], 99);
    variants(accumulating, given, ", onto an accumulator");
  }

  void gradient(const OpCase& c, size_t elements) {
    const Op& op = *op_table().find(c.op);
    if (!op.grad || c.gradient == 0) return;
    at_ = fmt::format("{} {}", c.place, c.op);
    Tensors given = in_f64(operands_of(c));
    OneOp forward(c, given), backward(c, given);
    const Type y = forward.program.type(forward.node.out[0]);
    if (!is_float(y.dtype)) return;
    Tensor along = make_operand({false, y, "normal", {}}, 7);
    Builder b(backward.program);
    Values d(backward.node.out.size(), kNoValue);
    d[0] = backward.program.add_input("dy", y);
    Values g = op.grad(b, {backward.program, backward.node}, d);
    backward.program.outputs.clear();
    for (size_t i = 0; i < g.size(); ++i) {
      if (g[i] == kNoValue) continue;
      if (backward.program.type(g[i]) != backward.program.type(backward.operands[i]))
        return fail(
            fmt::format("the gradient of input {} is {}", i, backward.program.type(g[i]).text()));
      backward.program.outputs.push_back({fmt::format("{}", i), g[i]});
    }
    Tensors with_dy = given;
    with_dy["dy"] = along;
    Tensors grads = run(backward.program, oracle_, with_dy, {}).outputs;
    Program lowered = take(lower(forward.program, oracle_));
    for (const auto& [name, x] : given) {
      int64_t i = std::stoll(name);
      if (x.type.dtype != DType::f64 || std::count(c.fixed.begin(), c.fixed.end(), i)) continue;
      if (!grads.count(name))
        fail(fmt::format("input {} has no gradient and is not said to be fixed", i));
      else
        differences(c, lowered, given, name, along.numbers(), grads[name].numbers(), elements);
    }
  }

  ConformanceReport report;

 private:
  void fail(const std::string& what) {
    report.failures.push_back(fmt::format("{}: {}", at_, what));
  }

  template <class T>
  static T take(Result<T> r) {
    if (!r) throw BuildError(r.error());
    return std::move(*r);
  }

  Outcome run(const Program& p, const Backend& backend, const Tensors& given,
              const InterpretOptions& o) {
    Outcome out = take(interpret(p, backend, given, o));
    for (const std::string& s : out.broken) fail(s);
    ++report.checks;
    return out;
  }

  // Those of make_operands, and results of ops.
  Tensors operands_of(const OpCase& c) {
    Tensors all = make_operands(c);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const CaseInput& in = c.inputs[i];
      if (!in.op) continue;
      const auto from = static_cast<size_t>(in.numbers[0]);
      OpCase made = c;
      made.op = in.op->name;
      made.inputs = {c.inputs[from]};
      const Tensors given{{"0", all.at(std::to_string(from))}};
      all[std::to_string(i)] = run(OneOp(made, given).program, oracle_, given, {}).outputs.at("y0");
    }
    return all;
  }

  void variants(const OpCase& c, const Tensors& given, const std::string& how) {
    OneOp one(c, given);
    if (has_kernel({one.program, one.node})) {
      if (Result<Kernel> kernel = backends_[0]->kernel({one.program, one.node}); !kernel) {
        report.declined.push_back(fmt::format("{}{}: {}", at_, how, kernel.error().what()));
        if (!lower(one.program, *backends_[0])) return;
      }
    }
    Tensors wide = in_f64(given);
    Tensors expected = run(OneOp(c, wide).program, oracle_, wide, {}).outputs;
    Tensors first;  // of the first backend
    for (const Backend* backend : backends_) {
      const int size = backend->device().pool().size();
      std::string threads = fmt::format("{}, {} thread{}", how, size, size > 1 ? "s" : "");
      Tensors plain = run(one.program, *backend, given, {}).outputs;
      for (const auto& [name, t] : plain) differ(c, name + threads, t, expected[name]);
      if (backend == backends_[0]) first = plain;
      for (const auto& [name, t] : plain)
        if (t.bytes != first[name].bytes)
          fail(fmt::format("{}{}: other bits than with {}", name, threads,
                           backends_[0]->device().pool().size()));
      Tensors placed = run(one.program, *backend, given, {.in_place = true}).outputs;
      for (const auto& [name, t] : placed)
        if (t.bytes != plain[name].bytes)
          fail(fmt::format("{}{}: other bits when written in place", name, threads));
    }
  }

  // An activation that is applied in another node's place has its bits (see numeric_fingerprint).
  void activated(const OpCase& c, const Tensors& given) {
    OneOp one(c, given);
    if (!keeps_what_it_activates(one.node)) return;
    Builder b(one.program);
    const ValueId alone = ops::activation(b, one.node.out[1], one.node.attrs.text("act"));
    one.program.outputs.push_back({"alone", alone});
    for (const Backend* backend : backends_) {
      const Tensors made = run(one.program, *backend, given, {}).outputs;
      if (made.at("y0").bytes != made.at("alone").bytes)
        fail(fmt::format("other bits than its {} as a node", one.node.attrs.text("act")));
    }
  }

  // The i-th decomposition gives what the first one does, both on the oracle.
  void decomposed(const OpCase& c, const Tensors& given, size_t i) {
    const Tensors wide = in_f64(given);
    const OneOp one(c, wide);
    const Picks other(oracle_, *one.node.op, i);
    const Tensors expected = run(one.program, oracle_, wide, {}).outputs;
    for (const auto& [name, t] : run(one.program, other, wide, {}).outputs)
      differ(c, fmt::format("{}, decomposition {}", name, one.node.op->decompositions[i].name), t,
             expected.at(name));
  }

  void differ(const OpCase& c, const std::string& name, const Tensor& got, const Tensor& want) {
    std::vector<double> a = got.numbers(), b = want.numbers();
    if (a.size() != b.size())
      return fail(fmt::format("{}: {} elements, {} expected", name, a.size(), b.size()));
    bool exact = !is_float(got.type.dtype);
    double largest = 1e-3, worst = -1;
    size_t where = 0;
    for (double x : b)
      if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    for (size_t i = 0; i < a.size(); ++i) {
      double off = a[i] == b[i] ? 0 : std::fabs(a[i] - b[i]);
      if (std::isnan(off) || std::isinf(off)) off = INFINITY;
      if (off > worst) {
        worst = off;
        where = i;
      }
    }
    double allowed = exact ? 0 : c.tolerance * largest;
    if (worst > allowed)
      fail(fmt::format(
          "{}: element {} of {} is {:.9g}, {:.9g} expected (off by {:.3g}, {:.3g} allowed)", name,
          where, got.type.text(), a[where], b[where], worst, allowed));
  }

  void differences(const OpCase& c, const Program& p, Tensors given, const std::string& name,
                   const std::vector<double>& along, const std::vector<double>& grad,
                   size_t elements) {
    auto loss = [&] {
      std::vector<double> y = run(p, oracle_, given, {}).outputs["y0"].numbers();
      double sum = 0;
      for (size_t i = 0; i < y.size(); ++i) sum += along[i] == 0 ? 0 : y[i] * along[i];
      return sum;
    };
    const std::vector<double> x = given[name].numbers();
    const Type type = given[name].type;
    double largest = 1e-3;
    for (double g : grad) largest = std::max(largest, std::fabs(g));
    const size_t stride = std::max<size_t>(1, x.size() / elements) | 1;
    for (size_t i = 0; i < x.size(); i += stride) {
      const double h = 1e-5 * std::max(1.0, std::fabs(x[i]));
      std::vector<double> moved = x;
      moved[i] = x[i] + h;
      given[name] = Tensor::of(type, moved);
      double up = loss();
      moved[i] = x[i] - h;
      given[name] = Tensor::of(type, moved);
      double slope = (up - loss()) / (2 * h);
      if (!(std::fabs(slope - grad[i]) <= c.gradient * largest))
        return fail(fmt::format(
            "gradient of input {} at element {} is {:.9g}, finite differences say {:.9g}", name, i,
            grad[i], slope));
    }
  }

  const std::vector<const Backend*> backends_;
  const Backend& oracle_;
  std::string at_;
};

template <class F>
ConformanceReport each_case(Suite& suite, const std::string& folder, const std::string& only,
                            CaseSample sample, F&& f) {
  Result<std::vector<OpCase>> cases = read_cases(folder, op_table());
  if (!cases) {
    suite.report.failures.push_back(cases.error().text());
    return suite.report;
  }
  std::map<std::string, int> seen;  // cases of each op
  for (const OpCase& c : *cases) {
    const int number = seen[c.op]++;
    if ((!only.empty() && c.op != only) || number % sample.every != sample.first) continue;
    try {
      f(c);
    } catch (const std::exception& e) {  // a refused case, or a bug in a kernel
      suite.report.failures.push_back(fmt::format("{} {}: {}", c.place, c.op, e.what()));
    }
  }
  for (const Op* op : op_table().all())
    if (only.empty() && !seen.count(op->name))
      suite.report.failures.push_back(fmt::format("{} has no case in {}", op->name, folder));
  return suite.report;
}

}  // namespace

std::string ConformanceReport::text() const {
  std::string s = fmt::format("{} runs, {} failures, {} cases declined\n", checks, failures.size(),
                              declined.size());
  for (const std::string& f : failures) s += "FAILED   " + f + "\n";
  for (const std::string& d : declined) s += "declined " + d + "\n";
  return s;
}

ConformanceReport run_conformance(const Backend& backend, const Backend& oracle,
                                  const std::string& folder, const std::string& only,
                                  CaseSample sample) {
  Suite suite({&backend}, oracle);
  return each_case(suite, folder, only, sample, [&](const OpCase& c) { suite.compare(c); });
}

ConformanceReport run_conformance(std::span<const std::unique_ptr<Backend>> backends,
                                  const Backend& oracle, const std::string& folder,
                                  const std::string& only) {
  std::vector<const Backend*> list;
  for (const auto& b : backends) list.push_back(b.get());
  Suite suite(std::move(list), oracle);
  return each_case(suite, folder, only, {}, [&](const OpCase& c) { suite.compare(c); });
}

ConformanceReport check_gradients(const Backend& oracle, const std::string& folder,
                                  const std::string& only, size_t elements) {
  Suite suite({}, oracle);
  return each_case(suite, folder, only, {}, [&](const OpCase& c) { suite.gradient(c, elements); });
}

}  // namespace hone
