// Reward models (trl reward): a head with one number, larger for chosen answers than for rejected ones
// (Bradley-Terry; arXiv 2203.02155, with the margin of arXiv 2307.09288).
#include <algorithm>
#include <cmath>

#include "base/store/store.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/harness/run/task_run.h"
#include "learn/preference/preference_loss.h"
#include "learn/tasks/classification_parts.h"
#include "learn/tasks/preference_data.h"
#include "learn/tasks/preference_parts.h"

namespace hone {
namespace {

struct RewardSettings : PreferenceSettings {
#define HONE_SETTINGS "learn/tasks/reward_settings.def"
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { PreferenceSettings::bind(schema), bind(schema); }
  double centering() const { return center_rewards_coefficient.value_or(0); }
};

PreferenceForm reward_form(const std::shared_ptr<RewardSettings>& s) {
  return {PreferenceForm::Rows::whole_pairs, false, "reward", [s] { return schema_of(*s); }};
}

// Inputs beside those of token_graph.h, which has two sequences for each row: labels f32[S], the
// margins; weight f32[S]; last_rows i32[2S] for models that read the last token. Output: rewards f32[2S].
Program reward_program(const RewardSettings& s, const ModelConfig& given, const BatchShape& shape,
                       const std::string& name, bool train) {
  const ModelConfig config = s.disable_dropout ? without_any_dropout(given) : given;
  const int64_t rows = shape[kSequences];
  TokenGraph g(config, shape_of_pairs(shape), name, train, {DType::f32, {rows}});
  Builder& b = g.b;
  if (reads_label_rows(config))
    g.model.label_rows = g.program.add_input("last_rows", {DType::i32, {2 * rows}});
  const ValueId rewards = ops::reshape(b, logits_of(b, model_head(g.model)), {rows, 2});
  Builder::Scope head(b, "preference");
  if (train) {
    const auto half = [&](int64_t which) {
      return ops::reshape(b, ops::slice(b, rewards, 1, which, which + 1), {rows});
    };
    const PreferenceOptions options;
    const PreferencePairs p{.b = b, .o = options};
    const ValueId chosen = half(0), rejected = half(1);
    const ValueId apart = ops::sub(b, ops::sub(b, chosen, rejected), g.labels);
    ValueId losses = p.times(p.log_sigmoid(apart), -1);
    if (s.centering() != 0)
      losses = ops::add(b, losses, p.times(p.square(ops::add(b, chosen, rejected)), s.centering()));
    losses = ops::mul(b, losses, g.program.add_input("weight", {DType::f32, {rows}}));
    g.program.outputs.push_back({"loss", ops::mul(b, ops::reduce_sum(b, losses, {0}), g.scale)});
  }
  g.program.outputs.push_back({"rewards", ops::reshape(b, rewards, {2 * rows})});
  return std::move(g.program);
}

// Data of the rows besides tokens.
struct RewardRows {
  std::shared_ptr<const RewardSettings> s;
  const ModelConfig& config;
  RowLabels train = {}, eval = {};

  const RowLabels& labels(bool training) const { return training ? train : eval; }
  float margin(bool training, int64_t row) const {
    const std::vector<float>& margins = labels(training).values;
    return margins.empty() ? 0.0f : margins[static_cast<size_t>(row)];
  }

  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    HONE_TRY(collate_answers(rows.data.axes[0], labels(rows.training()), rows.rows, true,
                             padding_of(config), to, AnswerLabels::none));
    const auto margins = to.get<float>("labels");
    std::fill(margins.begin(), margins.end(), 0.0f);
    for (size_t i = 0; i < rows.rows.rows.size(); ++i)
      margins[i] = margin(rows.training(), rows.rows.rows[i]);
    HONE_TRY(finish_tokens(config, to));
    return false;
  }
};

// Sums over rows, with TRL's names.
struct RewardSums {
  double rows = 0, loss = 0, rewards = 0, right = 0, margin = 0;

