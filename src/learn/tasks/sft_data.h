// Reads the rows of instruction tuning (supervised fine-tuning) from the data that the flags name. A row is a list of
// tokens. Only some tokens have labels, such as those of the answers.
#pragma once

#include <algorithm>
#include <optional>

#include "learn/data/rows/labelled_rows.h"
#include "learn/harness/task.h"
#include "learn/tasks/sft_encode.h"

namespace hone {

struct SftSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/sft_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }
  // The largest number of tokens of a row: --max_length, by default 1024, but never more than the model's positions.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_length > 0 ? max_length : int64_t{1024}, config.max_positions);
  }
};

struct SftCounts {
  int64_t rows_read = 0;  // rows read from the files
  // The number of rows longer than --max_length that are cut (--excess_length_strategy truncate).
  int64_t rows_cut = 0;
  // The number of rows longer than --max_length that are left out (--excess_length_strategy drop).
  int64_t rows_long = 0;
  int64_t rows_empty = 0;  // rows that are left out because learnt_tokens() is 0
};

struct SftSplit {
  // The text columns of rows that are encoded without a chat template. Empty: the rows are chats.
  std::vector<std::string> columns;
  LabelledRows data;  // labels.tags: a label for each token; -100: none
  SftCounts counts;
};

struct SftData {
  // nullopt: the settings do not need the split.
  std::optional<SftSplit> train, eval;
  int64_t train_rows = 0;            // number of training rows before any selection
  std::vector<std::string> notes;    // notes for the summary of the run, one sentence each
  std::vector<std::string> columns;  // SftSplit::columns of the training split
  // Text of the template that --chat_template_path names; "": the model's own.
  std::string chat_template;
};

// The number of labels of a row that can be learned. `tags`: the label of each token of the row; -100: none. The label
// of the first token does not count, because no token before it can predict it.
int64_t learnt_tokens(std::span<const int32_t> tags);

// Reads the rows that the settings want. Errors: those of data_flags.h, instruction_rows.h and sft_encode.h; H2113 no
// row has a label; H2413 the model has no tokenizer; H2427 the folder of --chat_template_path has no chat template;
// H2443 a row is longer than --max_length, and --excess_length_strategy is "raise".
Result<SftData> read_sft(const SftSettings& s, const Pretrained& model, ThreadPool& pool);

// The functions with which hone prepare makes the rows.
PreparedSource sft_source(const std::shared_ptr<SftSettings>& s);

}  // namespace hone
