#include "learn/configs/chat_format.h"

#include <fmt/format.h>

namespace hone {

std::string chat_template_of(const ChatFormat& f) {
  const std::string content = f.trims ? "m['content'] | trim" : "m['content']";
  const auto print = [](const std::string& what) {
    return what.empty() || what == "''" ? std::string() : "{{ " + what + " }}";
  };
  const auto message = [&](const std::string& begin, const std::string& end) {
    return print(begin) + print(content) + print(end);
  };
  std::string text = print(f.start);
  if (!f.usual_system.empty())
    text += fmt::format("{{% if messages[0]['role'] != 'system' %}}{}{}{}{{% endif %}}",
                        print(f.system_begin), print(f.usual_system), print(f.system_end));
  text += "{% for m in messages %}{% if m['role'] == 'system' and loop.first %}";
  if (!f.system_in_user) text += message(f.system_begin, f.system_end);
  text += "{% elif m['role'] == 'user' %}" + print(f.user_begin);
  if (f.system_in_user)
    text += fmt::format(
        "{{% if loop.index0 == 1 and messages[0]['role'] == 'system' %}}{}{{{{ "
        "messages[0]['content'] }}}}{}"
        "{{% endif %}}",
        print(f.system_begin), print(f.system_end));
  text += print(content) + print(f.user_end);
  text += "{% elif m['role'] == 'assistant' %}" + print(f.answer_begin) + "{% generation %}" +
          print(content) + print(f.answer_end) + "{% endgeneration %}" + print(f.after_answer);
  text += fmt::format(
      "{{% else %}}{{{{ raise_exception('the template {} has no place for the role ' + m['role']) "
      "}}}}"
      "{{% endif %}}{{% endfor %}}",
      f.name);
  if (!print(f.answer_begin).empty())
    text += "{% if add_generation_prompt %}" + print(f.answer_begin) + "{% endif %}";
  return text;
}

}  // namespace hone
