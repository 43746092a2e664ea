// Pairs of texts: columns, translations, parallel files, and what is wrong with them.
#include "learn/data/rows/pair_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/store/temporary_folder.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One token a byte after a 1, four at most.
Status cut_bytes_as_tokens(std::span<const std::string_view> texts, EncodedSide& out) {
  for (const std::string_view text : texts) {
    std::vector<int32_t>& ids = out.ids.emplace_back(1, 1);
    ids.insert(ids.end(), text.begin(), text.end());
    out.cut.push_back(ids.size() > 4);
    ids.resize(std::min<size_t>(ids.size(), 4));
  }
  return Ok{};
}

class Pairs : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path + "/" + name) << text;
    return folder_.path + "/" + name;
  }
  static PairOptions options() {
    PairOptions o;
    o.source = o.target = cut_bytes_as_tokens;
    return o;
  }
  static PairColumnOptions columns(const std::string& source, const std::string& target = "") {
    PairColumnOptions wanted;
    wanted.source_column = source, wanted.target_column = target;
    return wanted;
  }
  static PairColumnOptions languages(const std::string& source, const std::string& target) {
    PairColumnOptions wanted;
    wanted.source_lang = source, wanted.target_lang = target;
    return wanted;
  }
  static Result<PairRows> read(const std::string& path, const PairColumnOptions& wanted,
                               const PairOptions& o = options(), int64_t limit = INT64_MAX) {
    PairReader reader = HONE_TRY(PairReader::open({path}, {}, wanted));
    return read_pairs(reader, o, limit);
  }
  static std::string error_of(const std::string& path, const PairColumnOptions& wanted) {
    const auto rows = read(path, wanted);
    return rows.ok() ? "none" : rows.error().text();
  }
  static std::vector<int32_t> ids(std::span<const int32_t> row) { return {row.begin(), row.end()}; }

  TemporaryFolder folder_;
};

TEST_F(Pairs, TheFirstTwoColumnsOrThoseNamed) {
  const std::string path = file("a.csv", "text,summary,other\nabc,x,long text\nde,yz,o\n");
  PairOptions o = options();
  o.prefix = ">";
  const PairRows rows = read(path, {}, o).value();
  ASSERT_EQ(rows.size(), 2);
  EXPECT_THAT(ids(rows.sources.row(0)), ElementsAre(1, '>', 'a', 'b'));  // cut
  EXPECT_THAT(ids(rows.sources.row(1)), ElementsAre(1, '>', 'd', 'e'));
  EXPECT_THAT(ids(rows.targets.row(0)), ElementsAre(1, 'x'));
  EXPECT_EQ(rows.first_source, "abc");
  EXPECT_EQ(rows.counts.sources_cut, 1);
  EXPECT_EQ(describe(rows, 4, 4),
            "2 rows -> 8 tokens of sources, 5 of targets; 1 source (50.0 %) cut at 4");
  const PairRows named = read(path, columns("other", "text")).value();
  EXPECT_THAT(ids(named.targets.row(1)), ElementsAre(1, 'd', 'e'));
  EXPECT_EQ(read(path, {}, options(), 1).value().size(), 1);
}

TEST_F(Pairs, TheColumnsOfTrainingWhereTheFileHasThem) {
  PairColumnOptions wanted;
  wanted.trained_columns = {"other", "summary"};
  const std::string path = file("a.csv", "text,summary,other\nabc,x,long text\n");
  EXPECT_THAT(ids(read(path, wanted).value().sources.row(0)), ElementsAre(1, 'l', 'o', 'n'));
  const std::string without = file("b.csv", "text,other\nabc,yz\n");
  EXPECT_THAT(ids(read(without, wanted).value().sources.row(0)), ElementsAre(1, 'a', 'b', 'c'));
  PairOptions predict = options();
  predict.predict = true;
  wanted.target = false;
  EXPECT_THAT(ids(read(without, wanted, predict).value().sources.row(0)), ElementsAre(1, 'y', 'z'));
  wanted.source_column = "text";
  EXPECT_THAT(ids(read(without, wanted, predict).value().sources.row(0)),
              ElementsAre(1, 'a', 'b', 'c'));
}

