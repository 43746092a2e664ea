// Finds tool calls in a model's output, and returns them in the form of OpenAI's API:
//   https://platform.openai.com/docs/guides/function-calling
// Models write the calls in one of two forms, which their chat templates teach:
//   Hermes, Qwen          <tool_call>{"name": "f", "arguments": {...}}</tool_call>, perhaps after a text
//   Llama, Mistral        the whole answer is {"name": "f", "parameters": {...}}, several such objects with ';'
//                         between them, or a list of such objects
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON text, usually of an object; "{}" if the call has none
};
struct ToolAnswer {
  std::string content;          // the text outside of the calls
  std::vector<ToolCall> calls;  // in the order of the text; empty: the whole text is content
};

// The names of the functions in a request's list "tools".
std::set<std::string> tool_names(const Json& tools);

// Splits a whole answer into content and calls. `tools` are the names of the functions that may be called. If a call
// names a function that is not in `tools`, or is malformed, the whole text is content.
ToolAnswer tool_answer(const std::string& text, const std::set<std::string>& tools);

// Streams the content of an answer that arrives in pieces. `tools` must outlive the object.
class ToolStream {
 public:
  explicit ToolStream(const std::set<std::string>& tools) : tools_(&tools) {}
  // Adds the next piece. Returns the content that can be shown now; text that may be part of a call is held back.
  std::string push(const std::string& piece);
  // Call it after the last piece. Returns the content that push() has not returned yet, and the calls.
  ToolAnswer finish();

 private:
  const std::set<std::string>* tools_;
  std::string all_;
  size_t given_ = 0;  // bytes of `all_`
};

}  // namespace hone
