// Reads the rows of text embeddings and encodes their texts. A prompt is a text that is put before each text of a
// column.
#pragma once

#include "learn/tasks/embedding_evaluation.h"
#include "learn/tasks/text_tables.h"

namespace hone {

// Reads the tables of the splits that the settings want. Errors: those of read_text_tables.
Result<TextTables> read_embedding_tables(const EmbeddingSettings& s, const Pretrained& model,
                                         const LabelSources& sources);

// The encoded texts of a table of rows to evaluate or to predict, with their prompts.
struct EvalSequences {
  TextRows rows;  // one sequence for each text; the texts of a row of the table follow one another
  std::vector<int64_t> of_row;  // for each row of the table: its number of texts
};

// Encodes texts with the model's tokenizer, and with the prompts of the settings and of the model's folder. Settings,
// model and pool must outlive this object. Each function that returns a Result also has the errors of prompt_of,
// encode_text_rows and rows_of_tokens.
struct EmbeddingEncoder {
  const EmbeddingSettings& settings;
  SentenceModules modules;
  const Tokenizer& tokenizer;
  ThreadPool& pool;
  int64_t max_length;  // largest number of tokens of a text

  // Errors: those of modules_of; H2413 the model has no tokenizer.
  static Result<EmbeddingEncoder> open(const EmbeddingSettings& s, const Pretrained& model,
                                       ThreadPool& pool);
  // The prompt of a column in an evaluation or prediction. If --prompts has one for the column, it is used. Otherwise
  // a column "query" or "document" gets the model's prompt of the same name. If the model has no such prompt, or the
  // column has another name, it gets the model's default prompt; "": the model has none.
  Result<std::string> eval_prompt(const std::string& column) const;
  // The training rows: a sequence for each column. Only the prompts of --prompts are used.
  Result<TextRows> training_rows(const TableOfTexts& table) const;
  // Encodes each text as a row with one sequence. Adds no prompts.
  Result<TextRows> single_texts(const std::vector<std::string>& texts) const;
  // Encodes all texts of the table with the prompts of eval_prompt().
  Result<EvalSequences> eval_sequences(const TableOfTexts& table) const;
  // The rows to evaluate: those of the table. Without a table: the queries in the files sources.validation with the
  // corpus and the qrels that the settings name. Errors: those of eval_set_of, retrieval_set and expand_files.
  Result<EmbeddingEvalSet> eval_set(const std::optional<TableOfTexts>& table,
                                    const LabelSources& sources) const;
};

struct EmbeddingData {
  // eval: one row for each text: first the `evaluated` texts of the evaluation (set.texts), then the texts to predict.
  TextRows train, eval;
  EmbeddingEvalSet set;   // the rows to evaluate
  int64_t evaluated = 0;  // number of texts of the evaluation
  int64_t predicted = 0;  // number of rows to predict
  // For each row to predict, the indices of its two texts. Index 0 is row `evaluated` of `eval`.
  std::vector<int32_t> test_texts;
};
// Reads the texts to evaluate and the texts to predict into all members of `data` except `train`. Errors: those of
// eval_set; H2110 a cell of a row to predict is a list; H2402 the rows to predict do not have two columns of texts;
// H2132 prepared rows do not have as many sequences as texts.
Status read_eval_texts(const EmbeddingEncoder& encoder, const LabelSources& sources,
                       const TextTables& tables, EmbeddingData& data);

// The name of the metric that compares models on the rows that the settings name. It depends on the columns of the
// first row to evaluate (embedding_evaluation.h). Errors: those of modules_of, first_evaluated_rows and eval_set_of.
Result<std::string> metric_of_embedding_rows(const EmbeddingSettings& s);

// The functions with which hone prepare makes the rows (text_shards.h). Training rows have a sequence for each column,
// other rows a sequence for each text.
PreparedSource embedding_source(const std::shared_ptr<EmbeddingSettings>& s);

}  // namespace hone
