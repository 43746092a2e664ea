#include <gtest/gtest.h>

#include "learn/files/id_lines.h"

namespace hone {
namespace {

TEST(IdLines, SpellsNumbersBelowAndAboveTheVocabulary) {
  const IdLines lines(1000000);
  const std::vector<int32_t> ids = {0, 9, 10, 262143, 262144, 999999, 2147483647};
  std::string out = "before\n";
  lines.append(ids, out);
  EXPECT_EQ(out, "before\n{\"ids\":[0,9,10,262143,262144,999999,2147483647]}\n");
}

TEST(IdLines, WritesRowsWithoutIdsAndWithTypes) {
  const IdLines lines(8);
  std::string out;
  lines.append(std::vector<int32_t>{}, out);
  lines.append(std::vector<int32_t>{7, 8}, std::vector<int32_t>{0, 1}, out);
  EXPECT_EQ(out, "{\"ids\":[]}\n{\"ids\":[7,8],\"token_type_ids\":[0,1]}\n");
}

}  // namespace
}  // namespace hone
