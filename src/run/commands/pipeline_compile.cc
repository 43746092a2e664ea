#include "run/commands/pipeline_compile.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/pipeline/config_tree.h"
#include "run/commands/command.h"

namespace hone {

std::vector<std::string> engine_choices() {
  std::vector<std::string> names = pipeline_engine_names();
  names.insert(names.begin(), "");
  return names;
}

std::string engines_help() {
  std::vector<std::string> texts;
  for (const PipelineEngine& e : all_pipeline_engine())
    texts.push_back(fmt::format("{} ({})", e.name, e.about));
  return "engine: " + join(texts, ", ");
}

Result<int> write_compiled(const std::string& engine, const CompiledPipeline& c,
                           const std::string& output) {
  for (const std::string& note : c.notes) log_info("{:<11} {}", engine, note);
  std::string text;
  const bool json = to_lower(output).ends_with(".json");
  if (json && !c.platform.is_null())
    log_warning("{}: machine types are in a second YAML document, which JSON lacks", output);
  if (json)
    text = dump_json(c.document, {.indent = 2}) + "\n";
  else
    text = yaml_text(c.document) +
           (c.platform.is_null() ? std::string() : "---\n" + yaml_text(c.platform));
  if (output.empty()) {
    print_out(text);
  } else {
    HONE_TRY(file_store().write(output, text));
    log_info("{:<11} {}", "written", output);
  }
  return kExitDone;
}

}  // namespace hone
