// Rows of every format against what pandas, datasets and pyarrow read (tools/golden_data.py),
// and the errors that users meet, word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/core/json.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "learn/data/formats/errors.h"
#include "learn/data/formats/test_tables.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kGoldens = HONE_SOURCE_DIR "/tests/goldens/learn_data/";

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Result<std::unique_ptr<RowReader>> open(const std::string& name, const std::string& bytes,
                                        RowOptions options = {}) {
  return open_source(memory_source(name, bytes), options);
}

Table read(const std::string& name, const std::string& bytes, RowOptions options = {}) {
  return read(open(name, bytes, options));
}

void expect_golden(const Table& table, const std::string& name) {
  EXPECT_EQ(table.error, "");
  const json golden = json::parse(bytes_of(kGoldens + name));
  EXPECT_EQ(table.columns, golden["columns"].get<std::vector<std::string>>());
  ASSERT_EQ(table.rows.size(), golden["rows"].size());
  for (size_t i = 0; i < table.rows.size(); ++i) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      EXPECT_EQ(table.rows[i][c], cell_of(golden["rows"][i][c]))
          << "row " << i << " column " << table.columns[c];
    }
  }
}
std::vector<std::string> texts(const Table& table) {
  std::vector<std::string> out;
  for (const auto& row : table.rows) out.push_back(std::get<std::string>(row.at(0)));
  return out;
}

// A Megatron-LM index of uint16 ids in three sequences, the second empty; its .bin has 8 ids.
std::string index_of(uint8_t type, std::vector<int32_t> lengths, std::vector<int64_t> places) {
  std::string out("MMIDIDX\0\0\1\0\0\0\0\0\0\0", 17);
  out += static_cast<char>(type);
  const auto put = [&](auto value) { out.append(reinterpret_cast<char*>(&value), sizeof value); };
  put(static_cast<int64_t>(lengths.size()));
  put(static_cast<int64_t>(lengths.size() + 1));
  for (const int32_t length : lengths) put(length);
  for (const int64_t place : places) put(place);
  for (int64_t i = 0; i <= static_cast<int64_t>(lengths.size()); ++i) put(i);
  return out;
}

class Megatron : public ::testing::Test {
 protected:
  Table read_set(const std::string& idx, const std::string& bin, const std::string& named = "a.idx",
                 RowOptions options = {}) {
    const std::string stem = folder_.path + "/a";
    EXPECT_TRUE(file_store().write(stem + ".idx", idx).ok());
    EXPECT_TRUE(file_store().write(stem + ".bin", bin).ok());
    auto source = open_file_source(folder_.path + "/" + named);
    EXPECT_TRUE(source.ok());
    return read(open_source(std::move(*source), options));
  }
  TemporaryFolder folder_;
};

TEST_F(Megatron, RowsAreSequences) {
  using Ids = std::vector<int64_t>;
  // The first id makes the file begin as gzip does.
  std::string bin("\x1f\x8b\1\0\xff\xff\2\0\3\0\4\0\5\0\6\0", 16);
  for (const char* named : {"a.idx", "a.bin"}) {
    const Table table = read_set(index_of(8, {3, 0, 5}, {0, 6, 6}), bin, named);
    EXPECT_EQ(table.error, "");
    EXPECT_THAT(table.columns, ElementsAre("input_ids"));
    ASSERT_EQ(table.rows.size(), 3u);
    EXPECT_EQ(table.rows[0][0], Cell(Ids{0x8b1f, 1, 65535}));
    EXPECT_EQ(table.rows[1][0], Cell(Ids{}));
    EXPECT_EQ(table.rows[2][0], Cell(Ids{2, 3, 4, 5, 6}));
    EXPECT_THAT(table.lines, ElementsAre(1, 2, 3));
  }
  EXPECT_EQ(read_set(index_of(2, {2}, {4}), bin).rows[0][0], Cell(Ids{-1, -1}));
  EXPECT_EQ(read_set(index_of(3, {1}, {4}), bin).rows[0][0], Cell(Ids{-1}));
  EXPECT_EQ(read_set(index_of(4, {1}, {6}), bin).rows[0][0], Cell(Ids{(3 << 16) + 2}));
  EXPECT_EQ(read_set(index_of(5, {2}, {0}), bin).rows.size(), 1u);
}

