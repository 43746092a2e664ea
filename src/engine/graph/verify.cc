#include "engine/graph/verify.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "engine/graph/errors.h"
#include "engine/graph/op.h"
#include "engine/graph/verify_places.h"

namespace hone {
namespace {

Error broken(const Program& p, size_t node, std::string what) {
  const Node& n = p.nodes[node];
  return Error(err::kInvalidProgram, std::move(what))
      .at(fmt::format("program {}, node {} ({}), scope '{}'", p.name, node, n.op ? n.op->name : "?",
                      n.scope));
}

// An infer that reads what its op does not name throws Bug; a program from outside is only refused.
Result<Types> infer(const Program& p, const Node& n) {
  HONE_TRY(check_node({p, n}));
  try {
    return n.op->infer({p, n});
  } catch (const Bug& e) {
    return Error(err::kInvalidProgram, fmt::format("{}: {}", n.op->name, e.what()));
  }
}

// The shards of a tensor hold each of the program's rows of it once, in the order of the states.
Status verify_shards(const Program& p) {
  std::map<std::string_view, const State*> last;  // shard of a tensor
  const auto end_of = [&](const State& s) { return s.shard.begin + p.type(s.value).shape[0]; };
  for (const State& s : p.states) {
    if (s.shard.whole()) continue;
    const auto say = [&](const char* what) {
      return Error(err::kInvalidProgram, fmt::format("program {}: state '{}', a shard of '{}': {}",
                                                     p.name, s.name, s.shard.tensor, what));
    };
    const Type& type = p.type(s.value);
    if (type.rank() == 0) return say("a scalar has no rows");
    const State*& before = last[s.shard.tensor];
    const RowRange held = s.shard.held_rows();
    if (held.begin < 0 || held.end > s.shard.rows) return say("it has rows beyond the last");
    if (s.shard.begin != (before ? end_of(*before) : held.begin))
      return say("its rows do not follow those of the shard before it");
    if (before) {
      const Type& other = p.type(before->value);
      if (before->shard.rows != s.shard.rows || before->shard.held_rows() != held ||
          before->role != s.role || other.dtype != type.dtype ||
          !std::equal(type.shape.begin() + 1, type.shape.end(), other.shape.begin() + 1,
                      other.shape.end()))
        return say("it is of another type or role than the shard before it");
    }
    if (held.end - s.shard.begin < type.shape[0]) return say("it has rows beyond the last");
    before = &s;
  }
  for (const State& s : p.states)
    if (last.contains(s.name))
      return Error(err::kInvalidProgram,
                   fmt::format("program {}: '{}' is a state and has shards", p.name, s.name));
  for (const auto& [tensor, s] : last)
    if (end_of(*s) != s->shard.held_rows().end)
      return Error(err::kInvalidProgram,
                   fmt::format("program {}: rows of '{}' are in no state", p.name, tensor));
  return Ok{};
}

}  // namespace

Status verify(const Program& p) {
  const size_t count = p.values.size();
  std::vector<int32_t> defined(count, -2);  // -2 never, -1 before the first node, else the node
  auto bad = [&](ValueId v) { return v < 0 || static_cast<size_t>(v) >= count; };
  std::unordered_set<std::string_view> names;
  names.reserve(p.inputs.size() + p.states.size());
  auto define_outside = [&](ValueId v, const std::string& name) -> Status {
    if (bad(v) || defined[static_cast<size_t>(v)] != -2)
      return Error(err::kInvalidProgram,
                   fmt::format("program {}: '{}' has no value of its own", p.name, name));
    if (!names.insert(name).second)
      return Error(err::kInvalidProgram,
                   fmt::format("program {}: the name '{}' is used twice", p.name, name));
    defined[static_cast<size_t>(v)] = -1;
    return Ok{};
  };
  for (const Named& n : p.inputs) HONE_TRY(define_outside(n.value, n.name));
  for (const State& s : p.states) HONE_TRY(define_outside(s.value, s.name));
  HONE_TRY(verify_shards(p));

  std::unordered_set<const Op*> known;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const Node& n = p.nodes[i];
    if (!n.op || (!known.contains(n.op) && p.ops().find(n.op->name) != n.op))
      return broken(p, i, "the op is not in the catalogue");
    known.insert(n.op);
    for (ValueId v : n.in) {
      if (v == kNoValue) continue;
      if (bad(v) || defined[static_cast<size_t>(v)] == -2)
        return broken(p, i, fmt::format("reads %{} before it is defined", v));
    }
    Result<Types> types = infer(p, n);
    if (!types)
      return types.error().at(fmt::format("program {}, node {}, scope '{}'", p.name, i, n.scope));
    if (types->size() != n.out.size())
      return broken(p, i,
                    fmt::format("has {} outputs, the op defines {}", n.out.size(), types->size()));
    for (size_t k = 0; k < n.out.size(); ++k) {
      ValueId v = n.out[k];
      if (bad(v) || defined[static_cast<size_t>(v)] != -2)
        return broken(p, i, fmt::format("defines %{} again", v));
      if (p.type(v) != (*types)[k])
        return broken(p, i,
                      fmt::format("output {} is {}, the op says {}", k, p.type(v).text(),
                                  (*types)[k].text()));
      if (p.values[static_cast<size_t>(v)].node != static_cast<int32_t>(i))
        return broken(p, i,
                      fmt::format("%{} names node {} as its producer", v,
                                  p.values[static_cast<size_t>(v)].node));
      defined[static_cast<size_t>(v)] = static_cast<int32_t>(i);
    }
  }
  std::vector<bool> taken(count);  // by value: is a new version
  for (const State& s : p.states) {
    if (s.next == kNoValue) continue;
    auto say = [&](const std::string& what) {
      return Error(err::kInvalidProgram,
                   fmt::format("program {}: state '{}': {}", p.name, s.name, what));
    };
    if (bad(s.next) || defined[static_cast<size_t>(s.next)] < 0)
      return say("its new version is not made by a node");
    if (taken[static_cast<size_t>(s.next)])
      return say("its new version belongs to another state too");
    taken[static_cast<size_t>(s.next)] = true;
    if (p.type(s.next) != p.type(s.value))
      return say(
          fmt::format("old {} and new {} differ", p.type(s.value).text(), p.type(s.next).text()));
  }
  for (const Named& n : p.outputs)
    if (bad(n.value) || defined[static_cast<size_t>(n.value)] == -2)
      return Error(err::kInvalidProgram,
                   fmt::format("program {}: output '{}' is not defined", p.name, n.name));
  return verify_places(p);
}

}  // namespace hone
