// Rows of preferences: prompts that are the beginning of both answers, labels of pairs in TRL's order,
// and what is wrong with a cell.
#include "learn/data/rows/preference_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/store/temporary_folder.h"

namespace hone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct RowsOfFile {
  std::vector<PreferenceRow> rows;
  std::string note, error;
};

RowsOfFile rows_of_file(const std::vector<std::string>& lines,
                        const PreferenceReader::Wanted& wanted = {}) {
  const TemporaryFolder folder;
  std::ofstream file(folder.path + "/rows.jsonl");
  for (const std::string& line : lines) file << line << "\n";
  file.close();
  RowsOfFile out;
  auto opened = PreferenceReader::open({folder.path + "/rows.jsonl"}, wanted);
  if (!opened.ok()) {
    out.error = opened.error().text();
    return out;
  }
  PreferenceReader reader = std::move(*opened);
  out.note = reader.note();
  for (PreferenceRow row;;) {
    const auto more = reader.next(row);
    if (!more.ok()) out.error = more.error().text();
    if (!more.ok() || !*more) return out;
    row.file = {};
    out.rows.push_back(row);
  }
}

PreferenceRow extracted(const std::string& chosen, const std::string& rejected) {
  PreferenceRow row;
  row.chosen = chosen, row.rejected = rejected;
  extract_prompt(row);
  return row;
}

TEST(PreferenceRows, ThePromptIsTheCommonBeginning) {
  const PreferenceRow row = extracted("The sky is blue.", "The sky is green.");
  EXPECT_EQ(row.prompt, "The sky is");
  EXPECT_EQ(row.chosen, " blue.");
  EXPECT_EQ(row.rejected, " green.");
  // Whole characters, of which é and è share their first byte.
  EXPECT_EQ(extracted("caf\u00e9", "caf\u00e8").prompt, "caf");
  // If one answer is the beginning of the other, its last character is its own.
  EXPECT_EQ(extracted("one two", "one").prompt, "on");
  EXPECT_EQ(extracted("x", "y").prompt, "");

  const RowsOfFile chats = rows_of_file(
      {R"({"chosen": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],)"
       R"( "rejected": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "c"}]})"});
  ASSERT_EQ(chats.rows.size(), 1u) << chats.error;
  EXPECT_EQ(chats.rows[0].prompt.size(), 1u);
  EXPECT_EQ(chats.rows[0].chosen[0]["content"], "b");
}

TEST(PreferenceRows, PairsBecomeLabels) {
  PreferenceReader::Wanted wanted;
  wanted.labels = true;
  const RowsOfFile labels = rows_of_file({R"({"prompt": "p", "chosen": "a", "rejected": "b"})",
                                          R"({"prompt": "q", "chosen": "c", "rejected": "d"})"},
                                         wanted);
  std::vector<std::string> answers;
  for (const PreferenceRow& row : labels.rows)
    answers.push_back(row.chosen.get<std::string>() + (row.wanted ? "+" : "-"));
  EXPECT_EQ(answers, (std::vector<std::string>{"a+", "c+", "b-", "d-"}));
  const RowsOfFile own = rows_of_file({R"({"prompt": "p", "completion": "a", "label": false})",
                                       R"({"prompt": "p", "completion": "b", "label": 1})"},
                                      wanted);
  ASSERT_EQ(own.rows.size(), 2u) << own.error;
  EXPECT_FALSE(own.rows[0].wanted);
  EXPECT_TRUE(own.rows[1].wanted);
  EXPECT_EQ(own.note, "prompt, completion, label");
  EXPECT_THAT(rows_of_file({R"({"prompt": "p", "completion": "a", "label": 3})"}, wanted).error,
              AllOf(HasSubstr("H2110"), HasSubstr("not true or false")));
  EXPECT_THAT(rows_of_file({R"({"prompt": "p", "text": "a"})"}, wanted).error, HasSubstr("H2109"));
}

TEST(PreferenceRows, NamesWhatIsWrong) {
  EXPECT_THAT(rows_of_file({R"({"prompt": "p", "chosen": "a"})"}).error,
              AllOf(HasSubstr("H2109"), HasSubstr("'rejected'")));
  EXPECT_THAT(rows_of_file({R"({"prompt": "p", "chosen": "a", "rejected": null})"}).error,
              AllOf(HasSubstr("H2110"), HasSubstr("no answer")));
  EXPECT_THAT(
      rows_of_file({R"({"prompt": "p", "chosen": "a", "rejected": [{"role": "user"}]})"}).error,
      AllOf(HasSubstr("H2110"), HasSubstr("chosen and rejected")));
  EXPECT_THAT(
      rows_of_file({R"({"prompt": [{"role": "user"}], "chosen": "a", "rejected": "b"})"}).error,
      AllOf(HasSubstr("H2110"), HasSubstr("prompt and answer")));
  EXPECT_THAT(
      rows_of_file({R"({"prompt": "p", "chosen": "a", "rejected": "b", "margin": "wide"})"}).error,
      AllOf(HasSubstr("H2110"), HasSubstr("margin")));
  EXPECT_THAT(rows_of_file({}).error, HasSubstr("H2113"));
}

}  // namespace
}  // namespace hone
