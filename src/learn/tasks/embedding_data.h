// The rows of text embeddings: their tables, and their texts with prompts as tokens.
#pragma once

#include "learn/tasks/embedding_evaluation.h"
#include "learn/tasks/text_tables.h"

namespace hone {

// Errors: those of read_text_tables.
Result<TextTables> read_embedding_tables(const EmbeddingSettings& s, const Pretrained& model,
                                         const LabelSources& sources);

// Each text of a row to evaluate or to predict with its prompt, one after the other.
struct EvalSequences {
  TextRows rows;
  std::vector<int64_t> of_row;  // their number in each row of the table
};

// Texts through a model's tokenizer, with the prompts of the settings and of the model's folder.
// The settings, the model and the threads outlive it. Errors of its functions: those of prompt_of,
// encode_text_rows and rows_of_tokens.
struct EmbeddingEncoder {
  const EmbeddingSettings& settings;
  SentenceModules modules;
  const Tokenizer& tokenizer;
  ThreadPool& pool;
  int64_t max_length;  // tokens of a text

  // Errors: those of modules_of; H2413 without a tokenizer.
  static Result<EmbeddingEncoder> open(const EmbeddingSettings& s, const Pretrained& model,
                                       ThreadPool& pool);
  // The prompt of a column in an evaluation or prediction: of the flag; for queries and their texts
  // that of the model.
  Result<std::string> eval_prompt(const std::string& column) const;
  // The training rows, with the prompts of their columns.
  Result<TextRows> training_rows(const TableOfTexts& table) const;
  // One text a row, without prompts.
  Result<TextRows> single_texts(const std::vector<std::string>& texts) const;
  Result<EvalSequences> eval_sequences(const TableOfTexts& table) const;
  // The evaluated rows: those of the table, or queries with a corpus. Errors: those of eval_set_of,
  // retrieval_set and expand_files.
  Result<EmbeddingEvalSet> eval_set(const std::optional<TableOfTexts>& table,
                                    const LabelSources& sources) const;
};

struct EmbeddingData {
  TextRows train, eval;
  EmbeddingEvalSet set;
  int64_t evaluated = 0;            // texts of the evaluation; those to predict come after them
  int64_t predicted = 0;            // rows
  std::vector<int32_t> test_texts;  // two for each row to predict
};
// Reads the texts to evaluate, then those to predict. Errors: those of eval_set; H2110 a text to
// predict is a list, H2402 rows to predict are not pairs, H2132 shards with another number of
// texts.
Status read_eval_texts(const EmbeddingEncoder& encoder, const LabelSources& sources,
                       const TextTables& tables, EmbeddingData& data);

// The metric that compares models of the rows of the settings, by the form of the first evaluated
// row. Errors: those of modules_of, first_evaluated_rows and eval_set_of.
Result<std::string> metric_of_embedding_rows(const EmbeddingSettings& s);

// The source of rows for hone prepare (text_shards.h): training rows have a sequence for each
// column, others one for each text.
PreparedSource embedding_source(const std::shared_ptr<EmbeddingSettings>& s);

}  // namespace hone
