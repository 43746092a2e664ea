#include "learn/tasks/seq2seq.h"

#include <algorithm>
#include <set>

#include "base/core/log.h"
#include "learn/generate/prompts.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/harness/token_graph.h"
#include "learn/harness/token_metrics.h"
#include "learn/metrics/metric.h"
#include "learn/tasks/seq2seq_check.h"
#include "learn/tasks/seq2seq_data.h"
#include "learn/tasks/seq2seq_texts.h"

namespace hone {
namespace {

// T5 knows its task by words before the text; without them it begins from nothing.
std::string prefix_warning(const Seq2Seq& q, const ModelConfig& config,
                           const std::string& first_source) {
  const auto prefix = task_prefix(q, config);
  if (!prefix || !q.settings->source_prefix.empty() || first_source.starts_with(prefix->text))
    return "";
  return fmt::format(
      "T5 knows a task by the words before the text, and there is no --source_prefix: a checkpoint "
      "that was trained on this task needs --source_prefix '{}'",
      prefix->text);
}

Status choose_seq2seq_head(const Seq2Seq& q, ModelConfig& config) {
  HONE_TRY(set_head(config, Head::seq2seq_lm));
  HONE_TRY(q.check());
  if (q.settings->streaming)
    return Error(err::kStreaming, q.name + " reads its rows into memory")
        .todo("leave --streaming out");
  return Ok{};
}

Result<RunForm> form(const Seq2Seq& q, const Pretrained& model) {
  const Seq2SeqSettings& s = *q.settings;
  const ModelConfig& config = model.config;
  const int64_t targets =
      std::min(std::max(s.target_length(true), s.target_length(false)), config.max_positions);
  RunForm form{
      .limits = {{kSourceTokens, s.source_tokens(config), "max_source_length", s.max_source_length},
                 {kTargetTokens, targets, "max_target_length", s.max_target_length}}};
  const int64_t model_beams = HONE_TRY(generation_of(model)).num_beams;
  if (!s.predict_with_generate || (!s.do_eval && !s.do_predict)) return form;
  const int64_t beams = q.num_beams().value_or(model_beams), length = s.generated_length();
  form.generation = [beams, length](int64_t source_tokens, int64_t rows) {
    CacheLimits limits;
    limits.sources = rows;
    limits.rows = rows * beams;
    limits.tokens = length;
    limits.longest_prompt = 1;
    limits.longest_source = source_tokens;
    return limits;
  };
  return form;
}

// Inputs and outputs: token_graph.h. The decoder reads its labels, shifted by one.
Program seq2seq_program(const Seq2SeqSettings& s, const ModelConfig& config,
                        const BatchShape& shape, const std::string& name, bool train) {
  TokenGraph g(config, shape, name, train, {DType::i32, {shape[kTargetTokens]}});
  return finish_token_loss(g, train, s.label_smoothing_factor);
}

Result<bool> collate_seq2seq(const ModelConfig& config, const CollatedRows& rows, Batch& to) {
  const TokenRows &sources = rows.data.axes[0], &targets = rows.data.axes[1];
  HONE_TRY(collate_tokens(sources, rows.rows, kEncoderInputs, to));
  HONE_TRY(collate_tokens(targets, rows.rows, kDecoderInputs, to));
  decoder_inputs(targets, rows.rows, config.decoder_start, to.get<int32_t>("ids"),
                 to.get<int32_t>("labels"));
  HONE_TRY(finish_tokens(config, to));
  return false;
}

Result<Examples> seq2seq_examples(const Seq2Seq& q, Pretrained& model,
                                  const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  const std::shared_ptr<Seq2SeqSettings> s = q.settings;
  PairTokenizers tokenizers = HONE_TRY(open_pair_tokenizers(q, model));
  model.tokenizer = tokenizers.sources;
  const auto texts = HONE_TRY(GeneratedTexts::make(q, model, tokenizers.targets));

  Seq2SeqData data = HONE_TRY(read_seq2seq(q, model, tokenizers, source.pool));
  Schema schema("", "");
  q.settings->TaskSettings::bind(schema);
  q.bind(schema);
  show_notes(schema, data.notes);
  if (s->do_train) model.trained.columns = data.columns;
  if (const std::string text = prefix_warning(q, model.config, data.first_source); !text.empty())
    log_warning("{}", text);
  Examples x;
  const auto take = [](PairRows& rows) {
    ExampleRows out(std::move(rows.sources));
    out.axes.push_back(std::move(rows.targets));
    return out;
  };
  if (data.train) {
    x.train = take(*data.train);
    x.hash = RowsHash(x.train->axes[0].hash()).value() * 31 + x.train->axes[1].hash();
  }
  if (data.eval) x.eval = take(*data.eval);
  x.evaluated = data.eval_rows;
  // Rows without targets are generated alone.
  x.compared = data.eval_rows + (data.test_has_targets ? data.test_rows : 0);
  x.collate = [&config = model.config](const CollatedRows& rows, Batch& to) {
    return collate_seq2seq(config, rows, to);
  };
  x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) {
    return plan.tokens[1];
  };
  x.metrics = [s](int64_t first) { return std::make_unique<TokenMetrics>(*s, first, 0, false); };
  x.evaluate = [texts, rows = data.eval_rows](TaskRun& run) {
    return texts->evaluate(run, 0, rows, nullptr);
  };
  x.predict = [texts, begin = data.eval_rows, end = data.eval_rows + data.test_rows](
                  TaskRun& run, const std::string& folder) {
    return texts->predict(run, begin, end, folder);
  };
  x.saved = [texts](const std::string& folder) { return texts->save_languages(folder); };
  return x;
}

// For hone check of a task that reads its rows itself.
RowsReport check_own_rows(const Seq2Seq& q, const CheckRequest& request, Findings& findings) {
  RowsReport report;
  const auto read = [&]() -> Status {
    const PairTokenizers tokenizers = HONE_TRY(open_pair_tokenizers(q, request.model));
    const Seq2SeqData data = HONE_TRY(read_seq2seq(q, request.model, tokenizers, request.pool));
    request.notes = data.notes;
    for (const auto& [rows, to] :
         {std::pair(&data.train, &report.train), {&data.eval, &report.eval}}) {
      if (!*rows) continue;
      to->rows = to->sequences = (*rows)->size();
      to->counts.tokens_read = (*rows)->sources.tokens();
      to->counts.rows_cut = (*rows)->counts.sources_cut;
    }
    return Ok{};
  };
  if (const Status done = read(); !done.ok()) findings.add(done.error());
  return report;
}

}  // namespace

