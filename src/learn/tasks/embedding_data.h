// Reads the rows of text embeddings and encodes their texts. A prompt is a text that is put before each text of a
// column.
#pragma once

#include "learn/tasks/embedding_evaluation.h"
#include "learn/tasks/text_tables.h"

namespace hone {

// Reads the tables of the splits that the settings want. Errors: those of read_text_tables.
Result<TextTables> read_embedding_tables(const EmbeddingSettings& s, const Pretrained& model,
                                         const LabelSources& sources);

// The texts of rows to evaluate or to predict, with their prompts.
struct EvalSequences {
  TextRows rows;  // a row for each text; the texts of a row of the table follow one another
  std::vector<int64_t> of_row;  // the number of texts of each row of the table
};

// Encodes texts with the model's tokenizer, and with the prompts of the settings and of the model's folder. Settings,
// model and pool must outlive it. Errors of its functions: those of prompt_of, encode_text_rows and rows_of_tokens.
struct EmbeddingEncoder {
  const EmbeddingSettings& settings;
  SentenceModules modules;
  const Tokenizer& tokenizer;
  ThreadPool& pool;
  int64_t max_length;  // largest number of tokens of a text

  // Errors: those of modules_of; H2413 the model has no tokenizer.
  static Result<EmbeddingEncoder> open(const EmbeddingSettings& s, const Pretrained& model,
                                       ThreadPool& pool);
  // The prompt of a column in an evaluation or prediction: the one of --prompts; else, for the columns "query" and
  // "document", the model's prompt of this name; else the model's default prompt.
  Result<std::string> eval_prompt(const std::string& column) const;
  // The training rows: a sequence for each column, with the prompts of --prompts.
  Result<TextRows> training_rows(const TableOfTexts& table) const;
  // One row for each text, without prompts.
  Result<TextRows> single_texts(const std::vector<std::string>& texts) const;
  Result<EvalSequences> eval_sequences(const TableOfTexts& table) const;
  // The rows to evaluate: those of the table or, without a table, the queries of sources.validation with the corpus of
  // the settings. Errors: those of eval_set_of, retrieval_set and expand_files.
  Result<EmbeddingEvalSet> eval_set(const std::optional<TableOfTexts>& table,
                                    const LabelSources& sources) const;
};

struct EmbeddingData {
  // eval: a row for each text, first those of the evaluation, then those to predict.
  TextRows train, eval;
  EmbeddingEvalSet set;
  int64_t evaluated = 0;  // number of texts of the evaluation
  int64_t predicted = 0;  // number of rows to predict
  // Two texts for each row to predict, as indices among the texts to predict.
  std::vector<int32_t> test_texts;
};
// Reads the texts to evaluate and the texts to predict into `data`. Errors: those of eval_set; H2110 a cell of a row to
// predict is a list; H2402 rows to predict are not pairs; H2132 prepared rows have another number of texts.
Status read_eval_texts(const EmbeddingEncoder& encoder, const LabelSources& sources,
                       const TextTables& tables, EmbeddingData& data);

// The name of the metric that compares models on the rows that the settings name. It depends on the form of the first
// row to evaluate. Errors: those of modules_of, first_evaluated_rows and eval_set_of.
Result<std::string> metric_of_embedding_rows(const EmbeddingSettings& s);

// The functions with which hone prepare makes the rows (text_shards.h). Training rows have a sequence for each column,
// other rows a sequence for each text.
PreparedSource embedding_source(const std::shared_ptr<EmbeddingSettings>& s);

}  // namespace hone
