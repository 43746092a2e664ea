// Any bytes as a pipeline's file, JSON and YAML, general steps and the summarization pipeline: an
// Error, or a pipeline whose configuration reads back equal, with every step after its dependences.
#include <set>

#include "base/core/text.h"
#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/read_pipeline.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"fuzz.yaml", "fuzz.json"}) {
    const auto p = read_pipeline(text, name);
    if (!p.ok()) continue;
    const auto again = read_pipeline(yaml_text(p->config), "again.yaml");
    HONE_BUG_IF(!again.ok(), "what was read is refused: {}", again.error().text());
    HONE_BUG_IF(again->steps.size() != p->steps.size(), "steps are lost");
    std::set<std::string> before;
    for (const PipelineStep& step : p->steps) {
      for (const std::string& need : step.needs)
        HONE_BUG_IF(!before.contains(need), "{} comes before {}", step.name, need);
      before.insert(step.name);
      (void)command_text(step.command);
    }
  }
  return 0;
}