TEST_F(Megatron, NumbersBeyondTheFilesAreOneError) {
  const std::string bin(16, '\1'), good = index_of(8, {3, 5}, {0, 6});
  const auto error = [&](const std::string& idx) {
    const Table table = read_set(idx, bin);
    EXPECT_THAT(table.error, HasSubstr("H2119"));
    return table.error;
  };
  EXPECT_EQ(read_set(good, bin).error, "");
  EXPECT_EQ(read_set(good + "\1\1", bin).error, "");  // modes of sequences
  EXPECT_THAT(error("MMIDIDX"), HasSubstr("it does not begin as the index"));
  EXPECT_THAT(error(good.substr(0, 20)), HasSubstr("it has 20 bytes"));
  EXPECT_THAT(error(good.substr(0, 60)), HasSubstr("too few for 2 sequences and 3 documents"));
  EXPECT_THAT(error(good + "\1"), HasSubstr("1 bytes follow its 2 sequences"));
  std::string changed = good;
  changed[9] = 2;
  EXPECT_THAT(error(changed), HasSubstr("it has version 2, not 1"));
  for (const uint8_t type : {0, 6, 7, 9})
    EXPECT_THAT(error(index_of(type, {3}, {0})), HasSubstr("is not one of token ids"));
  changed = good;
  changed[25] = '\x70';  // sequences
  EXPECT_THAT(error(changed), HasSubstr("too few for"));
  changed = good;
  changed[changed.size() - 8] = 1;
  EXPECT_THAT(error(changed), HasSubstr("its documents end at sequence 1 of 2"));
  EXPECT_THAT(error(index_of(8, {3, 6}, {0, 6})), HasSubstr("6 ids of uint16 at byte 6 are named"));
  EXPECT_THAT(error(index_of(8, {3, -1}, {0, 6})), HasSubstr("-1 ids"));
  EXPECT_THAT(error(index_of(8, {3, 1}, {0, -2})), HasSubstr("at byte -2"));
  EXPECT_THAT(error(index_of(8, {3, 1}, {0, INT64_MAX})), HasSubstr("are named"));
  EXPECT_THAT(read_set(good, bin, "a.idx", {.limits = {.row_bytes = 8}}).error, HasSubstr("H2118"));
  EXPECT_THAT(read(open("a.idx", good)).error, HasSubstr("is read together with its .bin"));
  std::filesystem::remove(folder_.path + "/a.bin");
  auto source = open_file_source(folder_.path + "/a.idx");
  EXPECT_THAT(read(open_source(std::move(*source), {})).error, HasSubstr("H2101"));
}

TEST(Csv, ReadsWhatPandasReads) {
  const Table table = read("messy.csv", bytes_of(kGoldens + "messy.csv"));
  expect_golden(table, "messy.json");
  EXPECT_THAT(table.lines, ElementsAre(2, 8, 9, 9));
}

TEST(Csv, KeepsEveryByteOfALargeQuotedField) {
  std::string cell;
  for (int i = 0; cell.size() < (5u << 20); ++i)
    cell += fmt::format("line {}, \"quoted\"\r\n\n", i);
  std::string quoted;
  for (const char c : cell) quoted.append(c == '"' ? 2 : 1, c);
  const Table table = read("train.csv", "text\r\r\n\"" + quoted + "\"\r\r\n");
  EXPECT_EQ(table.error, "");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), cell);
}

TEST(Csv, ShortRowsHaveNulls) {
  const Table table = read("a.csv", "a,b\n1\n,2\n");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0], (std::vector<Cell>{"1", {}}));
  EXPECT_EQ(table.rows[1], (std::vector<Cell>{"", "2"}));
}

TEST(Csv, ErrorsSayWhereAndWhatToDo) {
  EXPECT_EQ(
      read("v.csv", "\"" + std::string(60, 'x') + "\nmore\"\r\r\n").error,
      "H2105  'v.csv' has 0 rows: its first record (65 characters, "
      "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\") was taken as the header\n"
      "  at   v.csv:1:1\n"
      "  do   put a line with the column's name, text, before it; or make the file again from "
      "the plain text: hone texttocsv train.txt train.csv");
  EXPECT_THAT(
      read("v.csv", "text\n\n").error,
      HasSubstr("H2105  'v.csv' has 0 rows: its first line was taken as the header (text)"));
  EXPECT_THAT(read("v.csv", "").error, HasSubstr("H2105  'v.csv' is empty"));
  const RowOptions labelled{.header_example = "text,label"};
  EXPECT_THAT(read("v.csv", "", labelled).error, HasSubstr("for example: text,label"));
  EXPECT_THAT(read("v.tsv", "", labelled).error, HasSubstr("for example: text\tlabel"));
  EXPECT_THAT(read("v.csv", "a,b\n", labelled).error, HasSubstr("for example text,label, before"));
  EXPECT_EQ(read("v.csv", "a,b\n1,2\n1,2,3\n").error,
            "H2106  field 3 '3' of a row has no column: the header names 2 (a, b)\n"
            "  at   v.csv:3:5\n"
            "  do   put \" around a field that holds the separator or a line break");
  EXPECT_EQ(read("v.csv", "a\nx\n\"open\n\n").error,
            "H2106  a quoted field does not end before the end of the file\n"
            "  at   v.csv:3:1\n"
            "  do   close it with \", and write a quote inside a field twice (\"\")");
  EXPECT_EQ(read("v.csv", "a,b\n1,\"z\ncaf\xe9\"\n").error,
            "H2108  byte 0xE9 is not UTF-8 text: it looks like cp1252, where it is 'é'\n"
            "  at   v.csv:3:4\n"
            "  do   read it with `encoding` cp1252, or mend the line");
}

