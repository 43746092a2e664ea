// Rows of classification: columns, labels, label maps, token types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/core/text.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/labelled_rows.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// One token a byte: 1 first 2 second 2; the second text and its end have type 1.
Status pairs_as_tokens(std::span<const std::string_view> first,
                       std::span<const std::string_view> second, EncodedTexts& out) {
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<int32_t>& ids = out.ids.emplace_back(1, 1);
    ids.insert(ids.end(), first[i].begin(), first[i].end());
    ids.push_back(2);
    out.type_ids.emplace_back(ids.size(), 0);
    if (second.empty()) continue;
    ids.insert(ids.end(), second[i].begin(), second[i].end());
    ids.push_back(2);
    out.type_ids.back().resize(ids.size(), 1);
  }
  return Ok{};
}

class Labelled : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("hone_labelled_{}", getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Result<LabelledText> read(const std::string& path, const LabelColumnOptions& wanted = {},
                            const RowOptions& options = {}) {
    LabelReader reader = HONE_TRY(open_label_rows({path}, options, wanted));
    notes_ = reader.columns.notes;
    return read_labelled(reader, wanted, pairs_as_tokens);
  }
  std::string error_of(const std::string& path, const LabelColumnOptions& wanted = {}) {
    auto text = read(path, wanted);
    return text.ok() ? "none" : text.error().text();
  }

  fs::path folder_;
  std::vector<std::string> notes_;
};

std::string text_of(const LabelledText& text, int64_t row) {
  const auto ids = text.data.rows.row(row);
  std::string out;
  for (const int32_t id : ids) out += id == 1 ? '<' : id == 2 ? '>' : static_cast<char>(id);
  return out;
}

TEST_F(Labelled, ARowThatWasTakenAsTheHeaderIsNoted) {
  const auto lost = [&](const std::string& text, const LabelColumnOptions& wanted = {},
                        const RowOptions& options = {}, const std::string& name = "a.tsv") {
    auto reader = open_label_rows({file(name, text)}, options, wanted);
    return reader.ok() ? reader->columns.lost_row : reader.error().text();
  };
  const std::string rows = "good film\t1\nbad film\t0\nold film\t1\n",
                    named = "fine\tyes\nbad\tno\n";
  EXPECT_THAT(lost(rows),
              HasSubstr("a.tsv was taken as the header and looks like a row: '1' is a number"));
  EXPECT_THAT(lost(named + "new\tyes\n"), HasSubstr("'yes' is also the label of"));
  ASSERT_TRUE(read(file("a.tsv", rows)).ok());
  EXPECT_THAT(notes_.back(), HasSubstr("; `column_names` names the columns"));
  EXPECT_EQ(read(file("a.tsv", rows))->data.size(), 2);  // the reader is at its first row
  // Rows to predict, one column of which has a label of the model as its name.
  LabelColumnOptions predicted{.label = false, .known_labels = {"0", "1"}};
  EXPECT_THAT(lost(rows, predicted), HasSubstr("'1' is a label of the model"));
  // Headers: of unseen names, of pandas, of a column that is found by its name or named by the user, of other formats.
  EXPECT_EQ(lost(named), "");
  EXPECT_EQ(lost("0\t1\ngood\tyes\nbad\tno\n"), "");
  EXPECT_EQ(lost("0\t1\ngood\tyes\nbad\tno\n", predicted), "");
  EXPECT_EQ(lost("text\tlabel\ngood\tlabel\nbad\tno\n"), "");
  EXPECT_THAT(lost("good film\t7\nbad film\t8\n", {.label = false}), HasSubstr("'7' is a number"));
  EXPECT_EQ(lost("text\t7\ngood\t8\n", {.text_columns = {"text"}, .label = false}), "");
  EXPECT_EQ(lost("text\t5\ngood\t5\nbad\t4\n", {.label_column = "5"}), "");
  EXPECT_EQ(lost(rows, {}, {.column_names = {"text", "stars"}}), "");
  EXPECT_EQ(lost("{\"text\": \"good\", \"5\": \"5\"}\n{\"text\": \"bad\", \"5\": \"4\"}\n", {}, {},
                 "a.jsonl"),
            "");
}

