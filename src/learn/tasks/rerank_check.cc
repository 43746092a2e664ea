#include "learn/tasks/rerank_check.h"

#include "learn/tasks/rerank_evaluation.h"
#include "learn/tasks/text_rows_check.h"

namespace hone {
namespace {

// Evaluated rows: their tokens, those that are cut, and the metrics that they give.
Status check_evaluated_pairs(const RerankSettings& s, const RerankEncoder& encoder,
                             const TableOfTexts& table, RowsReport& report, Findings& findings) {
  const RerankPairs pairs = HONE_TRY(pairs_of(table, true));
  const TextRows rows = HONE_TRY(encoder.eval_rows(table, pairs));
  report.metrics = metrics_of_pairs(s, pairs);
  report.eval.rows = report.eval.sequences = table.rows();
  report.eval.counts.tokens_read = rows.rows.tokens();
  tell_cut_rows("validation", sums_of_runs(rows.cut, pairs.of_row), table.places,
                encoder.max_length, report.eval, findings);
  return Ok{};
}

Status check_rerank_splits(const RerankSettings& s, const CheckRequest& request, RowsReport& report,
                           Findings& findings) {
  const RerankEncoder encoder = HONE_TRY(RerankEncoder::open(s, request.model, request.pool));
  const LabelSources sources = HONE_TRY(text_sources(text_table_flags(s)));
  const TextTables tables = HONE_TRY(read_rerank_tables(s, request.model, sources));
  request.notes = tables.notes;
  if (!tables.train) return Ok{};
  const TableOfTexts& train = *tables.train;
  HONE_TRY(rerank_columns(s, train));
  HONE_TRY(check_classes(s, train, rerank_labels(s, request.model.config, &train)));
  const TextRows rows = HONE_TRY(encoder.training_rows(train));
  report_text_rows("train", rows, train.places, encoder.max_length, report.train, findings);
  if (tables.eval) HONE_TRY(check_evaluated_pairs(s, encoder, *tables.eval, report, findings));
  add_text_samples(rows, request.samples, report);
  return Ok{};
}

}  // namespace

RowsReport check_rerank(const RerankSettings& s, const CheckRequest& request, Findings& findings) {
  RowsReport report;
  if (const Status done = check_rerank_splits(s, request, report, findings); !done.ok())
    findings.add(done.error());
  return report;
}

}  // namespace hone
