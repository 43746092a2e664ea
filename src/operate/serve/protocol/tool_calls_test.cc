// Calls in what models write, whole and in pieces of any size.
#include "operate/serve/protocol/tool_calls.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

const std::set<std::string> kTools = {"weather", "time"};

std::string shown(const ToolAnswer& a) {
  std::string text = a.content;
  for (const ToolCall& c : a.calls) text += "|" + c.name + c.arguments;
  return text;
}

// Returns what a client receives: the content of all pieces, then the calls.
std::string streamed(const std::string& text, size_t piece) {
  ToolStream stream(kTools);
  ToolAnswer all;
  for (size_t at = 0; at < text.size(); at += piece)
    all.content += stream.push(text.substr(at, piece));
  ToolAnswer rest = stream.finish();
  all.content += rest.content;
  all.calls = rest.calls;
  return shown(all);
}

struct Case {
  std::string text, wanted;
};

TEST(ToolCalls, AreFoundInEachForm) {
  const std::string call = R"({"name": "weather", "arguments": {"city": "Bern; now"}})";
  const std::string wanted = R"(|weather{"city": "Bern; now"})";
  for (const Case& c : {
           Case{"<tool_call>\n" + call + "\n</tool_call>", wanted},
           Case{"I will look.\n\n<tool_call>" + call +
                    "</tool_call>\n<tool_call>\n{\"name\": \"time\"}",
                "I will look." + wanted + "|time{}"},
           Case{R"({"name": "weather", "parameters": {"city": "Bern; now"}})", wanted},
           Case{call + "; " + call, wanted + wanted},
           Case{"[" + call + ", " + call + "]", wanted + wanted},
           Case{"[TOOL_CALLS][" + call + "]", wanted},
           Case{"<|python_tag|>" + call, wanted},
           Case{R"({"name": "time", "arguments": "{\"zone\": 1}"})", R"(|time{"zone": 1})"},
       }) {
    EXPECT_EQ(shown(tool_answer(c.text, kTools)), c.wanted) << c.text;
    for (const size_t piece : {1, 2, 3, 7, 100})
      EXPECT_EQ(streamed(c.text, piece), c.wanted) << c.text << piece;
  }
}

TEST(ToolCalls, EverythingElseIsText) {
  for (const std::string text :
       {"The answer is {\"name\": \"weather\"}.", R"({"name": "other", "arguments": {}})",
        "{\"a\": 1}", "[1, 2, 3]", "<tool_call>{broken</tool_call> more", "<tool_call>",
        "a < b and <tool_ca", "", "  ", "<b>bold</b>", "{", "[", "x\n",
        "<tool_call>{\"name\": \"other\"}</tool_call>"}) {
    EXPECT_EQ(shown(tool_answer(text, kTools)), text);
    for (const size_t piece : {1, 2, 5, 100}) EXPECT_EQ(streamed(text, piece), text) << piece;
  }
}

TEST(ToolCalls, TextIsGivenAsItComes) {
  ToolStream stream(kTools);
  EXPECT_EQ(stream.push("Let me"), "Let me");
  EXPECT_EQ(stream.push(" see <to"), " see");
  EXPECT_EQ(stream.push("day"), " <today");
  const std::set<std::string> nothing;
  ToolStream none(nothing);
  EXPECT_EQ(none.push("{\"a\""), "{\"a\"");
}

TEST(ToolCalls, NamesComeFromTheRequest) {
  EXPECT_EQ(tool_names(Json::parse(
                R"([{"type": "function", "function": {"name": "f"}}, {"name": "g"}, 3, {}])")),
            (std::set<std::string>{"f", "g"}));
  EXPECT_TRUE(tool_names(Json()).empty());
}

}  // namespace
}  // namespace hone
