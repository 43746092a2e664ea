// Pickled tables against what pandas says of them (tools/golden_pandas.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/core/json.h"
#include "learn/data/formats/test_tables.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

const std::string kPandasGoldens = HONE_SOURCE_DIR "/tests/goldens/pandas/";

std::string golden_bytes(const std::string& name) {
  std::ifstream in(kPandasGoldens + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Table golden_table(const std::string& name) {
  return read(open_source(open_file_source(kPandasGoldens + name).value(), {}));
}
Table parse(std::string bytes) {
  return read(open_source(memory_source("x.pkl", std::move(bytes)), {}));
}

class Pandas : public testing::TestWithParam<std::string> {};

TEST_P(Pandas, RowsAreThoseThatPandasHas) {
  const json golden = json::parse(golden_bytes("table.json"));
  const Table table = golden_table(GetParam());
  ASSERT_EQ(table.error, "");
  EXPECT_EQ(table.columns, golden["columns"].get<std::vector<std::string>>());
  ASSERT_EQ(table.rows.size(), golden["rows"].size());
  for (size_t i = 0; i < table.rows.size(); ++i) {
    for (size_t c = 0; c < table.columns.size(); ++c)
      EXPECT_EQ(table.rows[i][c], cell_of(golden["rows"][i][c]))
          << "row " << i << " column " << table.columns[c];
  }
}
INSTANTIATE_TEST_SUITE_P(Goldens, Pandas,
                         testing::Values("before1.3.pkl", "pandas1.protocol2.pkl",
                                         "pandas1.protocol5.pkl", "pandas2.protocol2.pkl",
                                         "pandas2.protocol3.pkl", "pandas2.protocol4.pkl",
                                         "pandas2.protocol5.pkl", "pandas3.protocol2.pkl",
                                         "pandas3.protocol5.pkl"));

TEST(PandasFrames, PickedRowsSlicesAndStringKinds) {
  const Table picked = golden_table("picked.pkl");
  EXPECT_EQ(picked.error, "");
  EXPECT_THAT(picked.columns, ElementsAre("text", "n", "m"));
  EXPECT_EQ(picked.rows, (std::vector<std::vector<Cell>>{{Cell(), int64_t{1} << 40, int64_t{9}},
                                                         {"a"s, int64_t{1}, int64_t{7}}}));
  EXPECT_EQ(golden_table("python_strings.pkl").rows,
            (std::vector<std::vector<Cell>>{{"a"s}, {Cell()}}));
  const Table slice = golden_table("slice.pkl");
  EXPECT_EQ(slice.error, "");
  EXPECT_EQ(slice.rows, (std::vector<std::vector<Cell>>{
                            {Cell()}, {"a"s}, {"bé"s}, {Cell()}, {"a"s}, {"bé"s}, {Cell()}}));
}

TEST(PandasFrames, BlocksOfEveryOtherColumn) {
  for (const char* name : {"spread.pkl", "turned.pkl"}) {
    const Table table = golden_table(name);
    EXPECT_EQ(table.error, "") << name;
    EXPECT_THAT(table.columns, ElementsAre("text", "n", "kind")) << name;
    EXPECT_EQ(table.rows, (std::vector<std::vector<Cell>>{{"a"s, int64_t{1}, "x"s},
                                                          {"b"s, int64_t{2}, Cell()}}))
        << name;
  }
}

TEST(PandasFrames, OtherClassesAreRefusedByName) {
  EXPECT_EQ(golden_table("categorical.pkl").error,
            "H2703  '" + kPandasGoldens +
                "categorical.pkl' needs the class or function "
                "'pandas.core.arrays.categorical.Categorical', which hone does not know\n"
                "  do   write the table as parquet, in Python: df.to_parquet('df.parquet')");
  EXPECT_THAT(golden_table("datetime.pkl").error,
              AllOf(HasSubstr("H2703"), HasSubstr("DatetimeArray'"), HasSubstr("df.to_parquet")));
  EXPECT_THAT(golden_table("series.pkl").error, HasSubstr("'pandas.core.series.Series'"));
  const Table complex = golden_table("complex.pkl");
  EXPECT_EQ(complex.rows.size(), 1u);
  EXPECT_THAT(complex.error, AllOf(HasSubstr("'builtins.complex'"), HasSubstr("column 't'"),
                                   HasSubstr("complex.pkl row 2")));
  EXPECT_THAT(parse("cos\nsystem\n(S'ls'\ntR.").error, HasSubstr("'os.system'"));
}

TEST(PandasFrames, ListsAndDicts) {
  const Table records = parse("](}(X\1\0\0\0aK\1X\1\0\0\0bNu}X\1\0\0\0bX\1\0\0\0zse."s);
  EXPECT_EQ(records.error, "");
  EXPECT_THAT(records.columns, ElementsAre("a", "b"));
  EXPECT_EQ(records.rows, (std::vector<std::vector<Cell>>{{int64_t{1}, Cell()}, {Cell(), "z"s}}));
  const Table lists = parse("}(X\1\0\0\0a](K\1K\2eX\1\0\0\0b](\x88G\x3f\xe0\0\0\0\0\0\0eu."s);
  EXPECT_EQ(lists.error, "");
  EXPECT_EQ(lists.rows, (std::vector<std::vector<Cell>>{{int64_t{1}, true}, {int64_t{2}, 0.5}}));
  EXPECT_THAT(parse("}(X\1\0\0\0a](K\1eX\1\0\0\0b]u."s).error,
              HasSubstr("column 'b' has 0 rows, the first one 1"));
  EXPECT_THAT(parse("K\1.").error, HasSubstr("neither a DataFrame nor"));
}

TEST(PandasFrames, DamageAndBombsAreErrors) {
  const std::string whole = golden_bytes("pandas3.protocol5.pkl");
  for (size_t n = 0; n < whole.size(); n += 7)
    EXPECT_THAT(parse(whole.substr(0, n)).error, HasSubstr("H270")) << n;
  // Every byte in turn is another: errors or other cells, never a crash.
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] = static_cast<char>(other[i] ^ 0x55);
    (void)parse(other);
  }
  // A value of 3^40 parts, and one that holds itself.
  std::string laughs = "](}(X\1\0\0\0aK\1]q\0"s;
  for (char i = 0; i < 40; ++i)
    laughs += "0](h"s + i + "h"s + i + "h"s + i + "eq" + static_cast<char>(i + 1);
  EXPECT_THAT(parse("](}X\1\0\0\0a"s + laughs.substr(laughs.find("]q")) + "se.").error,
              HasSubstr("H2704"));
  EXPECT_THAT(parse("](}X\1\0\0\0a]q\0h\0ase."s).error, HasSubstr("nested more than 64 deep"));
}

}  // namespace
}  // namespace hone
