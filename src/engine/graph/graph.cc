#include "engine/graph/graph.h"

#include <algorithm>
#include <array>

#include "engine/graph/errors.h"

namespace hone {
namespace {
// The first of the sorted attributes that is not before `name`.
auto place_of(auto& list, std::string_view name) {
  return std::find_if(list.begin(), list.end(),
                      [&](const Attrs::Named& a) { return a.first >= name; });
}
template <class T>
T attr_or(const Attrs& attrs, std::string_view name, T otherwise) {
  const Attr* const found = attrs.find(name);
  if (!found) return otherwise;
  if constexpr (std::is_same_v<T, double>) {
    if (auto* i = std::get_if<int64_t>(found)) return static_cast<double>(*i);
  }
  const T* value = std::get_if<T>(found);
  HONE_BUG_IF(!value, "attribute '{}' has another type", name);
  return *value;
}
constexpr std::array<std::string_view, 6> kRoles{"param", "grad",     "moment",
                                                 "cache", "constant", "copy"};
constexpr std::array<std::string_view, 3> kPhases{"forward", "backward", "update"};
}  // namespace

const Attr* Attrs::find(std::string_view name) const {
  for (const Named& a : list_)
    if (a.first == name) return &a.second;
  return nullptr;
}
void Attrs::set(std::string_view name, Attr value) {
  const auto at = place_of(list_, name);
  if (at != list_.end() && at->first == name)
    at->second = std::move(value);
  else
    list_.insert(at, {std::string(name), std::move(value)});
}
void Attrs::erase(std::string_view name) {
  const auto at = place_of(list_, name);
  if (at != list_.end() && at->first == name) list_.erase(at);
}

bool Attrs::flag(std::string_view n, bool o) const { return attr_or<bool>(*this, n, o); }
int64_t Attrs::integer(std::string_view n, int64_t o) const {
  return attr_or<int64_t>(*this, n, o);
}
double Attrs::real(std::string_view n, double o) const { return attr_or<double>(*this, n, o); }
std::string Attrs::text(std::string_view n, std::string o) const {
  return attr_or<std::string>(*this, n, std::move(o));
}
std::vector<int64_t> Attrs::integers(std::string_view n) const {
  return attr_or<std::vector<int64_t>>(*this, n, {});
}

std::string_view name_of(Role r) { return kRoles[static_cast<size_t>(r)]; }
std::string copy_name(const std::string& parameter) { return "copy." + parameter; }
Result<Role> role_named(std::string_view name) {
  for (size_t i = 0; i < kRoles.size(); ++i)
    if (kRoles[i] == name) return static_cast<Role>(i);
  return Error(err::kBadProgramText, fmt::format("'{}' is not a role of a state", name));
}

std::string_view name_of(Phase p) { return kPhases[static_cast<size_t>(p)]; }
Result<Phase> phase_named(std::string_view name) {
  for (size_t i = 0; i < kPhases.size(); ++i)
    if (kPhases[i] == name) return static_cast<Phase>(i);
  return Error(err::kBadProgramText, fmt::format("'{}' is not a phase of a step", name));
}

ValueId Program::new_value(Type type, int32_t node) {
  values.push_back({std::move(type), node, Space::device});
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Program::add_input(std::string input_name, Type type) {
  ValueId v = new_value(std::move(type));
  inputs.push_back({std::move(input_name), v});
  return v;
}

ValueId Program::add_state(State s, Type type) {
  s.value = new_value(std::move(type));
  values.back().space = s.home;
  states.push_back(std::move(s));
  return states.back().value;
}

State* Program::state_of(ValueId old_version) {
  for (State& s : states)
    if (s.value == old_version) return &s;
  return nullptr;
}
State* Program::state_named(std::string_view n) {
  for (State& s : states)
    if (s.name == n) return &s;
  return nullptr;
}
const State* Program::state_named(std::string_view n) const {
  return const_cast<Program*>(this)->state_named(n);
}
namespace {
ValueId find_named(const std::vector<Named>& list, std::string_view n) {
  for (const Named& x : list)
    if (x.name == n) return x.value;
  return kNoValue;
}
}  // namespace
ValueId Program::input_named(std::string_view n) const { return find_named(inputs, n); }
ValueId Program::output_named(std::string_view n) const { return find_named(outputs, n); }

void Program::renumber_producers() {
  for (ValueInfo& v : values) v.node = -1;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (ValueId o : nodes[i].out) values[static_cast<size_t>(o)].node = static_cast<int32_t>(i);
}

void Program::compact() {
  std::vector<ValueId> to(values.size(), kNoValue);
  std::vector<ValueInfo> kept;
  kept.reserve(values.size());
  auto keep = [&](ValueId& v) {
    if (v == kNoValue) return;
    ValueId& t = to[static_cast<size_t>(v)];
    if (t == kNoValue) {
      t = static_cast<ValueId>(kept.size());
      kept.push_back(std::move(values[static_cast<size_t>(v)]));
    }
    v = t;
  };
  for (Named& n : inputs) keep(n.value);
  for (State& s : states) keep(s.value);
  for (Node& n : nodes) {
    for (ValueId& v : n.in) keep(v);
    for (ValueId& v : n.out) keep(v);
  }
  for (State& s : states) keep(s.next);
  for (Named& n : outputs) keep(n.value);
  values = std::move(kept);
  renumber_producers();
}

}  // namespace hone
