// The IR: a Program is a static list of operations over dense tensors, in functional SSA.
// SPEC.md is its definition; verify.h is the same definition as code; text.h prints and parses it.
//
//   program(state, inputs) -> (state', outputs)
//
// A state value has an old and, when the program writes it, a new version (`next`); the new one
// takes the old one's storage, so it is written once and the old one is never read after it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/graph/place.h"
#include "engine/graph/shard.h"
#include "engine/graph/type.h"

namespace hone {

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;

using Attr = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

// Attributes of one operation, sorted by name. The getters return the default where absent. Programs are
// copied by planning and passes, so they are in one vector: one allocation instead of one for each.
class Attrs {
 public:
  using Named = std::pair<std::string, Attr>;
  Attrs() = default;
  Attrs(std::initializer_list<Named> list) {
    for (const Named& n : list) set(n.first, n.second);
  }
  const Attr* find(std::string_view name) const;  // null where absent
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool flag(std::string_view name, bool otherwise = false) const;
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  double real(std::string_view name, double otherwise = 0) const;
  std::string text(std::string_view name, std::string otherwise = "") const;
  std::vector<int64_t> integers(std::string_view name) const;
  void set(std::string_view name, Attr value);
  void erase(std::string_view name);
  const std::vector<Named>& all() const { return list_; }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<Named> list_;
};

struct Op;      // op.h
class OpTable;  // op.h

// The part of a training step that a node belongs to.
enum class Phase : uint8_t { forward, backward, update };
std::string_view name_of(Phase p);
Result<Phase> phase_named(std::string_view name);

struct Node {
  const Op* op = nullptr;
  std::vector<ValueId> in;  // kNoValue stands for an optional input that is absent
  std::vector<ValueId> out;
  Attrs attrs;
  std::string scope;  // "h.3.attn": names layers in errors, profiles and random numbers
  Phase phase = Phase::forward;
  Lane lane = Lane::compute;  // other lanes work in parallel with compute
  bool clone = false;  // made again by a placement pass: never merged with the node it equals
};

// The purpose of a state value; `hone plan` sums bytes by it.
// copy: a parameter, rounded to two bytes for products; a node that writes the parameter writes it
// too.
enum class Role : uint8_t { param, grad, moment, cache, constant, copy };
std::string_view name_of(Role r);
Result<Role> role_named(std::string_view name);
std::string copy_name(
    const std::string& parameter);  // of its state of role copy: "copy." and its name

// The rows of a tensor's first axis that a state holds; each row that the program holds of a tensor is
// in one of its states. Other ranks hold the others.
struct ShardSpec {
  std::string tensor;  // its name; empty: the state is all of it
  int64_t begin = 0;   // the first row
  int64_t rows = 0;    // of the whole tensor
  RowRange held = {};  // that the states of the program hold together; empty: all
  RowRange held_rows() const { return held.count() > 0 ? held : RowRange{0, rows}; }
  bool whole() const { return tensor.empty(); }
  bool operator==(const ShardSpec&) const = default;
};

struct State {
  ValueId value = kNoValue;  // the old version
  ValueId next = kNoValue;   // the new version, kNoValue when the program only reads it
  std::string name;          // unique in a run: Hugging Face's name for a parameter
  ShardSpec shard = {};      // of a tensor that several states hold
  Role role = Role::param;
  bool trainable = false;
  Space home = Space::device;  // where both versions are
};

struct Named {
  std::string name;
  ValueId value = kNoValue;
};

struct ValueInfo {
  Type type;
  int32_t node = -1;  // producer; -1 for an input or a state's old version
  Space space = Space::device;
};

class Program {
 public:
  explicit Program(const OpTable& ops, std::string name = "main")
      : name(std::move(name)), ops_(&ops) {}

  std::string name;
  std::vector<Named> inputs;
  std::vector<State> states;
  std::vector<Node> nodes;  // in execution order
  std::vector<Named> outputs;
  std::vector<ValueInfo> values;  // by ValueId
  bool frozen = false;            // a placement pass has run: no numeric pass may follow

  const OpTable& ops() const { return *ops_; }
  ValueId new_value(Type type, int32_t node = -1);
  const Type& type(ValueId v) const { return values[static_cast<size_t>(v)].type; }
  Space space(ValueId v) const { return values[static_cast<size_t>(v)].space; }
  ValueId add_input(std::string name, Type type);
  ValueId add_state(State s, Type type);
  State* state_of(ValueId old_version);  // nullptr if it is not a state's
  State* state_named(std::string_view name);
  const State* state_named(std::string_view name) const;
  ValueId input_named(std::string_view name) const;  // kNoValue when absent
  ValueId output_named(std::string_view name) const;

  // Gives values and nodes new dense ids in execution order, and removes values that are not used.
  void compact();
  // Recomputes ValueInfo::node after nodes were moved.
  void renumber_producers();

 private:
  const OpTable* ops_;
};

}  // namespace hone
