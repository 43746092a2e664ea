// The IR: a Program is a static list of operations over dense tensors, in functional SSA.
// SPEC.md is its definition; verify.h is the same definition as code; text.h prints and parses it.
//
//   program(state, inputs) -> (state', outputs)
//
// A state has an old version and, if the program writes the state, a new version (`next`). The new version takes the
// old version's storage, so no node reads the old version after the node that makes the new one.
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

// Attributes of one node, sorted by name. flag() to integers() return the value; if the attribute is absent, they
// return `otherwise` (integers(): an empty list). An attribute of another type is a Bug, but real() also takes an
// int64_t. Planning and passes copy programs often, so the attributes are in one vector, which needs one allocation.
class Attrs {
 public:
  using Named = std::pair<std::string, Attr>;
  Attrs() = default;
  Attrs(std::initializer_list<Named> list) {
    for (const Named& n : list) set(n.first, n.second);
  }
  const Attr* find(std::string_view name) const;  // null: it is absent
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool flag(std::string_view name, bool otherwise = false) const;
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  double real(std::string_view name, double otherwise = 0) const;
  std::string text(std::string_view name, std::string otherwise = "") const;
  std::vector<int64_t> integers(std::string_view name) const;
  void set(std::string_view name, Attr value);  // adds or replaces it
  void erase(std::string_view name);            // does nothing if it is absent
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
Result<Phase> phase_named(std::string_view name);  // H1002: unknown name

struct Node {
  const Op* op = nullptr;
  std::vector<ValueId> in;  // kNoValue: an optional operand that is absent
  std::vector<ValueId> out;
  Attrs attrs;
  std::string scope;  // "h.3.attn": names layers in errors, profiles and random numbers
  Phase phase = Phase::forward;
  Lane lane = Lane::compute;  // other lanes work in parallel with compute
  // True: a placement pass made this node as a repetition of an equal node. Passes must not merge the two.
  bool clone = false;
};

// The purpose of a state; `hone plan` sums bytes by it.
//   param      a parameter
//   grad       a gradient
//   moment     a state of the optimizer
//   cache      the KV cache of generation
//   constant   a value that no program changes
//   copy       a parameter, rounded to bf16 or f16 for matrix products; the update writes both
enum class Role : uint8_t { param, grad, moment, cache, constant, copy };
std::string_view name_of(Role r);
Result<Role> role_named(std::string_view name);  // H1002: unknown name
// The name of the parameter's state of role copy: "copy." + parameter.
std::string copy_name(const std::string& parameter);

// The rows of a tensor's first axis that a state holds, if the tensor is divided among several states. Each row
// that this rank's program holds is in exactly one of these states. Other ranks hold the other rows.
struct ShardSpec {
  std::string tensor;  // the tensor's name; empty: the state is a whole tensor of its own
  int64_t begin = 0;   // index of the state's first row in the tensor
  int64_t rows = 0;    // number of rows of the whole tensor
  RowRange held = {};  // the rows that the program's states hold together; empty: all rows
  // `held`, or all rows if it is empty.
  RowRange held_rows() const { return held.count() > 0 ? held : RowRange{0, rows}; }
  bool whole() const { return tensor.empty(); }
  bool operator==(const ShardSpec&) const = default;
};

struct State {
  ValueId value = kNoValue;  // the old version
  ValueId next = kNoValue;   // the new version; kNoValue: the program only reads the state
  std::string name;          // unique in a program; a parameter has its Hugging Face name
  ShardSpec shard = {};      // the rows that the state holds; default: all
  Role role = Role::param;
  bool trainable = false;
  Space home = Space::device;  // the space of both versions
};

struct Named {
  std::string name;
  ValueId value = kNoValue;
};

struct ValueInfo {
  Type type;
  int32_t node = -1;  // index of the producing node; -1: an input or a state's old version
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
  bool frozen = false;            // true: a placement pass has run, so no numeric pass may follow

  const OpTable& ops() const { return *ops_; }
  ValueId new_value(Type type, int32_t node = -1);  // in the space `device`
  const Type& type(ValueId v) const { return values[static_cast<size_t>(v)].type; }
  Space space(ValueId v) const { return values[static_cast<size_t>(v)].space; }
  ValueId add_input(std::string name, Type type);
  ValueId add_state(State s, Type type);      // sets s.value to a new value, and returns it
  State* state_of(ValueId old_version);       // null: it is not a state's old version
  State* state_named(std::string_view name);  // null: no state has the name
  const State* state_named(std::string_view name) const;
  ValueId input_named(std::string_view name) const;   // kNoValue: no input has the name
  ValueId output_named(std::string_view name) const;  // kNoValue: no output has the name

  // Numbers the values again, from 0 in execution order, and removes values that nothing names.
  void compact();
  // Recomputes ValueInfo::node after nodes were moved.
  void renumber_producers();

 private:
  const OpTable* ops_;
};

}  // namespace hone
