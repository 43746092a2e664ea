#include "operate/pipeline/read_pipeline.h"

#include "base/core/errors.h"
#include "base/core/text.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/step_list.h"

namespace hone {
namespace {

constexpr const char* kNameAPipeline =
    "name the file of a pipeline: 'hone init TASK' writes one that runs";

// JSON lines: a file of this name, or two lines that are an object each.
bool holds_rows(std::string_view text, const std::string& name) {
  if (to_lower(name).ends_with(".jsonl")) return true;
  const size_t first = text.find('\n');
  if (!text.starts_with('{') || first == std::string_view::npos) return false;
  const std::string_view rest = text.substr(first + 1);
  for (const std::string_view line : {text.substr(0, first), rest.substr(0, rest.find('\n'))})
    if (const auto row = parse_ordered_json(line, name); !row.ok() || !row->is_object())
      return false;
  return true;
}

}  // namespace

Result<Pipeline> read_pipeline(std::string_view text, const std::string& name,
                               const std::function<Result<Pipeline>(const ConfigTree&)>& recipe) {
  if (trim(text).empty())
    return Error(to_lower(name).ends_with(".json") ? err::kJsonSyntax : err::kPipelineFile,
                 "the file is empty")
        .at(name)
        .todo(kNameAPipeline);
  if (holds_rows(text, name))
    return Error(err::kPipelineFile, "the file holds rows, not a pipeline")
        .at(name)
        .todo(kNameAPipeline);
  const ConfigTree tree = HONE_TRY(read_config_tree(text, name));
  if (!tree.value.is_object())
    return Error(err::kPipelineFile, "a pipeline's file is an object, or lines 'key: value'")
        .at(name)
        .todo(kNameAPipeline);
  Pipeline pipeline =
      HONE_TRY(tree.value.contains("steps") ? pipeline_of_steps(tree) : recipe(tree));
  HONE_TRY(check_pipeline(pipeline, name));
  pipeline.config = tree.value;
  return pipeline;
}

}  // namespace hone
