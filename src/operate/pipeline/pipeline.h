// A pipeline: steps that each run one command, with their inputs and outputs. An example file, in YAML (references.h
// explains ${...}):
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

// The machines of a step in a cluster, for compiled pipelines (compile/compile.h).
struct StepMachine {
  std::string machine_type, gpu_type, zone;
  int64_t gpu_count = 0, node_count = 1;
};

struct PipelineStep {
  std::string name;                  // letters, digits and '-'
  std::vector<std::string> command;  // program and arguments, with references
  std::vector<std::pair<std::string, std::string>> inputs = {};  // names, and paths or URLs
  std::vector<std::string> after = {};  // further steps to wait for, besides those of references
  std::string when = {};                // run the step only if this condition holds; "": always
  int64_t retries = 0;                  // how often a failed command is repeated at most
  double timeout_s = 0;                 // time limit of the command in seconds; 0: none
  bool reuse = true;       // reuse the result of an earlier run if no dependency has changed
  bool continues = false;  // the command can resume its own unfinished work
  StepMachine machine = {};

  // All steps that it waits for, sorted; filled by check_pipeline().
  std::vector<std::string> needs = {};
};

// A column of the data that a pipeline's file names.
struct PipelineColumn {
  std::string name, place;      // place: the place of its name in the file, "news.json:2:14"
  bool only_evaluated = false;  // rows for training may lack it
};

// The remedy for errors that name a flag of a recipe's step.
inline constexpr const char* kFlagsAreKeys =
    R"(in the pipeline's file, a flag is a key of "preprocess", "train" or "evaluate")";

struct Pipeline {
  std::string name;
  std::string root;                    // path or URL for the runs' files; "": the caller chooses it
  std::vector<PipelineStep> steps;     // each after the steps that it needs
  std::vector<std::string> says = {};  // lines for the summary of the run
  OrderedJson config = {};             // the content of its file
  // A command `hone plan` for the machines in the file; empty: the file names no machines.
  std::vector<std::string> plan = {};
  std::string metric = {};  // the metric that decides between models, without "eval_"; "": unknown
  // The members below are set only if the file is a recipe (recipe/recipe.h).
  std::string dataset = {}, dataset_subset = {};
  std::vector<PipelineColumn> columns = {};  // columns that the data must have
  // The place at which the file names the data set: "news.json:2:14".
  std::string dataset_place = {};
  std::map<std::string, std::string> flag_places = {};  // name of a flag -> where the file gives it

  const PipelineStep* find(const std::string& step) const;  // null: there is no such step
  bool is_recipe() const { return !dataset.empty(); }
};

// Checks names, references and conditions, sorts the steps by their dependencies, and fills `needs`. `where` is the
// file's name for errors. Error H3161: the pipeline is wrong.
Status check_pipeline(Pipeline& pipeline, const std::string& where);

// Splits a line into words like a shell: blanks separate words, quotes keep blanks, and nothing else is special. Error
// H3161: a quote is not closed.
Result<std::vector<std::string>> split_words(std::string_view line);

// The command without `hone launch`: `hone launch ... -- train ...` becomes `hone train ...`. Other commands stay.
std::vector<std::string> unlaunched(std::vector<std::string> command);
// The subcommand of hone that a command runs: "train" for `hone train ...` and for `hone launch ... -- train ...`. "":
// the command does not run hone.
std::string hone_command(const std::vector<std::string>& command);

// The seconds of "90", "90s", "5m", "2h" or "1d"; a negative number for any other text.
double parse_duration(const std::string& text);

// Error H3162: `key` is not one of `known`. `place` is where the file has the key.
Error unknown_key(const std::string& key, const std::vector<std::string>& known,
                  const std::string& place);

}  // namespace hone
