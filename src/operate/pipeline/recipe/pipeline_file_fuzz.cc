// Any bytes as a pipeline's file, JSON and YAML, general steps and the recipe: an Error,
// or a pipeline whose configuration reads back equal, with every step after those that it needs.
#include <set>

#include "base/core/text.h"
#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/read_pipeline.h"
#include "operate/pipeline/recipe/recipe.h"

namespace {

hone::Result<hone::RecipePolicy> any_policy(const std::string&, const std::string&) {
  return hone::RecipePolicy{.metric = "loss", .slices = {"source"}};
}

hone::Result<hone::RecipeTask> any_task(const std::string&) {
  return hone::RecipeTask{.rows = {{"source_prefix", "source_prefix"}},
                          .reading = {{"summary_column", "summary_column"}},
                          .metrics = {"loss"},
                          .policy = any_policy};
}

hone::Result<hone::Pipeline> any_recipe(const hone::ConfigTree& tree) {
  return hone::recipe_pipeline(tree, any_task);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"fuzz.yaml", "fuzz.json"}) {
    const auto p = read_pipeline(text, name, any_recipe);
    if (!p.ok()) continue;
    const auto again = read_pipeline(yaml_text(p->config), "again.yaml", any_recipe);
    HONE_BUG_IF(!again.ok(), "what was read is refused: {}", again.error().text());
    HONE_BUG_IF(again->steps.size() != p->steps.size(), "steps are lost");
    std::set<std::string> before;
    for (const PipelineStep& step : p->steps) {
      for (const std::string& need : step.needs)
        HONE_BUG_IF(!before.contains(need), "{} comes before {}", step.name, need);
      before.insert(step.name);
    }
  }
  return 0;
}
