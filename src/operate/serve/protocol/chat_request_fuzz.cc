// Any body as a chat: an Error with text, or a text. The first byte chooses the template.
#include "operate/serve/protocol/chat_request.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr const char* kTemplates[] = {
      "{{ messages | tojson }}{{ tools }}{{ documents }}{% if add_generation_prompt %}>{% endif %}",
      "{% for m in messages %}{{ m.role }}{% for p in m.content %}{{ p.text }}{% endfor %}{% "
      "endfor %}",
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{% for k, v in "
      "c.function.arguments "
      "| items %}{{ k }}{{ v }}{% endfor %}{% endfor %}{% endfor %}"};
  if (size == 0) return 0;
  static const std::vector<ChatTemplate> chats = [&] {
    std::vector<ChatTemplate> all;
    for (const char* source : kTemplates) all.push_back(ChatTemplate::parse(source).value());
    return all;
  }();
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  OrderedJson body;
  JsonRules rules;
  rules.max_depth = 32;
  if (parse_json(text, rules, body) || !body.is_object()) return 0;
  const Result<std::string> made = chat_text(body, chats[data[0] % chats.size()], {});
  HONE_BUG_IF(!made.ok() && made.error().text().empty(), "an error without text");
  return 0;
}
