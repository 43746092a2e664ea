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
  // empty_sources: rows whose source is empty. empty_targets: rows whose target is empty.
  int64_t empty_sources = 0, empty_targets = 0;
  int64_t target_tokens = 0;  // tokens of all targets
  // sources_cut: rows whose source is cut to its limit. targets_cut: rows whose target is cut to its limit.
  int64_t sources_cut = 0, targets_cut = 0;
};

// Counts of a split. If rows are pairs: the token counts in `counts` are those of the sources, `bytes` counts both
// texts, and a row counts as empty or cut if at least one of its texts is.
struct SplitReport {
  int64_t rows = 0, empty = 0;  // rows: number of rows. empty: rows without text
  int64_t bytes = 0;            // bytes of text
  TextCounts counts;
  // Number of sequences after selection (such as --max_train_samples). A sequence is a block of tokens or, if rows are
  // not joined into blocks, a row.
  int64_t sequences = 0;
  std::optional<PairSplit> pairs;  // nullopt: rows are not pairs
};

// A row as the model gets it.
struct SampleRow {
  std::vector<int32_t> ids;  // if the row is a pair, the decoder's ids
  // The label of each token: the id that the model must predict at its position; -100: no label. Empty: the row has one
  // label (`label`), or the label of each token is the next token.
  std::vector<int32_t> labels;
  std::string label;                 // the label of the whole row as text; "": none
  std::vector<int32_t> source = {};  // if the row is a pair, the encoder's ids; else empty
  // The label of each token as text, for tasks whose labels are names or are better shown as text; "": no label at this
  // token. Empty: the labels are in `labels` or `label`.
  std::vector<std::string> tags = {};
};

struct RowsReport {
  SplitReport train, eval;
  std::vector<SampleRow> samples;  // the first training rows
  // The tokenizer of SampleRow::ids and SampleRow::labels, if rows are pairs and targets have a tokenizer of their own.
  // nullopt: the model's tokenizer.
  std::optional<Tokenizer> targets;
  // Names of the metrics by which models can be compared on these rows. Empty: those of Task::metrics.
  std::vector<std::string> metrics = {};
};

// Checks the rows of a task that trains on plain text. `tokenizer`: null if the data have token ids. `config`: its
// vocabulary and head are used. `samples`: number of training rows to return as samples. Faults of the data become
// findings. An Error of a reader becomes a finding too, and ends the check of that split. Needs memory for a batch of
// 1,000 rows, and for 64-bit hashes of at most 2^20 rows.
RowsReport check_rows(const TextFiles& files, const Tokenizer* tokenizer, const ModelConfig& config,
                      ThreadPool& pool, int64_t samples, Findings& findings);

}  // namespace hone