TEST_F(Pairs, ColumnsThatAreNotThere) {
  const std::string path = file("a.csv", "article,highlights\nabc,x\n");
  const std::string text = error_of(path, columns("articel"));
  EXPECT_THAT(text, HasSubstr("H2109  the data has no column 'articel'"));
  EXPECT_THAT(text, HasSubstr("a.csv (`text_column`)"));
  EXPECT_THAT(text, HasSubstr("did you mean 'article'? its columns are article, highlights"));
  EXPECT_THAT(error_of(path, columns("highlights")),
              HasSubstr("both texts would come from column 'highlights'"));
  EXPECT_THAT(error_of(file("b.csv", "text\nabc\n"), {}), HasSubstr("the data has one column"));
}

TEST_F(Pairs, EmptyTextsHaveTheirPlace) {
  const std::string path = file("a.csv", "text,summary\nabc,x\nde,\nf,g\n");
  const std::string text = error_of(path, {});
  EXPECT_THAT(text, HasSubstr("H2123  the text is empty"));
  EXPECT_THAT(text, HasSubstr("a.csv:3, column 'summary'"));
  PairOptions o = options();
  o.skip_empty = true;
  const PairRows rows = read(path, {}, o).value();
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.counts.rows_empty, 1);
}

TEST_F(Pairs, TranslationsAreObjectsOrColumns) {
  const std::string objects = file("a.jsonl",
                                   "{\"translation\": {\"en\": \"ab\", \"ro\": \"x\"}}\n"
                                   "{\"translation\": {\"ro\": \"y\", \"en\": \"c\"}}\n");
  const std::string columns = file("b.csv", "ro,en\nx,ab\ny,c\n");
  for (const std::string& path : {objects, columns}) {
    const PairRows rows = read(path, languages("en_XX", "ro_RO")).value();
    EXPECT_THAT(ids(rows.sources.row(0)), ElementsAre(1, 'a', 'b'));
    EXPECT_THAT(ids(rows.targets.row(1)), ElementsAre(1, 'y'));
  }
  const std::string text = error_of(objects, languages("en", "de"));
  EXPECT_THAT(text, HasSubstr("H2124  the translation has no 'de'"));
  EXPECT_THAT(text, HasSubstr("a.jsonl:1, column 'translation'"));
  EXPECT_THAT(text, HasSubstr("its languages are en, ro"));
  EXPECT_THAT(error_of(columns, languages("en", "de")),
              HasSubstr("neither a column 'translation' nor a column 'de'"));
  EXPECT_THAT(error_of(file("c.jsonl", "{\"translation\": \"en\"}\n"), languages("en", "ro")),
              HasSubstr("H2110  column 'translation' holds text, not an object of texts"));
  EXPECT_THAT(error_of(file("d.jsonl", "{\"translation\": {\"en\": 3, \"ro\": \"x\"}}\n"),
                       languages("en", "ro")),
              HasSubstr("'en' is number, not a text"));
  EXPECT_THAT(error_of(file("e.jsonl", "{\"translation\": {\"en\": null, \"ro\": \"x\"}}\n"),
                       languages("en", "ro")),
              HasSubstr("column 'translation', language en"));
}

TEST_F(Pairs, ParallelFilesGoLineByLine) {
  const std::string en = file("t.en", "ab\nc\n"), ro = file("t.ro", "x\ny\n");
  EXPECT_TRUE(parallel_files({ro, en}, "en_XX", "ro"));
  EXPECT_TRUE(parallel_files({"a/train.de.gz", "a/train.en.gz"}, "de", "en"));
  EXPECT_FALSE(parallel_files({en}, "en", "ro"));
  EXPECT_FALSE(parallel_files({en, "t.json"}, "en", "ro"));
  const auto files = parallel_files({ro, en}, "en", "ro");
  PairReader reader = PairReader::open_parallel(files->sources, files->targets, {}).value();
  const PairRows rows = read_pairs(reader, options(), INT64_MAX).value();
  ASSERT_EQ(rows.size(), 2);
  EXPECT_THAT(ids(rows.sources.row(0)), ElementsAre(1, 'a', 'b'));
  EXPECT_THAT(ids(rows.targets.row(1)), ElementsAre(1, 'y'));
  PairReader uneven = PairReader::open_parallel({en}, {file("more.ro", "x\ny\nz\n")}, {}).value();
  const auto wrong = read_pairs(uneven, options(), INT64_MAX);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().text(), HasSubstr("H2124  one of the parallel files has more lines"));
  EXPECT_THAT(wrong.error().text(), HasSubstr("more.ro:3"));
}

