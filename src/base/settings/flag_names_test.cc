#include "base/settings/flag_names.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

constexpr ErrorCode kCode{"H0000", "a test"};

TEST(FlagNames, SettingsOfTheSchemaBecomeFlags) {
  std::string column;
  Schema schema("hone test", "");
  schema.add("text_column", &column, "Data", "column");
  EXPECT_EQ(with_flags(schema, "name it by `text_column`; `file` guesses"),
            "name it by --text_column; `file` guesses");
  EXPECT_EQ(with_flags(schema, "one ` alone"), "one ` alone");
  EXPECT_EQ(with_flags(schema, "`x`text_column`"), "`x`text_column`");
  EXPECT_EQ(with_flags(schema, ""), "");
}

TEST(FlagNames, EveryPartOfAnErrorIsNamed) {
  int64_t size = 0;
  Schema schema("hone test", "");
  schema.add("block_size", &size, "Data", "tokens");
  const Error error =
      Error(kCode, "`block_size` is 9").at("`block_size` 9").todo("raise `block_size`");
  EXPECT_EQ(with_flags(schema, error).text(),
            "H0000  --block_size is 9\n  at   --block_size 9\n  do   raise --block_size");
  EXPECT_EQ(with_flags(schema, Error(kCode, "no remedy")).text(), "H0000  no remedy");
}

}  // namespace
}  // namespace hone
