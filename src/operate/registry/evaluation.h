// The files of hone eval --save_examples: the rows of an evaluation with their scores.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

inline constexpr const char* kExamplesFile = "eval_examples.jsonl";
inline constexpr const char* kEvaluationRunFile = "eval_run.json";

struct EvaluatedRow {
  std::string id;                     // equal ids: the same row of the same data
  std::string prediction, reference;  // "": the task has none
  OrderedJson scores, slices;         // objects: numbers by name, texts by column
};

struct Evaluation {
  std::string folder;
  std::vector<EvaluatedRow> rows;
  OrderedJson run;  // eval_run.json: task, data, settings, folder
};

// Parses the rows of an examples file; `name` is for messages. H3142: a malformed line, two rows
// with the same id, no row at all.
Result<std::vector<EvaluatedRow>> parse_examples(std::string_view text, const std::string& name);

// Reads both files of a folder; without eval_run.json its `run` is null. H3142, those of the store.
Result<Evaluation> read_evaluation(const std::string& folder);

// Hashes the ids of its rows, in whatever order they are: equal for evaluations of the same rows. Reads only ids.
// H3142: no row, or one without an id; errors of the store.
Result<std::string> hash_of_row_ids(const std::string& folder);

}  // namespace hone
