// Reads and tokenises the data of a run as training does, and looks at every row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/check/finding.h"
#include "learn/data/rows/text_files.h"
#include "learn/models/family.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// Counts for pairs. In SplitReport, counts of tokens are then of the sources, all others of both
// texts.
struct PairSplit {
  int64_t empty_sources = 0, empty_targets = 0;
  int64_t target_tokens = 0;
  int64_t sources_cut = 0, targets_cut = 0;
};

struct SplitReport {
  int64_t rows = 0, empty = 0;
  int64_t bytes = 0;  // of text
  TextCounts counts;
  int64_t sequences = 0;  // that training sees: blocks, or rows kept apart, after selection
  std::optional<PairSplit> pairs;
};

// A row as the model gets it.
struct SampleRow {
  std::vector<int32_t> ids;
  // As long as ids, -100: none. Empty: the row has one label, or the next token is the label.
  std::vector<int32_t> labels;
  std::string label;                 // of the whole row
  std::vector<int32_t> source = {};  // of pairs: the encoder's ids; the others are the decoder's
  // As long as ids: the label of each token in words, "": none. Empty: `labels` or `label` has them.
  std::vector<std::string> tags = {};
};

struct RowsReport {
  SplitReport train, eval;
  std::vector<SampleRow> samples;    // the first training rows
  std::optional<Tokenizer> targets;  // of pairs: the tokenizer of the samples' ids and labels
  std::vector<std::string> metrics =
      {};  // by which models of such rows can be compared; empty: the task's
};

// `tokenizer` may be null if the data hold ids; `config` gives the vocabulary and the head. Memory:
// a batch of 1,000 rows, and 64-bit hashes of at most a million of them. Faults of the data become
// findings; an Error of a reader ends its split.
RowsReport check_rows(const TextFiles& files, const Tokenizer* tokenizer, const ModelConfig& config,
                      ThreadPool& pool, int64_t samples, Findings& findings);

}  // namespace hone