// Rows to be predicted: a column, a language or a file of targets may be missing, or empty in every
// row.
TEST_F(Pairs, RowsToPredictMayHaveNoTargets) {
  PairOptions o = options();
  o.predict = true;
  const auto predicted = [&](const std::string& path, PairColumnOptions wanted) {
    wanted.target = false;
    return read(path, wanted, o);
  };
  const PairRows given = predicted(file("a.csv", "text,summary\nabc,x\nde,y\n"), {}).value();
  EXPECT_TRUE(given.has_targets);
  EXPECT_THAT(ids(given.targets.row(1)), ElementsAre(1, 'y'));
  const std::string bare = file("b.csv", "text\nabc\nde\n"),
                    other = file("c.csv", "text,number\nabc,1\nde,2\n"),
                    blank = file("d.csv", "text,summary\nabc,\nde,\n"),
                    english = file("e.jsonl",
                                   "{\"translation\": {\"en\": \"abc\"}}\n"
                                   "{\"translation\": {\"en\": \"de\", \"ro\": null}}\n"),
                    column = file("f.csv", "en\nabc\nde\n");
  for (const auto& [path, wanted] : {std::pair{bare, PairColumnOptions{}},
                                     {other, columns("text", "summary")},
                                     {blank, PairColumnOptions{}},
                                     {english, languages("en", "ro")},
                                     {column, languages("en", "ro")}}) {
    const auto rows = predicted(path, wanted);
    ASSERT_TRUE(rows.ok()) << path << rows.error().text();
    EXPECT_FALSE(rows->has_targets) << path;
    ASSERT_EQ(rows->size(), 2) << path;
    EXPECT_THAT(ids(rows->sources.row(1)), ElementsAre(1, 'd', 'e'));
    EXPECT_EQ(rows->targets.size(), 2);
    EXPECT_EQ(rows->targets.tokens(), 0);
    EXPECT_THAT(describe(*rows, 4, 4), HasSubstr("7 tokens of sources, none of targets"));
  }
  // The same data to learn from, or with the source missing.
  EXPECT_THAT(error_of(bare, {}), HasSubstr("the data has one column"));
  EXPECT_THAT(error_of(english, languages("en", "ro")), HasSubstr("has no 'ro'"));
  EXPECT_THAT(predicted(bare, columns("article")).error().text(), HasSubstr("no column 'article'"));
  EXPECT_THAT(predicted(column, languages("ro", "en")).error().text(),
              HasSubstr("nor a column 'ro'"));
  // Some of them.
  const std::string some = file("g.csv", "text,summary\nabc,x\nde,\nf,\nghi,z\n");
  EXPECT_THAT(predicted(some, {}).error().text(), HasSubstr("g.csv:3, column 'summary'"));
  o.skip_empty = true;
  const PairRows kept = predicted(some, {}).value();
  EXPECT_TRUE(kept.has_targets);
  EXPECT_EQ(kept.counts.rows_empty, 2);
  ASSERT_EQ(kept.size(), 2);
  EXPECT_THAT(ids(kept.sources.row(1)), ElementsAre(1, 'g', 'h', 'i'));
  EXPECT_THAT(ids(kept.targets.row(1)), ElementsAre(1, 'z'));

  const std::string en = file("t.en", "abc\nde\n");
  EXPECT_FALSE(parallel_files({en}, "en", "ro"));
  const auto files = parallel_files({en}, "en", "ro", false);
  ASSERT_TRUE(files);
  PairReader reader = PairReader::open_parallel(files->sources, files->targets, {}).value();
  const PairRows lines = read_pairs(reader, o, INT64_MAX).value();
  EXPECT_FALSE(lines.has_targets);
  EXPECT_THAT(ids(lines.sources.row(1)), ElementsAre(1, 'd', 'e'));
}

}  // namespace
}  // namespace hone
