#include "learn/tasks/row_outputs.h"

#include <gmock/gmock.h>

namespace hone {
namespace {

using ::testing::ElementsAre;

// Three rows from number 10 on, with two numbers each.
class RowOutputsTest : public ::testing::Test {
 protected:
  bool add(std::vector<int64_t> rows, std::vector<float> numbers) {
    Batch outputs;
    outputs.add("logits", std::as_writable_bytes(std::span(numbers)));
    const ExampleRows none;
    return kept_.add({.data = none, .rows = {.rows = rows, .numbers = {}}}, outputs);
  }
  RowOutputs kept_{{"logits"}, {.rows = 3, .first = 10, .width = 2}, [](const RowOutputs& kept) {
                     return OrderedJson(kept.of("logits").back());
                   }};
};

TEST_F(RowOutputsTest, KeepsTheNumbersOfEachRowInAnyOrder) {
  EXPECT_TRUE(add({12, 10}, {5, 6, 1, 2, 99, 99}));  // room for a third row is not read
  EXPECT_TRUE(add({11}, {3, 4}));
  EXPECT_THAT(kept_.of("logits"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(kept_.values(3), 6.0f);
}

TEST_F(RowOutputsTest, RefusesNumbersThatAreNotFinite) {
  EXPECT_FALSE(add({10}, {1, std::numeric_limits<float>::infinity()}));
  EXPECT_FALSE(add({10}, {std::numeric_limits<float>::quiet_NaN(), 1}));
}

TEST(RowOutputs, HaveTheNumberOfRowsIfNoMetricIsNeeded) {
  EXPECT_EQ(RowOutputs({"logps"}, {.rows = 2}).values(2), (OrderedJson{{"samples", 2}}));
}

}  // namespace
}  // namespace hone
