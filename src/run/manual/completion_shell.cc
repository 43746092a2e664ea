#include "run/manual/completion_shell.h"

#include "base/core/text.h"

namespace hone {

std::string value_cases(const CommandSheet& c, const std::string& words) {
  const std::vector<const FlagSheet*> flags = flags_of_verb(c, "");
  std::string text = fmt::format("    {})\n      case $2 in\n", c.name);
  for (const FlagSheet* f : flags)
    if (f->value == FlagValue::kWords)
      text += fmt::format("        --{}) kind=words {} ;;\n", f->name,
                          fmt::format(fmt::runtime(words), join(f->words, " ")));
  for (const auto& [value, kind] :
       {std::pair{FlagValue::kFile, "file"}, std::pair{FlagValue::kOther, "other"}})
    if (const std::string p =
            flag_pattern(flags, [&](const FlagSheet& f) { return f.value == value; });
        !p.empty())
      text += fmt::format("        {}) kind={} ;;\n", p, kind);
  text += "      esac\n";
  if (const std::string p = flag_pattern(flags, [](const FlagSheet& f) { return f.list; });
      !p.empty())
    text += fmt::format("      case $2 in {}) list=yes ;; esac\n", p);
  return text + "      ;;\n";
}

}  // namespace hone
