// Tests of tables at the widths of terminals.
#include "base/core/table.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/core/text.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TextTable runs_table() {
  TextTable t({{.name = "run", .kind = Column::kName},
               {.name = "rougeL", .kind = Column::kNumber, .best = Column::kLargest},
               {.name = "lr", .kind = Column::kNumber, .priority = 1},
               {.name = "model", .kind = Column::kName, .priority = 1},
               {.name = "status", .kind = Column::kWord, .priority = 2},
               {.name = "empty", .kind = Column::kWord},
               {.name = "data", .kind = Column::kHash, .priority = 3},
               {.name = "reason", .kind = Column::kSentence, .priority = 4}});
  const std::string hash = "sha256:0123456789abcdef0123456789abcdef";
  t.add({"/home/me/work/pipeline_runs/news-20260504/train", "21.5", "5e-05", "google/flan-t5-small",
         "finished", "", hash, ""});
  t.add({"second", "9.75", "0.001", "t5-small", "failed", "", hash,
         "H2404 the model does not fit: it needs 12 GiB of memory and 8 GiB are free"});
  return t;
}

size_t widest(const std::string& text) {
  size_t most = 0;
  for (const std::string& line : split(text, '\n'))
    most = std::max(most, static_cast<size_t>(text_width(line)));
  return most;
}

TEST(Table, FitsFortyColumnsWithWhatMattersMost) {
  EXPECT_EQ(runs_table().text(40),
            "run            rougeL     lr  model\n"
            "/home/…/train   21.5*  5e-05  goo…-small\n"
            "second          9.75   0.001  t5-small\n");
}

TEST(Table, FitsEveryWidth) {
  const TextTable t = runs_table();
  for (int width = 20; width <= 200; ++width)
    EXPECT_LE(widest(t.text(width)), static_cast<size_t>(width)) << t.text(width);
  EXPECT_THAT(t.text(80), Not(HasSubstr("empty"))) << "columns without a value are left out";
  EXPECT_THAT(t.left_out(40),
              ElementsAre("status", "data", "reason", "the middle of run", "the middle of model"));
  EXPECT_THAT(t.left_out(200), IsEmpty());
}

TEST(Table, OnlyNamesLoseLettersAndHashesDigits) {
  for (const int width : {40, 80, 120, 0}) {
    const std::string text = runs_table().text(width);
    for (const std::string& line : split(text, '\n'))
      for (const std::string& word : split(line, ' ')) {
        if (word.find("…") == std::string::npos) continue;
        EXPECT_THAT(word, testing::AnyOf(testing::StartsWith("/h"), testing::StartsWith("goo"),
                                         testing::StartsWith("…/")));
      }
    EXPECT_THAT(text, HasSubstr("21.5*"));
  }
  EXPECT_THAT(runs_table().text(120), HasSubstr(" sha256:0123456789ab "));
  EXPECT_THAT(runs_table().text(0), HasSubstr("0123456789abcdef0123456789abcdef"));
}

TEST(Table, SentencesGoOnBelow) {
  TextTable t(
      {{.name = "step", .kind = Column::kWord}, {.name = "why", .kind = Column::kSentence}});
  t.add({"train", "the disk is full and nothing was written to it"});
  t.add({"eval", "short"});
  EXPECT_EQ(t.text(28),
            "step   why\n"
            "train  the disk is full and\n"
            "       nothing was written\n"
            "       to it\n"
            "eval   short\n");
}

TEST(Table, PathsInSentencesStayWhole) {
  TextTable t({{.name = "what"}, {.name = "value", .kind = Column::kSentence}});
  t.add({"source", "/home/me/pipeline_runs/first/train"});
  EXPECT_EQ(t.text(30), "what    value\nsource  /home/me/pipeline_runs/first/train\n");
}

TEST(Table, WordsOfSentencesStayWhole) {
  TextTable t({{.name = "what", .kind = Column::kSentence},
               {.name = "then", .kind = Column::kSentence},
               {.name = "place", .kind = Column::kName, .priority = 1}});
  t.add({"the initial model of the run", "sha256:0123456789ab", "/home/me/pipeline_runs/model"});
  for (int width = 40; width <= 120; ++width)
    EXPECT_THAT(t.text(width), HasSubstr("sha256:0123456789ab")) << width;
}

TEST(Table, MarksTheBestOfSeveralNumbers) {
  TextTable t(
      {{.name = "a"}, {.name = "loss", .kind = Column::kNumber, .best = Column::kSmallest}});
  t.add({"x", "2.5"});
  EXPECT_EQ(t.text(80), "a  loss\nx   2.5\n") << "one alone is not the best";
  t.add({"w", "2.5"});
  EXPECT_EQ(t.text(80), "a  loss\nx   2.5\nw   2.5\n") << "nor are equal ones";
  t.add({"y", "10"});
  t.add({"z", ""});
  EXPECT_EQ(t.text(80), "a  loss\nx  2.5*\nw  2.5*\ny   10\nz\n");
}

TEST(Table, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(text_width("日本"), 4);
  EXPECT_EQ(text_width("é…"), 2);
  EXPECT_EQ(text_width("\xff\xfe"), 2) << "bytes that are not UTF-8";
  TextTable t({{.name = "name", .kind = Column::kName}, {.name = "n", .kind = Column::kNumber}});
  t.add({"日本", "1"});
  t.add({"ab", "22"});
  EXPECT_EQ(t.text(80), "name   n\n日本   1\nab    22\n");
}

TEST(Table, WholeForPrograms) {
  TextTable t({{.name = "a, b", .kind = Column::kName}, {.name = "n", .kind = Column::kNumber}});
  t.add({"x\"y|z\nw", "1"});
  EXPECT_EQ(t.csv(), "\"a, b\",n\n\"x\"\"y|z\nw\",1\n");
  EXPECT_EQ(t.markdown(), "| a, b | n |\n|---|---:|\n| x\"y\\|z w | 1 |\n");
  EXPECT_EQ(t.text(80), "a, b     n\nx\"y|z w  1\n");
}

TEST(Table, NamesKeepBothEnds) {
  EXPECT_EQ(without_middle("a-long-name-of-a-model", 12), "a-lo…a-model");
  EXPECT_EQ(without_middle("/tmp/stranger/models/minilm", 21), "/tmp/…/models/minilm");
  EXPECT_EQ(without_middle("/tmp/stranger/models/minilm", 11), "…/minilm");
  EXPECT_EQ(without_middle("/a/long/path/to/model", 5), "/a…el") << "the last part is longer";
  EXPECT_EQ(without_middle("short", 12), "short");
  EXPECT_EQ(short_hash("sha256:0123456789abcdef"), "sha256:0123456789ab");
  EXPECT_EQ(short_hash("not a hash at all, but longer"), "not a hash at all, but longer");
  EXPECT_EQ(short_hash("missing"), "missing");
}

}  // namespace
}  // namespace hone
