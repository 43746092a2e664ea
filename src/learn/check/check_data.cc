#include "learn/check/check_labels.h"
#include "learn/check/check_pairs.h"
#include "learn/check/check_run.h"
#include "learn/tasks/mlm.h"

namespace hone {
namespace {

// What the first step would hide.
void mask_samples(const MlmSettings& s, const Pretrained& model, RowsReport& report,
                  Findings& findings) {
  Result<MaskOptions> options = mask_options(s, model);
  if (!options.ok()) return findings.add(options.error());
  const TokenMasker masker(std::move(*options));
  int64_t number = 0;
  for (SampleRow& row : report.samples) {
    row.labels.resize(row.ids.size());
    masker.mask(1, number++, row.ids, row.labels);
  }
}

RowsReport check_texts(const TaskSettings& s, const Pretrained& model, ThreadPool& pool,
                       int64_t samples, std::vector<std::string>& notes, Findings& findings) {
  RowsReport report;
  const auto files =
      s.text_rows()->files(model, {s.do_train, s.do_eval, s.cache_dir, s.token}, notes);
  if (!files.ok()) {
    findings.add(files.error());
    return report;
  }
  report = check_rows(*files, model.tokenizer ? &*model.tokenizer : nullptr, model.config, pool,
                      samples, findings);
  for (const auto& [name, split] :
       {std::pair{"train", &report.train}, {"validation", &report.eval}})
    if (split->rows > 0)
      notes.push_back(fmt::format("{}: {}", name, describe(split->counts, files->options)));
  if (const auto* mlm = dynamic_cast<const MlmSettings*>(&s))
    mask_samples(*mlm, model, report, findings);
  return report;
}

}  // namespace

bool reads_rows_of(const TaskSettings& s) {
  return s.text_rows() || dynamic_cast<const ClassificationSettings*>(&s) ||
         dynamic_cast<const Seq2SeqSettings*>(&s);
}

RowsReport check_data(const TaskSettings& s, const Pretrained& model, ThreadPool& pool,
                      int64_t samples, std::vector<std::string>& notes, Findings& findings) {
  if (const auto* labels = dynamic_cast<const ClassificationSettings*>(&s))
    return check_labels(*labels, model, pool, samples, notes, findings);
  if (const auto* pairs = dynamic_cast<const Seq2SeqSettings*>(&s))
    return check_pairs(*pairs, model, pool, samples, notes, findings);
  return check_texts(s, model, pool, samples, notes, findings);
}

}  // namespace hone
