#include "engine/passes/narrow_weights.h"

#include <utility>

#include "engine/graph/op.h"

namespace hone {
namespace {

class Narrowing {
 public:
  explicit Narrowing(Program& program) : p(program) { wide_.resize(p.values.size(), kNoValue); }

  bool run(const std::set<std::string>& weights) {
    std::vector<bool> narrow(p.values.size(), false);
    bool any = false;
    for (const State& s : p.states) {
      Type& type = p.values[at(s.value)].type;
      if (!weights.contains(s.name) || type.dtype != DType::f32) continue;
      HONE_BUG_IF(s.next != kNoValue, "'{}' is updated in f32 already", s.name);
      type.dtype = DType::bf16;
      any = narrow[at(s.value)] = true;
    }
    if (!any) return false;
    std::vector<Node> before = std::exchange(p.nodes, {});
    for (Node& n : before) {
      for (size_t i = 0; i < n.in.size(); ++i)
        if (n.in[i] != kNoValue && at(n.in[i]) < narrow.size() && narrow[at(n.in[i])]) read(n, i);
      p.nodes.push_back(std::move(n));
    }
    p.renumber_producers();
    return true;
  }

 private:
  static size_t at(ValueId v) { return static_cast<size_t>(v); }

  void read(Node& n, size_t i) {
    if (n.op->product && i == Op::kWeightOperand && n.attrs.flag("bf16")) return;
    if (n.op->stored_weight == i && !n.attrs.flag("f16")) {
      if (n.op->attr("dtype") != nullptr) n.attrs.set("dtype", std::string("f32"));
      return;
    }
    n.in[i] = widened(n.in[i], n);
  }
  ValueId widened(ValueId v, const Node& reader) {
    ValueId& wide = wide_[at(v)];
    if (wide != kNoValue) return wide;
    Node n;
    n.op = p.ops().find("cast");
    n.attrs.set("dtype", std::string("f32"));
    n.in = {v};
    n.out = {wide = p.new_value({DType::f32, Shape(p.type(v).shape)})};
    n.scope = reader.scope;
    n.phase = reader.phase;
    p.nodes.push_back(std::move(n));
    return wide;
  }

  Program& p;
  std::vector<ValueId> wide_;  // by value
};

}  // namespace

Result<bool> narrow_weights(Program& p, const std::set<std::string>& weights) {
  return !weights.empty() && Narrowing(p).run(weights);
}

}  // namespace hone
