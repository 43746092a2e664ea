// The rows of a run that learns targets from sources.
#pragma once

#include "learn/tasks/seq2seq.h"

namespace hone {

struct Seq2SeqData {
  std::optional<PairRows> train, eval;  // eval: rows of validation, then those to predict
  int64_t eval_rows = 0, test_rows = 0;
  std::string first_source;        // as the files have it, without --source_prefix
  std::vector<std::string> notes;  // for the first screen
};

// `targets` is the tokenizer of the targets. Errors: those of label_sources.h and pair_rows.h,
// H2115 when nothing is left to validate or to train on.
Result<Seq2SeqData> read_seq2seq(const Seq2SeqSettings& s, const Pretrained& model,
                                 const Tokenizer& targets, ThreadPool& pool);

}  // namespace hone
