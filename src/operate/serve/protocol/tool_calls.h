// Calls of tools in what a model wrote, as OpenAI's API gives them:
//   https://platform.openai.com/docs/guides/function-calling
// Models write them in one of two ways, which their chat templates teach:
//   Hermes, Qwen          <tool_call>{"name": "f", "arguments": {...}}</tool_call>, after a text perhaps
//   Llama, Mistral        the whole answer is {"name": "f", "parameters": {...}}, several with ';' between
//                         them, or a list of such
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
  std::string content;          // the text that is not a call
  std::vector<ToolCall> calls;  // none: all of it is content
};

// Names of the functions in a request's "tools".
std::set<std::string> tool_names(const Json& tools);

// A call of a name that is not among `tools` counts as text.
ToolAnswer tool_answer(const std::string& text, const std::set<std::string>& tools);

// Gives the content of a streamed answer as soon as it certainly belongs to no call.
class ToolStream {
 public:
  explicit ToolStream(const std::set<std::string>& tools) : tools_(&tools) {}
  std::string push(const std::string& piece);
  // What is left: the rest of the content, and the calls.
  ToolAnswer finish();

 private:
  const std::set<std::string>* tools_;
  std::string all_;
  size_t given_ = 0;  // bytes of `all_`
};

}  // namespace hone
