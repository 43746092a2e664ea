// Causal language modelling: each token from those before it (run_clm).
#include <algorithm>

#include "learn/harness/collate.h"
#include "learn/harness/run/check_run.h"
#include "learn/harness/task.h"
#include "learn/harness/token_graph.h"
#include "learn/harness/token_metrics.h"

namespace hone {
namespace {

struct ClmSettings : TaskSettings, TextSettings {
#define HONE_SETTINGS "learn/tasks/clm_settings.def"
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { TextSettings::bind(schema), bind(schema); }
  // --block_size, or the smaller of 1024 and the model's positions; never more than the model has.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(block_size > 0 ? block_size : int64_t{1024}, config.max_positions);
  }
};

OrderedJson clm_shard_settings(const ClmSettings& s, const Pretrained& model,
                               const TextOptions& causal, bool all) {
  OrderedJson j;
  j["task"] = "clm";
  if (model.tokenizer) j["tokenizer"] = tokenizer_hash(*model.tokenizer);
  add_row_settings(schema_of(s), {{"block_size", causal.block_size}}, all, j);
  if (s.packing) j["eos_token_id"] = causal.eos ? OrderedJson(*causal.eos) : OrderedJson();
  return j;
}

Result<TextFiles> clm_files(const ClmSettings& s, const Pretrained& model,
                            const WantedSplits& splits, std::vector<std::string>& notes) {
  TextFiles files = HONE_TRY(named_files(s, s, splits, notes));
  // As run_clm, which gives the flag to readers of files only: texts of a named data set end
  // without.
  files.rows.keep_linebreaks = s.keep_linebreaks && s.dataset_name.empty();
  files.options.grouping = s.packing ? Grouping::kRows : Grouping::kBlocks;
  files.options.block_size = s.row_tokens(model.config);
  files.options.block_name = "--block_size";
  files.options.apart_name = "--packing";
  HONE_TRY(check_row_tokens("block_size", files.options.block_size));
  if (model.tokenizer) files.options.eos = model.tokenizer->eos_id();
  const Json& config = model.config.config;
  if (!files.options.eos && config.contains("eos_token_id") &&
      config["eos_token_id"].is_number_integer())
    files.options.eos = config["eos_token_id"].get<int32_t>();
  if (has_shards(files)) files.shard_settings = clm_shard_settings(s, model, files.options, false);
  return files;
}

Result<bool> collate_clm(const ModelConfig& config, const CollatedRows& rows, Batch& to) {
  const TokenRows& data = rows.data.axes[0];
  HONE_TRY(collate_tokens(data, rows.rows, kDecoderInputs, to));
  next_labels(data, rows.rows, to.get<int32_t>("ids"), to.get<int32_t>("labels"));
  HONE_TRY(finish_tokens(config, to));
  return false;
}

void check_clm(const ClmSettings& s, const Pretrained& model, const RowsReport& rows,
               Findings& findings) {
  if (!s.packing && rows.train.rows > 1)
    findings.add(FindingLevel::kNote, "rows_are_joined",
                 "rows are joined without an end-of-text token between them, as run_clm "
                 "does",
                 "", "--packing keeps them apart and ends each");
  if (s.packing && !(model.tokenizer && model.tokenizer->eos_id()) &&
      !model.config.config.contains("eos_token_id"))
    findings.add(FindingLevel::kWarning, "rows_without_end",
                 "no end-of-text token is known: rows are learnt without an end", "--packing",
                 "name eos_token_id in config.json");
}

}  // namespace

Task task_clm() {
  const auto s = std::make_shared<ClmSettings>();
  Task t;
  t.name = "clm";
  t.summary = "causal language modelling";
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.sample = SampleProject{.model = tiny_decoder(),
                           .row = [](int i) -> OrderedJson {
                             return {{"text", sample_sentence(i).text()}};
                           },
                           .flags = {{"block_size", 64}}};
  t.choose_head = [](ModelConfig& config) { return set_head(config, Head::causal_lm); };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{.limits = {{kTokens, s->row_tokens(model.config), "block_size", s->block_size}},
                   .packs_rows = s->packing,
                   .even_steps = !s->packing};
  };
  t.program = [s](const auto&... a) { return token_loss_program(a..., s->label_smoothing_factor); };
  t.text = TextSource{
      .files = [s](const Pretrained& model, const WantedSplits& splits,
                   std::vector<std::string>& notes) { return clm_files(*s, model, splits, notes); },
      .shard_settings = [s](const auto&... a) { return clm_shard_settings(*s, a...); },
      .tokenize = tokenize_with,
      .apart = "packing"};
  t.resizes_embeddings = true;
  t.examples = [s, text = *t.text](Pretrained& model,
                                   const ExampleSource& source) -> Result<Examples> {
    Examples x = HONE_TRY(read_texts(*s, text, model, source));
    x.collate = [&config = model.config](const CollatedRows& rows, Batch& to) {
      return collate_clm(config, rows, to);
    };
    x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) {
      return plan.tokens[0] - plan.rows;
    };
    x.metrics = [s](int64_t first) { return std::make_unique<TokenMetrics>(*s, first, 1); };
    return x;
  };
  t.check_rows = [s, text = *t.text](const CheckRequest& r, Findings& findings) {
    return check_texts(*s, text, r, findings);
  };
  t.check_settings = [s](const auto& model, const auto& rows, Findings& findings) {
    check_clm(*s, model, rows, findings);
  };
  return t;
}

}  // namespace hone
