#include "engine/backends/xla/state_arrays.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/core/text.h"

namespace hone::xla {
namespace {

struct Pattern {
  std::string name;  // with "*" for the number
  std::string type;
  std::string kind;
  auto operator<=>(const Pattern&) const = default;
};

// The patterns of a name, with the number that each replaces.
std::vector<std::pair<Pattern, int64_t>> patterns_of(const GroupedState& s) {
  std::vector<std::pair<Pattern, int64_t>> found;
  std::vector<std::string> parts = split(s.name, '.');
  for (std::string& part : parts) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size()) continue;
    const std::string digits = std::exchange(part, "*");
    found.emplace_back(Pattern{join(parts, "."), s.type.text(), s.kind}, number);
    part = digits;
  }
  return found;
}

}  // namespace

GroupedState grouped_state(const std::string& name, const Type& type, Role role,
                           const ShardSpec& shard, std::string_view place) {
  return {shard.whole() ? name : shard.tensor, type,
          fmt::format("{} {} {}", name_of(role), shard.rows, place)};
}

StateArrays group_states(std::span<const GroupedState> given) {
  // Parts of one tensor are of different kinds.
  std::vector<GroupedState> states(given.begin(), given.end());
  std::map<std::string, int> parts;
  for (GroupedState& s : states) s.kind += fmt::format(" {}", parts[s.name + " " + s.kind]++);
  std::map<Pattern, size_t> sizes;
  for (const GroupedState& s : states)
    for (const auto& [pattern, number] : patterns_of(s)) ++sizes[pattern];
  std::map<Pattern, std::map<int64_t, size_t>> members;
  std::vector<Pattern> chosen(states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    const auto all = patterns_of(states[i]);
    const auto most = std::max_element(all.begin(), all.end(), [&](const auto& x, const auto& y) {
      return sizes.at(x.first) < sizes.at(y.first);
    });
    if (most == all.end()) continue;
    if (members[most->first].emplace(most->second, i).second) chosen[i] = most->first;
  }
  StateArrays arrays;
  for (size_t i = 0; i < states.size(); ++i) {
    const auto group = members.find(chosen[i]);
    if (group == members.end() || group->second.size() < 2) {
      arrays.push_back({false, {i}});
      continue;
    }
    StateArray array{true, {}};
    for (const auto& [number, state] : group->second) array.states.push_back(state);
    if (*std::min_element(array.states.begin(), array.states.end()) == i)
      arrays.push_back(std::move(array));
  }
  return arrays;
}

StateArrays arrays_of_program(const StateArrays& arrays, std::span<const size_t> states) {
  std::map<size_t, size_t> own;
  for (size_t i = 0; i < states.size(); ++i) own.emplace(states[i], i);
  std::vector<std::pair<size_t, StateArray>> found;  // by the first state
  for (const StateArray& array : arrays) {
    StateArray mine{array.stacked, {}};
    size_t first = StateArray::kNone;
    for (const size_t s : array.states) {
      const auto at = own.find(s);
      mine.states.push_back(at == own.end() ? StateArray::kNone : at->second);
      first = std::min(first, mine.states.back());
    }
    if (first != StateArray::kNone) found.emplace_back(first, std::move(mine));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& x, const auto& y) { return x.first < y.first; });
  StateArrays made;
  for (auto& [first, array] : found) made.push_back(std::move(array));
  return made;
}

Type stack_type(const Type& state, int64_t rows) {
  Type type = state;
  if (type.rank() == 2) {
    const int64_t tile = 32 / std::max<int64_t>(1, size_of(type.dtype));
    type.shape[0] = (type.shape[0] + tile - 1) / tile * tile;
  }
  type.shape.insert(type.shape.begin(), rows);
  return type;
}

StateArrays single_states(size_t count) {
  StateArrays arrays;
  for (size_t i = 0; i < count; ++i) arrays.push_back({false, {i}});
  return arrays;
}

}  // namespace hone::xla