  // `examples`: gets the scores of each row; null: none.
  bool add(const RewardRows& of, const CollatedRows& rows, const Batch& outputs,
           ExampleScores* examples = nullptr) {
    const auto rewards_of = outputs.get<const float>("rewards");
    for (size_t i = 0; i < rows.rows.rows.size(); ++i) {
      const double chosen = static_cast<double>(rewards_of[2 * i]),
                   rejected = static_cast<double>(rewards_of[2 * i + 1]);
      if (!std::isfinite(chosen) || !std::isfinite(rejected)) return false;
      const double wanted = static_cast<double>(of.margin(rows.training(), rows.rows.rows[i]));
      const double of_row = -log_sigmoid(chosen - rejected - wanted) +
                            of.s->centering() * (chosen + rejected) * (chosen + rejected);
      if (examples)
        examples->add(rows.rows.rows[i], {{"scores",
                                           {{"loss", of_row},
                                            {"accuracy", chosen > rejected ? 1 : 0},
                                            {"margin", chosen - rejected},
                                            {"mean_reward", (chosen + rejected) / 2}}}});
      loss += of_row;
      this->rows += 1;
      rewards += (chosen + rejected) / 2;
      right += chosen > rejected ? 1 : 0;
      margin += chosen - rejected;
    }
    return true;
  }
  std::vector<double> list() const { return {rows, right, margin, rewards}; }
  static OrderedJson values(std::span<const double> sums) {
    const double rows = std::max(sums[0], 1.0);
    return {
        {"accuracy", sums[1] / rows}, {"margin", sums[2] / rows}, {"mean_reward", sums[3] / rows}};
  }
};

class RewardEvaluation final : public EvalMetrics {
 public:
  explicit RewardEvaluation(std::shared_ptr<const RewardRows> rows) : rows_(std::move(rows)) {}
  bool add(const CollatedRows& rows, const Batch& outputs) override {
    return sums_.add(*rows_, rows, outputs, rows_->s->example_scores.get());
  }
  double loss() const override { return sums_.loss / std::max(sums_.rows, 1.0); }
  OrderedJson values(int64_t rows) const override {
    OrderedJson out = RewardSums::values(sums_.list());
    out["loss"] = loss();
    out["samples"] = rows;
    return out;
  }

 private:
  std::shared_ptr<const RewardRows> rows_;
  RewardSums sums_;
};

Result<Examples> reward_examples(const std::shared_ptr<RewardSettings>& s, Pretrained& model,
                                 const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  PreferenceData data = HONE_TRY(read_preferences(*s, reward_form(s), model, source.pool));
  show_notes(schema_of(*s), data.notes);
  name_padding(model);
  const auto rows = std::make_shared<RewardRows>(RewardRows{s, model.config});
  Examples x;
  std::optional<LabelledRows> train, eval;
  if (data.train) train = std::move(data.train->data), x.hash = train->hash();
  if (data.eval) eval = std::move(data.eval->data);
  rows->train = take_rows(train, x.train);
  rows->eval = take_rows(eval, x.eval);
  x.train_rows_read = data.train_rows;
  x.collate = [rows](const CollatedRows& batch, Batch& to) { return rows->collate(batch, to); };
  x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) { return plan.rows; };
  x.metrics = [rows](int64_t) { return std::make_unique<RewardEvaluation>(rows); };
  const auto sums = std::make_shared<RewardSums>();
  x.after_batch = [rows, sums](const CollatedRows& batch, const Batch& outputs) {
    sums->add(*rows, batch, outputs);
  };
  x.log_sums = [sums] { return std::exchange(*sums, {}).list(); };
  x.log_values = RewardSums::values;
  if (!data.chat_template.empty())
    x.saved = [text = data.chat_template](const std::string& folder) {
      return file_store().write(folder + "/chat_template.jinja", text);
    };
  return x;
}

}  // namespace

Task task_reward() {
  const auto s = std::make_shared<RewardSettings>();
  s->learning_rate = 1e-4;  // as TRL's
  Task t;
  t.name = "reward";
  t.summary = "reward models: a number for an answer, from pairs of a chosen and a rejected one";
  t.metric = "accuracy";
  t.metrics = [] { return std::vector<std::string>{"accuracy", "loss", "margin", "mean_reward"}; };
  t.sample = preference_sample();
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.choose_head = [s](ModelConfig& config) -> Status {
    if (s->streaming)
      return Error(err::kStreaming, "a reward model reads its rows into memory")
          .todo("leave --streaming out");
    HONE_TRY(refuse_encoder_decoder(config, "reward models"));
    return set_head(config, Head::sequence_classification, std::vector<std::string>{"LABEL_0"});
  };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{.limits = {{kTokens, 2 * s->row_tokens(model.config), "max_length", 0}}};
  };
  t.program = [s](const auto&... a) { return reward_program(*s, a...); };
  t.examples = [s](Pretrained& model, const ExampleSource& source) {
    return reward_examples(s, model, source);
  };
  t.prepared = preference_source(s, reward_form(s));
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_preferences(*s, reward_form(s), request, findings);
  };
  return t;
}

}  // namespace hone