TEST_F(Labelled, AHeaderIsARowByOneRule) {
  using Names = std::vector<std::string>;
  const std::string text(61, 'x');
  EXPECT_EQ(value_in_header(Names{"text", "1"}), "'1' is a number");
  EXPECT_EQ(value_in_header(Names{"5", "3"}), "'5' is a number");
  EXPECT_EQ(value_in_header(Names{"1", "0"}), "'1' is a number") << "pandas begins with 0";
  EXPECT_THAT(value_in_header(Names{"id", text}), HasSubstr("is a long text"));
  EXPECT_EQ(value_in_header(Names{"text", "good"}, Names{"good"}),
            "'good' is a label of the model");
  for (const Names& header : {Names{"0", "1"}, Names{"0"}, Names{"text", "nan"}, Names{}})
    EXPECT_EQ(value_in_header(header, Names{"0"}), "") << testing::PrintToString(header);
  // A missing column tells of it by the same rule.
  const auto missing = [](const Names& columns) {
    return no_column(columns, "label", "", "a.csv").text();
  };
  EXPECT_THAT(missing({"5", "3"}), HasSubstr("looks like a row"));
  EXPECT_THAT(missing({"0", "1"}), Not(HasSubstr("looks like a row")));
  EXPECT_EQ(lost_row_of("a.jsonl", {}, "'1' is a number"), "");
}

TEST_F(Labelled, OwnFilesTakeRunGluesColumnsAndSortedLabels) {
  auto text = read(file("a.csv", "label,first,other,more\nno,a,b,c\nyes,d,e,f\nno,g,h,i\n"));
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text_of(*text, 0), "<a>b>");
  EXPECT_THAT(notes_, ElementsAre("text from first and other, label from label"));
  const LabelMap map = sorted_labels(text->seen).value();
  EXPECT_FALSE(map.regression);
  EXPECT_THAT(map.names, ElementsAre("no", "yes"));
  ASSERT_TRUE(number_labels(*text, map, "training").ok());
  EXPECT_THAT(text->data.labels.classes, ElementsAre(0, 1, 0));

  // sentence1 and sentence2 take precedence over the order of columns; numbers are not text.
  text = read(file("b.jsonl",
                   R"({"idx": 7, "x": "no", "sentence2": "b", "sentence1": "a", "label": 10})"
                   "\n"
                   R"({"idx": 8, "x": "no", "sentence2": "d", "sentence1": "c", "label": 2})"
                   "\n"));
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text_of(*text, 1), "<c>d>");
  // Whole numbers are sorted as numbers, and are names.
  EXPECT_THAT(sorted_labels(text->seen)->names, ElementsAre("2", "10"));

  text = read(file("c.csv", "id,review,stars\n1,good,5\n2,bad,1\n"));
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text_of(*text, 0), "<good>");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("the last column, 'stars', is taken"),
                                  "text from review, label from stars"));
}

TEST_F(Labelled, FractionsAreNotText) {
  LabelColumnOptions wanted;
  wanted.label = false;
  auto text = read(file("d.csv", "review,stars,rate\ngood,4.5,-1e-3\nbad,1,2\n"), wanted);
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text_of(*text, 0), "<good>");
  text = read(file("e.csv", "review,version\ngood,4.5b\nbad,inf\n"), wanted);
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text_of(*text, 0), "<good>4.5b>");
}

TEST_F(Labelled, RowsToPredictHaveTheTextsOfTraining) {
  LabelColumnOptions wanted;
  wanted.label = false;
  wanted.trained_columns = {"review"};
  auto text = read(file("a.csv", "place,review\nhere,good\nthere,bad\n"), wanted);
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text_of(*text, 0), "<good>");
  // Another name will do, another number of texts will not.
  EXPECT_EQ(error_of(file("b.csv", "sentence\ngood\n"), wanted), "none");
  EXPECT_THAT(
      error_of(file("c.csv", "place,sentence\nhere,good\n"), wanted),
      HasSubstr("the model was trained on one text, of review, and the rows have two texts, "
                "of place and sentence"));
  wanted.text_columns = {"sentence"};
  EXPECT_EQ(error_of(file("c.csv", "place,sentence\nhere,good\n"), wanted), "none");
  wanted.text_columns = {};
  wanted.trained_columns = {"question", "sentence"};
  EXPECT_THAT(error_of(file("b.csv", "sentence\ngood\n"), wanted),
              HasSubstr("trained on pairs of question and sentence, and the rows have one text"));
}

