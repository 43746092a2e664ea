#include "engine/backends/xla/state_arrays.h"

#include <gtest/gtest.h>

namespace hone::xla {
namespace {

constexpr size_t kNone = StateArray::kNone;

GroupedState param(const std::string& name, int64_t size, Role role = Role::param) {
  return grouped_state(name, {DType::f32, {size}}, role, {});
}

TEST(StateArrays, LayersAreRowsInTheOrderOfTheirNumbers) {
  const std::vector<GroupedState> states{param("h.10.w", 4), param("h.2.w", 4), param("norm.w", 4),
                                         param("h.2.b", 4)};
  EXPECT_EQ(group_states(states), (StateArrays{{true, {1, 0}}, {false, {2}}, {false, {3}}}));
}

TEST(StateArrays, OtherTypesAndRolesAreApart) {
  const std::vector<GroupedState> states{param("h.0.w", 4), param("h.1.w", 5),
                                         param("h.2.w", 4, Role::moment)};
  EXPECT_EQ(group_states(states), single_states(3));
}

TEST(StateArrays, TheNumberWithMostStatesCounts) {
  std::vector<GroupedState> states;
  for (const char* name : {"s.0.l.0.w", "s.0.l.1.w", "s.0.l.2.w", "s.1.l.0.w"})
    states.push_back(param(name, 4));
  const StateArrays arrays = group_states(states);
  EXPECT_EQ(arrays[0], (StateArray{true, {0, 1, 2}}));
  EXPECT_EQ(arrays[1], (StateArray{false, {3}}));
}

// Ranks hold other rows of a tensor, under other names.
TEST(StateArrays, RanksGroupTheirRowsInOneWay) {
  std::vector<std::vector<GroupedState>> ranks(2);
  for (int64_t rank = 0; rank < 2; ++rank)
    for (const auto& [layer, rows] : {std::pair{0, 9}, {1, 9}, {2, 10}}) {
      const std::string name = "h." + std::to_string(layer) + ".w";
      const int64_t own = rank == 0 ? 5 : rows - 5;
      ranks[static_cast<size_t>(rank)].push_back(
          grouped_state(name + "[5:9]", {DType::f32, {own}}, Role::param, {name, 5 * rank, rows}));
    }
  const StateArrays arrays = group_states(ranks[0]);
  EXPECT_EQ(arrays, (StateArrays{{true, {0, 1}}, {false, {2}}}));
  EXPECT_EQ(group_states(ranks[1]), arrays);
}

TEST(StateArrays, PartsOfATensorAreApart) {
  std::vector<GroupedState> states;
  for (const char* name : {"h.0.w", "h.1.w"})
    for (const int64_t begin : {0, 2})
      states.push_back(grouped_state("", {DType::f32, {2}}, Role::moment, {name, begin, 4}));
  EXPECT_EQ(group_states(states), (StateArrays{{true, {0, 2}}, {true, {1, 3}}}));
}

TEST(StateArrays, AProgramHasTheArraysOfItsStates) {
  const StateArrays arrays{{true, {0, 2, 4}}, {false, {1}}, {false, {3}}};
  const std::vector<size_t> own{3, 4, 0};  // the program's states
  EXPECT_EQ(arrays_of_program(arrays, own), (StateArrays{{false, {0}}, {true, {2, kNone, 1}}}));
}

}  // namespace
}  // namespace hone::xla
