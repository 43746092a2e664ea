#include "learn/harness/budget/host_room.h"

#include <gtest/gtest.h>

#include "engine/ops/ops.h"

namespace hone {
namespace {

// Three weights of 400 bytes, each with a moment of the same size.
Program update_of_three() {
  Program p(op_table(), "update");
  for (const char* name : {"a", "b", "c"}) {
    State weight{.name = name, .role = Role::param, .trainable = true};
    p.add_state(weight, {DType::f32, {100}});
    State moment{.name = std::string("exp_avg.") + name, .role = Role::moment};
    p.add_state(moment, {DType::f32, {100}});
  }
  return p;
}

TEST(HostRoom, FillsTheHostThenTheDeviceThenTheDisk) {
  TrainPasses how;
  how.offload.moments = how.offload.params = Space::host;
  how.offload.least_elements = 0;
  const Program update = update_of_three();
  using Homes = std::map<std::string, Space>;
  EXPECT_EQ(homes_beside_host(update, how, {}), Homes{});
  EXPECT_EQ(homes_beside_host(update, how, {.host = 1600, .device = 800}),
            (Homes{{"c", Space::device}, {"exp_avg.c", Space::device}}));
  EXPECT_EQ(homes_beside_host(update, how, {.host = 1599, .device = 800}),
            (Homes{{"b", Space::device},
                   {"exp_avg.b", Space::device},
                   {"c", Space::disk},
                   {"exp_avg.c", Space::disk}}));
}

TEST(HostRoom, CountsWhatIsOffloadedAlone) {
  TrainPasses how;
  how.offload.moments = Space::host;
  how.offload.params = Space::disk;
  how.offload.least_elements = 0;
  EXPECT_EQ(homes_beside_host(update_of_three(), how, {.host = 800, .device = 399}),
            (std::map<std::string, Space>{{"exp_avg.c", Space::disk}}));
}

}  // namespace
}  // namespace hone
