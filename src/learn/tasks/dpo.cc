// Preference tuning (trl dpo): chosen answers become likelier than rejected ones, measured from a
// reference model. Losses are those of learn/preference.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/core/log.h"
#include "base/settings/errors.h"
#include "base/store/store.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/harness/token_graph.h"
#include "learn/models/router_loss.h"
#include "learn/preference/preference_loss.h"
#include "learn/tasks/preference_data.h"
#include "learn/tasks/preference_parts.h"
#include "learn/tasks/reference_model.h"
#include "learn/tasks/row_outputs.h"

namespace hone {
namespace {

struct DpoSettings : PreferenceSettings {
#define HONE_SETTINGS "learn/tasks/dpo_settings.def"
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { PreferenceSettings::bind(schema), bind(schema); }

  PreferenceOptions options() const {
    return {beta, label_smoothing, discopop_tau, f_divergence_type, f_alpha_divergence_coef};
  }
  bool sorts() const {
    return std::any_of(loss_type.begin(), loss_type.end(),
                       [](const auto& l) { return find_preference_loss(l).sorts; });
  }
  double weight_of(size_t loss) const {
    return loss < loss_weights.size() ? std::strtod(loss_weights[loss].c_str(), nullptr) : 1.0;
  }
};

// --- settings -------------------------------------------------------------------------------

Error dpo_refusal(const std::string& flag, const std::string& what, const std::string& advice) {
  return Error(err::kSettingBounds, what).at("--" + flag).todo(advice);
}

Status check_losses(const DpoSettings& s) {
  if (!s.loss_weights.empty() && s.loss_weights.size() != s.loss_type.size())
    return dpo_refusal("loss_weights",
                       fmt::format("there are {} weights for {} losses", s.loss_weights.size(),
                                   s.loss_type.size()),
                       "give one number for each --loss_type");
  for (const std::string& weight : s.loss_weights) {
    double value = 0;
    const auto end = weight.data() + weight.size();
    if (std::from_chars(weight.data(), end, value).ptr != end || !std::isfinite(value))
      return dpo_refusal("loss_weights", fmt::format("'{}' is not a number", weight),
                         "give one number for each --loss_type");
  }
  if (!(s.beta > 0)) return dpo_refusal("beta", "beta is not positive", "give a value such as 0.1");
  for (const std::string& name : s.loss_type) {
    const PreferenceLoss& loss = find_preference_loss(name);
    if (s.f_divergence_type != "reverse_kl" && !loss.any_divergence)
      return dpo_refusal("f_divergence_type",
                         fmt::format("{} has a meaning for reverse_kl alone", name),
                         "leave it out, or use --loss_type sigmoid");
    const bool below = s.label_smoothing >= loss.least_smoothing;
    if (!below || (loss.below_smoothing > 0 && s.label_smoothing >= loss.below_smoothing))
      return dpo_refusal(
          "label_smoothing",
          fmt::format("{} does not work with a label smoothing of {}", name, s.label_smoothing),
          below ? fmt::format("give less than {}", loss.below_smoothing)
                : std::string("give a positive one, such as 0.001"));
  }
  if (s.ld_alpha && !(*s.ld_alpha >= 0 && *s.ld_alpha <= 1))
    return dpo_refusal("ld_alpha", "ld_alpha is not between 0 and 1", "give a share");
  return Ok{};
}

// --- program --------------------------------------------------------------------------------

// Inputs beside those of token_graph.h, which has two sequences for each row: those of collate_answers;
// reference f32[2S]; per_token f32[S]; ranked_margin f32[S] if a loss sorts; label_weights f32[T] with
// ld_alpha. Outputs: chosen_logps, rejected_logps f32[S], correct i32[T]; in evaluation losses f32[S].
Program dpo_program(const DpoSettings& s, const ModelConfig& given, const BatchShape& shape,
                    const std::string& name, bool train) {
  const ModelConfig config = s.disable_dropout ? without_any_dropout(given) : given;
  const int64_t rows = shape[kSequences], tokens = shape[kTokens];
  TokenGraph g(config, shape_of_pairs(shape), name, train, {DType::i32, {tokens}});
  Builder& b = g.b;
  const auto input = [&](const char* what, DType dtype, Shape of) {
    return g.program.add_input(what, {dtype, std::move(of)});
  };
  const ValueId answers = input("answers", DType::i32, {tokens}),
                answer_tokens = input("answer_tokens", DType::f32, {2 * rows}),
                weight = input("weight", DType::f32, {rows}),
                reference = input("reference", DType::f32, {2 * rows}),
                per_token = input("per_token", DType::f32, {rows});
  const ValueId ranked = s.sorts() ? input("ranked_margin", DType::f32, {rows}) : kNoValue;
  const AnswerScores scores = answer_scores(
      g, answers, s.ld_alpha ? input("label_weights", DType::f32, {tokens}) : kNoValue);
  Builder::Scope head(b, "preference");
  const auto half = [&](ValueId both, int64_t which) {  // f32[2S] -> [S]
    const ValueId pairs = ops::reshape(b, both, {rows, 2});
    return ops::reshape(b, ops::slice(b, pairs, 1, which, which + 1), {rows});
  };
  const PreferenceOptions options = s.options();
  const ValueId ratios = ops::sub(b, scores.logps, reference), chosen_logps = half(scores.logps, 0),
                rejected_logps = half(scores.logps, 1), chosen = half(ratios, 0),
                rejected = half(ratios, 1);
  const PreferencePairs pairs{.b = b,
                              .o = options,
                              .chosen = chosen,
                              .rejected = rejected,
                              .chosen_score = divergence_score(b, options, chosen),
                              .rejected_score = divergence_score(b, options, rejected),
                              .chosen_tokens = half(answer_tokens, 0),
                              .rejected_tokens = half(answer_tokens, 1),
                              .chosen_logps = chosen_logps,
                              .policy_margin = ops::sub(b, chosen_logps, rejected_logps),
                              .ranked_margin = ranked,
                              .per_token = per_token};
  ValueId losses = kNoValue;  // [S]
  for (size_t i = 0; i < s.loss_type.size(); ++i) {
    ValueId one = find_preference_loss(s.loss_type[i]).of_pairs(pairs);
    if (s.weight_of(i) != 1) one = pairs.times(one, s.weight_of(i));
    losses = losses == kNoValue ? one : ops::add(b, losses, one);
  }
  losses = ops::mul(b, losses, weight);
  if (train)
    g.program.outputs.push_back({"loss", ops::mul(b, ops::reduce_sum(b, losses, {0}), g.scale)});
  else
    g.program.outputs.push_back({"losses", losses});
  g.program.outputs.push_back({"chosen_logps", chosen_logps});
  g.program.outputs.push_back({"rejected_logps", rejected_logps});
  g.program.outputs.push_back({"correct", scores.correct});
  return std::move(g.program);
}

PreferenceForm dpo_form(const std::shared_ptr<DpoSettings>& s) {
  return {PreferenceForm::Rows::pairs, false, "dpo", [s] { return schema_of(*s); }};
}

// --- rows -----------------------------------------------------------------------------------

// Data of the rows besides tokens. Rows of evaluation: those to evaluate, then the training rows, of
// which the reference's log-probabilities are computed.
struct DpoRows {
  std::shared_ptr<const DpoSettings> s;
  const ModelConfig& config;
  RowLabels train = {}, eval = {};
  int64_t evaluated = 0;
  std::vector<float> chosen = {}, rejected = {};  // the reference's, by row of evaluation
  // Values of the current step or evaluation, by row of evaluation.
  std::vector<float> per_token = {}, ranked_margin = {};  // by row of evaluation

