// Requests and the texts of models, without a model.
#include <gtest/gtest.h>

#include "operate/serve/protocol/chat_request.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/protocol/json_body.h"
#include "operate/serve/protocol/stop_cutter.h"
#include "operate/serve/protocol/tensor_request.h"

namespace hone {
namespace {

StopCutter cutter(std::vector<std::string> stops) {
  return StopCutter(std::make_shared<const std::vector<std::string>>(std::move(stops)));
}

TEST(StopCutter, LeavesOutTheStopTextInAnyPieces) {
  const std::string text = "one STOP two";
  for (size_t a = 0; a <= text.size(); ++a) {
    StopCutter c = cutter({"STOP", "zzz"});
    std::string seen = c.push(text.substr(0, a));
    seen += c.push(text.substr(a));
    seen += c.finish();
    EXPECT_EQ(seen, "one ") << a;
    EXPECT_TRUE(c.stopped());
  }
  StopCutter c = cutter({"STOP"});
  EXPECT_EQ(c.push("one ST"), "one ");
  EXPECT_EQ(c.finish(), "ST");
}

OrderedJson ordered(const std::string& text) { return parse_ordered_json(text, "test").value(); }

// The variables that vLLM and Transformers make of these requests.
TEST(ChatRequest, BecomesTheVariablesOfATemplate) {
  TokenizerParts tokens;
  tokens.bos = "<s>";
  const auto chat = [](const char* source) { return ChatTemplate::parse(source).value(); };
  const auto text = [&](const char* source, const char* body) {
    const Result<std::string> made = chat_text(ordered(body), chat(source), tokens);
    return made.ok() ? *made : made.error().text();
  };
  constexpr const char* kPlain =
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if "
      "add_generation_prompt %}<assistant>{% endif %}";
  EXPECT_EQ(
      text(
          kPlain,
          R"({"messages": [{"role": "developer", "content": "S"}, {"role": "user", "content": "U"}]})"),
      "<s><system>S<user>U<assistant>");
  EXPECT_EQ(text(kPlain, R"({"add_generation_prompt": false, "messages": [
                   {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]})"),
            "<s><user>a\nb");
  EXPECT_EQ(
      text(
          "{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}",
          R"({"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "y"}]}]})"),
      "[x][y]");
  EXPECT_EQ(
      text("{{ tools | tojson }}{{ messages[1].tool_calls[0].function.arguments.z }}{{ "
           "messages[1].content is defined }}",
           R"({"tools": [{"type": "function", "b": 1, "a": 2}], "tool_choice": "auto", "messages": [
                     {"role": "user", "content": "x"}, {"role": "assistant", "content": null, "tool_calls": [
                       {"type": "function", "function": {"name": "f", "arguments": "{\"z\": 5}"}}]}]})"),
      R"([{"type": "function", "b": 1, "a": 2}]5False)");
  EXPECT_EQ(
      text(
          "{{ documents[0].title }}{{ enable_thinking }}{{ reasoning_effort }}",
          R"({"documents": [{"title": "T"}], "chat_template_kwargs": {"enable_thinking": false}, "reasoning_effort": "low",
                     "messages": [{"role": "user", "content": "x"}]})"),
      "TFalselow");
  EXPECT_EQ(
      text(kPlain, R"({"add_generation_prompt": false, "continue_final_message": true, "messages": [
                   {"role": "user", "content": "U"}, {"role": "assistant", "content": "One "}]})"),
      "<s><user>U<assistant>One ");
}

TEST(ChatRequest, RefusesWhatIsNotAChat) {
  const ChatTemplate chat = ChatTemplate::parse(
                                "{% for m in messages %}{% if m.role == 'robot' %}{{ "
                                "raise_exception('no robots') }}{% endif %}{% endfor %}")
                                .value();
  const std::string end = R"("messages": [{"role": "user", "content": "x"}]})";
  for (
      const std::string& body :
      {std::string("{}"), std::string(R"({"messages": [{"content": "x"}]})"),
       std::string(R"({"messages": [{"role": "user"}]})"),
       std::string(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"),
       std::string(
           R"({"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": "{"}}]}]})"),
       R"({"tools": 5, )" + end, R"({"tool_choice": "required", )" + end,
       R"({"chat_template": "x", )" + end, R"({"chat_template_kwargs": [], )" + end,
       R"({"continue_final_message": true, )" + end}) {
    const Result<std::string> text = chat_text(ordered(body), chat, {});
    ASSERT_FALSE(text.ok()) << body;
    EXPECT_EQ(std::string(text.error().code()), err::kServeRequest.id) << body;
  }
  const Result<std::string> text =
      chat_text(ordered(R"({"messages": [{"role": "robot", "content": "x"}]})"), chat, {});
  EXPECT_EQ(text.error().what(), "the chat template refuses the messages: no robots");
}

TEST(Tensors, BytesAreTextsWithLengths) {
  InferTensor t{"x", "BYTES", {2}, {"ab", ""}};
  EXPECT_EQ(bytes_of(t), std::string("\2\0\0\0ab\0\0\0\0", 10));
  EXPECT_EQ(*texts_of_bytes(bytes_of(t)), t.texts);
  for (const std::string& bad : {std::string("\2\0\0"), std::string("\3\0\0\0ab", 6)})
    EXPECT_EQ(std::string(texts_of_bytes(bad).error().code()), err::kServeRequest.id);
  t.shape = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(size_of(t), -1);
}

TEST(Tensors, AreReadFromJsonAndFromBytesAlike) {
  const std::string input = R"("name": "t", "shape": [2], "datatype": "BYTES")";
  const std::string packed("\2\0\0\0ab\0\0\0\0", 10);
  const std::string json =
      R"({"inputs": [{)" + input + R"(, "parameters": {"binary_data_size": 10}}]})";
  const TensorBody binary = read_tensor_body(json + packed, std::to_string(json.size())).value();
  const TensorBody plain =
      read_tensor_body(
          R"({"inputs": [{)" + input + R"(, "data": [["ab"], [""]]}], "parameters": {"top_k": 2}})",
          "")
          .value();
  InferTensor carried{"t", "BYTES", {2}};
  carried.bytes = packed;
  ASSERT_TRUE(read_tensor(carried).ok());
  for (const InferTensor& t : {binary.request.inputs[0], plain.request.inputs[0], carried})
    EXPECT_EQ(t.texts, (std::vector<std::string>{"ab", ""}));
  EXPECT_EQ(plain.request.settings, (Json{{"top_k", 2}}));
  const auto code = [](const auto& result) { return std::string(result.error().code()); };
  EXPECT_EQ(code(read_tensor_body(json, "9999")), err::kServeRequest.id);
  EXPECT_EQ(code(read_tensor_body("{}", "")), err::kServeRequest.id);
  InferTensor nameless{"", "BYTES", {1}}, large{"t", "BYTES", {kMostTexts + 1}};
  EXPECT_EQ(code(read_tensor(nameless)), err::kServeRequest.id);
  EXPECT_EQ(code(read_tensor(large)), err::kServeRequest.id);
}

}  // namespace
}  // namespace hone