// A quote that is not closed ends at that of a later row.
TEST(Csv, ErrorsOfARowThatSpansLinesNameItsQuote) {
  EXPECT_EQ(read("v.csv", "a,b\n\"open,1\n\"x, y\",2\n").error,
            "H2106  field 3 '2' of a row has no column: the header names 2 (a, b)\n"
            "  at   v.csv:3:8\n"
            "  at   v.csv:2:1, where a quoted field of the row begins\n"
            "  do   close the quote at v.csv:2:1 if its text ends in line 2; put \" around a field "
            "that holds the separator or a line break");
  const std::string head = "a,b,c,d\n";
  // If there are several, the one whose closing quote is followed by text is named.
  EXPECT_THAT(read("v.csv", head + "\"two\nlines\",\"open,1\n\"x, y\",2,3\n").error,
              HasSubstr("  at   v.csv:3:8, where a quoted field of the row begins"));
  EXPECT_THAT(
      read("v.csv", head + "\"open,1\n\",\"x, y,2\n").error,
      HasSubstr("before the end of the file\n"
                "  at   v.csv:3:3\n"
                "  at   v.csv:2:1, where a quoted field of the row begins\n"
                "  do   close the quote at v.csv:2:1 if its text ends in line 2; close it"));
  // Neither a row before this one counts, nor the extra field itself.
  EXPECT_THAT(read("v.csv", "a\n1,\"two\nlines\"\n").error, Not(HasSubstr("where a quoted field")));
  EXPECT_THAT(read("v.csv", "a\n\"two\nlines\"\n1,2\n").error,
              Not(HasSubstr("where a quoted field")));
  const Table few = read("v.csv", "a,b\n\"open,1\nplain,2\n\"x\n");
  ASSERT_EQ(few.rows.size(), 1u);
  EXPECT_THAT(few.lines, ElementsAre(2)) << "errors of its empty cells name line 2";
}

TEST(Tsv, QuotesCountOnlyWhereTheyBalance) {
  const Table table =
      read("a.tsv", "s\tl\n\"Hello,\" he said\t1\n\"both\tends\"\t2\n\"open\t3\nit's \"x\"\t\n");
  EXPECT_EQ(table.error, "");
  EXPECT_THAT(texts(table),
              ElementsAre("\"Hello,\" he said", "both\tends", "\"open", "it's \"x\""));
  EXPECT_EQ(table.rows[3][1], Cell(""));
}

TEST(Text, LinesAndParagraphsAreThoseOfDatasets) {
  const std::string bytes = bytes_of(kGoldens + "text.txt");
  const json golden = json::parse(bytes_of(kGoldens + "text.json"));
  for (const bool keep : {true, false}) {
    RowOptions options;
    options.keep_linebreaks = keep;
    const std::string key = keep ? " True" : " False";
    EXPECT_EQ(texts(read("a.txt", bytes, options)),
              golden["line" + key].get<std::vector<std::string>>());
    options.sample_by = SampleBy::kParagraph;
    EXPECT_EQ(texts(read("a.txt", bytes, options)),
              golden["paragraph" + key].get<std::vector<std::string>>());
  }
  RowOptions document;
  document.sample_by = SampleBy::kDocument;
  EXPECT_THAT(texts(read("a.txt", bytes + '\0' + "z", document)), ElementsAre(bytes + '\0' + "z"));
  EXPECT_TRUE(read("a.txt", "", document).rows.empty());
  EXPECT_THAT(read("a.txt", "ok\nno\xff\n").error, HasSubstr("at   a.txt:2:3"));
}

TEST(Json, ArraysWrappedArraysAndLines) {
  const std::vector<std::vector<Cell>> rows = {{"a", int64_t{1}}, {"é", {}}};
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"a.json", "\xef\xbb\xbf [{\"text\":\"a\",\"n\":1},\n {\"text\":\"\\u00e9\"} ]"},
           {"a.json",
            "{\"version\":[1,{\"data\":2}], \"data\" : "
            "[{\"text\":\"a\",\"n\":1},{\"n\":null,\"text\":\"é\"}]}"},
           {"a.json", "{\"text\":\"a\",\"n\":1}\n{\"text\":\"é\"}\n"},
           {"a.jsonl", "{\"text\":\"a\",\"n\":1}\r\n\r\n{\"text\":\"é\"}"}}) {
    const Table table = read(name, bytes);
    EXPECT_EQ(table.error, "") << bytes;
    EXPECT_THAT(table.columns, ElementsAre("text", "n")) << bytes;
    EXPECT_EQ(table.rows, rows) << bytes;
  }
  EXPECT_THAT(texts(read("a.json", "[\"x\", \"y,]\\\"\"]")), ElementsAre("x", "y,]\""));
  RowOptions options;
  options.json_field = "rows";
  EXPECT_THAT(texts(read("a.json", "{\"x\":\"]\",\"rows\":[{\"t\":\"u\"}]}", options)),
              ElementsAre("u"));
}

