#include "operate/serve/protocol/chat_request.h"

#include <algorithm>

#include "learn/chat/python_text.h"
#include "learn/tokenizers/token_variables.h"
#include "operate/serve/protocol/errors.h"

namespace hone {
namespace {

constexpr const char* kChatKeys[] = {"messages",
                                     "tools",
                                     "tool_choice",
                                     "documents",
                                     "chat_template",
                                     "chat_template_kwargs",
                                     "add_generation_prompt",
                                     "continue_final_message",
                                     "reasoning_effort"};

Error bad_chat(const std::string& place, const std::string& what) {
  return Error(err::kServeRequest, what).at(place);
}

Result<bool> flag(const OrderedJson& body, const char* key, bool absent) {
  const OrderedJson& v = value_at(body, key);
  if (v.is_null()) return absent;
  if (!v.is_boolean()) return bad_chat(key, fmt::format("{} is not true or false", key));
  return v.get<bool>();
}

Status check_objects(const OrderedJson& list, const char* key) {
  if (list.is_null()) return Ok{};
  if (!list.is_array() ||
      !std::all_of(list.begin(), list.end(), [](const OrderedJson& v) { return v.is_object(); }))
    return bad_chat(key, fmt::format("{} is not a list of objects", key));
  return Ok{};
}

// A template with a loop over parts gets parts; any other gets one text, the parts joined by line
// breaks.
Result<OrderedJson> content_of(const OrderedJson& content, const ChatTemplate& chat,
                               const std::string& place) {
  const bool only_parts = chat.reads_parts() && !chat.mentions("string");
  if (content.is_string()) {
    if (!only_parts) return content;
    return OrderedJson::array({{{"type", "text"}, {"text", content}}});
  }
  if (!content.is_array()) return bad_chat(place, "the content is not a text");
  OrderedJson parts = OrderedJson::array();
  std::string text;
  for (const OrderedJson& part : content) {
    if (!part.is_object() || text_at(part, "type") != "text" || !value_at(part, "text").is_string())
      return bad_chat(place, "a part of the content is not text");
    text += (parts.empty() ? "" : "\n") + text_at(part, "text");
    parts.push_back({{"type", "text"}, {"text", part["text"]}});
  }
  if (chat.reads_parts()) return parts;
  return OrderedJson(text);
}

// Arguments of calls are JSON in a text in OpenAI's API, and values in templates.
Status read_calls(OrderedJson& calls, const std::string& place) {
  HONE_TRY(check_objects(calls, "tool_calls"));
  for (OrderedJson& call : calls) {
    const auto function = call.find("function");
    if (function == call.end() || !function->is_object() ||
        !value_at(*function, "arguments").is_string())
      continue;
    const std::string text = (*function)["arguments"].get<std::string>();
    OrderedJson arguments = OrderedJson::object();
    JsonRules rules;
    rules.max_depth = 32;
    if (!text.empty())
      if (const auto fault = parse_json(text, rules, arguments))
        return bad_chat(place, "the arguments of a tool call are not JSON: " + fault->what);
    (*function)["arguments"] = std::move(arguments);
  }
  return Ok{};
}

Result<OrderedJson> read_messages(const OrderedJson& body, const ChatTemplate& chat) {
  const OrderedJson& list = value_at(body, "messages");
  if (!list.is_array() || list.empty()) return bad_chat("messages", "the body has no messages");
  OrderedJson out = OrderedJson::array();
  for (size_t i = 0; i < list.size(); ++i) {
    OrderedJson m = list[i];
    const std::string place = fmt::format("messages[{}]", i);
    if (!m.is_object() || !value_at(m, "role").is_string())
      return bad_chat(place, "a message has no role");
    if (m["role"] == "developer" && !chat.mentions("developer")) m["role"] = "system";
    if (!value_at(m, "content").is_null())
      m["content"] = HONE_TRY(content_of(m["content"], chat, place));
    else if (m["role"] != "assistant")
      return bad_chat(place, "a message has no content");
    if (!value_at(m, "tool_calls").is_null()) HONE_TRY(read_calls(m["tool_calls"], place));
    out.push_back(std::move(m));
  }
  return chat_messages(out);
}

// Marks the end of the last message, so that the text can be cut there, as Transformers does.
constexpr std::string_view kMark = "CONTINUE_FINAL_MESSAGE_TAG ";

Status mark_last(OrderedJson& messages) {
  OrderedJson& last = messages.back();
  const auto content = last.find("content");
  if (content != last.end() && content->is_string()) {
    *content = content->get<std::string>() + std::string(kMark);
    return Ok{};
  }
  if (content != last.end() && content->is_array() && !content->empty()) {
    OrderedJson& part = content->back();
    part["text"] = text_at(part, "text") + std::string(kMark);
    return Ok{};
  }
  return bad_chat("continue_final_message", "the last message has no content to continue");
}

Result<std::string> cut_at_mark(const std::string& text) {
  const std::string_view bare = kMark.substr(0, kMark.size() - 1);
  const size_t at = text.rfind(bare);
  if (at == std::string::npos)
    return bad_chat("continue_final_message", "the chat template changes the last message");
  const std::string_view before = std::string_view(text).substr(0, at);
  const bool spaced = std::string_view(text).substr(at).starts_with(kMark);
  return std::string(spaced ? before : chat::strip_right(before));
}

}  // namespace

bool is_chat_key(const std::string& key) {
  return std::any_of(std::begin(kChatKeys), std::end(kChatKeys),
                     [&](const char* k) { return key == k; });
}

Result<std::string> chat_text(const OrderedJson& body, const ChatTemplate& chat,
                              const TokenizerParts& tokenizer) {
  if (!value_at(body, "chat_template").is_null())
    return bad_chat("chat_template", "a chat template in a request is not supported")
        .todo("put it into the model's folder as chat_template.jinja");
  const OrderedJson& choice = value_at(body, "tool_choice");
  if (!choice.is_null() && choice != "auto" && choice != "none")
    return bad_chat("tool_choice", "a tool_choice other than auto and none is not supported")
        .todo("leave it out");
  for (const char* key : {"tools", "documents"}) HONE_TRY(check_objects(value_at(body, key), key));
  const OrderedJson& more = value_at(body, "chat_template_kwargs");
  if (!more.is_null() && !more.is_object())
    return bad_chat("chat_template_kwargs", "chat_template_kwargs is not an object");
  const bool continues = HONE_TRY(flag(body, "continue_final_message", false));
  const bool prompts = HONE_TRY(flag(body, "add_generation_prompt", true));
  if (continues && prompts)
    return bad_chat("continue_final_message",
                    "continue_final_message and add_generation_prompt exclude each other")
        .todo("set add_generation_prompt to false");

  OrderedJson messages = HONE_TRY(read_messages(body, chat));
  if (continues) HONE_TRY(mark_last(messages));
  OrderedJson variables = token_variables(tokenizer);
  if (const OrderedJson& effort = value_at(body, "reasoning_effort"); !effort.is_null())
    variables["reasoning_effort"] = effort;
  if (more.is_object())
    for (const auto& [key, value] : more.items()) variables[key] = value;
  variables["messages"] = std::move(messages);
  const OrderedJson& tools = value_at(body, "tools");
  variables["tools"] = tools.is_array() && tools.empty() ? OrderedJson() : tools;
  variables["documents"] = value_at(body, "documents");
  variables["add_generation_prompt"] = prompts;
  const ChatText made = HONE_TRY(chat.render(variables));
  if (continues) return cut_at_mark(made.text);
  return made.text;
}

}  // namespace hone
