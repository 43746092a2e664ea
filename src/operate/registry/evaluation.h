// Reads the files that hone eval --save_examples writes: the rows of an evaluation with their scores.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

inline constexpr const char* kExamplesFile = "eval_examples.jsonl";
inline constexpr const char* kEvaluationRunFile = "eval_run.json";

struct EvaluatedRow {
  std::string id;                     // never ""; equal ids mean the same row of the same data
  std::string prediction, reference;  // "": the task has none
  // Two objects. scores: name -> number. slices: name of a column -> text.
  OrderedJson scores, slices;
};

struct Evaluation {
  std::string folder;
  std::vector<EvaluatedRow> rows;
  OrderedJson run;  // eval_run.json: task, data, settings, folder
};

// Parses the text of eval_examples.jsonl; `name` is the file's name for errors. Error H3142: a malformed line, a row
// without an id, two rows with the same id, or no rows.
Result<std::vector<EvaluatedRow>> parse_examples(std::string_view text, const std::string& name);

// Reads both files from a folder or URL. If there is no eval_run.json, `run` is null. Errors: H3142 eval_examples.jsonl
// is missing, or a file is malformed; those of the store.
Result<Evaluation> read_evaluation(const std::string& folder);

// "sha256:..." over the row ids in a folder's eval_examples.jsonl, independent of the order of the rows: equal for
// evaluations of the same rows. Errors: H3142 there are no rows, or a row has no id; those of the store.
Result<std::string> hash_of_row_ids(const std::string& folder);

}  // namespace hone