TEST_F(Labelled, AMisspeltLabelIsNotReplacedByAnotherColumn) {
  const auto text = read(file("a.csv", "lable,text\ngood,a\nbad,b\n"));
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().text(), HasSubstr("did you mean 'lable'?"));
  EXPECT_TRUE(read(file("b.csv", "labels,text\ngood,a\nbad,b\n")).ok());
}

TEST_F(Labelled, FractionsAreValuesToPredict) {
  auto text = read(file("a.csv", "text,label\na,3.5\nb,4\nc,-\nd,-1\n"));
  ASSERT_TRUE(text.ok()) << text.error().text();
  const LabelMap map = sorted_labels(text->seen).value();
  EXPECT_TRUE(map.regression);
  ASSERT_TRUE(number_labels(*text, map, "training").ok());
  EXPECT_THAT(text->data.labels.values, ElementsAre(3.5f, 4.0f, -1.0f));
  EXPECT_EQ(text->counts.rows_unlabelled, 1);
  EXPECT_EQ(text_of(*text, 2), "<d>");

  text = read(file("b.csv", "text,label\na,3.5\nb,four\n"));
  const LabelMap mixed = sorted_labels(text->seen).value();
  EXPECT_THAT(mixed.names, ElementsAre("3.5", "four"));  // texts
  auto values = label_values(text->seen);
  ASSERT_FALSE(values.ok());
  EXPECT_THAT(values.error().text(), HasSubstr("b.csv:3, column 'label'"));
}

TEST_F(Labelled, GluesOwnFiles) {
  const auto read_task = [&](const std::string& task, const std::string& path) {
    LabelColumnOptions wanted;
    wanted.task = find_glue_task(task);
    auto text = read(path, wanted);
    EXPECT_TRUE(text.ok()) << text.error().text();
    EXPECT_TRUE(number_labels(*text, named_labels(wanted.task->names), "training").ok());
    return std::move(text).value();
  };
  // CoLA has no header and quotes are bytes.
  LabelledText text =
      read_task("cola", file("cola.tsv", "gj04\t1\t\t\"Us\" two.\ngj04\t0\t*\tThem\" two.\n"));
  EXPECT_EQ(text_of(text, 0), "<\"Us\" two.>");
  EXPECT_THAT(text.data.labels.classes, ElementsAre(1, 0));
  // MNLI: gold_label, rows that nobody agreed on, and a torn line.
  text = read_task("MNLI", file("mnli.tsv",
                                "index\tsentence1\tsentence2\tlabel1\tgold_label\n"
                                "0\ta\tb\tneutral\tcontradiction\n1\tc\td\tneutral\t-\n"
                                "2\te\n3\tf\tg\tneutral\tentailment\n"));
  EXPECT_EQ(text_of(text, 1), "<f>g>");
  EXPECT_THAT(text.data.labels.classes, ElementsAre(2, 0));
  EXPECT_EQ(text.counts.rows_unlabelled, 1);
  EXPECT_EQ(text.counts.rows_broken, 1);
  EXPECT_EQ(describe(text.counts, text.data.size(), 128),
            "2 rows -> 15 tokens, at most 128 a row; 1 row without label left out; 1 line without "
            "all columns left out");
  // MRPC has no extension, RTE's names are texts, SST-2 may lack its header, STS-B is a number.
  text = read_task("mrpc", file("train",
                                "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
                                "1\t7\t8\tx\ty\n"));
  EXPECT_EQ(text_of(text, 0), "<x>y>");
  EXPECT_THAT(text.data.labels.classes, ElementsAre(1));
  text = read_task("rte", file("rte.tsv",
                               "index\tsentence1\tsentence2\tlabel\n"
                               "0\tx\ty\tnot_entailment\n"));
  EXPECT_THAT(text.data.labels.classes, ElementsAre(1));
  text = read_task("sst2", file("sst2.tsv", "good film\t1\nbad film\t0\n"));
  EXPECT_THAT(text.data.labels.classes, ElementsAre(1, 0));
  text = read_task("stsb", file("stsb.tsv", "index\tsentence1\tsentence2\tscore\n0\tx\ty\t2.25\n"));
  EXPECT_THAT(text.data.labels.values, ElementsAre(2.25f));
  // The data set of the hub: ids and -1.
  text = read_task("mnli", file("hub.jsonl",
                                "{\"premise\": \"a\", \"hypothesis\": \"b\", \"label\": 2}\n"
                                "{\"premise\": \"c\", \"hypothesis\": \"d\", \"label\": -1}\n"));
  EXPECT_EQ(text_of(text, 0), "<a>b>");
  EXPECT_THAT(text.data.labels.classes, ElementsAre(2));
}

