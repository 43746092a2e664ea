#include "learn/tasks/embedding_check.h"

#include "learn/tasks/embedding_data.h"
#include "learn/tasks/text_rows_check.h"
#include "learn/tasks/text_shards.h"

namespace hone {
namespace {

// Evaluated rows: their tokens, those that are cut, and the metrics that they give.
Status check_evaluated_texts(const EmbeddingEncoder& encoder, const LabelSources& sources,
                             const std::optional<TableOfTexts>& table, RowsReport& report,
                             Findings& findings) {
  SplitReport& to = report.eval;
  const EmbeddingEvalSet set = HONE_TRY(encoder.eval_set(table, sources));
  report.metrics = embedding_metric_names(set.kind, encoder.modules.similarity);
  to.rows = to.sequences = set.rows;
  if (!table) {
    to.counts.tokens_read = HONE_TRY(encoder.single_texts(set.texts)).rows.tokens();
    return Ok{};
  }
  if (table->is_prepared()) {
    to.counts.tokens_read = HONE_TRY(rows_of_tokens(*table, 0)).rows.tokens();
    return Ok{};
  }
  const EvalSequences sequences = HONE_TRY(encoder.eval_sequences(*table));
  to.counts.tokens_read = sequences.rows.rows.tokens();
  const std::vector<int32_t> cut = sums_of_runs(sequences.rows.cut, sequences.of_row);
  tell_cut_rows("validation", cut, table->places, encoder.max_length, to, findings);
  return Ok{};
}

Status check_embedding_splits(const EmbeddingSettings& s, const CheckRequest& request,
                              RowsReport& report, Findings& findings) {
  const EmbeddingEncoder encoder = HONE_TRY(EmbeddingEncoder::open(s, request.model, request.pool));
  const LabelSources sources = HONE_TRY(text_sources(text_table_flags(s)));
  const TextTables tables = HONE_TRY(read_embedding_tables(s, request.model, sources));
  request.notes = tables.notes;
  if (!tables.train) return Ok{};
  HONE_TRY(s.loss_of(*tables.train));
  const TextRows rows = HONE_TRY(encoder.training_rows(*tables.train));
  report_text_rows("train", rows, tables.train->places, encoder.max_length, report.train, findings);
  if (s.do_eval) HONE_TRY(check_evaluated_texts(encoder, sources, tables.eval, report, findings));
  add_text_samples(rows, request.samples, report);
  return Ok{};
}

}  // namespace

RowsReport check_embedding(const EmbeddingSettings& s, const CheckRequest& request,
                           Findings& findings) {
  RowsReport report;
  if (const Status done = check_embedding_splits(s, request, report, findings); !done.ok())
    findings.add(done.error());
  return report;
}

}  // namespace hone