TEST(Json, KeepsTypesAndFindsNewColumns) {
  const Table table = read("a.jsonl",
                           "{\"i\":-3,\"f\":0.5,\"b\":true,\"ids\":[1,2],\"parts\":[\"a\"],\"m\":[{"
                           "\"role\":\"user\"}]}\n"
                           "{\"new\":[],\"i\":18446744073709551615}\n");
  EXPECT_EQ(table.error, "");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0],
            (std::vector<Cell>{int64_t{-3}, 0.5, true, std::vector<int64_t>{1, 2},
                               std::vector<std::string>{"a"}, RawJson{"[{\"role\":\"user\"}]"}}));
  EXPECT_THAT(table.columns, ElementsAre("i", "f", "b", "ids", "parts", "m", "new"));
  EXPECT_EQ(table.rows[1][0], Cell(18446744073709551615.0));
}

// As jq and json.dump with an indent write rows; by the name .json and .jsonl.
TEST(Json, RowsOverSeveralLines) {
  const std::string row = "{\n  \"text\": \"a } {\",\n  \"label\": 0\n}";
  for (const std::string name : {"a.json", "a.jsonl"})
    for (const std::string& bytes :
         {row + "\n" + row + "\n", row + row, row + "\n\n" + row,
          "[\n" + row + ",\n" + row + "\n]\n", "[\n" + row + ",\n" + row + "\n]"}) {
      const Table table = read(name, bytes);
      EXPECT_EQ(table.error, "") << bytes;
      EXPECT_THAT(table.columns, ElementsAre("text", "label")) << bytes;
      EXPECT_THAT(texts(table), ElementsAre("a } {", "a } {")) << bytes;
    }
  const Table table = read("a.json", row + "\n" + row);
  EXPECT_THAT(table.lines, ElementsAre(1, 5));
  EXPECT_THAT(texts(read("a.json", "{\n\"data\": [\n" + row + "]}")), ElementsAre("a } {"));
  // A list under the name of the rows is a cell as any other.
  EXPECT_THAT(texts(read("a.json", "{\n\"text\": \"t\", \"data\": [\"x\"]\n}")), ElementsAre("t"));
  EXPECT_THAT(read("a.json", row + ",\n" + row).error, HasSubstr("',' comes where a row begins"));
  EXPECT_THAT(read("a.json", row + "\n{\n\"text\": \"b").error,
              HasSubstr("a text does not end before the end of the file\n  at   a.json:5:1"));
  // A first row that is cut off is one of a line, and no other is read for its end.
  EXPECT_THAT(read("a.jsonl", "{\"text\": \"a\n{\"text\": \"b\"}\n").error,
              AllOf(HasSubstr("H2107  not JSON"), HasSubstr("at   a.jsonl:1:")));
  EXPECT_THAT(read("a.jsonl", "{\"text\": \"a\"\n{\"text\": \"b\"}\n").error,
              AllOf(HasSubstr("H2107  not JSON"), HasSubstr("at   a.jsonl:1:")));
  EXPECT_THAT(read("a.jsonl", "[{\"a\":1}]\n[{\"a\":2}]\n").error,
              HasSubstr("'[' comes after the end of the rows"));
}

// As Python writes them. Browsers and strict readers do not.
TEST(Json, NumbersThatAreNotFinite) {
  const Table table = read("a.jsonl",
                           "{\"t\":\"NaN\",\"x\":Infinity}\n{\"t\":\"\\\"NaN\",\"x\":-Infinity}\n"
                           "{\"t\":\"c\",\"x\":[1,Infinity]}\n");
  EXPECT_EQ(table.error, "");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0], (std::vector<Cell>{"NaN", HUGE_VAL}));
  EXPECT_EQ(table.rows[1][1], Cell(-HUGE_VAL));
  EXPECT_EQ(table.rows[1][0], Cell("\"NaN"));
  EXPECT_EQ(table.rows[2][1], Cell(RawJson{"[1, Infinity]"}));
  Row row;
  const auto rows = std::move(open("a.jsonl", "{\"x\":NaN}").value());
  ASSERT_TRUE(*rows->next(row));
  EXPECT_TRUE(std::isnan(std::get<double>(row.cells[0])));
  for (const char* text :
       {"1NaN", "NaNN", "nan", "NaN1", "- NaN", "{NaN:1}", "1e999", "\"\\ud800\""})
    EXPECT_THAT(read("a.jsonl", fmt::format("{{\"y\":NaN,\"x\":{}}}", text)).error,
                HasSubstr("H2107  not JSON"))
        << text;
}

TEST(Json, ErrorsSayWhere) {
  EXPECT_THAT(read("a.jsonl", "{\"a\":1}\n{\"a\":tru}\n").error,
              AllOf(HasSubstr("H2107  not JSON: "), HasSubstr("at   a.jsonl:2:6")));
  EXPECT_THAT(read("a.jsonl", "{\"a\":1}\n[1]\n").error,
              HasSubstr("a row is array [1], not an object"));
  EXPECT_THAT(read("a.json", "[{\"a\":1}\n {\"a\":2}]").error,
              HasSubstr("a comma is missing between two elements\n  at   a.json:2:2"));
  EXPECT_THAT(read("a.json", "[{\"a\":1}, ").error, HasSubstr("was the file cut off?"));
  EXPECT_THAT(read("a.json", "[{\"a\":\n \"x").error,
              HasSubstr("a text does not end before the end of the file\n  at   a.json:1:2"));
  EXPECT_THAT(read("a.json", "7").error, HasSubstr("a .json file is an array of objects"));
  RowOptions options;
  options.json_field = "rows";
  EXPECT_THAT(read("a.json", "{\"data\":[]}", options).error, HasSubstr("no key \"rows\""));
}

