// Loads the rows of text of a run: data files are read and tokenized, folders of prepared shards (shards.h) are mapped.
#pragma once

#include "learn/data/rows/text_files.h"

namespace hone {

struct TextSplits {
  TextData train, eval;            // empty if the split is not wanted
  std::vector<std::string> notes;  // sentences for the summary of the run
};

// Loads the wanted splits, and keeps the first rows that max_train_samples, max_eval_samples and fraction_of_train_data
// allow. Errors: those of find_parts, read_part, checked_shards, open_shards and selected_rows.
Result<TextSplits> load_text(const TextFiles& files, const Tokenize& tokenize);

}  // namespace hone