  size_t number(bool training, int64_t row) const {
    return static_cast<size_t>(training ? evaluated + row : row);
  }
  const RowLabels& labels(bool training) const { return training ? train : eval; }

  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    const TokenRows& data = rows.data.axes[0];
    const RowLabels& labels = this->labels(rows.training());
    HONE_TRY(collate_answers(data, labels, rows.rows, true, -1, to));
    const auto reference = to.get<float>("reference"), ranked = to.get_if<float>("ranked_margin"),
               shares = to.get<float>("per_token");
    std::fill(reference.begin(), reference.end(), 0.0f);
    std::fill(shares.begin(), shares.end(), 0.0f);
    std::fill(ranked.begin(), ranked.end(), 0.0f);
    for (size_t i = 0; i < rows.rows.rows.size(); ++i) {
      const size_t n = number(rows.training(), rows.rows.rows[i]);
      reference[2 * i] = chosen[n], reference[2 * i + 1] = rejected[n];
      shares[i] = per_token[n];
      if (!ranked.empty()) ranked[i] = ranked_margin[n];
    }
    if (const auto weights = to.get_if<float>("label_weights"); !weights.empty())
      weigh_tails(to.get<int32_t>("answers"), to.get<float>("answer_tokens"),
                  static_cast<float>(*s->ld_alpha), weights);
    HONE_TRY(finish_tokens(config, to));
    return false;
  }

