// Any text of a model, in pieces: the same calls as at once, and nothing of a text without calls is lost.
#include <cstdint>

#include "operate/serve/protocol/tool_calls.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::set<std::string> tools = {"f", "weather"};
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] % 16 + 1;
  const ToolAnswer whole = tool_answer(text, tools);
  ToolStream stream(tools);
  std::string content;
  for (size_t at = 0; at < text.size(); at += piece) content += stream.push(text.substr(at, piece));
  const ToolAnswer rest = stream.finish();
  content += rest.content;
  HONE_BUG_IF(rest.calls.size() != whole.calls.size(), "{} calls in pieces, {} at once",
              rest.calls.size(), whole.calls.size());
  HONE_BUG_IF(whole.calls.empty() && content != text, "a text changed");
  return 0;
}
