#include "engine/session/halved_states.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "engine/graph/halves.h"
#include "engine/graph/op.h"

namespace hone {
namespace {

bool is_listed(const Node& n, size_t k) {
  const std::vector<int64_t> all = n.attrs.integers("halves");
  return std::find(all.begin(), all.end(), static_cast<int64_t>(k)) != all.end();
}

bool reads_halves(const Node& n, size_t operand) {
  if (n.op->name == "upper_half") return true;
  return n.op->name == "halves" ? n.attrs.flag("joined") : is_listed(n, operand);
}

}  // namespace

void add_halved_states(const Program& p, std::set<std::string, std::less<>>& names) {
  std::map<ValueId, std::string> states;
  for (const State& s : p.states) states[s.value] = s.name;
  for (const Node& n : p.nodes)
    for (size_t i = 0; i < n.in.size(); ++i)
      if (const auto found = states.find(n.in[i]); found != states.end() && reads_halves(n, i))
        names.insert(found->second);
}

bool makes_halves(const Node& n, size_t k) {
  return n.op->name == "halves" ? !n.attrs.flag("joined") : is_listed(n, k);
}

void join_halves(const uint16_t* upper, const uint16_t* lower, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    const float x = joined({upper[i], lower[i]});
    std::memcpy(to + 4 * i, &x, sizeof x);
  }
}

void split_halves(const std::byte* from, int64_t count, uint16_t* upper, uint16_t* lower) {
  for (int64_t i = 0; i < count; ++i) {
    float x;
    std::memcpy(&x, from + 4 * i, sizeof x);
    const Halves h = halves_of(x);
    upper[i] = h.upper;
    lower[i] = h.lower;
  }
}

}  // namespace hone