  // Labels of answers after the number of the shorter one count less (arXiv 2409.06411).
  static void weigh_tails(std::span<const int32_t> answers, std::span<const float> tokens,
                          float alpha, std::span<float> weights) {
    std::fill(weights.begin(), weights.end(), 1.0f);
    int32_t before = -1;
    float seen = 0;
    for (size_t t = 0; t < answers.size(); ++t) {
      const int32_t a = answers[t];
      if (a < 0) continue;
      seen = a == before ? seen + 1 : 1;
      before = a;
      const auto first = static_cast<size_t>(a / 2 * 2);
      if (seen > std::min(tokens[first], tokens[first + 1])) weights[t] = alpha;
    }
  }

  double chosen_tokens(const TokenRows& data, bool training, int64_t row) const {
    const RowLabels& of = labels(training);
    const auto tags =
        of.tags_of(data, row).first(static_cast<size_t>(of.classes[static_cast<size_t>(row)]));
    return static_cast<double>(
        std::count_if(tags.begin() + 1, tags.end(), [](int32_t t) { return t != kIgnoreLabel; }));
  }

  // Gives each row of a batch the reference's margin of its rank among the rows of the batch.
  void rank(std::span<const int64_t> batch, const RowOutputs& policy) {
    std::vector<float> margins;  // the reference's, sorted
    std::vector<int64_t> order(batch.begin(), batch.end());
    for (const int64_t row : batch) {
      const auto n = static_cast<size_t>(row);
      margins.push_back(chosen[n] - rejected[n]);
    }
    const auto policy_margin = [&](int64_t row) {
      const auto n = static_cast<size_t>(row);
      return policy.of("chosen_logps")[n] - policy.of("rejected_logps")[n];
    };
    std::sort(margins.begin(), margins.end());
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t c) { return policy_margin(a) < policy_margin(c); });
    for (size_t i = 0; i < order.size(); ++i)
      ranked_margin[static_cast<size_t>(order[i])] = margins[i];
  }
  void rank_batches(std::span<const int64_t> rows, int64_t batch, const RowOutputs& policy) {
    const auto n = static_cast<size_t>(batch);
    for (size_t at = 0; at < rows.size(); at += n)
      rank(rows.subspan(at, std::min(n, rows.size() - at)), policy);
  }
};

// --- metrics --------------------------------------------------------------------------------

// Sums over rows, with TRL's names.
struct DpoSums {
  double rows = 0, loss = 0, chosen = 0, rejected = 0, right = 0, chosen_logps = 0,
         rejected_logps = 0, hits = 0, tokens = 0;

  // False: an output is not finite. `examples`: gets the scores of each row; null: none.
  bool add(const DpoRows& of, const CollatedRows& rows, const Batch& outputs,
           ExampleScores* examples = nullptr) {
    const auto chosen_logps_of = outputs.get<const float>("chosen_logps"),
               rejected_logps_of = outputs.get<const float>("rejected_logps"),
               losses = outputs.get_if<const float>("losses");
    const auto correct = outputs.get<const int32_t>("correct");
    const TokenRows& data = rows.data.axes[0];
    size_t at = 0;
    for (size_t i = 0; i < rows.rows.rows.size(); ++i) {
      const int64_t row = rows.rows.rows[i];
      const size_t n = of.number(rows.training(), row);
      const double won = static_cast<double>(chosen_logps_of[i]),
                   lost = static_cast<double>(rejected_logps_of[i]);
      if (!std::isfinite(won) || !std::isfinite(lost)) return false;
      const double won_reward = of.s->beta * (won - static_cast<double>(of.chosen[n])),
                   lost_reward = of.s->beta * (lost - static_cast<double>(of.rejected[n]));
      const double of_row = losses.empty() ? 0 : static_cast<double>(losses[i]);
      if (examples)
        examples->add(row, {{"scores",
                             {{"loss", of_row},
                              {"rewards/chosen", won_reward},
                              {"rewards/rejected", lost_reward},
                              {"rewards/margins", won_reward - lost_reward},
                              {"rewards/accuracies", won_reward > lost_reward ? 1 : 0}}}});
      this->rows += 1;
      loss += of_row;
      chosen += won_reward, rejected += lost_reward;
      right += won_reward > lost_reward ? 1 : 0;
      chosen_logps += won, rejected_logps += lost;
      const RowLabels& labels = of.labels(rows.training());
      const auto tags = labels.tags_of(data, row);
      const auto first = static_cast<size_t>(labels.classes[static_cast<size_t>(row)]);
      for (size_t t = 1; t < first; ++t)
        if (tags[t] != kIgnoreLabel) hits += correct[at + t - 1], tokens += 1;
      at += tags.size();
    }
    return true;
  }
  std::vector<double> list() const {
    return {rows, chosen, rejected, right, chosen_logps, rejected_logps, hits, tokens};
  }
  static OrderedJson values(std::span<const double> sums) {
    const double rows = std::max(sums[0], 1.0);
    return {{"rewards/chosen", sums[1] / rows},
            {"rewards/rejected", sums[2] / rows},
            {"rewards/accuracies", sums[3] / rows},
            {"rewards/margins", (sums[1] - sums[2]) / rows},
            {"logps/chosen", sums[4] / rows},
            {"logps/rejected", sums[5] / rows},
            {"mean_token_accuracy", sums[6] / std::max(sums[7], 1.0)}};
  }
};