// A column of labels under a name that nobody knows is not read as the second text of rows to predict.
TEST_F(Labelled, RowsToPredictLeaveTheModelsLabelsOut) {
  LabelColumnOptions wanted;
  wanted.label = false;
  const std::string rows = file("rows.csv", "message,kind\na,praise\nb,complaint\n");
  auto text = read(rows, wanted);
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text_of(*text, 0), "<a>praise>");
  notes_.clear();
  wanted.known_labels = {"complaint", "praise"};
  text = read(rows, wanted);
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(text_of(*text, 0), "<a>");
  EXPECT_THAT(notes_, ElementsAre("'kind' holds labels and is not read", "text from message"));
}

TEST_F(Labelled, WhatIsWrongIsNamedByFileLineAndColumn) {
  EXPECT_THAT(error_of(file("a.csv", "text,label\na,yes\n,no\n")),
              ::testing::AllOf(HasSubstr("H2123"), HasSubstr("a.csv:3, column 'text'")));
  EXPECT_THAT(error_of(file("b.csv", "text,label\na,yes\nb,\n")),
              ::testing::AllOf(HasSubstr("H2123"), HasSubstr("b.csv:3, column 'label'")));
  LabelColumnOptions wanted;
  wanted.label_column = "labell";
  EXPECT_THAT(
      error_of(file("c.csv", "text,label\na,yes\n"), wanted),
      ::testing::AllOf(HasSubstr("H2109"), HasSubstr("did you mean 'label'?"), HasSubstr("c.csv")));
  wanted = {};
  wanted.text_columns = {"text", "pair"};
  EXPECT_THAT(error_of(file("c.csv", "text,label\na,yes\n"), wanted), HasSubstr("'pair'"));
  wanted = {};
  wanted.task = find_glue_task("mnli");
  EXPECT_THAT(error_of(file("c.csv", "text,label\na,yes\n"), wanted),
              HasSubstr("no column 'premise', which the task mnli reads"));
  EXPECT_THAT(error_of(file("d.jsonl", "{\"text\": \"a\", \"label\": [[1], [2]]}\n")),
              ::testing::AllOf(HasSubstr("H2110"), HasSubstr("d.jsonl:1, column 'label'")));
  EXPECT_THAT(error_of(file("n.jsonl",
                            "{\"text\": \"a\", \"label\": 1.5}\n"
                            "{\"text\": \"b\", \"label\": NaN}\n")),
              ::testing::AllOf(HasSubstr("H2110  the label is NaN"),
                               HasSubstr("n.jsonl:2, column 'label'")));
  EXPECT_EQ(error_of(file("u.jsonl", "{\"text\": \"a\", \"score\": NaN, \"label\": 1}\n")), "none");
  EXPECT_THAT(error_of(file("e.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": 5}\n")),
              HasSubstr("column 'text' holds integer where text is needed"));

  auto text = read(file("f.csv", "text,label\na,yes\nb,maybe\nc,7\n"));
  auto ids = class_ids(text->seen, named_labels({"no", "yes", "may be"}));
  ASSERT_FALSE(ids.ok());
  EXPECT_THAT(
      ids.error().text(),
      ::testing::AllOf(HasSubstr("H2121"), HasSubstr("'maybe' is not one of the 3 labels"),
                       HasSubstr("f.csv:3, column 'label'"), HasSubstr("did you mean 'may be'?")));
  text = read(file("g.csv", "text,label\na,yes\nb,yes\n"));
  EXPECT_THAT(sorted_labels(text->seen).error().text(), HasSubstr("all rows have the label 'yes'"));
  text = read(file("h.csv", "text,label\na,-\nb,-\n"));
  EXPECT_THAT(number_labels(*text, named_labels({"x", "y"}), "validation").error().text(),
              HasSubstr("no row of the validation data has a label"));
}

TEST_F(Labelled, ACheckpointsIdsGoByName) {
  const auto text = read(file("a.csv", "text,label\na,0\nb,1\nc,2\n"));
  const LabelMap data = named_labels({"entailment", "neutral", "contradiction"});
  const LabelMap map =
      remap_labels(data, {"CONTRADICTION", "ENTAILMENT", "NEUTRAL"}, "ckpt").value();
  EXPECT_THAT(map.names, ElementsAre("CONTRADICTION", "ENTAILMENT", "NEUTRAL"));
  EXPECT_THAT(class_ids(text->seen, map).value(), ElementsAre(1, 2, 0));
  // No names, no change; numbers keep their order.
  EXPECT_EQ(remap_labels(data, {}, "ckpt")->names, data.names);
  const LabelMap numbers = sorted_labels(text->seen).value();
  EXPECT_THAT(class_ids(text->seen, remap_labels(numbers, {"a", "b", "c"}, "ckpt").value()).value(),
              ElementsAre(0, 1, 2));
  const auto wrong = remap_labels(data, {"negative", "positive"}, "ckpt");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().text(),
              ::testing::AllOf(HasSubstr("H2122"), HasSubstr("negative, positive"),
                               HasSubstr("entailment, neutral, contradiction"),
                               HasSubstr("`ignore_mismatched_sizes`")));

  const auto names = [](const char* json) {
    return label_names_of_config(parse_json(json, "c").value(), "config.json");
  };
  EXPECT_TRUE(names("{}")->empty());
  EXPECT_TRUE(names(R"({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}})")->empty());
  EXPECT_THAT(names(R"({"id2label": {"1": "b", "0": "a"}})").value(), ElementsAre("a", "b"));
  EXPECT_FALSE(names(R"({"id2label": {"1": "b", "2": "a"}})").ok());
  EXPECT_FALSE(names(R"({"id2label": {"0": "a", "1": "a"}})").ok());
}

