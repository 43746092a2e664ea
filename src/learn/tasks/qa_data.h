// Questions with contexts and answers as parts of tokens.
#pragma once

#include <algorithm>
#include <optional>

#include "learn/answers/context_parts.h"
#include "learn/data/rows/token_rows.h"
#include "learn/harness/prepared_source.h"
#include "learn/harness/task.h"
#include "learn/tasks/qa_questions.h"

namespace hone {

struct QaSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/qa_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length, config.max_positions);
  }
};

// A question with a part of its context: a row of tokens.
struct QaPart {
  int64_t example = 0;
  int32_t begin = 0, end = 0;  // tokens of the answer; those of the first token: it is elsewhere
  int32_t context = 0;         // the first token of the context
  ContextSpans spans = {};
};

struct QaSplit {
  std::vector<QaExample> examples;
  std::vector<QaPart> parts;        // by example
  TokenRows rows;                   // one for each part
  std::vector<uint8_t> types = {};  // of all tokens of the rows
};

struct QaData {
  std::optional<QaSplit> train, eval, test;
  int64_t train_rows = 0;          // before any selection
  std::vector<std::string> notes;  // for the summary of the run
};

// Rows have the columns id, question, context and answers {"text": [...], "answer_start": [...]}, or are
// articles with paragraphs as SQuAD's own files. Errors: those of data_flags.h; H2109 other columns;
// H2110 a cell that holds something else; H2113 no question; H2123 an answer that is not where the row
// says; H2413 without a tokenizer; kSequenceTooShort a question without room for its context.
Result<QaData> read_qa(const QaSettings& s, const Pretrained& model, ThreadPool& pool);

// The source of rows for hone prepare. A shard has beside the ids of a row:
//
//   token_type_ids
//   spans    the bytes of the context where each of its tokens begins and ends
//   place    the number of the question, the context's first token, the answer's first and last token
//
// and in its notes the questions: [id, number of the context, answers], and the contexts.
PreparedSource qa_source(const std::shared_ptr<QaSettings>& s);

}  // namespace hone
