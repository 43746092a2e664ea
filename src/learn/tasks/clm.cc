#include "learn/tasks/clm.h"

#include <algorithm>

#include "learn/tasks/clm_programs.h"
#include "learn/tasks/sharded_rows.h"
#include "learn/tasks/task.h"

namespace hone {
namespace {

class ClmTask : public TokenTask {
 public:
  explicit ClmTask(const ClmSettings& s) : TokenTask(s), s_(s) {}
  using TokenTask::start;

 private:
  Status read_data() override { return feed().read_text(s_); }
  int64_t normaliser(int64_t, const StepPlan& plan, const TakenRows&) override {
    return plan.label_tokens;
  }
  bool put(size_t program, const MicroBatch& batch, int64_t) override {
    put_input(program, "labels", batch.labels);
    return false;
  }
  void begin_metrics() override { metrics_.emplace(s_.per_device_eval_batch_size); }
  bool add_metrics(size_t program, const MicroBatch& batch) override {
    return metrics_->add(batch, session().output<float>(program, "nll"),
                         session().output<int32_t>(program, "correct"));
  }
  double loss_so_far() const override { return metrics_->loss.eval_loss_per_token(); }
  OrderedJson metrics(int64_t rows) override { return metrics_->json(rows); }

  const ClmSettings& s_;
  std::optional<TokenMetrics> metrics_;
};

}  // namespace

void ClmSettings::bind_own(Schema& schema) {
  TextSettings::bind(schema);
  ClmOwnSettings::bind(schema);
}

Status ClmSettings::choose_head(ModelConfig& config) const {
  return set_head(config, Head::causal_lm);
}

int64_t ClmSettings::row_tokens(const ModelConfig& config) const {
  return std::min(block_size > 0 ? block_size : int64_t{1024}, config.max_positions);
}

Program ClmSettings::build(const ModelConfig& config, const BatchShape& shape,
                           const std::string& name, bool train) const {
  return train ? build_clm_train(config, shape, name, label_smoothing_factor)
               : build_clm_eval(config, shape, name, label_smoothing_factor);
}

Result<std::unique_ptr<TokenTask>> ClmSettings::open(Pretrained model, bool from_scratch) const {
  auto task = std::make_unique<ClmTask>(*this);
  HONE_TRY(task->start(std::move(model), from_scratch));
  return std::unique_ptr<TokenTask>(std::move(task));
}

Result<TextFiles> ClmSettings::files(const Pretrained& model, const TextWish& wish,
                                     std::vector<std::string>& notes) const {
  TextFiles files = HONE_TRY(named_files(*this, *this, wish, notes));
  // As run_clm, which gives the flag to readers of files only: texts of a named data set end
  // without.
  files.rows.keep_linebreaks = keep_linebreaks && dataset_name.empty();
  files.options.grouping = packing ? Grouping::kRows : Grouping::kBlocks;
  files.options.block_size = row_tokens(model.config);
  if (model.tokenizer) files.options.eos = model.tokenizer->eos_id();
  const Json& config = model.config.config;
  if (!files.options.eos && config.contains("eos_token_id") &&
      config["eos_token_id"].is_number_integer())
    files.options.eos = config["eos_token_id"].get<int32_t>();
  if (has_shards(files)) files.shard_settings = shard_settings(model, files.options, false);
  return files;
}

OrderedJson ClmSettings::shard_settings(const Pretrained& model, const TextOptions& causal,
                                        bool all) const {
  OrderedJson j;
  j["task"] = "clm";
  if (model.tokenizer) j["tokenizer"] = tokenizer_hash(*model.tokenizer);
  add_row_settings(*this, {{"block_size", causal.block_size}}, all, j);
  if (packing) j["eos_token_id"] = causal.eos ? OrderedJson(*causal.eos) : OrderedJson();
  return j;
}

Task task_clm() {
  return {.name = "clm", .summary = "causal language modelling", .settings = [] {
            return std::unique_ptr<TaskSettings>(new ClmSettings);
          }};
}

}  // namespace hone