TEST(Json, AnObjectOfRows) {
  const Table table =
      read("a.json", "{\n \"0\": {\"text\": \"a\"},\n \"x\": {\"text\": \"b\", \"n\": 1}}\n");
  EXPECT_EQ(table.error, "");
  EXPECT_THAT(table.columns, ElementsAre("text", "n"));
  EXPECT_EQ(table.rows, (std::vector<std::vector<Cell>>{{"a"}, {"b", int64_t{1}}}));
  EXPECT_THAT(table.lines, ElementsAre(2, 3));
  // Lines whose values are objects are lines when there are several of them.
  EXPECT_EQ(read("a.json", "{\"a\":{\"x\":1}}\n{\"a\":{\"x\":2}}\n").columns,
            std::vector<std::string>{"a"});
  EXPECT_THAT(read("a.json", "{\"t\": {\"0\": \"a\", \"1\": \"b\"}}").error,
              AllOf(HasSubstr("H2107  the file holds columns"), HasSubstr("orient='records'")));
  EXPECT_THAT(read("a.json", "{\"0\":{\"a\":1},\n \"1\" {}}").error, HasSubstr("H2107"));
  EXPECT_THAT(read("a.json", "{\"0\":{\"a\":1},\n \"1\":").error, HasSubstr("H2107"));
  EXPECT_THAT(read("a.json", "{\"0\":{\"a\":1},\n").error,
              HasSubstr("the object does not end: was the file cut off?\n  at   a.json:2:1"));
  EXPECT_THAT(read("a.json", "{\"0\":{\"a\":1},\n \"1\":{\"a\"").error,
              HasSubstr("a value does not end before the end of the file\n  at   a.json:2:6"));
}

