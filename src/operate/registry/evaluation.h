// What hone eval --save_examples left: the rows of an evaluation with their scores.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

inline constexpr const char* kExamplesFile = "eval_examples.jsonl";
inline constexpr const char* kEvaluationRunFile = "eval_run.json";

struct EvaluatedRow {
  std::string id;                     // equal ids: the same row of the same data
  std::string prediction, reference;  // "" where the task has none
  OrderedJson scores, slices;         // objects: numbers by name, texts by column
};

struct Evaluation {
  std::string folder;
  std::vector<EvaluatedRow> rows;
  OrderedJson run;  // eval_run.json: task, data, settings, folder
};

// Rows of the text of an examples file; `name` is in messages. H3142: a line that is not such a row, two rows
// with the same id, no row at all.
Result<std::vector<EvaluatedRow>> parse_examples(std::string_view text, const std::string& name);

// Both files of a folder; without eval_run.json its `run` is null. H3142, those of the store.
Result<Evaluation> read_evaluation(const std::string& folder);

}  // namespace hone
