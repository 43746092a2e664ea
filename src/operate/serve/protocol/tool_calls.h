// Finds calls of tools in a model's output, in the form of OpenAI's API:
//   https://platform.openai.com/docs/guides/function-calling
// Models write them in one of two forms, which their chat templates teach:
//   Hermes, Qwen          <tool_call>{"name": "f", "arguments": {...}}</tool_call>, perhaps after a text
//   Llama, Mistral        the whole answer is {"name": "f", "parameters": {...}}, several with ';' between
//                         them, or a list of such objects
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON
};
struct ToolAnswer {
  std::string content;          // the text outside of calls
  std::vector<ToolCall> calls;  // none: everything is content
};

// Names of the functions in a request's "tools".
std::set<std::string> tool_names(const Json& tools);

// A call with a name that is not in `tools` counts as text.
ToolAnswer tool_answer(const std::string& text, const std::set<std::string>& tools);

// Streams the content of an answer, as soon as a piece cannot be part of a call.
class ToolStream {
 public:
  explicit ToolStream(const std::set<std::string>& tools) : tools_(&tools) {}
  std::string push(const std::string& piece);
  // The rest of the content, and the calls.
  ToolAnswer finish();

 private:
  const std::set<std::string>* tools_;
  std::string all_;
  size_t given_ = 0;  // bytes of `all_`
};

}  // namespace hone