class DpoEvaluation final : public EvalMetrics {
 public:
  explicit DpoEvaluation(std::shared_ptr<const DpoRows> rows) : rows_(std::move(rows)) {}
  bool add(const CollatedRows& rows, const Batch& outputs) override {
    return sums_.add(*rows_, rows, outputs, rows_->s->example_scores.get()) &&
           std::isfinite(sums_.loss);
  }
  double loss() const override { return sums_.loss / std::max(sums_.rows, 1.0); }
  OrderedJson values(int64_t rows) const override {
    OrderedJson out{{"loss", loss()}};
    out.update(DpoSums::values(sums_.list()));
    out["samples"] = rows;
    return out;
  }

 private:
  std::shared_ptr<const DpoRows> rows_;
  DpoSums sums_;
};

// --- the task -------------------------------------------------------------------------------

RowOutputs policy_of(const DpoRows& rows) {
  return {{"chosen_logps", "rejected_logps"}, {.rows = std::ssize(rows.chosen)}};
}

Status find_reference(DpoRows& rows, TaskRun& run) {
  RowOutputs reference = policy_of(rows);
  const std::string& name = rows.s->ref_model_name_or_path;
  if (name.empty() && !rows.s->do_train)
    log_warning("the model is its own reference: --ref_model_name_or_path names another");
  if (!HONE_TRY(evaluate_reference(run, name, 0, std::ssize(rows.chosen), reference))) return Ok{};
  rows.chosen = reference.of("chosen_logps");
  rows.rejected = reference.of("rejected_logps");
  return Ok{};
}

// Finds per_token of each batch of `batch` rows.
void count_tokens(DpoRows& rows, const ExampleRows& data, bool training,
                  std::span<const int64_t> which, int64_t batch) {
  for (size_t at = 0; at < which.size(); at += static_cast<size_t>(batch)) {
    const auto some = which.subspan(at, std::min(static_cast<size_t>(batch), which.size() - at));
    double tokens = 0;
    for (const int64_t row : some) tokens += rows.chosen_tokens(data.axes[0], training, row);
    for (const int64_t row : some)
      rows.per_token[rows.number(training, row)] =
          static_cast<float>(static_cast<double>(some.size()) / std::max(tokens, 1.0));
  }
}

Result<OrderedJson> evaluate_dpo(const std::shared_ptr<DpoRows>& rows, TaskRun& run) {
  std::vector<int64_t> all(static_cast<size_t>(rows->evaluated));
  std::iota(all.begin(), all.end(), 0);
  const int64_t batch = rows->s->per_device_eval_batch_size;
  count_tokens(*rows, *run.examples().eval, false, all, batch);
  if (rows->s->sorts()) {
    RowOutputs policy = policy_of(*rows);
    if (HONE_TRY(run.evaluate_rows(all, policy)) < 0) return OrderedJson::object();
    rows->rank_batches(all, batch, policy);
  }
  DpoEvaluation evaluation(rows);
  const int64_t count = HONE_TRY(run.evaluate_rows(0, rows->evaluated, evaluation));
  return count < 0 ? OrderedJson::object() : evaluation.values(count);
}