std::string gzipped(std::string text) {
  z_stream s{};
  std::string out(text.size() + 100, '\0');
  EXPECT_EQ(deflateInit2(&s, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  s.next_in = reinterpret_cast<Bytef*>(text.data());
  s.avail_in = static_cast<uInt>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

// Limits of readers of strangers' files: a packed row may be a thousand times its bytes.
TEST(Limits, OfRowsOfPackedFilesAndOfTime) {
  RowOptions options;
  options.limits.row_bytes = 2 << 20;
  for (const std::string name : {"a.jsonl", "a.json", "a.txt", "a.csv"}) {
    const bool json = name.find("json") != name.npos;
    const auto row = [&](size_t bytes) {
      const std::string text(bytes, 'a');
      return json ? "{\"text\":\"" + text + "\"}\n" : text + "\n";
    };
    EXPECT_EQ(read(name, row(1 << 20) + row(1 << 20) + row(1 << 20), options).error, "") << name;
    const std::string bomb = row(100) + row(8 << 20);
    EXPECT_THAT(read(name, bomb, options).error, HasSubstr("H2118  the row has more than 2.0 MiB"))
        << name;
    EXPECT_THAT(read(name + ".gz", gzipped(bomb), options).error, HasSubstr("H2118")) << name;
  }
  bool left = false;
  options.limits.stops = [&] { return left; };
  const std::string lines(4 << 20, '\n');
  const auto rows = std::move(open("a.txt", lines, options).value());
  Row one;
  ASSERT_TRUE(*rows->next(one));
  left = true;
  Result<bool> more = true;
  while (more.ok() && *more) more = rows->next(one);
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(more.error().text(), HasSubstr("H2118  reading 'a.txt' was stopped"));
}

// A column format takes no more memory than it may, and ends when nobody waits.
TEST(Limits, OfColumnsAndOfTheirTime) {
  const std::string data = std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_data/";
  for (const std::string name : {"tiny.parquet", "tiny.feather"}) {
    RowOptions options;
    options.limits.whole_bytes = 64 << 20;
    Row row;
    auto rows = open_source(open_file_source(data + name).value(), options);
    if (!rows.ok() && rows.error().is(err::kArrowMissing)) GTEST_SKIP() << rows.error().text();
    ASSERT_TRUE(rows.ok()) << rows.error().text();
    ASSERT_TRUE((*rows)->next(row).value());
    options.limits.stops = [] { return true; };
    auto stopped = open_source(open_file_source(data + name).value(), options);
    const auto ended = stopped.ok() ? (*stopped)->next(row) : Result<bool>(stopped.error());
    ASSERT_FALSE(ended.ok()) << name;
    EXPECT_TRUE(ended.error().is(err::kDataLimit)) << ended.error().text();
  }
  RowOptions small;
  small.limits.whole_bytes = 300;
  auto rows = open_source(open_file_source(data + "tiny.parquet").value(), small);
  Row row;
  const auto read = rows.ok() ? (*rows)->next(row) : Result<bool>(rows.error());
  ASSERT_FALSE(read.ok());
  EXPECT_TRUE(read.error().is(err::kDataLimit)) << read.error().text();
}

TEST(Packed, EveryFormatIsReadThroughItsCompression) {
  std::string lines, json = "[";
  for (int i = 0; i < 30000; ++i) {  // more than the readers buffer
    lines += fmt::format("{{\"text\":\"row {}\"}}\n", i * 17);
    json += fmt::format("{}{{\"text\":\"row {}\"}}", i ? ",\n" : "", i * 17);
  }
  for (const auto& [name, bytes] :
       std::vector<std::pair<std::string, std::string>>{{"a.jsonl", lines},
                                                        {"a.txt", lines},
                                                        {"a.json", json + "]"},
                                                        {"a.tsv", "text\n" + lines}}) {
    const std::string packed = gzipped(bytes);
    auto plain = std::move(open(name, bytes).value());
    auto rows = std::move(open(name + ".gz", packed).value());
    Row a, b;
    std::vector<RowPosition> places;
    for (int i = 0;; ++i) {
      if (i % 1000 == 7) places.push_back(rows->position());
      const bool more = *plain->next(a);
      ASSERT_EQ(*rows->next(b), more);
      if (!more) break;
      ASSERT_EQ(a.cells, b.cells);
      ASSERT_EQ(a.line, b.line);
    }
    // Back and forth.
    for (const size_t i : {20u, 3u, 4u, 29u, 0u}) {
      ASSERT_TRUE(rows->seek(places[i]).ok());
      ASSERT_TRUE(plain->seek(places[i]).ok());
      ASSERT_TRUE(*rows->next(b) && *plain->next(a));
      EXPECT_EQ(a.cells, b.cells);
      EXPECT_EQ(rows->position(), plain->position());
    }
    EXPECT_EQ(read(name, packed).error, "") << "compression is found without its extension";
    const Table cut = read(name + ".gz", packed.substr(0, packed.size() / 2));
    EXPECT_THAT(cut.error, AllOf(HasSubstr("H0116"), HasSubstr("it is cut off"),
                                 HasSubstr(fmt::format("at   {}.gz:", name))));
  }
  expect_golden(read("messy.csv.gz", gzipped(bytes_of(kGoldens + "messy.csv"))), "messy.json");
  EXPECT_EQ(read("a.txt.gz", "plain\n").error,
            "H2104  'a.txt.gz' does not begin as gzip data do\n"
            "  at   a.txt.gz:1:1\n"
            "  do   get the file again; if it is not compressed, name it 'a.txt'");
  EXPECT_THAT(read("a.txt.gz", "").error, HasSubstr("H2104  'a.txt.gz' is empty"));
}

// Files in Arrow's formats: the same table, from a path and from bytes.
class ArrowFiles : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Table table = read(GetParam(), bytes_of(kGoldens + GetParam()));
    if (table.error.starts_with("H2112")) GTEST_SKIP() << table.error;
  }
  Table of_path(const std::string& path) {
    return read(find_format(GetParam(), {})->open(open_file_source(path).value(), {}));
  }
};

TEST_P(ArrowFiles, HoldWhatPyarrowReads) {
  expect_golden(of_path(kGoldens + GetParam()), "tiny.json");
  expect_golden(read(GetParam(), bytes_of(kGoldens + GetParam())), "tiny.json");
  expect_golden(read(std::string(GetParam()) + ".gz", gzipped(bytes_of(kGoldens + GetParam()))),
                "tiny.json");
}

TEST_P(ArrowFiles, AreReadByPartsFromAUrl) {
  const std::unique_ptr<Store> memory = make_memory_store();
  const FileStoreInstead instead(*memory);
  const std::string url = std::string("memory://") + GetParam();
  ASSERT_TRUE(memory->make_dirs("memory:/").ok());
  ASSERT_TRUE(memory->write(url, bytes_of(kGoldens + GetParam())).ok());
  expect_golden(read(open_source(open_file_source(url).value(), {})), "tiny.json");
  ASSERT_TRUE(memory->write(url, bytes_of(kGoldens + GetParam()).substr(0, 900)).ok());
  EXPECT_THAT(read(open_source(open_file_source(url).value(), {})).error, HasSubstr("H2111"));
}

TEST_P(ArrowFiles, ColumnsThatNobodyWantsAreNull) {
  for (const std::vector<size_t>& wanted : {std::vector<size_t>{0}, {8, 1, 6}}) {
    auto reader = std::move(open(GetParam(), bytes_of(kGoldens + GetParam())).value());
    Row row;
    ASSERT_TRUE(*reader->next(row));
    reader->read_only(wanted);
    const Table table = read(std::move(reader));
    EXPECT_EQ(table.error, "");
    const json golden = json::parse(bytes_of(kGoldens + "tiny.json"));
    EXPECT_EQ(table.columns, golden["columns"].get<std::vector<std::string>>());
    ASSERT_EQ(table.rows.size(), golden["rows"].size() - 1);
    for (size_t i = 0; i < table.rows.size(); ++i)
      for (size_t c = 0; c < table.columns.size(); ++c)
        EXPECT_EQ(table.rows[i][c], std::count(wanted.begin(), wanted.end(), c) > 0
                                        ? cell_of(golden["rows"][i + 1][c])
                                        : Cell())
            << "row " << i << " column " << table.columns[c];
  }
}

TEST_P(ArrowFiles, CutShortOrDamagedAreOneError) {
  const std::string whole = bytes_of(kGoldens + GetParam());
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 200) {
    const Table cut = read(GetParam(), whole.substr(0, size));
    EXPECT_THAT(cut.error, HasSubstr("H2111  cannot read")) << size;
    EXPECT_THAT(cut.error, HasSubstr("check that the file is whole")) << size;
  }
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 400) {
    std::string bent = whole;
    bent[at] = static_cast<char>(bent[at] ^ 0x81);
    const Table table = read(GetParam(), bent);  // some bytes are padding, or just other data
    if (!table.error.empty()) {
      EXPECT_THAT(table.error, AnyOf(HasSubstr("H2111"), HasSubstr("H2108"))) << at;
    }
  }
  const std::string path = testing::TempDir() + "/cut_" + GetParam();
  std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() - 9);
  EXPECT_THAT(of_path(path).error, HasSubstr("H2111"));
}

