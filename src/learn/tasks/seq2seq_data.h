// Reads the rows of tasks that generate a target text from a source text.
#pragma once

#include "learn/tasks/seq2seq_settings.h"

namespace hone {

struct Seq2SeqData {
  // eval: `eval_rows` rows to evaluate, then `test_rows` rows to predict. nullopt: the settings do not need these rows.
  std::optional<PairRows> train, eval;
  int64_t eval_rows = 0, test_rows = 0;
  bool test_has_targets = true;  // false: the targets of the rows to predict are empty
  std::string first_source;      // the first source text of the files, without --source_prefix
  // Names of the source and the target column. Empty: unknown, or the source and the target are found by language.
  std::vector<std::string> columns = {};
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

// Reads the rows that the settings want. Errors: those of data_flags.h and pair_rows.h; H2113 a split has no row; H2115
// no rows are left for validation or for training; H2124 a translation has a file in only one of its two languages;
// H2402 the rows to predict have no targets, and --predict_with_generate is not set.
Result<Seq2SeqData> read_seq2seq(const Seq2Seq& q, const Pretrained& model,
                                 const PairTokenizers& tokenizers, ThreadPool& pool);

// The files that the settings name. Errors: those of data_flags.h.
Result<LabelSources> seq2seq_sources(const Seq2Seq& q);
// The functions with which hone prepare makes the rows.
PreparedSource seq2seq_source(const Seq2Seq& q);

// Opens the files of a split: "train", "validation" or "test". The first pair that the reader returns is the first pair
// of the split. Errors: those of pair_rows.h; H2124 a translation has a file in only one of its two languages.
Result<PairReader> open_pairs(const Seq2Seq& q, const LabelSources& sources,
                              const std::string& split, const PairColumnOptions& wanted);
// The largest number of tokens of a target in a split, never more than the model's positions.
int64_t target_limit(const Seq2Seq& q, const ModelConfig& config, const std::string& split);
// Returns a function that encodes texts with the tokenizer and its special tokens, cut to `max_length` tokens.
// Tokenizer and pool must outlive the function.
EncodeSide encode_side_with(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length);

}  // namespace hone