// Ranks the margins of a step's rows, as the weights are before it.
Status rank_step(const std::shared_ptr<DpoRows>& rows, TaskRun& run, const BatchRows& step) {
  std::vector<int64_t> numbers;
  for (const int64_t row : step.rows) numbers.push_back(rows->evaluated + row);
  RowOutputs policy = policy_of(*rows);
  if (HONE_TRY(run.evaluate_rows(numbers, policy)) < 0) return Ok{};  // stopped
  rows->rank_batches(numbers, rows->s->per_device_train_batch_size, policy);
  return Ok{};
}

Result<Examples> dpo_examples(const std::shared_ptr<DpoSettings>& s, Pretrained& model,
                              const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  PreferenceData data = HONE_TRY(read_preferences(*s, dpo_form(s), model, source.pool));
  show_notes(schema_of(*s), data.notes);
  const auto rows = std::make_shared<DpoRows>(DpoRows{s, model.config});
  Examples x;
  std::optional<LabelledRows> eval(std::in_place), train;
  if (data.eval) *eval = std::move(data.eval->data);
  x.evaluated = rows->evaluated = eval->size();
  if (data.train) {
    train = std::move(data.train->data);
    x.hash = train->hash();
    eval->append(*train, 0, train->size());
  }
  rows->chosen.resize(static_cast<size_t>(eval->size()));
  rows->rejected.resize(rows->chosen.size());
  rows->per_token.resize(rows->chosen.size());
  if (s->sorts()) rows->ranked_margin.resize(rows->chosen.size());
  rows->train = take_rows(train, x.train);
  rows->eval = take_rows(eval, x.eval);
  x.train_rows_read = data.train_rows;
  x.collate = [rows](const CollatedRows& batch, Batch& to) { return rows->collate(batch, to); };
  x.normaliser = [rows](int64_t, const StepPlan& plan, const ExampleRows& all,
                        const BatchRows& batch) {
    count_tokens(*rows, all, true, batch.rows, rows->s->per_device_train_batch_size);
    return plan.rows;
  };
  x.metrics = [rows](int64_t) { return std::make_unique<DpoEvaluation>(rows); };
  x.evaluate = [rows](TaskRun& run) { return evaluate_dpo(rows, run); };
  x.opened = [rows](TaskRun& run) { return find_reference(*rows, run); };
  if (s->sorts())
    x.before_step = [rows](TaskRun& run, int64_t, const BatchRows& step) {
      return rank_step(rows, run, step);
    };
  const auto sums = std::make_shared<DpoSums>();
  x.after_batch = [rows, sums](const CollatedRows& batch, const Batch& outputs) {
    sums->add(*rows, batch, outputs);
  };
  x.log_sums = [sums] { return std::exchange(*sums, {}).list(); };
  x.log_values = DpoSums::values;
  if (!data.chat_template.empty())
    x.saved = [text = data.chat_template](const std::string& folder) {
      return file_store().write(folder + "/chat_template.jinja", text);
    };
  return x;
}

}  // namespace

Task task_dpo() {
  const auto s = std::make_shared<DpoSettings>();
  s->learning_rate = 1e-6;  // as TRL's
  Task t;
  t.name = "dpo";
  t.summary = "preference tuning: chosen answers before rejected ones";
  t.metrics = [] {
    return std::vector<std::string>{"loss", "rewards/chosen", "rewards/rejected", "rewards/margins",
                                    "rewards/accuracies"};
  };
  t.sample = preference_sample();
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.settle = [s](const Schema&) { return check_losses(*s); };
  t.choose_head = [s](ModelConfig& config) -> Status {
    if (s->streaming)
      return Error(err::kStreaming, "preference tuning reads its rows into memory")
          .todo("leave --streaming out");
    HONE_TRY(refuse_router_loss(config, "dpo"));
    return set_head(config, Head::causal_lm);
  };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{.limits = {{kTokens, 2 * s->row_tokens(model.config), "max_length", 0}}};
  };
  t.program = [s](const auto&... a) { return dpo_program(*s, a...); };
  t.examples = [s](Pretrained& model, const ExampleSource& source) {
    return dpo_examples(s, model, source);
  };
  t.prepared = preference_source(s, dpo_form(s));
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_preferences(*s, dpo_form(s), request, findings);
  };
  return t;
}

}  // namespace hone
