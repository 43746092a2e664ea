#include "run/commands/pipeline_arguments.h"

#include "base/core/text.h"

namespace hone {

std::vector<std::string> with_pipeline_flags(const std::vector<std::string>& args) {
  const auto is_file = [](const std::string& a) {
    const std::string name = to_lower(a);
    return !a.starts_with("-") &&
           (name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".yml"));
  };
  const bool run_verb = !args.empty() && (args[0] == "show" || args[0] == "cancel");
  std::vector<std::string> out;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string before = i == 0 ? "" : args[i - 1];
    const bool is_value = before.starts_with("-") && before.find('=') == std::string::npos &&
                          before != "--dry_run" && before != "--dry-run" && before != "--json" &&
                          before != "--fresh";
    if (args[i] == "-o")
      out.push_back("--output");
    else if (args[i] == "--config")
      out.push_back("--pipeline");
    else if (args[i].starts_with("--config="))
      out.push_back("--pipeline=" + args[i].substr(9));
    else if (i > 0 && !is_value && (is_file(args[i]) || (i == 1 && !args[i].starts_with("-"))))
      out.insert(out.end(), {run_verb ? "--run" : "--pipeline", args[i]});
    else
      out.push_back(args[i]);
  }
  return out;
}

}  // namespace hone
