// Rows of instructions: the forms that there are, and what is wrong with them.
#include "learn/data/rows/instruction_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/store/temporary_folder.h"

namespace hone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Instructions : public ::testing::Test {
 protected:
  std::string file(const std::string& text, const std::string& name = "rows.jsonl") {
    std::ofstream(folder_.path + "/" + name) << text;
    return folder_.path + "/" + name;
  }
  Result<std::vector<InstructionRow>> read(const std::string& path) {
    InstructionReader reader = HONE_TRY(InstructionReader::open({path}, {}, "text"));
    note_ = reader.note();
    columns_ = reader.text_columns();
    std::vector<InstructionRow> rows;
    for (InstructionRow row; HONE_TRY(reader.next(row));) rows.push_back(row);
    return rows;
  }
  std::string error_of(const std::string& text) {
    const auto rows = read(file(text));
    return rows.ok() ? "none" : rows.error().text();
  }

  TemporaryFolder folder_;
  std::string note_;
  std::vector<std::string> columns_;
};

TEST_F(Instructions, AreChats) {
  const auto rows =
      read(file(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", )"
                R"("content": null, "tool_calls": []}], "tools": [{"name": "f"}], "more": 1})"))
          .value();
  EXPECT_EQ(note_, "chats from messages");
  EXPECT_TRUE(columns_.empty());
  EXPECT_TRUE(rows[0].prompt.is_null());
  EXPECT_EQ(
      rows[0].answer.dump(),
      R"([{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[]}])");
  EXPECT_EQ(rows[0].tools.dump(), R"([{"name":"f"}])");
}

TEST_F(Instructions, AreShareGpt) {
  const auto rows = read(file(R"({"conversations": [{"from": "system", "value": "s"}, {"from": )"
                              R"("human", "value": "a"}, {"from": "gpt", "value": "b"}, {"from": )"
                              R"("observation", "value": "c"}]})"))
                        .value();
  EXPECT_EQ(rows[0].answer.dump(),
            R"([{"role":"system","content":"s"},{"role":"user","content":"a"},)"
            R"({"role":"assistant","content":"b"},{"role":"tool","content":"c"}])");
}

TEST_F(Instructions, AreAlpaca) {
  const auto rows = read(file(R"([{"instruction": "Add.", "input": "1 2", "output": "3", )"
                              R"("history": [["hi", "ho"]]}, {"instruction": "Sing.", "input": )"
                              R"("", "output": "la"}])",
                              "rows.json"))
                        .value();
  EXPECT_EQ(rows[0].prompt.dump(),
            R"([{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},)"
            R"({"role":"user","content":"Add.\n1 2"}])");
  EXPECT_EQ(rows[0].answer.dump(), R"([{"role":"assistant","content":"3"}])");
  EXPECT_THAT(rows[0].plain_prompt, AllOf(HasSubstr("### Instruction:\nAdd.\n\n### Input:\n1 2"),
                                          ::testing::EndsWith("\n\n### Response:\n")));
  EXPECT_THAT(rows[1].plain_prompt, ::testing::Not(HasSubstr("Input")));
  EXPECT_EQ(rows[1].plain_answer, "la");
}

TEST_F(Instructions, ArePairsAndTexts) {
  const auto texts = read(file("prompt,completion\n1 + 1 =, 2\n", "rows.csv")).value();
  EXPECT_EQ(texts[0].prompt, "1 + 1 =");
  EXPECT_EQ(texts[0].answer, " 2");
  EXPECT_FALSE(texts[0].is_chat());
  EXPECT_EQ(columns_, (std::vector<std::string>{"prompt", "completion"}));
  // csv has texts alone: JSON in them is a list of messages where one is needed.
  const auto chats =
      read(file("messages\n\"[{\"\"role\"\": \"\"user\"\", \"\"content\"\": \"\"a\"\"}]\"\n",
                "chats.csv"))
          .value();
  EXPECT_EQ(chats[0].answer[0]["content"], "a");
  EXPECT_EQ(read(file(R"({"text": "whole"})")).value()[0].answer, "whole");
  EXPECT_EQ(note_, "texts from text");
}

TEST_F(Instructions, RefusesWhatIsNone) {
  EXPECT_THAT(error_of(R"({"a": 1, "b": 2})"), AllOf(HasSubstr("H2109"), HasSubstr("completion")));
  EXPECT_THAT(error_of(""), HasSubstr("H2113"));
  EXPECT_THAT(error_of(R"({"messages": "hello"})"), AllOf(HasSubstr("H2110"), HasSubstr(":1")));
  EXPECT_THAT(error_of(R"({"messages": [1, [2]]})"), HasSubstr("message is not an object"));
  EXPECT_THAT(error_of(R"({"messages": [{"content": "a"}]})"), HasSubstr("has no role"));
  EXPECT_THAT(error_of(R"({"messages": [{"role": "user", "content": {"a": 1}}]})"),
              HasSubstr("not a text"));
  EXPECT_THAT(error_of(R"({"messages": []})"), HasSubstr("H2110"));
  EXPECT_THAT(error_of(R"({"prompt": "a", "completion": ""})"), HasSubstr("H2123"));
  EXPECT_THAT(error_of(R"({"prompt": "a", "completion": [{"role": "assistant", "content": "b"}]})"),
              HasSubstr("H2110"));
  EXPECT_THAT(error_of(R"({"instruction": "a", "output": "b", "history": [["x"]]})"),
              HasSubstr("pairs of texts"));
}

}  // namespace
}  // namespace hone
