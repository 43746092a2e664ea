#include "engine/graph/op.h"

#include <algorithm>
#include <array>

#include "base/core/text.h"
#include "engine/graph/errors.h"

namespace hone {

Operand::Operand(const char* text) : name(text) {
  list = name.ends_with("...");
  optional = name.ends_with('?');
  name.resize(name.size() - (list ? 3 : optional ? 1 : 0));
}

AttrSpec required(std::string name, Attr of_type, std::vector<std::string> choices) {
  return {std::move(name), std::move(of_type), std::move(choices), true};
}

const AttrSpec* Op::attr(std::string_view attr_name) const {
  for (const AttrSpec& a : attrs)
    if (a.name == attr_name) return &a;
  return nullptr;
}

bool Op::takes(std::string_view operand) const {
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Operand& o) { return o.name == operand; });
}

const Overwrite* Op::accumulator() const {
  for (const Overwrite& o : over)
    if (o.adds) return &o;
  return nullptr;
}

size_t slot_of(const Op& op, std::string_view operand, size_t inputs) {
  bool after_list = false;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i].name == operand) return after_list ? inputs + i - op.operands.size() : i;
    after_list = after_list || op.operands[i].list;
  }
  HONE_BUG_IF(true, "{} has no operand '{}'", op.name, operand);
}

size_t NodeView::slot(std::string_view operand) const {
  return slot_of(*node.op, operand, node.in.size());
}

namespace {

template <class T>
const T& value_of(const NodeView& n, std::string_view name) {
  const AttrSpec* spec = n.node.op->attr(name);
  HONE_BUG_IF(!spec, "{} has no attribute '{}'", n.node.op->name, name);
  const Attr* const found = n.attrs().find(name);
  const T* value = std::get_if<T>(found ? found : &spec->value);
  HONE_BUG_IF(!value, "{}: attribute '{}' has another type", n.node.op->name, name);
  return *value;
}

std::string_view type_of(const Attr& a) {
  static constexpr std::array<std::string_view, std::variant_size_v<Attr>> kNames{
      "true or false", "an integer", "a number", "a text", "a list of integers"};
  return kNames[a.index()];
}

Error refuse(const NodeView& n, const std::string& what) {
  return Error(err::kInvalidProgram, fmt::format("{}: {}", n.node.op->name, what));
}

std::string signature(const Op& op) {
  std::vector<std::string> list;
  for (const Operand& o : op.operands)
    list.push_back(o.name + (o.list ? "..." : o.optional ? "?" : ""));
  return fmt::format("{}({})", op.name, join(list, ", "));
}

Status check_operands(const NodeView& n) {
  const Op& op = *n.node.op;
  size_t lists = 0, least = 0;
  for (const Operand& o : op.operands) {
    lists += o.list;
    least += !o.list && !o.optional;
  }
  const size_t given = n.inputs();
  auto wrong_number = [&] {
    return refuse(n, fmt::format("{} operands are given to {}", given, signature(op)));
  };
  if (lists > 0 ? given < least + 1 : given > op.operands.size()) return wrong_number();
  if (lists > 0) {  // nothing in a list, or after it, may be absent
    for (size_t i = 0; i < given; ++i)
      if (!n.has(i)) return refuse(n, fmt::format("operand {} is absent", i));
    return Ok{};
  }
  for (size_t i = 0; i < op.operands.size(); ++i)
    if (!op.operands[i].optional && !n.has(i))
      return refuse(n, fmt::format("operand '{}' is absent", op.operands[i].name));
  return Ok{};
}

Status check_attrs(const NodeView& n) {
  const Op& op = *n.node.op;
  for (const auto& [name, value] : n.attrs().all()) {
    const AttrSpec* spec = op.attr(name);
    if (!spec) {
      std::vector<std::string> known;
      for (const AttrSpec& a : op.attrs) known.push_back(a.name);
      const std::string near = nearest_name(name, known);
      Error e = refuse(n, fmt::format("no attribute is named '{}'", name));
      if (!near.empty()) e.todo(fmt::format("did you mean '{}'?", near));
      return e;
    }
    const bool whole_number =
        std::holds_alternative<double>(spec->value) && std::holds_alternative<int64_t>(value);
    if (value.index() != spec->value.index() && !whole_number)
      return refuse(n, fmt::format("attribute '{}' must be {}", name, type_of(spec->value)));
    const auto* text = std::get_if<std::string>(&value);
    if (text && !spec->choices.empty() &&
        std::find(spec->choices.begin(), spec->choices.end(), *text) == spec->choices.end())
      return refuse(
          n, fmt::format("{}='{}' is not one of {}", name, *text, join(spec->choices, ", ")));
  }
  for (const AttrSpec& a : op.attrs)
    if (a.required && !n.attrs().has(a.name))
      return refuse(n, fmt::format("attribute '{}' is absent", a.name));
  return Ok{};
}

}  // namespace

