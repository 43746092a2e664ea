// Reads the rows of extractive question answering: questions with a context in which the answer is found. A long
// context is divided into overlapping parts, each a row of tokens.
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
  // The largest number of tokens of a row.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length, config.max_positions);
  }
};

// A question with a part of its context: a row of tokens.
struct QaPart {
  int64_t example = 0;  // index of the question in QaSplit::examples
  // Indices of the first and the last token of the answer. Both are 0 if the answer is not in this part.
  int32_t begin = 0, end = 0;
  int32_t context = 0;  // index in the row of the first token of the context
  // For each context token of the row: the bytes of the context that it covers.
  ContextSpans spans = {};
};

struct QaSplit {
  std::vector<QaExample> examples;
  std::vector<QaPart> parts;        // in the order of the examples
  TokenRows rows;                   // a row for each part
  std::vector<uint8_t> types = {};  // token types of all tokens of the rows
};

struct QaData {
  std::optional<QaSplit> train, eval, test;  // nullopt: the settings do not need the split
  // Number of questions of the training data before any selection.
  int64_t train_rows = 0;
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

// Reads the rows that the settings want. The data have the columns id, question, context and answers {"text": [...],
// "answer_start": [...]}, or are articles with paragraphs in the form of SQuAD's files. Errors: those of data_flags.h;
// H2109 a column is missing; H2110 a cell has the wrong form; H2113 there is no question; H2123 the context does not
// have the answer at answer_start, or a question leaves no room for its context; H2413 the model has no tokenizer.
Result<QaData> read_qa(const QaSettings& s, const Pretrained& model, ThreadPool& pool);

// The functions with which the command `hone prepare` makes the rows. A shard has for each row its ids and these lists:
//
//   token_type_ids   the token type of each token
//   spans            for each context token two numbers: the bytes of the context at which it begins and ends
//   place            four numbers: index of the question, of the context's first token, of the answer's first token, of
//                    the answer's last token
//
// The description of the split in the manifest has two keys: "questions", a list of [id, index of the context,
// answers], and "contexts", a list of texts.
PreparedSource qa_source(const std::shared_ptr<QaSettings>& s);

}  // namespace hone
