// Reads and tokenizes the data of a run as training does, and checks every row, for `hone check`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/check/finding.h"
#include "learn/data/rows/text_files.h"
#include "learn/models/family.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// Additional counts of a split whose rows are pairs of a source and a target text.
struct PairSplit {
  int64_t empty_sources = 0, empty_targets = 0;  // rows whose source, or target, is empty
  int64_t target_tokens = 0;
  int64_t sources_cut = 0, targets_cut = 0;  // rows whose source, or target, is cut to its limit
};

// Counts of a split. If rows are pairs, token counts are those of the sources; the other counts are of both texts.
struct SplitReport {
  int64_t rows = 0, empty = 0;  // rows; rows without text
  int64_t bytes = 0;            // bytes of text
  TextCounts counts;
  // Sequences that training sees after selection: blocks, or rows that are kept apart.
  int64_t sequences = 0;
  std::optional<PairSplit> pairs;
};

// A row as the model gets it.
struct SampleRow {
  std::vector<int32_t> ids;  // if the row is a pair, the decoder's ids
  // The id to predict at each token; -100: no label at this token. Empty: the row has one label (`label`), or the next
  // token is the label.
  std::vector<int32_t> labels;
  std::string label;                 // the label of the whole row as text; "": none
  std::vector<int32_t> source = {};  // if the row is a pair, the encoder's ids; else empty
  // The label of each token as text; "": no label at this token. Empty: the labels are in `labels` or `label`.
  std::vector<std::string> tags = {};
};

struct RowsReport {
  SplitReport train, eval;
  std::vector<SampleRow> samples;  // the first training rows
  // The tokenizer of the samples' ids and labels, if rows are pairs and the targets have a tokenizer of their own.
  std::optional<Tokenizer> targets;
  // The metrics by which models can be compared on these rows; empty: Task::metrics.
  std::vector<std::string> metrics = {};
};

// Checks the rows of a task that trains on plain text. `tokenizer`: null if the data have token ids. `config`: gives
// the vocabulary and the head. `samples`: number of training rows to return as samples. Faults of the data become
// findings, and so does an Error of a reader, which ends its split. Memory: a batch of 1,000 rows, and 64-bit hashes
// of at most 2^20 rows.
RowsReport check_rows(const TextFiles& files, const Tokenizer* tokenizer, const ModelConfig& config,
                      ThreadPool& pool, int64_t samples, Findings& findings);

}  // namespace hone
