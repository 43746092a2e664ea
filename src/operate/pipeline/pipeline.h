// A pipeline: steps that each run one command, with their inputs and outputs.
//
//   name: news
//   steps:
//     - name: preprocess
//       run: hone prepare --task clm --model_name_or_path gpt2 --train_file ${inputs.rows} --output_dir ${out}
//       inputs: {rows: data/rows.jsonl}
//     - name: train
//       run: [hone, train, --task, clm, --model_name_or_path, gpt2, --train_file, "${steps.preprocess}",
//             --output_dir, "${out}"]
//       retries: 2
//     - name: announce
//       run: echo better
//       when: ${steps.evaluate.eval_loss} < 3
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/core/json.h"
#include "operate/pipeline/references.h"

namespace hone {

// Machines of a step in a cluster, for compiled pipelines.
struct StepMachine {
  std::string machine_type, gpu_type, zone;
  int64_t gpu_count = 0, node_count = 1;
};

struct PipelineStep {
  std::string name;                  // letters, digits and '-'
  std::vector<std::string> command;  // program and arguments, with references
  std::vector<std::pair<std::string, std::string>> inputs = {};  // name, path or URL
  std::vector<std::string> after = {};                           // steps to wait for
  std::string when = {};                                         // a condition; "": always
  int64_t retries = 0;
  double timeout_s = 0;    // 0: none
  bool reuse = true;       // reuse the result of an earlier run, if no dependency has changed
  bool continues = false;  // the command can resume its own unfinished work
  StepMachine machine = {};

  // The steps that it waits for, sorted.
  std::vector<std::string> needs = {};
};

struct PipelineColumn {
  std::string name, place;      // where the pipeline's file names it
  bool only_evaluated = false;  // training rows may lack it
};

// For readers of a recipe whose step names a flag.
inline constexpr const char* kFlagsAreKeys =
    R"(in the pipeline's file, a flag is a key of "preprocess", "train" or "evaluate")";

struct Pipeline {
  std::string name;
  std::string root;                    // "": the caller's
  std::vector<PipelineStep> steps;     // in the order of their dependencies
  std::vector<std::string> says = {};  // lines for the summary of the run
  OrderedJson config = {};             // its source
  // hone plan for the machines in the file, as arguments; empty: the file names none.
  std::vector<std::string> plan = {};
  std::string metric = {};  // decides between models, without "eval_"; "": unknown
  // The data set of a recipe, and the columns that it needs.
  std::string dataset = {}, dataset_subset = {};
  std::vector<PipelineColumn> columns = {};
  std::string dataset_place = {};                       // where a recipe names it: "news.json:2:14"
  std::map<std::string, std::string> flag_places = {};  // a flag -> where a recipe gives it

  const PipelineStep* find(const std::string& step) const;
  bool is_recipe() const { return !dataset.empty(); }
};

// Checks names, references and conditions, and sorts the steps. Fills `needs`. Errors: H3161.
Status check_pipeline(Pipeline& pipeline, const std::string& where);

// Splits a line into words like a shell: blanks separate, quotes keep together; nothing else is
// special. H3161.
Result<std::vector<std::string>> split_words(std::string_view line);

// The command without a launcher around it: `hone train ...` of `hone launch ... -- train ...`.
std::vector<std::string> unlaunched(std::vector<std::string> command);
// "train" of both of these; "": not a command of hone.
std::string hone_command(const std::vector<std::string>& command);

// "90", "90s", "5m", "2h", "1d" as seconds; below 0 for anything else.
double parse_duration(const std::string& text);

// H3162 for a key that is not one of `known`.
Error unknown_key(const std::string& key, const std::vector<std::string>& known,
                  const std::string& place);

}  // namespace hone