Task seq2seq_task(Seq2Seq q) {
  const std::shared_ptr<Seq2SeqSettings> s = q.settings;
  Task t;
  t.name = q.name;
  t.summary = q.summary;
  t.metric = q.compared_by;
  t.metrics = [metric = q.metric] {
    // The rows hold the texts, from which other metrics follow too.
    std::set<std::string> names = {"loss", "loss_per_token", "perplexity"};
    for (const std::string& of : {metric, std::string("bleu"), std::string("chrf")})
      for (const std::string& name : text_metric_values(of)) names.insert(name);
    return std::vector<std::string>(names.begin(), names.end());
  };
  t.sample = q.sample;
  t.settings = s;
  t.bind = q.bind;
  t.choose_head = [q](ModelConfig& config) { return choose_seq2seq_head(q, config); };
  t.form = [q](const Pretrained& model) { return form(q, model); };
  t.program = [s](const auto&... a) { return seq2seq_program(*s, a...); };
  t.resizes_embeddings = true;
  t.examples = [q](Pretrained& model, const ExampleSource& source) {
    return seq2seq_examples(q, model, source);
  };
  if (!q.read) t.prepared = seq2seq_source(q);
  t.predicts = true;
  t.check_rows = [q](const CheckRequest& r, Findings& findings) {
    return q.read ? check_own_rows(q, r, findings) : check_pairs(q, r, findings);
  };
  t.check_settings = [q](const Pretrained& model, const auto&, Findings& findings) {
    check_pair_settings(q, model, findings);
  };
  t.file_format = [q](const std::vector<std::string>& files) {
    const PairColumnOptions wanted = q.wanted();
    return parallel_files(files, wanted.source_lang, wanted.target_lang) ? "text"
                                                                         : q.settings->data_format;
  };
  return t;
}

}  // namespace hone
