// Any bytes as a template: an Error with text, or a text within the limits. The parts are a
// template and, after a zero byte, the content of the messages.
#include "learn/chat/chat_template.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t zero = bytes.find('\0');
  const std::string content(zero == std::string_view::npos ? "Hello, \"Wörld\"\n"
                                                           : bytes.substr(zero + 1));
  const Result<ChatTemplate> chat = ChatTemplate::parse(bytes.substr(0, zero));
  if (!chat.ok()) {
    HONE_BUG_IF(chat.error().text().empty(), "an error without text");
    return 0;
  }
  const ChatLimits limits{.steps = 20'000, .bytes = 1 << 20, .text = 1 << 18, .depth = 200};
  FakeClock clock;
  const OrderedJson call = {
      {"function", {{"name", "f"}, {"arguments", {{"x", 1.5}, {"y", nullptr}}}}}};
  const OrderedJson variables = {
      {"messages",
       {{{"role", "system"}, {"content", content}},
        {{"role", "user"}, {"content", {{{"type", "text"}, {"text", content}}}}},
        {{"role", "assistant"}, {"content", content}, {"tool_calls", {call}}}}},
      {"tools",
       {{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", {{"items", true}}}}}}}},
      {"bos_token", "<s>"},
      {"add_generation_prompt", true}};
  const Result<ChatText> text = chat->render(variables, limits, clock);
  if (!text.ok()) {
    HONE_BUG_IF(text.error().text().empty(), "an error without text");
    return 0;
  }
  HONE_BUG_IF(static_cast<int64_t>(text->text.size()) > limits.text, "a text of {} bytes",
              text->text.size());
  for (const ChatSpan& s : text->generated)
    HONE_BUG_IF(s.from > s.to || s.to > text->text.size(), "a range outside the text");
  return 0;
}