bool NodeView::flag(std::string_view attr) const { return value_of<bool>(*this, attr); }
int64_t NodeView::integer(std::string_view attr) const { return value_of<int64_t>(*this, attr); }
double NodeView::real(std::string_view attr) const {
  if (const Attr* const found = attrs().find(attr))
    if (const auto* whole = std::get_if<int64_t>(found)) return static_cast<double>(*whole);
  return value_of<double>(*this, attr);
}
const std::string& NodeView::text(std::string_view attr) const {
  return value_of<std::string>(*this, attr);
}
const std::vector<int64_t>& NodeView::integers(std::string_view attr) const {
  return value_of<std::vector<int64_t>>(*this, attr);
}

Status check_node(const NodeView& n) {
  HONE_TRY(check_operands(n));
  return check_attrs(n);
}

Space result_space(const NodeView& n, size_t k) {
  if (n.node.op->waits) return n.program.space(n.input(0));
  if (n.node.lane == Lane::host_compute && !n.node.op->copies) {
    for (const size_t i : inplace_inputs(n, k))
      if (n.has(i)) return n.program.space(n.input(i));
    return Space::host;
  }
  if (!n.node.op->copies) return Space::device;
  const Result<Space> to = space_named(n.text("to"));
  HONE_BUG_IF(!to.ok(), "{} to '{}'", n.node.op->name, n.text("to"));
  return *to;
}

bool keeps_what_it_activates(const Node& n) {
  if (!n.attrs.flag("save_pre") || n.attrs.text("act", "none") == "none") return false;
  if (!n.op->takes("residual")) return true;
  const size_t residual = slot_of(*n.op, "residual", n.in.size());
  return residual >= n.in.size() || n.in[residual] == kNoValue;
}

int accumulated_output(const Node& n) {
  const Op& op = *n.op;
  const Overwrite* onto = op.accumulator();
  if (!onto) return -1;
  size_t optional = n.out.size();  // the place of the first optional result
  for (const std::string& flag : op.optional_results) optional -= n.attrs.flag(flag) ? 1 : 0;
  if (onto->result >= optional &&  // by its flag, and first among those
      !n.attrs.flag(op.optional_results[onto->result - optional]))
    return -1;
  return static_cast<int>(onto->result);
}

OperandList inplace_inputs(const NodeView& n, size_t k) {
  OperandList list;
  for (const Overwrite& o : n.node.op->over)
    if (o.result == k && n.has(o.operand) &&
        (!o.adds || accumulated_output(n.node) == static_cast<int>(k)))
      list.push_back(n.slot(o.operand));
  if (!n.node.op->over_in_lists) return list;
  const int i = n.node.op->over_in_lists(n, k);
  if (i >= 0 && n.has(static_cast<size_t>(i))) list.push_back(static_cast<size_t>(i));
  return list;
}

OpTable::OpTable(std::vector<Op> ops) {
  for (Op& op : ops) {
    std::string name = op.name;
    HONE_BUG_IF(!ops_.emplace(name, std::move(op)).second, "two ops are named {}", name);
  }
}
const Op* OpTable::find(std::string_view name) const {
  auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : &it->second;
}
std::vector<const Op*> OpTable::all() const {
  std::vector<const Op*> list;
  for (const auto& [name, op] : ops_) list.push_back(&op);
  return list;
}

}  // namespace hone
