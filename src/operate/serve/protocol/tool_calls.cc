#include "operate/serve/protocol/tool_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/core/text.h"

namespace hone {
namespace {

constexpr std::string_view kBegin = "<tool_call>", kEnd = "</tool_call>";
// Marks before calls that fill the whole answer. As special tokens they are missing from the text.
constexpr std::string_view kMarks[] = {"[TOOL_CALLS]", "<|python_tag|>"};
constexpr int kDeepest = 64;

std::optional<OrderedJson> parsed(std::string_view text) {
  OrderedJson value;
  JsonRules rules;
  rules.max_depth = kDeepest;
  if (parse_json(text, rules, value)) return {};
  return value;
}

std::optional<ToolCall> call_of(const OrderedJson& value, const std::set<std::string>& tools) {
  const std::string name = text_at(value, "name");
  if (!tools.contains(name)) return {};
  for (const char* key : {"arguments", "parameters"}) {
    const auto at = value.find(key);
    if (at == value.end()) continue;
    return ToolCall{name, at->is_string() ? at->get<std::string>() : dump_json(*at)};
  }
  return ToolCall{name, "{}"};
}

// The calls, if they are the whole text; otherwise empty.
std::vector<ToolCall> whole_calls(std::string_view text, const std::set<std::string>& tools) {
  text = trim(text);
  for (const std::string_view mark : kMarks)
    if (text.starts_with(mark)) text = trim(text.substr(mark.size()));
  if (!text.starts_with('{') && !text.starts_with('[')) return {};
  OrderedJson list = OrderedJson::array();
  if (auto one = parsed(text)) {
    if (one->is_array())
      list = std::move(*one);
    else
      list.push_back(std::move(*one));
  } else {
    // {...}; {...}: any semicolon may end a call, because texts may contain semicolons.
    size_t from = 0;
    for (size_t at = text.find(';'); from < text.size(); at = text.find(';', at + 1)) {
      const size_t to = std::min(at, text.size());
      if (auto next = parsed(trim(text.substr(from, to - from)))) {
        list.push_back(std::move(*next));
        from = to + 1;
      }
      if (at == std::string_view::npos) break;
    }
    if (from < text.size()) return {};
  }
  std::vector<ToolCall> calls;
  for (const OrderedJson& value : list) {
    auto call = call_of(value, tools);
    if (!call) return {};
    calls.push_back(std::move(*call));
  }
  return calls;
}

}  // namespace

std::set<std::string> tool_names(const Json& tools) {
  std::set<std::string> names;
  if (!tools.is_array()) return names;
  for (const Json& tool : tools) {
    const auto function = tool.is_object() ? tool.find("function") : tool.end();
    const std::string name = tool.is_object() && function != tool.end() ? text_at(*function, "name")
                                                                        : text_at(tool, "name");
    if (!name.empty()) names.insert(name);
  }
  return names;
}

ToolAnswer tool_answer(const std::string& text, const std::set<std::string>& tools) {
  if (std::vector<ToolCall> calls = whole_calls(text, tools); !calls.empty())
    return {"", std::move(calls)};
  ToolAnswer out;
  size_t begin = text.find(kBegin), after = 0;
  if (begin == std::string::npos) return {text, {}};
  std::string content = text.substr(0, begin);
  while (begin != std::string::npos) {
    const size_t from = begin + kBegin.size(), to = std::min(text.find(kEnd, from), text.size());
    const auto value = parsed(trim(std::string_view(text).substr(from, to - from)));
    auto call = value ? call_of(*value, tools) : std::nullopt;
    if (!call) return {text, {}};  // shown as text, so that nothing is lost
    out.calls.push_back(std::move(*call));
    after = std::min(to + kEnd.size(), text.size());
    begin = text.find(kBegin, after);
    content += trim(std::string_view(text).substr(after, begin - after));
  }
  out.content = std::string(trim(content));
  return out;
}

std::string ToolStream::push(const std::string& piece) {
  all_ += piece;
  if (tools_->empty()) return all_.substr(std::exchange(given_, all_.size()));
  const std::string_view text = trim(all_);
  if (text.empty() || text[0] == '{' || text[0] == '[' || text[0] == '<') {
    // The text may be a call, or begin with one.
    const bool tag = !text.empty() && text[0] == '<' && !kBegin.starts_with(text) &&
                     !text.starts_with(kBegin) && !kMarks[1].starts_with(text) &&
                     !text.starts_with(kMarks[1]);
    if (!tag) return "";
  }
  size_t end = all_.find(kBegin, given_);
  if (end == std::string::npos) {
    end = all_.size();
    for (size_t n = std::min(kBegin.size() - 1, end - given_); n > 0; --n)
      if (all_.ends_with(kBegin.substr(0, n))) {
        end -= n;
        break;
      }
  }
  // Whitespace before a call is not content.
  while (end > given_ && (all_[end - 1] == '\n' || all_[end - 1] == ' ')) --end;
  const size_t from = std::exchange(given_, end);
  return all_.substr(from, end - from);
}

ToolAnswer ToolStream::finish() {
  ToolAnswer answer = tool_answer(all_, *tools_);
  if (answer.calls.empty()) {
    answer.content = all_.substr(given_);
    return answer;
  }
  // The streamed text is a prefix of the content, except for whitespace at its ends.
  const std::string given(trim(all_.substr(0, given_)));
  answer.content = answer.content.starts_with(given) ? answer.content.substr(given.size()) : "";
  return answer;
}

}  // namespace hone
