// The rows of text of a run in memory: files are read, prepared shards are mapped.
#pragma once

#include "learn/data/rows/text_files.h"

namespace hone {

struct TextSplits {
  TextData train, eval;            // empty when not wanted
  std::vector<std::string> notes;  // for the summary of the run, a sentence each
};

// Reads every part into memory; the rows of prepared shards are mapped.
// Errors: those of find_parts, text_reader.h and shards.h.
Result<TextSplits> load_text(const TextFiles& files, const Tokenize& tokenize);

}  // namespace hone