INSTANTIATE_TEST_SUITE_P(All, ArrowFiles,
                         ::testing::Values("tiny.parquet", "tiny.feather", "tiny.arrow"),
                         [](const auto& info) { return std::string(info.param).substr(5); });

TEST(Arrow, OldFeatherIsNamed) {
  const std::string error = read("x.feather", "FEA1 no").error;
  if (error.starts_with("H2112")) GTEST_SKIP() << error;
  EXPECT_THAT(error, AllOf(HasSubstr("H2111  cannot read 'x.feather' as Arrow"),
                           HasSubstr("Feather version 1")));
}

TEST(Formats, AreFoundByExtension) {
  EXPECT_EQ(find_format("dir.x/A.CSV", {})->name, "csv");
  EXPECT_EQ(find_format("a.ndjson", {})->name, "jsonl");
  RowOptions options;
  options.format = "text";
  EXPECT_EQ(find_format("noextension", options)->name, "text");
  EXPECT_EQ(find_format("a.csv.tar", {}).error().text(),
            "H2104  'a.csv.tar' is packed in a way that hone does not read (.tar)\n"
            "  do   unpack it first; .gz, .zst, .bz2, .xz and .zip are read as they are");
  EXPECT_EQ(find_format("a.csv.GZ", {})->name, "csv");
  EXPECT_EQ(find_format("a.csv.zip", {})->name, "csv");
  EXPECT_THAT(find_format("a.gz", {}).error().text(), HasSubstr("no extension"));
  EXPECT_THAT(find_format("a.jsnl", {}).error().text(),
              AllOf(HasSubstr("H2103"), HasSubstr("did you mean .jsonl?")));
  EXPECT_THAT(find_format("dir.d/data", {}).error().text(),
              HasSubstr("has no extension to name its format"));
}

TEST(Encodings, AreReadWhenNamed) {
  const std::string utf8 = "a,text\n1,caf\u00e9 \u20ac\n2,\u4e2d\U0001F600\n";
  const auto utf16 = [](const std::u16string& text, bool big) {
    std::string out;
    for (const char16_t c : text) {
      const char high = static_cast<char>(c >> 8), low = static_cast<char>(c & 0xFF);
      out += big ? high : low;
      out += big ? low : high;
    }
    return out;
  };
  const std::u16string wide = u"a,text\n1,caf\u00e9 \u20ac\n2,\u4e2d\U0001F600\n";
  const Table expected = read("a.csv", utf8);
  ASSERT_EQ(expected.rows.size(), 2u);
  RowOptions options;
  for (const auto& [encoding, bytes] : std::vector<std::pair<Charset, std::string>>{
           {Charset::kUtf8, "\xEF\xBB\xBF" + utf8},
           {Charset::kUtf16, utf16(u"\uFEFF" + wide, false)},
           {Charset::kUtf16, utf16(u"\uFEFF" + wide, true)},
           {Charset::kUtf16, utf16(wide, false)},
           {Charset::kUtf16Le, utf16(u"\uFEFF" + wide, false)},
           {Charset::kUtf16Be, utf16(wide, true)}}) {
    options.encoding = encoding;
    for (const bool packed : {false, true}) {
      const Table table = read("a.csv", packed ? gzipped(bytes) : bytes, options);
      EXPECT_EQ(table.error, "");
      EXPECT_EQ(table.columns, expected.columns);
      EXPECT_EQ(table.rows, expected.rows);
    }
    EXPECT_THAT(texts(read("a.txt", bytes, options))[0], "a,text\n");
  }
  options.encoding = Charset::kCp1252;
  EXPECT_THAT(texts(read("a.txt", "\x80 \x93q\x94 \xe9\xff", options)), ElementsAre("€ “q” éÿ"));
  EXPECT_EQ(read("a.txt", "ok\nno\x81\n", options).error,
            "H2108  byte 0x81 is not a character of cp1252 text\n"
            "  at   a.txt:2:3\n"
            "  do   check the encoding: `encoding` names it; `file` guesses it");
  options.encoding = Charset::kLatin1;
  EXPECT_THAT(texts(read("a.jsonl", "{\"t\":\"\xe9\"}", options)), ElementsAre("é"));
  options.encoding = Charset::kUtf16;
  EXPECT_THAT(read("a.txt", utf16(u"a\n\xDC00", false), options).error,
              AllOf(HasSubstr("0xDC00 without its partner"), HasSubstr("a.txt:2:1")));
  EXPECT_THAT(read("a.txt", utf16(u"a\nb", false) + "c", options).error,
              AllOf(HasSubstr("a last single byte 0x63"), HasSubstr("a.txt:2:2")));
}

