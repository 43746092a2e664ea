#include "operate/pipeline/read_pipeline.h"

#include "operate/pipeline/errors.h"
#include "operate/pipeline/step_list.h"

namespace hone {

Result<Pipeline> read_pipeline(std::string_view text, const std::string& name,
                               const std::function<Result<Pipeline>(const ConfigTree&)>& recipe) {
  const ConfigTree tree = HONE_TRY(read_config_tree(text, name));
  if (!tree.value.is_object())
    return Error(err::kPipelineFile, "a pipeline's file is an object, or lines 'key: value'")
        .at(name);
  Pipeline pipeline =
      HONE_TRY(tree.value.contains("steps") ? pipeline_of_steps(tree) : recipe(tree));
  HONE_TRY(check_pipeline(pipeline, name));
  pipeline.config = tree.value;
  return pipeline;
}

}  // namespace hone
