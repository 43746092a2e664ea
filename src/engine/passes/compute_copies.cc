#include "engine/passes/compute_copies.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/graph/op.h"

namespace hone {
namespace {

bool rounds_to(const Node& n, DType as) {
  return n.op->product && n.attrs.flag(std::string(name_of(as)));
}

// The parameters in f32 among these values, by name.
std::set<std::string> parameters_of(const Program& p, const std::set<ValueId>& read) {
  std::set<std::string> names;
  for (const State& s : p.states)
    if (s.role == Role::param && p.type(s.value).dtype == DType::f32 && read.contains(s.value))
      names.insert(s.name);
  return names;
}

// The operands of a node that count rounded to this type, whichever type they are kept in.
std::vector<size_t> rounded_operands(const Program& p, const Node& n, DType as) {
  std::vector<size_t> operands;
  if (!rounds_to(n, as)) return operands;
  operands.push_back(Op::kWeightOperand);
  const bool is_head = n.op->takes("labels");
  if (!is_head && n.op->takes("bias") && n.attrs.text("as") == name_of(as) &&
      NodeView{p, n}.has("bias"))
    operands.push_back(NodeView{p, n}.slot("bias"));
  return operands;
}

// Keeps weights of a program as halves.
class HalvedWeights {
 public:
  explicit HalvedWeights(Program& program) : p_(program) {}

  bool run(const std::set<std::string>& weights) {
    for (const State& s : p_.states)
      if (s.role == Role::param && weights.contains(s.name)) versions_.insert(s.value);
    if (versions_.empty()) return false;
    std::vector<Node> before = std::exchange(p_.nodes, {});
    for (Node& n : before) {
      update(n);
      for (size_t i = 0; i < n.in.size(); ++i) read(n, i);
      p_.nodes.push_back(std::move(n));
    }
    p_.renumber_producers();
    return true;
  }

 private:
  // Marks what an update writes over as halves, and notes the new versions.
  void update(Node& n) {
    if (n.op->attr("halves") == nullptr) return;
    std::vector<int64_t> halved;
    for (size_t k = 0; k < static_cast<size_t>(n.attrs.integer("count")); ++k) {
      if (!versions_.contains(n.in[k])) continue;
      halved.push_back(static_cast<int64_t>(k));
      versions_.insert(n.out[k]);
    }
    if (!halved.empty()) n.attrs.set("halves", halved);
  }
  static bool is_updated(const Node& n, size_t i) {
    const std::vector<int64_t> halved = n.attrs.integers("halves");
    return std::find(halved.begin(), halved.end(), static_cast<int64_t>(i)) != halved.end();
  }

  void read(Node& n, size_t i) {
    const ValueId v = n.in[i];
    if (v == kNoValue || !versions_.contains(v)) return;
    if (n.op->attr("halves") != nullptr && is_updated(n, i)) return;
    const std::vector<size_t> rounded = rounded_operands(p_, n, DType::bf16);
    const bool takes_half =
        std::find(rounded.begin(), rounded.end(), i) != rounded.end() || is_narrow_table(n, i);
    std::map<ValueId, ValueId>& made = takes_half ? upper_ : joined_;
    const auto found = made.find(v);
    n.in[i] = found != made.end() ? found->second : made[v] = make(n, v, takes_half);
  }
  // Rows of a table in f32 that are rounded to bf16.
  bool is_narrow_table(const Node& n, size_t i) const {
    return i == 0 && n.op->takes("table") && n.op->attr("dtype") != nullptr &&
           n.attrs.text("dtype") == "bf16" && p_.type(n.out[0]).dtype == DType::bf16;
  }
  ValueId make(const Node& reader, ValueId v, bool takes_half) {
    Node made;
    made.op = p_.ops().find(takes_half ? "upper_half" : "halves");
    if (!takes_half) made.attrs.set("joined", true);
    made.in = {v};
    made.out = {p_.new_value({takes_half ? DType::bf16 : DType::f32, Shape(p_.type(v).shape)})};
    made.phase = reader.phase;
    made.scope = reader.scope;
    p_.nodes.push_back(std::move(made));
    return p_.nodes.back().out[0];
  }

