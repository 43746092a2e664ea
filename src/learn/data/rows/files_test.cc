#include "learn/data/rows/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/store/temporary_folder.h"
#include "learn/data/rows/bytes_test.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path;
};

TEST_F(Files, GlobsAreSortedAndMissingFilesNameTheNearest) {
  const std::string b = write("b.csv", "text\n1\n"), a = write("a.csv", "text\n2\n");
  const std::string pattern = (folder_ / "*.csv").string(), typo = (folder_ / "aa.csv").string();
  EXPECT_THAT(*expand_files(std::vector{pattern, b}), ElementsAre(a, b, b));
  EXPECT_EQ(expand_files(std::vector{typo}).error().text(),
            fmt::format("H2101  there is no data file '{}'\n  do   did you mean '{}'?", typo,
                        (folder_ / "a.csv").string()));
  EXPECT_THAT(expand_files(std::vector{(folder_ / "*.txt").string()}).error().text(),
              HasSubstr("H2101  no file matches"));
  for (const char* none : {".csv/none.csv", "/none"})
    EXPECT_THAT(open_rows({folder_.string() + none}).error().text(), HasSubstr("H2101"));
  EXPECT_THAT(open_rows({(fs::create_directory(folder_ / "d.csv"), (folder_ / "d.csv").string())})
                  .error()
                  .text(),
              HasSubstr("H2102"));
}

TEST_F(Files, SeveralFilesAreOneAndAnyRowCanBeFoundAgain) {
  const std::string a = write("a.csv", "text,x\none,1\ntwo,2\n");
  const std::string b = write("b.csv", "x,text\n3,three\n");
  const std::string c = write("c.jsonl", "{\"text\":\"four\",\"y\":true}\n{\"x\":\"5\"}\n");
  auto rows = std::move(open_rows({a, b, c}).value());
  std::vector<std::pair<RowPosition, std::vector<Cell>>> seen;
  Row row;
  for (;;) {
    const RowPosition at = rows->position();
    auto more = rows->next(row);
    ASSERT_TRUE(more.ok()) << more.error().text();
    if (!*more) break;
    row.cells.resize(3);
    seen.emplace_back(at, row.cells);
    if (seen.size() == 3) {
      EXPECT_EQ(row.where(), b + ":2");
    }
  }
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[2].second, (std::vector<Cell>{"three", "3", {}}));
  EXPECT_EQ(seen[4].second, (std::vector<Cell>{{}, "5", {}}));
  for (const size_t i : {4u, 0u, 2u, 3u, 1u}) {
    auto again = std::move(open_rows({a, b, c}).value());
    ASSERT_TRUE(again->seek(seen[i].first).ok());
    ASSERT_TRUE(*again->next(row));
    row.cells.resize(3);
    if (i != 3) {
      EXPECT_EQ(row.cells, seen[i].second) << i;
    }
    EXPECT_EQ(again->position().row, static_cast<int64_t>(i) + 1);
  }
  auto fresh = std::move(open_rows({a, b, c}).value());
  EXPECT_EQ(*count_rows(*fresh), 5);
  EXPECT_EQ(*count_rows(*fresh), 5);
  auto lacks = std::move(open_rows({a, write("e.csv", "text\nx\n")}).value());
  EXPECT_THAT(count_rows(*lacks).error().text(), HasSubstr("H2109"));
}

TEST_F(Files, TheTextColumnIsTextOrTheFirst) {
  auto rows = std::move(open_rows_of_bytes("a.csv", "id,text\n1,x\n").value());
  EXPECT_EQ(*text_column(*rows), 1u);
  EXPECT_EQ(*text_column(*rows, "id"), 0u);
  EXPECT_EQ(
      text_column(*rows, "txt").error().text(),
      "H2109  the data has no column 'txt'\n  do   did you mean 'text'? its columns are id, text");
  EXPECT_EQ(*text_column(*std::move(open_rows_of_bytes("a.tsv", "s\tl\n1\t2\n").value())), 0u);
  const auto only = [](const char* name, const char* bytes) {
    const auto rows = open_rows_of_bytes(name, bytes);
    return only_text_column(**rows);
  };
  EXPECT_EQ(*only("a.csv", "n,text,s\n1,2,x\n"), 1u);
  EXPECT_EQ(*only("a.csv", "n,s,m\n1,,3.5\n2,x,-4\n"), 1u);
  EXPECT_NE(only("a.csv", "r,s\ny,x\n").error().text().find("several"), std::string::npos);
  const auto numbers = [](const char* bytes) {
    return check_no_numbers(**open_rows_of_bytes("a.csv", bytes), 0);
  };
  EXPECT_EQ(numbers("id,words\n1,x\n\n-2.5e3,y\n").error().text(),
            "H2109  there is no column 'text', and 'id' holds numbers\n"
            "  do   name the column to learn from by `text_column`; the columns are id, words");
  EXPECT_TRUE(numbers("id,words\n1,x\ntwo,y\n").ok());
  EXPECT_TRUE(numbers("id,words\n,x\n").ok());
  EXPECT_TRUE(numbers("id\nnan\n").ok());
  EXPECT_NE(only("a.csv", "n,m\n1,2\n").error().text().find("no column of the data"),
            std::string::npos);
}

TEST_F(Files, TextToCsvKeepsEveryByte) {
  std::string bytes = "\xef\xbb\xbf\"a\",\r\n\r\rb\n\n";
  for (int i = 0; bytes.size() < (3u << 20); ++i) bytes += fmt::format("\"{}\",\n", i);
  const std::string in = write("train.txt", bytes), out = (folder_ / "train.csv").string();
  ASSERT_TRUE(text_to_csv(in, out).ok());
  EXPECT_TRUE(read(out).starts_with("text\n\"\xef\xbb\xbf\"\"a\"\",\r\n"));
  auto rows = std::move(open_rows({out}).value());
  Row row;
  ASSERT_TRUE(*rows->next(row));
  EXPECT_TRUE(row.cells[0] == Cell(bytes));
  EXPECT_FALSE(*rows->next(row));
  // ... and but for the byte order mark equals the document that --sample_by document reads.
  RowOptions document;
  document.sample_by = SampleBy::kDocument;
  auto whole = std::move(open_rows({in}, document).value());
  ASSERT_TRUE(*whole->next(row));
  EXPECT_TRUE(row.cells[0] == Cell(bytes.substr(3)));
  EXPECT_THAT(text_to_csv(in, in).error().text(), HasSubstr("H2102"));
  EXPECT_THAT(text_to_csv(in, "/nonexistent/x.csv").error().text(), HasSubstr("H2102"));
}

}  // namespace
}  // namespace hone
