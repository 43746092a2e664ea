// Turns the data flags of instruction tuning into rows of tokens, of which some are learnt.
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
  // --max_length, or the smaller of 1024 and the model's positions; never more than the model has.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_length > 0 ? max_length : int64_t{1024}, config.max_positions);
  }
};

struct SftCounts {
  int64_t rows_read = 0;
  int64_t rows_cut = 0;    // longer than allowed
  int64_t rows_long = 0;   // left out, because they are longer than allowed
  int64_t rows_empty = 0;  // left out: nothing in them is learnt
};

struct SftSplit {
  std::vector<std::string>
      columns;        // of texts that became tokens without a template; chats have none
  LabelledRows data;  // tags: a label for each token, -100 if it is not learnt
  SftCounts counts;
};

struct SftData {
  std::optional<SftSplit> train, eval;
  int64_t train_rows = 0;            // before any selection
  std::vector<std::string> notes;    // for the summary of the run
  std::vector<std::string> columns;  // of the split that is trained; see SftSplit
  std::string chat_template;         // that --chat_template_path names; "": the model's own
};

// The number of tokens of a row that are learnt, by its tags: the first one follows nothing.
int64_t learnt_tokens(std::span<const int32_t> tags);

// The rows that the settings want. Errors: those of data_flags.h, instruction_rows.h and
// sft_encode.h; H2413 without a tokenizer; H2113 when nothing is left to learn; H2427 a folder
// without a chat template; H2443 a row that is longer than allowed, with excess_length_strategy raise.
Result<SftData> read_sft(const SftSettings& s, const Pretrained& model, ThreadPool& pool);

// The source of rows for hone prepare: the settings that decide the rows, and the rows.
PreparedSource sft_source(const std::shared_ptr<SftSettings>& s);

}  // namespace hone