  Program& p_;
  std::set<ValueId> versions_;                 // of the weights
  std::map<ValueId, ValueId> upper_, joined_;  // by version
};

// Makes the copy a result of the node that makes the weight's new version, its result `k`; false:
// the node cannot.
bool copied_by_update(Node& n, size_t k, ValueId copy, DType as) {
  if (n.op->attr("copied") == nullptr || !n.attrs.integers("rows").empty()) return false;
  if (static_cast<int64_t>(k) >= n.attrs.integer("count")) return false;
  std::vector<int64_t> copied = n.attrs.integers("copied");
  copied.push_back(static_cast<int64_t>(k));
  n.attrs.set("copied", copied);
  n.attrs.set("copied_as", std::string(name_of(as)));
  n.out.push_back(copy);
  return true;
}

}  // namespace

std::set<std::string> multiplied_weights(const Program& p) {
  std::set<ValueId> read;
  for (const Node& n : p.nodes)
    if (n.op->product && n.in.size() > Op::kWeightOperand) read.insert(n.in[Op::kWeightOperand]);
  return parameters_of(p, read);
}

std::set<std::string> resident_weights(const Program& p) {
  std::set<ValueId> read, of_heads;
  for (const Node& n : p.nodes)
    for (const DType as : {DType::bf16, DType::f16})
      for (const size_t i : rounded_operands(p, n, as))
        (n.op->takes("labels") ? of_heads : read).insert(n.in[i]);
  for (const ValueId v : of_heads) read.erase(v);
  for (const State& s : p.states)
    if (!s.trainable) read.erase(s.value);
  return parameters_of(p, read);
}

Result<bool> compute_copies(Program& p, const std::set<std::string>& weights, DType as,
                            Copies how) {
  p.renumber_producers();
  if (how == Copies::halves) return HalvedWeights(p).run(weights);
  const bool resident = how == Copies::resident;
  std::vector<std::vector<Node>> after(p.nodes.size());  // each node: the copies of what it wrote
  bool any = false;
  const size_t states = p.states.size();
  for (size_t i = 0; i < states; ++i) {
    const State weight = p.states[i];
    if (weight.role != Role::param || !weights.contains(weight.name)) continue;
    State copy;
    copy.name = copy_name(weight.name);
    copy.role = Role::copy;
    const ValueId v = p.add_state(copy, {as, Shape(p.type(weight.value).shape)});
    for (Node& n : p.nodes)
      for (const size_t operand : rounded_operands(p, n, as))
        if (n.in[operand] == weight.value) n.in[operand] = v;
    any = true;
    if (weight.next == kNoValue) continue;
    const ValueId made = p.new_value(Type(p.type(v)));
    p.state_named(copy.name)->next = made;
    const auto writer = static_cast<size_t>(p.values[static_cast<size_t>(weight.next)].node);
    Node& by = p.nodes[writer];
    const auto k = std::find(by.out.begin(), by.out.end(), weight.next) - by.out.begin();
    if (resident && copied_by_update(by, static_cast<size_t>(k), made, as)) continue;
    Node cast;
    cast.op = p.ops().find("cast");
    cast.attrs.set("dtype", std::string(name_of(as)));
    cast.in = {weight.next};
    cast.out = {made};
    cast.phase = by.phase;
    cast.scope = by.scope;
    after[writer].push_back(std::move(cast));
  }
  if (!any) return false;
  std::vector<Node> before = std::exchange(p.nodes, {});
  for (size_t i = 0; i < before.size(); ++i) {
    p.nodes.push_back(std::move(before[i]));
    for (Node& cast : after[i]) p.nodes.push_back(std::move(cast));
  }
  p.renumber_producers();
  return any;
}

}  // namespace hone
