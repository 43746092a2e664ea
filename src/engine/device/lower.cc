#include "engine/device/lower.h"

#include <utility>

#include "engine/device/errors.h"
#include "engine/graph/builder.h"

namespace hone {
namespace {

class Lowering {
 public:
  Lowering(Program from, const Backend& backend)
      : nodes_(std::exchange(from.nodes, {})),
        backend_(backend),
        to_(std::move(from)),
        builder_(to_) {}

  Result<Program> run() {
    to_.nodes.reserve(nodes_.size());
    choices_.reserve(nodes_.size());
    for (Node& n : nodes_) HONE_TRY(place(std::move(n)));
    for (State& s : to_.states) s.next = now(s.next);
    for (Named& o : to_.outputs) o.value = now(o.value);
    to_.compact();
    return std::move(to_);
  }
  std::vector<Choice> choices() { return std::move(choices_); }  // of the nodes that are placed

 private:
  // The value that stands for one whose producer was decomposed.
  ValueId now(ValueId v) const {
    while (v != kNoValue && static_cast<size_t>(v) < instead_.size() &&
           instead_[static_cast<size_t>(v)] != kNoValue)
      v = instead_[static_cast<size_t>(v)];
    return v;
  }

  // Appends the node, or the nodes of its decomposition; its operands may be any earlier values.
  Status place(Node n) {
    for (ValueId& v : n.in) v = now(v);
    const NodeView view{to_, n};
    Result<Choice> choice =
        has_kernel(view) ? backend_.choose(view) : Choice{is_view(view) ? "view" : "copy", 0};
    if (!choice) {
      if (n.op->decompositions.empty() || n.lane == Lane::host_compute)
        return refuse(n, choice.error());
      return expand(n, view);
    }
    choices_.push_back(std::move(*choice));
    for (ValueId v : n.out)
      to_.values[static_cast<size_t>(v)].node = static_cast<int32_t>(to_.nodes.size());
    to_.nodes.push_back(std::move(n));
    return Ok{};
  }

  Status expand(const Node& n, const NodeView& view) {
    const size_t first = to_.nodes.size();
    builder_.set_scope(n.scope);
    builder_.set_phase(n.phase);
    const Decomposition& how = n.op->decompositions[backend_.decomposition(view)];
    const Values made = how.emit(builder_, view);
    HONE_BUG_IF(made.size() != n.out.size(),
                "the decomposition {} of {} makes {} values, the op has {}", how.name, n.op->name,
                made.size(), n.out.size());
    for (size_t i = 0; i < made.size(); ++i) {
      HONE_BUG_IF(to_.type(made[i]) != to_.type(n.out[i]),
                  "the decomposition {} of {} makes {} for output {} of type {}", how.name,
                  n.op->name, to_.type(made[i]).text(), i, to_.type(n.out[i]).text());
      instead_.resize(std::max(instead_.size(), to_.values.size()), kNoValue);
      instead_[static_cast<size_t>(n.out[i])] = made[i];
    }
    std::vector<Node> parts(
        std::make_move_iterator(to_.nodes.begin() + static_cast<std::ptrdiff_t>(first)),
        std::make_move_iterator(to_.nodes.end()));
    to_.nodes.resize(first);
    for (Node& part : parts) {
      part.clone = part.clone || n.clone;
      HONE_TRY(place(std::move(part)));
    }
    return Ok{};
  }

  Error refuse(const Node& n, const Error& reason) const {
    Error e(err::kDeclined,
            fmt::format("{} has no kernel for {}: {}", backend_.name(), n.op->name, reason.what()));
    if (!n.scope.empty()) e.at(n.scope);
    return e.todo(
        "run on another device or element type; `hone doctor` lists what this machine offers");
  }

  std::vector<Node> nodes_;  // that are not placed yet
  const Backend& backend_;
  Program to_;
  Builder builder_;
  std::vector<ValueId> instead_;
  std::vector<Choice> choices_;
};

}  // namespace

PlanInput plan_input(const Program& program, std::span<const Choice> choices) {
  PlanInput in{&program};
  for (const Choice& c : choices) {
    in.workspace_bytes.push_back(c.workspace_bytes);
    in.fused.push_back(c.fused);
  }
  return in;
}

bool is_view(const NodeView& n) { return n.node.op->view_offset && n.node.op->view_offset(n) >= 0; }
bool has_kernel(const NodeView& n) { return !is_view(n) && !n.node.op->copies; }

Result<Program> lower(Program program, const Backend& backend, std::vector<Choice>* choices) {
  Lowering lowering(std::move(program), backend);
  Result<Program> lowered = lowering.run();
  if (choices) *choices = lowering.choices();
  return lowered;
}

}  // namespace hone