TEST(Encodings, AreRecognised) {
  EXPECT_EQ(
      read("a.csv", std::string("\xFF\xFEt\0", 4)).error,
      "H2108  the text is UTF-16, by its byte order mark 0xFFFE (little endian), and not UTF-8\n"
      "  at   a.csv:1:1\n"
      "  do   read it with `encoding` utf-16");
  for (const char* bom : {"\xFF\xFE\0\0t\0\0", "\0\0\xFE\xFF\0\0\0t"})
    EXPECT_THAT(read("a.txt", std::string(bom, 8)).error,
                AllOf(HasSubstr("H2108  the text is UTF-32"), HasSubstr("iconv -f UTF-32")));
  EXPECT_THAT(read("a.jsonl", std::string("\0{\0\"\0t\0\"", 8)).error,
              AllOf(HasSubstr("looks like UTF-16 (big endian"), HasSubstr("`encoding` utf-16-be")));
  EXPECT_THAT(read("a.jsonl", "{\"t\":1}\n{\"t\":\"caf\xe9\"}").error,
              AllOf(HasSubstr("looks like cp1252, where it is 'é'\n  at   a.jsonl:2:10")));
  EXPECT_THAT(read("a.txt", "caf\u00e9 caf\xe9").error, HasSubstr("though the text before it is"));
  EXPECT_THAT(read("a.txt", "x\x81").error, HasSubstr("no encoding that hone knows"));
  EXPECT_EQ(*encoding_of("UTF_16LE"), Charset::kUtf16Le);
  EXPECT_EQ(*encoding_of("Windows-1252"), Charset::kCp1252);
  EXPECT_THAT(encoding_of("cp1251").error().text(),
              AllOf(HasSubstr("H2116"), HasSubstr("did you mean cp1252?")));
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_bad_utf8("plain ascii, more than eight"), std::string_view::npos);
  EXPECT_EQ(find_bad_utf8("é€😀"), std::string_view::npos);
  EXPECT_EQ(find_bad_utf8("12345678é\xff"), 10u);
  for (const char* bad : {"\x80", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xf5", "\xe2\x82"}) {
    EXPECT_EQ(find_bad_utf8(bad), 0u);
  }
}

std::string data_folder() {
  const char* folder = std::getenv("HONE_DATA");
  return folder ? folder : HONE_SOURCE_DIR "/../shared/data";
}

TEST(RealFiles, RecipeCsv) {
  const std::string folder = data_folder() + "/ref-finetune-gpt2xl/";
  auto source = open_file_source(folder + "validation.csv");
  if (!source.ok()) GTEST_SKIP() << source.error().text();
  const Table table = read(find_format("a.csv", {})->open(std::move(*source), {}));
  EXPECT_THAT(table.columns, ElementsAre("text"));
  ASSERT_EQ(table.rows.size(), 1u);
  const std::string& text = std::get<std::string>(table.rows[0][0]);
  EXPECT_EQ(text.size(), 14761u);
  EXPECT_TRUE(text.starts_with("1609\r\n\r\nA LOVER'S COMPLAINT\r\n"));
  const Table old = read(
      find_format("a.csv", {})->open(open_file_source(folder + "v2021_train.csv").value(), {}));
  EXPECT_THAT(old.error, HasSubstr("has 0 rows: its first record ("));
}

TEST(RealFiles, ObjectsOfRows) {
  for (const auto& [file, rows] :
       {std::pair{"/mnli-9k/dev.json", 1000u}, {"/snli-9k/dev.json", 1000u}}) {
    auto source = open_file_source(data_folder() + file);
    if (!source.ok()) GTEST_SKIP() << source.error().text();
    const Table table = read(open_source(std::move(*source), {}));
    EXPECT_EQ(table.error, "");
    EXPECT_EQ(table.rows.size(), rows);
    EXPECT_THAT(table.columns, ElementsAre("text_a", "text_b", "label"));
  }
}

TEST(RealFiles, ScitldrLines) {
  auto source = open_file_source(data_folder() + "/scitldr/dev.jsonl");
  if (!source.ok()) GTEST_SKIP() << source.error().text();
  const Table table = read(find_format("dev.jsonl", {})->open(std::move(*source), {}));
  EXPECT_EQ(table.error, "");
  EXPECT_EQ(table.rows.size(), 619u);
  EXPECT_TRUE(std::holds_alternative<std::vector<std::string>>(table.rows[0][0]));
}

}  // namespace
}  // namespace hone
