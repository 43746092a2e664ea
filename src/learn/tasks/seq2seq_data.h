// The rows of a run that learns targets from sources.
#pragma once

#include "learn/tasks/seq2seq_settings.h"

namespace hone {

struct Seq2SeqData {
  std::optional<PairRows> train, eval;  // eval: rows of validation, then those to predict
  int64_t eval_rows = 0, test_rows = 0;
  bool test_has_targets = true;           // false: those of the rows to predict are empty
  std::string first_source;               // as in the files, without --source_prefix
  std::vector<std::string> columns = {};  // source and target, of files with columns
  std::vector<std::string> notes;         // for the summary of the run
};

// Errors: those of data_flags.h and pair_rows.h, H2115 when nothing is left to validate or to
// train on, H2402 when rows to predict have no targets and no texts are generated, H2113 without a
// pair, H2124 for translations that are not pairs.
Result<Seq2SeqData> read_seq2seq(const Seq2Seq& q, const Pretrained& model,
                                 const PairTokenizers& tokenizers, ThreadPool& pool);

// The files that the settings mean.
Result<LabelSources> seq2seq_sources(const Seq2Seq& q);
// The source of rows for hone prepare: the settings that decide the rows, and the rows.
PreparedSource seq2seq_source(const Seq2Seq& q);

// The pairs of "train", "validation" or "test", before the first. Errors: those of pair_rows.h.
Result<PairReader> open_pairs(const Seq2Seq& q, const LabelSources& sources,
                              const std::string& split, const PairColumnOptions& wanted);
// Tokens that targets of a split are cut at.
int64_t target_limit(const Seq2Seq& q, const ModelConfig& config, const std::string& split);
// Texts through a tokenizer, with its special tokens, cut to `max_length`. Both must outlive the
// function.
EncodeSide encode_side_with(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length);

}  // namespace hone
