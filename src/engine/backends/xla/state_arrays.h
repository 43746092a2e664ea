// Finds the states of layers that are one array on the device, so that programs can visit layers in a loop (roll.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace hone::xla {

// An array on the device: one state, or states of equal type as its rows.
struct StateArray {
  static constexpr size_t kNone = static_cast<size_t>(-1);
  bool stacked = false;  // false: the array is the only state itself
  std::vector<size_t>
      states;  // numbers of states, by row; kNone: the program does not have this state
  bool operator==(const StateArray&) const = default;
};
using StateArrays = std::vector<StateArray>;

// A state, for group_states().
struct GroupedState {
  std::string name;  // of the tensor to which its rows belong
  Type type;
  std::string kind;  // states of different kinds are never in one array
};
// kind: role, number of rows of the whole tensor, and `place`. Ranks that have different rows of the same tensors group
// their states in the same way.
GroupedState grouped_state(const std::string& name, const Type& type, Role role,
                           const ShardSpec& shard, std::string_view place = "");

// Divides states into arrays, in the order of their first states. States whose names differ in one number between two
// dots ("h.0.mlp.weight" and "h.1.mlp.weight"), of equal type and kind, are the rows of an array, in the order of that
// number.
StateArrays group_states(std::span<const GroupedState> states);

// The arrays of a program. states: by the program's state, its number in `arrays`. The result has the program's own
// numbers, and the arrays that the program has a state of.
StateArrays arrays_of_program(const StateArrays& arrays, std::span<const size_t> states);

// The type of an array with this number of states as its rows. A TPU stores arrays in tiles, and chooses the order of
// dimensions that wastes least. So matrices are padded to whole tiles: a row then is in one piece.
Type stack_type(const Type& state, int64_t rows);

// Every state as an array of its own.
StateArrays single_states(size_t count);

}  // namespace hone::xla