TEST_F(Labelled, RowsKeepTheirTypesAndLabels) {
  auto text = read(file("a.csv", "text,pair,label\naa,b,x\nc,dd,y\ne,f,x\n"));
  ASSERT_TRUE(number_labels(*text, sorted_labels(text->seen).value(), "training").ok());
  const uint64_t before = text->data.hash();
  text->data.labels.classes[0] = 1;
  EXPECT_NE(text->data.hash(), before);
  text->data.keep_first(2);
  EXPECT_EQ(text->data.size(), 2);
  EXPECT_EQ(text->data.labels.types.size(), 12u);
  LabelledRows all;
  all.append(text->data, 0, 2);
  EXPECT_EQ(all.hash(), text->data.hash());
}

// Every corpus of classification as it is distributed, when the files are there.
TEST_F(Labelled, CorporaInTheirOwnFormats) {
  const char* data = std::getenv("HONE_DATA");
  const fs::path root =
      fs::path(data ? data : HONE_SOURCE_DIR "/../shared/data") / "hf-dummy-formats";
  if (!fs::exists(root)) GTEST_SKIP() << "there is no " << root;
  const std::vector<std::pair<std::string, std::string>> files = {
      {"cola", "glue-cola/CoLA/train.tsv"},
      {"cola", "glue-cola/CoLA/dev.tsv"},
      {"mnli", "glue-mnli/MNLI/train.tsv"},
      {"mnli", "glue-mnli/MNLI/dev_matched.tsv"},
      {"mrpc", "glue-mrpc/MRPC/train"},
      {"qnli", "glue-qnli/QNLI/train.tsv"},
      {"qqp", "glue-qqp/QQP/train.tsv"},
      {"rte", "glue-rte/RTE/train.tsv"},
      {"sst2", "glue-sst2/SST-2/train.tsv"},
      {"stsb", "glue-stsb/SST-B/train.tsv"},
      {"wnli", "glue-wnli/WNLI/train.tsv"},
      {"mnli", "multi_nli/multinli_1.0.zip/multinli_1.0/multinli_1.0_train.jsonl"},
      {"mnli", "multi_nli/multinli_1.0.zip/multinli_1.0/multinli_1.0_dev_matched.txt"},
      {"mnli", "snli/snli_1.0/snli_1.0_train.txt"}};
  for (const auto& [task, path] : files) {
    LabelColumnOptions wanted;
    wanted.task = find_glue_task(task);
    auto text = read((root / path).string(), wanted);
    ASSERT_TRUE(text.ok()) << path << "\n" << text.error().text();
    const Status numbered = number_labels(*text, named_labels(wanted.task->names), "training");
    EXPECT_TRUE(numbered.ok()) << path << "\n" << numbered.error().text();
    EXPECT_GT(text->data.size(), 0) << path;
    EXPECT_EQ(text->counts.rows_broken, 0) << path;
  }
}

}  // namespace
}  // namespace hone
